"""What callers may choose among, for help and checks alike, and what is said of a library that is missing."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, get_args

from queuewright._native import Error
from queuewright._values import shown

# What makes runs: the simulator, the kernel, or the simulator on a Ray cluster.
Engine = Literal["sim", "linux", "ray"]
ENGINES: tuple[Engine, ...] = get_args(Engine)
# What simulates.
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


def simulator(engine: object) -> str:
    """The engine.

    Raises:
        Error: It is none that simulates.
    """
    if not isinstance(engine, str) or engine not in SIMULATORS:
        raise Error(f"engine = {shown(engine)}: not an engine here. Allowed: {', '.join(SIMULATORS)}")
    return engine
