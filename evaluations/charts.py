"""Pictures of figures as SVG, drawn by matplotlib on the server.

Imported where a picture is asked for and nowhere else: the library takes more than a second to load. Colours
are those of the stylesheet, and nothing is told by colour alone: lines differ in width and marks too, and the
numbers stand in a table beside the picture.
"""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.conf import settings

os.environ.setdefault("MPLCONFIGDIR", str(settings.DATA_DIR / "matplotlib"))

import matplotlib

matplotlib.use("svg")
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

# Texts stay texts, and the same figures give the same bytes.
matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "agenttwin", "font.size": 10})

SCHEMES = ("light", "dark")
_MARKED = 30
_LABELS_SHOWN = 12
# The library keeps state of its own while it draws.
_drawing = threading.Lock()


@dataclass(frozen=True, slots=True)
class _Colours:
    surface: str
    ink: str
    quiet: str
    line: str
    baseline: str
    candidate: str


_COLOURS = {
    "light": _Colours("#ffffff", "#1a1f26", "#5a6572", "#d7dce2", "#7b8691", "#1f56b5"),
    "dark": _Colours("#1a1e24", "#e7eaee", "#a0aab5", "#333b45", "#a0aab5", "#93b7ff"),
}

Line = tuple[str, str, tuple[tuple[int, float], ...]]
"""A side, its version, and (k, figure) in order."""


@dataclass(frozen=True, slots=True)
class Moment:
    """The pass rates of one comparison: (rate, low, high) for each side that has them."""

    label: str
    baseline: tuple[float, float, float] | None
    candidate: tuple[float, float, float] | None


@lru_cache(maxsize=128)
def pass_hat_chart(lines: tuple[Line, ...], scheme: str) -> bytes:
    """pass^k against k, a line per side."""
    with _drawing:
        figure, axes, colours = _canvas(scheme, height=3.1)
        for side, version, points in lines:
            ks, values = [k for k, _ in points], [value for _, value in points]
            style = _style(side, colours)
            marks = {} if len(points) <= _MARKED else {"marker": ""}
            axes.plot(ks, values, label=f"{side} {version}", **{**style, **marks})
        axes.set_xlabel("k: so many trials in a row", color=colours.ink)
        axes.set_ylabel("pass^k: all of them pass", color=colours.ink)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        _finish(axes, colours)
        return _svg(figure, "pass^k against k")


@lru_cache(maxsize=128)
def history_chart(moments: tuple[Moment, ...], scheme: str) -> bytes:
    """The pass rates of a scenario in one comparison after the other, with their 95% intervals."""
    with _drawing:
        figure, axes, colours = _canvas(scheme, height=3.4)
        for side, shift in (("baseline", -0.12), ("candidate", 0.12)):
            found = [(at + shift, getattr(moment, side)) for at, moment in enumerate(moments)]
            known = [(x, rate) for x, rate in found if rate is not None]
            if not known:
                continue
            rates = [rate for _, (rate, _, _) in known]
            below = [rate - low for _, (rate, low, _) in known]
            above = [high - rate for _, (rate, _, high) in known]
            style = _style(side, colours)
            axes.errorbar(
                [x for x, _ in known], rates, yerr=[below, above], capsize=3, elinewidth=1.2,
                label=f"{side}, with its 95% interval", **{**style, "linewidth": 0},
            )  # fmt: skip
        every = max(1, -(-len(moments) // _LABELS_SHOWN))
        shown = range(0, len(moments), every)
        axes.set_xticks(list(shown), [moments[at].label for at in shown], parse_math=False)
        axes.set_xlim(-0.6, max(len(moments) - 0.4, 0.6))
        axes.set_ylabel("trials that passed", color=colours.ink)
        _finish(axes, colours)
        return _svg(figure, "pass rate in each comparison")


def _canvas(scheme: str, *, height: float) -> tuple[Any, Any, _Colours]:
    colours = _COLOURS[scheme]
    figure = Figure(figsize=(6.6, height), layout="constrained", facecolor=colours.surface)
    FigureCanvasSVG(figure)
    return figure, figure.add_subplot(facecolor=colours.surface), colours


def _style(side: str, colours: _Colours) -> dict[str, Any]:
    # The baseline is wide and below: where the lines are one, both are seen.
    if side == "baseline":
        return {"color": colours.baseline, "linewidth": 4.5, "marker": "s", "markersize": 7, "zorder": 2}
    return {"color": colours.candidate, "linewidth": 1.8, "marker": "o", "markersize": 4.5, "zorder": 3}


def _finish(axes: Any, colours: _Colours) -> None:
    axes.set_ylim(-0.03, 1.03)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.grid(axis="y", color=colours.line, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=colours.quiet, labelcolor=colours.quiet)
    for place, spine in axes.spines.items():
        spine.set_visible(place == "bottom")
        spine.set_color(colours.line)
    # Above the lines, in the order in which they are told.
    axes.legend(
        loc="lower left", bbox_to_anchor=(0, 1.0), ncols=2, frameon=False, labelcolor=colours.ink,
        handlelength=2.4, borderaxespad=0.2,
    )  # fmt: skip


def _svg(figure: Any, title: str) -> bytes:
    written = io.BytesIO()
    figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None, "Title": title})
    return written.getvalue()


def lines_of(curves: Sequence[Any], versions: dict[str, str]) -> tuple[Line, ...]:
    """Curves (`page_queries.figures.Curve`) as what a picture is drawn from."""
    return tuple((curve.side, versions.get(curve.side, ""), curve.points) for curve in curves)
