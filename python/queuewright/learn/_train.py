"""Training: episodes under the policy as it stands, in whole numbers as deployed; then some steps of PPO."""

import functools
import hashlib
import io
import json
import os
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from queuewright import _native
from queuewright._asked import simulator
from queuewright._native import Error
from queuewright._ray import Players
from queuewright._scenario import Scenario
from queuewright._values import theirs
from queuewright.learn import _ppo
from queuewright.learn._config import Config, changed, config, named
from queuewright.learn._policy import INPUTS, OBSERVATIONS, Policy, write

# Of checkpoints; another version is refused.
VERSION = 2
# Seeds of looks while a policy learns, far from those that people write; those of training are above.
LOOKS = 1 << 31
FIRST_SEED = 1 << 32


class Plays(Protocol):
    """Networks, and who plays in them: `_native.Domain`, or a cluster."""

    def __len__(self) -> int: ...

    def play(
        self, weights: bytes | None, which: Sequence[tuple[int, int]], /
    ) -> tuple[bytes, bytes, int]: ...


class Episodes:
    """Whole episodes of a policy in the networks of a training."""

    def __init__(self, networks: Plays, rng: np.random.Generator) -> None:
        self._networks = networks
        self._rng = rng
        self._left: list[int] = []
        self.seconds = 0.0

    @property
    def state(self) -> dict[str, Any]:
        """What is drawn next, as JSON has it."""
        return {"rng": self._rng.bit_generator.state, "left": self._left}

    @state.setter
    def state(self, state: Mapping[str, Any]) -> None:
        self._rng.bit_generator.state = state["rng"]
        self._left = list(state["left"])

    def draw(self, count: int) -> list[tuple[int, int]]:
        """Tasks and seeds: every task once, in any order, before one comes again."""
        while len(self._left) < count:
            self._left += self._rng.permutation(len(self._networks)).tolist()
        tasks = [self._left.pop() for _ in range(count)]
        return [(task, int(self._rng.integers(FIRST_SEED, 1 << 52))) for task in tasks]

    def play(
        self, weights: bytes | None, which: list[tuple[int, int]]
    ) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
        """Inputs (time + 1, episodes, INPUTS) and actions (time + 1, episodes), of equal length."""
        began = time.perf_counter()
        inputs, actions, _ = self._networks.play(weights, which)
        self.seconds += time.perf_counter() - began
        seen = np.frombuffer(inputs, np.float32).reshape(len(which), -1, INPUTS)
        done = np.frombuffer(actions, np.uint8).reshape(len(which), -1)
        return seen.swapaxes(0, 1), done.T


def look(
    networks: Plays, weights: bytes | None, episodes: int, kind: str = "paper", rtts: Sequence[float] = ()
) -> dict[str, float]:
    """What a policy is worth, in these networks by turns; not in the first 60 % of an episode.

    Args:
        networks: Where it acts.
        weights: Its own; None: the scripted policy.
        episodes: How many.
        kind: What is rewarded.
        rtts: For another than the paper's, of each network the round trip without queues in steps.
    """
    which = _by_turns(len(networks), episodes)
    inputs, _ = Episodes(networks, np.random.default_rng(0)).play(weights, which)
    first = 1 + (len(inputs) - 1) * 3 // 5
    late = inputs[first:]
    rtt_steps = jnp.array([rtts[task] if rtts else 1.0 for task, _ in which])
    seen = {name: late[..., i] for i, name in enumerate(OBSERVATIONS)}
    arrived = float(seen["arrived"].sum())
    return {
        "reward": float(_ppo.rewards(kind, jnp.asarray(inputs[first - 1 :]), rtt_steps).mean()),
        "utilization": float(seen["sent"].mean()),
        "drop_fraction": float(seen["dropped"].sum()) / arrived if arrived else 0.0,
        "queue_of_buffer": float(seen["queue_of_buffer"].mean()),
    }


def _by_turns(tasks: int, episodes: int) -> list[tuple[int, int]]:
    """Tasks, spread over all there are, and seeds."""
    return [(i * tasks // episodes % tasks, LOOKS + i) for i in range(episodes)]


class Training:
    """A training under way: what it has learned, and how it goes on."""

    def __init__(self, config: Config, folder: str | os.PathLike[str], engine: str = "sim") -> None:
        simulator(engine)
        self.config = config
        self.folder = Path(folder)
        self.networks: Plays = config.networks._native() if engine == "sim" else Players(config.networks)
        self.rtts = config.networks._native().rtt_steps()
        learning = config.learning
        if learning.reward == "power" and not np.isfinite(self.rtts).all():
            raise Error('learning.reward = "power": a network has no [[flows]], and so no round trip')
        first = Episodes(self.networks, np.random.default_rng(0))
        inputs, _ = first.play(None, [(task, 1) for task in range(min(len(self.networks), 64))])
        self.steps_an_update = (len(inputs) - 1) * learning.episodes
        if len(inputs) - 1 < learning.chunk:
            raise Error(
                f"learning.chunk = {learning.chunk}: an episode is shorter, it has {len(inputs) - 1} steps"
            )
        if learning.episodes * ((len(inputs) - 1) // learning.chunk) < learning.minibatches:
            raise Error(
                f"learning.minibatches = {learning.minibatches}: more than there are sequences of "
                f"learning.chunk = {learning.chunk} steps"
            )
        self.optimizer = _ppo.optimizer_of(learning, self.steps_an_update)
        params = _ppo.fresh(jax.random.key(learning.seed), learning, len(self.networks))
        if config.start is not None:
            params |= {key: jnp.asarray(x) for key, x in config.start.to_floats().items()}
        self.learner = _ppo.Learner(
            params,
            self.optimizer.init(params),
            jax.random.key(learning.seed + 1),
            jnp.float32(0.2 if learning.kl_target else 0.0),
        )
        self.episodes = Episodes(self.networks, np.random.default_rng([learning.seed, 0]))
        self.updates = 0
        self.best = -np.inf
        self.best_steps = 0
        # The reward of the last look.
        self.last = float("nan")

    @property
    def steps(self) -> int:
        """Steps of environments that it has learned from."""
        return self.updates * self.steps_an_update

    def policy(self) -> Policy:
        """As it would be deployed now."""
        name, learning = self.config.name, self.config.learning
        # Schedules end with the training: another number of steps is another way to learn.
        of = f"{self.steps} of {learning.steps} steps"
        said = f"{of}, seed {learning.seed}, training {fingerprint(self.config)}"
        return Policy.quantised(self.learner.params, name, self.config.actions, said)

    def update(self) -> dict[str, float]:
        """Plays and learns once."""
        learning = self.config.learning
        which = self.episodes.draw(learning.episodes)
        inputs, actions = self.episodes.play(self.policy().to_bytes(), which)
        self.learner, told = _ppo.update(
            self.learner,
            learning,
            self.optimizer,
            jnp.asarray(inputs),
            jnp.asarray(actions, jnp.int32),
            jnp.array([task for task, _ in which]),
            jnp.array([self.rtts[task] for task, _ in which]),
            _ppo.along(learning.entropy, self.steps, learning.steps),
        )
        self.updates += 1
        return {name: float(value) for name, value in told.items()}

    def look(self) -> dict[str, float]:
        """What the policy is worth now; written to `policy.json` if none has been worth more."""
        policy = self.policy()
        episodes, kind = self.config.evaluation.episodes, self.config.learning.reward
        seen = look(self.networks, policy.to_bytes(), episodes, kind, self.rtts)
        self.last = seen["reward"]
        if seen["reward"] > self.best:
            self.best, self.best_steps = seen["reward"], self.steps
            policy.save(self.folder / "policy.json")
        return seen

    # ------------------------------------------------------------- checkpoints

    def save(self) -> None:
        """Writes `checkpoint.npz`, whole or not at all."""
        arrays = {f"leaf{i}": np.asarray(leaf) for i, leaf in enumerate(self._leaves())}
        head = {
            "format": "queuewright-checkpoint",
            "version": VERSION,
            "training": fingerprint(self.config),
            "config": self.config.tables,
            "updates": self.updates,
            "episodes": self.episodes.state,
            "best": self.best,
            "best_steps": self.best_steps,
            "last": self.last,
        }
        out = io.BytesIO()
        np.savez(out, head=np.array(json.dumps(head)), **arrays)  # type: ignore[arg-type]
        write(self.folder / "checkpoint.npz", out.getvalue())

    def _leaves(self) -> list[Any]:
        params, moments, key, coefficient = self.learner
        return jax.tree.leaves((params, moments, jax.random.key_data(key), coefficient))

    def load(self) -> None:
        """Goes on where `checkpoint.npz` was written.

        Raises:
            Error: It is of another training, or broken.
        """
        path = self.folder / "checkpoint.npz"
        head, arrays = read_checkpoint(path)
        if head["training"] != fingerprint(self.config):
            raise Error(f"{path}: of another training; its folder has its own config.json")
        leaves = self._leaves()
        found = [arrays.get(f"leaf{i}") for i in range(len(leaves))]
        for old, new in zip(leaves, found, strict=True):
            if new is None or new.shape != old.shape or new.dtype != np.asarray(old).dtype:
                raise Error(f"{path}: not a whole checkpoint")
        params, moments, key, coefficient = self.learner
        tree = jax.tree.structure((params, moments, jax.random.key_data(key), coefficient))
        params, moments, key, coefficient = jax.tree.unflatten(tree, [jnp.asarray(x) for x in found])
        self.learner = _ppo.Learner(params, moments, jax.random.wrap_key_data(key), coefficient)
        self.episodes.state = head["episodes"]
        self.updates, self.best, self.best_steps = head["updates"], head["best"], head["best_steps"]
        self.last = head.get("last", self.last)


def read_checkpoint(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What a checkpoint says of itself, and its arrays.

    Raises:
        Error: It is none, broken, or of another version.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        head: dict[str, Any] = json.loads(str(arrays.pop("head")))
    except FileNotFoundError:
        raise Error(f"{path}: no such file") from None
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as e:
        raise Error(f"{path}: not a checkpoint, or broken: {e}") from None
    if head.get("format") != "queuewright-checkpoint":
        raise Error(f"{path}: not a checkpoint")
    if head.get("version") != VERSION:
        raise Error(
            f"{path}: a checkpoint of version {head.get('version')}; this program reads version {VERSION}"
        )
    return head, arrays


def fingerprint(config: Config) -> str:
    """What tells trainings apart: all that is learned from and how, but for how long."""
    tables = {key: value for key, value in config.tables.items() if key != "preset"}
    # The paper's reward is what trainings had before there was another.
    usual = {"steps": tables["learning"]["steps"], "reward": "paper"}
    tables["learning"] = {key: value for key, value in tables["learning"].items() if usual.get(key) != value}
    if config.start is not None:
        tables["start"] = hashlib.sha256(config.start.to_bytes()).hexdigest()
    return hashlib.sha256(json.dumps(tables, sort_keys=True).encode()).hexdigest()[:12]


def train(
    config: Config,
    folder: str,
    *,
    resume: bool = False,
    engine: str = "sim",
    say: Callable[[str], object] = print,
    callback: Callable[[dict[str, float]], object] | None = None,
) -> Training:
    """See `queuewright.learn.train`."""
    if not resume:
        _must_be_free(Path(folder))
    training = Training(config, folder, engine)
    try:
        training.folder.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise Error(f"{training.folder}: cannot be made: {e.strerror}") from None
    if resume:
        training.load()
    tables = dict(config.tables)
    if config.start is not None:
        # The folder is whole by itself.
        tables["start"] = "start.json"
        config.start.save(training.folder / "start.json")
    write(training.folder / "config.json", json.dumps(tables, indent=2).encode() + b"\n")
    with _Board(training.folder) as board:
        _loop(training, board, say, callback)
    return training


def _must_be_free(folder: Path) -> None:
    if (folder / "checkpoint.npz").exists():
        raise Error(
            f"{folder}: holds a training already; "
            "go on with it (resume=True, --resume), or name another folder"
        )


def train_seeds(
    config: Config,
    folder: str,
    seeds: Any,
    *,
    resume: bool,
    engine: str,
    say: Callable[[str], object],
    callback: Callable[[dict[str, float]], object] | None,
) -> list[dict[str, float]]:
    """See `queuewright.learn.train_seeds`."""
    # What seeds are written like stands with the scenarios.
    read = Scenario(link={"rate": "1mbit"}, flows=[{"cca": "cubic", "rtt": "20ms"}]).changed(seeds=seeds)
    given = read.to_dict()["run"]["seeds"]
    for seed in [] if resume else given:
        _must_be_free(Path(folder) / f"seed-{seed}")
    rows = []
    for seed in given:
        where = Path(folder) / f"seed-{seed}"
        made = train(
            changed(config, {"seed": seed}),
            str(where),
            resume=resume and (where / "checkpoint.npz").exists(),
            engine=engine,
            say=functools.partial(_of_seed, say, seed),
            callback=None if callback is None else functools.partial(_with_seed, callback, seed),
        )
        rows.append({"seed": seed, "last": made.last, "best": made.best, "best_steps": made.best_steps})
    return rows


def _of_seed(say: Callable[[str], object], seed: int, text: str) -> None:
    say(f"seed {seed}  {text}")


def _with_seed(callback: Callable[[dict[str, float]], object], seed: int, row: dict[str, float]) -> None:
    callback({"seed": seed, **row})


def _loop(
    training: Training,
    board: "_Board",
    say: Callable[[str], object],
    callback: Callable[[dict[str, float]], object] | None,
) -> None:
    config = training.config
    began, first = time.perf_counter(), training.steps

    def tell(row: dict[str, float]) -> None:
        board.add(row)
        if callback is not None:
            callback(row)

    if config.start is not None and training.steps == 0:
        # What it starts from may be the best that there is.
        seen = training.look()
        say(f"{0:>10} steps  reward {seen['reward']:.4f}")
    while training.steps < config.learning.steps:
        told = training.update()
        every = config.evaluation.every
        over = training.steps >= config.learning.steps
        looks = over or training.steps // every != (training.steps - training.steps_an_update) // every
        seen = training.look() if looks else {}
        if looks:
            training.save()
        passed = time.perf_counter() - began
        row: dict[str, float] = {"steps": training.steps, "seconds": round(passed, 3)}
        row |= {"simulating": round(training.episodes.seconds / passed, 3)}
        row |= {f"eval_{name}": round(value, 6) for name, value in seen.items()}
        row |= {name: round(value, 6) for name, value in told.items()}
        if looks:
            with open(training.folder / "log.jsonl", "a") as log:
                log.write(json.dumps(row) + "\n")
        tell(row)
        if not looks:
            continue
        pace = (training.steps - first) / passed
        say(
            f"{training.steps:>10} steps  reward {seen['reward']:.4f}  "
            f"utilisation {seen['utilization']:.3f}  "
            f"drops {100 * seen['drop_fraction']:.3f} %  entropy {told['entropy']:.2f}  "
            f"{pace:,.0f} steps/s, {100 * row['simulating']:.0f} % of it simulating"
        )


class _Board:
    """TensorBoard's file, where tensorboardX is installed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writer: Any = None

    def __enter__(self) -> "_Board":
        try:
            from tensorboardX import SummaryWriter
        except ImportError:
            return self
        self._writer = SummaryWriter(str(self._folder))
        return self

    def __exit__(self, *_: object) -> None:
        if self._writer is not None:
            self._writer.close()

    def add(self, row: Mapping[str, float]) -> None:
        if self._writer is not None:
            for name, value in row.items():
                self._writer.add_scalar(name, value, row["steps"])


def export(folder: str, name: str | None, episodes: int) -> tuple[Policy, float, float]:
    """See `queuewright.learn.export`."""
    told = Path(folder) / "config.json"
    try:
        given = json.loads(told.read_text())
        theirs(given)
        training = Training(config(given, folder), folder)
    except (FileNotFoundError, NotADirectoryError):
        seeds = sorted(path.parent.name for path in Path(folder).glob("seed-*/config.json"))
        hint = f"; of several seeds name one: {Path(folder) / seeds[0]}" if seeds else ""
        raise Error(f"{folder}: no training: it has no config.json{hint}") from None
    except (OSError, ValueError) as e:
        raise Error(f"{told}: {e}") from None
    training.load()
    policy = training.policy()
    if name is not None:
        policy = replace(policy, name=named(name))
    kind = training.config.learning.reward
    rounded = look(training.networks, policy.to_bytes(), episodes, kind, training.rtts)["reward"]
    return policy, rounded, _look_in_floating_point(training, episodes)


@functools.cache
def _actor() -> Any:
    @jax.jit
    def step(params: _ppo.Params, state: _ppo.State, inputs: jax.Array) -> tuple[_ppo.State, jax.Array]:
        after = _ppo.step(params, state, inputs)
        return after, _ppo.actor(params, after.hidden)

    return step


def _look_in_floating_point(training: Training, episodes: int) -> float:
    """The reward, after the first 60 % of an episode, of the policy as it learned: before it was rounded."""
    drafts, actions_of = training.config.networks._native().scenarios(), training.config.actions
    envs, which = [], _by_turns(len(drafts), episodes)
    for task, seed in which:
        envs.append(_native.Envs(_native.Domain.of([drafts[task]]).acting(actions_of), 1, seed))
        envs[-1].reset([seed])
    state, rng = _ppo.blank(episodes), np.random.default_rng(1)
    inputs = np.zeros((episodes, INPUTS), np.float32)
    inputs[:, len(OBSERVATIONS)] = 1.0
    seen = [inputs]
    while True:
        state, logits = _actor()(training.learner.params, state, inputs)
        noise = rng.gumbel(size=logits.shape)
        actions = np.argmax(np.asarray(logits) + noise, axis=1).astype(np.uint32)
        steps = [env.step(action.tobytes()) for env, action in zip(envs, actions, strict=True)]
        inputs = np.array([np.frombuffer(shown, np.float32) for shown, _, _ in steps])
        seen.append(inputs)
        if any(last != b"\0" for _, _, last in steps):
            rtt_steps = jnp.array([training.rtts[task] for task, _ in which])
            earned = _ppo.rewards(training.config.learning.reward, jnp.array(seen), rtt_steps)
            return float(earned[len(earned) * 3 // 5 :].mean())
