"""Policies: their weights as whole numbers, their files, and what their network does with whole numbers.

The arithmetic is that of `aqm/queuepilot.h`, stated a second time in numpy: weights in Q12, activations in
Q15, sums in Q27, all rounded down.
"""

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from queuewright import _native
from queuewright._native import Error
from queuewright._values import cut, file, shown, text

_NETWORK: dict[str, Any] = json.loads(_native.network())
# Tensors in the order of `struct qw_queuepilot_net`.
SHAPES: dict[str, tuple[int, ...]] = {name: tuple(shape) for name, shape in _NETWORK["tensors"]}
(_, INPUTS), (_, UNITS), (ACTIONS, WIDTH) = SHAPES["input"], SHAPES["hidden"], SHAPES["last"]
# An input: what is observed, by name, then the last action as one of so many, and the last reward.
OBSERVATIONS: list[str] = [name for name, _ in _NETWORK["observations"]]
REWARD = INPUTS - 1
# 1 in weights (Q12) and activations (Q15).
WEIGHT_ONE: int = _NETWORK["weight_one"]
ONE: int = _NETWORK["activation_one"]

Int = NDArray[np.int64]
# tanh at multiples of 1/32, in Q15; 32767 from 256 of them on.
_TANH = np.minimum(np.rint(np.tanh(np.arange(258) / 32) * ONE), ONE - 1).astype(np.int64)


@dataclass(frozen=True)
class Policy:
    """A policy as it is shipped: weights in Q12, by the names of the file's tensors."""

    name: str
    tensors: Mapping[str, NDArray[np.int16]]
    description: str | None = None
    actions: str = "marking"

    @staticmethod
    def quantised(params: Mapping[str, Any], name: str, actions: str, description: str | None) -> "Policy":
        """Out of floating point: the nearest whole numbers; -8 to just below 8 is what there is."""
        rounded = {key: np.rint(np.asarray(params[key], np.float64) * WEIGHT_ONE) for key in SHAPES}
        tensors = {key: np.clip(x, -(2**15), 2**15 - 1).astype(np.int16) for key, x in rounded.items()}
        return Policy(name, tensors, description, actions)

    @staticmethod
    def of_modules(
        lstm: Any,
        layers: Sequence[Any],
        name: str,
        *,
        actions: str = "marking",
        description: str | None = None,
    ) -> "Policy":
        """Out of PyTorch: what was trained by Stable-Baselines3, CleanRL or a loop of your own.

        It is fed the environments' observations with `history=True`; between the layers stands tanh. The
        logits of the last are those of the six actions.

        Args:
            lstm: A `torch.nn.LSTM` of 13 inputs and 32 units, one layer, one direction.
            layers: Three `torch.nn.Linear`: 32 to 64, 64 to 64, 64 to 6.
            name: Of the policy.
            actions: What an action is: `"marking"`, `"threshold"`, `"red"`, `"dropping"`.
            description: For people.

        Raises:
            Error: A module of another kind or shape; a weight that is no number, or beyond -8 to 8.
        """
        if not isinstance(layers, Sequence) or len(layers) != 3:
            raise Error(f"layers = {shown(layers)}: not three torch.nn.Linear, 32 to 64, 64 to 64, 64 to 6")
        for more in ("weight_ih_l1", "weight_ih_l0_reverse"):
            if hasattr(lstm, more):
                raise Error(f"lstm: has {more}; one layer in one direction is needed")
        found = {
            "input": _weights(lstm, "lstm", "weight_ih_l0"),
            "hidden": _weights(lstm, "lstm", "weight_hh_l0"),
            "gate_bias": _weights(lstm, "lstm", "bias_ih_l0") + _weights(lstm, "lstm", "bias_hh_l0"),
        }
        for i, part in enumerate(("first", "second", "last")):
            found[part] = _weights(layers[i], f"layers[{i}]", "weight")
            found[f"{part}_bias"] = _weights(layers[i], f"layers[{i}]", "bias")
        for part, shape in SHAPES.items():
            if found[part].shape != shape:
                raise Error(f"{part}: of shape {found[part].shape}; the header's network has {shape}")
            if not (np.abs(found[part]) < 2**15 / WEIGHT_ONE).all():
                raise Error(f"{part}: has a weight that is no number between -8 and 8")
        made = Policy.quantised(found, name, actions, description)
        # What no file may have is said here.
        made.to_json()
        return made

    def to_floats(self) -> dict[str, NDArray[np.float32]]:
        """The weights in floating point: what `quantised` makes this policy of."""
        return {key: x.astype(np.float32) / np.float32(WEIGHT_ONE) for key, x in self.tensors.items()}

    @staticmethod
    def read(source: str | os.PathLike[str]) -> "Policy":
        """A file, or the name of a policy that Queuewright brings.

        Raises:
            Error: The first thing wrong with it, as for a scenario's `weights`.
        """
        found: dict[str, Any] = json.loads(stored(source))
        tensors = {key: np.array(found["tensors"][key], np.int16) for key in SHAPES}
        return Policy(found["name"], tensors, found.get("description"), found["actions"])

    def to_bytes(self) -> bytes:
        """Tensor after tensor, as the simulator takes them."""
        return b"".join(np.ascontiguousarray(self.tensors[key]).tobytes() for key in SHAPES)

    def to_json(self) -> str:
        """The file, whose format docs/scenario.md has."""
        return _native.write_policy(self.to_bytes(), self.name, self.actions, self.description)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the file, whole or not at all."""
        write(path, self.to_json().encode())


def _weights(module: Any, name: str, which: str) -> NDArray[np.float64]:
    """A tensor of a module's, wherever it lies."""
    found = getattr(module, which, None)
    if found is None:
        raise Error(
            f"{name}: has no {which}; a torch.nn.LSTM and three torch.nn.Linear, all with bias, are needed"
        )
    for step in ("detach", "cpu"):
        found = getattr(found, step, lambda found=found: found)()
    return np.asarray(found, np.float64)


def stored(source: str | os.PathLike[str]) -> str:
    """What the file of a policy has, or that of one that Queuewright brings.

    Raises:
        Error: The first thing wrong with it.
    """
    return _native.read_policy(text("policy", file("policy", source)))


def write(path: str | os.PathLike[str], content: bytes) -> None:
    """Writes a file so that nobody finds half of it, or another beside it.

    Raises:
        Error: It cannot be written.
    """
    name = file("path", path)
    try:
        opened, fresh = tempfile.mkstemp(dir=os.path.dirname(os.path.abspath(name)))
        try:
            with open(opened, "wb") as out:
                out.write(content)
            os.chmod(fresh, 0o644)
            os.replace(fresh, name)
        except BaseException:
            os.unlink(fresh)
            raise
    except (OSError, ValueError) as e:
        raise Error(f"{cut(name)}: cannot be written: {getattr(e, 'strerror', e)}") from None


class Inference:
    """A policy at work, in whole numbers: the same bits as in C, in the simulator and in a kernel."""

    def __init__(self, policy: Policy) -> None:
        self._w = {key: x.astype(np.int64) for key, x in policy.tensors.items()}
        self.hidden: Int = np.zeros(UNITS, np.int64)
        self.cell: Int = np.zeros(UNITS, np.int64)

    def step(self, inputs: Int) -> Int:
        """The logits (Q16) of the six actions after these 13 inputs (Q15)."""
        w = self._w
        sums = w["gate_bias"] * ONE + w["input"] @ inputs + w["hidden"] @ self.hidden
        enter, keep, news, out = np.split(_narrow(sums, 16), 4)
        cell = (_sigmoid(keep) * self.cell + _sigmoid(enter) * _tanh(news)) >> 15
        self.cell = np.clip(cell, -64 * ONE, 64 * ONE)
        self.hidden = (_sigmoid(out) * _tanh(self.cell * 2)) >> 15
        x = _tanh(_narrow(w["first_bias"] * ONE + w["first"] @ self.hidden, 16))
        x = _tanh(_narrow(w["second_bias"] * ONE + w["second"] @ x, 16))
        return _narrow(w["last_bias"] * ONE + w["last"] @ x, 256)


def _narrow(sums: Int, most: int) -> Int:
    """From Q27 to Q16."""
    return np.clip(sums, -(most << 27), most << 27) >> 11


def _tanh(x: Int) -> Int:
    """Q16 to Q15: straight lines between the table's points."""
    size = np.abs(x)
    at, rest = size >> 11, size & 2047
    near = np.minimum(at, 255)
    y = np.where(at > 255, ONE - 1, _TANH[near] + (((_TANH[near + 1] - _TANH[near]) * rest) >> 11))
    return np.where(x < 0, -y, y)


def _sigmoid(x: Int) -> Int:
    return (ONE + _tanh(x >> 1)) >> 1
