"""Runs of candidates, each made once and kept in a file."""

import fcntl
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from queuewright import _native
from queuewright._asked import Engine
from queuewright._native import Error
from queuewright._progress import Progress
from queuewright._run import results
from queuewright._scenario import Scenario
from queuewright._tune._objective import Objective
from queuewright._tune._scenarios import Member

# Runs in one call: their time series are in memory until it ends.
_MOST = 256

# A scenario, by its name, and a seed.
Instance = tuple[str, int]
# Whose they are, in which scenario, with which seed.
_Key = tuple[str, str, int]


class Store:
    """`runs.jsonl`: a line for each run, as soon as it is known."""

    def __init__(self, path: Path) -> None:
        self._values: dict[_Key, list[float]] = {}
        self._file = path.open("a")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise Error(f"{path.parent}: another process is at work there") from None
        # Half a line may be one that another process is writing: the lock is taken first.
        for i, line in enumerate(_lines(path)):
            try:
                row = json.loads(line)
                values = [math.nan if value is None else float(value) for value in row["values"]]
                self._values[row["aqm"], row["scenario"], row["seed"]] = values
            except (ValueError, KeyError, TypeError):
                self._file.close()
                raise Error(f"{path}: line {i + 1} is broken: begin anew") from None

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: _Key) -> list[float] | None:
        """Of each objective the value of a run; None: it has not been made."""
        return self._values.get(key)

    def add(self, rows: Iterable[tuple[_Key, list[float]]]) -> None:
        """Keeps runs."""
        text = ""
        for (aqm, scenario, seed), values in rows:
            self._values[aqm, scenario, seed] = values
            shown = [None if math.isnan(value) else value for value in values]
            text += json.dumps({"aqm": aqm, "scenario": scenario, "seed": seed, "values": shown}) + "\n"
        self._file.write(text)
        self._file.flush()

    def close(self) -> None:
        """Lets another process go on."""
        self._file.close()


def _lines(path: Path) -> list[bytes]:
    """Its whole lines. What a killed process has left of another is cut off."""
    text = path.read_bytes()
    end = text.rfind(b"\n") + 1
    if end < len(text):
        os.truncate(path, end)
    return text[:end].splitlines()


class Runner:
    """Makes the runs of candidates that are not there yet, on all cores or a cluster."""

    def __init__(
        self,
        members: Sequence[Member],
        objectives: Sequence[Objective],
        store: Store,
        engine: Engine,
        jobs: int | None,
        progress: Progress,
    ) -> None:
        self._scenarios = {member.name: member.scenario for member in members}
        self._objectives = objectives
        self._store = store
        self._how: tuple[Engine, int | None, Progress] = (engine, jobs, progress)
        self._interrupt = _native.Interrupt()

    def values(self, lines: Sequence[str], instances: Sequence[Instance]) -> NDArray[np.float64]:
        """Of each candidate, run and objective the value; NaN: it has none, or the candidate cannot be.

        Args:
            lines: Candidates, as `--aqm` has them.
            instances: Runs of each: the same for all, so that chance is.
        """
        self._make(lines, instances)
        of = [[self._store.get((line, *instance)) for instance in instances] for line in lines]
        return np.array(of, np.float64).reshape(len(lines), len(instances), len(self._objectives))

    def _make(self, lines: Sequence[str], instances: Sequence[Instance]) -> None:
        # Of each scenario, the seeds that some candidates lack.
        lacking: dict[tuple[str, tuple[int, ...]], list[str]] = {}
        for line in dict.fromkeys(lines):
            of: dict[str, list[int]] = {}
            for name, seed in instances:
                if self._store.get((line, name, seed)) is None:
                    of.setdefault(name, []).append(seed)
            for name, lacks in of.items():
                lacking.setdefault((name, tuple(lacks)), []).append(line)
        part: list[tuple[str, tuple[int, ...], list[str]]] = []
        runs = 0
        for (name, seeds), own in lacking.items():
            part.append((name, seeds, own))
            runs += len(seeds) * len(own)
            if runs >= _MOST:
                self._make_part(part)
                part, runs = [], 0
        if part:
            self._make_part(part)

    def _make_part(self, part: Sequence[tuple[str, tuple[int, ...], list[str]]]) -> None:
        if self._interrupt.pressed():
            raise KeyboardInterrupt
        try:
            scenarios = [self._scenario(name, seeds, own) for name, seeds, own in part]
            made = results(scenarios, *self._how)
        except Error:
            if sum(len(own) for _, _, own in part) == 1:
                raise
            self._make_apart(part)
            return
        except BaseException as e:
            # What had finished is kept.
            finished: list[_native.Results] = getattr(e, "results", None) or []
            for (name, _, own), one in zip(part, finished, strict=False):
                self._keep(name, own, one)
            raise
        for (name, _, own), one in zip(part, made, strict=True):
            self._keep(name, own, one)

    def _make_apart(self, part: Sequence[tuple[str, tuple[int, ...], list[str]]]) -> None:
        """Some parameters do not go together there, such as a minimum above the maximum: no value."""
        left = []
        for name, seeds, own in part:
            can = [line for line in own if self._can(name, line)]
            none = [math.nan] * len(self._objectives)
            self._store.add(((line, name, seed), none) for line in own if line not in can for seed in seeds)
            if can:
                left.append((name, seeds, can))
        if left:
            scenarios = [self._scenario(name, seeds, own) for name, seeds, own in left]
            for (name, _, own), one in zip(left, results(scenarios, *self._how), strict=True):
                self._keep(name, own, one)

    def _can(self, name: str, line: str) -> bool:
        try:
            self._scenario(name, (1,), [line])._draft.runs()
        except Error:
            return False
        return True

    def _scenario(self, name: str, seeds: Sequence[int], lines: Sequence[str]) -> Scenario:
        labelled = [f"{line}:label=c{i}" for i, line in enumerate(lines)]
        return self._scenarios[name].changed(aqm=labelled, seeds=list(seeds))

    def _keep(self, name: str, lines: Sequence[str], made: _native.Results) -> None:
        def value(measures: Mapping[str, float]) -> list[float]:
            return [objective.value(measures) for objective in self._objectives]

        self._store.add(
            ((lines[int(label[1:])], name, seed), value(measures))
            for label, seed, measures in made.measures()
        )
