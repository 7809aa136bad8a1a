"""Scenarios: a link, its traffic, and the queue managers to compare."""

import itertools
import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

from queuewright import _native
from queuewright._native import VERSION, Error

# A table of the scenario file, or a value in one.
Table = Mapping[str, Any]
# A queue manager: as `--aqm` has it ("codel:target=10ms"), or the table that the file has.
Discipline = str | Table
Seeds = int | str | Iterable[int]


class Scenario:
    """A link, its traffic and the queue managers to compare: a scenario file's tables as keyword arguments.

    Keys, units and defaults are the file's (docs/scenario.md). Left out, `queue` compares droptail, codel,
    pie and titrate, and a run takes 60 s. Paths start from the working folder.

    Args:
        link: The bottleneck: `{"rate": "20mbit", "buffer": "2bdp"}`.
        flows: What is sent: `[{"count": 2, "cca": "cubic", "rtt": "20ms..80ms"}]`.
        queue: `{"disciplines": ["codel", {"name": "pie", "target": "10ms"}]}`.
        run: `{"duration": "60s", "warmup": "10s", "seeds": [1, 2, 3]}`.
        ports: Several links, instead of `link`.
        shared: The buffer that those links share.
        name: For titles.
        description: For people.

    Raises:
        Error: The first thing that is wrong, as the command says it.
    """

    __slots__ = ("_draft",)

    def __init__(
        self,
        *,
        link: Table | None = None,
        flows: Iterable[Table] | None = None,
        queue: Table | None = None,
        run: Table | None = None,
        ports: Iterable[Table] | None = None,
        shared: Table | None = None,
        name: str | None = None,
        description: str | None = None,
    ) -> None:
        tables = {
            "name": name,
            "description": description,
            "link": link,
            "ports": ports,
            "shared": shared,
            "flows": flows,
            "queue": queue,
            "run": run,
        }
        given = {key: value for key, value in tables.items() if value is not None}
        self._draft = _native.Draft.from_json(to_json(given))

    @classmethod
    def simple(
        cls,
        *,
        flows: str,
        rate: str | None = None,
        rtt: str | None = None,
        trace: str | os.PathLike[str] | None = None,
        buffer: str | None = None,
        aqm: str | None = None,
        duration: str | None = None,
        warmup: str | None = None,
        seeds: Seeds | None = None,
        stack: str | None = None,
    ) -> "Scenario":
        """A scenario in the words of `queuewright compare`.

        `Scenario.simple(rate="100mbit", rtt="20ms..80ms", flows="10xcubic,4xbbr,1xcbr:2mbit")`.

        Raises:
            Error: The first thing that is wrong, by the flag's name.
        """
        return cls._of(
            _native.Draft.from_flags(
                rate=rate,
                trace=None if trace is None else os.fspath(trace),
                rtt=rtt,
                flows=flows,
                aqm=aqm,
                buffer=buffer,
                duration=duration,
                warmup=warmup,
                seeds=seeds_text(seeds),
                stack=stack,
            )
        )

    @classmethod
    def _of(cls, draft: _native.Draft) -> "Scenario":
        made = cls.__new__(cls)
        made._draft = draft
        return made

    def changed(
        self,
        values: Mapping[str, Any] | None = None,
        /,
        *,
        aqm: Discipline | Iterable[Discipline] | None = None,
        seeds: Seeds | None = None,
        duration: str | None = None,
        warmup: str | None = None,
    ) -> "Scenario":
        """The same with other values.

        Args:
            values: By path: `{"link.rate": "50mbit", "flows[0].count": 4, "flows.rtt": "20ms"}`; without a
                number a path is that of all flows.
            aqm: Queue managers: `["codel", "pie:target=10ms", {"name": "static", "threshold": "1bdp"}]`.
            seeds: `3`, `range(1, 4)`, `[1, 2, 5]` or `"1..3"`.
            duration: Length of a run, warm-up included: `"60s"`.
            warmup: Time at the start that no measure counts.

        Raises:
            Error: The first thing that is wrong.
        """
        return self._of(
            self._draft.changed(
                [(path, to_json(value)) for path, value in (values or {}).items()],
                aqm=None if aqm is None else to_json(disciplines_list(aqm)),
                seeds=seeds_text(seeds),
                duration=duration,
                warmup=warmup,
            )
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it with defaults, as results have it, and its `hash`."""
        found: dict[str, Any] = json.loads(self._draft.to_json())
        return found

    def to_toml(self) -> str:
        """As a scenario file."""
        return self._draft.to_toml()

    @property
    def name(self) -> str | None:
        """Its name, if it has one."""
        found: str | None = self.to_dict().get("name")
        return found

    def __str__(self) -> str:
        """What would run, in words, as `queuewright check` says it."""
        return self._draft.words().rstrip("\n")

    def __repr__(self) -> str:
        return f"<queuewright.Scenario\n{self}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scenario) and self.to_dict() == other.to_dict()

    def __reduce__(self) -> tuple[Any, ...]:
        # The files that it names go with it.
        return _unpickled, (VERSION, *self._draft.pack())

    def __hash__(self) -> int:
        return hash(self._draft.to_json())


def points(over: Mapping[str, Iterable[Any]]) -> list[dict[str, Any]]:
    """Every combination of values, by path."""
    values = [list(over[path]) for path in over]
    return [dict(zip(over, combination, strict=True)) for combination in itertools.product(*values)]


def same_version(other: str) -> None:
    """Pickles, and Ray's tasks, are for one version.

    Raises:
        Error: It is another.
    """
    if other != VERSION:
        raise Error(
            f"pickled by queuewright {other}, and this is {VERSION}: the same is needed on both sides"
        )


def _unpickled(version: str, text: str, files: list[tuple[os.PathLike[str], bytes]]) -> Scenario:
    same_version(version)
    return Scenario._of(_native.Draft.unpack(text, files))


def load(path: str | os.PathLike[str]) -> Scenario:
    """A scenario file. Paths in it start from its folder.

    Raises:
        Error: The first thing wrong with the file, with its line.
    """
    return Scenario._of(_native.Draft.read(os.fspath(path)))


def to_json(value: object) -> str:
    """A value of a scenario as JSON: also of paths, ranges and what else can be gone through.

    Raises:
        Error: If there is something in it that no scenario can say.
    """
    try:
        return json.dumps(value, default=_plain, allow_nan=False)
    except (TypeError, ValueError) as e:
        raise Error(f"not a value of a scenario: {e}") from None


def _plain(value: object) -> object:
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Iterable):
        return list(value)
    item = getattr(value, "item", None)
    if callable(item):  # a number of numpy's
        return item()
    raise TypeError(f"{value!r} is of type {type(value).__name__}")


def seeds_text(seeds: Seeds | None) -> str | None:
    """Seeds as `--seeds` has them."""
    if seeds is None or isinstance(seeds, str):
        return seeds
    if isinstance(seeds, int):
        return str(seeds)
    return ",".join(str(seed) for seed in seeds)


def disciplines_list(aqm: Discipline | Iterable[Discipline]) -> list[Discipline]:
    """Queue managers, one by one."""
    if isinstance(aqm, str):
        return list(aqm.split(","))
    if isinstance(aqm, Mapping):
        return [aqm]
    return list(aqm)
