"""Parameters that are best over a set of scenarios: the search, and what is held out from it."""

import contextlib
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from queuewright import _native, _values
from queuewright._asked import Simulator, needing, simulator
from queuewright._native import VERSION, Error
from queuewright._progress import Progress
from queuewright._run import Given, at_a_time
from queuewright._scenario import Discipline
from queuewright._tune import _folder, _objective, _scenarios, _space
from queuewright._tune._scenarios import Member
from queuewright._tune._space import Axis, Settings
from queuewright._tune._tuned import Tuned, percent, plural
from queuewright._values import cut, file, function, shown, whole

if TYPE_CHECKING:
    from queuewright._tune._final import Outcome
    from queuewright._tune._search import Search


def objectives() -> list[str]:
    """Those that have a name of their own."""
    return list(_objective.NAMED)


def tune(
    scenario: Given | Iterable[Given],
    aqm: Discipline,
    over: str | Iterable[str] | Mapping[str, Any] | None = None,
    objective: str | Iterable[str] = "power",
    *,
    held_out: Given | Iterable[Given] | None = None,
    trials: int = 100,
    runs: int = 3,
    budget: str | timedelta | None = None,
    seed: int = 1,
    engine: Simulator = "sim",
    jobs: int | None = None,
    duration: str | timedelta | None = None,
    warmup: str | timedelta | None = None,
    folder: str | os.PathLike[str] = "queuewright-tuned",
    resume: bool = False,
    progress: Progress = None,
    begun: Callable[[Path], object] = lambda _: None,
    say: Callable[[str], object] = lambda _: None,
) -> Tuned:
    """Finds the parameters of a discipline that are best over scenarios, and judges them on others.

    Args:
        scenario: What they are chosen on: a scenario as for `run`, a suite's name, a folder of scenarios, or
            several of these. Of four and more a third, drawn by lot, is held out.
        aqm: The discipline: `"codel"`. Parameters in it that are not in `over` stay as they are
            (`"codel:ecn=true"`); those that are in it are where the search starts (`"codel:target=1s"`).
        over: What is searched: `"target=1ms..100ms,interval=10ms..1s"`, words with `|` between
            (`"ecn=true|false"`), or a dict of such. Left out: numbers around their defaults, from a tenth of
            each to ten times as much.
        objective: `"power"`, `"delay"`, `"throughput"`, a measure by its path (`"sojourn_ms.p99"`, or
            `"more:PATH"` and `"less:PATH"`), or two with a comma between.
        held_out: What they are judged on, instead of a third.
        trials: Candidates.
        runs: Runs of each scenario in the search, each with its own seed; as many again of the best, twice as
            many for judging.
        budget: No more candidates after that time: `"10min"`.
        seed: Of the search: the same gives the same.
        engine: As for `run`.
        jobs: As for `run`.
        duration: Of each run, instead of the scenarios'; as is `warmup`.
        folder: In it a dated folder gets what is found.
        resume: Go on with the newest one there; `trials` may be more.
        progress: As for `run`.
        begun: Is told the folder, before anything runs.
        say: Is told a line now and then.

    Raises:
        Error: Wrong input.
        RunError: A run failed. Of that, and of Ctrl-C, what has finished is in the folder, for `resume`.
    """
    most, runs = whole("trials", trials, 1, 100_000), whole("runs", runs, 1, 1000)
    seed = whole("seed", seed, 0, 2**32 - 1)
    simulator(engine)
    at_a_time(jobs, progress)
    function("begun", begun)
    function("say", say)
    base = Path(file("folder", folder))
    until = None if budget is None else time.monotonic() + _seconds(budget)
    objectives = _objective.read(objective)
    name, given = _discipline(aqm)
    asked = None if over is None else _space.read_over(over)
    with tempfile.TemporaryDirectory() as brought:
        chosen_on, judged_on = _read(scenario, held_out, duration, warmup, Path(brought))
        _can_be_said(chosen_on[0], _space.line(name, given))
        axes = _axes(name, given, asked, chosen_on[0])
        searched = {axis.name for axis in axes}
        fixed = {key: value for key, value in given.items() if key not in searched}
        start = {key: value for key, value in given.items() if key in searched}
        members = _by_name([*chosen_on, *judged_on])
        _can_be_run(members, _space.line(name, fixed), _space.line(name, fixed | start))
        with needing("tuning needs", "pip install 'queuewright[tune]'"):
            from queuewright._tune._final import Final
            from queuewright._tune._runs import Runner, Store
            from queuewright._tune._search import Search
        first = _first(_space.parameters(name), axes, start)
        at = _folder.folder(
            base,
            name,
            {
                "version": VERSION,
                "aqm": _space.line(name, fixed),
                "start": start,
                "over": [str(axis) for axis in axes],
                "objective": [asdict(one) for one in objectives],
                "runs": runs,
                "seed": seed,
                "chosen_on": {one.name: one.scenario.to_dict()["hash"] for one in chosen_on},
                "judged_on": {one.name: one.scenario.to_dict()["hash"] for one in judged_on},
            },
            resume,
        )
        if not resume:
            begun(at)
        search = None
        store = Store(at / "runs.jsonl")
        try:
            runner = Runner(members, objectives, store, engine, jobs, progress)
            instances = _scenarios.instances(chosen_on, range(1, runs + 1), seed)
            search = Search(name, fixed, axes, runner, instances, objectives, seed, at)
            if first is not None:
                search.begin_with(first)
            search.run(most, until, lambda: say(_line(search)))
            final = Final(search, runner, objectives, runs, judged_on)
            outcome = final.outcome(search.candidates(), first if start else None)
        except BaseException as e:
            # What there is to say of it.
            e.kept = at, len(search.candidates()) if search else 0  # type: ignore[attr-defined]
            raise
        finally:
            if search is not None:
                _folder.write(at / "candidates.csv", _folder.sheet(search.candidates(), axes, objectives))
            store.close()
    made = _made(search, outcome, axes, at)
    _folder.write(at / "tuned.json", json.dumps(made.to_dict(), indent=1) + "\n")
    _folder.write(at / "tuned.txt", f"{made}\n")
    _pictures(made)
    return made


def _made(search: "Search", outcome: "Outcome", axes: Sequence[Axis], folder: Path) -> Tuned:
    """All that came of it: the best is taken where it is better by more than chance."""
    best = max(outcome.front, key=lambda one: sum(one.chosen), default=None)
    better = best is not None and best.together.word == "better"
    settings = best.settings if best is not None and better else {}
    candidates = search.candidates()
    chosen_in, judged_in = _names(search.instances), _names(outcome.judged_in)
    return Tuned(
        aqm=search.line(settings),
        settings=settings,
        better=better,
        front=outcome.front,
        best=best,
        start=outcome.start,
        candidates=candidates,
        objectives=list(search.objectives),
        over=[str(axis) for axis in axes],
        counts={
            "candidates": len(candidates),
            "ended_early": sum(one.ended_early for one in candidates),
            "scenarios": len(chosen_in),
            "held_out_scenarios": len(judged_in),
            "apart": len(judged_in - chosen_in),
        },
        folder=folder,
        _axes=axes,
    )


def _names(instances: Iterable[tuple[str, int]]) -> set[str]:
    return {name for name, _ in instances}


def _line(search: "Search") -> str:
    """How far it is."""
    candidates = search.candidates()
    early = sum(one.ended_early for one in candidates)
    text = f"{plural(len(candidates), 'candidate'):>14}, {early} ended early"
    best = max(
        (one for one in candidates if not one.ended_early), key=lambda one: sum(one.values), default=None
    )
    if best is None:
        return text
    gains = ", ".join(percent(value) for value in best.values)
    return f"{text}; best {gains}: {search.line(best.settings)}"


def _seconds(budget: object) -> float:
    """A time that may be of minutes and hours: `90s`, `10min`, `2h`.

    Raises:
        Error: Something else.
    """
    text = _values.time("budget", budget) or budget
    if isinstance(text, str):
        for unit, of in (("min", 60.0), ("h", 3600.0)):
            number = text.removesuffix(unit)
            if number != text and number.replace(".", "", 1).isdecimal():
                return float(number) * of
        # Half a character is none, either.
        with contextlib.suppress(ValueError):
            return _native.nanoseconds(text) / 1e9
    raise Error(f"budget = {shown(budget)}: not a time; write 90s, 10min or 2h")


def _discipline(aqm: Discipline) -> tuple[str, Settings]:
    """A discipline's name and what is said of it.

    Raises:
        Error: Several, or none.
    """
    if isinstance(aqm, Mapping):
        words = {
            key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in aqm.items()
        }
        name = words.pop("name", "")
    elif isinstance(aqm, str):
        name, *parts = aqm.strip().split(":")
        if "," in aqm:
            raise Error(f"aqm: {cut(aqm)}: one discipline at a time is tuned")
        words = {}
        for part in parts:
            key, equals, value = part.partition("=")
            if not equals or not key or not value:
                raise Error(f"aqm: {shown(part)} in {cut(aqm)}: write a parameter and its value: target=5ms")
            words[key] = value
    else:
        raise Error(f'aqm: {shown(aqm)}: not a discipline; write a text such as "codel"')
    known = _space.parameters(name)
    for key in words:
        if key not in known:
            may = _values.allowed(str(key), known) if known else ""
            raise Error(f"aqm: {name} has no parameter {shown(key)}{may}")
    return name, words


def _read(
    scenario: Any, held_out: Any, duration: Any, warmup: Any, brought: Path
) -> tuple[list[Member], list[Member]]:
    """What parameters are chosen on, and what they are judged on."""
    all_of_them = _scenarios.read("scenario", scenario, brought / "a")
    if held_out is None:
        chosen_on, judged_on = _scenarios.split(all_of_them)
    else:
        chosen_on = all_of_them
        names = {member.name: member.scenario for member in chosen_on}
        judged_on = [
            member
            if names.get(member.name, member.scenario) == member.scenario
            else Member(f"{member.name} (held out)", member.scenario)
            for member in _scenarios.read("held_out", held_out, brought / "b")
        ]
    given = {"duration": duration, "warmup": warmup}
    if flags := {name: said for name, said in given.items() if said is not None}:
        for of in (chosen_on, judged_on):
            of[:] = [Member(one.name, one.scenario.changed(**flags)) for one in of]
    return chosen_on, judged_on


def _axes(name: str, given: Settings, asked: dict[str, str] | None, on: Member) -> list[Axis]:
    if asked is not None:
        axes = _space.axes(name, asked)
        if not axes:
            raise Error("over: nothing to search; write a parameter and its range: target=1ms..100ms")
        for axis in axes:
            for end in axis.ends():
                one = _space.line(name, {k: v for k, v in given.items() if k != axis.name} | {axis.name: end})
                try:
                    on.scenario.changed(aqm=[one])
                except Error as e:
                    raise Error(f"over {axis.name}: {e}") from None
        return axes
    if not _space.parameters(name):
        raise Error(f"aqm: {name} has no parameter: there is nothing to tune")
    axes = [
        axis for axis in _space.around(name, given) if _goes(on, name, given | {axis.name: axis.ends()[0]})
    ]
    if not axes:
        raise Error(f"over: {name} has no number to search around its default; write parameters and ranges")
    return axes


def _can_be_said(on: Member, one: str) -> None:
    """Raises Error: a value that no parameter has."""
    try:
        on.scenario.changed(aqm=[one])
    except Error as e:
        raise Error(f"aqm: {cut(one)}: {e}") from None


def _goes(on: Member, name: str, settings: Settings) -> bool:
    """May it be said beside the others?"""
    try:
        on.scenario.changed(aqm=[_space.line(name, settings)])
    except Error:
        return False
    return True


def _can_be_run(members: Sequence[Member], *lines: str) -> None:
    """Raises Error: what is given cannot be run there."""
    for member in members:
        for one in dict.fromkeys(lines):
            try:
                member.scenario.changed(aqm=[one], seeds=[1])._draft.runs()
            except Error as e:
                raise Error(f"{member.name}, {one}: {e}") from None


def _first(known: Mapping[str, _space.Parameter], axes: Sequence[Axis], start: Settings) -> Settings | None:
    """What is tried first: what was given, else the defaults where they may be chosen."""
    defaults = {axis.name: known[axis.name].default for axis in axes}
    for axis in axes:
        if axis.name in start:
            try:
                axis.value(start[axis.name])
            except Error as e:
                raise Error(f"aqm: {e}") from None
    if start:
        return {axis.name: start.get(axis.name) or axis.nearest(defaults[axis.name]) for axis in axes}
    try:
        for axis in axes:
            axis.value(defaults[axis.name])
    except Error:
        return None
    return defaults


def _by_name(members: Iterable[Member]) -> list[Member]:
    return list({member.name: member for member in members}.values())


def _pictures(made: Tuned) -> None:
    """Where matplotlib is there."""
    if not made.candidates:
        return
    try:
        import matplotlib.figure
    except ImportError:
        return
    from queuewright._tune import _picture

    _picture.save(made.plot_parameters(), made.folder / "parameters.svg")
    if len(made.objectives) == 2 and made.front:
        figure = matplotlib.figure.Figure(figsize=(6.4, 4.8), layout="constrained")
        made.plot(figure.subplots())
        _picture.save(figure, made.folder / "pareto.svg")
