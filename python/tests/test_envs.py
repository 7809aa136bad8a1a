import copy
import importlib.util
import itertools
import multiprocessing
import multiprocessing.connection
import pickle

import numpy as np
import pytest
from conftest import PATIENCE

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env  # noqa: E402

import queuewright as qw  # noqa: E402
from queuewright import envs  # noqa: E402


def small() -> envs.Domain:
    return envs.paper(rate=20_000_000, rtt_ms=[20, 40], flows=[6], udp=[1_000_000], episode_s=1)


def scenario(aqm: str = "queuepilot") -> qw.Scenario:
    return qw.Scenario(
        link={"rate": "20mbit", "buffer": "40p"},
        flows=[{"count": 4, "cca": "cubic", "ecn": True, "rtt": "10ms..40ms"}],
        queue={"disciplines": [{"name": aqm}]},
        run={"duration": "1s", "warmup": "0s"},
    )


def play(env: gymnasium.Env, seed: int | None, actions: list[int]) -> list[tuple]:
    first, _ = env.reset(seed=seed)
    steps = [env.step(action) for action in actions]
    return [tuple(first)] + [(*seen, earned) for seen, earned, *_ in steps]


def test_gymnasium_knows_it_and_finds_nothing_wrong():
    env = gymnasium.make("Queuewright/Marking-v0", networks=small())
    check_env(env.unwrapped)
    check_env(envs.Marking(small(), history=True))


def test_actions_may_be_thresholds_or_curves_of_red():
    """What an action does is the header's to test; here that each kind has an environment of its own."""
    seen = {}
    for name in ("Marking", "Threshold", "RedTuning"):
        env = gymnasium.make(f"Queuewright/{name}-v0", networks=small())
        check_env(env.unwrapped)
        seen[name] = play(env, 3, [2] * 100)
        many = gymnasium.make_vec(f"Queuewright/{name}-v0", num_envs=2, networks=small())
        many.reset(seed=2)
        for row in seen[name][1:]:
            got, earned, *_ = many.step(np.array([2, 2]))
            assert (*got[1], earned[1]) == row
    assert len({tuple(x) for x in seen.values()}) == 3


def test_networks_can_be_sent_elsewhere():
    again = pickle.loads(pickle.dumps(small()))
    assert again == small()
    assert play(envs.Marking(again), 5, [1] * 9) == play(envs.Marking(small()), 5, [1] * 9)


@pytest.mark.parametrize("again", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_an_environment_that_is_sent_elsewhere_begins_with_reset(again):
    env, many = envs.Marking(small()), envs.MarkingVector(2, small())
    env.reset(seed=1)
    many.reset(seed=1)
    sent, sent_many = again(env), again(many)
    env.step(1)
    with pytest.raises(envs.Error, match=r"call reset\(\) first"):
        sent.step(1)
    with pytest.raises(envs.Error, match=r"call reset\(\) first"):
        sent_many.step(np.array([1, 1]))
    assert play(sent, 5, [1] * 9) == play(envs.Marking(small()), 5, [1] * 9)
    sent_many.reset(seed=5)


def test_rewards_are_the_papers_and_an_episode_ends_after_its_time():
    env = envs.Marking(small())
    env.reset(seed=1)
    drops = 0
    for i in range(200):
        seen, earned, terminated, truncated, _ = env.step(i % 6 if i > 100 else 0)
        sent, _, delay, _, dropped, _ = seen
        want = -1.0 if dropped else sent**2 / np.sqrt(1 + delay)
        assert earned == pytest.approx(want, abs=1e-4)
        assert env.observation_space.contains(seen)
        assert (terminated, truncated) == (False, i == 199)
        drops += dropped > 0
    assert drops > 3


def test_what_happens_follows_from_the_seed():
    env = envs.Marking(small())
    actions = [0, 2, 1] * 30
    first = play(env, 5, actions)
    second = play(env, None, actions)
    assert play(envs.Marking(small()), 5, actions) == first != second
    assert play(env, 6, actions) != first


def test_info_has_what_an_agent_cannot_see() -> None:
    env = envs.Marking(small())
    _, first = env.reset(seed=4)
    assert set(first) == {"network", "rtt_ms", "throughput_bps", "drops"}
    assert first["rtt_ms"] == [20, 40][first["network"]]
    sums = np.zeros(3)
    for _ in range(199):
        seen, _, _, _, info = env.step(3)
        assert all(info[name] == first[name] for name in ("network", "rtt_ms"))
        # What is seen is in packets of full size, cut at 1, of what 20 Mbit/s can send in 5 ms.
        sums += [min(info["throughput_bps"] / 20e6, 1), seen[0], info["drops"]]
        # At most 40 packets wait, and one that is on its way.
        assert 0 <= info.get("sojourn_ms", 0) < 41 * 1514 * 8 / 20e6 * 1e3
        assert 1 / 6 <= info.get("fairness", 1) <= 1
    assert abs(sums[0] - sums[1]) < 0.03 * sums[1]
    assert sums[1] > 0.5 * 199
    # And of many each has its own.
    many = envs.MarkingVector(2, small())
    _, info = many.reset(seed=4)
    assert (info["network"][0], info["_network"].tolist()) == (first["network"], [True, True])
    assert info["_sojourn_ms"].tolist() == [False, False]
    assert set(info) == {name for each in envs.INFO for name in (each, f"_{each}")}


def test_many_are_each_as_one():
    many = gymnasium.make_vec("Queuewright/Marking-v0", num_envs=3, networks=small(), history=True)
    one = envs.Marking(small(), history=True)
    seen, _ = many.reset(seed=11)
    assert seen.shape == (3, 13)
    one.reset(seed=12)
    for i in range(200):
        seen, earned, ended, cut, _ = many.step(np.array([1, i % 6, 3]))
        alone = one.step(i % 6)
        assert (seen[1] == alone[0]).all()
        assert earned[1] == np.float32(alone[1])
        assert not ended.any()
        assert cut.all() == (i == 199)
    # The next step begins another episode in each.
    seen, earned, _, cut, _ = many.step(np.zeros(3, int))
    assert not seen.any()
    assert not earned.any()
    assert not cut.any()


def test_a_reward_and_networks_of_ones_own():
    env = envs.Marking([scenario(), scenario()], reward=lambda seen: float(seen[0]) - 1)
    env.reset(seed=3)
    seen, earned, *_ = env.step(0)
    assert earned == pytest.approx(seen[0] - 1)
    assert len(envs.domain(scenario())) == 1
    assert len(envs.paper()) == 120


@pytest.mark.parametrize("action", [-1, 6, 1.5, "2", 2**32, 10**30, np.uint64(2**63), np.array([2**32 + 1])])
def test_actions_that_are_none(action: object):
    env = envs.Marking(small())
    env.reset(seed=1)
    with pytest.raises(qw.Error, match=r"not an action\. Allowed: 0 to 5"):
        env.step(action)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: envs.paper(rtt_ms=b"10"), "rtt_ms = b'10': not a number"),
        (lambda: envs.paper(rate=10**400), "rate = 1000"),
        (lambda: envs.paper(episode_s=np.array("NaT", "m8[s]")), "episode_s = "),
        (lambda: small().acting(5), "actions = 5: not a kind of action"),
        (lambda: small().acting("\udcff"), r"actions: '\udcff' is half a character"),
        (lambda: envs.Marking(small(), history="false"), 'history = "false": write True or False'),
        (
            lambda: play(envs.Marking(small(), reward=lambda _: None), 1, [0]),
            "reward: the function gave None",
        ),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_what_no_environment_has_is_one_line(call, said):
    with pytest.raises(qw.Error) as caught:
        call()
    assert str(caught.value).startswith(said)


def test_networks_are_added_to_networks_alone():
    assert len(small() + small()) == 2 * len(small())
    with pytest.raises(TypeError, match="unsupported operand"):
        small() + 5


def test_a_closed_vector_begins_with_reset():
    for many in (
        envs.MarkingVector(2, small()),
        gymnasium.make_vec("Queuewright/Marking-v0", 2, networks=small()),
    ):
        many.reset(seed=1)
        many.close()
        with pytest.raises(qw.Error, match=r"call reset\(\) first"):
            many.step(np.array([1, 1]))


def test_what_cannot_be_is_said():
    with pytest.raises(qw.Error, match="discipline is codel, which nobody can drive"):
        envs.Marking(scenario("codel"))
    with pytest.raises(qw.Error, match="call reset"):
        envs.Marking(small()).step(0)
    with pytest.raises(qw.Error, match=r"rtt_ms = \[\]: one at least is needed"):
        envs.paper(rtt_ms=[])
    with pytest.raises(qw.Error, match='actions = "drop": no kind of action'):
        small().acting("drop")
    with pytest.raises(qw.Error, match="num_envs = 0: out of range; allowed: 1 to 65536"):
        envs.MarkingVector(0)
    many = envs.MarkingVector(2, small())
    with pytest.raises(qw.Error, match="3 seeds for 2 environments"):
        many.reset(seed=[1, 2, 3])
    many.reset(seed=1)
    with pytest.raises(qw.Error, match="1 actions for 2 environments"):
        many.step(np.array([1]))
    env = envs.Marking(small())
    env.reset(seed=1)
    with pytest.raises(qw.Error, match="2 actions for 1 environment"):
        env.step(np.array([1, 2]))
    for _ in range(200):
        env.step(0)
    with pytest.raises(qw.Error, match="call reset"):
        env.step(0)
    env.reset(seed=1)
    env.close()
    with pytest.raises(qw.Error, match="call reset"):
        env.step(0)
    for count in (0, 1 << 20, 2.5):
        with pytest.raises(qw.Error, match=r"num_envs = .*(out of range; allowed: 1 to 65536|not a whole)"):
            gymnasium.make_vec("Queuewright/Marking-v0", num_envs=count, networks=small())
    for wrong, said in ((5, "5"), ("home.toml", '"home.toml"'), ([5], "5")):
        with pytest.raises(qw.Error, match=f"networks: {said} is no scenario"):
            gymnasium.make("Queuewright/Marking-v0", networks=wrong)


def test_seeds_may_be_numpys():
    want = play(envs.Marking(small()), 3, [1] * 20)
    assert play(envs.Marking(small()), np.int64(3), [1] * 20) == want
    many = gymnasium.make_vec("Queuewright/Marking-v0", num_envs=np.int64(2), networks=small())
    for seeds in (np.int64(2), np.array([9, 3]), [None, np.uint8(3)], (9, 3)):
        many.reset(seed=seeds)
        assert [tuple(many.step(np.array([1, 1]))[0][1]) for _ in range(20)] == [row[:6] for row in want[1:]]
    for seed in (1.5, "1", -1, 1 << 64, [1, -1]):
        with pytest.raises(qw.Error, match=r"seed = .*(write seed=2|out of range; allowed: 0 to)"):
            many.reset(seed=seed)


def test_a_number_of_numpys_is_one():
    a = envs.paper(
        rate=np.float64(2e7),
        rtt_ms=np.array([20]),
        flows=np.array([6]),
        udp=[np.int64(10**6)],
        buffer=np.str_("40p"),
        episode_s=np.array(5, "m8[s]"),
    )
    b = envs.paper(rate="20mbit", rtt_ms=[20], flows=[6], udp=["1mbit"], buffer="40p")
    assert play(envs.Marking(a), 1, [1] * 9) == play(envs.Marking(b), 1, [1] * 9)


def test_errors_have_the_arguments_names():
    with pytest.raises(qw.Error, match=r'^rtt_ms = "-3ms"'):
        envs.paper(rtt_ms=[-3])
    with pytest.raises(qw.Error, match=r"^episode_s = "):
        envs.paper(episode_s=-1)


def test_lists_without_an_end_are_refused():
    with pytest.raises(qw.Error, match=r"^networks: more than 100000 values; write fewer$"):
        envs.domain(itertools.repeat(scenario()))
    with pytest.raises(qw.Error, match=r"^flows: more than 100 values; write fewer$"):
        envs.paper(flows=itertools.count(1))


def test_an_array_of_no_dimensions_is_one_value():
    a = envs.paper(rtt_ms=np.array(20), flows=np.array(6), episode_s=np.array(5, "m8[s]"))
    b = envs.paper(rtt_ms=20, flows=6, episode_s="5s")
    assert a == b
    with pytest.raises(qw.Error, match=r"^networks: array\(5\) is no scenario"):
        envs.domain(np.array(5))


@pytest.mark.parametrize("name", ["Marking", "Threshold", "RedTuning"])
def test_there_is_nothing_to_render(name: str):
    assert gymnasium.make(f"Queuewright/{name}-v0", networks=small(), render_mode=None).render_mode is None
    gymnasium.make_vec(f"Queuewright/{name}-v0", num_envs=1, networks=small(), render_mode=None)
    for made in (getattr(envs, name), getattr(envs, f"{name}Vector")):
        with pytest.raises(qw.Error, match='render_mode = "human": there is nothing to see; leave it out'):
            made(networks=small(), render_mode="human")


def test_after_a_reset_that_failed_no_episode_goes_on():
    env, many = envs.Marking(small()), envs.MarkingVector(2, small())
    for one, action in ((env, 0), (many, np.array([0, 0]))):
        one.reset(seed=1)
        one.step(action)
        with pytest.raises(qw.Error, match="seed = -1"):
            one.reset(seed=-1)
        with pytest.raises(qw.Error, match=r"call reset\(\) first"):
            one.step(action)
        one.reset(seed=1)
        one.step(action)


def steps_in_a_child(many: envs.MarkingVector, pipe: "multiprocessing.connection.Connection") -> None:
    """What a fork of this process gets of the environments that it was given, and of its own."""
    seen = [many.step(np.array([1, 2]))[1].tolist() for _ in range(5)]
    own = envs.MarkingVector(2, small())
    own.reset(seed=4)
    seen += [own.step(np.array([1, 2]))[1].tolist() for _ in range(5)]
    pipe.send(seen)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning", "ignore:.*fork:RuntimeWarning")
def test_a_fork_has_threads_of_its_own():
    many = envs.MarkingVector(2, small())
    many.reset(seed=4)
    begin = [many.step(np.array([1, 2]))[1].tolist() for _ in range(5)]
    # The parent's threads are there, and wait for work that the child's steps would be.
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    child = context.Process(target=steps_in_a_child, args=(many, there), daemon=True)
    child.start()
    try:
        assert here.poll(PATIENCE), "a fork hangs"
        goes_on, own = (lambda got: (got[:5], got[5:]))(here.recv())
    finally:
        child.kill()
    assert own == begin
    assert goes_on == [many.step(np.array([1, 2]))[1].tolist() for _ in range(5)]


def make_small():
    return gymnasium.wrappers.RecordEpisodeStatistics(
        gymnasium.make("Queuewright/Marking-v0", networks=small())
    )


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning", "ignore:.*fork:RuntimeWarning")
@pytest.mark.parametrize("how", ["sync", "fork", "spawn"])
def test_gymnasiums_own_vectors(how: str):
    """As CleanRL's scripts make them, for 10,000 steps of a policy that draws its actions."""
    make = [make_small] * 2
    # This process has threads before it forks.
    envs.MarkingVector(2, small()).reset(seed=1)
    if how == "sync":
        many = gymnasium.vector.SyncVectorEnv(make)
    else:
        many = gymnasium.vector.AsyncVectorEnv(make, context=how)
    seen, _ = many.reset(seed=7)
    many.action_space.seed(7)
    returns = []
    for _ in range(5000):
        seen, _, _, _, infos = many.step(many.action_space.sample())
        assert many.observation_space.contains(seen)
        if "episode" in infos:
            returns += infos["episode"]["r"][infos["_episode"]].tolist()
    many.close()
    assert len(returns) == 2 * (5000 // 201)


# It needs torch, 3 GB: where nobody has put it, the vectors above stand for it.
if importlib.util.find_spec("stable_baselines3"):

    def test_stable_baselines_vector_is_ours() -> None:
        from stable_baselines3 import PPO

        from queuewright.sb3 import MarkingVecEnv

        many, plain = MarkingVecEnv(envs.MarkingVector(3, small())), envs.MarkingVector(3, small())
        many.seed(5)
        assert (many.reset() == plain.reset(seed=5)[0]).all()
        _, first = plain.reset(seed=5)
        assert [info["network"] for info in many.reset_infos] == first["network"].tolist()
        action = np.array([1, 3, 5])
        for i in range(1, 402):
            seen, earned, over, infos = many.step(action)
            if i in (200, 400):
                # The next begins in this step: its first observation, and the last of the one before.
                last, wanted, _, truncated, _ = plain.step(action)
                assert over.all()
                assert truncated.all()
                assert not seen.any()
                assert (np.array([info["terminal_observation"] for info in infos]) == last).all()
                assert all(info["TimeLimit.truncated"] for info in infos)
                plain.step(action)
            else:
                now, wanted, _, _, _ = plain.step(action)
                assert not over.any()
                assert (seen == now).all()
            assert (earned == wanted).all()
        PPO("MlpPolicy", many, n_steps=250, batch_size=250, device="cpu").learn(3_000)
        many.close()

    @pytest.mark.parametrize("how", ["fork", "spawn"])
    def test_stable_baselines_trains(how: str):
        from stable_baselines3 import PPO
        from stable_baselines3.common.vec_env import SubprocVecEnv

        many = SubprocVecEnv([make_small] * 2, start_method=how)
        PPO("MlpPolicy", many, n_steps=500, batch_size=250, device="cpu").learn(10_000)
        many.close()


if importlib.util.find_spec("torch"):

    @pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning", "ignore:.*fork:RuntimeWarning")
    @pytest.mark.parametrize("how", ["sync", "fork", "spawn"])
    def test_a_loop_as_cleanrls_trains(how: str):
        """A loop of its own over Gymnasium's vectors, as wrapped: 10,000 steps."""
        import torch

        torch.manual_seed(1)
        make = [make_small] * 2
        if how == "sync":
            many = gymnasium.vector.SyncVectorEnv(make)
        else:
            many = gymnasium.vector.AsyncVectorEnv(make, context=how)
        inputs = int(np.prod(many.single_observation_space.shape))
        policy = torch.nn.Sequential(
            torch.nn.Linear(inputs, 32),
            torch.nn.Tanh(),
            torch.nn.Linear(32, int(many.single_action_space.n)),
        )
        before = [p.detach().clone() for p in policy.parameters()]
        optimiser = torch.optim.Adam(policy.parameters(), lr=1e-3)
        seen, _ = many.reset(seed=7)
        steps = 0
        while steps < 10_000:
            chosen, rewards = [], []
            for _ in range(50):
                logits = policy(torch.as_tensor(np.asarray(seen, np.float32)).reshape(2, inputs))
                drawn = torch.distributions.Categorical(logits=logits)
                actions = drawn.sample()
                chosen.append(drawn.log_prob(actions))
                seen, reward, _, _, _ = many.step(actions.numpy())
                rewards.append(torch.as_tensor(np.asarray(reward, np.float32)))
                steps += 2
            gain = torch.stack(rewards) - torch.stack(rewards).mean()
            loss = -(torch.stack(chosen) * gain).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        many.close()
        after = list(policy.parameters())
        assert all(torch.isfinite(p).all() for p in after)
        assert any((a != b).any() for a, b in zip(after, before, strict=True))
