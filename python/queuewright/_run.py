"""Runs of scenarios, on all cores, and what comes of them."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from queuewright import _native, _ray
from queuewright._native import DEFAULT_AQM, Error
from queuewright._progress import Progress, reporter
from queuewright._results import Results, Sweep
from queuewright._scenario import Discipline, Scenario, keywords, load, of_tables, points
from queuewright.keys import Changes, Flags

if TYPE_CHECKING:
    from typing_extensions import Unpack

# Whatever a scenario can be made of.
Given = Scenario | str | os.PathLike[str] | Mapping[str, Any]
Engine = Literal["sim", "linux", "ray"]
ENGINES = ("sim", "linux", "ray")


@keywords(Flags)
def run(
    scenario: Given,
    *,
    engine: Engine = "sim",
    jobs: int | None = None,
    progress: Progress = None,
    **flags: "Unpack[Flags]",
) -> Results:
    """Makes every run of a scenario: each discipline with each seed.

    Other threads of Python go on meanwhile. Ctrl-C ends the runs.

    Args:
        scenario: A `Scenario`, the path of a scenario file, or a dict of its tables.
        engine: `"sim"`: the simulator; `"linux"`: a real kernel in a virtual machine (docs/linux.md);
            `"ray"`: the simulator on a Ray cluster, with the same results (`pip install '.[ray]'`).
        jobs: Runs at a time; default one per core.
        progress: True: a bar; False: none; default: a bar on a terminal and in a notebook, for runs that take
            longer than a moment. Or a function that is called with the share done (0 to 1), the runs done and
            all runs.
        flags: Instead of what the scenario says: `aqm=["codel", "pie:target=10ms"]`, `seeds=range(1, 4)`,
            `duration="60s"`, `warmup="10s"` and others, as for `Scenario.changed`.

    Raises:
        Error: Wrong input.
        RunError: A run failed.
    """
    return _run([_changed(scenario, flags)], engine, jobs, progress)[0]


@keywords(Changes)
def compare(
    scenario: Given,
    aqm: Discipline | Iterable[Discipline] = DEFAULT_AQM,
    *,
    engine: Engine = "sim",
    jobs: int | None = None,
    progress: Progress = None,
    **flags: "Unpack[Changes]",
) -> Results:
    """`run` with these disciplines, whatever the scenario has."""
    return run(scenario, aqm=aqm, engine=engine, jobs=jobs, progress=progress, **flags)


@keywords(Flags)
def sweep(
    scenario: Given,
    over: Mapping[str, Iterable[Any]],
    *,
    engine: Engine = "sim",
    jobs: int | None = None,
    progress: Progress = None,
    **flags: "Unpack[Flags]",
) -> Sweep:
    """`run` at each combination of values.

    `qw.sweep(home, over={"link.rate": ["10mbit", "100mbit"], "flows[0].count": [1, 10]})` makes four
    comparisons. Tables of the sweep have a column for each path in front.

    Args:
        scenario: As for `run`.
        over: Values by path, see `Scenario.changed`.
        engine: As for `run`, as are the others.

    Raises:
        Error: Wrong input, at whichever combination; nothing has run then.
        RunError: A run failed.
    """
    combinations = points(over)
    if not combinations:
        raise Error("over: no value to run with; write a list of them for each path")
    base = _scenario(scenario)
    scenarios = [base.changed(point, **flags) for point in combinations]
    return Sweep(combinations, _run(scenarios, engine, jobs, progress))


def _scenario(given: Given) -> Scenario:
    if isinstance(given, Scenario):
        return given
    if isinstance(given, Mapping):
        return of_tables(given)
    return load(given)


def _changed(given: Given, flags: Flags) -> Scenario:
    scenario = _scenario(given)
    return scenario.changed(**flags) if any(flag is not None for flag in flags.values()) else scenario


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
