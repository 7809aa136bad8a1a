"""What is learned from, and how: TOML files, with one of the presets underneath."""

import copy
import itertools
import os
import re
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct
from msgspec import inspect as kinds
from msgspec.structs import force_setattr

from queuewright._asked import PRESETS
from queuewright._native import Error
from queuewright._networks import Domain, domain
from queuewright._scenario import load, points
from queuewright._values import cut, shown, theirs
from queuewright._values import file as path_of
from queuewright.learn._policy import Policy

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# A line through points (step, number).
Schedule = tuple[tuple[float, float], ...]

_Share = Annotated[float, Meta(ge=0, le=1)]
# As it is written: a number, or points. `Learning` makes it a Schedule.
Line = _Share | list[tuple[Annotated[float, Meta(ge=0, le=1e12)], _Share]]
_Bias = Annotated[float, Meta(ge=-20, le=20)]
_Text = Annotated[str, Meta(min_length=1, max_length=200)]
_Count = Annotated[int, Meta(ge=1, le=100_000)]


class Learning(Struct, frozen=True, forbid_unknown_fields=True):
    """How it learns: docs/training.md says what each is, presets/ have the values and their sources."""

    steps: Annotated[int, Meta(ge=1000, le=10**11)]
    episodes: Annotated[int, Meta(ge=1, le=4096)]
    chunk: Annotated[int, Meta(ge=2, le=100_000)]
    epochs: Annotated[int, Meta(ge=1, le=1000)]
    minibatches: Annotated[int, Meta(ge=1, le=4096)]
    learning_rate: Line
    entropy: Line
    gamma: Annotated[float, Meta(ge=0, le=0.99999)]
    gae_lambda: Annotated[float, Meta(ge=0, le=1)]
    clip: Annotated[float, Meta(ge=0.001, le=10)]
    kl_target: Annotated[float, Meta(ge=0, le=10)]
    value_coefficient: Annotated[float, Meta(ge=0, le=100)]
    gradient_norm: Annotated[float, Meta(ge=0, le=1e6)]
    scale_rewards: bool
    bootstrap: bool
    reward: Literal["paper", "power"]
    task_embedding: Annotated[int, Meta(ge=0, le=64)]
    # One for each action.
    first_bias: tuple[_Bias, _Bias, _Bias, _Bias, _Bias, _Bias]
    seed: Annotated[int, Meta(ge=0, le=2**32 - 1)]

    def __post_init__(self) -> None:
        for key in ("learning_rate", "entropy"):
            given = getattr(self, key)
            line = [(0.0, given)] if isinstance(given, float) else given
            steps = [step for step, _ in line]
            if not line or any(a >= b for a, b in itertools.pairwise(steps)):
                raise ValueError(
                    f"{key} = {shown(given)}: a number, or points [step, number] whose steps rise"
                )
            force_setattr(self, key, tuple((float(step), float(x)) for step, x in line))


class Evaluation(Struct, frozen=True, forbid_unknown_fields=True):
    """How often it is looked at while it learns (steps), and by how many episodes."""

    every: Annotated[int, Meta(ge=1, le=10**11)]
    episodes: Annotated[int, Meta(ge=1, le=4096)]


class _Preset(Struct, frozen=True):
    preset: str


class _File(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    name: _Text
    preset: _Text = "default"
    actions: _Text
    start: _Text | None = None
    networks: Annotated[list[dict[str, Any]], Meta(min_length=1)]
    learning: Learning
    evaluation: Evaluation


class _Of(Struct, frozen=True, forbid_unknown_fields=True):
    """Networks of a scenario, one for each combination, or as many as are drawn."""

    scenario: _Text
    over: dict[str, Annotated[list[Any], Meta(min_length=1)] | _Text] = msgspec.field(default_factory=dict)
    draws: Annotated[int, Meta(ge=1, le=10_000)] | None = None


class _Recipe(Struct, frozen=True, forbid_unknown_fields=True):
    """Networks as the paper draws them, one for each combination."""

    rate: _Text = "1gbit"
    rtt: _Text | list[_Text] = msgspec.field(default_factory=lambda: ["20ms", "40ms", "60ms", "80ms"])
    flows: _Count | list[_Count] = msgspec.field(default_factory=lambda: [100, 200, 250])
    udp: _Text | list[_Text] | None = None
    buffer: _Text | list[_Text] = msgspec.field(default_factory=lambda: ["small"])
    episode: _Text = "5s"


@dataclass(frozen=True)
class Config:
    """All of a training."""

    name: str
    actions: str
    # What the weights begin as, in place of chance.
    start: Policy | None = field(compare=False)
    networks: Domain
    learning: Learning
    evaluation: Evaluation
    # As written, with what the preset adds: it goes into checkpoints.
    tables: Mapping[str, Any] = field(compare=False, repr=False)


def read(path: str | os.PathLike[str]) -> Config:
    """A training's file.

    Raises:
        Error: The first thing wrong with it.
    """
    name = path_of("path", path)
    try:
        with open(name, "rb") as file:
            # An empty file is a whole configuration, but nobody means this one.
            if stat.S_ISCHR(os.fstat(file.fileno()).st_mode):
                raise Error("a device, not a file")
            given = tomllib.load(file)
        theirs(given)
        return config(given, os.path.dirname(name))
    except OSError as e:
        raise Error(f"{cut(name)}: {_why(e)}") from None
    except ValueError as e:
        raise Error(f"{cut(name)}: {e}") from None


def preset(name: str) -> dict[str, Any]:
    """The tables of a preset."""
    if name not in PRESETS:
        raise Error(f"preset = {shown(name)}: not a preset. Allowed: {', '.join(PRESETS)}")
    return tomllib.loads((files("queuewright.learn") / "presets" / f"{name}.toml").read_text())


# What actions are where the first marks most, and the last least or nothing.
FROM_THE_MOST = ("threshold", "red")


def config(given: Mapping[str, Any], base_dir: str = "") -> Config:
    """A training out of tables, with a preset's values where they say nothing.

    Raises:
        Error: The first thing wrong.
    """
    if not isinstance(given, Mapping):
        raise Error(f"{shown(given)}: not a table")
    tables: dict[str, Any] = preset(_read(_Preset, {"preset": given.get("preset", "default")}).preset)
    for key, value in given.items():
        both = isinstance(value, Mapping) and isinstance(tables.get(key), Mapping)
        tables[key] = {**tables[key], **value} if both else copy.deepcopy(value)
    file = _read(_File, tables)
    if file.actions in FROM_THE_MOST and "first_bias" not in given.get("learning", {}):
        # The preset's is for actions of which the first marks least.
        tables["learning"]["first_bias"] = tables["learning"]["first_bias"][::-1]
        file = _read(_File, tables)
    named(file.name)
    tables.pop("preset", None)
    return Config(
        name=file.name,
        actions=file.actions,
        start=_start(tables, file, base_dir),
        networks=_networks(tables["networks"], base_dir).acting(file.actions),
        learning=file.learning,
        evaluation=file.evaluation,
        tables=tables,
    )


def named(name: object) -> str:
    """The name of a policy.

    Raises:
        Error: It can be none.
    """
    if not isinstance(name, str) or not name or not name.isprintable():
        raise Error(f"name = {shown(name)}: not a name; write one of letters, digits and -")
    return name


def changed(training: Config, learning: Mapping[str, Any]) -> Config:
    """The same with other values of [learning].

    Raises:
        Error: The first thing wrong.
    """
    table = {**training.tables["learning"], **learning}
    tables = {**training.tables, "learning": table}
    return replace(training, learning=_read(_File, tables).learning, tables=tables)


def _start(tables: dict[str, Any], file: _File, base_dir: str) -> Policy | None:
    source = file.start
    if source is None:
        return None
    path = os.path.abspath(os.path.join(base_dir, source))
    if os.path.exists(path):
        # Checkpoints are read elsewhere.
        tables["start"] = source = path
    try:
        policy = Policy.read(source)
    except Error as e:
        raise Error(f"start: {e}") from None
    if policy.actions != file.actions:
        raise Error(
            f'start = "{source}": its actions are "{policy.actions}", those of the training "{file.actions}"'
        )
    return policy


def _networks(given: list[dict[str, Any]], base_dir: str) -> Domain:
    whole: Domain | None = None
    for i, table in enumerate(given):
        where = f"networks[{i}]"
        try:
            if "scenario" in table:
                asked = _read(_Of, table, where)
                path = os.path.abspath(os.path.join(base_dir, asked.scenario))
                # Checkpoints are read elsewhere.
                given[i] = {**table, "scenario": path}
                base = load(path)
                if asked.draws is not None and not asked.over:
                    raise Error('draws: of nothing; write over = { "link.rate" = "5mbit..50mbit" }')
                ranges = [key for key, value in asked.over.items() if isinstance(value, str)]
                if asked.draws is None and ranges:
                    raise Error(
                        f"over: of a range (that of {cut(ranges[0])}) networks are drawn; write draws = 64"
                    )
                if asked.draws is None:
                    part = domain([base.changed(point) for point in points(asked.over)])
                else:
                    part = domain(base.drawn(asked.over, asked.draws, seed=i))
            else:
                part = Domain(papers=(_several(_read(_Recipe, table, where)),))
                part._native()
        except UnicodeEncodeError as e:
            raise _half(where, e) from None
        except Error as e:
            said = str(e)
            raise Error(said if said.startswith(where) else f"{where}: {said}") from None
        whole = part if whole is None else whole + part
    assert whole is not None
    return whole


def _several(recipe: _Recipe) -> dict[str, Any]:
    """Lists, where there may be several."""
    table = msgspec.structs.asdict(recipe)
    for key in ("rtt", "flows", "udp", "buffer"):
        value = table[key]
        table[key] = value if value is None or isinstance(value, list) else [value]
    return table


_T = TypeVar("_T")


def _read(kind: type[_T], table: Any, where: str = "") -> _T:
    """A table as what it is to be, or the first thing wrong with it."""
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as e:
        raise Error(_said(str(e), kind, table, where)) from None
    except UnicodeEncodeError as e:
        raise _half(where or "training", e) from None


def _half(where: str, e: UnicodeEncodeError) -> Error:
    return Error(f"{where}: {e.object[e.start]!r} is half a character; write whole ones")


def _said(wrong: str, kind: Any, table: Any, where: str) -> str:
    """What msgspec says, by the names that the file has, with what was found and all that is allowed."""
    # "Expected `int` >= 1 - at `$.learning.steps`"; `[...]` is a value of a table, whose key is not said.
    what, _, path = wrong.partition(" - at `$")
    found, at = table, where
    declared: Any = kinds.type_info(kind)
    for name, place in re.findall(r"\.([^.\[`]+)|\[(\d+|\.{3})\]", path):
        if isinstance(declared, kinds.DictType):
            # Which one is not said: the first that is none.
            name = next(key for key, value in found.items() if not (isinstance(value, list) and value))
            at, found, declared = f"{at}.{name}", found[name], declared.value_type
            break
        inner = _inside(declared, name, place)
        if inner is None:
            break
        declared = inner
        at += f"[{place}]" if place else f".{name}" if at else name
        found = found[int(place)] if place else found[name]
    inside = f"{at}." if at else ""
    if unknown := re.fullmatch(r"Object contains unknown field `(.*)`", what):
        known = ", ".join(f.encode_name for f in declared.fields)
        return f"{inside}{unknown[1]}: unknown key. Allowed: {known}"
    if missing := re.fullmatch(r"Object missing required field `(.*)`", what):
        return f"{inside}{missing[1]}: missing"
    if not what.startswith(("Expected", "Invalid enum value")):
        # Our own words, of a field in it.
        return f"{inside}{what}"
    return f"{at} = {shown(found)}: not {_allowed(declared)}"


def _inside(declared: Any, name: str, place: str) -> Any:
    """What a field is, or an item; None: it is said of the whole."""
    if isinstance(declared, kinds.UnionType):
        declared = next((t for t in declared.types if isinstance(t, kinds.ListType)), None)
    match declared:
        case kinds.StructType() if name:
            return next(f.type for f in declared.fields if f.encode_name == name)
        case kinds.ListType() if place and not isinstance(declared.item_type, kinds.TupleType):
            return declared.item_type
    return None


def _allowed(declared: Any) -> str:
    match declared:
        case kinds.IntType():
            return f"a whole number from {declared.ge} to {declared.le}"
        case kinds.FloatType():
            return f"a number from {declared.ge:g} to {declared.le:g}"
        case kinds.BoolType():
            return "true or false"
        case kinds.StrType():
            return "a text in quotes"
        case kinds.LiteralType():
            return " nor ".join(f'"{word}"' for word in declared.values)
        case kinds.ListType(item_type=kinds.DictType()):
            return "a list of tables; write [[networks]]"
        case kinds.ListType(item_type=kinds.TupleType()):
            return "points [step, number]"
        case kinds.ListType(item_type=kinds.AnyType()):
            return "a list of values"
        case kinds.ListType():
            return "a list of such"
        case kinds.TupleType():
            return "a list of six numbers, one for each action, each " + _allowed(declared.item_types[0])
        case kinds.UnionType():
            kept = [t for t in declared.types if not isinstance(t, kinds.NoneType)]
            return ", nor ".join(
                _allowed(t) for t in sorted(kept, key=lambda t: isinstance(t, kinds.ListType))
            )
        case kinds.DictType():
            return 'a table of lists or ranges; write over = { "link.rate" = ["1mbit", "9mbit"] }'
        case kinds.StructType():
            return f"a table; write [{declared.cls.__name__.lower()}]"
    return "a table"


def _why(e: OSError) -> str:
    known = {FileNotFoundError: "no such file", IsADirectoryError: "a directory, not a file"}
    return known.get(type(e), f"cannot be read: {e.strerror}")
