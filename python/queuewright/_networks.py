"""Networks in which an agent learns, or is tried."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from numbers import Real
from typing import Any

from queuewright import _native
from queuewright._native import Error
from queuewright._scenario import Scenario
from queuewright._values import real, scalar, several, shown, text, time, whole


@dataclass(frozen=True)
class Domain:
    """Networks of which each episode draws one: see `paper()` and `domain()`. `a + b` has those of both."""

    papers: tuple[Mapping[str, Any], ...] = ()
    scenarios: tuple[Scenario, ...] = ()
    actions: str | None = None

    def _native(self) -> _native.Domain:
        parts = [_native.Domain.paper(**recipe) for recipe in self.papers]
        if self.scenarios or not parts:
            parts.append(_native.Domain.of([scenario._draft for scenario in self.scenarios]))
        all_of_them = parts[0] if len(parts) == 1 else _native.Domain.join(parts)
        return all_of_them if self.actions is None else all_of_them.acting(self.actions)

    def acting(self, kind: str) -> "Domain":
        """The same with another kind of action: "marking", "threshold", "red" or "dropping".

        Raises:
            Error: There is no such kind.
        """
        if not isinstance(kind, str):
            raise Error(f'actions = {shown(kind)}: not a kind of action; write "marking"')
        return _checked(replace(self, actions=text("actions", kind)))

    def __add__(self, other: "Domain") -> "Domain":
        if not isinstance(other, Domain):
            return NotImplemented
        return replace(self, papers=self.papers + other.papers, scenarios=self.scenarios + other.scenarios)

    def __len__(self) -> int:
        """How many networks."""
        return len(self._native())

    def __deepcopy__(self, memo: object) -> "Domain":
        # Nothing of it changes.
        return self


def paper(
    *,
    rate: float | str = "1gbit",
    rtt_ms: float | str | timedelta | Iterable[float | str | timedelta] = (20, 40, 60, 80),
    flows: int | Iterable[int] = (100, 200, 250),
    udp: float | str | Iterable[float | str] | None = None,
    buffer: int | str | Iterable[int | str] = "small",
    episode_s: float | timedelta = 5,
) -> Domain:
    """The networks of the paper's training; every combination of the lists is as likely.

    Args:
        rate: Of the link: "1gbit", or bits a second.
        rtt_ms: Base round-trip times, milliseconds. Of this and what follows one or several.
        flows: Numbers of TCP flows, half CUBIC, half NewReno, all with ECN.
        udp: Rates of the one UDP flow, "80mbit" or bits a second; default: 1 to 10 % of the link.
        buffer: As scenarios have it, "141p" or "1bdp", or packets; "small" is the bandwidth-delay product
            over the square root of the number of flows, "2small" twice that.
        episode_s: Length of an episode; it includes the flows' slow start.

    Raises:
        Error: What no network can have.
    """
    recipe = {
        "rate": _word("rate", rate, "bit"),
        "rtt": [_word("rtt_ms", rtt, "ms") for rtt in several("rtt_ms", rtt_ms)],
        "flows": [whole("flows", n, 1, 100_000) for n in several("flows", flows)],
        "udp": None if udp is None else [_word("udp", u, "bit") for u in several("udp", udp)],
        "buffer": [_word("buffer", b, "p") for b in several("buffer", buffer)],
        "episode": _word("episode_s", episode_s, "s"),
    }
    return _checked(Domain(papers=(recipe,)))


def _word(name: str, value: Any, unit: str) -> str:
    """A number with its unit, of Python or numpy; rates and packets come to whole ones. A text has its own.

    Raises:
        Error: What is neither.
    """
    value = scalar(value)
    if isinstance(value, str):
        return text(name, value)
    of_time = unit in ("ms", "s")
    if of_time and (span := time(name, value)) is not None:
        return span
    if isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(real(name, value)):
        return f"{value}{unit}" if of_time else f"{float(value):.0f}{unit}"
    raise Error(f"{name} = {shown(value)}: not a number; write {name}=20, or a text with its unit")


def domain(scenarios: Scenario | Iterable[Scenario]) -> Domain:
    """Networks of one's own: each episode is one of these scenarios, what it leaves to chance drawn anew.

    The first discipline of each, or one port's, is the one to drive: `queuepilot`. Its parameters hold; an
    episode is as long as the scenario's run, its warm-up included.

    Raises:
        Error: A scenario without such a discipline.
    """
    return _checked(Domain(scenarios=tuple(of_scenarios(scenarios))))


def of_scenarios(given: Scenario | Iterable[Scenario]) -> list[Scenario]:
    """One scenario or several.

    Raises:
        Error: Something else.
    """
    found = several("networks", given, 100_000)
    for one in found:
        if not isinstance(one, Scenario):
            raise Error(f"networks: {shown(one)} is no scenario; write qw.load(path), or qw.Scenario(...)")
    return found


def _checked(networks: Domain) -> Domain:
    networks._native()
    return networks
