"""What is to be had most of, or least: measures of a run, each with its sense."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from queuewright._native import Error
from queuewright._values import cut, several, shown


@dataclass(frozen=True)
class Objective:
    """A measure and whether less of it is better."""

    # What it is called, in tables and pictures.
    name: str
    # Its path in a run's measures (docs/experiments/README.md).
    path: str
    less: bool
    # Of several ports the sum, else the mean; of several entries with probes the mean.
    sum_of_ports: bool = False

    def value(self, measures: Mapping[str, float]) -> float:
        """That of a run; NaN: it has none."""
        if self.path in measures:
            return measures[self.path]
        part, _, rest = self.path.partition(".")
        several = [
            value
            for key, value in measures.items()
            if (key.startswith("port.") and key.partition(".")[2].partition(".")[2] == self.path)
            or (part == "responsiveness" and key.startswith("responsiveness.") and key.endswith(f".{rest}"))
        ]
        if not several:
            return math.nan
        return math.fsum(several) / (1 if self.sum_of_ports else len(several))

    def __str__(self) -> str:
        return self.name


# What has a name of its own. `more:PATH` and `less:PATH` are any other measure.
NAMED = {
    one.name: one
    for one in (
        Objective("power", "power", less=False),
        Objective("delay", "sojourn_ms.mean", less=True, sum_of_ports=True),
        Objective("throughput", "utilization", less=False),
        # Of scenarios with probes (docs/scenario.md).
        Objective("rpm", "responsiveness.rpm", less=False),
    )
}
# Of measures by their path, the first or last word: more of these is better, and less of those.
_MORE = {"bitrate_bps", "completed", "goodput_bps", "jain", "least_share", "linear_qoe", "mos", "mos_worst"}
_MORE |= {"power", "r", "r_worst", "stalling_index", "utilization", "flow_mbps"}
_LESS = {
    "backlog_bytes",
    "backlog_of_buffer",
    "backlog_packets",
    "burst_r",
    "delay_ms",
    "drop_fraction",
    "drops",
}
_LESS |= {"fct_s", "jitter_ms", "loss", "loss_events", "lost", "mark_fraction", "marks", "noticeable_rate"}
_LESS |= {"plt_s", "retransmits", "sojourn_ms", "srtt_ms", "stalled_s", "stalls", "startup_s", "switches"}
_LESS |= {"timeouts", "queue_s", "rate_s"}


def read(words: str | Iterable[str]) -> list[Objective]:
    """One objective, or two.

    Raises:
        Error: More, or one that is not known.
    """
    given = several("objective", words)
    for one in given:
        if not isinstance(one, str):
            raise Error(f'objective = {shown(one)}: not a text; write "power"')
    found = [_one(word.strip()) for text in given for word in text.split(",")]
    if not found:
        raise Error('objective: none; write "power"')
    if len(found) > 2:
        raise Error(
            f"objective: {cut(', '.join(map(str, found)))}: two at most; of three no picture can be drawn"
        )
    if len({one.path for one in found}) < len(found):
        raise Error(f"objective: {cut(found[0])} twice; two that differ are needed, or one")
    return found


def _one(word: str) -> Objective:
    if word in NAMED:
        return NAMED[word]
    sense, colon, path = word.partition(":")
    if colon and sense == "qoo" and path:
        return Objective(word, f"responsiveness.qoo.{path}", less=False)
    if colon and sense in ("more", "less") and path:
        return Objective(path, path, less=sense == "less")
    steps = set(word.split("."))
    more, less = steps & _MORE, steps & _LESS
    if colon or bool(more) == bool(less):
        hint = (
            f"; of a measure of yours write which is better: more:{cut(word)} or less:{cut(word)}"
            if word
            else ""
        )
        allowed = f"{', '.join(NAMED)}, qoo:NAME (qoo:game), or a measure by its path, such as sojourn_ms.p99"
        raise Error(f"objective: {shown(word)} is not known{hint}. Allowed: {allowed}")
    return Objective(word, word, less=bool(less))
