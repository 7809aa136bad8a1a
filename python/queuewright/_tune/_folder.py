"""The folder of a search: what it was asked, what it has found."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from queuewright import _native
from queuewright._native import Error
from queuewright._tune._objective import Objective
from queuewright._tune._space import Axis
from queuewright._values import theirs

if TYPE_CHECKING:
    from queuewright._tune._search import Candidate

# What a folder remembers of how it was asked for.
ASKED = "tune.json"


def folder(base: Path, name: str, remembered: Mapping[str, Any], resume: bool) -> Path:
    """A new one, or the newest that is there."""
    if not resume:
        made = Path(_native.new_folder(base, name))
        write(made / ASKED, json.dumps({"asked": remembered}, indent=1) + "\n")
        return made
    at, before = remembered_in(base)
    if before.get("asked") != json.loads(json.dumps(remembered)):
        differ = [key for key, value in remembered.items() if before.get("asked", {}).get(key) != value]
        raise Error(f"resume: {at} is of another search ({', '.join(differ)} differ); begin anew, without it")
    return at


def remembered_in(base: Path) -> tuple[Path, dict[str, Any]]:
    """The newest folder, and what it remembers.

    Raises:
        Error: There is none.
    """
    try:
        at = (base / "latest").resolve(strict=True)
        found = json.loads((at / ASKED).read_text())
    except FileNotFoundError:
        raise Error(f"resume: there is nothing to go on with: no {base / 'latest' / ASKED}") from None
    except (OSError, ValueError) as e:
        raise Error(f"resume: {base / 'latest' / ASKED}: {e}; begin anew, without it") from None
    if not isinstance(found, dict) or any(
        not isinstance(found.get(name, {}), dict) for name in ("asked", "command")
    ):
        raise broken(base)
    try:
        theirs(found)
    except Error as e:
        raise Error(f"resume: {base / 'latest' / ASKED}: {e}") from None
    return at, found


def broken(base: Path) -> Error:
    """What is said of a folder that remembers something else than a search."""
    return Error(f"resume: {base / 'latest' / ASKED}: broken; begin anew, without it")


def remember(folder: Path, words: Mapping[str, Any]) -> None:
    """Has a folder remember a command's words, too."""
    before = json.loads((folder / ASKED).read_text())
    write(folder / ASKED, json.dumps(before | {"command": words}, indent=1) + "\n")


def write(path: Path, text: str) -> None:
    """Whole or not at all."""
    fresh = path.with_name(f"{path.name}.part")
    fresh.write_text(text)
    fresh.rename(path)


def sheet(candidates: "Sequence[Candidate]", axes: Sequence[Axis], objectives: Sequence[Objective]) -> str:
    """`candidates.csv`."""
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    names = [axis.name for axis in axes]
    rows.writerow(["candidate", *names, *(f"gain_{one.name}" for one in objectives), "runs", "ended_early"])
    for one in candidates:
        values = [f"{value:.6f}" for value in one.values]
        early = str(one.ended_early).lower()
        rows.writerow([one.number, *(one.settings[name] for name in names), *values, one.runs, early])
    return out.getvalue()
