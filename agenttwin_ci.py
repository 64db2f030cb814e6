#!/usr/bin/env python3
"""Compare versions of an agent on an AgentTwin server, or ask its release gate, and let the exit status
decide a build.

    export AGENTTWIN_URL=https://agenttwin.example.com AGENTTWIN_TOKEN=...
    python3 agenttwin_ci.py compare my-agent --baseline 1.2.4 --candidate 1.3.0
    python3 agenttwin_ci.py gate my-agent --baseline 1.2.4 --candidate 1.3.0 --dataset my-suite@3

Exit status of compare: 0 nothing new fails; 3 a new critical failure, a regression or an incomplete
case; 4 it could not be run (unreachable, bad credential, timeout, cancelled); 2 wrong arguments,
unknown names among them.

Exit status of gate: 0 PASS, or overridden by a person; 2 WARN; 3 BLOCK; 4 could not decide, wrong
arguments included: 2 is a warning there, and a misspelt option must not read as one.

One file, standard library only, Python 3.9 or later: copy it or fetch it from the server
(/ci/agenttwin_ci.py).
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import http.client
import ipaddress
import json
import math
import os
import random
import re
import secrets
import signal
import ssl
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn, TextIO

VERSION = "2"
PASSED, WRONG_ARGUMENTS, BLOCKED, NOT_RUN = 0, 2, 3, 4
WARNED = 2
# How the server says a decision reads now; anything else is none.
GATE_STATUSES = {"PASS": PASSED, "WARN": WARNED, "BLOCK": BLOCKED}
OVERRIDDEN = re.compile("OVERRIDDEN \\(originally (WARN|BLOCK)\\)")
FORMATS = ("text", "json", "junit", "markdown")

# Delays before another try of a request that met a transient failure: three quarters of a minute in all.
RETRY_DELAYS = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 15.0)
# A server that was never reached is more likely the wrong address than one that restarts.
FIRST_CONTACT_DELAYS = RETRY_DELAYS[:3]
MOST_RETRY_AFTER_SECONDS = 120.0
FIRST_POLL_SECONDS, MOST_POLL_SECONDS, LAST_POLL_SECONDS = 0.4, 5.0, 0.2
REQUEST_SECONDS = 30.0
CANCEL_SECONDS = 5.0
_SHORTEST_TOKEN = 8
MOST_ANSWER_BYTES = 128 * 1024 * 1024

REPORTS_INDEX = "index.json"
BAD_CLASSES = ("NEW_CRITICAL_FAILURE", "REGRESSED", "INCOMPLETE")
OPEN_STATES = ("QUEUED", "RUNNING")
# What one attempt of one job is called where; another attempt ("re-run") is to compare again.
CI_ATTEMPTS = (
    ("GITHUB_ACTIONS", ("GITHUB_REPOSITORY", "GITHUB_SHA", "GITHUB_RUN_ID", "GITHUB_RUN_ATTEMPT")),
    ("GITLAB_CI", ("CI_PROJECT_URL", "CI_COMMIT_SHA", "CI_JOB_ID")),
    ("JENKINS_URL", ("BUILD_URL", "BUILD_TAG", "GIT_COMMIT")),
    ("CIRCLECI", ("CIRCLE_PROJECT_REPONAME", "CIRCLE_SHA1", "CIRCLE_WORKFLOW_ID", "CIRCLE_BUILD_NUM")),
    ("BUILDKITE", ("BUILDKITE_PIPELINE_SLUG", "BUILDKITE_COMMIT", "BUILDKITE_JOB_ID")),
    ("TF_BUILD", ("BUILD_REPOSITORY_URI", "BUILD_SOURCEVERSION", "BUILD_BUILDID", "SYSTEM_JOBATTEMPT")),
    ("BITBUCKET_BUILD_NUMBER", ("BITBUCKET_REPO_FULL_NAME", "BITBUCKET_COMMIT", "BITBUCKET_STEP_UUID")),
)

_KEY_HELP = (
    "the same request under the same key is one comparison (default in CI: made of this attempt of the job "
    "and the request; elsewhere always a new one)"
)
_NOT_OURS = "does AGENTTWIN_URL name an AgentTwin server?"
_HTTP_HELP = "send the token over plain http to another machine, readable for everybody on the way"

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
# XML 1.0 can hold none of these, not even escaped.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Failure(Exception):
    """Why this ends with a status of its own; the message is for the person who reads the build's log."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


# ---------------------------------------------------------------------------------------- command line


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit status; never raises but for wrong arguments (SystemExit 2, of
    the gate 4)."""
    console = Console(os.environ.get("AGENTTWIN_TOKEN", "").strip())
    options = argparse.Namespace(command="")
    try:
        options = _options(arguments)
        return gate(options, console) if options.command == "gate" else compare(options, console)
    except Failure as failure:
        for line in str(failure).split("\n"):
            console.say(f"agenttwin_ci: {line}")
        # What compare tells apart is one thing to a gate: it could not decide.
        return NOT_RUN if options.command == "gate" else failure.status
    except KeyboardInterrupt:
        console.say("agenttwin_ci: interrupted")
        return NOT_RUN
    except Exception as problem:  # a fault of ours: one line, and never status 1 or 0
        console.say(f"agenttwin_ci: {type(problem).__name__}: {problem}")
        return NOT_RUN


def _options(arguments: list[str] | None) -> argparse.Namespace:
    """The arguments of a command; each command ends with a status of its own for wrong ones."""
    options, unknown = _parser().parse_known_args(arguments)
    if unknown:
        options.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    return options


def _parser() -> argparse.ArgumentParser:
    # A misspelt command could have been the gate's, whose status for wrong arguments nobody misreads.
    parser = _GateParser(
        prog="agenttwin_ci.py", description=__doc__, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--version", action="version", version=f"agenttwin_ci {VERSION}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    command = _command(commands, "compare", "compare two versions of an agent", argparse.ArgumentParser)
    add = command.add_argument
    add("--baseline", required=True, metavar="VERSION", help="the version to measure against")
    add("--scenario", action="append", default=[], metavar="NAME", help="run this; may be repeated")
    add("--tag", action="append", default=[], metavar="TAG", help="run all with this; may be repeated")
    add("--dataset", metavar="NAME[@VERSION]", help="the scenarios of a dataset")
    command = _command(commands, "gate", "ask whether a version may be released", _GateParser)
    add = command.add_argument
    add("--baseline", metavar="VERSION", help="the version in use (without one: try the candidate alone)")
    add("--dataset", required=True, metavar="NAME[@VERSION]", help="the frozen suite")
    add("--policy", metavar="NAME", help="the gate policy (default)")
    add("--reports", metavar="FOLDER", help="write one JSON report for each trial of each case there")
    return parser


class _GateParser(argparse.ArgumentParser):
    """Wrong arguments could not be decided on: status 4, because 2 is a warning of the gate."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(NOT_RUN, f"{self.prog}: error: {message}\n")


def _command(commands: Any, name: str, told: str, kind: type[argparse.ArgumentParser]) -> Any:
    """The parser of a command with what all of them take."""
    command = commands.add_parser(
        name,
        help=told,
        allow_abbrev=False,
        epilog=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.__class__ = kind
    command.set_defaults(parser=command)
    add = command.add_argument
    add("agent", metavar="AGENT", help="name of a registered agent")
    add("--candidate", required=True, metavar="VERSION", help="the version to judge")
    add("--trials", type=_count, metavar="N", help="trials of each scenario (its own number)")
    add("--seed", type=int, default=0, metavar="N", help="seed of the run (0)")
    add("--timeout", type=_seconds, default=1800.0, metavar="S", help="seconds for all of it (1800)")
    add("--key", type=_key, metavar="KEY", help=_KEY_HELP)
    add("--format", choices=FORMATS, default="text", help="of the report (text)")
    add("--output", metavar="FILE", help="write the report there, and the text report to standard output")
    add("--allow-http", action="store_true", help=_HTTP_HELP)
    return command


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1, got {text!r}")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not (math.isfinite(seconds) and seconds > 0):
        raise argparse.ArgumentTypeError(f"must be a number of seconds above 0, got {text!r}")
    return seconds


def _key(text: str) -> str:
    if not re.fullmatch("[!-~]{1,200}", text):
        raise argparse.ArgumentTypeError("must be 1 to 200 printable ASCII characters without spaces")
    return text


def compare(options: argparse.Namespace, console: Console) -> int:
    """Start or find the comparison, wait for its end, print what it found; the exit status."""
    output = _prepared_output(options.output)
    server, comparison = _compared(options, console)
    comparison_id = _id_of(comparison)
    verdict = exit_status(comparison)
    try:
        console.report(*_reports(server, f"comparisons/{comparison_id}", options.format, output))
    except (Failure, OSError) as problem:
        console.say(f"agenttwin_ci: the report of comparison {comparison_id} is missing: {problem}")
        return verdict or NOT_RUN
    if verdict == NOT_RUN:
        raise Failure(NOT_RUN, _unended(comparison))
    return verdict


def gate(options: argparse.Namespace, console: Console) -> int:
    """Run the frozen suite, have the gate decide on it, print why; the exit status."""
    output, folder = _prepared_output(options.output), _prepared_folder(options.reports)
    server, comparison = _compared(options, console)
    if comparison.get("state") not in ("COMPLETED", "INCOMPLETE"):
        raise Failure(NOT_RUN, _unended(comparison))
    # The suite has been run: that it is decided on is worth waiting for even if the time is just up.
    server.deadline = max(server.deadline, time.monotonic() + REQUEST_SECONDS)
    asked = {"comparison": _id_of(comparison), **({"policy": options.policy} if options.policy else {})}
    _, decision = server.post("gate/decisions/", asked, accept=(201,))
    decision_id = _id_of(decision)
    console.say(f"gate decision {decision_id}: {decision.get('reads')}: {_page_of(decision)}")
    status = gate_status(decision)
    try:
        report = server.get(f"gate/decisions/{decision_id}/report/?as=json")
        if report.get("verified") is not True or report.get("exit_status") != status:
            raise Failure(NOT_RUN, f"gate decision {decision_id} does not verify")
        console.report(*_reports(server, f"gate/decisions/{decision_id}", options.format, output))
        if folder is not None:
            _write_case_reports(server, decision_id, folder, console)
    except (Failure, OSError) as problem:
        console.say(f"agenttwin_ci: the report of gate decision {decision_id} is missing: {problem}")
        # What blocks still blocks; nothing that was not read whole is a pass.
        return status if status == BLOCKED else NOT_RUN
    return status


def gate_status(decision: Mapping[str, Any]) -> int:
    """What a decision means to a build, by how it reads now. Failure 4 for what is none."""
    reads, outcome = decision.get("reads"), decision.get("outcome")
    if isinstance(reads, str):
        covered = OVERRIDDEN.fullmatch(reads)
        if covered is not None and covered[1] == outcome:
            return PASSED
        if reads == outcome and reads in GATE_STATUSES:
            return GATE_STATUSES[reads]
    raise Failure(NOT_RUN, f"the server's answer is no decision of a gate: {_NOT_OURS}")


def _compared(options: argparse.Namespace, console: Console) -> tuple[Server, dict[str, Any]]:
    """Start or find the comparison and wait for its end."""
    deadline = time.monotonic() + options.timeout
    server = Server.from_environment(
        os.environ, deadline=deadline, allow_http=options.allow_http, say=console.say
    )
    request = _request(options)
    key = options.key or derived_key(request, os.environ)
    # A CI system ends a job with SIGTERM; it is to be as good as Ctrl-C.
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGTERM, _interrupt)
    keyed = {"Idempotency-Key": key}
    status, comparison = server.post("comparisons/", request, headers=keyed, accept=(200, 201))
    comparison_id = _id_of(comparison)
    page = _page_of(comparison)
    console.say(f"comparison {comparison_id} {'started' if status == 201 else 'found'}: {page}")
    try:
        return server, _wait(server, comparison, console, key)
    except KeyboardInterrupt:
        # One that was there before may be waited for by somebody else.
        what = _cancelled(server, comparison_id) if status == 201 else "was not ours to cancel"
        raise Failure(NOT_RUN, f"interrupted; comparison {comparison_id} {what}") from None


def _unended(comparison: Mapping[str, Any]) -> str:
    reason = comparison.get("reason") or "no reason given"
    return f"comparison {_id_of(comparison)} is {comparison.get('state')}: {reason}"


def exit_status(comparison: Mapping[str, Any]) -> int:
    """What an ended comparison means to a build. Only whole and unambiguous evidence is a pass."""
    if comparison.get("state") not in ("COMPLETED", "INCOMPLETE"):
        return NOT_RUN
    summary = comparison.get("summary")
    if not isinstance(summary, dict) or not all(type(count) is int for count in summary.values()):
        return BLOCKED
    is_ended = comparison["state"] == "COMPLETED" and not comparison.get("pending")
    is_clean = comparison.get("blocks") is False and not any(summary.get(name, 1) for name in BAD_CLASSES)
    return PASSED if is_ended and is_clean and sum(summary.values()) > 0 else BLOCKED


def derived_key(request: Mapping[str, Any], environment: Mapping[str, str]) -> str:
    """The Idempotency-Key when none is given.

    In CI it is made of the attempt of the job and the request: steps of one attempt, and tries of one
    request, meet in one comparison, and a re-run compares anew. Elsewhere nothing says what belongs
    together, so it is new.
    """
    for marker, names in CI_ATTEMPTS:
        if environment.get(marker) and any(environment.get(name) for name in names):
            said = [marker, *(environment.get(name, "") for name in names), request]
            return "ci-" + hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:40]
    return "once-" + secrets.token_hex(16)


def _request(options: argparse.Namespace) -> dict[str, Any]:
    asked = {
        "scenarios": getattr(options, "scenario", []),
        "tags": getattr(options, "tag", []),
        "dataset": options.dataset,
        "trials": options.trials,
    }
    return {
        "agent": options.agent,
        "baseline": options.baseline,
        "candidate": options.candidate,
        "seed": options.seed,
        **{name: value for name, value in asked.items() if value not in (None, [])},
    }


def _wait(server: Server, comparison: dict[str, Any], console: Console, key: str) -> dict[str, Any]:
    """Poll until the comparison has ended. Failure 4 at the deadline: it goes on without us."""
    address = f"comparisons/{_id_of(comparison)}/"
    pause = FIRST_POLL_SECONDS
    with console.progress() as progress:
        while True:
            state, figures = comparison.get("state"), comparison.get("progress") or {}
            progress(f"{state}: {figures.get('ended', '?')} of {figures.get('cases', '?')} cases")
            if state not in OPEN_STATES:
                return comparison
            if server.remaining() <= LAST_POLL_SECONDS:
                where = f"it goes on at {_page_of(comparison)}; --key {key} finds it again"
                raise Failure(NOT_RUN, f"timeout: comparison {_id_of(comparison)} is still {state}, {where}")
            time.sleep(min(pause, server.remaining() - LAST_POLL_SECONDS / 2))
            pause = min(pause * 1.5, MOST_POLL_SECONDS)
            try:
                comparison = server.get(address)
            except Failure as failure:
                raise Failure(failure.status, f"comparison {_id_of(comparison)}: {failure}") from None


def _cancelled(server: Server, comparison_id: int) -> str:
    server.deadline = time.monotonic() + CANCEL_SECONDS
    try:
        server.post(f"comparisons/{comparison_id}/cancel/", None, accept=(200,))
    except (Failure, KeyboardInterrupt):
        return "could not be cancelled"
    return "is cancelled"


def _reports(server: Server, of: str, chosen: str, output: Path | None) -> tuple[str, Path | None, str]:
    """The text for the standard output, and what to write where."""
    # It has ended: what was found is worth fetching even if the time is just up.
    server.deadline = max(server.deadline, time.monotonic() + REQUEST_SECONDS)
    address = f"{of}/report/?as="
    if output is None:
        return _checked(chosen, server.text(address + chosen)), None, ""
    written = _checked(chosen, server.text(address + chosen))
    return (written if chosen == "text" else server.text(address + "text")), output, written


def _checked(chosen: str, text: str) -> str:
    """A report that its readers can parse: half an answer must not pass for one."""
    try:
        if chosen == "json":
            json.loads(text)
        elif chosen == "junit":
            text = _NOT_XML.sub("\ufffd", text)
            ET.fromstring(text.encode())  # noqa: S314 - our own server's, whose answer we chose to believe
    except (ValueError, ET.ParseError) as problem:
        raise Failure(NOT_RUN, f"the server's {chosen} report cannot be read: {problem}") from None
    return text


def _prepared_output(name: str | None) -> Path | None:
    """The file of --output, refused now when it cannot be written. A report of an earlier run is removed."""
    if name is None:
        return None
    path = Path(name)
    if not name or path.is_dir():
        raise Failure(WRONG_ARGUMENTS, f"--output: {name!r} is no file name")
    if not path.parent.is_dir():
        raise Failure(WRONG_ARGUMENTS, f"--output: there is no folder {str(path.parent)!r}")
    try:
        if path.is_file() and not path.is_symlink():
            path.unlink()
        path.open("a").close()
    except OSError as problem:
        raise Failure(WRONG_ARGUMENTS, f"--output: {name!r} cannot be written: {problem.strerror}") from None
    return path


def _prepared_folder(name: str | None) -> Path | None:
    """The folder of --reports, refused now when it holds other files. Those of an earlier run are removed."""
    if name is None:
        return None
    path = Path(name)
    index = path / REPORTS_INDEX
    if not name or path.is_symlink() or (path.exists() and not path.is_dir()):
        raise Failure(WRONG_ARGUMENTS, f"--reports: {name!r} is no folder")
    if path.is_dir() and any(path.iterdir()) and not index.is_file():
        raise Failure(WRONG_ARGUMENTS, f"--reports: {name!r} holds other files")
    try:
        path.mkdir(exist_ok=True)
        for old in _named_in(index):
            with contextlib.suppress(FileNotFoundError):
                (path / old).unlink()
    except OSError as problem:
        raise Failure(WRONG_ARGUMENTS, f"--reports: {name!r}: {problem.strerror}") from None
    return path


def _named_in(index: Path) -> list[str]:
    """The files that the index of an earlier run names, and the index."""
    try:
        names = [one["file"] for one in json.loads(index.read_text("utf-8"))["reports"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [REPORTS_INDEX, *(name for name in names if isinstance(name, str) and Path(name).name == name)]


def _write_case_reports(server: Server, decision_id: int, folder: Path, console: Console) -> None:
    """One file for each trial, and an index of them."""
    address, index = f"gate/decisions/{decision_id}/cases/?limit=50", []
    while address:
        page = server.get(address)
        results = page.get("results")
        for report in results if isinstance(results, list) else []:
            stem = re.sub("[^A-Za-z0-9._-]+", "-", str(report["case_id"]))
            name = f"{stem}.json" if report["trial"] == 1 else f"{stem}.trial-{report['trial']}.json"
            console.write(folder / name, json.dumps(report, indent=2, ensure_ascii=False) + "\n")
            told = ("case_id", "scenario", "trial", "verdict", "passed", "reason")
            index.append({"file": name, **{key: report.get(key) for key in told}})
        address = _next_of(page)
    head = {"decision": decision_id, "reports": index}
    console.write(folder / REPORTS_INDEX, json.dumps(head, indent=2, ensure_ascii=False) + "\n")


def _next_of(page: Mapping[str, Any]) -> str:
    """The address of the next page below the API of this server; "" at the end."""
    following = page.get("next")
    return following.partition("/api/v1/")[2] if isinstance(following, str) else ""


def _interrupt(number: int, frame: Any) -> NoReturn:
    raise KeyboardInterrupt


def _id_of(comparison: Mapping[str, Any]) -> int:
    number = comparison.get("id")
    if type(number) is not int:
        raise Failure(NOT_RUN, f"the server's answer is no comparison: {_NOT_OURS}")
    return number


def _page_of(comparison: Mapping[str, Any]) -> str:
    links = comparison.get("links")
    return str(links.get("page", "")) if isinstance(links, dict) else ""


# --------------------------------------------------------------------------------------------- server


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """The token goes to the server it was made for and nowhere else."""

    def redirect_request(self, *args: Any) -> None:
        return None


class Server:
    """The API under AGENTTWIN_URL. Every failure is a `Failure`; transient ones are tried again first."""

    def __init__(self, url: str, token: str, *, deadline: float, say: Callable[[str], None]) -> None:
        self.deadline = deadline
        self._base = f"{url.rstrip('/')}/api/v1/"
        self._token = token
        self._say = say
        self._was_reached = False
        tls = ssl.create_default_context()
        handlers: list[Any] = [_NoRedirects(), urllib.request.HTTPSHandler(context=tls)]
        if url.startswith("http:"):
            # A proxy would read the token; through https it sees nothing but the name of the server.
            handlers.append(urllib.request.ProxyHandler({}))
        self._opener = urllib.request.build_opener(*handlers)

    @classmethod
    def from_environment(
        cls, environment: Mapping[str, str], *, deadline: float, allow_http: bool, say: Callable[[str], None]
    ) -> Server:
        """Failure 4 when the address or the token is missing or must not be used."""
        url, token = (environment.get(name, "").strip() for name in ("AGENTTWIN_URL", "AGENTTWIN_TOKEN"))
        if not url:
            raise Failure(NOT_RUN, "AGENTTWIN_URL is not set: the address of the AgentTwin server")
        if not token:
            raise Failure(NOT_RUN, "AGENTTWIN_TOKEN is not set: a token made with `manage.py create_token`")
        if not re.fullmatch("[!-~]+", token):
            raise Failure(NOT_RUN, "AGENTTWIN_TOKEN is no token: it holds spaces or characters beyond ASCII")
        _check_url(url, allow_http)
        return cls(url, token, deadline=deadline, say=say)

    def remaining(self) -> float:
        """Seconds until the deadline."""
        return self.deadline - time.monotonic()

    def get(self, address: str) -> dict[str, Any]:
        return _object(self._answer("GET", address)[1])

    def text(self, address: str) -> str:
        return self._answer("GET", address)[1].decode("utf-8", "replace")

    def post(
        self,
        address: str,
        body: Mapping[str, Any] | None,
        *,
        headers: Mapping[str, str] | None = None,
        accept: tuple[int, ...],
    ) -> tuple[int, dict[str, Any]]:
        """Safe to be tried again: starting carries an Idempotency-Key, cancelling twice is a conflict."""
        status, answer = self._answer("POST", address, body, headers, accept)
        return status, _object(answer)

    def _answer(
        self,
        method: str,
        address: str,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        accept: tuple[int, ...] = (200,),
    ) -> tuple[int, bytes]:
        tries = 0
        while True:
            status, answer, wait, problem = self._one_try(method, address, body, headers)
            if not problem:
                if status not in accept:
                    raise refusal(status, answer)
                return status, answer
            delays = RETRY_DELAYS if self._was_reached else FIRST_CONTACT_DELAYS
            if tries >= len(delays):
                raise Failure(NOT_RUN, f"{problem} (tried {tries + 1} times)")
            # A little apart, or all the jobs of a build come back at the same moment.
            pause = wait if wait is not None else delays[tries] * random.uniform(0.8, 1.2)  # noqa: S311
            if pause >= self.remaining():
                raise Failure(NOT_RUN, f"timeout: {problem}")
            if pause > MOST_RETRY_AFTER_SECONDS:
                raise Failure(NOT_RUN, f"{problem}; it wants to be asked again only in {pause:.0f} s")
            tries += 1
            self._say(f"{problem}; trying again in {pause:.1f} s")
            time.sleep(pause)

    def _one_try(
        self, method: str, address: str, body: Mapping[str, Any] | None, headers: Mapping[str, str] | None
    ) -> tuple[int, bytes, float | None, str]:
        """Status, body, the wait the server asked for, and why it is worth another try ("": it is not)."""
        request = urllib.request.Request(self._base + address, method=method)  # noqa: S310 - checked before
        request.add_unredirected_header("Authorization", f"Bearer {self._token}")
        request.add_header("Accept", "application/json, */*")
        request.add_header("User-Agent", f"agenttwin_ci/{VERSION}")
        for name, value in (headers or {}).items():
            request.add_header(name, value)
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        elif method == "POST":
            request.data = b""
            request.add_header("Content-Type", "application/json")
        if self.remaining() <= 0:
            raise Failure(NOT_RUN, "timeout")
        timeout = min(REQUEST_SECONDS, max(self.remaining(), 0.1))
        try:
            try:
                response = self._opener.open(request, timeout=timeout)
            except urllib.error.HTTPError as error:
                response = error
            self._was_reached = True
            with response:
                answer = self._body(response)
        except (OSError, http.client.HTTPException) as error:
            return 0, b"", None, self._unreachable(error)
        status = response.status if hasattr(response, "status") else response.code
        if status == 429 or status >= 500:
            told = refusal(status, answer)
            return status, answer, _retry_after(response.headers.get("Retry-After")), str(told)
        return status, answer, None, ""

    def _body(self, response: Any) -> bytes:
        """All of it, within the deadline however slowly it drips in, or HTTPException."""
        chunks, total = [], 0
        # read1 returns what is there; read would wait for a whole chunk.
        while chunk := response.read1(1 << 20):
            chunks.append(chunk)
            total += len(chunk)
            if total > MOST_ANSWER_BYTES:
                raise Failure(NOT_RUN, "the server's answer is too large")
            if self.remaining() <= 0:
                raise Failure(NOT_RUN, "timeout: the server's answer did not arrive in time")
        length = response.headers.get("Content-Length", "")
        if length.isdigit() and total < int(length):
            raise http.client.IncompleteRead(b"", int(length) - total)
        return b"".join(chunks)

    def _unreachable(self, error: Exception) -> str:
        reason = getattr(error, "reason", error)
        if isinstance(reason, ssl.SSLCertVerificationError):
            detail = f"its certificate is not trusted: {reason.verify_message}"
            raise Failure(NOT_RUN, f"{self._base} cannot be used: {detail}") from None
        if isinstance(reason, http.client.IncompleteRead):
            return f"the answer of {self._base} broke off"
        text = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
        return f"{self._base} cannot be reached: {text}"


def refusal(status: int, answer: bytes) -> Failure:
    """What an answer that is no success means, in the server's own words where it gave any."""
    try:
        told = json.loads(answer)
    except ValueError:
        told = None
    told = told if isinstance(told, dict) else {}
    detail = str(told.get("detail") or http.client.responses.get(status, "an unknown status"))
    problems = told.get("problems")
    if isinstance(problems, list) and problems:
        lines = [_problem_line(one) for one in problems if isinstance(one, dict)]
        return Failure(WRONG_ARGUMENTS if status == 400 else NOT_RUN, "\n".join(lines) or detail)
    if 300 <= status < 400:
        hint = "the token is not sent on: set AGENTTWIN_URL to the address it has now"
        return Failure(NOT_RUN, f"the server sends elsewhere (HTTP {status}), and {hint}")
    if status in (401, 403):
        return Failure(NOT_RUN, f"AGENTTWIN_TOKEN is not accepted for this (HTTP {status}): {detail}")
    if status == 404 and not told:
        return Failure(NOT_RUN, "there is no AgentTwin API at AGENTTWIN_URL (HTTP 404)")
    if status == 400 and told.get("code") in ("invalid", "invalid_request"):
        return Failure(WRONG_ARGUMENTS, detail)
    return Failure(NOT_RUN, f"HTTP {status}: {detail}")


def _problem_line(problem: Mapping[str, Any]) -> str:
    path, detail = (str(problem.get(name, "")).replace("\n", " ") for name in ("path", "detail"))
    return detail if detail.startswith(path) else f"{path}: {detail}"


def _check_url(url: str, allow_http: bool) -> None:
    try:
        parts = urllib.parse.urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        parts, host = urllib.parse.urlsplit(""), ""
    if parts.scheme not in ("http", "https") or not host or not re.fullmatch("[!-~]+", url):
        raise Failure(NOT_RUN, "AGENTTWIN_URL is no address: it looks like https://agenttwin.example.com")
    if parts.username is not None or parts.query or parts.fragment:
        raise Failure(NOT_RUN, "AGENTTWIN_URL may hold no account, no '?' and no '#'")
    if parts.scheme == "http" and not allow_http and not _is_loopback(host):
        hint = "the token could be read on the way. Use https, or --allow-http if that network is trusted"
        raise Failure(NOT_RUN, f"AGENTTWIN_URL is plain http to another machine ({host}): {hint}")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _retry_after(text: str | None) -> float | None:
    """Seconds; None for a header that is missing or a date, where our own delays do."""
    return float(text) if text is not None and re.fullmatch("[0-9]{1,9}", text.strip(), re.ASCII) else None


def _object(answer: bytes) -> dict[str, Any]:
    try:
        value = json.loads(answer)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise Failure(NOT_RUN, f"the server's answer is not JSON: {_NOT_OURS}")
    return value


# -------------------------------------------------------------------------------------------- console


class Console:
    """Standard output for the report, standard error for everything else. Neither can change the exit status
    by being closed, and nothing written holds the token."""

    def __init__(self, token: str) -> None:
        self._token = token
        self._is_terminal = bool(sys.stderr is not None and sys.stderr.isatty())
        self._line = ""

    def say(self, message: str) -> None:
        """A line about what happens; what a server wrote cannot move the cursor or start a new line."""
        shown = _CONTROL.sub(" ", self._redacted(message))
        _write(sys.stderr, f"{self._cleared()}{shown}\n")

    def report(self, text: str, path: Path | None, written: str) -> None:
        """Print the report, write the other one. OSError where that fails, but not for a closed pipe."""
        if path is not None:
            self.write(path, written)
        _write(sys.stdout, self._redacted(text), is_needed=True)

    def write(self, path: Path, text: str) -> None:
        """Write a file without the token in it."""
        with path.open("w", encoding="utf-8", newline="") as file:
            file.write(self._redacted(text))

    @contextlib.contextmanager
    def progress(self) -> Any:
        """A function that shows how far it is: in place on a terminal, else a line when it changed."""
        yield self._show
        _write(sys.stderr, self._cleared())

    def _show(self, text: str) -> None:
        text = _CONTROL.sub(" ", text)
        if text == self._line:
            return
        if self._is_terminal:
            _write(sys.stderr, f"{self._cleared()}{text}")
            self._line = text
        else:
            self._line = text
            _write(sys.stderr, f"{text}\n")

    def _cleared(self) -> str:
        if not self._is_terminal or not self._line:
            return ""
        width, self._line = len(self._line), ""
        return f"\r{' ' * width}\r"

    def _redacted(self, text: str) -> str:
        return text.replace(self._token, "***") if len(self._token) >= _SHORTEST_TOKEN else text


def _write(stream: TextIO | None, text: str, *, is_needed: bool = False) -> None:
    """Write and flush. A reader that left changes nothing; `is_needed`: any other failure is an OSError."""
    if stream is None or not text:
        return
    try:
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[attr-defined]
        stream.write(text)
        stream.flush()
    except (OSError, ValueError) as problem:
        # Python flushes once more when it ends, and would end with a status of its own.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if is_needed and not isinstance(problem, BrokenPipeError):
            raise OSError(f"the standard output cannot be written: {problem}") from None


if __name__ == "__main__":
    sys.exit(main())
