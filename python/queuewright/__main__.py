"""The command `queuewright`, also as `python -m queuewright`."""

import sys

from queuewright import _native

# What this package can, and the program alone cannot.
LEARNING = ("train", "evaluate", "export-policy")


def main() -> int:
    """Does what the command line asks for.

    Returns:
        The exit code: 0 done, 1 a run failed, 2 wrong input, 130 interrupted.
    """
    if sys.argv[1:2] and sys.argv[1] in LEARNING:
        try:
            from queuewright.learn import _command
        except _native.Error as e:
            print(f"error: {e}", file=sys.stderr)
            return 2
        return _command.main(sys.argv[1:])
    return _native.main(["queuewright", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
