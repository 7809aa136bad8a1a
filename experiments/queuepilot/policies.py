#!/usr/bin/env python3
"""Trains the policies of single settings, for Figures 2 to 5, into policies/ beside this file.

Section III-A: QueuePilot* goes on learning from QueuePilot's policy in the setting of a test, and ACC
likewise from that of its Phase 1 (`weights = "queuepilot"` and `"acc"`). Figure 2's settings are buffers,
with 300 flows and 30 ms; Figure 5's are flows and round-trip times. What is here already is left as it is;
a setting takes a minute and a half on two cores.

    python3 experiments/queuepilot/policies.py
"""

import math
import pathlib
import tempfile

from queuewright import learn

STEPS = 640_000
# Packets a second: 1 Gbit/s in packets of 1538 bytes.
BANDWIDTH = 81_274
HERE = pathlib.Path(__file__).parent / "policies"
BUFFERS = (76, 141, 152, 305, 610, 1219, 2439)
KINDS = {"queuepilot": "marking", "acc": "red"}


def recipe(name: str, start: str, rtt: int, flows: int, packets: int) -> dict[str, object]:
    """A training that goes on with `start` in one setting as it is tested, from the flows' start."""
    queue = {"name": "queuepilot", "rate": "1gbit", "mtu": "1538b", "wire_overhead": "0b"}
    over = {
        "link.buffer": [f"{packets}p"],
        "queue.disciplines": [[queue]],
        "run.warmup": ["0s"],
        "flows[0].count": [flows // 2],
        "flows[1].count": [flows // 2],
        "flows[0].rtt": [f"{rtt}ms"],
        "flows[1].rtt": [f"{rtt}ms"],
    }
    return {
        "name": name,
        "start": start,
        "actions": KINDS[start],
        "networks": [{"scenario": str(HERE.parent / "fig2.toml"), "over": over}],
        "learning": {
            "steps": STEPS,
            "episodes": 8,
            "learning_rate": [[0, 5e-4], [STEPS, 3e-5]],
            "entropy": [[0, 1e-3], [STEPS, 0]],
            "task_embedding": 0,
        },
        "evaluation": {"every": STEPS // 10, "episodes": 16},
    }


def recipes() -> list[dict[str, object]]:
    """Every one."""
    two = [recipe(f"{start}-{packets}p", start, 30, 300, packets) for start in KINDS for packets in BUFFERS]
    five = [
        recipe(f"acc-{flows}x{rtt}ms", "acc", rtt, flows, math.ceil(BANDWIDTH * rtt / 1000 / flows**0.5))
        for flows in (100, 200, 300)
        for rtt in (20, 40, 60, 80, 100)
    ]
    return two + five


HERE.mkdir(exist_ok=True)
for tables in recipes():
    name = f"{tables['name']}.json"
    if not (HERE / name).exists():
        print(name)
        with tempfile.TemporaryDirectory() as folder:
            learn.train(learn.config(tables), folder).save(HERE / name)
