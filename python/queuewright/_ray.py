"""Runs and episodes on a Ray cluster: the one Ray is connected to, that of RAY_ADDRESS, or this machine."""

import functools
import importlib
import os
import pickle
import socket
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from queuewright import _native
from queuewright._asked import needing
from queuewright._native import VERSION, Error, RunError, Runs
from queuewright._networks import Domain
from queuewright._scenario import Scenario, same_version

# The oldest that is known to do.
OLDEST = (2, 40)
# How often progress is told, s.
_EVERY = 0.1
# How long a cluster's head may take to answer, s.
_PATIENCE = 10.0
# Tasks for each core, so that none has to wait long for the last; and the most runs in one.
_PARTS, _MOST = 4, 64


def library() -> Any:
    """Ray; a cluster that is named answers, and nothing is started.

    Raises:
        Error: It is too old, or nobody answers.
        ImportError: It is not there.
    """
    with needing('engine = "ray" needs', "pip install 'queuewright[ray]'"):
        ray: Any = importlib.import_module("ray")
    if tuple(int(part) for part in ray.__version__.split(".")[:2]) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise Error(f'engine = "ray": this is Ray {ray.__version__}; {oldest} or newer is needed')
    if not ray.is_initialized():
        _listens(_address())
    return ray


def _address() -> str:
    # Left alone Ray would look for a cluster that was here once, and wait for it.
    return os.environ.get("RAY_ADDRESS") or "local"


class Cluster:
    """Cores that work for us."""

    def __init__(self) -> None:
        self.ray = library()
        if not self.ray.is_initialized():
            # Whoever wants to report to its makers says so.
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            try:
                self.ray.init(_address(), include_dashboard=False, log_to_driver=False)
            except Exception as e:  # of no one kind
                raise Error(f'engine = "ray": {_line(e)}') from None
        self._task = self.ray.remote(num_cpus=1)(_work)

    def cores(self) -> int:
        """How many there are, now."""
        return max(1, int(self.ray.cluster_resources().get("CPU", 0)))

    def each(
        self,
        function: Callable[..., Any],
        calls: Sequence[tuple[Any, ...]],
        at_a_time: int | None = None,
        done: Callable[[Mapping[int, Any]], object] = lambda _: None,
    ) -> list[Any]:
        """What a function gives for each of these arguments, in their order.

        Args:
            function: One of a module, which the workers have, too.
            calls: Its arguments.
            at_a_time: So many calls; default: so that no core has to wait.
            done: Is told what the calls that have ended gave, by their number, also when none has. What it
                raises ends the others.
        """
        errors = self.ray.exceptions
        most = at_a_time or 2 * self.cores()
        made: list[Any] = [None] * len(calls)
        waiting = deque(range(len(calls)))
        under_way: dict[Any, int] = {}
        try:
            while waiting or under_way:
                while waiting and len(under_way) < most:
                    i = waiting.popleft()
                    under_way[self._task.remote(VERSION, function, *calls[i])] = i
                ready, _ = self.ray.wait(list(under_way), timeout=_EVERY)
                ended = [under_way.pop(ref) for ref in ready]
                of_these = dict(zip(ended, self.ray.get(ready), strict=True))
                for i, one in of_these.items():
                    made[i] = one
                done(of_these)
        except errors.RayTaskError as e:
            if isinstance(e.cause, Error | RunError):
                raise e.cause from None
            raise _failed(e.cause) from None
        except errors.RayError as e:
            raise _failed(e) from None
        finally:
            for ref in under_way:
                self.ray.cancel(ref)
        return made


def _listens(address: str) -> None:
    """Ray itself would try for minutes.

    Raises:
        Error: Nobody listens there.
    """
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if port.isdecimal():
        try:
            socket.create_connection((host.strip("[]"), int(port)), _PATIENCE).close()
        except (OSError, OverflowError) as e:
            raise Error(f'RAY_ADDRESS = "{address}": no cluster there: {_line(e)}') from None


def _line(e: object) -> str:
    """The line of an exception's text that says what it is: the last of a traceback."""
    lines = [line.strip() for line in str(e).splitlines() if line.strip()]
    return lines[-1] if lines else type(e).__name__


def _failed(e: object) -> RunError:
    line = _line(e)
    hint = f" (every machine needs queuewright {VERSION})" if "queuewright" in line else ""
    return RunError(f"a Ray worker failed: {line}{hint}")


def _work(version: str, function: Callable[..., Any], *args: Any) -> Any:
    """What a worker does."""
    same_version(version)
    return function(*args)


# ------------------------------------------------------------------------- runs


def runs(
    scenarios: Sequence[Scenario], jobs: int | None, tell: Callable[[float, int, int], object] | None
) -> list[_native.Results]:
    """`_native.run`, on a cluster."""
    # Of each scenario, with the first run's number, as parts end in any order.
    packed: list[list[tuple[int, bytes]]] = [[] for _ in scenarios]

    def finished() -> list[_native.Results]:
        each = zip(scenarios, packed, strict=True)
        return [_native.Results.unpack(one._draft, [some for _, some in sorted(own)]) for one, own in each]

    drawn = [scenario._draft.runs() for scenario in scenarios]
    cluster = Cluster()
    try:
        make(cluster, drawn, jobs, tell, lambda i, begin, some: packed[i].append((begin, some)))
    except BaseException as e:
        e.results = finished()  # type: ignore[attr-defined]
        raise
    return finished()


def make(
    cluster: Cluster,
    drawn: Sequence[Runs],
    jobs: int | None,
    tell: Callable[[float, int, int], object] | None,
    got: Callable[[int, int, bytes], object],
) -> None:
    """Makes runs that are drawn.

    Args:
        cluster: Where.
        drawn: Of each scenario.
        jobs: So many tasks at a time; default: as `Cluster.each`.
        tell: Is told the share done, the runs done and all runs.
        got: Is told of runs as they end: of which scenario, from which one on, and what `run_some` gave.
    """
    counts = [len(runs) for runs in drawn]
    total, so_far = sum(counts), 0
    size = min(max(total // (_PARTS * (jobs or cluster.cores())), 1), _MOST)
    parts = list(_parts(counts, size))

    def done(ended: Mapping[int, list[bytes]]) -> None:
        nonlocal so_far
        for part, made in ended.items():
            for (i, begin, end), some in zip(parts[part], made, strict=True):
                got(i, begin, some)
                so_far += end - begin
        if tell is not None:
            tell(so_far / max(total, 1), so_far, total)

    cluster.each(
        _runs, [([drawn[i].pack(begin, end) for i, begin, end in part],) for part in parts], jobs, done
    )


def _parts(counts: Sequence[int], size: int) -> Iterator[list[tuple[int, int, int]]]:
    """All runs of scenarios with so many each, `size` at a time: (scenario, first, after the last)."""
    part: list[tuple[int, int, int]] = []
    room = size
    for i, count in enumerate(counts):
        begin = 0
        while begin < count:
            end = min(begin + room, count)
            part.append((i, begin, end))
            room -= end - begin
            begin = end
            if room == 0:
                yield part
                part, room = [], size
    if part:
        yield part


def _runs(part: Sequence[bytes]) -> list[bytes]:
    """In a worker: it gets what was drawn elsewhere, and draws nothing itself."""
    return [_native.run_some(Runs.unpack(packed)) for packed in part]


# --------------------------------------------------------------------- episodes


class Players:
    """Networks in which a cluster plays, an episode on each core: as `_native.Domain`, to the bit."""

    def __init__(self, networks: Domain) -> None:
        self._count = len(networks)
        self._cluster = Cluster()
        # Sent to a machine once.
        self._networks = self._cluster.ray.put(pickle.dumps(networks))

    def __len__(self) -> int:
        """How many networks."""
        return self._count

    def play(self, weights: bytes | None, which: Sequence[tuple[int, int]]) -> tuple[bytes, bytes, int]:
        """See `_native.Domain.play`."""
        calls = [(self._networks, weights, episode) for episode in which]
        played = self._cluster.each(_episode, calls)
        if len({len(actions) for _, actions, _ in played}) > 1:
            raise Error(
                "networks: episodes of one length are needed, and these have several; "
                "write the same run.duration in each"
            )
        inputs, actions, packets = zip(*played, strict=True)
        return b"".join(inputs), b"".join(actions), sum(packets)


def _episode(networks: bytes, weights: bytes | None, episode: tuple[int, int]) -> tuple[bytes, bytes, int]:
    return _here(networks).play(weights, [episode])


@functools.lru_cache(maxsize=4)
def _here(networks: bytes) -> _native.Domain:
    """A worker's own copy, for the next episode, too."""
    given: Domain = pickle.loads(networks)
    return given._native()
