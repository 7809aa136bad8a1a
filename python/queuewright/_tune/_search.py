"""The search: candidates that Optuna proposes, on the same scenarios and seeds; bad ones end early."""

import json
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from numpy.typing import NDArray
from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock, JournalStorage
from optuna.trial import FrozenTrial, TrialState
from scipy.stats import wilcoxon

from queuewright._native import Error
from queuewright._tune._judge import gains_of
from queuewright._tune._objective import Objective
from queuewright._tune._runs import Instance, Runner
from queuewright._tune._space import Axis, Range, Settings, Words, line, parameters

# Candidates that are asked for together, however many cores there are.
BATCH = 8
# The first ones are anywhere.
_ANYWHERE = 10
# The first look at a candidate is after an eighth of its runs, or so many; the next after twice as many.
_FIRST_LOOK, _PARTS = 6, 8
# A candidate ends where a test says by chance alone so seldom that it is worse than one that is known.
_CHANCE = 0.05

Gains = NDArray[np.float64]


@dataclass(frozen=True)
class Candidate:
    """What was tried."""

    number: int
    settings: Settings
    # Mean gain over the default, of each objective; of one that ended early what it would have had.
    values: tuple[float, ...]
    # Of so many runs.
    runs: int
    ended_early: bool


def _sampler(seed: int) -> optuna.samplers.BaseSampler:
    return optuna.samplers.TPESampler(
        seed=seed, n_startup_trials=_ANYWHERE, multivariate=True, constant_liar=True
    )


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Ctrl-C waits: what Optuna writes is written whole."""
    # A handler that is not Python's is None, and cannot be put back.
    of_python = signal.getsignal(signal.SIGINT) is not None
    if threading.current_thread() is not threading.main_thread() or not of_python:
        yield
        return
    pressed: list[tuple[int, Any]] = []
    before = signal.signal(signal.SIGINT, lambda *at: pressed.append(at))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if pressed and callable(before):
            before(*pressed[0])


class Search:
    """Candidates for some axes, and what they are worth beside the default in these runs."""

    def __init__(
        self,
        discipline: str,
        fixed: Settings,
        axes: Sequence[Axis],
        runner: Runner,
        instances: Sequence[Instance],
        objectives: Sequence[Objective],
        seed: int,
        folder: Path,
    ) -> None:
        self._discipline, self._fixed, self._axes = discipline, fixed, axes
        self._runner, self._seed = runner, seed
        self.objectives = objectives
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        journal = folder / "trials.journal"
        _whole(journal)
        # It has one writer: the folder is locked.
        lock = JournalFileOpenLock(str(journal))
        try:
            with _quiet(), _undisturbed():
                self.study = optuna.create_study(
                    study_name="tune",
                    storage=JournalStorage(JournalFileBackend(str(journal), lock_obj=lock)),
                    directions=["maximize"] * len(objectives),
                    load_if_exists=True,
                )
        except OSError:
            raise
        except Exception:  # of no one kind, where lines are none of a journal's
            raise Error(f"{journal}: broken: begin anew") from None
        self.default = line(discipline, fixed)
        known_of = parameters(discipline)
        # The same, if it is a candidate: the defaults are written out there.
        self.default_as_searched = self.line({axis.name: known_of[axis.name].default for axis in axes})
        known = runner.values([self.default], instances)[0]
        # Where the default has no value nothing can be said of others.
        has = ~np.isnan(known).any(axis=1)
        self.instances = [instance for instance, there in zip(instances, has, strict=True) if there]
        if not self.instances:
            what = " and ".join(map(str, objectives))
            raise Error(f"objective: no run of {self.default} there has {what}")
        self._known = known[has]
        self._gains: dict[int, Gains] = {}

    # ------------------------------------------------------------ candidates

    def begin_with(self, settings: Mapping[str, str]) -> None:
        """Has this tried first.

        Raises:
            Error: It is outside what may be chosen.
        """
        values = {axis.name: axis.value(settings[axis.name]) for axis in self._axes}
        if not self.study.get_trials(deepcopy=False):
            with _quiet(), _undisturbed():
                self.study.enqueue_trial(values)

    def candidates(self) -> list[Candidate]:
        """Those that have been tried."""
        return [self._candidate(trial) for trial in self._trials(TrialState.COMPLETE)]

    def _candidate(self, trial: FrozenTrial) -> Candidate:
        gains = self.gains(trial.number, self._settings(trial.params))
        early = len(gains) < len(self.instances)
        return Candidate(trial.number, self._settings(trial.params), tuple(trial.values), len(gains), early)

    def line(self, settings: Settings) -> str:
        """As `--aqm` has it, with what is fixed."""
        return line(self._discipline, self._fixed | settings)

    def gains(self, number: int, settings: Settings) -> Gains:
        """Those of a candidate in the runs that it has, which are the first."""
        if number not in self._gains:
            self._gains[number] = self._of([settings], self.study.user_attrs[f"runs of {number}"])[0]
        return self._gains[number]

    def _of(self, several: Sequence[Settings], runs: int) -> Gains:
        """Of each of several, of the first runs: candidate, run, objective."""
        made = self._runner.values([self.line(one) for one in several], self.instances[:runs])
        return np.stack([gains_of(self.objectives, own, self._known[:runs]) for own in made])

    def _trials(self, *states: TrialState) -> list[FrozenTrial]:
        return self.study.get_trials(deepcopy=False, states=states)

    def _settings(self, params: Mapping[str, Any]) -> Settings:
        return {
            axis.name: axis.text(params[axis.name]) if isinstance(axis, Range) else params[axis.name]
            for axis in self._axes
        }

    def _distributions(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for axis in self._axes:
            if isinstance(axis, Words):
                found[axis.name] = optuna.distributions.CategoricalDistribution(axis.words)
            elif axis.parameter.kind == "count":
                ends = (round(axis.low), round(axis.high))
                found[axis.name] = optuna.distributions.IntDistribution(*ends, log=axis.log)
            else:
                found[axis.name] = optuna.distributions.FloatDistribution(axis.low, axis.high, log=axis.log)
        return found

    def _ask(self, number: int) -> FrozenTrial:
        # One for each number: a search that goes on in another process asks the same.
        with _quiet(), _undisturbed():
            self.study.sampler = _sampler((self._seed * 1_000_003 + number) % 2**32)
            asked = self.study.ask(self._distributions())
        return self.study.get_trials(deepcopy=False)[asked.number]

    # ---------------------------------------------------------------- rounds

    def run(self, trials: int, until: float | None, say: Callable[[], object]) -> None:
        """Tries candidates until there are so many, or until a time."""
        self._forget_broken()
        while True:
            waiting = self._trials(TrialState.RUNNING)
            known = len(self._trials(TrialState.COMPLETE, TrialState.FAIL)) + len(waiting)
            begin = waiting[0].number if waiting else known
            if not waiting and (known >= trials or (until is not None and time.monotonic() > until)):
                return
            end = min((begin // BATCH + 1) * BATCH, max(trials, known))
            batch = waiting + [self._ask(number) for number in range(known, end)]
            rivals = self._rivals(begin)
            tried = self._try([self._settings(trial.params) for trial in batch], rivals)
            with _quiet(), _undisturbed():
                for trial, (values, gains) in zip(batch, tried, strict=True):
                    self._gains[trial.number] = gains
                    self.study.set_user_attr(f"runs of {trial.number}", len(gains))
                    self.study.tell(trial.number, values)
            say()

    def _forget_broken(self) -> None:
        """A process was killed while it asked."""
        names = {axis.name for axis in self._axes}
        for trial in self._trials(TrialState.RUNNING):
            if set(trial.params) != names:
                self.study.tell(trial.number, state=TrialState.FAIL)

    def _rivals(self, begin: int) -> list[Gains]:
        """The best known before a batch: one, or those that none is better than in both objectives."""
        zero = np.zeros((len(self.instances), len(self.objectives)))
        known = [zero] + [
            self.gains(one.number, one.settings)
            for one in self.candidates()
            if one.number < begin and not one.ended_early
        ]
        means = np.array([gains.mean(axis=0) for gains in known])
        if len(self.objectives) == 1:
            return [known[int(np.argmax(means[:, 0]))]]
        return [known[i] for i in front(means)]

    def _try(self, batch: Sequence[Settings], rivals: Sequence[Gains]) -> list[tuple[list[float], Gains]]:
        """Of each candidate the mean gains, and those of its runs."""
        ended: dict[int, tuple[list[float], Gains]] = {}
        live = list(range(len(batch)))
        for runs in self._looks():
            gains = self._of([batch[i] for i in live], runs)
            for i, own in zip(list(live), gains, strict=True):
                values = [float(value) for value in own.mean(axis=0)]
                worse = None if runs == len(self.instances) else next(_worse(own, rivals), None)
                if worse is not None:
                    # It is as far behind in the runs to come, too.
                    values = [float(v) for v in worse.mean(axis=0) + (own - worse[:runs]).mean(axis=0)]
                elif runs < len(self.instances):
                    continue
                ended[i] = values, own
                live.remove(i)
            if not live:
                break
        return [ended[i] for i in range(len(batch))]

    def _looks(self) -> list[int]:
        """After how many runs candidates are looked at."""
        every = len(self.instances)
        looks = [min(every, max(_FIRST_LOOK, -(-every // _PARTS)))]
        while looks[-1] < every:
            looks.append(min(every, 2 * looks[-1]))
        return looks


def _worse(own: Gains, rivals: Sequence[Gains]) -> Iterator[Gains]:
    """Those that are better in each objective, by more than chance, in the runs that both have."""
    for rival in rivals:
        ahead = own - rival[: len(own)]
        if all(
            of.mean() < 0 and wilcoxon(of, alternative="less", zero_method="zsplit").pvalue < _CHANCE
            for of in ahead.T
        ):
            yield rival


def front(means: NDArray[np.float64]) -> list[int]:
    """Those that no other is as good as in each and better in one; of equals the first."""
    found = []
    for i, own in enumerate(means):
        others = np.delete(means, i, axis=0)
        beaten = ((others >= own).all(axis=1) & (others > own).any(axis=1)).any()
        same = (means[:i] == own).all(axis=1).any()
        if not beaten and not same:
            found.append(i)
    return found


@contextmanager
def _quiet() -> Iterator[None]:
    """Optuna calls parts of it experimental each time that they are used."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        yield


def _whole(journal: Path) -> None:
    """Cuts off what a killed process has left of a line, and takes its lock away."""
    for lock in journal.parent.glob(f"{journal.name}.lock*"):
        lock.unlink(missing_ok=True)
    try:
        text = journal.read_bytes()
    except FileNotFoundError:
        return
    end = text.rfind(b"\n") + 1
    if end < len(text):
        os.truncate(journal, end)
    for i, words in enumerate(text[:end].splitlines()):
        try:
            json.loads(words)
        except ValueError:
            raise Error(f"{journal}: line {i + 1} is broken: begin anew") from None
