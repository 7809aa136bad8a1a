"""What the package asks of the crates; `queuewright` is what there is to use."""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, SupportsIndex, final, overload

__all__ = [
    "DEFAULT_AQM",
    "VERSION",
    "Domain",
    "Draft",
    "Envs",
    "Error",
    "Interrupt",
    "Results",
    "RunError",
    "Runs",
    "SuiteRuns",
    "Table",
    "ask_for_code",
    "catalog",
    "concat",
    "explain",
    "main",
    "nanoseconds",
    "network",
    "new_folder",
    "number",
    "read_policy",
    "run",
    "run_some",
    "suggest",
    "suite",
    "suites",
    "write_policy",
]

VERSION: str
# What is compared if nothing is named.
DEFAULT_AQM: str

class Error(ValueError):
    """Wrong input, in the words of the command: where, what was found, what is allowed."""

class RunError(RuntimeError):
    """A run failed, or results could not be written.

    What an interrupted or failed call has finished is the exception's `results`.
    """

    results: Any

@final
class Table:
    """Rows and named columns in Arrow's memory format.

    Libraries that know Arrow read it without a copy: `polars.DataFrame(table)`, `pyarrow.table(table)`, and
    duckdb by a variable's name. None of them is needed to look at it: `table["seed"]` is a column, `table[0]`
    a row, `"seed" in table` asks for a column, and who goes through it gets its rows.
    """

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""

    def rows(self) -> list[dict[str, Any]]:
        """Its rows, each a dict by the columns' names; None for what is not known."""

    def __len__(self) -> int:
        """How many rows."""

    @overload
    def __getitem__(self, key: str, /) -> list[Any]: ...
    @overload
    def __getitem__(self, key: SupportsIndex, /) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, key: slice, /) -> list[dict[str, Any]]: ...
    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Its rows."""

    def __contains__(self, name: object, /) -> bool:
        """Is there such a column?"""

    def to_polars(self) -> Any:
        """As a polars DataFrame."""

    def to_pandas(self) -> Any:
        """As a pandas DataFrame; whole numbers are `Int64`, which has a place for what is not known."""

    def _repr_html_(self) -> str: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Arrow's PyCapsule interface."""

    def __arrow_c_schema__(self) -> object:
        """Arrow's PyCapsule interface."""

    def to_ipc(self) -> bytes:
        """As a stream of Arrow's IPC format."""

    @staticmethod
    def from_ipc(bytes: bytes) -> Table:
        """Out of such a stream."""

@final
class Draft:
    """A scenario, checked, and open to changes."""

    @staticmethod
    def read(path: str | os.PathLike[str]) -> Draft:
        """A scenario file."""

    @staticmethod
    def from_toml(text: str) -> Draft:
        """The text of a scenario file."""

    @staticmethod
    def from_json(text: str) -> Draft:
        """The tables of a scenario file, as JSON."""

    @staticmethod
    def from_flags(flags: Sequence[tuple[str, str]], *, aqm: str | None = None) -> Draft:
        """What `queuewright compare` takes: flags by name, and disciplines (a JSON list)."""

    def changed(
        self,
        values: Sequence[tuple[str, str]],
        flags: Sequence[tuple[str, str]],
        *,
        aqm: str | None = None,
    ) -> Draft:
        """With values (JSON) at paths, disciplines (a JSON list), and as if it said what these flags say."""

    def warnings(self) -> list[str]:
        """What it should say otherwise that was not said of the one that it was made from, a line each."""

    def pack(self) -> tuple[str, list[tuple[os.PathLike[str], bytes]]]:
        """For `unpack`: itself, and the files that it names, by path, with what is in them."""

    @staticmethod
    def unpack(text: str, files: Sequence[tuple[os.PathLike[str], bytes]]) -> Draft:
        """What `pack` gave."""

    def runs(self) -> Runs:
        """Its runs: all that is to be drawn is drawn here."""

    def to_json(self) -> str:
        """As results have it, as JSON."""

    def to_toml(self) -> str:
        """As a scenario file."""

    def buffer_packets(self) -> int:
        """The buffer of the first link in full packets, rounded up; 0: it has no limit."""

    def words(self) -> str:
        """In words, as `queuewright check` says it."""

@final
class Interrupt:
    """Ctrl-C from now on: also one of which Python never tells, as it is in a finaliser."""

    def __new__(cls) -> Interrupt: ...
    def pressed(self) -> bool:
        """Was it pressed, and has the program no handler of its own, which decides?"""

@final
class Runs:
    """Runs of a scenario with all that is drawn: what another process needs to make them."""

    def __len__(self) -> int:
        """How many."""

    def pack(self, begin: int, end: int) -> bytes:
        """Those from `begin` to before `end`, for `unpack`."""

    @staticmethod
    def unpack(packed: bytes) -> Runs:
        """What `pack` gave."""

@final
class SuiteRuns:
    """The runs that a command line of `suite` needs, made in other processes."""

    def __new__(cls, words: Sequence[str]) -> SuiteRuns:
        """Of the command's words, its name first, without `--engine ray`. A new run has its folder then."""

    def runs(self) -> Runs:
        """The runs, the longest first."""

    def add(self, begin: int, packed: bytes) -> int:
        """Keeps what `run_some` gave of the runs from `begin` on, for `--resume`; gives how many."""

@final
class Domain:
    """Networks of which each episode of an environment draws one."""

    @staticmethod
    def paper(
        *,
        rate: str,
        rtt: Sequence[str],
        flows: Sequence[int],
        udp: Sequence[str] | None,
        buffer: Sequence[str],
        episode: str,
    ) -> Domain:
        """Networks as the paper's, every combination of these."""

    @staticmethod
    def of(drafts: Sequence[Draft]) -> Domain:
        """These scenarios."""

    @staticmethod
    def join(several: Sequence[Domain]) -> Domain:
        """All of these."""

    def acting(self, kind: str) -> Domain:
        """The same with another kind of action."""

    def play(self, weights: bytes | None, which: Sequence[tuple[int, int]]) -> tuple[bytes, bytes, int]:
        """An episode of each (task, seed), under a policy that chooses for itself.

        It gives inputs (float32, 13 for each step and the end), actions (uint8, one for each) and packets
        sent, of all episodes. Weights are int16, tensor after tensor; None: the scripted policy.
        """

    def scenarios(self) -> list[Draft]:
        """Its scenarios."""

    def rtt_steps(self) -> list[float]:
        """Of each the mean of its flows' round-trip times without queues, in steps, in a run of seed 0."""

    def __len__(self) -> int:
        """How many."""

@final
class Envs:
    """Environments side by side, stepped on all cores."""

    def __new__(cls, domain: Domain, count: int, seed: int) -> Envs: ...
    def reset(self, seeds: Sequence[int | None]) -> None:
        """Begins an episode in each; None: what follows from the seed before."""

    def renew(self) -> None:
        """An episode begins in each whose last has ended, instead of at the next step."""

    def step(self, actions: bytes) -> tuple[bytes, bytes, bytes]:
        """A step of each.

        Actions are uint32; it gives inputs (float32, 13 each), rewards (float32), and which end (bool).
        """

    def infos(self) -> bytes:
        """What agents cannot see, of the last step of each: float64, in `network()`'s order of `info`."""

    def packets(self) -> int:
        """Packets that links have sent in all of them."""

@final
class Results:
    """The results of a scenario."""

    def pack(self) -> tuple[Draft, bytes, Table]:
        """What `unpack` makes them of: the scenario, its runs packed, and their time series."""

    @staticmethod
    def unpack(draft: Draft, packed: Sequence[bytes], series: Table | None = None) -> Results:
        """Results of a scenario, of which `run_some` or `pack` packed some runs each, in order."""

    @property
    def draft(self) -> Draft: ...
    @property
    def runs(self) -> Table: ...
    @property
    def queues(self) -> Table: ...
    @property
    def groups(self) -> Table: ...
    @property
    def flows(self) -> Table: ...
    @property
    def responsiveness(self) -> Table: ...
    @property
    def cdf(self) -> Table: ...
    @property
    def transfers(self) -> Table: ...
    @property
    def series(self) -> Table: ...
    def rewards(self) -> list[float | None]:
        """QueuePilot's reward of each run, a step being a sample of its time series."""

    def measures(self) -> list[tuple[str, int, dict[str, float]]]:
        """Of each run its discipline, seed and every measure that has a value, by its path."""

    def to_json(self) -> str:
        """What `queuewright run --json` prints."""

    def summary(self) -> str:
        """What `queuewright run` prints in a pipe."""

    def save(self, base: str | os.PathLike[str], name: str) -> os.PathLike[str]:
        """Writes the folder that `queuewright run` writes, under `base`; gives its path."""

def run(
    drafts: Sequence[Draft],
    *,
    without: Sequence[str] | None = None,
    linux: bool = False,
    at_a_time: int | None = None,
    progress: Callable[[float, int, int], object] | None = None,
) -> list[Results]:
    """Makes all runs of these scenarios and gives each one's results.

    With groups that are left out each run is also made without them, and says what the others lose.
    """

def run_some(runs: Runs) -> bytes:
    """Makes these runs, one at a time, and gives their results packed, for `Results.unpack`."""

def suite(name: str, folder: str | os.PathLike[str]) -> list[str]:
    """Writes a suite's scenarios into a folder; gives the name of each, in their order."""

def suites() -> list[str]:
    """Names of the program's own suites."""

def new_folder(base: str | os.PathLike[str], name: str) -> os.PathLike[str]:
    """Makes a folder for results under `base`, named by the time and `name`; gives its path."""

def concat(tables: Sequence[Table], points: str) -> Table:
    """Tables one below the other, each with constant columns (a JSON object for each) in front."""

def read_policy(source: str) -> str:
    """A policy's file, checked, or one that the program brings, as JSON."""

def network() -> str:
    """What QueuePilot's network is, as JSON.

    Its tensors with their shapes, its observations with the largest value of each, its actions, and what
    whole numbers stand for 1.
    """

def write_policy(weights: bytes, name: str, actions: str, description: str | None = None) -> str:
    """The file of a policy with these weights (int16, tensor after tensor)."""

def catalog() -> str:
    """Disciplines, congestion controls and mixes, as JSON."""

def explain(name: str) -> str:
    """The page on a discipline or congestion control."""

def nanoseconds(time: str) -> int:
    """A time in words, such as "5s"."""

def ask_for_code(theirs: str) -> None:
    """Raises Error where a text of a file that may be anybody's names a header that nobody has allowed."""

def suggest(word: str, allowed: list[str]) -> str:
    """`; did you mean "x"?` for a word close to an allowed one, and the allowed ones."""

def number(text: str) -> tuple[float, str]:
    """A rate in bit/s, a time in seconds or a size in bytes, and which of them: "bit/s", "s" or "bytes"."""

def main(args: Sequence[str]) -> int:
    """The command `queuewright`: its exit code."""
