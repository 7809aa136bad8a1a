"""Better by how much, and how sure: the bootstrap over scenarios and seeds."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from queuewright._tune._objective import Objective
from queuewright._tune._runs import Instance

Numbers = NDArray[np.float64]

# As suites have it.
_DRAWS = 1000


@dataclass(frozen=True)
class Verdict:
    """Gain of one over another in runs that nothing was chosen by."""

    # Mean over the scenarios.
    gain: float
    # 95 %: scenarios are drawn again, and in each of them seeds, with replacement.
    low: float
    high: float
    # Of each scenario, the mean over the seeds.
    scenarios: dict[str, float]

    @property
    def word(self) -> str:
        """`better`, `worse` or `as good`: no more than chance may do."""
        if self.low > 0:
            return "better"
        return "worse" if self.high < 0 else "as good"


def gain(objective: Objective, own: Numbers, other: Numbers) -> Numbers:
    """By how much of the larger one is better than the other: 0.1 is 10 %, -1 as bad as can be.

    One that has no value where the other has one is as bad as can be; where the other has none, there is
    nothing to say: NaN.
    """
    larger = np.maximum(np.abs(own), np.abs(other))
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(larger > 0, (own - other) / larger, 0.0)
    share = np.clip(-share if objective.less else share, -1.0, 1.0)
    return np.where(np.isnan(other), np.nan, np.where(np.isnan(own), -1.0, share))


def gains_of(objectives: Sequence[Objective], own: Numbers, other: Numbers) -> Numbers:
    """Of values with one for each objective in their last dimension the gains, likewise."""
    each = [gain(one, own[..., i], other[..., i]) for i, one in enumerate(objectives)]
    return np.stack(each, axis=-1)


def judge(gains: Numbers, instances: Sequence[Instance]) -> Verdict:
    """Of gains in these runs, each scenario with the same seeds."""
    names = list(dict.fromkeys(name for name, _ in instances))
    of = [gains[[i for i, (own, _) in enumerate(instances) if own == name]] for name in names]
    rng = np.random.default_rng(0x5EED)
    means = np.empty(_DRAWS)
    for i in range(_DRAWS):
        drawn = rng.integers(0, len(of), len(of))
        means[i] = np.mean([of[k][rng.integers(0, len(of[k]), len(of[k]))].mean() for k in drawn])
    low, high = np.percentile(means, [2.5, 97.5])
    each = {name: float(own.mean()) for name, own in zip(names, of, strict=True)}
    return Verdict(float(np.mean(list(each.values()))), float(low), float(high), each)
