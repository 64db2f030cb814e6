"""`make bench`: every figure the README holds, measured in one run on this machine, with its target."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

from bench import running
from bench.grading import graded_figures
from bench.wire import wire_figures

Line = tuple[str, str, str, bool | None]
"""What was measured, the figure, its target, whether it is met (None: nothing to meet)."""


def main() -> int:
    missed = 0
    print(f"{'measured (medians)':58} {'figure':>16}   target")
    for name, figure, target, is_met in _lines():
        mark = {None: "", True: "ok", False: "MISSED"}[is_met]
        missed += is_met is False
        print(f"{name:58} {figure:>16}   {target:22} {mark}", flush=True)
    return 1 if missed else 0


def _lines() -> Iterator[Line]:
    yield from _engine()
    yield from _stored("sqlite", "SQLite", 1000)
    if running.postgresql_answers():
        yield from _stored("postgresql", "PostgreSQL", 600)
        workers = running.measure_workers()
        ratio = workers["ratio"]
        yield "PostgreSQL: two workers against one", f"x {ratio:.2f}", "at least x 1.7", ratio >= 1.7
    else:
        yield "PostgreSQL", "NOT MEASURED", "no server on 127.0.0.1:5432", None
    memory = running.measure_memory("sqlite")
    small, large = memory["peak_mib"]
    ratio = large / small
    yield (
        f"worker's peak memory, {memory['cases'][0]:,} and {memory['cases'][1]:,} cases",
        f"{small:.0f}, {large:.0f} MiB",
        "flat (at most x 1.1)",
        ratio <= 1.1,
    )
    yield from _wire()
    yield from _pages()


def _wire() -> Iterator[Line]:
    figures = wire_figures()
    yield "a tool call in process", f"{figures['in_process_ms']:.2f} ms", "", None
    for database, name, most in (("sqlite", "SQLite", 6), ("postgresql", "PostgreSQL", 8)):
        if (found := figures.get(database)) is None:
            yield f"{name}: a tool call over HTTP", "NOT MEASURED", "no server on 127.0.0.1:5432", None
            continue
        median, rate = found["median_ms"], found["calls_per_second"]
        yield f"{name}: the same over HTTP", f"{median:.2f} ms", f"under {most} ms", median < most
        title = f"{name}: over HTTP, eight cases at once, one web process"
        yield title, f"{rate:,.0f} calls/s", "at least 250", rate >= 250


def _pages() -> Iterator[Line]:
    # A process of its own: Django knows one database a process.
    found = subprocess.run(
        [sys.executable, "-m", "bench.pages"], check=True, stdout=subprocess.PIPE, text=True
    )
    figures = json.loads(found.stdout)
    for name, (page, fragment) in figures["pages"].items():
        must = name in ("comparison", "case", "queue")
        title = f"page with {figures['cases']:,} cases stored: {name}"
        yield title, f"{page:.0f} ms", "under 100 ms" if must else "", page < 100 if must else None
        if fragment is not None:
            yield (
                "  its fragment",
                f"{fragment:.0f} ms",
                "under 50 ms" if must else "",
                fragment < 50 if must else None,
            )
    yield from _api(figures["api"])


def _api(figures: dict[str, float]) -> Iterator[Line]:
    for name, figure in figures.items():
        yield name, f"{figure:.0f} ms", "under 60 ms", figure < 60


def _engine() -> Iterator[Line]:
    rates = graded_figures()
    graded, copied = rates["graded"], rates["copied"]
    yield (
        "engine: five calls recorded, four checks",
        f"{graded:,.0f} cases/s",
        "at least 3,000",
        graded >= 3000,
    )
    yield "  against a full copy and comparison of the state a call", f"x {graded / copied:.1f}", "", None
    cost = graded / rates["graded_large_state"]
    yield "  cost of a case over 2.8 MB against 6 KB of state", f"x {cost:.2f}", "at most x 2", cost <= 2
    cost = copied / rates["copied_large_state"]
    yield "  the same with full copies", f"x {cost:,.0f}", "", None


def _stored(database: str, name: str, target: int) -> Iterator[Line]:
    figures = running.measure(database)
    rate, nine = figures["cases_per_second"], figures["nine_pairs_seconds"]
    yield f"{name}: cases run and stored", f"{rate:,} cases/s", f"at least {target:,}", rate >= target
    yield (
        f"{name}: the same with classes, divergences and conclusion",
        f"{figures['concluded_per_second']:,} cases/s",
        "",
        None,
    )
    yield f"{name}: a pair of nine scenarios, concluded", f"{nine:.2f} s", "under 0.5 s", nine < 0.5


if __name__ == "__main__":
    sys.exit(main())
