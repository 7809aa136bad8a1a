"""QueuePilot's task for Stable-Baselines3: many networks side by side, stepped on all cores.

    from stable_baselines3 import PPO
    from queuewright.envs import MarkingVector
    from queuewright.sb3 import MarkingVecEnv

    PPO("MlpPolicy", MarkingVecEnv(MarkingVector(16)), n_steps=500).learn(100_000)

`pip install stable-baselines3` brings it, and PyTorch, which has 3 GB.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from queuewright._asked import needing
from queuewright.envs import INFO, Array, MarkingVector

with needing("MarkingVecEnv needs", "pip install stable-baselines3"):
    from stable_baselines3.common.vec_env import VecEnv

__all__ = ["MarkingVecEnv"]


class MarkingVecEnv(VecEnv):  # type: ignore[misc, unused-ignore]
    """Environments as Stable-Baselines3 has them: an episode begins in the step in which one ends.

    An episode is cut off after its time: its `info` has `TimeLimit.truncated` and the `terminal_observation`,
    and always what the agent cannot see (`envs.INFO`).

    Args:
        vector: The environments: a `MarkingVector`, `ThresholdVector` or `RedTuningVector`.
    """

    def __init__(self, vector: MarkingVector) -> None:
        self._vector = vector
        self._actions: NDArray[Any] = np.zeros(vector.num_envs, np.int64)
        # Asked for by the base class.
        self.render_mode = None
        super().__init__(vector.num_envs, vector.single_observation_space, vector.single_action_space)

    def reset(self) -> Array:
        """Begins an episode in each, by the seed that `seed()` was given."""
        seen, infos = self._vector.reset(seed=self._seeds[0])
        self.reset_infos = self._each(infos)
        self._reset_seeds()
        self._reset_options()
        return seen

    def step_async(self, actions: NDArray[Any]) -> None:
        """Keeps the actions for `step_wait`."""
        self._actions = actions

    def step_wait(self) -> tuple[Array, Array, NDArray[np.bool_], list[dict[str, Any]]]:
        """5 ms in each; where an episode has ended another begins, whose first observation stands here."""
        seen, earned, _, last, found = self._vector.step(self._actions)
        infos = self._each(found)
        if last.any():
            fresh = self._vector.renew()
            begun = self._each(self._vector._info())
            for i in np.flatnonzero(last):
                infos[i] |= {"terminal_observation": seen[i].copy(), "TimeLimit.truncated": True}
                seen[i], self.reset_infos[i] = fresh[i], begun[i]
        return seen, earned, last, infos

    def _each(self, infos: dict[str, Any]) -> list[dict[str, Any]]:
        return [
            {"TimeLimit.truncated": False}
            | {name: infos[name][i].item() for name in INFO if infos[f"_{name}"][i]}
            for i in range(self.num_envs)
        ]

    def close(self) -> None:
        """Ends the episodes."""
        self._vector.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Of the vector, which all share."""
        return [getattr(self._vector, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Of the vector, which all share."""
        setattr(self._vector, attr_name, value)

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """Calls one of the vector's, once for each."""
        return [getattr(self._vector, method_name)(*args, **kwargs) for _ in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """None is."""
        return [False for _ in self._get_indices(indices)]
