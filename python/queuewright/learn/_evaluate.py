"""Policies beside what they are measured against, in the same networks."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from queuewright import _native
from queuewright._asked import MEASURES, RIVALS, Engine
from queuewright._native import Error
from queuewright._networks import Domain, of_scenarios, paper
from queuewright._progress import Progress
from queuewright._run import results
from queuewright._scenario import Scenario
from queuewright._values import file, several, shown
from queuewright.learn._policy import stored

# The paper's, each with what a buffer of so many packets asks for.
ARED = {"ared_1": 0.1, "ared_2": 0.2, "ared_3": 0.3}
STEP = "5ms"
FULL_BYTES = 1538


def paper_tests() -> dict[str, Domain]:
    """The networks of the paper's tests, by figure: `fig5`, and `fig2`, which varies the buffer."""
    common: dict[str, Any] = {"udp": ["80mbit"], "episode_s": 10}
    return {
        "fig2": paper(rtt_ms=[30], flows=[300], buffer=[76, 141, 152, 305, 610, 1219, 2439], **common),
        "fig5": paper(rtt_ms=[20, 40, 60, 80, 100], flows=[100, 200, 300], **common),
    }


def rival(word: str, packets: int, rate: str) -> Mapping[str, Any] | str:
    """A discipline for a link and a buffer; `ared_1` to `ared_3` are the authors' adaptive RED."""
    share = ARED.get(word)
    if share is None:
        return word
    # The authors' tc line; its burst makes the average follow the queue almost at once.
    least = share * packets * FULL_BYTES
    return {
        "name": "ared",
        "label": word,
        "target": "off",
        "min": f"{round(least)}b",
        "max": f"{round(3 * least)}b",
        "avpkt": f"{FULL_BYTES}b",
        "burst": 1 + -int(-packets * share // 1),
        "bandwidth": rate,
        "probability": 0.1,
        "ecn": True,
        "nodrop": True,
        "gentle": False,
        "idle_clock": "tc",
    }


def evaluate(
    policies: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    networks: Domain | Scenario | Iterable[Scenario],
    *,
    against: str | Iterable[str] = RIVALS,
    seeds: Any = "1..3",
    engine: Engine = "sim",
    jobs: int | None = None,
    progress: Progress = None,
) -> list[dict[str, Any]]:
    """Runs policies and others in each network, and says what each was worth.

    A row for each network and discipline: `reward`, `utilization`, `drop_fraction`, `queue_of_buffer`, and
    the network: its number, from 1 on, and what it is. `reward` is the mean of the paper's over the steps,
    of 5 ms, of the second half of a run. A step in which the buffer overflowed has -1. What is dropped by
    choice is a signal, as a mark is.

    Args:
        policies: A file, or the name of a policy that Queuewright brings; or several.
        networks: What `envs.paper()` and `envs.domain()` give, or scenarios.
        against: Disciplines in the words of `queuewright compare`, and the authors' `ared_1` to `ared_3`:
            a text with commas between, or several.
        seeds: As for `run`, as are the others.

    Raises:
        Error: Wrong input.
    """
    paths = [file("policy", path) for path in several("policies", policies)]
    for path in paths:
        stored(path)
    given = several("against", against)
    for one in given:
        if not isinstance(one, str):
            raise Error(f'against = {shown(one)}: not a text; write "codel,pie"')
    rivals = [word for one in given for word in one.split(",") if word]
    if isinstance(networks, Domain):
        bases = [Scenario._of(draft) for draft in networks._native().scenarios()]
    else:
        bases = of_scenarios(networks)
    if not bases:
        raise Error("networks: none; one at least is needed")
    wheres = [_network(i + 1, base) for i, base in enumerate(bases)]
    scenarios = []
    for base, where in zip(bases, wheres, strict=True):
        rate = where["rate"]
        aqm: list[Any] = [rival(word, where["buffer_packets"], rate) for word in rivals]
        for path, label in zip(paths, _labels(paths), strict=True):
            aqm.append({"name": "queuepilot", "label": label, "rate": rate, "weights": path})
        # A step is a sample; the first half of a run is the flows' beginning.
        scenarios.append(
            base.changed({"run.sample": STEP}, aqm=aqm, seeds=seeds, warmup=_half(base.to_dict()))
        )
    made = results(scenarios, engine, jobs, progress)
    rows = []
    for where, one in zip(wheres, made, strict=True):
        runs, rewards = one.runs, one.rewards()
        for i, earned in enumerate(rewards):
            row = {"aqm": runs["discipline"][i], "seed": runs["seed"][i], "reward": earned}
            for name in ("utilization", "drop_fraction"):
                row[name] = runs[name][i]
            row["queue_of_buffer"] = runs["backlog_packets_mean"][i] / (where["buffer_packets"] or 1)
            rows.append(where | row)
    return rows


def _half(tables: Mapping[str, Any]) -> str:
    return f"{_native.nanoseconds(tables['run']['duration']) // 2}ns"


def _labels(paths: Sequence[str]) -> list[str]:
    """Short names of files, as long as they differ."""
    short = [os.path.splitext(os.path.basename(path))[0] for path in paths]
    return short if len(set(short)) == len(short) else list(paths)


def _rate(tables: Mapping[str, Any]) -> str:
    """The rate of a scenario's link."""
    rate = tables.get("link", {}).get("rate")
    if not isinstance(rate, str):
        raise Error("link.rate: one link of a constant rate is needed here")
    return rate


def _network(number: int, base: Scenario) -> dict[str, Any]:
    tables = base.to_dict()
    flows = [flow for flow in tables["flows"] if "cca" in flow]
    return {
        "network": number,
        "name": tables.get("name"),
        "rate": _rate(tables),
        "flows": sum(int(flow.get("count", 1)) for flow in flows),
        "rtt": ", ".join(dict.fromkeys(flow.get("rtt", "?") for flow in flows)),
        "buffer_packets": base._draft.buffer_packets(),
    }


def table(rows: Sequence[Mapping[str, Any]], measure: str = "reward") -> str:
    """Means over seeds: a line for each network, a column for each discipline.

    Args:
        rows: What `evaluate` gave.
        measure: `"reward"`, `"utilization"`, `"drop_fraction"` or `"queue_of_buffer"`.

    Raises:
        Error: Another measure.
    """
    if measure not in MEASURES:
        raise Error(f"measure = {shown(measure)}: there is none. Allowed: {', '.join(MEASURES)}")
    columns = list(dict.fromkeys(row["aqm"] for row in rows))
    means: dict[tuple[Any, ...], dict[str, list[float]]] = {}
    for row in rows:
        cell = means.setdefault(
            tuple(row[of] for of in ("network", "rate", "flows", "rtt", "buffer_packets")), {}
        )
        cell.setdefault(row["aqm"], []).append(row[measure] if row[measure] is not None else float("nan"))
    width = max([11, *(len(c) + 2 for c in columns)])
    head = f"{'network':>7} {'rate':>8} {'flows':>5} {'rtt':>8} {'buffer':>7}"
    out = [head + "".join(f"{c:>{width}}" for c in columns)]
    for (number, rate, flows, rtt, packets), cell in means.items():
        numbers = "".join(f"{sum(cell[c]) / len(cell[c]):>{width}.4f}" for c in columns)
        out.append(f"{number:>7} {rate:>8} {flows:>5} {rtt:>8} {packets:>6}p" + numbers)
    return "\n".join(out)
