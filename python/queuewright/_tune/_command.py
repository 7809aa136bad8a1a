"""The command `queuewright tune`."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from queuewright import _tune
from queuewright._asked import SIMULATORS
from queuewright._native import Error
from queuewright._outcome import Parser, in_flags, outcome
from queuewright._tune import _folder
from queuewright._values import file

BASE = "queuewright-tuned"
# What a folder remembers of the command, to go on with.
_REMEMBERED = (
    "scenario",
    "aqm",
    "over",
    "objective",
    "held_out",
    "runs",
    "seed",
    "duration",
    "warmup",
    "trials",
)
# What the command calls arguments of the package; a scenario has no flag.
_FLAGS = {name: f"--{name}" for name in (*_REMEMBERED[1:], "budget", "engine", "jobs", "resume")}
_FLAGS |= {"objective": "--for", "held_out": "--held-out", "folder": "--out"}


def main(args: Sequence[str]) -> int:
    """Does what the command line asks for; the exit code is that of `queuewright`."""

    def interrupted(e: KeyboardInterrupt) -> str:
        folder, count = getattr(e, "kept", (None, 0))
        kept = f"; {count} candidates are kept in {folder}: go on with --resume" if folder else ""
        return f"interrupted{kept}"

    return outcome(
        lambda: print(_tuned(_parser().parse_args(args[1:]))),
        interrupted,
        lambda text: in_flags(text, _FLAGS, " =|:| "),
    )


def _tuned(given: argparse.Namespace) -> str:
    base = Path(file("folder", BASE if given.out is None else given.out))
    words: dict[str, Any] = {name: getattr(given, name) for name in _REMEMBERED}
    if given.resume:
        _, before = _folder.remembered_in(base)
        remembered = before.get("command")
        if remembered is None:
            raise Error(f"resume: {base / 'latest'} was made in Python: go on with it there, by resume=True")
        if not remembered.keys() >= set(_REMEMBERED):
            raise _folder.broken(base)
        wrong = [
            name
            for name in _REMEMBERED
            if words[name] and name != "trials" and words[name] != remembered[name]
        ]
        if wrong:
            flag = _FLAGS.get(wrong[0], wrong[0]).removeprefix("--")
            raise Error(f"resume: {flag} stays as it was; begin anew for another")
        words = remembered | ({"trials": words["trials"]} if words["trials"] else {})
    else:
        words |= {
            name: [_whole(path) for path in words[name]] for name in ("scenario", "held_out") if words[name]
        }
    if not words["scenario"]:
        raise Error("scenario: none; write a scenario's file, or a suite's name such as rfc7928")
    if not words["aqm"]:
        raise Error("aqm: which discipline? write --aqm codel")
    # Status is no result.
    say = (lambda text: print(text, file=sys.stderr, flush=True)) if given.json else _say
    made = _tune.tune(
        words["scenario"],
        words["aqm"],
        words["over"],
        words["objective"] or "power",
        held_out=words["held_out"] or None,
        trials=100 if words["trials"] is None else words["trials"],
        runs=3 if words["runs"] is None else words["runs"],
        budget=given.budget,
        seed=1 if words["seed"] is None else words["seed"],
        engine=given.engine,
        jobs=given.jobs,
        duration=words["duration"],
        warmup=words["warmup"],
        folder=base,
        resume=given.resume,
        begun=lambda folder: _folder.remember(folder, words),
        say=say,
    )
    if given.json:
        return json.dumps(made.to_dict(), indent=1)
    return f"\nfolder: {made.folder}\n{made}"


def _say(text: str) -> None:
    print(text, flush=True)


def _whole(path: str) -> str:
    """A file's path from anywhere; a suite's name as it is."""
    return os.path.abspath(path) if os.path.exists(path) else path


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="queuewright tune",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Find the parameters of a discipline that are best over scenarios, and judge them on\n"
        "scenarios and seeds that nothing was chosen by (docs/tune.md).",
        epilog="Examples:\n"
        "  queuewright tune home --aqm codel --over target=1ms..100ms,interval=10ms..1s\n"
        "  queuewright tune rfc7928 --aqm titrate --for power,sojourn_ms.p99 --trials 200\n"
        "  queuewright tune mine.toml --held-out other.toml --aqm pie --for less:group.call.datagrams.loss\n"
        "  queuewright tune --resume",
    )
    parser.add_argument(
        "scenario", nargs="*", metavar="SCENARIO", help="scenario files, or a suite's name or folder"
    )
    parser.add_argument(
        "--aqm", metavar="NAME[:KEY=VALUE]", help="the discipline, what is fixed, where it starts"
    )
    parser.add_argument(
        "--over",
        action="append",
        metavar="LIST",
        help="what is searched: target=1ms..100ms,rules=paper|artifact (default: around the defaults)",
    )
    parser.add_argument(
        "--for",
        dest="objective",
        metavar="LIST",
        help=f"what is best, one or two: {', '.join(_tune.objectives())}, or a measure (default: power)",
    )
    parser.add_argument(
        "--held-out", nargs="+", metavar="SCENARIO", help="what is judged on (default: a third)"
    )
    parser.add_argument("--trials", type=int, metavar="N", help="candidates (default: 100)")
    parser.add_argument(
        "--runs", type=int, metavar="N", help="runs of each scenario, each with its own seed (default: 3)"
    )
    parser.add_argument("--budget", metavar="TIME", help="no more candidates after that time: 10min")
    parser.add_argument("--seed", type=int, metavar="N", help="of the search (default: 1)")
    parser.add_argument("--duration", metavar="TIME", help="of each run, instead of the scenarios'")
    parser.add_argument("--warmup", metavar="TIME", help="of each run, that is not counted")
    parser.add_argument(
        "--engine", default="sim", choices=SIMULATORS, help="ray: runs are made by a Ray cluster"
    )
    parser.add_argument("--jobs", type=int, metavar="N", help="runs at a time (default: one per core)")
    parser.add_argument("--out", metavar="DIR", help=f"folder of results (default: {BASE})")
    parser.add_argument("--resume", action="store_true", help="go on with the newest one there")
    parser.add_argument("--json", action="store_true", help="print what tuned.json has")
    return parser
