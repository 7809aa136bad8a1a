"""Code on pages: what no test runs says why, and commands that pages show are run."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from conftest import ROOT, SMALL
from test_handbook import PAGES as RUN
from test_handbook import is_python
from test_pages import PAGES

PROGRAM = Path(sys.executable).with_name("queuewright")
_BLOCK = re.compile(
    r"(?:^File `(?P<file>[^`\n]+)`:\n\n)?^(?P<in> *)```(?P<info>[^\n]*)\n(?P<text>.*?)^(?P=in)```$",
    re.M | re.S,
)
# Those that a program writes, and logs of what was run once.
WRITTEN = [
    page
    for page in PAGES
    if page.parent.name != "log" and page.name not in ("python-api.md", "fidelity-rows.md", "CHANGELOG.md")
]
# Other blocks than those of guides that are run in order: how many of each language, and what tests them.
ELSEWHERE = {
    ("CONTRIBUTING.md", "diff"): (9, "crates/testing/tests/contributing.rs applies and builds them"),
    ("CONTRIBUTING.md", ""): (4, "make's targets and the map of folders; the tests build with them"),
    ("README.md", "console"): (2, "crates/cli/tests/cli.rs compares them"),
    ("README.md", "toml"): (1, "test_docs.py reads it"),
    ("README.md", ""): (2, "what CI itself does: make and pip"),
    ("docs/architecture.md", "mermaid"): (1, "crates/testing/tests/pages.rs compares it with the manifests"),
    ("docs/how-to/in-a-unit-test-of-a-quic-stack.md", "toml"): (1, "crates that are fetched from elsewhere"),
    ("docs/how-to/in-a-unit-test-of-a-quic-stack.md", "rust"): (1, "crates/testing/tests/of_a_quic_stack.rs"),
    ("docs/how-to/watch-in-prometheus-and-grafana.md", "yaml"): (1, "compared below with the program's port"),
    ("docs/how-to/write-a-figure.md", "toml"): (1, "run below with the page's figure"),
    ("docs/experiments/README.md", "toml"): (4, "run below"),
    ("docs/experiments/README.md", ""): (1, "a folder's files; crates/cli/tests/reproduce.rs looks for them"),
    ("docs/experiments/README.md", "sh"): (3, "commands and options: test_pages.py"),
    ("docs/linux.md", ""): (12, "root, the module or the lab; commands and options: test_pages.py"),
    ("docs/linux.md", "console"): (1, "run below"),
    ("docs/linux.md", "yaml"): (1, "compared below with the program's port"),
    ("docs/own.md", "c"): (1, "crates/scenario/tests/own/disciplines.rs runs it"),
    ("docs/own.md", ""): (6, "run below, but for root, the lab and a kernel's verifier"),
    ("docs/own-control.md", ""): (4, "run below, but for the lab and a kernel's verifier"),
    ("docs/python.md", "python"): (5, "test_docs.py, and test_ray.py of a cluster"),
    ("docs/python.md", ""): (2, "installs packages"),
    ("docs/quic.md", "toml"): (1, "test_docs.py reads it"),
    ("docs/results.md", "sh"): (1, "run below"),
    ("docs/results.md", "python"): (1, "test_docs.py runs it"),
    ("docs/results.md", ""): (2, "folders' files: crates/report/tests/folder.rs, crates/cli/tests/qlog.rs"),
    ("docs/scenario.md", "toml"): (9, "test_docs.py reads eight, and one is read below"),
    ("docs/scenario.md", "sh"): (1, "run below"),
    ("docs/scenario.md", ""): (1, "a table of flows, read below"),
    ("docs/training.md", "toml"): (1, "test_docs.py reads it"),
    ("docs/training.md", ""): (1, "trains for minutes; commands and options: test_pages.py"),
    ("docs/tutorials/my-congestion-control.md", ""): (1, "needs the lab"),
    ("docs/disciplines/chen-sfq.md", "sh"): (1, "run below"),
    ("docs/disciplines/queuepilot.md", ""): (2, "root, and a line that crates/linux/tests/agent compares"),
    ("suites/home/README.md", ""): (1, "run below"),
    ("suites/rfc7928/README.md", ""): (1, "run below"),
}


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def test_a_block_that_no_test_runs_says_why() -> None:
    without, counted = [], Counter[tuple[str, str]]()
    for page in WRITTEN:
        last: str | None = None
        for block in _BLOCK.finditer(page.read_text()):
            info, before = block["info"], last
            last = info
            if " no-test" in info:
                reason = info.partition(" no-test")[2]
                without += [] if len(reason.split()) >= 2 else [f"{name(page)}: {info}"]
                continue
            run = block["file"] or info == "console" or info.startswith("python")
            # What is printed is compared with what is run before it.
            shown = info == "text" and before is not None and before.startswith("python")
            if not (page in RUN and (run or shown)):
                counted[name(page), info] += 1
    assert without == []
    assert dict(counted) == {of: count for of, (count, _) in ELSEWHERE.items()}
    assert is_python("python")
    assert not is_python("python no-test needs a cluster")


def commands(text: str) -> list[str]:
    """The comparisons and runs in a page's code: blocks, indented lines, and what is in backticks."""
    joined = re.sub(r"\\\n(?:> )?\s*", "", text)
    lines = re.findall(r"^(?:\$ |    )?(?:QUEUEWRIGHT_OWN=1 )?(queuewright (?:compare|run) .*)", joined, re.M)
    lines += re.findall(r"`(queuewright (?:compare|run) [^`\n]+)`", joined)
    return [line for line in lines if "..." not in line and not re.search(r"[A-Z]{3,}|--(engine|qlog)", line)]


def test_comparisons_on_pages_can_be_made(tmp_path: Path) -> None:
    for folder in ("examples", "suites", "experiments", "policies"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    for own in (["discipline", "late"], ["control", "mine"]):
        subprocess.run([PROGRAM, "new", *own], cwd=tmp_path, check=True, capture_output=True)
    for file in ("home.toml", "scenario.toml", "line.toml"):
        (tmp_path / file).write_text(SMALL)
    trained = tmp_path / "queuewright-trained/small/policy.json"
    trained.parent.mkdir(parents=True)
    trained.symlink_to(ROOT / "policies/queuepilot.json")
    asked: dict[str, str] = {}
    for page in WRITTEN:
        if page in RUN:
            continue
        for line in commands(page.read_text()):
            # The link and its flows stand for it, for a moment.
            words = re.sub(r" --(duration|warmup|seeds|out) \S+|  .*| \|.*", "", line)
            files = [word for word in words.split() if word.endswith(".toml")]
            if (files or " compare " in words) and all((tmp_path / file).exists() for file in files):
                asked.setdefault(words, name(page))
    wrong = []
    for words, where in asked.items():
        # In some files the last flow comes at 10 s.
        duration = "11s" if " run " in words else "100ms"
        done = subprocess.run(
            [PROGRAM, *shlex.split(words)[1:], "--duration", duration, "--warmup", "0s", "--seeds", "1"],
            capture_output=True, text=True, cwd=tmp_path,
        )  # fmt: skip
        if done.returncode != 0:
            wrong.append(f"{where}: {words}: {done.stderr}")
    assert "\n".join(wrong) == ""
    assert len(asked) > 30


def test_the_pages_of_own_files_show_what_the_program_says(tmp_path: Path) -> None:
    def said(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([PROGRAM, *words], cwd=tmp_path, capture_output=True, text=True)

    compare = ["compare", "--rate", "50mbit", "--rtt", "20ms", "--duration", "1s"]
    for kind, file, page in (("discipline", "late.h", "own.md"), ("control", "mine.h", "own-control.md")):
        text = (ROOT / "docs" / page).read_text()
        assert f"\nqueuewright new {kind} {file[:-2]}\nqueuewright check ./{file}\n" in text
        assert said("new", kind, file[:-2]).returncode == 0
        assert said("check", f"./{file}").returncode == 0
    late, mine = tmp_path / "late.h", tmp_path / "mine.h"
    late.write_text(late.read_text().replace("<= p->target_ns", "<= p->targt_ns"))
    told = said(*compare, "--flows", "4xcubic", "--aqm", "./late.h").stderr
    assert told in (ROOT / "docs/own.md").read_text()
    begin = "static inline void qw_mine_cong_avoid("
    before, body = mine.read_text().split(begin)
    mine.write_text(
        before
        + begin
        + body.replace("(void)now;", "(void)now;\n\tc->cwnd = 0;", 1).replace("qw_cwnd_limited(c)", "0")
    )
    told = said(*compare, "--flows", "4x./mine.h", "--aqm", "codel").stderr
    shown = re.search(r"^error: (mine\.h: after .*)$", (ROOT / "docs/own-control.md").read_text(), re.M)
    assert shown is not None
    assert f": {shown[1]};" in told


def test_what_other_pages_show_is_so(tmp_path: Path) -> None:
    page = (ROOT / "docs/linux.md").read_text()
    (line, shown) = re.findall(r"```console\n\$ queuewright (.*)\n(.*)\n```", page)[0]
    done = subprocess.run([PROGRAM, *line.split()], cwd=ROOT, capture_output=True, text=True)
    assert done.stderr == shown + "\n"
    # Prometheus looks where the program serves.
    guide = (ROOT / "docs/how-to/watch-in-prometheus-and-grafana.md").read_text()
    port = re.search(r"--listen.*?\[default: (\S+)\]", (ROOT / "docs/commands.md").read_text(), re.S)
    assert port is not None
    for text in (page, guide):
        (scraped,) = re.findall(r"```yaml\n(.*?)```", text, re.S)
        assert f'targets: ["{port[1]}"]' in scraped
    if shutil.which("jq"):
        (tmp_path / "scenario.toml").write_text(SMALL)
        (line,) = re.findall(r"```sh\n(.*)\n```", (ROOT / "docs/results.md").read_text())
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", line.replace("queuewright", str(PROGRAM), 1)],
            cwd=tmp_path, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert re.fullmatch(r"(?:(?:droptail|codel)\t[12]\t[\d.]+\n){4}", done.stdout)


def test_the_page_of_scenarios_has_a_table_of_flows_and_a_profile_that_are_read(tmp_path: Path) -> None:
    page = (ROOT / "docs/scenario.md").read_text()
    (table,) = re.findall(r"```\n(rtt,cca,start\n.*?)```", page, re.S)
    (profile,) = re.findall(r"```toml\n(\[\[profile\]\].*?)```", page, re.S)
    (tmp_path / "flows.csv").write_text(table)
    (tmp_path / "my.toml").write_text(profile)
    probed = 'cca = "cubic"\nrtt = "20ms"\nprobes = { profiles = "my.toml" }\n'
    flows = '[[flows]]\nfile = "flows.csv"\n[[flows]]\n' + probed
    (tmp_path / "s.toml").write_text(SMALL.replace("[queue]", flows + "[queue]"))
    done = subprocess.run([PROGRAM, "check", "s.toml"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def blocks(page: str) -> list[str]:
    """The TOML of a page."""
    return re.findall(r"```toml\n(.*?)```", (ROOT / page).read_text(), re.S)


@pytest.mark.parametrize("asked", [[], ["--null"], ["--causes"]], ids=str)
def test_the_page_of_experiments_has_one_that_works(tmp_path: Path, asked: list[str]) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    null, cause, of_claim, figure = blocks("docs/experiments/README.md")
    disciplines = '["droptail", { name = "titrate", label = "Titrate" }, { name = "duk", label = "DUK" }]'
    (folder / "fig10.toml").write_text(
        SMALL.replace('["droptail", "codel"]', disciplines).replace(
            "[[flows]]\ncbr", '[[flows]]\nrtt = "20ms"\ncbr'
        )
    )
    (folder / "fig10.figure.toml").write_text(figure + of_claim)
    (folder / "nulls.toml").write_text(null)
    (folder / "causes.toml").write_text(cause)
    done = subprocess.run(
        [PROGRAM, "reproduce", "./mine", "--quick", *asked], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_the_guide_to_figures_has_seeds_that_work(tmp_path: Path) -> None:
    scenario, figure, seeds = blocks("docs/how-to/write-a-figure.md")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/flows.toml").write_text(scenario.replace("30s", "3s"))
    (tmp_path / "mine/flows.figure.toml").write_text(figure + seeds.replace("100", "3"))
    done = subprocess.run([PROGRAM, "reproduce", "./mine"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def shape(said: str) -> list[str]:
    """What is printed without its numbers and names by chance: `...` and what it stands for are left out."""
    lines = [
        " ".join(re.sub(r"\b(?=[a-f]*\d)[0-9a-f]{8,}\b|[-+]?\d[\d.,]*", "N", line).split())
        for line in said.splitlines()
    ]
    return [line for line in lines if line not in ("", "...")]


def test_the_tutorial_of_a_learned_policy_can_be_done_with_less_training(tmp_path: Path) -> None:
    for needed in ("jax", "optax"):
        pytest.importorskip(needed)
    page = (ROOT / "docs/tutorials/learned-policy.md").read_text()
    path = f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}"
    looked_at = 0
    for block in _BLOCK.finditer(page):
        if block["file"]:
            text = re.sub("steps = .*", "steps = 4_000\nepochs = 1", block["text"])
            (tmp_path / block["file"]).write_text(text)
        elif block["info"].startswith("console no-test"):
            ((command, shown),) = re.findall(r"^\$ (.*)\n((?:.*\n)*)", block["text"], re.M)
            # The fifteen networks take half a minute.
            if "evaluate" in command and "--on" not in command:
                continue
            done = subprocess.run(
                ["bash", "-c", command + " 2>&1"], cwd=tmp_path, capture_output=True, text=True,
                env={**os.environ, "PATH": path, "COLUMNS": "200", "NO_COLOR": "1"},
            )  # fmt: skip
            assert done.returncode == 0, done.stdout
            said = shape(done.stdout)
            assert [line for line in shape(shown) if line not in said] == [], done.stdout
            looked_at += 1
    assert looked_at == 4
