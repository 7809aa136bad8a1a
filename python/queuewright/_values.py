"""Values that callers give, of Python's own types and of numpy's, as scenarios have them."""

import itertools
import operator
import os
import re
import reprlib
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from queuewright._native import Error, ask_for_code, suggest


def theirs(given: Any) -> None:
    """Asks before code is run that a file names, which may be anybody's.

    Args:
        given: What was read of it: texts, in lists and tables.

    Raises:
        Error: It names a header, and nobody has allowed it (`QUEUEWRIGHT_OWN=1`).
    """
    left = [given]
    while left:
        one = left.pop()
        if isinstance(one, str):
            ask_for_code(one)
        elif isinstance(one, Mapping):
            left += one.values()
        elif isinstance(one, list | tuple):
            left += one


def allowed(word: str, known: Iterable[str]) -> str:
    """What may stand in a word's place, and which of it may have been meant: the end of an error."""
    # Half of a pair of surrogates is no text there.
    return suggest(word[:64].encode(errors="replace").decode(), list(known))


class _Short(reprlib.Repr):
    def repr_str(self, x: str, level: int) -> str:
        said = super().repr_str(x, level)
        # As errors have texts everywhere.
        return f'"{said[1:-1]}"' if said.startswith("'") and '"' not in said else said


_SHORT = _Short()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 100
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxset = _SHORT.maxdict = 10
_SHORT.maxlevel = 4

# Attoseconds of each unit that a span of numpy's can have; its months and years have no length.
_ATTOSECONDS = {
    "as": 1,
    "fs": 10**3,
    "ps": 10**6,
    "ns": 10**9,
    "us": 10**12,
    "ms": 10**15,
    "s": 10**18,
    "m": 60 * 10**18,
    "h": 3600 * 10**18,
    "D": 86_400 * 10**18,
    "W": 604_800 * 10**18,
}


def shown(value: object) -> str:
    """A value in an error: as Python writes it, what is long cut short."""
    try:
        return _SHORT.repr(value)
    except ValueError:  # a number of more than 4300 digits
        return f"({type(value).__name__})"


def cut(text: object) -> str:
    """A text in an error, as `shown` but without quotes."""
    return shown(str(text))[1:-1]


def scalar(value: Any) -> Any:
    """What numpy has for a number or a text, or what has no dimensions, as Python's; else the value."""
    if isinstance(value, str):
        # Of a subclass the text itself, whatever that shows.
        return str.__str__(value)
    if isinstance(value, bytes) or getattr(value, "ndim", None) != 0:
        return value
    # Out of an array of no dimensions.
    value = value[()]
    return value.item() if hasattr(value, "item") and type(value).__name__ != "timedelta64" else value


def time(name: str, value: object) -> str | None:
    """A `timedelta`, Python's or numpy's, with a unit; None: it is none.

    Args:
        name: Of the argument, for errors.
        value: The value.

    Raises:
        Error: It has no length: "not a time", months, or numpy's without a unit.
    """
    if isinstance(value, timedelta):
        ns = value // timedelta(microseconds=1) * 1000
    elif type(value).__name__ == "timedelta64":
        kind = re.fullmatch(r"timedelta64\[(\d*)(\w+)\]", str(value.dtype))  # type: ignore[attr-defined]
        if value != value or kind is None or kind[2] not in _ATTOSECONDS:
            raise Error(f'{name} = {shown(value)}: no time that has a length; write np.timedelta64(30, "s")')
        ticks = int(value.astype("int64")) * int(kind[1] or 1)  # type: ignore[attr-defined]
        ns = ticks * _ATTOSECONDS[kind[2]] // 10**9
    else:
        return None
    for unit, of in (("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1000)):
        if ns % of == 0:
            return f"{ns // of}{unit}"
    return f"{ns}ns"


def text(name: str, value: str) -> str:
    """The text.

    Raises:
        Error: It has halves of characters (surrogates), which no file and no name has.
    """
    # Nothing of a long text is copied.
    if value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError as e:
        raise Error(f"{name}: {value[e.start]!r} is half a character; write whole ones") from None
    return value


def file(name: str, path: object) -> str:
    """The path of a file.

    Raises:
        Error: It can be none.
    """
    if not isinstance(path, str | bytes | os.PathLike) or not path:
        raise Error(f"{name} = {shown(path)}: not a path; write a text, or a pathlib.Path")
    found = os.fsdecode(path)
    try:
        os.fsencode(found)
    except UnicodeEncodeError:
        return text(name, found)
    return found


def real(name: str, value: Any) -> float:
    """A number as a float.

    Raises:
        Error: It is too large for one.
    """
    try:
        return float(value)
    except OverflowError:
        raise Error(f"{name} = {shown(value)}: too large; write a smaller number") from None


def whole(name: str, value: object, least: int, most: int) -> int:
    """A whole number, numpy's too.

    Raises:
        Error: It is none, or out of range.
    """
    try:
        number = operator.index(None if isinstance(value, bool) else value)  # type: ignore[arg-type]
    except TypeError:
        raise Error(f"{name} = {shown(value)}: not a whole number; write {name}=2") from None
    if not least <= number <= most:
        raise Error(f"{name} = {shown(number)}: out of range; allowed: {least} to {most}")
    return number


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


def function(name: str, given: object) -> None:
    """Raises Error: what is given is no function."""
    if not callable(given):
        raise Error(f"{name} = {shown(given)}: not a function; write {name}=print")
