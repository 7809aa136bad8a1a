"""Scenarios: a link, its traffic, and the disciplines to compare."""

import functools
import inspect
import itertools
import json
import math
import os
import random
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

from queuewright import _native
from queuewright._native import VERSION, Error
from queuewright._values import allowed, cut, file, real, scalar, shown, text, time, whole
from queuewright.keys import Flags, Tables

if TYPE_CHECKING:
    from typing_extensions import Unpack

# A discipline: as `--aqm` has it ("codel:target=10ms"), or the table that the file has.
Discipline = str | Mapping[str, Any]
_Function = TypeVar("_Function", bound=Callable[..., Any])


def keywords(of: type) -> Callable[[_Function], _Function]:
    """Has `help` and notebooks show each keyword of a function, where its own text has `**`.

    Arguments without a name that it does not take are an error that says what to write.
    """

    def told(function: _Function) -> _Function:
        signature = inspect.signature(function)
        before = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        most = sum(p.kind is not p.KEYWORD_ONLY for p in before)
        more = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
            for name, kind in get_type_hints(of).items()
        ]

        known = [p.name for p in (*before, *more) if p.kind is not p.POSITIONAL_ONLY]
        known = [name for name in known if name not in ("self", "cls")]

        @functools.wraps(function)
        def called(*given: Any, **named: Any) -> Any:
            if len(given) > most:
                raise Error(_without_name(function.__qualname__, given[most]))
            unknown = [name for name in named if name not in known]
            # What a scenario has in its place is said where the tables are read.
            if unknown and of is not Tables:
                raise Error(_no_argument(unknown[0], known))
            return function(*given, **named)

        called.__signature__ = signature.replace(parameters=[*before, *more])  # type: ignore[attr-defined]
        return called  # type: ignore[return-value]

    return told


def _no_argument(name: str, known: list[str]) -> str:
    """Of an argument that a function does not have: which it may be."""
    said = cut(name) or '""'
    return f"{said}: no such argument{allowed(name, known)}"


# What newcomers leave the name of; else it is a discipline.
_FIRST = {"qw.compare": "seeds", "qw.Scenario.simple": "rate"}


def _without_name(function: str, value: object) -> str:
    """Of an argument that needs a name and has none: what to write."""
    function = f"qw.{function.removesuffix('.__init__')}"
    if function == "qw.Scenario":
        if isinstance(value, str | os.PathLike):
            toml = isinstance(value, str) and "\n" in value
            instead = "qw.Scenario.from_toml(text)" if toml else f"qw.load({shown(os.fspath(value))})"
        elif isinstance(value, Mapping):
            instead = "qw.Scenario(**tables)"
        else:
            instead = "qw.Scenario(link={...}, flows=[...])"
        return f"{function}({shown(value)}): its tables have names; write {instead}"
    if isinstance(value, Mapping) and function == "qw.run":
        instead = "qw.sweep(scenario, over=...)"
    else:
        instead = f"{_FIRST.get(function, 'aqm')}={shown(value)}, or which it is"
    return f"{function}(..., {shown(value)}): an argument without its name; write {instead}"


class Scenario:
    """A link, its traffic and the disciplines to compare: a scenario file's tables as keyword arguments.

    Keys, units and defaults are the file's (docs/scenario.md). Left out, `queue` compares droptail, codel,
    pie and titrate, and a run takes 60 s. Paths start from the working folder. A number for a rate is bits a
    second, and a time may be a `datetime.timedelta`; whatever else has a unit is a text with it.

    Args:
        tables: `link`, or several `ports` and what they have `shared`, `flows`, `queue`, `run`, `name` and
            `description`: `help(queuewright.keys)` says what is in each.
            `link={"rate": "20mbit", "buffer": "2bdp"}`,
            `flows=[{"count": 2, "cca": "cubic", "rtt": "20ms..80ms"}]`,
            `queue={"disciplines": ["codel", {"name": "pie", "target": "10ms"}]}`,
            `run={"duration": "60s", "warmup": "10s", "seeds": [1, 2, 3]}`.

    Raises:
        Error: The first thing that is wrong, as the command says it.
    """

    __slots__ = ("_draft",)

    @keywords(Tables)
    def __init__(self, **tables: "Unpack[Tables]") -> None:
        self._draft = _warned(_draft(tables))

    @classmethod
    @keywords(Flags)
    def simple(cls, **flags: "Unpack[Flags]") -> "Scenario":
        """A scenario in the words of `queuewright compare`.

        `Scenario.simple(rate="100mbit", rtt="20ms..80ms", flows="10xcubic,4xbbr,1xcbr:2mbit")`.

        Args:
            flags: Those of `queuewright.keys.Flags`; lists may be lists.

        Raises:
            Error: The first thing that is wrong, by the flag's name.
        """
        texts, aqm = flag_texts(flags)
        return cls._of(_native.Draft.from_flags(texts, aqm=aqm))

    @classmethod
    def from_toml(cls, toml: str) -> "Scenario":
        """The text of a scenario file, as `to_toml` writes it. Paths start from the working folder.

        Raises:
            Error: The first thing that is wrong, with its line.
        """
        if not isinstance(toml, str):
            raise Error(f"toml = {shown(toml)}: not a text; for a file write qw.load(path)")
        return cls._of(_native.Draft.from_toml(text("toml", toml)))

    @classmethod
    def _of(cls, draft: _native.Draft) -> "Scenario":
        return cls._again(_warned(draft))

    @classmethod
    def _again(cls, draft: _native.Draft) -> "Scenario":
        """Of one whose warnings were said."""
        made = cls.__new__(cls)
        made._draft = draft
        return made

    @keywords(Flags)
    def changed(self, values: Mapping[str, Any] | None = None, /, **flags: "Unpack[Flags]") -> "Scenario":
        """The same with other values.

        Args:
            values: By path: `{"link.rate": "50mbit", "flows[0].count": 4, "flows.rtt": "20ms"}`; without a
                number a path is that of all flows.
            flags: As if the scenario said what these do (`queuewright.keys.Flags`): disciplines,
                `aqm=["codel", "pie:target=10ms", {"name": "static", "threshold": "1bdp"}]`; seeds, `3`,
                `range(1, 4)`, `[1, 2, 5]` or `"1..3"`; `duration="60s"`; `rate="50mbit"`.

        Raises:
            Error: The first thing that is wrong.
        """
        if values is not None and not isinstance(values, Mapping):
            raise Error(f'changed({shown(values)}): not values by path; write {{"link.rate": "50mbit"}}')
        paths = [(_path(path, "changed"), to_json(value, path)) for path, value in (values or {}).items()]
        texts, aqm = flag_texts(flags)
        return self._of(self._draft.changed(paths, texts, aqm=aqm))

    def drawn(self, over: Mapping[str, Any], count: int, *, seed: int = 0) -> "list[Scenario]":
        """As many scenarios, each with values of its own.

        Args:
            over: What they are drawn from, by path as in `changed`. It is a range, `"5mbit..50mbit"` or
                `"1..30"`, in which every factor of two is as likely as another, or every value if it begins
                at 0. Or it is a list, of which each value is as likely.
            count: How many, 1 to 10,000.
            seed: 0 to 2^53 - 1. The same one draws the same.

        Raises:
            Error: A range that is none; what no scenario can have.
        """
        if not isinstance(over, Mapping) or not over:
            raise Error(f'drawn({shown(over)}): not ranges by path; write {{"link.rate": "5mbit..50mbit"}}')
        most, seed = whole("count", count, 1, _MOST_POINTS), whole("seed", seed, 0, 2**53 - 1)
        axes = {_path(path, "over"): _range(path, given) for path, given in over.items()}
        # Each path has numbers of its own: another one beside it leaves its values as they are.
        dice = {path: random.Random(f"{seed} {path}") for path in axes}
        return [self.changed({path: draw(dice[path]) for path, draw in axes.items()}) for _ in range(most)]

    def to_dict(self) -> dict[str, Any]:
        """All of it with defaults, as results have it, and its `hash`.

        `Scenario(**tables)` makes the same runs. There the defaults are written out: a warm-up that followed
        from the duration no longer follows it.
        """
        found: dict[str, Any] = json.loads(self._draft.to_json())
        return found

    def to_toml(self) -> str:
        """As a scenario file."""
        return self._draft.to_toml()

    @property
    def name(self) -> str | None:
        """Its name, if it has one."""
        found: str | None = self.to_dict().get("name")
        return found

    def __str__(self) -> str:
        """What would run, in words, as `queuewright check` says it."""
        return self._draft.words().rstrip("\n")

    def __repr__(self) -> str:
        return f"<queuewright.Scenario\n{self}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scenario) and self.to_dict() == other.to_dict()

    def __reduce__(self) -> tuple[Any, ...]:
        # The files that it names go with it.
        return _unpickled, (VERSION, *self._draft.pack())

    def __hash__(self) -> int:
        return hash(self._draft.to_json())


def of_tables(tables: Mapping[str, Any]) -> Scenario:
    """A scenario of a dict of its tables.

    Raises:
        Error: The first thing that is wrong.
    """
    return Scenario._of(_draft(tables))


def _warned(draft: _native.Draft) -> _native.Draft:
    """A draft, after what it should say otherwise was said to who called the package."""
    lines = draft.warnings()
    if lines:
        package = os.path.dirname(__file__) + os.sep
        frame, level = inspect.currentframe(), 1
        while frame is not None and frame.f_code.co_filename.startswith(package):
            frame, level = frame.f_back, level + 1
        for line in lines:
            warnings.warn(line, FutureWarning, stacklevel=level)
    return draft


def _draft(tables: Mapping[str, Any]) -> _native.Draft:
    said = {key: value for key, value in tables.items() if value is not None}
    for name, value in said.items():
        if name in Flags.__annotations__ and name not in Tables.__annotations__:
            table = _PATHS.get(name)
            instead = f"{table} says it" if table else "a table says it"
            raise Error(f"{name}: no table, {instead}; or write qw.Scenario.simple({name}={shown(value)})")
        if name in ("flows", "ports") and isinstance(value, Mapping):
            raise Error(f"{name}: a list of tables; write {name}=[{shown(dict(value))}]")
        if name == "queue" and not isinstance(value, Mapping):
            raise Error(f'queue: a table; write queue={{"disciplines": {shown(value)}}}')
    try:
        return _native.Draft.from_json(to_json(said))
    except Error as e:
        name, missing, _ = str(e).partition(": missing; ")
        raise Error(f"{name}{missing}{_TABLES[name]}" if missing and name in _TABLES else str(e)) from None


# What to write where one is missing.
_TABLES = {"link": 'write link={"rate": "20mbit"}', "flows": 'write flows=[{"cca": "cubic", "rtt": "20ms"}]'}


# Where a scenario says what these flags say.
_PATHS = {
    "aqm": "queue.disciplines",
    "buffer": "link.buffer",
    "delay": "link.delay",
    "duration": "run.duration",
    "rate": "link.rate",
    "rtt": "flows.rtt",
    "seeds": "run.seeds",
    "trace": "link.trace",
    "warmup": "run.warmup",
}


def _path(path: object, argument: str) -> str:
    """A path of a scenario, among those of an argument.

    Raises:
        Error: It is none.
    """
    if not isinstance(path, str) or not 0 < len(path) < 1000 or not path.isprintable():
        raise Error(f'{argument}: {shown(path)} is no path; write a text such as "link.rate"')
    if path in _PATHS:
        raise Error(f'{argument}: "{path}" is a flag and no path; write "{_PATHS[path]}"')
    return path


# Each is a scenario of its own, some 60 kB.
_MOST_POINTS = 10_000


def points(over: Mapping[str, Iterable[Any]]) -> list[dict[str, Any]]:
    """Every combination of values, by path.

    Raises:
        Error: A path without a list of values; more than 10,000 combinations.
    """
    values = {}
    count = 1
    for path, several in over.items():
        _path(path, "over")
        several = scalar(several)
        if isinstance(several, str | bytes | Mapping) or not isinstance(several, Iterable):
            raise Error(f'over["{path}"] = {shown(several)}: not a list; write [{shown(several)}]')
        values[path] = list(itertools.islice(several, _MOST_POINTS + 1))
        if not values[path]:
            raise Error(f'over["{path}"] = []: no value to run with; write one at least')
        count *= len(values[path])
        if count > _MOST_POINTS:
            raise Error(
                f"over: more than {_MOST_POINTS} combinations; write fewer values, and sweep in parts"
            )
    return [dict(zip(values, one, strict=True)) for one in itertools.product(*values.values())]


# Both ends of a range, each with its unit; the first may leave it to the second.
_END = r"\s*(\d+\.?\d*|\.\d+)\s*([a-z]*|%)\s*"
_RANGE = re.compile(rf"{_END}\.\.{_END}", re.ASCII)
# What rates, times and sizes are whole numbers of, and how many of it are one of what they are read in.
_WHOLE = {"bit/s": ("bit", 1.0), "s": ("ns", 1e9), "bytes": ("b", 1.0)}
# Shares are whole millionths.
_OF_A_PERCENT = 10_000


def _end(number: str, unit: str) -> tuple[float, str]:
    """An end of a range, and the unit that it is in."""
    if unit in ("", "%", "p", "bdp"):
        return float(number) * (_OF_A_PERCENT if unit == "%" else 1), unit
    value, kind = _native.number(number + unit)
    smallest, size = _WHOLE[kind]
    return value * size, smallest


def _range(path: str, given: Any) -> Callable[[random.Random], Any]:
    """Draws a value of a range, or of a list.

    Raises:
        Error: It is neither.
    """
    given = scalar(given)
    if not isinstance(given, str):
        values = points({path: given})
        return lambda dice: dice.choice(values)[path]
    here, found = f'over["{path}"] = {shown(given)}', _RANGE.fullmatch(given)
    if found is None:
        raise Error(f'{here}: not a range; write "5mbit..50mbit", or a list of values')
    units = (found[2] or found[4], found[4])
    try:
        (low, unit), (high, other) = _end(found[1], units[0]), _end(found[3], units[1])
    except Error as e:
        raise Error(f"{here}: {e}") from None
    if unit != other:
        raise Error(f"{here}: {units[0]} and {units[1]} are not of one kind")
    if low > high:
        raise Error(f"{here}: falls; write the lower end first")
    integers = unit in ("ns", "bit", "b", "p", "%") or (not unit and "." not in found[1] + found[3])
    first, last = math.ceil(low), math.floor(high)
    if integers and first > last:
        of = " of millionths" if unit == "%" else ""
        raise Error(f"{here}: there is no whole number{of} in it")

    def draw(dice: random.Random) -> Any:
        if integers:
            # Up to the last one's own end, so that it is as likely as the first.
            drawn = first * ((last + 1) / first) ** dice.random() if first else dice.randint(0, last)
            value: float = min(max(int(drawn), first), last)
            value = value / _OF_A_PERCENT if unit == "%" else value
        else:
            drawn = low * (high / low) ** dice.random() if low else high * dice.random()
            value = min(max(float(f"{drawn:.6g}"), low), high)
        # No exponent.
        return f"{value:.12f}".rstrip("0").rstrip(".") + unit if unit else value

    return draw


def same_version(other: str) -> None:
    """Pickles, and Ray's tasks, are for one version.

    Raises:
        Error: It is another.
    """
    if other != VERSION:
        raise Error(
            f"pickled by queuewright {other}, and this is {VERSION}: the same is needed on both sides"
        )


def _unpickled(version: str, text: str, files: list[tuple[os.PathLike[str], bytes]]) -> Scenario:
    same_version(version)
    return Scenario._of(_native.Draft.unpack(text, files))


def load(path: str | os.PathLike[str]) -> Scenario:
    """A scenario file. Paths in it start from its folder.

    Raises:
        Error: The first thing wrong with the file, with its line.
    """
    return Scenario._of(_native.Draft.read(file("path", path)))


# No scenario has longer lists, nor any that lie deeper in one another: what is longer is not gone through.
_LONGEST = 100_000
_DEEPEST = 64


def to_json(value: object, path: str = "") -> str:
    """A value of a scenario as JSON: also of paths, ranges and what else can be gone through.

    Args:
        value: The value.
        path: What it is the value of, for errors.

    Raises:
        Error: If there is something in it that no scenario can say.
    """
    return json.dumps(_plain(value, path, 0), allow_nan=False)


def _plain(value: Any, path: str, depth: int) -> object:
    value = scalar(value)
    if isinstance(value, str):
        return text(path or "scenario", value)
    if value is None or isinstance(value, bool):
        return value
    place = f"{path}: " if path else ""
    if depth > _DEEPEST:
        raise Error(f"{place}lists or tables so deep in one another that no scenario has them; write fewer")
    if (span := time(path, value)) is not None:
        return span
    if isinstance(value, int):
        real(path, value)
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise Error(f"{place}{value} is no number that a scenario has; write one that ends, such as 1.5")
        return float(value)
    if isinstance(value, os.PathLike):
        return text(path, os.fsdecode(value))
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise Error(f'{place}the key {shown(key)} is no text; write {{"{shown(key)}": ...}}')
            text(path or "scenario", key)
        inner = f"{path}." if path else ""
        return {key: _plain(item, inner + key, depth + 1) for key, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, bytes):
        several = list(itertools.islice(value, _LONGEST + 1))
        if len(several) > _LONGEST:
            raise Error(f"{place}more than {_LONGEST} values; write fewer")
        return [_plain(item, f"{path}[{i}]", depth + 1) for i, item in enumerate(several)]
    raise Error(
        f"{place}{shown(value)} is of type {type(value).__name__}; "
        'write a number, a text with its unit ("20mbit"), a list or a dict'
    )


def flag_texts(flags: Mapping[str, Any]) -> tuple[list[tuple[str, str]], str | None]:
    """Flags as the command has them, and the disciplines among them, as JSON."""
    given = {name: value for name, value in flags.items() if value is not None}
    aqm = given.pop("aqm", None)
    texts = [(name, _flag_text(name, value)) for name, value in given.items()]
    return texts, None if aqm is None else to_json(disciplines_list(aqm), "aqm")


def _flag_text(name: str, value: object, *, inside: bool = False) -> str:
    """A flag as the command has it, or, inside, a value of its list."""
    value = scalar(value)
    if isinstance(value, str | os.PathLike):
        return text(name, os.fsdecode(value))
    if (span := time(name, value)) is not None:
        return span
    if isinstance(value, Mapping) and name == "flows":
        raise Error(f'flows = {shown(value)}: tables are for Scenario(flows=[...]); write words: "10xcubic"')
    if value is None or isinstance(value, Mapping | bytes) or (inside and isinstance(value, Iterable)):
        raise Error(f"{name} = {shown(value)}: no value that it has; write a text or a number")
    if isinstance(value, Iterable):
        several = list(itertools.islice(value, _LONGEST + 1))
        if not several:
            raise Error(f"{name}: empty; write one value at least, or leave it out")
        if len(several) > _LONGEST:
            raise Error(f"{name}: more than {_LONGEST} values; write fewer")
        return ",".join(_flag_text(name, item, inside=True) for item in several)
    if isinstance(value, Real) and not isinstance(value, bool):
        number = real(name, value)
        # Bits a second, to the nearest whole one, as in a table.
        return f"{number:.0f}bit" if name == "rate" else str(value)
    return str(value)


def disciplines_list(aqm: Discipline | Iterable[Discipline]) -> list[Discipline]:
    """Disciplines, one by one.

    Raises:
        Error: What can be none.
    """
    aqm = scalar(aqm)
    if isinstance(aqm, str):
        return list(aqm.split(","))
    if isinstance(aqm, Mapping):
        return [aqm]
    if isinstance(aqm, bytes) or not isinstance(aqm, Iterable):
        raise Error(f'aqm = {shown(aqm)}: not a list of disciplines; write aqm=["codel", "pie"]')
    several = list(itertools.islice(aqm, _LONGEST + 1))
    for i, one in enumerate(several):
        if not isinstance(one, str | Mapping):
            raise Error(f'aqm[{i}] = {shown(one)}: not a discipline; write a name such as "codel"')
    return several
