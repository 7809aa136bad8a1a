"""How far runs have got."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

# True, False, whatever suits the place (None), or a function of the share done, the runs done and all runs.
Progress = bool | Callable[[float, int, int], object] | None

# No bar for what is over before it is read, s.
_A_MOMENT = 0.5
_WIDTH = 40


@contextmanager
def reporter(progress: Progress) -> Iterator[Callable[[float, int, int], object] | None]:
    """What is to be called as runs get on."""
    if progress is None:
        progress = sys.stderr is not None and (sys.stderr.isatty() or _in_notebook())
    elif progress is True:
        progress = sys.stderr is not None
    if not isinstance(progress, bool):
        yield progress
    elif not progress:
        yield None
    else:
        bar = _Bar()
        try:
            yield bar.tell
        finally:
            bar.end()


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    return ipython is not None and getattr(ipython.get_ipython(), "kernel", None) is not None


class _Bar:
    """A line that is written over: terminals and notebooks both do that."""

    def __init__(self) -> None:
        self.begun = time.monotonic()
        self.shown = ""

    def tell(self, share: float, done: int, runs: int) -> None:
        passed = time.monotonic() - self.begun
        if passed < _A_MOMENT:
            return
        bar = ("=" * int(share * _WIDTH)).ljust(_WIDTH)
        left = f"{passed * (1 - share) / share:.0f} s left" if share > 0.01 else ""
        self._show(f"[{bar}] {share:4.0%}  {done}/{runs} runs  {left}")

    def end(self) -> None:
        if self.shown:
            self._show("", "\r")

    def _show(self, text: str, end: str = "") -> None:
        # Runs go on without a bar where it cannot be written: to a file that is closed, on a full disk.
        with suppress(OSError, ValueError):
            sys.stderr.write("\r" + text.ljust(len(self.shown)) + end)
            sys.stderr.flush()
        self.shown = text
