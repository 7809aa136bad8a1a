"""What callers may ask for: lists that help and checks both have, and checks of arguments of any kind."""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, get_args

from queuewright._native import Error
from queuewright._values import shown

# What simulates: this machine, or a Ray cluster.
Simulator = Literal["sim", "ray"]
SIMULATORS: tuple[str, ...] = get_args(Simulator)
# Of `queuewright.learn`, which needs libraries that help does not: presets, networks of the paper's tests,
# what policies are measured against, and what an evaluation measures.
PRESETS = ("default", "paper")
FIGURES = ("fig2", "fig5")
RIVALS = ("droptail", "ared_1", "ared_2", "ared_3")
MEASURES = ("reward", "utilization", "drop_fraction", "queue_of_buffer")


@contextmanager
def needing(what: str, how: str) -> Iterator[None]:
    """Imports are made in it; of what is missing all say the same.

    Args:
        what: Who cannot do without: "training needs".
        how: What brings it: "pip install 'queuewright[train]'".

    Raises:
        ImportError: Something is missing.
    """
    try:
        yield
    except ModuleNotFoundError as e:
        raise ImportError(f"{what} {(e.name or '').partition('.')[0]}: {how}", name=e.name) from None


def several(name: str, given: Any, most: int = 100) -> list[Any]:
    """One value or several.

    Raises:
        Error: There are more than so many.
    """
    # An array of no dimensions is one, though it is of an iterable kind.
    one = isinstance(given, str | bytes | Mapping) or getattr(given, "ndim", None) == 0
    if one or not isinstance(given, Iterable):
        return [given]
    values = list(itertools.islice(given, most + 1))
    if len(values) > most:
        raise Error(f"{name}: more than {most} values; write fewer")
    return values


def cut(text: object) -> str:
    """A text in an error, as `shown` but without quotes."""
    return shown(str(text))[1:-1]


def simulator(engine: object) -> str:
    """The engine.

    Raises:
        Error: It is none that simulates.
    """
    if not isinstance(engine, str) or engine not in SIMULATORS:
        raise Error(f"engine = {shown(engine)}: not an engine here. Allowed: {', '.join(SIMULATORS)}")
    return engine


def function(name: str, given: object) -> None:
    """Raises Error: what is given is no function."""
    if not callable(given):
        raise Error(f"{name} = {shown(given)}: not a function; write {name}=print")
