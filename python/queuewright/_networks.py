"""Networks in which an agent learns, or is tried."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

from queuewright import _native
from queuewright._scenario import Scenario


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
        whole = parts[0] if len(parts) == 1 else _native.Domain.join(parts)
        return whole if self.actions is None else whole.acting(self.actions)

    def acting(self, kind: str) -> "Domain":
        """The same with another kind of action: "marking", "threshold", "red" or "dropping".

        Raises:
            Error: There is no such kind.
        """
        return _checked(replace(self, actions=kind))

    def __add__(self, other: "Domain") -> "Domain":
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
    rtt_ms: Iterable[float] = (20, 40, 60, 80),
    flows: Iterable[int] = (100, 200, 250),
    udp: Iterable[float | str] | None = None,
    buffer: int | str | Iterable[int | str] = "small",
    episode_s: float = 5,
) -> Domain:
    """The networks of the paper's training; every combination of the lists is as likely.

    Args:
        rate: Of the link: "1gbit", or bits a second.
        rtt_ms: Base round-trip times, milliseconds.
        flows: Numbers of TCP flows, half CUBIC, half NewReno, all with ECN.
        udp: Rates of the one UDP flow, "80mbit" or bits a second; default: 1 to 10 % of the link.
        buffer: As scenarios have it, "141p" or "1bdp", or packets; "small" is the bandwidth-delay product
            over the square root of the number of flows, "2small" twice that. One or several.
        episode_s: Length of an episode; it includes the flows' slow start.

    Raises:
        Error: What no network can have.
    """
    buffers = list(buffer) if isinstance(buffer, Iterable) and not isinstance(buffer, str) else [buffer]
    recipe = {
        "rate": _word(rate, "bit"),
        "rtt": [f"{rtt}ms" for rtt in rtt_ms],
        "flows": [int(n) for n in flows],
        "udp": None if udp is None else [_word(u, "bit") for u in udp],
        "buffer": [_word(b, "p") for b in buffers],
        "episode": f"{episode_s}s",
    }
    return _checked(Domain(papers=(recipe,)))


def _word(value: float | str, unit: str) -> str:
    """A number with its unit, of Python or numpy; rates come to whole bits."""
    return f"{float(value):.0f}{unit}" if isinstance(value, Real) else str(value)


def domain(scenarios: Scenario | Iterable[Scenario]) -> Domain:
    """Networks of one's own: each episode is one of these scenarios, what it leaves to chance drawn anew.

    The first discipline of each, or one port's, is the one to drive: `queuepilot`. Its parameters hold; an
    episode is as long as the scenario's run, its warm-up included.

    Raises:
        Error: A scenario without such a discipline.
    """
    several = [scenarios] if isinstance(scenarios, Scenario) else list(scenarios)
    return _checked(Domain(scenarios=tuple(several)))


def _checked(networks: Domain) -> Domain:
    networks._native()
    return networks
