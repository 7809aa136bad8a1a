"""What came of a search, and its words."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from queuewright._native import VERSION
from queuewright._tune._objective import Objective
from queuewright._tune._space import Axis, Settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from queuewright._tune._judge import Verdict
    from queuewright._tune._search import Candidate


@dataclass(frozen=True)
class Choice:
    """Parameters, and what they are worth beside the default."""

    # As `--aqm` has them.
    aqm: str
    settings: Settings
    # Mean gain of each objective where they were chosen, with twice the seeds.
    chosen: tuple[float, ...]
    # Of each objective, by its name, in what was held out.
    held_out: "dict[str, Verdict]"
    # Of all objectives together, their mean.
    together: "Verdict"


@dataclass(frozen=True)
class Tuned:
    """What came of a search. As a text it is what the command prints."""

    # The line to paste, as `--aqm` has it: the default's, where nothing better was found.
    aqm: str
    # The parameters in it that were searched.
    settings: Settings
    # Are they better than the default in what was held out, by more than chance?
    better: bool
    # What was found, at most one of one objective; of two those that none is better than in both.
    front: list[Choice]
    # The one of them that is taken if it is better: with the highest mean gain of all objectives.
    best: Choice | None
    # What was given to start with, if it is not the default.
    start: Choice | None
    # All that was tried.
    candidates: "list[Candidate]"
    objectives: list[Objective]
    # What was searched, in words.
    over: list[str]
    # How much was run.
    counts: dict[str, int]
    folder: Path
    _axes: Sequence[Axis]

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Of two objectives: what of one costs how much of the other (Pareto). It needs matplotlib.

        Args:
            ax: Where to draw; default: axes of its own.

        Raises:
            Error: There is one objective.
        """
        from queuewright._tune import _picture

        return _picture.tradeoff(self, ax)

    def plot_parameters(self) -> Any:
        """Of each parameter its value in each candidate, and the gain: a figure of matplotlib's."""
        from queuewright._tune import _picture

        return _picture.parameters(self, self._axes)

    def to_dict(self) -> dict[str, Any]:
        """What `tuned.json` has."""
        return {
            "version": VERSION,
            "aqm": self.aqm,
            "settings": self.settings,
            "better": self.better,
            "objectives": [objective.name for objective in self.objectives],
            "over": self.over,
            "counts": self.counts,
            "best": None if self.best is None else asdict(self.best),
            "start": None if self.start is None else asdict(self.start),
            "front": [asdict(one) for one in self.front],
            "candidates": [asdict(one) for one in self.candidates],
        }

    def __str__(self) -> str:
        return "\n".join([*_table(self), "", _verdict(self), f"--aqm {self.aqm}"])


def percent(share: float) -> str:
    return f"{100 * share:+.1f} %"


def _table(tuned: Tuned) -> list[str]:
    n = tuned.counts
    out = [
        f"searched {', '.join(tuned.over)}",
        f"{plural(n['candidates'], 'candidate')}, {n['ended_early']} ended early",
        f"chosen on {plural(n['scenarios'], 'scenario')}, judged on {_held_out(tuned)}",
        "",
    ]
    shown = [(one, "tuned") for one in tuned.front]
    if tuned.start is not None:
        shown.append((tuned.start, "given"))
    if not shown:
        return out[:3]
    rows = [
        [
            "gain over the default",
            *(f"{one} {where}" for one in tuned.objectives for where in ("chosen", "held out, 95 %")),
            "",
        ]
    ]
    for one, label in shown:
        row = [label]
        for objective, chosen in zip(tuned.objectives, one.chosen, strict=True):
            of = one.held_out[objective.name]
            between = f"{100 * of.low:+.1f} .. {100 * of.high:+.1f}"
            row += [percent(chosen), f"{percent(of.gain)} ({between})"]
        rows.append([*row, one.aqm])
    widths = [max(len(row[c]) for row in rows) for c in range(len(rows[0]) - 1)]
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:-1], widths[1:], strict=True)]
        out.append("  ".join([*cells, row[-1]]).rstrip())
    return out


def plural(n: int, word: str) -> str:
    return f"{n:,} {word}{'' if n == 1 else 's'}"


def _held_out(tuned: Tuned) -> str:
    n = tuned.counts
    other = f"{plural(n['held_out_scenarios'], 'scenario')} held out"
    return f"{other if n['apart'] else 'the same'} with other seeds"


def _verdict(tuned: Tuned) -> str:
    what = " and ".join(str(objective) for objective in tuned.objectives)
    if not tuned.candidates:
        return "nothing was tried: the budget ended before the first candidate; give it more time"
    if tuned.best is None:
        return f"nothing that was tried has better {what} than the defaults: the defaults stand"
    verdict = tuned.best.together
    mean = " in the mean" if len(tuned.objectives) > 1 else ""
    interval = f"95 %: {percent(verdict.low)} to {percent(verdict.high)}"
    where = _held_out(tuned)
    if not tuned.better:
        word = "worse" if verdict.word == "worse" else "no better, as far as can be told,"
        gain = f"{percent(verdict.gain)}{mean}, {interval}"
        return f"{what}: {word} than with the defaults on {where} ({gain}): the defaults stand"
    of = verdict.scenarios
    more = sum(gain > 0 for gain in of.values())
    worst = min(of, key=lambda name: of[name])
    said = f"better in {more} of {len(of)}" + (
        f", worst {worst} with {percent(of[worst])}" if len(of) > 1 else ""
    )
    gain = f"{100 * verdict.gain:.1f} % better{mean}"
    return f"{what}: {gain} than with the defaults on {where} ({interval}; {said})"
