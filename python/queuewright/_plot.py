"""Pictures of results, by matplotlib: what the report has, in Python."""

import json
from collections.abc import Sized
from typing import TYPE_CHECKING, Any

from queuewright._asked import needing
from queuewright._native import Error, Table
from queuewright._results import numbers
from queuewright._values import shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from queuewright._results import Results, Sweep

# The report draws shorter delays here, where the axis is logarithmic, ms.
_FLOOR_MS = 0.001


def _axes(ax: "Axes | None") -> "Axes":
    if ax is not None:
        if not hasattr(ax, "errorbar"):
            raise Error(f"ax = {shown(ax)}: no axes of matplotlib; write ax=plt.gca(), or leave it out")
        return ax
    with needing("plots need", "pip install 'queuewright[plot]'"):
        import matplotlib.pyplot as plt
    # Long labels have room.
    return plt.subplots(layout="constrained")[1]


def _one_of(name: str, value: str, allowed: list[str]) -> str:
    if value not in allowed:
        raise Error(f"{name} = {shown(value)}: there is none. Allowed: {', '.join(allowed)}")
    return value


def _different(values: list[Any]) -> list[Any]:
    return list(dict.fromkeys(values))


def _something(found: Sized, why: str) -> None:
    """Raises Error: there is nothing."""
    if not found:
        raise Error(f"results: {why}, so there is nothing to draw")


def _name(name: str) -> str:
    """A name as matplotlib shows it: as it is, no mathematics, and not left out for its first letter."""
    shown = name.replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown


def _of_port(results: "Results", table: Table, column: str, port: str | None) -> list[dict[str, Any]]:
    """The rows of one port that have a value."""
    ports = _different(results.runs["port"])
    _something(ports, "no run has finished")
    if port is None and len(ports) > 1:
        raise Error(f'port: there are several; write port="{ports[0]}". Allowed: {", ".join(ports)}')
    if port is not None:
        _one_of("port", port, ports)
    rows = [row for row in table.rows() if port in (None, row["port"]) and row[column] is not None]
    _something(rows, "no packet was measured")
    return rows


def _spread(values: list[float]) -> tuple[float, float, float]:
    """Mean, smallest, largest."""
    return sum(values) / len(values), min(values), max(values)


def tradeoff(results: "Results", ax: "Axes | None", delay: str, port: str | None) -> "Axes":
    """See `Results.plot`."""
    start = "sojourn_ms_"
    delays = [name.removeprefix(start) for name in results.runs.columns if name.startswith(start)]
    column = start + _one_of("delay", delay, delays)
    rows = _of_port(results, results.runs, column, port)
    ax = _axes(ax)
    means = []
    for name in _different([row["discipline"] for row in rows]):
        own = [row for row in rows if row["discipline"] == name]
        x, left, right = _spread([row[column] for row in own])
        y, low, high = _spread([100 * row["utilization"] for row in own])
        means.append(x)
        ax.errorbar(
            x, y, [[y - low], [high - y]], [[x - left], [right - x]], fmt="o", capsize=3, label=_name(name)
        )
    if min(means) > 0 and max(means) > 20 * min(means):
        ax.set_xscale("log")
    ax.set_xlabel(f"{delay} sojourn time, ms")
    ax.set_ylabel("utilisation, %")
    ax.legend()
    return ax


def delays(results: "Results", ax: "Axes | None", port: str | None) -> "Axes":
    """See `Results.plot_delays`."""
    rows = _of_port(results, results.cdf, "sojourn_ms", port)
    ax = _axes(ax)
    lines: dict[tuple[str, int], tuple[list[float], list[float]]] = {}
    for row in rows:
        x, y = lines.setdefault((row["discipline"], row["seed"]), ([], []))
        x.append(max(row["sojourn_ms"], _FLOOR_MS))
        y.append(100 * row["share"])
    names = _different([name for name, _ in lines])
    for (name, seed), (x, y) in lines.items():
        first = seed == next(other for of, other in lines if of == name)
        ax.plot(x, y, color=f"C{names.index(name)}", label=_name(name) if first else None)
    ax.set_xscale("log")
    ax.set_xlabel("sojourn time, ms")
    ax.set_ylabel("packets that waited no longer, %")
    ax.legend()
    return ax


def series(results: "Results", ax: "Axes | None", quantity: str, seed: int | None) -> "Axes":
    """See `Results.plot_series`."""
    table = results.series
    seeds = _different(table["seed"])
    _something(seeds, "no run has finished")
    _one_of("quantity", quantity, table.columns[3:])
    if seed is not None and seed not in seeds:
        raise Error(f"seed = {shown(seed)}: there is none. Allowed: {', '.join(map(str, seeds))}")
    lines: dict[str, tuple[list[float], list[float]]] = {}
    for name, of, time, value in zip(
        table["discipline"], table["seed"], table["time_s"], table[quantity], strict=True
    ):
        if of == (seeds[0] if seed is None else seed) and value is not None:
            x, y = lines.setdefault(name, ([], []))
            x.append(time)
            y.append(value)
    _something(lines, "no value of it is known")
    ax = _axes(ax)
    for name, (x, y) in lines.items():
        ax.plot(x, y, label=_name(name))
    ax.set_xlabel("time, s")
    ax.set_ylabel(quantity)
    ax.legend()
    return ax


def sweep(of: "Sweep", ax: "Axes | None", y: str, x: str | None) -> "Axes":
    """See `Sweep.plot`."""
    # Lists and tables as texts, as the column of the path has them.
    points = [
        {path: v if isinstance(v, str | int | float) else json.dumps(v) for path, v in point.items()}
        for point in numbers(of.points)
    ]
    paths = list(points[0]) if points else []
    if not paths:
        raise Error("the sweep has no results")
    path = _one_of("x", x or paths[0], paths)
    runs = of.runs
    measures = [
        name for name in of[0].runs.columns if any(isinstance(value, int | float) for value in runs[name])
    ]
    _one_of("y", y, measures)
    lines: dict[str, dict[Any, list[float]]] = {}
    for point, results in zip(points, of, strict=True):
        beside = [f"{other} = {value}" for other, value in point.items() if other != path]
        ports = _different(results.runs["port"])
        for row in results.runs.rows():
            if row[y] is not None:
                which = [row["port"]] if len(ports) > 1 else []
                line = lines.setdefault(", ".join([row["discipline"], *which, *beside]), {})
                line.setdefault(point[path], []).append(row[y])
    ax = _axes(ax)
    for name, values in lines.items():
        at = list(values)
        # What is no number stands in the order of the sweep.
        if all(isinstance(value, int | float) for value in at):
            at.sort()
        spreads = [_spread(values[value]) for value in at]
        (drawn,) = ax.plot(at, [mean for mean, _, _ in spreads], marker="o", label=_name(name))
        lows, highs = [low for _, low, _ in spreads], [high for _, _, high in spreads]
        ax.fill_between(at, lows, highs, color=drawn.get_color(), alpha=0.2, linewidth=0)
    ax.set_xlabel(path)
    ax.set_ylabel(y)
    ax.legend()
    return ax
