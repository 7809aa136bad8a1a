"""`suite --engine ray`: a suite's runs on a Ray cluster; what comes of them is the program's."""

import sys
from collections.abc import Mapping, Sequence

from queuewright import _native
from queuewright._native import Error, RunError, SuiteRuns
from queuewright._progress import reporter
from queuewright._ray import Cluster, parts, run_parts

_ENGINE = "--engine"


def asks(words: Sequence[str]) -> bool:
    """Is it a command line of `suite` for a cluster?"""
    return words[:1] == ["suite"] and _split(words)[1] == "ray"


def _split(words: Sequence[str]) -> tuple[list[str], str | None]:
    """The words without the engine, and the engine."""
    rest, engine, i = [], None, 0
    while i < len(words):
        if words[i] == _ENGINE and i + 1 < len(words):
            engine, i = words[i + 1], i + 2
        elif words[i].startswith(f"{_ENGINE}="):
            engine, i = words[i].partition("=")[2], i + 1
        else:
            rest.append(words[i])
            i += 1
    return rest, engine


def main(words: Sequence[str]) -> int:
    """Makes the runs on the cluster, then has the program score what is there.

    Returns:
        The exit code: 0 done, 1 a run failed, 2 wrong input, 130 interrupted.
    """
    rest, _ = _split(words)
    try:
        cluster = Cluster()
        made = SuiteRuns(rest)
        code = _runs(cluster, made)
    except Error as e:
        print(f"error: {e}", file=sys.stderr)
        return 2
    except RunError as e:
        print(f"error: {e}; what has finished is kept: go on with --resume", file=sys.stderr)
        return 1
    if code:
        return code
    # The folder is the latest there. Nothing is left to run.
    begun = [word for word in rest[1:] if word in ("--json",) or word.startswith("--out=")]
    if "--out" in rest:
        at = rest.index("--out")
        begun += rest[at : at + 2]
    return _native.main(["queuewright", "suite", "--resume", *begun])


def _runs(cluster: Cluster, made: SuiteRuns) -> int:
    """Gives 130 where it was interrupted."""
    runs = made.runs()
    total, so_far = len(runs), 0
    of = parts(total, cluster.cores())
    with reporter(None) as tell:

        def done(ended: Mapping[int, list[bytes]]) -> None:
            nonlocal so_far
            for part, [packed] in ended.items():
                begin, end = of[part]
                made.add(begin, packed)
                so_far += end - begin
            if tell is not None:
                tell(so_far / max(total, 1), so_far, total)

        try:
            cluster.each(run_parts, [([runs.pack(begin, end)],) for begin, end in of], done=done)
        except KeyboardInterrupt:
            print(f"error: interrupted; {so_far} runs finished; go on with --resume", file=sys.stderr)
            return 130
    return 0
