"""How a command of the package ends."""

import sys
from collections.abc import Callable

from queuewright._native import Error, RunError


def outcome(
    act: Callable[[], object],
    interrupted: Callable[[KeyboardInterrupt], str],
    words: Callable[[str], str] = str,
) -> int:
    """Does it; what goes wrong is a line on standard error.

    Args:
        act: What is to be done.
        interrupted: What is said after Ctrl-C.
        words: The words of wrong input as the command has them.

    Returns:
        The exit code of `queuewright`: 0 done, 1 a run failed, 2 wrong input, 130 interrupted.
    """
    try:
        act()
    except Error as e:
        print(f"error: {words(str(e))}", file=sys.stderr)
        return 2
    except RunError as e:
        print(f"error: {e}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as e:
        print(interrupted(e), file=sys.stderr)
        return 130
    return 0
