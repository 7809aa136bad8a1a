#!/usr/bin/env python3
"""Writes the flows of Titrate's Figures 8 and 9, one CSV for each queue: flows/CCA-NUMBER-RTT-SEED.csv.

The authors' configurations come from Python's own generator (Mersenne Twister), so they can be made again:
seed(s); one-way delays d = randint(1, R - 2) for each flow, R = 50 or 300, and an RTT of 2 (d + 1) ms. In a mix each
flow's congestion control is a choice() out of a hundred names; how far the generator had been used by then
differs, as how the authors called their script does. Numbers of flows are theirs.

    python3 experiments/titrate/flows.py          # beside this file
"""

import pathlib
import random

MIX = (["cubic"] * 45 + ["bbr"] * 28 + ["yeah"] * 8 + ["illinois"] * 8 + ["vegas"] * 4 + ["htcp"] * 4
       + ["bic"] + ["newreno"] + ["scalable"])
# Flows of each seed.
COUNT = {
    ("large", 50): {"cubic": [640, 791, 964, 782, 916], "bbr": [868, 757, 716, 898, 669]},
    ("large", 300): {"cubic": [969, 972, 957, 531, 793], "bbr": [868, 757, 716, 898, 669]},
    ("small", 50): {"cubic": [34, 40, 16, 32, 20], "bbr": [17, 38, 11, 22, 40]},
    ("small", 300): {"cubic": [36, 15, 13, 49, 15], "bbr": [17, 38, 11, 22, 40], "mix": [40, 15, 13, 49, 15]},
}
# 32-bit outputs of the generator before the first choice of a mix.
USED = {
    ("large", 50): [2110, 2681, 3220, 2498, 3154],
    ("large", 300): [3590, 3646, 3562, 1923, 3048],
    ("small", 50): [135, 146, 58, 120, 68],
    ("small", 300): [135, 55, 57, 195, 52],
}


def flows(cca, number, rtt, seed):
    """RTT in ms and congestion control of each flow."""
    counts = COUNT[number, rtt]
    count = counts.get(cca, counts["cubic"])[seed]
    # One configuration of the artifact was made with 500.
    longest = 500 if (cca, number, rtt, seed) == ("mix", "small", 300, 0) else rtt
    random.seed(seed)
    rtts = [2 * (random.randint(1, longest - 2) + 1) for _ in range(count)]
    if cca != "mix":
        return [(r, cca) for r in rtts]
    random.seed(seed)
    for _ in range(USED[number, rtt][seed]):
        random.getrandbits(32)
    return [(r, random.choice(MIX)) for r in rtts]


def main():
    folder = pathlib.Path(__file__).parent / "flows"
    folder.mkdir(exist_ok=True)
    for number, rtt in COUNT:
        for cca in ("cubic", "bbr", "mix"):
            for seed in range(5):
                lines = [f"{r}ms,{c}\n" for r, c in flows(cca, number, rtt, seed)]
                (folder / f"{cca}-{number}-{rtt}-{seed}.csv").write_text("rtt,cca\n" + "".join(lines))


if __name__ == "__main__":
    main()
