"""QueuePilot's task as Gymnasium environments, one network at a time or many side by side.

    import gymnasium
    import queuewright.envs

    env = gymnasium.make("Queuewright/Marking-v0")
    observation, info = env.reset(seed=1)
    observation, reward, terminated, truncated, info = env.step(1)

    many = gymnasium.make_vec("Queuewright/Marking-v0", num_envs=16)

Every step of 5 ms an agent sees what a queue did, and chooses with which probability the packets of
ECN-capable senders are marked in the next one (Dery, Krupnik, Keslassy, INFOCOM 2023, section III). What is
seen and earned is what `aqm/queuepilot.h` says, which a trained policy runs as, simulated or in a kernel.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from queuewright import _native
from queuewright._native import Error
from queuewright._register import register
from queuewright._scenario import Scenario

__all__ = ["ACTIONS", "OBSERVATIONS", "Domain", "Marking", "MarkingVector", "domain", "paper"]

# Marking probability of each action, as the paper has it. The authors' program, and so the header, marks one
# per cent more than it says, but for 0.
ACTIONS = (0.0, 0.01, 0.05, 0.1, 0.5, 1.0)
# What an observation is, in the order and scale of the authors' program, and the largest value of each.
OBSERVATIONS = {
    "sent": 1.0,  # packets sent, of what the link can
    "queue_of_buffer": 1.0,  # mean queue, of the buffer
    "queue_in_steps": 30.0,  # mean queueing delay in steps of 5 ms
    "arrived": 3.0,  # packets arrived, of what the link can send
    "dropped": 1.0,  # packets dropped, of what the link can send
    "marked_of_arrived": 1.0,
}


@dataclass(frozen=True)
class Domain:
    """Networks of which each episode draws one: see `paper()` and `domain()`."""

    paper: Mapping[str, Any] | None = None
    scenarios: tuple[Scenario, ...] = ()

    def _native(self) -> _native.Domain:
        if self.paper is not None:
            return _native.Domain.paper(**self.paper)
        return _native.Domain.of([scenario._draft for scenario in self.scenarios])

    def __len__(self) -> int:
        """How many networks."""
        return len(self._native())

    def __deepcopy__(self, memo: object) -> "Domain":
        # Nothing of it changes.
        return self


Array = NDArray[np.float32]
Reward = Callable[[Array], float]


def paper(
    *,
    rate: int = 1_000_000_000,
    rtt_ms: Iterable[int] = (20, 40, 60, 80),
    flows: Iterable[int] = (100, 200, 250),
    udp: Iterable[int] | None = None,
    buffer: int | None = None,
    episode_s: int = 5,
) -> Domain:
    """The networks of the paper's training; every combination of the lists is as likely.

    Args:
        rate: Of the link, bits a second.
        rtt_ms: Base round-trip times, even milliseconds.
        flows: Numbers of TCP flows, half CUBIC, half NewReno, all with ECN.
        udp: Rates of the one UDP flow, bits a second; default: 1 to 10 % of the link, in ten steps.
        buffer: Packets; default: the bandwidth-delay product over the square root of the number of flows.
        episode_s: Length of an episode; it includes the flows' slow start.

    Raises:
        Error: What no network can have.
    """
    rtts = [int(rtt) for rtt in rtt_ms]
    odd = [rtt for rtt in rtts if rtt % 2 or rtt <= 0]
    if odd:
        raise Error(f"rtt_ms = {odd[0]}: not an even number of milliseconds above 0")
    recipe = {
        "rate_bps": rate,
        "one_way_ms": [rtt // 2 for rtt in rtts],
        "flows": [int(n) for n in flows],
        "udp_bps": [rate // 100 * share for share in range(1, 11)] if udp is None else [int(u) for u in udp],
        "packets": buffer,
        "episode_s": episode_s,
    }
    return _checked(Domain(paper=recipe))


def domain(scenarios: Scenario | Iterable[Scenario]) -> Domain:
    """Networks of one's own: each episode is one of these scenarios, what it leaves to chance drawn anew.

    The first queue manager of each, or one port's, is the one to drive: `queuepilot`. Its parameters hold; an
    episode is as long as the scenario's run, its warm-up included.

    Raises:
        Error: A scenario without such a queue manager.
    """
    several = [scenarios] if isinstance(scenarios, Scenario) else list(scenarios)
    return _checked(Domain(scenarios=tuple(several)))


def _checked(networks: Domain) -> Domain:
    networks._native()
    return networks


def _networks(networks: Domain | Scenario | Sequence[Scenario] | None) -> Domain:
    if networks is None:
        return paper()
    return networks if isinstance(networks, Domain) else domain(networks)


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
        self.networks = networks
        self.count = count
        self.width = len(OBSERVATIONS) + (len(ACTIONS) + 1 if history else 0)
        self.reward = reward
        self.envs: _native.Envs | None = None

    def reset(self, seeds: list[int | None], fresh: int) -> Array:
        if self.envs is None:
            self.envs = _native.Envs(self.networks._native(), self.count, fresh)
        self.envs.reset(seeds)
        return np.zeros((self.count, self.width), np.float32)

    def step(self, actions: NDArray[Any]) -> tuple[Array, Array, NDArray[np.bool_]]:
        if self.envs is None:
            raise Error("no episode is under way: call reset() first")
        inputs, rewards, last = self.envs.step(np.ascontiguousarray(actions, np.uint32).tobytes())
        seen = np.frombuffer(inputs, np.float32).reshape(self.count, -1)[:, : self.width].copy()
        earned = np.frombuffer(rewards, np.float32).copy()
        if self.reward is not None:
            earned = np.array([self.reward(row) for row in seen], np.float32)
        return seen, earned, np.frombuffer(last, np.bool_).copy()


def _action(actions: Any) -> NDArray[Any]:
    array = np.asarray(actions)
    if not np.issubdtype(array.dtype, np.integer) or (array < 0).any():
        raise Error(f"action = {actions}: not an action. Allowed: 0 to {len(ACTIONS) - 1}")
    return array


class Marking(gymnasium.Env[Array, np.int64]):
    """One network at a time: choose a marking probability every 5 ms.

    An observation is six numbers (`OBSERVATIONS`), an action one of six probabilities (`ACTIONS`), the reward
    -1 if any packet was dropped in the step, else U^2 / sqrt(1 + D): U the share of the link in use, D the
    queueing delay in steps. An episode is cut off (truncated) after its time; nothing ends it sooner.

    Args:
        networks: A scenario or several, or what `paper()` and `domain()` give; default: the paper's training.
        history: Observations also have the last action, as one of six, and the last reward, as the inputs of
            the paper's network do.
        reward: One's own, of an observation, in place of the paper's.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - as the base class has it

    def __init__(
        self,
        networks: Domain | Scenario | Sequence[Scenario] | None = None,
        *,
        history: bool = False,
        reward: Reward | None = None,
    ) -> None:
        self.observation_space = _space(history)
        self.action_space = gymnasium.spaces.Discrete(len(ACTIONS))
        self._many = _Many(_networks(networks), 1, history, reward)
        self._over = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begins an episode in a network drawn anew; all that follows, follows from `seed`."""
        super().reset(seed=seed)
        self._over = False
        return self._many.reset([seed], int(self.np_random.integers(1 << 63)))[0], {}

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """5 ms with an action in force."""
        if self._over:
            raise Error("no episode is under way: call reset() first")
        seen, earned, last = self._many.step(_action(action).reshape(1))
        self._over = bool(last[0])
        return seen[0], float(earned[0]), False, self._over, {}


class MarkingVector(VectorEnv[Array, NDArray[Any], NDArray[Any]]):
    """Many networks side by side, stepped on all cores without Python in between.

    As `Marking`; one that has come to its end begins anew with the next step, whatever its action
    (`AutoresetMode.NEXT_STEP`).
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - as the base class has it
        "render_modes": [],
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        num_envs: int = 1,
        networks: Domain | Scenario | Sequence[Scenario] | None = None,
        *,
        history: bool = False,
        reward: Reward | None = None,
    ) -> None:
        if num_envs < 1:
            raise Error(f"num_envs = {num_envs}: an environment at least is needed")
        self.num_envs = num_envs
        self.single_observation_space = _space(history)
        self.single_action_space = gymnasium.spaces.Discrete(len(ACTIONS))
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._many = _Many(_networks(networks), num_envs, history, reward)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begins an episode in each; with one seed, each has that and its number."""
        one = seed if isinstance(seed, int) else None
        super().reset(seed=one)
        if isinstance(seed, int):
            seeds: list[int | None] = [seed + i for i in range(self.num_envs)]
        else:
            seeds = seed if seed is not None else [None] * self.num_envs
        if len(seeds) != self.num_envs:
            raise Error(f"{len(seeds)} seeds for {self.num_envs} environments: one each is needed")
        return self._many.reset(seeds, int(self.np_random.integers(1 << 63))), {}

    def step(
        self, actions: NDArray[Any]
    ) -> tuple[Array, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """5 ms in each, with an action in force in each."""
        seen, earned, last = self._many.step(_action(actions))
        return seen, earned, np.zeros(self.num_envs, np.bool_), last, {}


register()
