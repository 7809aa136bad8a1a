"""QueuePilot's task as Gymnasium environments, one network at a time or many side by side.

    import gymnasium
    import queuewright.envs

    env = gymnasium.make("Queuewright/Marking-v0")
    observation, info = env.reset(seed=1)
    observation, reward, terminated, truncated, info = env.step(1)

    many = gymnasium.make_vec("Queuewright/Marking-v0", num_envs=16)

Every step of 5 ms an agent sees what a queue did. It chooses with which probability the packets of
ECN-capable senders are marked in the next one (Dery, Krupnik, Keslassy, INFOCOM 2023, section III). What is
seen and earned is what `aqm/queuepilot.h` says, which a trained policy runs as, simulated or in a kernel.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

from queuewright import _native
from queuewright._asked import needing
from queuewright._native import Error
from queuewright._networks import Domain, domain, paper
from queuewright._register import register
from queuewright._scenario import Scenario
from queuewright._values import shown, whole

with needing("environments need", "pip install 'queuewright[gym]'"):
    import gymnasium
    import numpy as np
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
    from numpy.typing import NDArray

__all__ = [
    "ACTIONS",
    "INFO",
    "OBSERVATIONS",
    "RED_MIN_BYTES",
    "THRESHOLDS",
    "Domain",
    "Marking",
    "MarkingVector",
    "RedTuning",
    "RedTuningVector",
    "Threshold",
    "ThresholdVector",
    "domain",
    "paper",
]

_NETWORK: dict[str, Any] = json.loads(_native.network())
# Marking probability of each action, as the paper has it. The authors' program, and so the header, marks one
# per cent more than it says, but for 0.
ACTIONS: tuple[float, ...] = tuple(percent / 100 for percent in _NETWORK["actions_percent"])
# Side by side.
_MOST_ENVS = 65_536
# Of a `Threshold`: the part of the buffer above which all is marked.
THRESHOLDS = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
# Of `RedTuning`: the bytes of the queue from which on RED marks; from three times that on it marks all.
RED_MIN_BYTES = (20_000, 40_000, 80_000, 160_000, 320_000, 640_000)
# What an observation is, in the order and scale of the authors' program, and the largest value of each:
# packets sent, of what the link can; the mean queue, of the buffer; the mean sojourn time in steps of 5 ms;
# packets arrived and packets dropped, of what the link can send; packets marked, of those that arrived.
OBSERVATIONS: dict[str, float] = {name: float(most) for name, most in _NETWORK["observations"]}
# What `info` has, which a queue cannot see or a policy is not to: the number of the episode's network; the
# mean round-trip time of its flows without queues, ms; of the last step what was sent, bit/s, how many
# packets were dropped, and the mean sojourn time of those sent, ms; Jain's index of the TCP flows' goodputs,
# each since its start. What is not known, as where nothing was sent, is not in it.
INFO: tuple[str, ...] = tuple(_NETWORK["info"])
# Whole numbers of these.
_WHOLE = ("network", "drops")


Array = NDArray[np.float32]
Reward = Callable[[Array], float]


def _networks(networks: Domain | Scenario | Sequence[Scenario] | None, kind: str) -> Domain:
    if networks is None:
        networks = paper()
    elif not isinstance(networks, Domain):
        networks = domain(networks)
    return networks.acting(kind)


def _space(history: bool) -> Any:
    most = list(OBSERVATIONS.values())
    least = [0.0] * len(most)
    if history:
        most += [1.0] * len(ACTIONS) + [1.0]
        least += [0.0] * len(ACTIONS) + [-1.0]
    return gymnasium.spaces.Box(np.array(least, np.float32), np.array(most, np.float32), dtype=np.float32)


class _Many:
    """Native environments, and arrays out of what they give."""

    def __init__(self, networks: Domain, count: int, history: bool, reward: Reward | None) -> None:
        if reward is not None and not callable(reward):
            raise Error(
                f"reward = {shown(reward)}: not a function of an observation; write reward=lambda seen: ..."
            )
        if not isinstance(history, bool | np.bool_):
            raise Error(f"history = {shown(history)}: write True or False")
        self.networks = networks
        self.count = count
        self.width = len(OBSERVATIONS) + (len(ACTIONS) + 1 if history else 0)
        self.reward = reward
        self.envs: _native.Envs | None = None
        self.begun = False

    def __getstate__(self) -> dict[str, Any]:
        """Without the episode that is under way: what is pickled or copied begins with `reset`."""
        return {**self.__dict__, "envs": None, "begun": False}

    def info(self) -> NDArray[np.float64]:
        """What agents cannot see: a row each, in `INFO`'s order; NaN: not known."""
        if self.envs is None:
            raise Error("no episode is under way: call reset() first")
        return np.frombuffer(self.envs.infos(), np.float64).reshape(self.count, -1)

    def reset(self, seeds: list[int | None], fresh: int) -> Array:
        if self.envs is None:
            self.envs = _native.Envs(self.networks._native(), self.count, fresh)
        self.envs.reset(seeds)
        self.begun = True
        return np.zeros((self.count, self.width), np.float32)

    def renew(self) -> Array:
        if self.envs is None or not self.begun:
            raise Error("no episode is under way: call reset() first")
        self.envs.renew()
        return np.zeros((self.count, self.width), np.float32)

    def step(self, actions: NDArray[Any]) -> tuple[Array, Array, NDArray[np.bool_]]:
        if self.envs is None or not self.begun:
            raise Error("no episode is under way: call reset() first")
        inputs, rewards, last = self.envs.step(np.ascontiguousarray(actions, np.uint32).tobytes())
        seen = np.frombuffer(inputs, np.float32).reshape(self.count, -1)[:, : self.width].copy()
        earned = np.frombuffer(rewards, np.float32).copy()
        if self.reward is not None:
            own = [self.reward(row) for row in seen]
            if any(one is None for one in own):
                raise Error("reward: the function gave None; return a number")
            earned = np.array(own, np.float32)
        return seen, earned, np.frombuffer(last, np.bool_).copy()


def _action(actions: Any) -> NDArray[Any]:
    array = np.asarray(actions)
    if not np.issubdtype(array.dtype, np.integer) or ((array < 0) | (array >= len(ACTIONS))).any():
        raise Error(f"action = {shown(actions)}: not an action. Allowed: 0 to {len(ACTIONS) - 1}")
    return array.ravel()


def _seed(seed: Any) -> int:
    return whole("seed", seed, 0, (1 << 64) - 1)


def _no_picture(render_mode: str | None) -> None:
    if render_mode is not None:
        raise Error(
            f"render_mode = {shown(render_mode)}: there is nothing to see; leave it out, or write None"
        )


class Marking(gymnasium.Env[Array, np.int64]):
    """One network at a time: choose a marking probability every 5 ms.

    An observation is six numbers (`OBSERVATIONS`), an action one of six probabilities (`ACTIONS`), the reward
    -1 if any packet was dropped in the step, else U^2 / sqrt(1 + D): U the share of the link in use, D the
    sojourn time in steps. An episode is cut off (truncated) after its time; nothing ends it sooner. `info`
    has what the agent cannot see (`INFO`).

    Args:
        networks: A scenario or several, or what `paper()` and `domain()` give; default: the paper's training.
        history: Observations also have the last action, as one of six, and the last reward, as the inputs of
            the paper's network do.
        reward: One's own, of an observation, in place of the paper's.
        render_mode: None, as there is nothing to see.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - as the base class has it
    _kind = "marking"

    def __init__(
        self,
        networks: Domain | Scenario | Sequence[Scenario] | None = None,
        *,
        history: bool = False,
        reward: Reward | None = None,
        render_mode: str | None = None,
    ) -> None:
        _no_picture(render_mode)
        self.observation_space = _space(history)
        self.action_space = gymnasium.spaces.Discrete(len(ACTIONS))
        self._many = _Many(_networks(networks, self._kind), 1, history, reward)
        self._over = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begins an episode in a network drawn anew; all that follows, follows from `seed`."""
        # Should this fail, the episode before does not go on.
        self._many.begun = False
        seed = None if seed is None else _seed(seed)
        super().reset(seed=seed)
        seen = self._many.reset([seed], int(self.np_random.integers(1 << 63)))[0]
        self._over = False
        return seen, self._info()

    def _info(self) -> dict[str, Any]:
        found = zip(INFO, self._many.info()[0].tolist(), strict=True)
        # What is not known is left out.
        return {name: int(x) if name in _WHOLE else x for name, x in found if x == x}

    def close(self) -> None:
        """Ends the episode."""
        self._over = True

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """5 ms with an action in force."""
        if self._over:
            raise Error("no episode is under way: call reset() first")
        seen, earned, last = self._many.step(_action(action))
        self._over = bool(last[0])
        return seen[0], float(earned[0]), False, self._over, self._info()


class MarkingVector(VectorEnv[Array, NDArray[Any], NDArray[Any]]):
    """Many networks side by side, stepped on all cores without Python in between.

    As `Marking`, 1 to 65536 of them. One that has come to its end begins anew with the next step, whatever
    its action (`AutoresetMode.NEXT_STEP`).
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - as the base class has it
        "render_modes": [],
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }
    _kind = "marking"

    def __init__(
        self,
        num_envs: int = 1,
        networks: Domain | Scenario | Sequence[Scenario] | None = None,
        *,
        history: bool = False,
        reward: Reward | None = None,
        render_mode: str | None = None,
    ) -> None:
        _no_picture(render_mode)
        num_envs = whole("num_envs", num_envs, 1, _MOST_ENVS)
        self.num_envs = num_envs
        self.single_observation_space = _space(history)
        self.single_action_space = gymnasium.spaces.Discrete(len(ACTIONS))
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._many = _Many(_networks(networks, self._kind), num_envs, history, reward)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begins an episode in each; with one seed, each has that and its number."""
        self._many.begun = False
        given: Any = seed.tolist() if isinstance(seed, np.ndarray) else seed
        one: int | None = None
        if given is None:
            seeds: list[int | None] = [None] * self.num_envs
        elif isinstance(given, Sequence):
            seeds = [None if each is None else _seed(each) for each in given]
        else:
            one = _seed(given)
            seeds = [_seed(one + i) for i in range(self.num_envs)]
        super().reset(seed=one)
        if len(seeds) != self.num_envs:
            raise Error(f"{len(seeds)} seeds for {self.num_envs} environments: one each is needed")
        seen = self._many.reset(seeds, int(self.np_random.integers(1 << 63)))
        return seen, self._info()

    def renew(self) -> Array:
        """Begins an episode now in each whose last has ended; first observations, of use for those alone."""
        return self._many.renew()

    def _info(self) -> dict[str, Any]:
        # As Gymnasium has it: beside each array one that says for whom it is known; 0 elsewhere.
        rows = self._many.info()
        known = np.isfinite(rows)
        rows = np.where(known, rows, 0.0)
        out: dict[str, Any] = {}
        for i, name in enumerate(INFO):
            out[name] = rows[:, i].astype(np.int64) if name in _WHOLE else rows[:, i].copy()
            out[f"_{name}"] = known[:, i].copy()
        return out

    def close_extras(self, **kwargs: Any) -> None:
        """Ends the episodes."""
        self._many.begun = False

    def step(
        self, actions: NDArray[Any]
    ) -> tuple[Array, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """5 ms in each, with an action in force in each."""
        seen, earned, last = self._many.step(_action(actions))
        return seen, earned, np.zeros(self.num_envs, np.bool_), last, self._info()


class Threshold(Marking):
    """As `Marking`, but an action is a threshold of the queue (`THRESHOLDS`) above which all is marked."""

    _kind = "threshold"


class ThresholdVector(MarkingVector):
    """As `MarkingVector`, with the actions of `Threshold`."""

    _kind = "threshold"


class RedTuning(Marking):
    """As `Marking`, but an action is one of RED's curves (`RED_MIN_BYTES`), as ACC (SIGCOMM 2021) has them.

    From min to three times that the probability rises to 10 %, as in the paper's adaptive RED; ACC's own
    curves at this speed are not published.
    """

    _kind = "red"


class RedTuningVector(MarkingVector):
    """As `MarkingVector`, with the actions of `RedTuning`."""

    _kind = "red"


register()
