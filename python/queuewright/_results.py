"""Results: tables, the summary, the report."""

import copyreg
import html
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from queuewright import _native
from queuewright._native import VERSION, Table
from queuewright._scenario import Scenario, same_version, to_json


class Results:
    """What came of a scenario's runs.

    As a text, and in a notebook, it is the table that the command prints.
    """

    __slots__ = ("_native",)

    def __init__(self, native: _native.Results) -> None:
        self._native = native

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

    def to_json(self) -> str:
        """The result object (docs/results.md), the same text as `queuewright run --json` prints."""
        return self._native.to_json()

    def to_dict(self) -> dict[str, Any]:
        """The result object (docs/results.md)."""
        found: dict[str, Any] = json.loads(self.to_json())
        return found

    def save(self, folder: str | os.PathLike[str] = "queuewright-results") -> Path:
        """Writes what `queuewright run` writes: `report.html`, CSV sheets, the scenario.

        Args:
            folder: In it each comparison gets a dated folder of its own.

        Returns:
            That folder.

        Raises:
            Error: If no folder can be made there.
            RunError: If results cannot be written.
        """
        return Path(self._native.save(os.fspath(folder), "results"))

    def __reduce__(self) -> tuple[Any, ...]:
        draft, runs, series = self._native.pack()
        return _unpickled, (VERSION, Scenario._of(draft), runs, series)

    def __str__(self) -> str:
        return self._native.summary().rstrip("\n")

    def __repr__(self) -> str:
        return f"<queuewright.Results\n{self}>"

    def _repr_html_(self) -> str:
        return f'<pre style="line-height: 1.2; overflow-x: auto">{html.escape(str(self))}</pre>'


def _unpickled(version: str, scenario: Scenario, runs: bytes, series: Table) -> Results:
    same_version(version)
    return Results(_native.Results.unpack(scenario._draft, [runs], series))


def _table_unpickled(stream: bytes) -> Table:
    return Table.from_ipc(stream)


copyreg.pickle(Table, lambda table: (_table_unpickled, (table.to_ipc(),)))


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
        return _native.concat(tables, to_json(self.points))

    def __len__(self) -> int:
        return len(self._results)

    def __getitem__(self, index: Any) -> Any:
        return self._results[index]

    def __iter__(self) -> Iterator[Results]:
        return iter(self._results)

    def __repr__(self) -> str:
        return f"<queuewright.Sweep of {len(self)} over {', '.join(self.points[0])}>"

    def __str__(self) -> str:
        return "\n\n".join(
            ", ".join(f"{path} = {value}" for path, value in point.items()) + f"\n{results}"
            for point, results in zip(self.points, self._results, strict=True)
        )

    def _repr_html_(self) -> str:
        return f'<pre style="line-height: 1.2; overflow-x: auto">{html.escape(str(self))}</pre>'
