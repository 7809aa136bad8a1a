"""Results: tables, the summary, the report."""

import copyreg
import json
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload
from zlib import crc32

from queuewright import _native
from queuewright._native import VERSION, Error, Table
from queuewright._scenario import Scenario, same_version, to_json
from queuewright._values import file

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes


class Results:
    """What came of a scenario's runs.

    As a text, and in a notebook, it is the table that the command prints.
    """

    __slots__ = ("_native",)

    def __init__(self, native: _native.Results) -> None:
        self._native = native

    @property
    def scenario(self) -> Scenario:
        """What was run."""
        return Scenario._again(self._native.draft)

    @property
    def runs(self) -> Table:
        """A row for each run and port: utilisation, sojourn times, backlog, drops, marks, goodput, Jain."""
        return self._native.runs

    @property
    def queues(self) -> Table:
        """A row for each run and queue, of disciplines with several queues."""
        return self._native.queues

    @property
    def groups(self) -> Table:
        """A row for each run and group of flows: goodput, completion times, one-way delay, video."""
        return self._native.groups

    @property
    def flows(self) -> Table:
        """A row for each run and flow: goodput, waiting, round-trip time, retransmissions."""
        return self._native.flows

    @property
    def responsiveness(self) -> Table:
        """A row for each run and entry of flows with `probes`: round trips a minute, grade, QoO."""
        return self._native.responsiveness

    @property
    def cdf(self) -> Table:
        """The distribution of the sojourn time: a row for each run, port and point."""
        return self._native.cdf

    @property
    def transfers(self) -> Table:
        """A row for each flow that had an end, or came and went, the warm-up's included."""
        return self._native.transfers

    @property
    def series(self) -> Table:
        """A row for each run and sample time; a column for each quantity, null where a run lacks it."""
        return self._native.series

    def __getattr__(self, name: str) -> Any:
        if name in ("to_pandas", "to_polars"):
            raise AttributeError(f"results are several tables; write results.runs.{name}()")
        raise AttributeError(f"'Results' object has no attribute '{name}'")

    def to_json(self) -> str:
        """The result object (docs/results.md), the same text as `queuewright run --json` prints."""
        return self._native.to_json()

    def to_dict(self) -> dict[str, Any]:
        """The result object (docs/results.md)."""
        found: dict[str, Any] = json.loads(self.to_json())
        return found

    def save(self, folder: str | os.PathLike[str] = "queuewright-results") -> "Path":
        """Writes what `queuewright run` writes: `report.html`, CSV sheets, the scenario.

        Args:
            folder: In it each comparison gets a dated folder of its own.

        Returns:
            That folder.

        Raises:
            Error: If no folder can be made there.
            RunError: If results cannot be written.
        """
        return self._save(folder, "")

    def _save(self, folder: str | os.PathLike[str], more: str) -> "Path":
        from pathlib import Path

        name = (self.scenario.name or "results") + more
        return Path(self._native.save(file("folder", folder), name))

    def plot(self, ax: "Axes | None" = None, *, delay: str = "mean", port: str | None = None) -> "Axes":
        """Utilisation against delay, as the report has it: up and to the left is better.

        A mark for each discipline, with bars over all seeds. It needs matplotlib
        (`pip install 'queuewright[plot]'`).

        Args:
            ax: Where to draw; default: axes of its own.
            delay: Which sojourn time: "mean", "p50", "p95", "p99" or another that `runs` has.
            port: Of which port; needed if there are several.

        Raises:
            Error: There is no such delay or port.
        """
        from queuewright import _plot

        return _plot.tradeoff(self, ax, delay, port)

    def plot_delays(self, ax: "Axes | None" = None, *, port: str | None = None) -> "Axes":
        """The distribution of the sojourn time, a line for each discipline and seed, as the report has it.

        Args:
            ax: As for `plot`.
            port: As for `plot`.

        Raises:
            Error: There is no such port.
        """
        from queuewright import _plot

        return _plot.delays(self, ax, port)

    def plot_series(self, quantity: str, ax: "Axes | None" = None, *, seed: int | None = None) -> "Axes":
        """A quantity over time, a line for each discipline.

        Args:
            quantity: A column of `series`: "bottleneck.backlog_bytes".
            ax: As for `plot`.
            seed: Of which seed; default: the first.

        Raises:
            Error: There is no such quantity or seed.
        """
        from queuewright import _plot

        return _plot.series(self, ax, quantity, seed)

    def __reduce__(self) -> tuple[Any, ...]:
        draft, runs, series = self._native.pack()
        return _unpickled, (VERSION, Scenario._again(draft), runs, series)

    def __str__(self) -> str:
        return self._native.summary().rstrip("\n")

    def __repr__(self) -> str:
        return f"<queuewright.Results\n{self}>"

    def _repr_html_(self) -> str:
        return _page(str(self))


def _page(text: str) -> str:
    import html

    return f'<pre style="line-height: 1.2; overflow-x: auto">{html.escape(text)}</pre>'


def _unpickled(version: str, scenario: Scenario, runs: bytes, series: Table) -> Results:
    same_version(version)
    return Results(_native.Results.unpack(scenario._draft, [runs], series))


def _table_unpickled(stream: bytes, sum_of_all: int) -> Table:
    # Arrow's reader trusts what it reads.
    if crc32(stream) != sum_of_all:
        raise Error("a pickled table: its bytes are not those that were written")
    return Table.from_ipc(stream)


def _table_pickled(table: Table) -> tuple[Any, ...]:
    stream = table.to_ipc()
    return _table_unpickled, (stream, crc32(stream))


copyreg.pickle(Table, _table_pickled)


def numbers(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The points with rates, times and sizes as numbers: bits a second, seconds and bytes.

    Texts of a path stay where not all of its values are of one unit; a number beside rates is one.
    """
    given: list[dict[str, Any]] = json.loads(to_json(points))
    for path in given[0] if given else ():
        values = [point[path] for point in given]
        if not any(isinstance(value, str) for value in values):
            continue
        try:
            parsed = [_native.number(v) if isinstance(v, str) else (v, "bit/s") for v in values]
        except Error:
            continue
        if not all(isinstance(value, int | float) for value, _ in parsed):
            continue
        if len({unit for _, unit in parsed}) == 1:
            for point, (value, unit) in zip(given, parsed, strict=True):
                point[path] = value if unit == "s" else int(value)
    return given


def _in_a_name(path: str, value: object) -> str:
    """A value of a sweep, and of which key it is."""
    said = f"{value:.12g}" if isinstance(value, float) else value
    return f"-{path.rpartition('.')[2]}-{said}"


class Sweep(Sequence[Results]):
    """Results at each combination of values, in the order of the last value fastest.

    Attributes:
        points: The values of each combination, by path.
    """

    __slots__ = ("_results", "points")

    def __init__(self, points: list[dict[str, Any]], results: list[Results]) -> None:
        self.points = points
        self._results = results

    @property
    def runs(self) -> Table:
        """`Results.runs` of all, with a column for each path in front."""
        return self._together("runs")

    @property
    def queues(self) -> Table:
        """`Results.queues` of all."""
        return self._together("queues")

    @property
    def groups(self) -> Table:
        """`Results.groups` of all."""
        return self._together("groups")

    @property
    def flows(self) -> Table:
        """`Results.flows` of all."""
        return self._together("flows")

    @property
    def responsiveness(self) -> Table:
        """`Results.responsiveness` of all."""
        return self._together("responsiveness")

    @property
    def cdf(self) -> Table:
        """`Results.cdf` of all."""
        return self._together("cdf")

    @property
    def transfers(self) -> Table:
        """`Results.transfers` of all."""
        return self._together("transfers")

    @property
    def series(self) -> Table:
        """`Results.series` of all."""
        return self._together("series")

    def _together(self, sheet: str) -> Table:
        tables = [getattr(results, sheet) for results in self._results]
        return _native.concat(tables, to_json([list(point.items()) for point in numbers(self.points)]))

    def to_dict(self) -> list[dict[str, Any]]:
        """For each combination its `point` and its `results`, as `Results.to_dict` has them."""
        each = zip(json.loads(to_json(self.points)), self._results, strict=True)
        return [{"point": point, "results": one.to_dict()} for point, one in each]

    def save(self, folder: str | os.PathLike[str] = "queuewright-results") -> "list[Path]":
        """`Results.save` of each combination, whose values are in its folder's name.

        Returns:
            Their folders, in the order of `points`.

        Raises:
            Error: If no folder can be made there.
            RunError: If results cannot be written.
        """
        points: list[dict[str, Any]] = json.loads(to_json(self.points))
        names = ["".join(_in_a_name(path, value) for path, value in point.items()) for point in points]
        return [one._save(folder, name) for one, name in zip(self._results, names, strict=True)]

    def plot(self, y: str = "sojourn_ms_mean", x: str | None = None, ax: "Axes | None" = None) -> "Axes":
        """A measure over a path that was varied: a line for each discipline, and a band over all seeds.

        Where other paths were varied too, there is a line for each combination of these. It needs matplotlib
        (`pip install 'queuewright[plot]'`).

        Args:
            y: A column of `runs`.
            x: The path; default: the first.
            ax: Where to draw; default: axes of its own.

        Raises:
            Error: There is no such column or path.
        """
        from queuewright import _plot

        return _plot.sweep(self, ax, y, x)

    def __len__(self) -> int:
        return len(self._results)

    @overload
    def __getitem__(self, index: int) -> Results: ...
    @overload
    def __getitem__(self, index: slice) -> "Sweep": ...
    def __getitem__(self, index: int | slice) -> "Results | Sweep":
        if isinstance(index, slice):
            return Sweep(self.points[index], self._results[index])
        return self._results[index]

    def __iter__(self) -> Iterator[Results]:
        return iter(self._results)

    def __repr__(self) -> str:
        over = f" over {', '.join(self.points[0])}" if self.points else ""
        return f"<queuewright.Sweep of {len(self)}{over}>"

    def __str__(self) -> str:
        return "\n\n".join(
            ", ".join(f"{path} = {value}" for path, value in point.items()) + f"\n{results}"
            for point, results in zip(self.points, self._results, strict=True)
        )

    def _repr_html_(self) -> str:
        return _page(str(self))
