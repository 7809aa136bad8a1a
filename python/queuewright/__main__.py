"""The command `queuewright`, also as `python -m queuewright`."""

import importlib
import sys

from queuewright import _native, _suite

# What this package can, and the program alone cannot.
ELSEWHERE = {name: "queuewright._learn" for name in ("train", "evaluate", "export-policy")}
ELSEWHERE["tune"] = "queuewright._tune._command"


def main() -> int:
    """Does what the command line asks for.

    Returns:
        The exit code: 0 done, 1 a run failed, 2 wrong input, 130 interrupted.
    """
    if sys.stdout is None:
        print("error: standard output is closed", file=sys.stderr)
        return 1
    words = sys.argv[1:]
    if words[:1] == ["help"] and words[1:2] and words[1] in ELSEWHERE:
        words = [words[1], "--help"]
    if words and words[0] in ELSEWHERE:
        command = importlib.import_module(ELSEWHERE[words[0]])
        done: int = command.main(words)
        return done
    if _suite.asks(words):
        return _suite.main(words)
    return _native.main(["queuewright", *words])


if __name__ == "__main__":
    sys.exit(main())
