"""The command `queuewright`, also as `python -m queuewright`."""

import sys

from queuewright import _native


def main() -> int:
    """Does what the command line asks for.

    Returns:
        The exit code: 0 done, 1 a run failed, 2 wrong input, 130 interrupted.
    """
    return _native.main(["queuewright", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
