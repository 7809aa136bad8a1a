"""Learned policies: what trainings are told, that they learn, what they leave, and the arithmetic."""

import itertools
import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import ROOT, Command

pytest.importorskip("jax")
pytest.importorskip("optax")

import jax.numpy as jnp

import queuewright as qw
from queuewright import envs, learn
from queuewright._asked import FIGURES, MEASURES, PRESETS, RIVALS
from queuewright.learn import _config, _evaluate, _policy, _ppo, _train

SMALL = ROOT / "examples/training/small.toml"
# As small as learns something in a moment.
TINY = {
    "name": "tiny",
    "networks": [
        {
            "rate": "20mbit",
            "rtt": ["20ms"],
            "flows": [6],
            "udp": ["1mbit"],
            "buffer": ["small"],
            "episode": "1s",
        }
    ],
    "learning": {"steps": 1600, "episodes": 4, "chunk": 50, "minibatches": 4, "epochs": 2},
    "evaluation": {"every": 800, "episodes": 4},
}


def tiny(**learning: object) -> learn.Config:
    return learn.config(TINY | {"learning": TINY["learning"] | learning})


def random_policy(seed: int, size: float) -> learn.Policy:
    rng = np.random.default_rng(seed)
    params = {key: rng.normal(0, size, shape) for key, shape in _policy.SHAPES.items()}
    params["last_bias"] *= 0
    return learn.Policy.quantised(params, "random", "marking", None)


# ---------------------------------------------------------------- the arithmetic


def test_the_table_of_tanh_is_the_headers():
    text = (ROOT / "aqm/queuepilot.h").read_text()
    text = text[text.index("table[258] = {") :]
    numbers = text[text.index("{") + 1 : text.index("}")].replace("\n", " ").split(",")
    assert [int(n) for n in numbers if n.strip()] == _policy._TANH.tolist()


@pytest.mark.parametrize(
    "policy", [random_policy(1, 1.0), random_policy(2, 1.5), random_policy(3, 2.0), "queuepilot", "acc"]
)
def test_inference_is_that_of_c_to_the_bit(policy):
    """A policy that takes its best action chooses in C, step by step, what is best here."""
    if isinstance(policy, str):
        policy = learn.Policy.read(policy)
    scenario = qw.Scenario(
        link={"rate": "20mbit", "buffer": "40p"},
        flows=[{"count": 6, "cca": "cubic", "ecn": True, "rtt": "10ms..40ms"}, {"cbr": "2mbit"}],
        queue={"disciplines": [{"name": "queuepilot", "rate": "20mbit", "sample": False}]},
        run={"duration": "4s", "warmup": "0s"},
    )
    networks = envs.domain(scenario).acting(policy.actions)._native()
    seen, done, _ = networks.play(policy.to_bytes(), [(0, seed) for seed in range(3)])
    inputs = np.frombuffer(seen, np.float32).reshape(3, -1, 13)
    actions = np.frombuffer(done, np.uint8).reshape(3, -1)
    for episode, chosen in zip(inputs, actions, strict=True):
        network = learn.Inference(policy)
        # Inputs are Q15, and as floats exact. The first is the action before the beginning alone.
        best = [int(np.argmax(network.step(np.rint(x * 32768).astype(np.int64)))) for x in episode]
        assert best == chosen.tolist()
    assert len(np.unique(actions)) > 1


# ------------------------------------------------------------------------- files


def test_policies_are_read_as_they_were_written(tmp_path):
    policy = random_policy(4, 1.0)
    policy.save(tmp_path / "mine.json")
    again = learn.Policy.read(tmp_path / "mine.json")
    assert again.to_bytes() == policy.to_bytes()
    assert (again.name, again.actions, again.description) == ("random", "marking", None)
    assert again.to_json() == (tmp_path / "mine.json").read_text()
    for source in ("none.json", tmp_path / "none.json"):
        with pytest.raises(qw.Error, match="no such file"):
            learn.Policy.read(source)
    (tmp_path / "half.json").write_text(policy.to_json()[:5000])
    with pytest.raises(qw.Error, match="not JSON"):
        learn.Policy.read(tmp_path / "half.json")


def modules(params: dict[str, np.ndarray]) -> tuple[SimpleNamespace, list[SimpleNamespace]]:
    """What PyTorch's modules have, of these tensors; the LSTM's bias in two parts."""
    lstm = SimpleNamespace(
        weight_ih_l0=params["input"],
        weight_hh_l0=params["hidden"],
        bias_ih_l0=params["gate_bias"] - 0.25,
        bias_hh_l0=np.full_like(params["gate_bias"], 0.25),
    )
    layers = [
        SimpleNamespace(weight=params[part], bias=params[f"{part}_bias"])
        for part in ("first", "second", "last")
    ]
    return lstm, layers


def test_a_policy_of_pytorchs_modules_does_as_they_do() -> None:
    """PyTorch's own arithmetic, written out (its documentation of nn.LSTM); gates in its order."""
    rng = np.random.default_rng(5)
    params = {key: rng.normal(0, 0.2, shape) for key, shape in _policy.SHAPES.items()}
    at_work = learn.Inference(learn.Policy.of_modules(*modules(params), "mine"))
    h, c = np.zeros(32), np.zeros(32)
    worst = 0.0
    for _ in range(50):
        seen = rng.uniform(0, 1, 13)
        gates = params["input"] @ seen + params["hidden"] @ h + params["gate_bias"]
        i, f, g, o = np.split(gates, 4)
        c = c / (1 + np.exp(-f)) + np.tanh(g) / (1 + np.exp(-i))
        h = np.tanh(c) / (1 + np.exp(-o))
        x = np.tanh(params["first"] @ h + params["first_bias"])
        x = np.tanh(params["second"] @ x + params["second_bias"])
        logits = params["last"] @ x + params["last_bias"]
        found = at_work.step(np.rint(seen * _policy.ONE).astype(np.int64)) / 2**16
        worst = max(worst, float(np.abs(found - logits).max()))
    assert worst < 0.01, worst


def test_modules_that_cannot_be_a_policy_are_named() -> None:
    params = {key: np.zeros(shape) for key, shape in _policy.SHAPES.items()}
    lstm, layers = modules(params)
    for given, said in (
        ((lstm, layers[:2]), "layers = .*: not three torch.nn.Linear"),
        ((SimpleNamespace(), layers), "lstm: has no weight_ih_l0; a torch.nn.LSTM"),
        (
            (lstm, [*layers[:2], SimpleNamespace(weight=layers[2].weight, bias=None)]),
            r"layers\[2\]: has no bias",
        ),
        (
            (lstm, [layers[1], *layers[1:]]),
            r"first: of shape \(64, 64\); the header's network has \(64, 32\)",
        ),
        (
            (SimpleNamespace(**{**vars(lstm), "weight_ih_l0": params["input"] + np.nan}), layers),
            "input: has a weight that is no number between -8 and 8",
        ),
        ((SimpleNamespace(**vars(lstm), weight_ih_l1=1), layers), "lstm: has weight_ih_l1; one layer"),
    ):
        with pytest.raises(qw.Error, match=said):
            learn.Policy.of_modules(*given, "mine")
    with pytest.raises(qw.Error, match="actions = other: not a kind of action"):
        learn.Policy.of_modules(lstm, layers, "mine", actions="other")


def test_rounding_keeps_within_what_there_is():
    params = {key: np.full(shape, 100.0) for key, shape in _policy.SHAPES.items()}
    policy = learn.Policy.quantised(params, "large", "red", "of hundreds")
    assert {int(x.max()) for x in policy.tensors.values()} == {32767}


# ----------------------------------------------------------------------- configs


def test_presets_are_whole():
    paper = learn.config({"preset": "paper"})
    # Dery and others train with 4 RTTs, 3 numbers of flows; their program sends UDP at one of 10 rates.
    assert len(paper.networks) == 4 * 3 * 10
    assert paper.learning.steps == 10_000_000
    default = learn.config({})
    assert default.name == "queuepilot"
    assert learn.read(SMALL).learning.gamma == default.learning.gamma


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ({"preset": "best"}, 'preset = "best": not a preset. Allowed: default, paper'),
        ({"preset": ""}, 'preset = "": not a preset. Allowed: default, paper'),
        ({"name": "a\0b"}, r'name = "a\\x00b": not a name'),
        ({"name": "\udcff"}, r'name = "\\udcff": not a name'),
        ({"\udcff": 1}, r"training: '\\udcff' is half a character"),
        ({"learning": {"steps": "\udcff"}}, r"training: '\\udcff' is half a character"),
        ({"start": "\udcff"}, r"start: policy: '\\udcff' is half a character"),
        ({"networks": [{"rate": "\udcff"}]}, r"networks\[0\]: .*half a character"),
        ({"learn": {}}, "learn: unknown key. Allowed: name, preset, actions, start, networks, learning"),
        ({"actions": "drop"}, 'actions = "drop": no kind of action. Allowed: marking, threshold, red'),
        ({"start": "none.json"}, "start: none.json: no such file"),
        ({"start": 1}, "start = 1: not a text in quotes"),
        ({"start": "acc"}, 'start = "acc": its actions are "red", those of the training "marking"'),
        ({"learning": {"gama": 1}}, "learning.gama: unknown key."),
        ({"learning": {"gamma": 2}}, "learning.gamma = 2: not a number from 0 to 0.99999"),
        ({"learning": {"steps": 1.5}}, "learning.steps = 1.5: not a whole number from 1000 to"),
        ({"learning": {"bootstrap": 1}}, "learning.bootstrap = 1: not true or false"),
        ({"learning": {"first_bias": [1]}}, r"learning.first_bias = \[1\]: not a list of six numbers"),
        (
            {"learning": {"entropy": [[5, 1], [5, 0]]}},
            "learning.entropy = .*: a number, or points .* whose steps rise",
        ),
        ({"learning": []}, r"learning = \[\]: not a table; write \[learning\]"),
        ({"networks": []}, r"networks = \[\]: not a list of tables; write \[\[networks\]\]"),
        ({"networks": [{"rated": "1mbit"}]}, r"networks\[0\].rated: unknown key. Allowed: rate, rtt, flows"),
        ({"networks": [{"rtt": ["1ms", 20]}]}, r"networks\[0\].rtt\[1\] = 20: not a text in quotes"),
        ({"learning": {"gamma": math.nan}}, "learning.gamma = nan: not a number from 0 to 0.99999"),
        (
            {"learning": {"entropy": [[1, 2, 3]]}},
            r"learning.entropy = \[\[1, 2, 3\]\]: not a number from 0 to 1, nor",
        ),
        ({"evaluation": {"every": 0}}, "evaluation.every = 0: not a whole number from 1 to"),
        ({"networks": [{"rtt": 20}]}, r"networks\[0\].rtt = 20: not a text in quotes"),
        ({"networks": [{"rate": "1Gbps"}]}, r'networks\[0\]: rate = "1Gbps"'),
        ({"networks": [{"scenario": "none.toml"}]}, r"networks\[0\]: .*none.toml.*: no such file"),
    ],
)
def test_mistakes_are_named(tables, said):
    with pytest.raises(qw.Error, match=f"^{said}"):
        learn.config(tables)


def networks(*rates: str) -> list[qw.Scenario]:
    """Some that differ in their rates alone."""
    flows = [{"cca": "cubic", "rtt": "20ms"}]
    return [
        qw.Scenario(link={"rate": rate, "buffer": "100p"}, flows=flows, run={"duration": "1s"})
        for rate in rates
    ]


def evaluated(policies: object = "queuepilot", on: object = None, **asked: object) -> object:
    given = {"against": [], "seeds": 1, "progress": False} | asked
    return learn.evaluate(policies, networks("10mbit") if on is None else on, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: evaluated(5), r"policy = 5: not a path; write a text, or a pathlib.Path$"),
        (lambda: evaluated([""]), r'policy = "": not a path'),
        (lambda: evaluated("\udcff"), r"policy: '\\udcff' is half a character; write whole ones$"),
        (lambda: evaluated(itertools.repeat("a")), "policies: more than 100 values; write fewer$"),
        (lambda: evaluated(on="home.toml"), 'networks: "home.toml" is no scenario; write qw.load'),
        (lambda: evaluated(on=5), "networks: 5 is no scenario"),
        (lambda: evaluated(against=5), 'against = 5: not a text; write "codel,pie"$'),
        (lambda: evaluated(jobs=0), "jobs = 0: out of range; allowed: 1 to 65535$"),
        (lambda: learn.Policy.read("\udcff"), "policy: .* is half a character"),
        (lambda: learn.Policy.read(5), "policy = 5: not a path"),  # type: ignore[arg-type]
        (lambda: learn.read(5), "path = 5: not a path"),  # type: ignore[arg-type]
        (lambda: learn.read("a\0b"), r"a\\x00b: embedded null byte$"),
        (lambda: learn.read("x" * 5_000_000), r"x+\.\.\.x+: cannot be read: File name too long$"),
        (lambda: learn.read("/dev/null"), "/dev/null: a device, not a file$"),
        (lambda: learn.train(tiny(), 5), "folder = 5: not a path"),  # type: ignore[arg-type]
        (lambda: learn.train({}, "out"), "training = {}: not a training; write learn.read"),  # type: ignore[arg-type]
        (lambda: learn.train(tiny(), "out", say=5), "say = 5: not a function"),  # type: ignore[arg-type]
        (lambda: learn.train(tiny(), "out", engine="linux"), 'engine = "linux": not an engine here'),  # type: ignore[arg-type]
        (lambda: learn.export(5), "folder = 5: not a path"),  # type: ignore[arg-type]
        (lambda: learn.export("/dev/null"), "/dev/null: no training"),
        (
            lambda: learn.table([], "rewrad"),
            'measure = "rewrad": there is none. Allowed: reward, utilization',
        ),
    ],
)
def test_arguments_that_cannot_be_are_named(
    call: Callable[[], object], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(qw.Error, match=f"^{said}") as caught:
        call()
    assert len(str(caught.value)) < 500
    assert not list(tmp_path.iterdir())


def test_a_table_has_a_line_for_each_network() -> None:
    rows = evaluated(on=networks("5mbit", "50mbit"), against="droptail,ared_2")
    assert set(MEASURES) < rows[0].keys()
    head, slow, fast = learn.table(rows, "utilization").splitlines()
    assert head.split()[-3:] == ["droptail", "ared_2", "queuepilot"]
    assert (slow.split()[:2], fast.split()[:2]) == (["1", "5mbit"], ["2", "50mbit"])
    for line, row in ((slow, rows[0]), (fast, rows[3])):
        assert float(line.split()[-3]) == round(row["utilization"], 4)
    assert len(learn.table([]).splitlines()) == 1


def test_what_could_not_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for name, why in (
        ("folder", "Is a directory"),
        ("a\0b", "embedded null byte"),
        ("no/such", "No such file"),
    ):
        with pytest.raises(qw.Error, match=f"cannot be written: {why}"):
            random_policy(1, 1.0).save(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_help_has_the_lists_that_are_checked() -> None:
    presets = (Path(_config.__file__).parent / "presets").glob("*.toml")
    assert sorted(path.stem for path in presets) == list(PRESETS)
    assert tuple(learn.paper_tests()) == FIGURES
    seen = _train.look(tiny().networks._native(), None, 2)
    assert tuple(seen) == MEASURES
    assert set(RIVALS) == {"droptail", *_evaluate.ARED}


def test_a_training_goes_on_from_a_policy(tmp_path):
    policy = random_policy(1, 0.3)
    policy.save(tmp_path / "mine.json")
    networks = '[[networks]]\nrate = "10mbit"\nrtt = "20ms"\nflows = 2\nepisode = "1s"\n'
    (tmp_path / "train.toml").write_text(f'start = "mine.json"\n{networks}')
    training = learn.read(tmp_path / "train.toml")
    assert training.start is not None
    assert _train.Training(training, tmp_path).policy().to_bytes() == policy.to_bytes()
    # Checkpoints tell it from a training from elsewhere.
    others: tuple[dict[str, object], ...] = ({}, {"start": "acc", "actions": "red"})
    prints = {_train.fingerprint(learn.config(tables)) for tables in (*others, training.tables)}
    assert len(prints) == 3
    policy.save(tmp_path / "same.json")
    same = learn.config({**training.tables, "start": str(tmp_path / "same.json")})
    assert _train.fingerprint(same) in prints


def test_what_a_training_starts_from_may_be_the_best(tmp_path):
    shipped = learn.Policy.read("queuepilot")
    shipped.save(tmp_path / "mine.json")
    # Steps so large that what it knew is gone at once.
    own = {"start": str(tmp_path / "mine.json"), "learning": TINY["learning"] | {"learning_rate": 1.0}}
    training = learn.config(TINY | own)
    said: list[str] = []
    best = learn.train(training, tmp_path / "out", say=said.append)
    assert said[0].startswith("         0 steps  reward")
    rewards = [float(line.split("reward ")[1].split()[0]) for line in said]
    assert rewards[0] == max(rewards)
    assert best.to_bytes() == shipped.to_bytes()
    # Its folder has all that it needs.
    (tmp_path / "mine.json").unlink()
    learn.export(tmp_path / "out", episodes=2)


def test_a_scenario_is_a_network_at_every_combination_of_values(tmp_path):
    scenario = qw.Scenario(
        link={"rate": "20mbit", "buffer": "20p"},
        flows=[{"cca": "cubic", "rtt": "20ms"}],
        queue={"disciplines": ["queuepilot"]},
        run={"duration": "1s"},
    )
    (tmp_path / "own.toml").write_text(scenario.to_toml())
    (tmp_path / "train.toml").write_text("""
        actions = "dropping"
        [[networks]]
        scenario = "own.toml"
        [networks.over]
        "link.rate" = ["10mbit", "50mbit"]
        flows = [[{ cca = "bbr", rtt = "9ms" }], [{ cca = "cubic", rtt = "1ms..9ms" }]]
    """)
    training = learn.read(tmp_path / "train.toml")
    assert len(training.networks) == 4
    made = [s.to_dict() for s in training.networks.scenarios]
    assert [m["flows"][0]["cca"] for m in made] == ["bbr", "cubic"] * 2
    # What goes into a checkpoint makes the same networks elsewhere.
    assert learn.config(training.tables).networks == training.networks
    for over, said in [
        (3, r"networks\[0\].over = 3: not a table of lists or ranges; write over = "),
        (
            {"link.rate": []},
            r"networks\[0\].over.link.rate = \[\]: not a text in quotes, nor a list of values",
        ),
        ({"link.rat": ["1mbit"]}, r"networks\[0\]: link.rat: unknown key"),
    ]:
        with pytest.raises(qw.Error, match=f"^{said}"):
            learn.config({"networks": [{"scenario": str(tmp_path / "own.toml"), "over": over}]})
    # Of a range as many are drawn as are asked for, the same each time.
    table = {"scenario": str(tmp_path / "own.toml"), "over": {"link.rate": "5mbit..50mbit"}, "draws": 20}
    drawn = learn.config({"networks": [table]}).networks
    assert len({one.to_dict()["link"]["rate"] for one in drawn.scenarios}) > 15
    assert learn.config({"networks": [dict(table)]}).networks == drawn
    # Another table has its own draws of the same range.
    both = learn.config({"networks": [table, {**table, "draws": 20}]}).networks
    assert {one.to_dict()["link"]["rate"] for one in both.scenarios[20:]} != {
        one.to_dict()["link"]["rate"] for one in drawn.scenarios
    }
    for draws, said in [
        ({}, "over: of a range .*write draws = 64"),
        ({"draws": 0}, r"networks\[0\].draws = 0"),
        ({"draws": 20_000}, r"networks\[0\].draws = 20000"),
        ({"draws": 3, "over": {}}, "draws: of nothing; write over"),
    ]:
        with pytest.raises(qw.Error, match=said):
            learn.config(
                {"networks": [{key: value for key, value in table.items() if key != "draws"} | draws]}
            )


def test_a_scenario_of_ones_own_is_a_network(tmp_path):
    scenario = qw.Scenario(
        link={"rate": "20mbit", "buffer": "40p"},
        flows=[{"count": 4, "cca": "bbr", "rtt": "10ms..40ms"}],
        queue={"disciplines": [{"name": "queuepilot"}]},
        run={"duration": "1s", "warmup": "0s"},
    )
    (tmp_path / "own.toml").write_text(scenario.to_toml())
    (tmp_path / "train.toml").write_text(
        '[[networks]]\nscenario = "own.toml"\n[[networks]]\nepisode = "1s"\n'
    )
    training = learn.read(tmp_path / "train.toml")
    assert len(training.networks) == 1 + 4 * 3 * 10


# --------------------------------------------------------------------- trainings


def test_it_learns(tmp_path):
    """Within a minute a policy is worth more than tail drop and the authors' adaptive RED on a small case."""
    said: list[str] = []
    training = learn.changed(learn.read(SMALL), {"steps": 200_000})
    learn.train(training, tmp_path, say=said.append)
    assert len(said) == 2
    rows = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert rows[-1]["steps"] == 200_000
    assert 0 < rows[-1]["simulating"] < 1
    networks = envs.paper(rate="100mbit", rtt_ms=[30], flows=[30], udp=["8mbit"], episode_s=8)
    earned: dict[str, float] = {}
    for row in learn.evaluate([tmp_path / "policy.json"], networks, seeds=range(1, 4), progress=False):
        earned[row["aqm"]] = earned.get(row["aqm"], 0) + row["reward"] / 3
    learned = earned.pop("policy")
    assert set(earned) == {"droptail", "ared_1", "ared_2", "ared_3"}
    assert learned > max(earned.values()) + 0.05, (learned, earned)
    # What rounding costs; the draws of the two differ.
    _, rounded, before = learn.export(tmp_path, episodes=16)
    assert abs(before - rounded) < 0.03 * before


def test_looks_are_of_no_seed_that_a_test_has():
    seeds = [seed for _, seed in _train._by_turns(3, 48)]
    assert min(seeds) >= 1 << 31
    assert max(seeds) < _train.FIRST_SEED


@pytest.mark.parametrize("actions", ["marking", "dropping", "threshold", "red"])
def test_a_training_begins_near_the_action_that_marks_least(actions: str) -> None:
    """Action 0 marks nothing; of thresholds and of RED's curves it marks most."""
    bias = learn.config({"actions": actions}).learning.first_bias
    least, most = (-1, 0) if actions in ("threshold", "red") else (0, -1)
    assert bias[least] == max(bias)
    assert bias[most] == min(bias)
    assert sorted(bias) == sorted(learn.config({}).learning.first_bias)
    own = learn.config({"actions": actions, "learning": {"first_bias": [1, 2, 3, 4, 5, 6]}})
    assert list(own.learning.first_bias) == [1, 2, 3, 4, 5, 6]


def test_schedules_end_with_a_shorter_training() -> None:
    learning = learn.changed(learn.config({}), {"steps": 1_000_000}).learning

    def rate(step: int, last: int = learning.steps) -> float:
        return float(_ppo.along(learning.learning_rate, step, last))

    assert rate(0) == pytest.approx(7e-4)
    assert rate(500_000) == pytest.approx((7e-4 + 5e-5) / 2)
    assert rate(1_000_000) == pytest.approx(5e-5)
    # A longer one goes on with the last value; a schedule that ends before the training does is as written.
    assert [rate(at, 16_000_000) for at in (8_000_000, 12_000_000)] == pytest.approx([5e-5, 5e-5])


def test_rewards_are_the_papers_or_power() -> None:
    inputs = np.zeros((3, 2, 13), np.float32)
    inputs[1:, :, _policy.OBSERVATIONS.index("sent")] = [[1, 0.5], [0.8, 1]]
    inputs[1:, :, _policy.OBSERVATIONS.index("queue_in_steps")] = [[0, 4], [12, 4]]
    inputs[1:, :, 12] = [[1, 0.1], [0.2, -1]]
    rtt_steps = jnp.array([4.0, 8.0])
    assert _ppo.rewards("paper", jnp.asarray(inputs), rtt_steps).tolist() == inputs[1:, :, 12].tolist()
    power = _ppo.rewards("power", jnp.asarray(inputs), rtt_steps)
    assert power == pytest.approx(np.array([[1, 0.5 * 8 / 12], [0.8 * 4 / 16, 8 / 12]]))


def test_a_training_learns_for_another_reward(tmp_path: Path) -> None:
    learn.train(tiny(reward="power"), tmp_path / "power", say=lambda _: None)
    learn.train(tiny(), tmp_path / "paper", say=lambda _: None)
    power, paper = (
        [json.loads(line)["eval_reward"] for line in (tmp_path / name / "log.jsonl").read_text().splitlines()]
        for name in ("power", "paper")
    )
    # Never below nothing, as the paper's may be.
    assert all(0 < reward <= 1 for reward in power)
    assert power != paper
    _, rounded, before = learn.export(tmp_path / "power", episodes=2)
    assert 0 < rounded <= 1
    assert 0 < before <= 1
    with pytest.raises(qw.Error, match=r'learning\.reward = "most": not "paper" nor "power"'):
        tiny(reward="most")
    # Who knew no other reward has the same training.
    old = dict(tiny().tables)
    old["learning"] = {key: value for key, value in old["learning"].items() if key != "reward"}
    assert _train.fingerprint(replace(tiny(), tables=old)) == _train.fingerprint(tiny())
    assert _train.fingerprint(tiny(reward="power")) != _train.fingerprint(tiny())
    # Round trips are in steps, of whatever length; where nothing says one there is no power.
    run = {"duration": "1s"}
    for step, steps in (("5ms", 8), ("20ms", 2)):
        queue = {"disciplines": [{"name": "queuepilot", "step": step}]}
        flows = [{"cca": "cubic", "count": 4, "rtt": "40ms"}]
        one = qw.Scenario(link={"rate": "20mbit"}, flows=flows, queue=queue, run=run)
        assert envs.domain(one)._native().rtt_steps() == [steps]


def test_the_divergence_is_that_of_all_minibatches() -> None:
    """RLlib's rule: half as much below half of the target, half more above twice the target, by the mean."""
    kl = jnp.array([0.0, 0.0, 0.0, 0.03])
    assert float(_ppo.moved(jnp.float32(0.2), kl, 0.01)) == pytest.approx(0.2)
    assert float(_ppo.moved(jnp.float32(0.2), kl + 0.02, 0.01)) == pytest.approx(0.3)
    assert float(_ppo.moved(jnp.float32(0.2), kl * 0.5, 0.01)) == pytest.approx(0.1)


def test_a_training_goes_on_where_it_ended(tmp_path):
    learn.train(tiny(), tmp_path, say=lambda _: None)
    with pytest.raises(qw.Error, match="holds a training already"):
        learn.train(tiny(), tmp_path)
    learn.train(tiny(steps=3200), tmp_path, resume=True, say=lambda _: None)
    steps = [json.loads(line)["steps"] for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert steps == [800, 1600, 2400, 3200]
    # The same from the same seed, another from another.
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        learn.train(tiny(seed=seed), tmp_path / name, say=lambda _: None)
    a, b, c = (learn.export(tmp_path / name, episodes=2)[0].to_bytes() for name in "abc")
    assert a == b != c

    # And the same where it was interrupted.
    def interrupt(_: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learn.train(tiny(steps=3200), tmp_path / "d", say=interrupt)
    learn.train(tiny(steps=3200), tmp_path / "d", resume=True, say=lambda _: None)
    learn.train(tiny(steps=3200), tmp_path / "e", say=lambda _: None)
    d, e = (learn.export(tmp_path / name, episodes=2)[0].to_bytes() for name in "de")
    assert d == e


def test_every_update_is_told(tmp_path: Path) -> None:
    rows: list[dict[str, float]] = []
    once = learn.changed(learn.config(TINY | {"evaluation": {"every": 1_000_000}}), {"steps": 3200})
    learn.train(once, tmp_path, say=lambda _: None, callback=rows.append)
    assert [row["steps"] for row in rows] == [800, 1600, 2400, 3200]
    assert all({"entropy", "kl", "value_error", "seconds"} <= set(row) for row in rows)
    assert ["eval_reward" in row for row in rows] == [False, False, False, True]
    (events,) = tmp_path.glob("events.*")
    assert events.read_bytes().count(b"entropy") == 4
    with pytest.raises(qw.Error, match=r"callback = 3: not a function"):
        learn.train(once, tmp_path / "b", callback=3)  # type: ignore[arg-type]


def test_several_seeds_are_as_many_trainings(tmp_path: Path) -> None:
    told: list[dict[str, float]] = []
    rows = learn.train_seeds(tiny(), tmp_path / "all", [1, 2], say=lambda _: None, callback=told.append)
    assert [row["seed"] for row in rows] == [1, 2]
    assert [row["seed"] for row in told] == [1, 1, 2, 2]
    learn.train(tiny(seed=2), tmp_path / "one", say=lambda _: None)
    of_all, alone = (tmp_path / name / "policy.json" for name in ("all/seed-2", "one"))
    assert of_all.read_text() == alone.read_text()
    log = [json.loads(line) for line in (tmp_path / "all/seed-2/log.jsonl").read_text().splitlines()]
    assert rows[1]["last"] == pytest.approx(log[-1]["eval_reward"], abs=1e-6)
    assert rows[1]["best"] == pytest.approx(max(row["eval_reward"] for row in log), abs=1e-6)
    # What has ended stays, what was not there begins.
    more = learn.train_seeds(tiny(), tmp_path / "all", "1..3", resume=True, say=lambda _: None)
    assert more[:2] == rows
    assert [row["seed"] for row in more] == [1, 2, 3]
    with pytest.raises(qw.Error, match="seed-1: holds a training already"):
        learn.train_seeds(tiny(), tmp_path / "all", 1)


def test_a_training_of_somebody_elses_runs_no_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QUEUEWRIGHT_OWN", raising=False)
    (tmp_path / "late.h").write_text("#error it was compiled")
    link = {"rate": "20mbit", "buffer": "20p"}
    flows = [{"count": 2, "cca": "cubic", "rtt": "20ms"}]
    base = qw.Scenario(link=link, flows=flows, queue={"disciplines": ["queuepilot"]}, run={"duration": "1s"})
    (tmp_path / "base.toml").write_text(base.to_toml())
    over = '{ "queue.disciplines" = [["queuepilot", "./late.h"]] }'
    path = tmp_path / "train.toml"
    path.write_text(f'name = "x"\n[[networks]]\nscenario = "base.toml"\nover = {over}\n')
    with pytest.raises(qw.Error, match=r'"./late.h": its code would run .* set QUEUEWRIGHT_OWN=1'):
        learn.read(path)
    (tmp_path / "config.json").write_text('{"networks": [{"over": {"x": ["./late.h"]}}]}')
    with pytest.raises(qw.Error, match=r'"./late.h": its code would run'):
        learn.export(tmp_path)


def test_the_spread_is_students() -> None:
    # By the table: 4.303 for two degrees of freedom.
    assert learn.spread([1, 2, 3]) == pytest.approx((2, 4.3027 / 3**0.5), abs=1e-4)
    assert math.isnan(learn.spread([1])[1])
    with pytest.raises(qw.Error, match="none; one at least"):
        learn.spread([])


def test_checkpoints_that_are_none_are_refused(tmp_path):
    with pytest.raises(qw.Error, match=r"checkpoint\.npz: no such file"):
        learn.train(tiny(), tmp_path, resume=True)
    learn.train(tiny(), tmp_path, say=lambda _: None)
    with pytest.raises(qw.Error, match="of another training"):
        learn.train(tiny(gamma=0.5), tmp_path, resume=True)
    path = tmp_path / "checkpoint.npz"
    whole = path.read_bytes()
    for broken in (b"", whole[: len(whole) // 2], b"no zip at all"):
        path.write_bytes(broken)
        with pytest.raises(qw.Error, match="not a checkpoint, or broken"):
            learn.train(tiny(), tmp_path, resume=True)
    path.write_bytes(whole)
    arrays = dict(np.load(path))
    head = json.loads(str(arrays["head"]))
    for changed, said in (
        (arrays | {"head": np.array(json.dumps(head | {"version": 7}))}, "a checkpoint of version 7"),
        (arrays | {"head": np.array(json.dumps(head | {"format": "other"}))}, "not a checkpoint"),
        ({k: v for k, v in arrays.items() if k != "leaf3"}, "not a whole checkpoint"),
        (arrays | {"leaf3": np.zeros(5, np.float32)}, "not a whole checkpoint"),
    ):
        np.savez(path, **changed)
        with pytest.raises(qw.Error, match=said):
            learn.train(tiny(), tmp_path, resume=True)
    with pytest.raises(qw.Error, match="no training"):
        learn.export(tmp_path / "elsewhere")


def test_what_cannot_be_learned_is_said(tmp_path):
    with pytest.raises(qw.Error, match=r"learning\.chunk = 500: an episode is shorter, it has 200 steps"):
        learn.train(tiny(chunk=500), tmp_path)
    with pytest.raises(qw.Error, match=r"learning\.minibatches = 64: more than there are sequences"):
        learn.train(tiny(minibatches=64), tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(qw.Error, match="cannot be made"):
        learn.train(tiny(), tmp_path / "file" / "folder")
    unequal = learn.config(
        TINY | {"networks": [{"rate": "20mbit", "flows": [6], "episode": e} for e in ("1s", "2s")]}
    )
    with pytest.raises(qw.Error, match="episodes of one length"):
        learn.train(unequal, tmp_path)


def test_the_authors_ared_is_that_of_their_figures() -> None:
    figure = _config.tomllib.loads((ROOT / "experiments/queuepilot/fig2.figure.toml").read_text())
    compared = 0
    for value in figure["sweep"][0]["values"]:
        for theirs in value["set"]["queue"]["disciplines"]:
            word = theirs["label"].lower()
            if word in _evaluate.ARED:
                ours = _evaluate.rival(word, value["x"], "1gbit")
                assert {**ours, "label": theirs["label"]} == theirs, value["name"]
                compared += 1
    assert compared >= 15


def test_where_policies_cannot_be_compared_is_said():
    flows = [{"count": 2, "cca": "cubic", "rtt": "20ms"}]
    link = {"schedule": [["0s", "20mbit"], ["1s", "10mbit"]], "buffer": "20p"}
    with pytest.raises(qw.Error, match=r"link\.rate: one link of a const"):
        learn.evaluate(["queuepilot"], [qw.Scenario(link=link, flows=flows)])
    scenario = qw.Scenario(link={"rate": "20mbit", "buffer": "20p"}, flows=flows, run={"duration": "1s"})
    shipped = ROOT / "policies/queuepilot.json"
    rows = learn.evaluate(["queuepilot", shipped], [scenario], against=[], seeds=1, progress=False)
    assert [row["aqm"] for row in rows] == ["queuepilot", str(shipped)]
    # One policy, by its name and by its file.
    assert rows[0]["reward"] == rows[1]["reward"]


def test_a_drop_by_choice_is_no_overflow() -> None:
    link = {"rate": "20mbit", "buffer": "4bdp"}
    flows = [{"cca": "cubic", "count": 3, "rtt": "50ms"}]
    scenario = qw.Scenario(link=link, flows=flows, run={"duration": "6s"})
    rows = learn.evaluate(["queuepilot-dropping"], [scenario], against="codel,pie", seeds=1, progress=False)
    # All drop early, some ten times a second, so that of 600 steps many have a drop; the buffer is not full.
    assert all(row["drop_fraction"] > 0 for row in rows)
    assert all(row["reward"] > 0.3 for row in rows), [row["reward"] for row in rows]


def test_buffers_of_any_unit_are_told_in_full_packets():
    flows = [{"count": 2, "cca": "cubic", "rtt": "20ms"}]
    # 20 Mbit/s for 20 ms are 50,000 bytes: of 1514, 33.03 packets.
    for buffer, packets in (("20p", 20), ("30280b", 20), ("30281b", 21), ("1bdp", 34)):
        scenario = qw.Scenario(link={"rate": "20mbit", "buffer": buffer}, flows=flows, run={"duration": "1s"})
        rows = learn.evaluate(["queuepilot"], [scenario], against=["ared_2"], seeds=1, progress=False)
        assert {row["buffer_packets"] for row in rows} == {packets}, buffer
        assert all(0 <= row["queue_of_buffer"] < 1 for row in rows)


# ----------------------------------------------------------------------- commands


def test_the_commands(tmp_path: Path, command: Command):
    (tmp_path / "tiny.toml").write_text("""
        name = "tiny"
        networks = [{ rate = "20mbit", rtt = ["20ms"], flows = [6], udp = ["1mbit"], episode = "1s" }]
        learning = { episodes = 4, chunk = 50, minibatches = 4, epochs = 2 }
        evaluation = { every = 800, episodes = 4 }
    """)
    done = command("train", "tiny.toml", "--steps", "1600", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "queuewright-trained/tiny/policy.json: " in done.stdout
    done = command("train", "tiny.toml", "--steps", "1600", "--seeds", "3,5", "--out", "both", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "seed 5        1600 steps  reward" in done.stdout
    assert "last: " in done.stdout.splitlines()[-3]
    assert (tmp_path / "both/seed-3/policy.json").exists()
    done = command("export-policy", "queuewright-trained/tiny", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "in whole numbers" in done.stdout
    last = (
        "1600 of 1600 steps, seed 1, "
        in learn.Policy.read(tmp_path / "queuewright-trained/tiny/policy.json").description
    )
    assert ("is another" in done.stdout) != last
    assert learn.Policy.read(tmp_path / "tiny.json").name == "tiny"
    scenario = qw.Scenario(
        link={"rate": "20mbit", "buffer": "20p"},
        flows=[{"count": 4, "cca": "cubic", "ecn": True, "rtt": "20ms"}],
        run={"duration": "2s"},
    )
    (tmp_path / "own.toml").write_text(scenario.to_toml())
    done = command(
        "evaluate",
        "tiny.json",
        "queuepilot",
        "--on",
        "own.toml",
        "--against",
        "codel,ared_2",
        "--json",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert {row["aqm"] for row in rows} == {"codel", "ared_2", "tiny", "queuepilot"}
    assert all(-1 <= row["reward"] <= 1 and 0 < row["utilization"] <= 1.01 for row in rows)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["train", "none.toml"], "error: none.toml: no such file"),
        (["train", "--preset", "best"], 'error: --preset = "best": not a preset. Allowed: default, paper'),
        (["train", "--engine", "linux"], "argument --engine: invalid choice: 'linux' (choose from "),
        (["train", "--steps", "0"], "error: --steps = 0: not a whole number from 1000 to"),
        (["train", "--seed", "1", "--seeds", "1..3"], "error: --seed: not together with --seeds"),
        (["train", "--seeds", "x"], 'error: --seeds = "x"'),
        (["train", "--steps", "many"], "argument --steps: invalid int value: 'many'"),
        (["train", "/dev/null"], "error: /dev/null: a device, not a file"),
        (["train", "--preset", ""], 'error: --preset = "": not a preset'),
        (["train", "--out", ""], 'error: DIR = "": not a path'),
        (["evaluate", "none.json"], "error: none.json: no such file"),
        (["evaluate", ""], 'error: POLICY = "": not a path'),
        (["evaluate", "\udcff"], r"error: policy: '\udcff' is half a character; write whole ones"),
        (["evaluate", "queuepilot", "--on", ""], 'error: --on = "": not a path'),
        (["evaluate", "queuepilot", "--seeds", "x"], 'error: --seeds = "x"'),
        (["evaluate", "queuepilot", "--jobs", "0"], "error: --jobs = 0: out of range"),
        (
            ["evaluate", "queuepilot", "--against", "nothing"],
            'error: --against = "nothing": not a discipline',
        ),
        (["export-policy", ""], 'error: DIR = "": not a path'),
        (["export-policy", "/dev/null"], "error: /dev/null: no training"),
        (["evaluate", "queuepilot", "--on", "fig3"], "fig3"),
        (["export-policy", "nowhere"], "error: nowhere: no training: it has no config.json"),
    ],
)
def test_wrong_words_end_with_2(words: list[str], said: str, command: Command, tmp_path: Path):
    done = command(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert not list(tmp_path.iterdir())
