"""What is learned from, and how: TOML files, with one of the presets underneath."""

import copy
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from importlib.resources import files
from typing import Any

from queuewright._native import Error
from queuewright._networks import Domain, domain
from queuewright._scenario import load, points
from queuewright.learn._policy import Policy

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PRESETS = ("default", "paper")
# A number, or a line through points (step, number).
Schedule = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Learning:
    """How it learns: docs/training.md says what each is, presets/ have the values and their sources."""

    steps: int
    episodes: int
    chunk: int
    epochs: int
    minibatches: int
    learning_rate: Schedule
    entropy: Schedule
    gamma: float
    gae_lambda: float
    clip: float
    kl_target: float
    value_coefficient: float
    gradient_norm: float
    scale_rewards: bool
    bootstrap: bool
    task_embedding: int
    first_bias: tuple[float, ...]
    seed: int


@dataclass(frozen=True)
class Evaluation:
    """How often it is looked at while it learns (steps), and by how many episodes."""

    every: int
    episodes: int


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


# Smallest and largest value of each key of [learning] and [evaluation].
_WHOLE = {
    "steps": (1000, 10**11),
    "episodes": (1, 4096),
    "chunk": (2, 100_000),
    "epochs": (1, 1000),
    "minibatches": (1, 4096),
    "task_embedding": (0, 64),
    "seed": (0, 2**32 - 1),
    "every": (1, 10**11),
}
_REAL = {
    "gamma": (0.0, 0.99999),
    "gae_lambda": (0.0, 1.0),
    "clip": (0.001, 10.0),
    "kl_target": (0.0, 10.0),
    "value_coefficient": (0.0, 100.0),
    "gradient_norm": (0.0, 1e6),
    "learning_rate": (0.0, 1.0),
    "entropy": (0.0, 1.0),
    "first_bias": (-20.0, 20.0),
}
_FLAGS = ("scale_rewards", "bootstrap")
_SCHEDULES = ("learning_rate", "entropy")
_NETWORK = ("rate", "rtt", "flows", "udp", "buffer", "episode")


def read(path: str | os.PathLike[str]) -> Config:
    """A training's file.

    Raises:
        Error: The first thing wrong with it.
    """
    name = os.fspath(path)
    try:
        with open(path, "rb") as file:
            given = tomllib.load(file)
    except OSError as e:
        raise Error(f"{name}: {_why(e)}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as e:
        raise Error(f"{name}: {e}") from None
    try:
        return config(given, os.path.dirname(name))
    except Error as e:
        raise Error(f"{name}: {e}") from None


def preset(name: str) -> dict[str, Any]:
    """The tables of a preset."""
    if name not in PRESETS:
        raise Error(f'preset = "{name}": not a preset. Allowed: {", ".join(PRESETS)}')
    return tomllib.loads((files("queuewright.learn") / "presets" / f"{name}.toml").read_text())


def config(given: Mapping[str, Any], base_dir: str = "") -> Config:
    """A training out of tables, with a preset's values where they say nothing.

    Raises:
        Error: The first thing wrong.
    """
    _only("", given, ("name", "preset", "actions", "start", "networks", "learning", "evaluation"))
    tables = preset(_text("preset", given.get("preset", "default")))
    for key in ("name", "actions", "start", "networks"):
        if key in given:
            tables[key] = copy.deepcopy(given[key])
    for key, known in (("learning", Learning), ("evaluation", Evaluation)):
        table = given.get(key, {})
        if not isinstance(table, Mapping):
            raise Error(f"{key}: not a table; write [{key}]")
        _only(f"{key}.", table, [f.name for f in fields(known)])
        tables[key] |= table
    actions = _text("actions", tables["actions"])
    learning = Learning(**{k: _value(f"learning.{k}", k, v) for k, v in tables["learning"].items()})
    return Config(
        name=_text("name", tables["name"]),
        actions=actions,
        start=_start(tables, actions, base_dir) if "start" in tables else None,
        networks=_networks(tables["networks"], base_dir).acting(actions),
        learning=learning,
        evaluation=Evaluation(
            **{k: _value(f"evaluation.{k}", k, v) for k, v in tables["evaluation"].items()}
        ),
        tables=tables,
    )


def changed(training: Config, learning: Mapping[str, Any]) -> Config:
    """The same with other values of [learning].

    Raises:
        Error: The first thing wrong.
    """
    table = training.tables["learning"] | dict(learning)
    values = {key: _value(f"learning.{key}", key, value) for key, value in table.items()}
    tables = {**training.tables, "learning": table}
    return replace(training, learning=Learning(**values), tables=tables)


def _start(tables: dict[str, Any], actions: str, base_dir: str) -> Policy:
    source = _text("start", tables["start"])
    path = os.path.abspath(os.path.join(base_dir, source))
    if os.path.exists(path):
        # Checkpoints are read elsewhere.
        tables["start"] = source = path
    try:
        policy = Policy.read(source)
    except Error as e:
        raise Error(f"start: {e}") from None
    if policy.actions != actions:
        raise Error(
            f'start = "{source}": its actions are "{policy.actions}", those of the training "{actions}"'
        )
    return policy


def _networks(given: Any, base_dir: str) -> Domain:
    if not isinstance(given, list) or not given:
        raise Error("networks: not a list of tables; write [[networks]]")
    whole: Domain | None = None
    for i, table in enumerate(given):
        where = f"networks[{i}]"
        if not isinstance(table, Mapping):
            raise Error(f"{where}: not a table; write [[networks]]")
        try:
            if "scenario" in table:
                _only(f"{where}.", table, ("scenario", "over"))
                path = os.path.abspath(os.path.join(base_dir, _text("scenario", table["scenario"])))
                # Checkpoints are read elsewhere.
                given[i] = {**table, "scenario": path}
                base = load(path)
                part = domain([base.changed(point) for point in points(_over(table))])
            else:
                _only(f"{where}.", table, (*_NETWORK, "scenario"))
                part = Domain(papers=(_recipe(where, table),))
                part._native()
        except Error as e:
            said = str(e)
            raise Error(said if said.startswith(where) else f"{where}: {said}") from None
        whole = part if whole is None else whole + part
    assert whole is not None
    return whole


def _over(table: Mapping[str, Any]) -> Mapping[str, list[Any]]:
    given = table.get("over", {})
    if not isinstance(given, Mapping):
        raise Error(f'over = {given!r}: not a table; write over = {{ "link.rate" = ["1mbit", "9mbit"] }}')
    for path, values in given.items():
        if not isinstance(values, list) or not values:
            raise Error(f"over: {path} = {values!r}: not a list of values")
    return given


def _recipe(where: str, table: Mapping[str, Any]) -> dict[str, Any]:
    recipe = {
        "rate": "1gbit",
        "rtt": ["20ms", "40ms", "60ms", "80ms"],
        "flows": [100, 200, 250],
        "udp": None,
        "buffer": ["small"],
        "episode": "5s",
    }
    for key, value in table.items():
        several = key in ("rtt", "flows", "udp", "buffer")
        items = value if isinstance(value, list) and several else [value]
        for item in items:
            if key != "flows":
                _text(f"{where}.{key}", item)
            elif not isinstance(item, int) or isinstance(item, bool) or not 1 <= item <= 100_000:
                raise Error(f"{where}.{key} = {item!r}: not a whole number from 1 to 100000")
        recipe[key] = items if several else items[0]
    return recipe


def _only(where: str, table: Mapping[str, Any], known: Any) -> None:
    for key in table:
        if key not in known:
            raise Error(f"{where}{key}: unknown key. Allowed: {', '.join(known)}")


def _text(key: str, value: Any) -> str:
    if not isinstance(value, str) or not value or len(value) > 200:
        raise Error(f"{key} = {value!r}: not a text in quotes")
    return value


def _value(where: str, key: str, value: Any) -> Any:
    if key in _FLAGS:
        if not isinstance(value, bool):
            raise Error(f"{where} = {value!r}: not true or false")
        return value
    if key in _SCHEDULES:
        return _schedule(where, key, value)
    if key == "first_bias":
        if not isinstance(value, list | tuple) or len(value) != 6:
            raise Error(f"{where} = {value!r}: not a list of six numbers, one for each action")
        return tuple(_number(where, x, *_REAL[key]) for x in value)
    if key in _WHOLE:
        low, high = _WHOLE[key]
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise Error(f"{where} = {value!r}: not a whole number from {low} to {high}")
        return value
    return _number(where, value, *_REAL[key])


def _number(where: str, value: Any, low: float, high: float) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= high:
        raise Error(f"{where} = {value!r}: not a number from {low:g} to {high:g}")
    return float(value)


def _schedule(where: str, key: str, value: Any) -> Schedule:
    if not isinstance(value, list):
        return ((0.0, _number(where, value, *_REAL[key])),)
    points: list[tuple[float, float]] = []
    for point in value:
        if not isinstance(point, list) or len(point) != 2:
            raise Error(f"{where} = {value!r}: not a number, nor points [step, number]")
        step = _number(where, point[0], 0, 1e12)
        if points and step <= points[-1][0]:
            raise Error(f"{where} = {value!r}: the steps of points rise")
        points.append((step, _number(where, point[1], *_REAL[key])))
    if not points:
        raise Error(f"{where} = []: a number, or points [step, number], are needed")
    return tuple(points)


def _why(e: OSError) -> str:
    known = {FileNotFoundError: "no such file", IsADirectoryError: "a directory, not a file"}
    return known.get(type(e), f"cannot be read: {e.strerror}")
