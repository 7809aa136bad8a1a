"""Parts of a sweep: what another process is sent, without a cluster."""

import pickle
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import pytest
from conftest import without_clock

import queuewright as qw
from queuewright import _native, _ray


class Elsewhere:
    """A cluster that gets each call as bytes, and holds nothing else."""

    sent: ClassVar[list[bytes]] = []

    def cores(self) -> int:
        return 2

    def each(
        self,
        function: Callable[..., Any],
        calls: Sequence[tuple[Any, ...]],
        _: object,
        done: Callable[[Mapping[int, Any]], object],
    ) -> list[Any]:
        type(self).sent = [pickle.dumps(call) for call in calls]
        made = [function(*pickle.loads(call)) for call in self.sent]
        # Parts end in any order.
        done(dict(reversed(list(enumerate(made)))))
        return made


def test_what_a_part_is_sent_was_drawn_once(monkeypatch: pytest.MonkeyPatch, small: qw.Scenario) -> None:
    asked: dict[str, Any] = {"over": {"flows[0].count": ["1..9", "2..5"]}, "seeds": [1, 2, 3, 4]}
    here = qw.sweep(small, **asked, duration="2s", progress=False)
    monkeypatch.setattr(_ray, "Cluster", Elsewhere)
    there = qw.sweep(small, **asked, duration="2s", engine="ray", progress=False)
    for a, b in zip(here, there, strict=True):
        assert without_clock(a.to_json()) == without_clock(b.to_json())
    # No part has anything to draw from: neither a scenario nor a draft of one, but its runs alone.
    assert len(Elsewhere.sent) == 8
    for call in Elsewhere.sent:
        assert b"Scenario" not in call
        assert b"Draft" not in call
        (part,) = pickle.loads(call)
        assert sum(len(_native.Runs.unpack(packed)) for packed in part) == 2


def test_what_a_cluster_has_finished_is_kept(monkeypatch: pytest.MonkeyPatch, small: qw.Scenario) -> None:
    class Half(Elsewhere):
        def each(self, function: Any, calls: Any, _: object, done: Any) -> list[Any]:
            done({len(calls) - 1: function(*calls[-1])})
            raise KeyboardInterrupt

    monkeypatch.setattr(_ray, "Cluster", Half)
    over = {"flows[0].count": [1, 2]}
    with pytest.raises(KeyboardInterrupt) as caught:
        qw.sweep(small, over=over, duration="2s", seeds=[1, 2, 3, 4], engine="ray", progress=False)
    kept: qw.Sweep = caught.value.results  # type: ignore[attr-defined]
    assert kept.points == [{"flows[0].count": 2}]
    here = qw.run(small.changed(kept.points[0]), duration="2s", seeds=[1, 2, 3, 4], progress=False)
    assert kept[0].flows.rows() == here.flows.rows()[-len(kept[0].flows) :]


def test_runs_keep_what_they_are(small: qw.Scenario) -> None:
    runs = small._draft.runs()
    assert len(runs) == 4
    assert runs.pack(0, 4) == _native.Runs.unpack(runs.pack(0, 4)).pack(0, 4)
    assert _native.Runs.unpack(runs.pack(1, 3)).pack(1, 2) == runs.pack(2, 3)
    with pytest.raises(qw.Error, match="runs 3 to 5: not there"):
        runs.pack(3, 5)
    with pytest.raises(qw.Error, match="not packed runs"):
        _native.Runs.unpack(b"nothing")
