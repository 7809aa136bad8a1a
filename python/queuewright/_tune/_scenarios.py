"""The scenarios that parameters are chosen on, and those that they are judged on."""

import os
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from queuewright import _native
from queuewright._native import Error
from queuewright._run import Given, _scenario
from queuewright._scenario import Scenario, load
from queuewright._values import allowed, cut, file, several, shown, text

# With fewer scenarios none is set apart: seeds alone are.
_FEWEST = 4
# Of more, one part of so many.
_PARTS = 3


@dataclass(frozen=True)
class Member:
    """A scenario, by the name that tables give it."""

    name: str
    scenario: Scenario


def read(name: str, given: Given | Iterable[Given], folder: Path) -> list[Member]:
    """Scenarios, files, suites by their names and folders of scenarios.

    Args:
        name: Of the argument.
        given: One, or several.
        folder: Where the files of a suite that the program brings may be put.

    Raises:
        Error: Something else, or nothing; a broken file.
    """
    found: list[Member] = []
    for one in several(name, given, 10_000):
        found += _members(name, one, folder, len(found))
    if not found:
        raise Error(f"{name}: none; write a scenario's file, or a suite's name such as rfc7928")
    names = [member.name for member in found]
    return [
        Member(member.name if names.count(member.name) == 1 else f"{member.name}-{i + 1}", member.scenario)
        for i, member in enumerate(found)
    ]


def _members(name: str, given: Any, folder: Path, before: int) -> list[Member]:
    if isinstance(given, str | os.PathLike):
        words = file(name, given)
        path = Path(words)
        if path.suffix == ".toml" or os.path.isfile(words):
            return [Member(path.stem, load(path))]
        suites = _native.suites()
        # Suites of the program's own come before folders.
        own = words.rstrip("/") in suites
        if not own and not os.path.isdir(words):
            raise Error(f"no suite and no folder {shown(words)}{allowed(words, suites)}, or a folder")
        if not own and not any(path.glob("*.toml")):
            raise Error(f"{cut(words)}: no scenario in it; a suite is a folder of scenario files (.toml)")
        into = folder / (path.name or "suite")
        names = _native.suite(text(name, words), into)
        # Files that a folder's scenarios name are in that folder.
        at = into if own else path
        return [Member(one, load(at / f"{one}.toml")) for one in names]
    if not isinstance(given, Scenario | Mapping):
        raise Error(
            f"{name} = {shown(given)}: not a scenario; write its file, or a suite's name such as rfc7928"
        )
    scenario = _scenario(given)
    return [Member(scenario.name or f"scenario-{before + 1}", scenario)]


def split(members: Sequence[Member]) -> tuple[list[Member], list[Member]]:
    """Those to choose on, and those to judge on: a third, or all if they are few.

    It is drawn by lot, always the same, and not each third: sets go through rates and flows in turns.
    """
    if len(members) < _FEWEST:
        return list(members), list(members)
    apart = set(random.Random(len(members)).sample(range(len(members)), len(members) // _PARTS))
    return (
        [member for i, member in enumerate(members) if i not in apart],
        [member for i, member in enumerate(members) if i in apart],
    )


def instances(members: Sequence[Member], seeds: Iterable[int], seed: int) -> list[tuple[str, int]]:
    """Each scenario with each seed: all scenarios, in an order of chance, before any comes again.

    So candidates that are looked at early were in as many scenarios as can be.
    """
    dice = random.Random(seed)
    found: list[tuple[str, int]] = []
    for one in seeds:
        names = [member.name for member in members]
        dice.shuffle(names)
        found += [(name, one) for name in names]
    return found
