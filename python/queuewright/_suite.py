"""`suite --engine ray`: a suite's runs on a Ray cluster; what comes of them is the program's."""

import argparse
from collections.abc import Sequence

from queuewright import _native
from queuewright._native import RunError, SuiteRuns
from queuewright._outcome import outcome
from queuewright._progress import reporter
from queuewright._ray import Cluster, library, make
from queuewright._values import whole


def asks(words: Sequence[str]) -> bool:
    """Is it a command line of `suite` for a cluster?"""
    try:
        return words[:1] == ["suite"] and _read(words)[0].engine == "ray"
    except argparse.ArgumentError:
        # The program says what is wrong with it.
        return False


def _read(words: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """What matters here, and all other words."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--engine")
    parser.add_argument("--jobs")
    parser.add_argument("--out")
    parser.add_argument("--json", action="store_true")
    return parser.parse_known_args(words)


def _jobs(said: str) -> int:
    return whole("--jobs", int(said) if said.isdecimal() and len(said) < 9 else said, 1, 65_535)


def main(words: Sequence[str]) -> int:
    """Makes the runs on the cluster, then has the program score what is there.

    Returns:
        The exit code: 0 done, 1 a run failed, 2 wrong input, 130 interrupted.
    """
    given, rest = _read(words)
    into = [f"--out={given.out}"] if given.out is not None else []
    so_far = 0

    def runs() -> None:
        nonlocal so_far
        jobs = None if given.jobs is None else _jobs(given.jobs)
        # What cannot work is known before there is a folder, what is asked before a cluster is started.
        library()
        made = SuiteRuns([*rest, *into])
        cluster = Cluster()

        def keep(_: int, begin: int, some: bytes) -> None:
            nonlocal so_far
            so_far += made.add(begin, some)

        with reporter(None) as tell:
            try:
                make(cluster, [made.runs()], jobs, tell, keep)
            except RunError as e:
                raise RunError(f"{e}; what has finished is kept: go on with --resume") from None

    code = outcome(runs, lambda _: f"error: interrupted; {so_far} runs finished; go on with --resume")
    if code:
        return code
    # The folder is the latest there. Nothing is left to run.
    as_json = ["--json"] if given.json else []
    return _native.main(["queuewright", "suite", "--resume", *into, *as_json])
