"""How a command of the package ends."""

import argparse
import contextlib
import os
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from queuewright._native import Error, RunError


class Parser(argparse.ArgumentParser):
    """One whose help, too, is an error where it cannot be written, and whose errors are one line."""

    def print_help(self, file: Any = None) -> None:
        """Prints it."""
        print(self.format_help(), end="", file=file)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """All words are known, or the command that they are of says so, not the one above it."""
        given, rest = super().parse_known_args(args, namespace)
        if rest:
            self.error(f"unrecognized arguments: {' '.join(rest)}")
        return given, rest

    def error(self, message: str) -> NoReturn:
        """Raises Error: a line that cannot be read."""
        raise Error(f"{message}; try {self.prog} --help")


def in_flags(text: str, flags: Mapping[str, str], ends: str) -> str:
    """An error of the package in the command's words.

    Args:
        text: What begins with an argument's name.
        flags: What the command calls arguments.
        ends: What comes behind the name, a regular expression.
    """
    found = re.match(rf"([\w.]+)(?:\[\d+\])?(?={ends})", text)
    flag = flags.get(found[1]) if found else None
    return f"{flag}{text[found.end() :]}" if found and flag else text


def outcome(
    act: Callable[[], object],
    interrupted: Callable[[KeyboardInterrupt], str],
    words: Callable[[str], str] = str,
) -> int:
    """Does it; what goes wrong is a line on standard error.

    Args:
        act: What is to be done, reading the command line included.
        interrupted: What is said after Ctrl-C.
        words: The words of wrong input as the command has them.

    Returns:
        The exit code of `queuewright`: 0 done, 1 a run failed, 2 wrong input, or a library is missing, 130
        interrupted.
    """
    try:
        code = 0
        try:
            act()
        except SystemExit as e:  # of the help
            code = int(e.code or 0)
        sys.stdout.flush()
        return code
    except (Error, ImportError) as e:
        print(f"error: {words(str(e))}", file=sys.stderr)
        return 2
    except RunError as e:
        print(f"error: {e}", file=sys.stderr)
        return 1
    except OSError as e:
        return _unwritten(e)
    except KeyboardInterrupt as e:
        print(interrupted(e), file=sys.stderr)
        return 130


def _unwritten(e: OSError) -> int:
    """What is written to standard output arrives; a reader that has seen enough (`| head`) is no error."""
    # What is still to be written would be tried once more at the end.
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(e, BrokenPipeError):
        return 0
    where = "standard output" if e.filename is None else str(e.filename)
    print(f"error: {where}: {e.strerror}", file=sys.stderr)
    return 1
