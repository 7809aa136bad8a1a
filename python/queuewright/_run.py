"""Runs of scenarios, on all cores, and what comes of them."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from queuewright import _native, _ray
from queuewright._native import Error
from queuewright._progress import Progress, reporter
from queuewright._results import Results, Sweep
from queuewright._scenario import Discipline, Scenario, Seeds, load, points

# Whatever a scenario can be made of.
Given = Scenario | str | os.PathLike[str] | Mapping[str, Any]
Engine = Literal["sim", "linux", "ray"]
ENGINES = ("sim", "linux", "ray")


def run(
    scenario: Given,
    *,
    aqm: Discipline | Iterable[Discipline] | None = None,
    seeds: Seeds | None = None,
    duration: str | None = None,
    warmup: str | None = None,
    engine: Engine = "sim",
    jobs: int | None = None,
    progress: Progress = None,
) -> Results:
    """Makes every run of a scenario: each queue manager with each seed.

    Other threads of Python go on meanwhile. Ctrl-C ends the runs.

    Args:
        scenario: A `Scenario`, the path of a scenario file, or a dict of its tables.
        aqm: Queue managers instead of the scenario's: `["codel", "pie:target=10ms"]`.
        seeds: Seeds instead of the scenario's: `3`, `range(1, 4)`, `[1, 2, 5]` or `"1..3"`.
        duration: Length of a run, warm-up included, instead of the scenario's.
        warmup: Time at the start that no measure counts, instead of the scenario's.
        engine: `"sim"`: the simulator; `"linux"`: a real kernel in a virtual machine (docs/linux.md);
            `"ray"`: the simulator on a Ray cluster, with the same results (`pip install '.[ray]'`).
        jobs: Runs at a time; default one per core.
        progress: True: a bar; False: none; default: a bar on a terminal and in a notebook, for runs that take
            longer than a moment. Or a function that is called with the share done (0 to 1), the runs done and
            all runs.

    Raises:
        Error: Wrong input.
        RunError: A run failed.
    """
    changed = _changed(scenario, aqm=aqm, seeds=seeds, duration=duration, warmup=warmup)
    return _run([changed], engine, jobs, progress)[0]


def compare(
    scenario: Given,
    aqm: Discipline | Iterable[Discipline] = ("droptail", "codel", "pie", "titrate"),
    *,
    seeds: Seeds | None = None,
    duration: str | None = None,
    warmup: str | None = None,
    engine: Engine = "sim",
    jobs: int | None = None,
    progress: Progress = None,
) -> Results:
    """`run` with these queue managers, whatever the scenario has."""
    return run(
        scenario,
        aqm=aqm,
        seeds=seeds,
        duration=duration,
        warmup=warmup,
        engine=engine,
        jobs=jobs,
        progress=progress,
    )


def sweep(
    scenario: Given,
    over: Mapping[str, Iterable[Any]],
    *,
    aqm: Discipline | Iterable[Discipline] | None = None,
    seeds: Seeds | None = None,
    duration: str | None = None,
    warmup: str | None = None,
    engine: Engine = "sim",
    jobs: int | None = None,
    progress: Progress = None,
) -> Sweep:
    """`run` at each combination of values.

    `qw.sweep(home, over={"link.rate": ["10mbit", "100mbit"], "flows[0].count": [1, 10]})` makes four
    comparisons. Tables of the sweep have a column for each path in front.

    Args:
        scenario: As for `run`.
        over: Values by path, see `Scenario.changed`.
        aqm: As for `run`, as are the others.

    Raises:
        Error: Wrong input, at whichever combination; nothing has run then.
        RunError: A run failed.
    """
    combinations = points(over)
    if not combinations:
        raise Error("over: no value to run with; write a list of them for each path")
    base = _scenario(scenario)
    scenarios = [
        base.changed(point, aqm=aqm, seeds=seeds, duration=duration, warmup=warmup) for point in combinations
    ]
    return Sweep(combinations, _run(scenarios, engine, jobs, progress))


def _scenario(given: Given) -> Scenario:
    if isinstance(given, Scenario):
        return given
    if isinstance(given, Mapping):
        try:
            return Scenario(**given)
        except TypeError:
            known = ("name", "description", "link", "ports", "shared", "flows", "queue", "run")
            unknown = [key for key in given if key not in known]
            raise Error(f"{unknown[0]}: unknown key. Allowed: {', '.join(known)}") from None
    return load(given)


def _changed(given: Given, **changes: Any) -> Scenario:
    scenario = _scenario(given)
    if all(change is None for change in changes.values()):
        return scenario
    return scenario.changed(**changes)


def _run(
    scenarios: Sequence[Scenario], engine: Engine, jobs: int | None, progress: Progress
) -> list[Results]:
    return [Results(one) for one in results(scenarios, engine, jobs, progress)]


def results(
    scenarios: Sequence[Scenario], engine: Engine, jobs: int | None, progress: Progress
) -> list[_native.Results]:
    """Of each scenario the native results.

    Raises:
        Error: Wrong input; nothing has run then.
        RunError: A run failed.
    """
    if engine not in ENGINES:
        raise Error(f'engine = "{engine}": not an engine. Allowed: {", ".join(ENGINES)}')
    if jobs is not None and not 1 <= jobs <= 65535:
        raise Error(f"jobs = {jobs}: out of range; allowed: 1 to 65535")
    with reporter(progress) as tell:
        if engine == "ray":
            return _ray.runs(scenarios, jobs, tell)
        drafts = [scenario._draft for scenario in scenarios]
        return _native.run(drafts, linux=engine == "linux", at_a_time=jobs, progress=tell)
