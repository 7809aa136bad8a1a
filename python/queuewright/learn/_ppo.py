"""Proximal policy optimisation of a recurrent policy, in JAX.

The network is that of Dery, Krupnik and Keslassy (INFOCOM 2023) and of the authors' program: an LSTM, an
actor and a critic of two layers of tanh each. Gates stand in the order of `aqm/queuepilot.h`: input, forget,
cell, output.
"""

from functools import cache, partial
from typing import Any, NamedTuple, cast

import jax
import jax.numpy as jnp
import optax

from queuewright.learn._config import Learning, Line, Schedule
from queuewright.learn._policy import ACTIONS, INPUTS, OBSERVATIONS, REWARD, UNITS, WIDTH

Params = dict[str, jax.Array]


class State(NamedTuple):
    """Of an LSTM."""

    hidden: jax.Array
    cell: jax.Array


def fresh(key: jax.Array, learning: Learning, tasks: int) -> Params:
    """Weights to begin with: Xavier for hidden layers, PyTorch's defaults for the LSTM and last layers."""
    keys = iter(jax.random.split(key, 24))

    def uniform(shape: tuple[int, ...], most: float) -> jax.Array:
        return jax.random.uniform(next(keys), shape, minval=-most, maxval=most)

    def xavier(rows: int, columns: int) -> jax.Array:
        return uniform((rows, columns), (6 / (rows + columns)) ** 0.5)

    def bias(rows: int, columns: int) -> jax.Array:
        return uniform((rows,), columns**-0.5)

    seen = UNITS + learning.task_embedding
    params = {
        "input": uniform((4 * UNITS, INPUTS), UNITS**-0.5),
        "hidden": uniform((4 * UNITS, UNITS), UNITS**-0.5),
        # Two biases, added up.
        "gate_bias": uniform((4 * UNITS,), UNITS**-0.5) + uniform((4 * UNITS,), UNITS**-0.5),
        "first": xavier(WIDTH, UNITS),
        "first_bias": bias(WIDTH, UNITS),
        "second": xavier(WIDTH, WIDTH),
        "second_bias": bias(WIDTH, WIDTH),
        "last": uniform((ACTIONS, WIDTH), WIDTH**-0.5),
        "last_bias": bias(ACTIONS, WIDTH) + jnp.array(learning.first_bias),
        "value_first": xavier(WIDTH, seen),
        "value_first_bias": bias(WIDTH, seen),
        "value_second": xavier(WIDTH, WIDTH),
        "value_second_bias": bias(WIDTH, WIDTH),
        "value_last": uniform((1, WIDTH), WIDTH**-0.5),
        "value_last_bias": bias(1, WIDTH),
    }
    if learning.task_embedding:
        params["task"] = 0.1 * jax.random.normal(next(keys), (tasks, learning.task_embedding))
    return params


def blank(count: int) -> State:
    """The state at the beginning of an episode, of so many."""
    return State(jnp.zeros((count, UNITS)), jnp.zeros((count, UNITS)))


def step(params: Params, state: State, inputs: jax.Array) -> State:
    """The LSTM, one step of several sequences."""
    gates = inputs @ params["input"].T + state.hidden @ params["hidden"].T + params["gate_bias"]
    enter, keep, news, out = jnp.split(gates, 4, axis=-1)
    cell = jax.nn.sigmoid(keep) * state.cell + jax.nn.sigmoid(enter) * jnp.tanh(news)
    return State(jax.nn.sigmoid(out) * jnp.tanh(cell), cell)


def recur(params: Params, state: State, inputs: jax.Array) -> tuple[State, State]:
    """The LSTM over time, the first axis; the last state, and all of them."""

    def one(state: State, seen: jax.Array) -> tuple[State, State]:
        after = step(params, state, seen)
        return after, after

    return jax.lax.scan(one, state, inputs, unroll=4)


def actor(params: Params, hidden: jax.Array) -> jax.Array:
    """A number for each action: the logarithm of its probability, but for a constant."""
    x = jnp.tanh(hidden @ params["first"].T + params["first_bias"])
    x = jnp.tanh(x @ params["second"].T + params["second_bias"])
    return x @ params["last"].T + params["last_bias"]


def critic(params: Params, hidden: jax.Array, task: jax.Array) -> jax.Array:
    """What is still to be earned. It may know the task, which the policy cannot."""
    if "task" in params:
        known = jnp.broadcast_to(params["task"][task], (*hidden.shape[:-1], params["task"].shape[1]))
        hidden = jnp.concatenate([hidden, known], axis=-1)
    x = jnp.tanh(hidden @ params["value_first"].T + params["value_first_bias"])
    x = jnp.tanh(x @ params["value_second"].T + params["value_second_bias"])
    return (x @ params["value_last"].T + params["value_last_bias"])[..., 0]


class Batch(NamedTuple):
    """Sequences of `chunk` steps: time first, sequences second."""

    inputs: jax.Array
    actions: jax.Array
    logp: jax.Array
    advantages: jax.Array
    returns: jax.Array
    state: State
    task: jax.Array
    logits: jax.Array


def rewards(kind: str, inputs: jax.Array, rtt_steps: jax.Array) -> jax.Array:
    """What each step was worth, (time, episodes), of inputs (time + 1, episodes, 13).

    Args:
        kind: `"paper"`: the last of the inputs, as the header has it. `"power"`: Kleinrock's power, the use
            of the link times the share of the round trip that is not waiting.
        inputs: What was seen; a step's end stands in the next row.
        rtt_steps: Of each episode's network, the round trip without queues in steps.
    """
    if kind == "paper":
        return inputs[1:, :, REWARD]
    use, wait = (inputs[1:, :, OBSERVATIONS.index(name)] for name in ("sent", "queue_in_steps"))
    return use * rtt_steps / (rtt_steps + wait)


def _advantages(learning: Learning, rewards: jax.Array, values: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Schulman and others 2016, equation 16. With `bootstrap` what would follow an episode counts."""
    if not learning.bootstrap:
        values = values.at[-1].set(0.0)
    deltas = rewards + learning.gamma * values[1:] - values[:-1]

    def back(after: jax.Array, delta: jax.Array) -> tuple[jax.Array, jax.Array]:
        now = delta + learning.gamma * learning.gae_lambda * after
        return now, now

    _, advantages = jax.lax.scan(back, jnp.zeros_like(deltas[0]), deltas, reverse=True)
    return advantages, advantages + values[:-1]


def _loss(
    params: Params,
    batch: Batch,
    learning: Learning,
    entropy_coefficient: jax.Array,
    kl_coefficient: jax.Array,
) -> tuple[jax.Array, dict[str, jax.Array]]:
    """Schulman and others 2017, equation 9, and 8 for the penalty on the divergence."""
    _, states = recur(params, batch.state, batch.inputs)
    logits = jax.nn.log_softmax(actor(params, states.hidden))
    values = critic(params, states.hidden, batch.task)
    logp = jnp.take_along_axis(logits, batch.actions[..., None], axis=-1)[..., 0]
    ratio = jnp.exp(logp - batch.logp)
    bound = jnp.clip(ratio, 1 - learning.clip, 1 + learning.clip)
    gain = jnp.minimum(ratio * batch.advantages, bound * batch.advantages).mean()
    error = jnp.square(values - batch.returns).mean()
    entropy = -(jnp.exp(logits) * logits).sum(-1).mean()
    divergence = (jnp.exp(batch.logits) * (batch.logits - logits)).sum(-1).mean()
    loss = (
        -gain
        + learning.value_coefficient * error
        - entropy_coefficient * entropy
        + kl_coefficient * divergence
    )
    return loss, {
        "entropy": entropy,
        "kl": divergence,
        "value_error": error,
        "clipped": (jnp.abs(ratio - 1) > learning.clip).mean(),
    }


def along(line: Line, step: jax.Array | float, last: int) -> jax.Array:
    """A schedule's number at a step of a training of so many: one that would end later ends with it."""
    # As `Learning` has it, once it is read.
    steps, values = zip(*cast(Schedule, line), strict=True)
    ends = min(1.0, last / steps[-1]) if steps[-1] else 1.0
    return jnp.interp(jnp.float32(step), jnp.array(steps) * ends, jnp.array(values))


def moved(coefficient: jax.Array, kl: jax.Array, target: float) -> jax.Array:
    """What the divergence of an update costs in the next: more where its mean is above twice the target.

    As RLlib moves it, by all minibatches.
    """
    mean = kl.mean()
    return coefficient * jnp.where(mean > 2 * target, 1.5, jnp.where(mean < target / 2, 0.5, 1.0))


# One for each way of learning, so that its update is compiled once.
@cache
def optimizer_of(learning: Learning, steps_an_update: int) -> optax.GradientTransformation:
    """Adam, by the schedule of steps; the gradient's norm is limited if it is to be."""
    turns = learning.epochs * learning.minibatches

    def rate(turn: jax.Array) -> jax.Array:
        return along(learning.learning_rate, turn // turns * steps_an_update, learning.steps)

    adam = optax.adam(rate)
    limit = learning.gradient_norm
    return optax.chain(optax.clip_by_global_norm(limit), adam) if limit else adam


class Learner(NamedTuple):
    """All that an update changes."""

    params: Params
    optimizer: Any
    key: jax.Array
    kl_coefficient: jax.Array


@partial(jax.jit, static_argnames=("learning", "optimizer"))
def update(
    learner: Learner,
    learning: Learning,
    optimizer: optax.GradientTransformation,
    inputs: jax.Array,
    actions: jax.Array,
    task: jax.Array,
    rtt_steps: jax.Array,
    entropy_coefficient: jax.Array,
) -> tuple[Learner, dict[str, jax.Array]]:
    """Learns from whole episodes: inputs (time + 1, episodes, 13), actions (time + 1, episodes), tasks."""
    params, chunk = learner.params, learning.chunk
    steps, count = inputs.shape[0] - 1, inputs.shape[1]
    chunks = steps // chunk
    _, states = recur(params, blank(count), inputs)
    values = critic(params, states.hidden, task)
    logits = jax.nn.log_softmax(actor(params, states.hidden[:-1]))
    logp = jnp.take_along_axis(logits, actions[:-1, :, None], axis=-1)[..., 0]
    scale = 1 - learning.gamma if learning.scale_rewards else 1.0
    earned = rewards(learning.reward, inputs, rtt_steps)
    advantages, returns = _advantages(learning, earned * scale, values)
    explained = 1 - jnp.var(returns - values[:-1]) / jnp.var(returns)
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)

    # The state before each step, and that at the beginning of each chunk.
    before = jax.tree.map(lambda x: jnp.concatenate([jnp.zeros_like(x[:1]), x[:-1]]), states)

    def cut(x: jax.Array) -> jax.Array:
        x = x[: chunks * chunk].reshape(chunks, chunk, *x.shape[1:])
        return jnp.swapaxes(x, 0, 1).reshape(chunk, chunks * count, *x.shape[3:])

    def heads(x: jax.Array) -> jax.Array:
        return x[: chunks * chunk : chunk].reshape(chunks * count, -1)

    batch = Batch(
        cut(inputs[:-1]),
        cut(actions[:-1]),
        cut(logp),
        cut(advantages),
        cut(returns),
        jax.tree.map(heads, before),
        jnp.tile(task, chunks),
        cut(logits),
    )
    size = chunks * count // learning.minibatches

    def turn(carry: tuple[Params, Any], picked: jax.Array) -> tuple[tuple[Params, Any], dict[str, jax.Array]]:
        params, moments = carry
        part = Batch(
            batch.inputs[:, picked],
            batch.actions[:, picked],
            batch.logp[:, picked],
            batch.advantages[:, picked],
            batch.returns[:, picked],
            jax.tree.map(lambda x: x[picked], batch.state),
            batch.task[picked],
            batch.logits[:, picked],
        )
        grads, info = jax.grad(_loss, has_aux=True)(
            params, part, learning, entropy_coefficient, learner.kl_coefficient
        )
        change, moments = optimizer.update(grads, moments, params)
        return (optax.apply_updates(params, change), moments), info

    key, *shuffles = jax.random.split(learner.key, learning.epochs + 1)
    order = jnp.concatenate(
        [
            jax.random.permutation(k, chunks * count)[: size * learning.minibatches].reshape(-1, size)
            for k in shuffles
        ]
    )
    (params, moments), info = jax.lax.scan(turn, (params, learner.optimizer), order)
    coefficient = moved(learner.kl_coefficient, info["kl"], learning.kl_target)
    told = {name: value.mean() for name, value in info.items()} | {
        "explained": explained,
        "kl_coefficient": coefficient,
        "reward": earned.mean(),
    }
    return Learner(params, moments, key, coefficient), told
