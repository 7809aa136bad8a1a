"""Pictures of a search, by matplotlib."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from queuewright._native import Error
from queuewright._tune._objective import Objective
from queuewright._tune._space import Axis, Range

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from queuewright._tune._tuned import Tuned


def tradeoff(tuned: "Tuned", ax: "Axes | None") -> "Axes":
    """See `Tuned.plot`."""
    if len(tuned.objectives) != 2:
        raise Error(
            "plot: of one objective there is nothing to trade; plot_parameters() shows the candidates"
        )
    from queuewright import _plot

    ax = _plot._axes(ax)
    whole = [one for one in tuned.candidates if not one.ended_early]
    early = [one for one in tuned.candidates if one.ended_early]
    for some, mark, label in ((early, "x", "ended early"), (whole, ".", "candidates")):
        if some:
            x, y = zip(*[[100 * value for value in one.values] for one in some], strict=True)
            ax.plot(x, y, mark, color="0.7", label=label)
    points = sorted([100 * value for value in one.chosen] for one in tuned.front)
    ax.plot(
        *zip(*points, strict=True), "o-", color="C0", drawstyle="steps-pre", label="none is better in both"
    )
    for i, one in enumerate(tuned.front):
        across, up = ([100 * v for v in (of.gain, of.low, of.high)] for of in one.held_out.values())
        ax.errorbar(
            across[0],
            up[0],
            [[up[0] - up[1]], [up[2] - up[0]]],
            [[across[0] - across[1]], [across[2] - across[0]]],
            fmt="s",
            color="C1",
            alpha=0.6,
            markersize=4,
            label="the same, held out, 95 %" if i == 0 else None,
        )
    ax.plot(0, 0, "k*", markersize=12, label="default")
    ax.set_xlabel(_gain_in(tuned.objectives[0]))
    ax.set_ylabel(_gain_in(tuned.objectives[1]))
    # Below, where nothing is drawn.
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2, frameon=False)
    return ax


def parameters(tuned: "Tuned", axes: Sequence[Axis]) -> Any:
    """Of each parameter its value in each candidate, and the gain: a figure."""
    import matplotlib.pyplot as plt

    rows = len(tuned.objectives)
    figure, cells = plt.subplots(
        rows,
        len(axes),
        figsize=(3.2 * len(axes) + 0.8, 2.8 * rows),
        squeeze=False,
        sharey="row",
        layout="constrained",
    )
    for row, objective in enumerate(tuned.objectives):
        for cell, axis in zip(cells[row], axes, strict=True):
            for early, color in ((True, "0.75"), (False, "C0")):
                some = [one for one in tuned.candidates if one.ended_early == early]
                x = [_at(axis, one.settings[axis.name]) for one in some]
                cell.plot(x, [100 * one.values[row] for one in some], ".", color=color)
            cell.axhline(0, color="k", linewidth=0.5)
            if axis.name in tuned.settings:
                cell.axvline(_at(axis, tuned.settings[axis.name]), color="C1", linewidth=0.8)
            if isinstance(axis, Range):
                cell.set_xscale("log" if axis.log else "linear")
                cell.set_xlabel(f"{axis.name}{_unit(axis)}")
            else:
                cell.set_xlabel(axis.name)
        cells[row][0].set_ylabel(_gain_in(objective))
    return figure


def _at(axis: Axis, text: str) -> Any:
    if not isinstance(axis, Range):
        return text
    value = axis.value(text)
    return value / 1e6 if axis.parameter.kind == "time" else value


def _unit(axis: Range) -> str:
    of_kind = {"time": "ms", "size": axis.suffix or "bytes", "rate": "bit/s"}
    unit = of_kind.get(axis.parameter.kind)
    return f", {unit}" if unit else ""


def _gain_in(objective: Objective) -> str:
    return f"gain in {objective.name}, %"


def save(figure: Any, path: Path) -> None:
    """As SVG, the same bytes each time."""
    import matplotlib.pyplot as plt

    with plt.rc_context({"svg.hashsalt": "queuewright"}):
        figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)
