"""Keys by their old names: read for one more version, with a warning that names the new one."""

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

import queuewright as qw

PORTS = [{"name": "a", "rate": "10mbit"}, {"name": "b", "rate": "10mbit"}]
# Old name, new name, a value, and what stands beside it.
CASES: dict[str, tuple[str, Any, dict[str, Any], dict[str, Any]]] = {
    "back": ("reverse_ports", ["b"], {"cca": "cubic", "rtt": "20ms", "ports": ["a"]}, {"ports": PORTS}),
    "burst": ("pages", {"at": ["1s"]}, {"cca": "cubic", "rtt": "20ms"}, {"link": {"rate": "10mbit"}}),
    "length": ("duration", "1s", {"cbr": "1mbit"}, {"link": {"rate": "10mbit", "buffer": "100p"}}),
}


def old_names(schema: dict[str, Any]) -> set[str]:
    """Those of the flows' keys in the schema."""
    found: dict[str, Any] = schema["properties"]["flows"]["items"]["properties"]
    return {name for name, key in found.items() if key.get("deprecated")}


def test_every_old_name_has_its_case() -> None:
    schema = json.loads((ROOT / "docs/scenario.schema.json").read_text())
    assert old_names(schema) == set(CASES)


@pytest.mark.parametrize("old", CASES)
def test_old_names_are_read_with_a_warning(old: str, tmp_path: Path) -> None:
    new, value, beside, top = CASES[old]

    def made(key: str) -> qw.Scenario:
        return qw.Scenario(flows=[{**beside, key: value}], run={"duration": "2s"}, **top)  # type: ignore[typeddict-item]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        want = made(new)
    said = rf"flows\[0\]\.{old}: the old name of {new}; the next version reads only that"
    with pytest.warns(FutureWarning, match=rf"^{said}") as heard:
        found = made(old)
    # At the line that wrote it.
    assert [w.filename for w in heard] == [__file__]
    assert found.to_dict() == want.to_dict()

    path = tmp_path / "old.toml"
    path.write_text(want.to_toml().replace(f"{new} = ", f"{old} = ", 1))
    assert f"{old} = " in path.read_text()
    with pytest.warns(FutureWarning, match=said):
        assert qw.load(path).to_dict() == want.to_dict()

    # Said once: what is made of it does not say it again.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found.changed(seeds=2)
    with pytest.warns(FutureWarning, match=f"flows.{old}: the old name"):
        assert want.changed({f"flows.{old}": value}) == want
    with pytest.raises(qw.Error, match=f"the old name of {new}, which is there, too"):
        qw.Scenario(flows=[{**beside, old: value, new: value}], run={"duration": "2s"}, **top)  # type: ignore[typeddict-item]


def test_an_old_name_gives_the_same_runs() -> None:
    def runs(key: str) -> Any:
        flows = f"1xcubic,1xcbr:1mbit:{key}=500ms"
        simple = qw.Scenario.simple(rate="10mbit", rtt="20ms", flows=flows, duration="2s", aqm="codel")
        made = qw.run(simple)
        return [made.flows[name] for name in made.flows.columns]

    with pytest.warns(FutureWarning, match=r"--flows\[1\].length: the old name of duration"):
        old = runs("length")
    assert repr(old) == repr(runs("duration"))
