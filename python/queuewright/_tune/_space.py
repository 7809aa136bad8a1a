"""What may be chosen: ranges and words of a discipline's parameters, and their values as texts."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from queuewright import _native
from queuewright._native import Error
from queuewright._values import allowed, cut, several, shown
from queuewright._words import disciplines

# Values of parameters, by name, as scenario files and --aqm have them.
Settings = dict[str, str]

# Ranges wider than that are searched by ratios, not by differences.
_WIDE = 10.0
# Without a range: so many times less and more than the default.
_AROUND = 10.0
# What these say is a fact of link and packets, not a choice: they are searched only where they are named.
_FACTS = {"avpkt", "bandwidth", "limit", "memory_limit", "mtu", "mtu_time", "rate", "wire_overhead"}
# In base units, largest first.
_TIMES = (("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0))
_RATES = (("gbit", 1e9), ("mbit", 1e6), ("kbit", 1e3), ("bit", 1.0))
# Digits of a value: what is finer changes nothing that anybody measures.
_DIGITS = 3


@dataclass(frozen=True)
class Parameter:
    """What the registry says of a parameter."""

    of: str
    name: str
    kind: str
    default: str
    allowed: str
    words: tuple[str, ...]
    low: str | None
    high: str | None

    def number(self, text: str) -> float:
        """A value in ns, bytes, bit/s or without a unit.

        Raises:
            Error: It is none, or none that is allowed.
        """
        try:
            value = _number(self.kind, text)
        except (Error, ValueError) as e:
            raise Error(f"over {self.name}: {_why(self, text, e)}") from None
        low, high = (_number(self.kind, end) for end in (self.low or text, self.high or text))
        if not low <= value <= high:
            raise Error(f"over {self.name}: {cut(text)} is out of range; allowed: {_to(self.allowed)}")
        return value


def _number(kind: str, text: str) -> float:
    match kind:
        case "time":
            return float(_native.nanoseconds(text))
        case "size" | "rate":
            value, unit = _native.number(text)
            if unit != ("bytes" if kind == "size" else "bit/s"):
                raise ValueError
            return value
        case "count":
            return float(int(text))
        case _:
            value = float(text[:-1]) / 100 if text.endswith("%") else float(text)
            if not math.isfinite(value):
                raise ValueError
            return value


def _why(parameter: Parameter, text: str, e: Exception) -> str:
    if isinstance(e, Error) and parameter.kind == "time":
        return str(e)
    return f"{shown(text)} is not a {parameter.kind}, such as {parameter.low}"


def _to(allowed: str) -> str:
    return allowed.replace(" .. ", " to ")


@dataclass(frozen=True)
class Range:
    """Numbers between two ends."""

    parameter: Parameter
    low: float
    high: float
    # Of sizes: "p" or "bdp" where they are not bytes.
    suffix: str = ""

    @property
    def name(self) -> str:
        """The parameter's."""
        return self.parameter.name

    @property
    def whole(self) -> bool:
        """Are there whole numbers alone?"""
        return self.parameter.kind in ("count", "rate") or (
            self.parameter.kind == "size" and self.suffix != "bdp"
        )

    @property
    def log(self) -> bool:
        """Is a factor of two as far everywhere?"""
        return self.low > 0 and self.high / self.low > _WIDE

    def text(self, value: float) -> str:
        """A value as scenarios have it, to three digits, within the ends."""
        value = min(max(_rounded(value), self.low), self.high)
        if self.suffix == "bdp":
            return f"{_plain(value, 6)}bdp"
        match self.parameter.kind:
            case "time":
                return _with_unit(value, _TIMES)
            case "rate":
                return _with_unit(value, _RATES)
            case "size":
                return f"{round(value)}{self.suffix or 'b'}"
            case "count":
                return str(round(value))
            case _:
                return _plain(value, 6)

    def value(self, text: str) -> float:
        """What `text` made a text of.

        Raises:
            Error: It is outside.
        """
        if text in self.parameter.words:
            raise Error(f"{self.name}={text}: not a number; it is not in {self}")
        suffix = _suffix(self.parameter, text)
        if suffix != self.suffix:
            raise Error(f"{self.name}={text}: not in the unit of {self}")
        value = float(text[: -len(suffix)]) if suffix else self.parameter.number(text)
        # A text has whole nanoseconds and bytes.
        if not self.low * (1 - 1e-6) <= value <= self.high * (1 + 1e-6):
            raise Error(f"{self.name}={text}: not in {self}")
        return min(max(value, self.low), self.high)

    def ends(self) -> list[str]:
        """The least and the most, as texts."""
        return [self.text(self.low), self.text(self.high)]

    def nearest(self, text: str) -> str:
        """A text of the value that is nearest to this one; to a word, the least."""
        if text in self.parameter.words or _suffix(self.parameter, text) != self.suffix:
            return self.text(self.low)
        return self.text(
            _number(self.parameter.kind, text.removesuffix(self.suffix) if self.suffix else text)
        )

    def __str__(self) -> str:
        return f"{self.name}={'..'.join(self.ends())}"


@dataclass(frozen=True)
class Words:
    """One of some values."""

    parameter: Parameter
    words: tuple[str, ...]

    @property
    def name(self) -> str:
        """The parameter's."""
        return self.parameter.name

    def value(self, text: str) -> str:
        """Itself.

        Raises:
            Error: It is none of them.
        """
        if text not in self.words:
            raise Error(f"{self.name}={text}: not in {self}")
        return text

    def ends(self) -> list[str]:
        """All of them."""
        return list(self.words)

    def nearest(self, text: str) -> str:
        """Itself, or the first."""
        return text if text in self.words else self.words[0]

    def __str__(self) -> str:
        return f"{self.name}={'|'.join(self.words)}"


Axis = Range | Words


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def _plain(value: float, decimals: int) -> str:
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _with_unit(value: float, units: Sequence[tuple[str, float]]) -> str:
    for unit, size in units:
        if value >= size:
            # No finer than a whole base unit.
            return f"{_plain(round(value) / size, round(math.log10(size)))}{unit}"
    return f"0{units[-1][0]}"


# ---------------------------------------------------------------- what is asked


def parameters(discipline: str) -> dict[str, Parameter]:
    """Those of a discipline, by name.

    Raises:
        Error: There is no such discipline.
    """
    known = {one["name"]: one for one in disciplines()}
    if discipline not in known:
        raise Error(f"aqm: there is no discipline {shown(discipline)}. Allowed: {', '.join(known)}")
    return {
        one["name"]: Parameter(
            discipline,
            one["name"],
            one["kind"],
            one["default"],
            one["allowed"],
            tuple(one["words"]),
            one["min"],
            one["max"],
        )
        for one in known[discipline]["parameters"]
    }


def axes(discipline: str, over: Mapping[str, str]) -> list[Axis]:
    """What these words say is to be chosen.

    Raises:
        Error: A parameter that is not there, a range without anything in it.
    """
    known = parameters(discipline)
    if not known:
        raise Error(f"aqm: {discipline} has no parameter: there is nothing to tune")
    found: list[Axis] = []
    for name, words in over.items():
        if name not in known:
            raise Error(f"over: {discipline} has no parameter {shown(name)}{allowed(str(name), known)}")
        found.append(_axis(known[name], words))
    return found


def around(discipline: str, fixed: Iterable[str]) -> list[Axis]:
    """Numbers around the defaults: from a tenth of each to ten times as much.

    Parameters whose default is a word or 0, choices, flags and facts are left out, as is what is fixed.
    """
    found: list[Axis] = []
    fixed = set(fixed)
    for one in parameters(discipline).values():
        if one.name in _FACTS | fixed or one.kind in ("flag", "choice", "file") or one.default in one.words:
            continue
        default = _number(one.kind, one.default)
        if default == 0 or one.low is None or one.high is None:
            continue
        low, high = (_number(one.kind, end) for end in (one.low, one.high))
        axis = _range(one, max(low, default / _AROUND), min(high, default * _AROUND))
        if axis.low < axis.high:
            found.append(axis)
    return found


def _axis(parameter: Parameter, words: str) -> Axis:
    name = parameter.name
    said = f"over {name}={cut(words)}"
    if parameter.kind == "file":
        raise Error(f"over {name}: files have no range; fix it in aqm: {parameter.of}:{name}=FILE")
    if "|" in words:
        several = tuple(dict.fromkeys(word.strip() for word in words.split("|")))
        if len(several) < 2 or not all(several):
            raise Error(f"{said}: two values at least are needed, such as a|b")
        for word in several:
            if word not in parameter.words:
                if parameter.kind in ("flag", "choice"):
                    raise Error(f"over {name}: {shown(word)} is none of {', '.join(parameter.words)}")
                if not _suffix(parameter, word):
                    parameter.number(word)
        return Words(parameter, several)
    if parameter.kind in ("flag", "choice"):
        raise Error(f"{said}: write values with | between: {name}={'|'.join(parameter.words)}")
    low, dots, high = (part.strip() for part in words.partition(".."))
    if not dots or not low or not high:
        raise Error(f"{said}: not a range; write {name}={_example(parameter)}")
    suffix, other = _suffix(parameter, low), _suffix(parameter, high)
    if suffix != other:
        raise Error(f"{said}: both ends need the same unit")
    if suffix:
        ends = [float(end[: -len(suffix)]) for end in (low, high)]
    else:
        ends = [parameter.number(end) for end in (low, high)]
    if ends[0] > ends[1]:
        raise Error(f"{said}: the low end is above the high one; write {name}={cut(high)}..{cut(low)}")
    if ends[0] == ends[1]:
        raise Error(f"{said}: nothing to choose; to fix it write it in aqm: {parameter.of}:{name}={cut(low)}")
    return _range(parameter, ends[0], ends[1], suffix)


def _range(parameter: Parameter, low: float, high: float, suffix: str = "") -> Range:
    """With ends that texts can have."""
    axis = Range(parameter, low, high, suffix)
    of = 1.0 if axis.whole or parameter.kind == "time" else 1e-6
    # What is on the grid but for the last bit stays.
    return Range(parameter, math.ceil(low / of - 1e-6) * of, math.floor(high / of + 1e-6) * of, suffix)


def _example(parameter: Parameter) -> str:
    return f"{parameter.low}..{parameter.high}"


def _suffix(parameter: Parameter, text: str) -> str:
    """The unit of a size that depends on the link."""
    found = re.fullmatch(r"\d+(?:\.\d+)?(bdp|p)", text) if parameter.kind == "size" else None
    return found[1] if found else ""


def read_over(words: str | Mapping[str, Any] | Iterable[str]) -> dict[str, str]:
    """`name=low..high` with commas between, a list of such, or a dict.

    Raises:
        Error: Something else, or a parameter twice.
    """
    if isinstance(words, Mapping):
        return {name: _range_text(name, value) for name, value in words.items()}
    found: dict[str, str] = {}
    given = several("over", words)
    for one in given:
        if not isinstance(one, str):
            raise Error(f'over = {shown(one)}: not a text; write "target=1ms..100ms"')
    for part in [part.strip() for text in given for part in text.split(",")]:
        name, equals, value = part.partition("=")
        if not name or not equals or not value:
            raise Error(f"over {shown(part)}: write a parameter and its range: target=1ms..100ms")
        if name in found:
            raise Error(f"over: {cut(name)} twice; once is enough")
        found[name] = value
    return found


def _range_text(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if (
        isinstance(value, Sequence)
        and value
        and all(isinstance(one, str | bool | int | float) for one in value)
    ):
        return "|".join(str(one).lower() if isinstance(one, bool) else str(one) for one in value)
    raise Error(f'over[{shown(name)}] = {shown(value)}: write a range, "1ms..100ms", or a list of values')


def line(discipline: str, settings: Mapping[str, str]) -> str:
    """As ``--aqm` has it: `codel:target=5ms:interval=100ms`."""
    return ":".join([discipline, *(f"{name}={value}" for name, value in settings.items())])
