"""Runs of scenarios, on all cores, and what comes of them."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from queuewright import _native
from queuewright._asked import ENGINES, Engine
from queuewright._native import DEFAULT_AQM, Error
from queuewright._progress import Progress, reporter
from queuewright._results import Results, Sweep
from queuewright._scenario import Discipline, Scenario, keywords, load, of_tables, points
from queuewright._values import file, shown, whole
from queuewright.keys import Changes, Flags

if TYPE_CHECKING:
    from typing_extensions import Unpack

# Whatever a scenario can be made of.
Given = Scenario | str | os.PathLike[str] | Mapping[str, Any]


@keywords(Flags)
def run(
    scenario: Given,
    *,
    without: str | Iterable[str] = (),
    engine: Engine = "sim",
    jobs: int | None = None,
    progress: Progress = None,
    **flags: "Unpack[Flags]",
) -> Results:
    """Makes every run of a scenario: each discipline with each seed.

    Other threads of Python go on meanwhile. Ctrl-C ends the runs, in whichever thread they are; what has
    finished is the exception's `results`.

    Args:
        scenario: A `Scenario`, the path of a scenario file, or a dict of its tables.
        without: Groups of flows. Every run is also made without them, and `groups` says what share of what
            they have alone the others lose beside them (harm, docs/results.md). Progress counts these, too.
            Not with `engine="ray"`.
        engine: `"sim"`: the simulator; `"linux"`: a real kernel in a virtual machine (docs/linux.md);
            `"ray"`: the simulator on a Ray cluster, with the same results (`pip install 'queuewright[ray]'`).
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
    try:
        out = _names(without)
        return Results(results([_changed(scenario, flags)], engine, jobs, progress, out)[0])
    except BaseException as e:
        if finished := _finished(e):
            e.results = finished[0]  # type: ignore[attr-defined]
        raise


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
        RunError: A run failed. What has finished is its `results`: the combinations of which some run has.
    """
    if not isinstance(over, Mapping) or not over:
        raise Error(
            f"over = {shown(over)}: no path to vary; write a list of values for each path: "
            'over={"link.rate": ["10mbit", "100mbit"]}'
        )
    combinations = points(over)
    base = _scenario(scenario)
    scenarios = [base.changed(point, **flags) for point in combinations]
    # Of several values of a path one of these is another than what a flag, or an overlapping path, says.
    for point in (combinations[0], combinations[-1]):
        _same(base, point, flags)
    try:
        return Sweep(combinations, [Results(one) for one in results(scenarios, engine, jobs, progress)])
    except BaseException as e:
        if finished := _finished(e):
            some = [i for i, one in enumerate(finished) if len(one.runs)]
            e.results = Sweep([combinations[i] for i in some], [finished[i] for i in some])  # type: ignore[attr-defined]
        raise


def _same(base: Scenario, point: Mapping[str, Any], flags: Mapping[str, Any]) -> None:
    """Each path of a combination has the value that its column will say.

    Raises:
        Error: A flag, or another path, says otherwise.
    """

    def other(**given: Any) -> str | None:
        made = base.changed(point, **given)
        return next((path for path, value in point.items() if made.changed({path: value}) != made), None)

    if (path := other(**flags)) is None:
        return
    for name in flags:
        if other(**{flag: value for flag, value in flags.items() if flag != name}) is None:
            raise Error(f'over["{path}"] and {name}: both say it; leave one out')
    raise Error(f'over["{path}"]: another path of over says it, too; leave one out')


def _scenario(given: Given) -> Scenario:
    if isinstance(given, Scenario):
        return given
    if isinstance(given, Mapping):
        return of_tables(given)
    if not isinstance(given, str | os.PathLike):
        raise Error(
            f"scenario = {shown(given)}: not a scenario; "
            "write qw.Scenario(...), a dict of tables or a file's path"
        )
    if isinstance(given, str) and "\n" in given:
        raise Error("scenario: a text of several lines is no path; write qw.Scenario.from_toml(text)")
    return load(file("scenario", given))


def _changed(given: Given, flags: Flags) -> Scenario:
    scenario = _scenario(given)
    return scenario.changed(**flags) if any(flag is not None for flag in flags.values()) else scenario


def _names(without: str | Iterable[str]) -> list[str]:
    names = [without] if isinstance(without, str) else without
    listed = list(names) if isinstance(names, Iterable) else [names]
    if all(isinstance(name, str) for name in listed):
        return listed
    raise Error(f'without = {shown(without)}: write the names of groups of flows, such as ["bbr"]')


def _finished(e: BaseException) -> list[Results]:
    """What had finished of each scenario when this was raised; nothing, if none had begun."""
    found: list[_native.Results] | None = getattr(e, "results", None)
    return [Results(one) for one in found or ()]


def at_a_time(jobs: int | None, progress: Progress) -> int | None:
    """How many runs are made at a time; none: as many as there are cores.

    Raises:
        Error: No such number, or nothing that may be told of them.
    """
    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        raise Error(f"progress = {shown(progress)}: write True, False or a function")
    return None if jobs is None else whole("jobs", jobs, 1, 65_535)


def results(
    scenarios: Sequence[Scenario],
    engine: Engine,
    jobs: int | None,
    progress: Progress,
    without: Sequence[str] = (),
) -> list[_native.Results]:
    """Of each scenario the native results.

    Raises:
        Error: Wrong input; nothing has run then.
        RunError: A run failed.
    """
    if engine not in ENGINES:
        raise Error(f"engine = {shown(engine)}: not an engine. Allowed: {', '.join(ENGINES)}")
    jobs = at_a_time(jobs, progress)
    with reporter(progress) as tell:
        if engine == "ray":
            if without:
                raise Error('without: not with engine = "ray"; leave one out')
            from queuewright import _ray

            return _ray.runs(scenarios, jobs, tell)
        drafts = [scenario._draft for scenario in scenarios]
        linux = engine == "linux"
        return _native.run(drafts, without=without, linux=linux, at_a_time=jobs, progress=tell)
