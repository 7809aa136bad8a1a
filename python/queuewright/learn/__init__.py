"""Learned policies: training, evaluation, and the files that run elsewhere.

    from queuewright import learn

    training = learn.config({"preset": "paper", "learning": {"steps": 100_000}})
    policy = learn.train(training, "queuewright-trained/mine")
    rows = learn.evaluate(["queuewright-trained/mine/policy.json"], envs.paper(rtt_ms=[30], episode_s=10))

Training needs `pip install 'queuewright[train]'`. docs/training.md has more.
"""

import os
from collections.abc import Callable, Iterable
from typing import Any

from queuewright._asked import Simulator, needing
from queuewright._native import Error
from queuewright._values import file, function, shown, whole

with needing("learned policies need", "pip install 'queuewright[train]'"):
    import gymnasium  # noqa: F401
    import msgspec  # noqa: F401
    import numpy

from queuewright.learn._config import Config, Evaluation, Learning, changed, config, preset, read
from queuewright.learn._evaluate import evaluate, paper_tests, rival, table
from queuewright.learn._policy import Inference, Policy

__all__ = [
    "Config",
    "Evaluation",
    "Inference",
    "Learning",
    "Policy",
    "changed",
    "config",
    "evaluate",
    "export",
    "paper_tests",
    "preset",
    "read",
    "rival",
    "spread",
    "table",
    "train",
    "train_seeds",
]


def _needs_jax() -> None:
    with needing("training needs", "pip install 'queuewright[train]'"):
        import jax
        import optax  # noqa: F401
    # Policies are small: a graphics card would wait for the simulator.
    jax.config.update("jax_platforms", "cpu")  # type: ignore[no-untyped-call]


def train(
    training: Config,
    folder: str | os.PathLike[str],
    *,
    resume: bool = False,
    engine: Simulator = "sim",
    say: Callable[[str], object] = print,
    callback: Callable[[dict[str, float]], object] | None = None,
) -> Policy:
    """Learns, and writes into `folder` what there is to keep; gives the best policy that it has seen.

    `policy.json` is that policy, `log.jsonl` a line for each evaluation, `checkpoint.npz` what `resume` goes
    on from, and `config.json` the training's own values. TensorBoard reads `events.*`.

    Args:
        training: What is learned from and how, see `read` and `config`.
        folder: Made if it is not there; one that holds a training is refused.
        resume: Go on from the folder's checkpoint.
        engine: Who plays the episodes: `"sim"`: this machine's cores; `"ray"`: those of a Ray cluster
            (`pip install 'queuewright[ray]'`). What is learned is the same.
        say: Is told a line for each evaluation.
        callback: Is given a dict for each update, with `steps`, `seconds` and what the update came to
            (`entropy`, `kl`, `value_error`, ...), after an evaluation with `eval_reward` and others, too:
            `wandb.log` will do. TensorBoard's file has the same.

    Raises:
        Error: A folder that holds something else, a broken checkpoint, networks that cannot be.
    """
    _needs_jax()
    from queuewright.learn import _train

    _of_a_training(training)
    function("say", say)
    if callback is not None:
        function("callback", callback)
    where = file("folder", folder)
    made = _train.train(training, where, resume=resume, engine=engine, say=say, callback=callback)
    return Policy.read(made.folder / "policy.json")


def train_seeds(
    training: Config,
    folder: str | os.PathLike[str],
    seeds: Any = "1..5",
    *,
    resume: bool = False,
    engine: Simulator = "sim",
    say: Callable[[str], object] = print,
    callback: Callable[[dict[str, float]], object] | None = None,
) -> list[dict[str, float]]:
    """The same training from several seeds, one after the other, each in a folder `seed-N` of its own.

    One seed says how good a policy came out, several say how good one comes out.

    Args:
        training: As for `train`; its own seed does not count.
        folder: Made if it is not there.
        seeds: As for `run`: `"1..5"`, a list.
        resume: Go on, where a folder holds a training that has not ended; begin, where there is none.
        engine: As for `train`, as are `say` and `callback`, which has `seed` in each dict.

    Returns:
        A dict for each seed: `seed`, `last` (the reward of the last evaluation), `best` and `best_steps`
        (of `policy.json`).

    Raises:
        Error: As of `train`.
    """
    _needs_jax()
    from queuewright.learn import _train

    _of_a_training(training)
    function("say", say)
    if callback is not None:
        function("callback", callback)
    return _train.train_seeds(
        training, file("folder", folder), seeds, resume=resume, engine=engine, say=say, callback=callback
    )


def spread(values: Iterable[float]) -> tuple[float, float]:
    """Mean, and half of its 95 % confidence interval (Student's t): NaN of one value.

    Raises:
        Error: There is no value.
    """
    found = numpy.array(list(values), numpy.float64)
    if not len(found):
        raise Error("values: none; one at least is needed")
    if len(found) == 1:
        return float(found[0]), float("nan")
    with needing("intervals need", "pip install 'queuewright[train]'"):
        from scipy.stats import t
    half = t.ppf(0.975, len(found) - 1) * found.std(ddof=1) / len(found) ** 0.5
    return float(found.mean()), float(half)


def _of_a_training(training: object) -> None:
    if not isinstance(training, Config):
        raise Error(
            f"training = {shown(training)}: not a training; write learn.read(path), or learn.config(...)"
        )


def export(
    folder: str | os.PathLike[str], *, name: str | None = None, episodes: int = 24
) -> tuple[Policy, float, float]:
    """The policy of a training's last checkpoint, in whole numbers, and what rounding it costs.

    Args:
        folder: A training's.
        name: Of the policy; default: the training's.
        episodes: By how many the rewards are measured.

    Returns:
        The policy, its reward, and the reward of what it was rounded from (with other draws).

    Raises:
        Error: No training, or a broken one.
    """
    _needs_jax()
    from queuewright.learn import _train

    return _train.export(file("folder", folder), name, whole("episodes", episodes, 1, 100_000))
