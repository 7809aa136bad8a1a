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
    if sys.argv[1:2] and sys.argv[1] in ELSEWHERE:
        command = importlib.import_module(ELSEWHERE[sys.argv[1]])
        done: int = command.main(sys.argv[1:])
        return done
    if _suite.asks(sys.argv[1:]):
        return _suite.main(sys.argv[1:])
    return _native.main(["queuewright", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
