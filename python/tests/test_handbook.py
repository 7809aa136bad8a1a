"""Pages whose commands are run, in their order in an empty folder, and then their Python."""

import importlib.util
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import ROOT

COMMANDS = ROOT / "docs/commands.md"
PAGES = [*sorted([*(ROOT / "docs/tutorials").glob("*.md"), *(ROOT / "docs/how-to").glob("*.md")]), COMMANDS]
_BLOCK = re.compile(
    r"(?:^File `(?P<file>[^`\n]+)`:\n\n)?^```(?P<info>[^\n]*)\n(?P<text>.*?)^```$", re.M | re.S
)
# Printed between two blocks of Python, and by none of them.
_BETWEEN = "-- next block --"


@dataclass
class Step:
    """A command, and what it prints."""

    command: str
    output: list[str]


def steps(text: str) -> list[Step]:
    """Those of a block."""
    found: list[Step] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append(Step(line[2:], []))
        elif line.startswith("> ") and found and not found[-1].output:
            found[-1].command += "\n" + line[2:]
        else:
            found[-1].output.append(line)
    for step in found:
        # An empty line before the next command is the page's.
        while step.output and not step.output[-1].strip():
            step.output.pop()
    return found


def pattern(lines: list[str]) -> re.Pattern[str]:
    """Of what is printed: `...` is any part of a line, and alone any number of lines."""
    parts = []
    for line in lines:
        if line.strip() == "...":
            parts.append(r"(?:[^\n]*\n)*?")
        else:
            parts.append(r"[^\n]*".join(re.escape(part) for part in line.rstrip().split("...")) + r"[ ]*\n")
    return re.compile("".join(parts))


def kept(before: list[str], now: list[str]) -> list[str]:
    """What is printed now, with those lines of before that still stand for it."""
    out = []
    for line in now:
        same = [old for old in before if old.strip() != "..." and pattern([old]).fullmatch(line + "\n")]
        out.append(same[0] if same else line)
    return out


def is_python(info: str) -> bool:
    """Is a block run as Python? One that needs a package is run where that is."""
    language, _, needed = info.partition(" needs-")
    return language == "python" and (not needed or importlib.util.find_spec(needed) is not None)


def test_there_are_pages_that_are_run() -> None:
    blocks = [block for page in PAGES for block in _BLOCK.finditer(page.read_text())]
    run = [block for block in blocks if block["info"] == "console"]
    assert len(PAGES) >= 16
    assert len(run) >= 15


def test_a_pattern_knows_what_varies() -> None:
    said = pattern(["took ... s", "...", "done"])
    assert said.fullmatch("took 3 s\na\nb\ndone\n")
    assert said.fullmatch("took 3.5 s\ndone\n")
    assert not said.fullmatch("took 3 s\na\ndone.\n")
    assert not said.fullmatch("took\ndone\n")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_does_what_it_says(page: Path, tmp_path: Path) -> None:
    # UPDATE_HANDBOOK=1 writes what is printed into the page.
    update = os.environ.get("UPDATE_HANDBOOK") == "1"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    # Help is broken to fit, tables are not.
    columns = "100" if page == COMMANDS else "200"
    env = {**os.environ, "PATH": path, "COLUMNS": columns, "NO_COLOR": "1"}
    env.pop("QUEUEWRIGHT_OWN", None)
    source = page.read_text()
    script: list[str] = []
    # What the page says that each of them prints; none: nothing.
    shown: list[re.Match[str] | None] = []
    written: list[tuple[tuple[int, int], str]] = []
    before = None
    for block in _BLOCK.finditer(source):
        before, last = block, before
        if block["info"] == "text" and last is not None and is_python(last["info"]):
            if not source[last.end() : block.start()].strip():
                shown[-1] = block
        elif block["file"]:
            (tmp_path / block["file"]).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / block["file"]).write_text(block["text"])
        elif is_python(block["info"]):
            script.append(block["text"])
            shown.append(None)
        elif block["info"] == "console":
            found = steps(block["text"])
            for step in found:
                done = subprocess.run(
                    ["bash", "-c", step.command],
                    cwd=tmp_path,
                    env=env,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    timeout=600,
                )
                said = done.stdout.rstrip()
                # A page may show what goes wrong.
                fails = any("error" in line for line in step.output)
                assert done.returncode == 0 or fails, f"{page.name}: {step.command}\n{said}"
                if pattern(step.output).fullmatch(said + "\n" if said else ""):
                    continue
                assert update, f"{page.name}: {step.command}\nprints\n{done.stdout}\nand not\n" + "\n".join(
                    step.output
                )
                step.output = kept(step.output, said.splitlines())
            if update:
                lines = [line for s in found for line in [f"$ {s.command}".replace("\n", "\n> "), *s.output]]
                written.append((block.span("text"), "\n".join(lines) + "\n"))
    if script:
        between = f'print("{_BETWEEN}", end="")\n'
        done = subprocess.run(
            [sys.executable, "-c", between.join(script)],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, done.stderr
        for code, output, said in zip(script, shown, done.stdout.split(_BETWEEN), strict=True):
            if output is None or pattern(output["text"].splitlines()).fullmatch(said.rstrip() + "\n"):
                continue
            assert update, f"{page.name}: {code}\nprints\n{said}\nand not\n{output['text']}"
            lines = kept(output["text"].splitlines(), said.splitlines())
            written.append((output.span("text"), "\n".join(lines) + "\n"))
    # From the end on, as what is longer moves what is behind it.
    for (begin, end), text in sorted(written, reverse=True):
        source = source[:begin] + text + source[end:]
    if update:
        page.write_text(source)
