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

from queuewright._native import VERSION as __version__
from queuewright._native import Error, RunError, Table
from queuewright._results import Results, Sweep
from queuewright._run import compare, run, sweep
from queuewright._scenario import Scenario, load
from queuewright._tune import tune
from queuewright._tune._tuned import Tuned
from queuewright._words import disciplines, explain, number

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
