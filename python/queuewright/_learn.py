"""The commands of the package that the program alone does not have: train, evaluate, export-policy."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from queuewright._asked import ENGINES, FIGURES, MEASURES, PRESETS, RIVALS, SIMULATORS
from queuewright._native import Error
from queuewright._outcome import Parser, in_flags, outcome
from queuewright._scenario import load
from queuewright._values import file

# How the package calls what the command calls otherwise.
_FLAGS = {name: f"--{name}" for name in ("against", "engine", "jobs", "name", "on", "preset", "seeds")}
_FLAGS |= {"learning.steps": "--steps", "learning.seed": "--seed", "aqm": "--against"}
_FLAGS |= {"policy": "POLICY", "folder": "DIR", "path": "FILE"}


def main(args: Sequence[str]) -> int:
    """Does what the command line asks for; the exit code is that of `queuewright`."""

    def act() -> None:
        given = _parser().parse_args(args)
        {"train": _train, "evaluate": _evaluate, "export-policy": _export}[given.command](given)

    return outcome(
        act,
        lambda _: "interrupted: what had been written is kept",
        lambda text: in_flags(text, _FLAGS, " = "),
    )


def _parser() -> argparse.ArgumentParser:
    plain = argparse.RawDescriptionHelpFormatter
    parser = Parser(prog="queuewright", formatter_class=plain)
    commands = parser.add_subparsers(dest="command", required=True)
    train = commands.add_parser(
        "train",
        help="learn a policy",
        formatter_class=plain,
        description="Learn a policy in simulated networks, as a file or a preset says (docs/training.md).",
        epilog="Examples:\n  queuewright train --preset paper --steps 200000\n"
        "  queuewright train queuepilot.toml --out queuewright-trained/mine\n"
        "  queuewright train queuepilot.toml --out queuewright-trained/mine --resume",
    )
    train.add_argument("file", nargs="?", metavar="FILE", help="what is learned from, and how (TOML)")
    train.add_argument("--preset", help=f"without FILE: {', '.join(PRESETS)}")
    train.add_argument(
        "--out", metavar="DIR", help="folder to write into (default: queuewright-trained/NAME)"
    )
    train.add_argument("--steps", type=int, metavar="N", help="instead of learning.steps")
    train.add_argument("--seed", type=int, metavar="N", help="instead of learning.seed")
    train.add_argument(
        "--seeds",
        metavar="SEEDS",
        help="several: a training from each, in a folder seed-N each, and what they come to: 1..5",
    )
    train.add_argument(
        "--engine", default="sim", choices=SIMULATORS, help="ray: episodes are played by a Ray cluster"
    )
    train.add_argument("--resume", action="store_true", help="go on with the training in the folder")

    evaluate = commands.add_parser(
        "evaluate",
        help="run policies beside what they are measured against",
        formatter_class=plain,
        description="Run policies and others in the same networks.\n"
        "The reward is INFOCOM 2023's, over the second half of each run. It counts what overflows,\n"
        "not what is dropped early.",
        epilog="Examples:\n  queuewright evaluate queuepilot\n"
        "  queuewright evaluate queuewright-trained/mine/policy.json queuepilot --on fig2 --seeds 5\n"
        "  queuewright evaluate mine.json --on home.toml --against codel,pie,titrate",
    )
    evaluate.add_argument(
        "policies", nargs="+", metavar="POLICY", help="file, or name of one that is brought"
    )
    evaluate.add_argument(
        "--on",
        default=FIGURES[-1],
        metavar="WHERE",
        help=f"{', '.join(FIGURES)} (default), or a scenario",
    )
    evaluate.add_argument("--against", default=",".join(RIVALS), metavar="LIST")
    evaluate.add_argument("--seeds", default="1..3", help="such as 1..3 (default)")
    evaluate.add_argument("--measure", default="reward", choices=MEASURES, help="what the table shows")
    evaluate.add_argument(
        "--engine", default="sim", choices=ENGINES, help="sim (default); linux: a kernel; ray: a Ray cluster"
    )
    evaluate.add_argument("--jobs", type=int, metavar="N", help="runs at a time (default: one per core)")
    evaluate.add_argument("--json", action="store_true", help="print a row for each run instead")

    export = commands.add_parser(
        "export-policy",
        help="a training's last checkpoint as a policy's file",
        description="Round a training's last checkpoint to the whole numbers that run everywhere,\n"
        "and say what that costs.",
    )
    export.add_argument("folder", metavar="DIR", help="of a training")
    export.add_argument("--out", metavar="FILE", help="default: NAME.json")
    export.add_argument("--name", help="of the policy (default: the training's)")
    return parser


# What `learn` needs may not be there; help is, in any case.


def _train(given: argparse.Namespace) -> None:
    from queuewright import learn

    if given.file is not None and given.preset is not None:
        raise Error("--preset: not together with FILE, which may say preset = itself")
    if given.seed is not None and given.seeds is not None:
        raise Error("--seed: not together with --seeds")
    tables = {} if given.preset is None else {"preset": given.preset}
    training = learn.config(tables) if given.file is None else learn.read(given.file)
    changes = {key: getattr(given, key) for key in ("steps", "seed") if getattr(given, key) is not None}
    if changes:
        training = learn.changed(training, changes)
    folder = (
        Path("queuewright-trained", training.name) if given.out is None else Path(file("folder", given.out))
    )
    if given.seeds is not None:
        rows = learn.train_seeds(
            training, folder, given.seeds, resume=given.resume, engine=given.engine, say=_say
        )
        print(f"\n{'seed':>6}  {'last':>7}  {'best':>7}  after")
        for row in rows:
            print(
                f"{row['seed']:>6}  {row['last']:>7.4f}  {row['best']:>7.4f}  {row['best_steps']:,.0f} steps"
            )
        for which in ("last", "best"):
            mean, half = learn.spread(row[which] for row in rows)
            interval = f" \u00b1 {half:.4f} (95 %)" if half == half else ""
            print(f"{which}: {mean:.4f}{interval}")
        print(f"the policies: {folder}/seed-N/policy.json")
        return
    policy = learn.train(training, folder, resume=given.resume, engine=given.engine, say=_say)
    print(f"\n{folder / 'policy.json'}: {policy.description}")
    print(f"see what it does: queuewright evaluate {folder / 'policy.json'}")


def _say(text: str) -> None:
    print(text, flush=True)


def _evaluate(given: argparse.Namespace) -> None:
    from queuewright import learn

    networks = learn.paper_tests()[given.on] if given.on in FIGURES else load(file("on", given.on))
    rows = learn.evaluate(
        given.policies,
        networks,
        against=given.against,
        seeds=given.seeds,
        engine=given.engine,
        jobs=given.jobs,
    )
    print(json.dumps(rows, indent=1) if given.json else learn.table(rows, given.measure))


def _export(given: argparse.Namespace) -> None:
    from queuewright import learn

    policy, rounded, before = learn.export(given.folder, name=given.name)
    out = Path(f"{policy.name}.json" if given.out is None else given.out)
    policy.save(out)
    change = 100 * (rounded - before) / abs(before) if before else 0.0
    print(f"{out}: reward {rounded:.4f} in whole numbers, {before:.4f} in floating point ({change:+.2f} %)")
    kept = Path(given.folder, "policy.json")
    if kept.exists() and (best := learn.Policy.read(kept)).description != policy.description:
        print(f"it is of {policy.description}; {kept}, the best of the looks, is another: {best.description}")
