"""Which of the best is taken, and what it is worth where nothing was chosen."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from queuewright._native import Error
from queuewright._tune._judge import gains_of, judge
from queuewright._tune._objective import Objective
from queuewright._tune._runs import Instance, Runner
from queuewright._tune._scenarios import Member
from queuewright._tune._search import Candidate, Search, front
from queuewright._tune._space import Settings
from queuewright._tune._tuned import Choice

# The best of the search that run with further seeds before one is taken.
_SHORT_LIST = 5
# Of those that none is better than in both: no more are judged.
_MOST_FRONT = 12


@dataclass(frozen=True)
class Outcome:
    """What was taken, and how it was judged."""

    # Of one objective one, of two those that none is better than in both; empty: the default is best.
    front: list[Choice]
    # What was given to start with.
    start: Choice | None
    # The runs that it was judged in.
    judged_in: list[Instance]


class Final:
    """The last rounds: the best run with further seeds, and then where nothing was chosen."""

    def __init__(
        self,
        search: Search,
        runner: Runner,
        objectives: Sequence[Objective],
        seeds: int,
        judged_on: Sequence[Member],
    ) -> None:
        self._search, self._runner, self._objectives = search, runner, objectives
        names = dict.fromkeys(name for name, _ in search.instances)
        again = range(seeds + 1, 2 * seeds + 1)
        self._chosen_in = [*search.instances, *((name, seed) for name in names for seed in again)]
        others = range(2 * seeds + 1, 4 * seeds + 1)
        self._held_out = [(member.name, seed) for member in judged_on for seed in others]

    def outcome(self, candidates: Sequence[Candidate], start: Settings | None) -> Outcome:
        """Takes the best, and judges them.

        Args:
            candidates: Those of the search.
            start: What was given to start with, if it is not the default.

        Raises:
            Error: What is held out has no value.
        """
        listed = self._short_list(candidates)
        lines = [self._search.line(settings) for settings in listed]
        given = [] if start is None else [self._search.line(start)]
        chosen, _ = self._in(self._chosen_in, [*lines, *given])
        means = np.array([of.mean(axis=0) for of in chosen]).reshape(-1, len(self._objectives))
        # The default is one of them.
        with_default = np.vstack([np.zeros((1, len(self._objectives))), means[: len(lines)]])
        if len(self._objectives) == 1:
            best = int(np.argmax(with_default[:, 0])) - 1
            taken = [best] if best >= 0 else []
        else:
            taken = [i - 1 for i in front(with_default) if i > 0]
        judged, kept = self._in(self._held_out, [*(lines[i] for i in taken), *given])
        if not kept:
            raise Error(f"held_out: no run there has {' and '.join(map(str, self._objectives))}")
        own = [
            self._choice(lines[i], listed[i], means[i], of, kept)
            for i, of in zip(taken, judged, strict=False)
        ]
        started = None if start is None else self._choice(given[0], start, means[-1], judged[-1], kept)
        return Outcome(own, started, kept)

    def _in(
        self, instances: Sequence[Instance], lines: Sequence[str]
    ) -> tuple[list[NDArray[np.float64]], list[Instance]]:
        """Of each line the gains in these runs, and those of the runs in which the default has a value."""
        default, *made = self._runner.values([self._search.default, *lines], instances)
        has = ~np.isnan(default).any(axis=1)
        kept = [instance for instance, there in zip(instances, has, strict=True) if there]
        return [gains_of(self._objectives, own[has], default[has]) for own in made], kept

    def _short_list(self, candidates: Sequence[Candidate]) -> list[Settings]:
        """Those that may be the best, each once, without the default."""
        lines: dict[str, Candidate] = {}
        for one in candidates:
            if not one.ended_early:
                lines.setdefault(self._search.line(one.settings), one)
        lines.pop(self._search.default_as_searched, None)
        whole = list(lines.values())
        if len(self._objectives) == 1:
            whole.sort(key=lambda one: -one.values[0])
            return [one.settings for one in whole[:_SHORT_LIST]]
        if not whole:
            return []
        none_better = [whole[i] for i in front(np.array([one.values for one in whole]))]
        none_better.sort(key=lambda one: one.values)
        if len(none_better) > _MOST_FRONT:
            # Some that are spread.
            at = np.linspace(0, len(none_better) - 1, _MOST_FRONT).round().astype(int)
            none_better = [none_better[i] for i in at]
        return [one.settings for one in none_better]

    def _choice(
        self,
        line: str,
        settings: Settings,
        chosen: NDArray[np.float64],
        held_out: NDArray[np.float64],
        kept: Sequence[Instance],
    ) -> Choice:
        return Choice(
            line,
            settings,
            tuple(float(value) for value in chosen),
            {one.name: judge(held_out[:, i], kept) for i, one in enumerate(self._objectives)},
            judge(held_out.mean(axis=1), kept),
        )
