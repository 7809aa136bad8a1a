"""What a shell and `man` make of what the command writes for them."""

import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import Command


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["comp"], {"compare", "completions"}),
        (["run", "--see"], {"--seeds"}),
        (["run", "--engine", "l"], {"linux"}),
        (["compare", "--fl"], {"--flows"}),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else None,
)
def test_bash_completes(command: Command, tmp_path: Path, words: list[str], wanted: set[str]) -> None:
    (tmp_path / "completions").write_text(command("completions", "bash").stdout)
    script = """
        source completions
        COMP_WORDS=(queuewright "$@")
        COMP_CWORD=$#
        _queuewright queuewright "${@: -1}" "${COMP_WORDS[-2]}"
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    done = subprocess.run(
        ["bash", "-c", script, "bash", *words], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) == wanted, done.stderr


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_read_their_script(command: Command, tmp_path: Path, shell: str) -> None:
    script = command("completions", shell).stdout
    assert "queuewright" in script
    (tmp_path / "completions").write_text(script)
    # Few machines have them.
    if program := shutil.which(shell):
        subprocess.run([program, "-n", tmp_path / "completions"], check=True)


def test_man_pages_are_right(command: Command, tmp_path: Path) -> None:
    assert command("man", tmp_path).returncode == 0
    pages = sorted(tmp_path.glob("*.1"))
    assert len(pages) > 20
    for page in pages if shutil.which("groff") else []:
        done = subprocess.run(["groff", "-man", "-ww", "-z", page], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, ""), page.name
