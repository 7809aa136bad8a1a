#!/usr/bin/env python3
"""Writes the flows of Titrate's experiments, one CSV for each queue, into flows/ beside this file.

The authors' configurations come from Python's own generator (Mersenne Twister), so they can be made again:
seed(s); one-way delays d = randint(1, R - 2) for each flow, R = 10, 20, 50, 100 or 300, and an RTT of 2 (d + 1) ms. In a mix
each flow's congestion control is a choice() out of a hundred names; how far the generator had been used by then
differs, as how the authors called their script does. Numbers of flows are theirs.

    python3 experiments/titrate/flows.py
"""

import pathlib
import random

MIX = (["cubic"] * 45 + ["bbr"] * 28 + ["yeah"] * 8 + ["illinois"] * 8 + ["vegas"] * 4 + ["htcp"] * 4
       + ["bic"] + ["newreno"] + ["scalable"])
# Figures 8 and 9: flows of each seed.
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
# Figure 10 as in the artifact: flows beside the bursts of two web pages, and outputs used before.
BURST_COUNT = [34, 18, 13, 25, 25, 49, 46, 30, 24, 39]
BURST_USED = {
    26: [115, 54, 49, 79, 77, 152, 146, 75, 60, 120],
    141: [159, 78, 64, 113, 106, 212, 211, 110, 93, 171],
}
# Figures 16 and 20: flows that join, the R of their delays, how many of ten are CUBIC (the others are BBR).
JOIN = [(20, 300, 8), (40, 50, 4), (120, 100, 6), (360, 20, 9)]


def rtts(seed, count, longest):
    """RTTs in ms; leaves the generator where it is."""
    random.seed(seed)
    return [2 * (random.randint(1, longest - 2) + 1) for _ in range(count)]


def mix(seed, used, count):
    """Congestion controls of a mix, after so many outputs of the generator."""
    random.seed(seed)
    for _ in range(used):
        random.getrandbits(32)
    return [random.choice(MIX) for _ in range(count)]


def flows(cca, number, rtt, seed):
    """RTT in ms and congestion control of each flow of Figures 8 and 9."""
    counts = COUNT[number, rtt]
    count = counts.get(cca, counts["cubic"])[seed]
    # One configuration of the artifact was made with 500.
    longest = 500 if (cca, number, rtt, seed) == ("mix", "small", 300, 0) else rtt
    all_rtts = rtts(seed, count, longest)
    return list(zip(all_rtts, mix(seed, USED[number, rtt][seed], count) if cca == "mix" else [cca] * count))


def every():
    """Name and flows of each file."""
    for number, rtt in COUNT:
        for cca in ("cubic", "bbr", "mix"):
            for seed in range(5):
                yield f"{cca}-{number}-{rtt}-{seed}", flows(cca, number, rtt, seed)
    for trace, used in BURST_USED.items():
        for seed, count in enumerate(BURST_COUNT):
            yield f"burst-{trace}-{seed}", list(zip(rtts(seed, count, 300), mix(seed, used[seed], count)))
    # Figures 13 and 14.
    for longest in (10, 300):
        yield f"ports-{longest}", [(r, "cubic") for r in rtts(0, 50, longest)]
    # Figures 15 and 19.
    yield "bandwidth", list(zip(rtts(0, 643, 300), mix(0, 1131, 643)))
    for i, (count, longest, cubic) in enumerate(JOIN):
        joining = rtts(0, count, longest)
        yield f"join-{i}", [(r, random.choice(["cubic"] * cubic + ["bbr"] * (10 - cubic))) for r in joining]


def main():
    folder = pathlib.Path(__file__).parent / "flows"
    folder.mkdir(exist_ok=True)
    for name, listed in every():
        lines = [f"{r}ms,{c}\n" for r, c in listed]
        (folder / f"{name}.csv").write_text("rtt,cca\n" + "".join(lines))


if __name__ == "__main__":
    main()
