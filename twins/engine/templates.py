"""Templates: JSON values whose texts hold placeholders (FORMATS 1.3, 8).

`{order_id}` is the call's argument, `{state.policy.limit}` a place in the state, `{reason?}` may be
missing, `{{` and `}}` are braces. Everything is parsed once; rendering only walks and joins.
A path template renders segments instead of a text, so whatever a caller puts into an argument stays
inside its one segment.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from .paths import (
    LENGTH,
    MAX_CHARACTERS,
    MAX_SEGMENTS,
    Flexible,
    PathSyntaxError,
    Segment,
    Segments,
    check_name,
    end_of_length,
    format_path,
    length_of,
    lookup,
    next_step,
    parse_path,
    start_of_path,
    unquote,
)
from .values import MISSING, kind_of, text_form

MAX_TEXT: Final = 1 << 20
"""Characters of one rendered text. A template that doubles a text on every call stops here."""

_PLACEHOLDER: Final = re.compile(r"""\{((?:[^{}'"]|'[^']*'|"[^"]*")*)\}""")
_LITERAL: Final = re.compile(r"[^{}]+")
_LITERAL_NAME: Final = re.compile(r"""[^.\[\]'"\s{}]+""")
_INDEX: Final = re.compile(r"\[(-?[0-9]+)\]")
_QUOTED: Final = re.compile(r"""\[(?:'((?:[^']|'')*)'|"((?:[^"]|"")*)")\]""")


class TemplateSyntaxError(ValueError):
    """A text that is not a template. `path`: where inside the value ('' for the value itself)."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        self.path = path


class TemplateError(Exception):
    """A template that cannot be rendered now: the twin's fault (500 TWIN_TEMPLATE_ERROR)."""


class MissingArgument(TemplateError):
    """A placeholder of an argument the caller did not send: the caller's fault (422 MISSING_ARGUMENT)."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the argument {name} is missing")
        self.name = name


class Scope:
    """What placeholders read. One per call; a handler moves `state` and `value` on as it works."""

    __slots__ = ("args", "idempotency_key", "now", "number", "result", "seq", "state", "tenant", "value")

    def __init__(
        self,
        args: Any,
        state: Any,
        *,
        value: Any = MISSING,
        result: Any = MISSING,
        tenant: Any = MISSING,
        idempotency_key: Any = MISSING,
        now: str = "2026-01-01T00:00:00Z",
        seq: int = 1,
        number: int = 1,
    ) -> None:
        self.args = args
        self.state = state
        self.value = value
        self.result = result
        self.tenant = tenant
        self.idempotency_key = idempotency_key
        self.now = now
        self.seq = seq
        self.number = number


Reader = Callable[[Scope], Any]

# The names a placeholder may start with; any other name is an argument.
_CONTAINERS: Final[dict[str, Reader]] = {
    "args": lambda scope: scope.args,
    "state": lambda scope: scope.state,
    "value": lambda scope: scope.value,
    "result": lambda scope: scope.result,
}
_SCALARS: Final[dict[tuple[Segment, ...], Reader]] = {
    ("tenant",): lambda scope: scope.tenant,
    ("idempotency_key",): lambda scope: scope.idempotency_key,
    ("now",): lambda scope: scope.now,
    ("id",): lambda scope: f"{scope.seq:04d}",
    ("call", "number"): lambda scope: scope.number,
    ("call", "seq"): lambda scope: scope.seq,
}
_SCALAR_ROOTS: Final = frozenset(segments[0] for segments in _SCALARS)


@dataclass(frozen=True, slots=True)
class Placeholder:
    """One `{…}`: where it reads and whether it may be missing."""

    name: str
    root: str
    optional: bool
    read: Reader

    def value(self, scope: Scope) -> Any:
        """The value read. None for a missing optional one; MissingArgument or TemplateError otherwise."""
        value = self.read(scope)
        if value is not MISSING:
            return value
        if self.optional:
            return None
        if self.root == "args":
            raise MissingArgument(self.name)
        raise TemplateError(f"{{{self.name}}} leads nowhere")


Pieces = list[str | Placeholder]


class Template:
    """A parsed JSON value. `reads` names the roots its placeholders use; without any it is constant."""

    __slots__ = ("_render", "constant", "reads")

    def __init__(self, render: Reader, reads: frozenset[str], constant: bool) -> None:
        self._render = render
        self.reads = reads
        self.constant = constant

    def render(self, scope: Scope) -> Any:
        """The value with its placeholders filled in. Shares what it read; nothing of it may be changed."""
        return self._render(scope)


def parse_template(value: Any) -> Template:
    """The template of a JSON value: its texts are parsed, its keys are literal.

    TemplateSyntaxError for the first problem; `template_problems` gives all.
    """
    parser = _Parser()
    constant, content = parser.parse(value, ())
    if parser.problems:
        raise parser.problems[0]
    return Template((lambda _scope: content) if constant else content, frozenset(parser.reads), constant)


def template_problems(value: Any) -> list[TemplateSyntaxError]:
    """Every syntax error in a JSON value, each with its path inside it."""
    parser = _Parser()
    parser.parse(value, ())
    return parser.problems


class _Parser:
    """Walks one value and gathers all problems and the roots read."""

    def __init__(self) -> None:
        self.problems: list[TemplateSyntaxError] = []
        self.reads: set[str] = set()

    def parse(self, value: Any, path: Segments) -> tuple[bool, Any]:
        """(constant, the value) or (not constant, a reader). Constant parts are shared, never rebuilt."""
        if isinstance(value, str):
            return self._text(value, path)
        if isinstance(value, dict):
            fields = [(key, *self.parse(item, (*path, key))) for key, item in value.items()]
            if all(constant for _, constant, _ in fields):
                return True, {key: content for key, _, content in fields}
            readers = [(key, _as_reader(constant, content)) for key, constant, content in fields]
            return False, lambda scope: {key: read(scope) for key, read in readers}
        if isinstance(value, list):
            items = [self.parse(item, (*path, index)) for index, item in enumerate(value)]
            if all(constant for constant, _ in items):
                return True, [content for _, content in items]
            members = [_as_reader(constant, content) for constant, content in items]
            return False, lambda scope: [read(scope) for read in members]
        return True, value

    def _text(self, text: str, path: Segments) -> tuple[bool, Any]:
        if "{" not in text and "}" not in text:
            return True, text
        try:
            pieces = parse_pieces(text)
        except TemplateSyntaxError as error:
            error.path = format_path(path) if path else ""
            self.problems.append(error)
            return True, text
        placeholders = [piece for piece in pieces if isinstance(piece, Placeholder)]
        self.reads.update(placeholder.root for placeholder in placeholders)
        if not placeholders:
            return True, "".join(map(str, pieces))
        if len(pieces) == 1:
            return False, placeholders[0].value
        return False, lambda scope: join_pieces(pieces, scope)


def _as_reader(constant: bool, content: Any) -> Reader:
    return (lambda _scope: content) if constant else content


def parse_pieces(text: str) -> Pieces:
    """The literal texts and placeholders of a text, in order."""
    pieces, position = _read_pieces(text, 0, _LITERAL)
    assert position == len(text)
    return pieces


def join_pieces(pieces: Pieces, scope: Scope) -> str:
    """The rendered text. TemplateError when it grows beyond MAX_TEXT."""
    parts: list[str] = []
    size = 0
    for piece in pieces:
        part = piece if isinstance(piece, str) else text_form(piece.value(scope))
        size += len(part)
        if size > MAX_TEXT:
            raise TemplateError(f"a rendered text would be longer than {MAX_TEXT} characters")
        parts.append(part)
    return "".join(parts)


def _read_pieces(text: str, position: int, literal: re.Pattern[str]) -> tuple[Pieces, int]:
    """Pieces from a position up to the first character that is neither literal nor a brace."""
    pieces: Pieces = []
    while position < len(text):
        match = literal.match(text, position)
        if match is not None:
            pieces.append(match[0])
            position = match.end()
        elif text.startswith(("{{", "}}"), position):
            pieces.append(text[position])
            position += 2
        elif text[position] == "{":
            placeholder, position = _read_placeholder(text, position)
            pieces.append(placeholder)
        elif text[position] == "}":
            raise TemplateSyntaxError(
                f"{text!r}: a single '}}' at character {position + 1}; write '}}}}' for a brace"
            )
        else:
            break
    return pieces, position


def _read_placeholder(text: str, position: int) -> tuple[Placeholder, int]:
    match = _PLACEHOLDER.match(text, position)
    if match is None:
        raise TemplateSyntaxError(
            f"{text!r}: the '{{' at character {position + 1} is never closed; write '{{{{' for a brace"
        )
    return parse_placeholder(match[1]), match.end()


def parse_placeholder(body: str) -> Placeholder:
    """The placeholder written between braces. TemplateSyntaxError for what is none."""
    name = body.removesuffix("?")
    try:
        path = parse_path(name)
    except PathSyntaxError as error:
        raise TemplateSyntaxError(
            f"{{{body}}} is not a placeholder: {error}; write '{{{{' for a brace"
        ) from None
    optional = body.endswith("?")
    root = path.segments[0] if path.segments else ""
    if root in _SCALAR_ROOTS:
        if path.length or path.segments not in _SCALARS:
            known = ", ".join(sorted("{" + ".".join(map(str, one)) + "}" for one in _SCALARS))
            raise TemplateSyntaxError(f"{{{body}}} is not a placeholder; of this kind there are {known}")
        return Placeholder(name, str(root), optional, _SCALARS[path.segments])
    if not isinstance(root, str) or not root or name.startswith("$"):
        raise TemplateSyntaxError(
            f"{{{body}}} is not a placeholder: it starts with the name of an argument, args, state or value"
        )
    if root in _CONTAINERS:
        container, segments = root, path.segments[1:]
    else:
        container, segments = "args", path.segments
    shown = name.removeprefix("args.") if container == "args" else name
    return Placeholder(shown, container, optional, _reader(_CONTAINERS[container], segments, path.length))


def _reader(container: Reader, segments: Segments, length: bool) -> Reader:
    if length:
        return lambda scope: length_of(lookup(container(scope), segments))
    if not segments:
        return container
    return lambda scope: lookup(container(scope), segments)


class PathTemplate:
    """A path whose segments may hold placeholders. `length`: it ends in `.length()`."""

    __slots__ = ("_parts", "constant", "length", "reads", "text")

    def __init__(self, text: str, parts: list[Segment | Pieces], length: bool) -> None:
        self.text = text
        self.length = length
        self._parts = parts
        placeholders = list(_placeholders(parts))
        self.reads = frozenset(placeholder.root for placeholder in placeholders)
        self.constant: Segments | None = None if placeholders else tuple(map(_constant_segment, parts))

    @property
    def first(self) -> Segment | None:
        """The first segment if it is written out: what a path is rooted at. None for a placeholder."""
        first = self._parts[0] if self._parts else None
        return None if first is None or any(_placeholders([first])) else _constant_segment(first)

    def render(self, scope: Scope) -> Segments:
        """The segments: exactly one for each of the template's, whatever the placeholders contain.

        MissingArgument, or TemplateError where null, an object or a list would be a key.
        """
        if self.constant is not None:
            return self.constant
        return tuple(
            [_render_segment(part, scope) if isinstance(part, list) else part for part in self._parts]
        )

    def __repr__(self) -> str:
        return f"PathTemplate({self.text!r})"


def _placeholders(parts: list[Segment | Pieces]) -> Iterator[Placeholder]:
    for part in parts:
        if isinstance(part, list):
            yield from (piece for piece in part if isinstance(piece, Placeholder))


def _constant_segment(part: Segment | Pieces) -> Segment:
    return "".join(map(str, part)) if isinstance(part, list) else part


def _render_segment(pieces: Pieces, scope: Scope) -> Segment:
    if len(pieces) == 1:
        only = pieces[0]
        return only if isinstance(only, str) else _segment_of(only, scope)
    parts = [piece if isinstance(piece, str) else str(_segment_of(piece, scope)) for piece in pieces]
    return "".join(parts)


def _segment_of(placeholder: Placeholder, scope: Scope) -> Segment:
    value = placeholder.value(scope)
    if type(value) is str:
        return value
    if type(value) is int:
        return Flexible(value)
    if value is None or isinstance(value, (dict, list)):
        raise TemplateError(f"{{{placeholder.name}}} is {kind_of(value)} and cannot be part of a path")
    return text_form(value)


def parse_path_template(text: str) -> PathTemplate:
    """The path template of a text. TemplateSyntaxError or PathSyntaxError, both ValueErrors, for a person."""
    if not isinstance(text, str):
        raise PathSyntaxError("a path is a text")
    if len(text) > MAX_CHARACTERS:
        raise PathSyntaxError(f"a path has at most {MAX_CHARACTERS} characters, this one {len(text)}")
    parts, length = _path_parts(text)
    if len(parts) > MAX_SEGMENTS:
        raise PathSyntaxError(f"a path has at most {MAX_SEGMENTS} segments, this one {len(parts)}")
    return PathTemplate(text, parts, length)


def _path_parts(text: str) -> tuple[list[Segment | Pieces], bool]:
    position, expects_name = start_of_path(text)
    parts: list[Segment | Pieces] = []
    while position < len(text) or expects_name:
        part: Segment | Pieces
        if expects_name:
            part, position = _read_name_pieces(text, position)
            if part == [LENGTH]:
                end_of_length(text, position)
                return parts, True
        else:
            part, position = _read_bracket_pieces(text, position)
        parts.append(part)
        expects_name, position = next_step(text, position)
    return parts, False


def _read_name_pieces(text: str, position: int) -> tuple[Pieces, int]:
    pieces, end = _read_pieces(text, position, _LITERAL_NAME)
    if not pieces:
        raise PathSyntaxError(f"{text!r}: a key or a placeholder must stand at character {position + 1}")
    if all(isinstance(piece, str) for piece in pieces):
        name = "".join(map(str, pieces))
        check_name(name, text)
        return [name], end
    return pieces, end


def _read_bracket_pieces(text: str, position: int) -> tuple[Segment | Pieces, int]:
    index = _INDEX.match(text, position)
    if index is not None:
        return int(index[1]), index.end()
    quoted = _QUOTED.match(text, position)
    if quoted is not None:
        return parse_pieces(unquote(quoted[1], quoted[2])) or "", quoted.end()
    if text.startswith("[{", position):
        placeholder, end = _read_placeholder(text, position + 1)
        if text.startswith("]", end):
            return [placeholder], end + 1
    raise PathSyntaxError(
        f"{text!r}: brackets hold an index, a quoted key or one placeholder, at character {position + 1}"
    )
