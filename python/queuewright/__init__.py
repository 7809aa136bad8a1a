"""Queuewright: compare queueing disciplines (AQM) on a link.

    import queuewright as qw

    home = qw.Scenario(
        link={"rate": "20mbit", "buffer": "2bdp"},
        flows=[{"count": 2, "cca": "cubic", "rtt": "20ms..80ms"}],
    )
    results = qw.run(home, aqm=["codel", "pie"], seeds=range(1, 4), duration="30s")
    print(results)

What a scenario can say is in docs/scenario.md; the same keys, as keyword arguments, dicts and lists. Tables
of results (`results.runs`, `.flows`, `.series`, ...) are Arrow's: `results.flows.to_polars()`.
"""

import sys
from typing import TYPE_CHECKING

from queuewright._native import VERSION as __version__
from queuewright._native import Error, RunError, Table
from queuewright._results import Results, Sweep
from queuewright._run import compare, run, sweep
from queuewright._scenario import Scenario, load
from queuewright._words import disciplines, explain, number

if TYPE_CHECKING:
    from queuewright._tune import tune
    from queuewright._tune._tuned import Tuned
else:

    def __getattr__(name: str) -> object:
        """`tune` and `Tuned`, for which nobody else waits."""
        if name in ("Tuned", "tune"):
            from queuewright import _tune

            return getattr(_tune, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


__all__ = [
    "Error",
    "Results",
    "RunError",
    "Scenario",
    "Sweep",
    "Table",
    "Tuned",
    "__version__",
    "compare",
    "disciplines",
    "explain",
    "load",
    "number",
    "run",
    "sweep",
    "tune",
]

# Who has imported Gymnasium finds the environments of queuewright.envs there; nobody else waits for it.
if "gymnasium" in sys.modules:
    from queuewright._register import register

    register()
