"""What is said outside of pages reads as pages do: help, docstrings, and how each header begins."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT
from test_pages import WRITTEN, prose, words

HEADERS = sorted([*(ROOT / "aqm").glob("*.h"), *(ROOT / "cca").glob("*.h")])
# crates/scenario/src/keys.rs has the words of keys.py, of which tables are made, too.
MODULES = [file for file in sorted((ROOT / "python/queuewright").rglob("*.py*")) if file.name != "keys.py"]
HELP = ROOT / "crates/cli/tests/snapshots/cli__help_of_every_command.snap"
# What plain English has a shorter word for.
STIFF = [
    "e.g.",
    "i.e.",
    "etc.",
    "via",
    "in order to",
    "utilize",
    "leverage",
    "hence",
    "whilst",
    "thus",
    "viz.",
]
# Second names of the glossary that mean nothing else (others are words of papers, of tc or of everyday, too).
UNAMBIGUOUS = [
    "queue length", "occupancy", "queueing delay", "waiting time", "FCT", "PDV", "packet delay variation",
    "reference model", "oracle",
]  # fmt: skip


def long_ones(paragraphs: list[str]) -> list[str]:
    """Sentences of more than 30 words; code is one word."""
    plain = [re.sub(r"`[^`]+`", "Code", text) for text in paragraphs]
    return [" ".join(sentence) for sentence in words(plain) if len(sentence) > 30]


def stiff(paragraphs: list[str]) -> list[str]:
    """Words for which there are shorter ones, each with what is before and behind it."""
    found = rf"\b.{{0,20}}(?<![\w.`])(?:{'|'.join(map(re.escape, STIFF))})(?!\w).{{0,20}}"
    return [hit for text in paragraphs for hit in re.findall(found, text)]


def opening(header: Path) -> list[str]:
    """The paragraphs and items of a header's first comment, without tables, formulas and declarations."""
    comment = re.search(r"\n/\*((?:(?!SPDX|\*/).)*)\*/", header.read_text(), re.S)
    assert comment is not None, header.name
    parts: list[list[str]] = [[]]
    item = False
    for line in comment[1].splitlines():
        text = line.removeprefix(" *").removeprefix(" ")
        if begins := re.match(r" +- (.*)", text):
            parts.append([begins[1]])
            item = True
        elif text.startswith((" ", "\t")) and not (item and re.match(r" {3,5}\S", text)):
            parts.append([])
        elif not text.strip():
            parts.append([])
            item = False
        else:
            if not text.startswith(" ") and item:
                parts.append([])
                item = False
            parts[-1].append(text.strip())
    return [" ".join(part) for part in parts if part]


def docstrings() -> Iterator[tuple[str, str]]:
    """Those of the package, each with where it is."""
    for file in MODULES:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                said = ast.get_docstring(node)
                if said:
                    yield f"{file.relative_to(ROOT)}: {getattr(node, 'name', '')}", said


def paragraphs(docstring: str) -> list[str]:
    """Its paragraphs, and what it says of each argument."""
    parts: list[list[str]] = [[]]
    for line in docstring.splitlines():
        text = line.strip()
        item = re.match(r"(?:[-*] +|\*{0,2}\w+: +)(.*)", text) if line.startswith(" ") else None
        if not text or re.fullmatch(r"(Args|Returns|Raises|Yields|Attributes):", text):
            parts.append([])
        elif item:
            parts.append([item[1]])
        else:
            parts[-1].append(text)
    return [" ".join(part) for part in parts if part]


def help_texts() -> list[str]:
    """The paragraphs of the program's help, and what it says of each command and option."""
    parts: list[list[str]] = [[]]
    for line in HELP.read_text().split("\n---\n")[1].splitlines():
        option = re.fullmatch(r" {2,8}(?:-[\w<>-][^.]*?|\[?<[^ ]+|[a-z-]+)(?: {2,}(.*))?", line)
        command = re.match(r"\s*(?:queuewright |sudo |jq |--\w+ |\$ |tc )", line)
        if option:
            parts.append([option[1]] if option[1] else [])
        elif not line.strip() or command or re.match(r"===|[A-Z]\w+:|\s+- \w+:|\s+Possible", line):
            parts.append([])
        else:
            parts[-1].append(line.strip())
    return [" ".join(part) for part in parts if part]


def test_a_comment_and_a_docstring_are_read_as_they_stand(tmp_path: Path) -> None:
    header = tmp_path / "x.h"
    header.write_text(
        "/* SPDX-License-Identifier: MIT */\n/*\n * A rule\n * of two:\n *\n *\tp += a\n *\n"
        " *  - an item, which\n *    goes on;\n *  - another.\n * And more.\n */\n"
    )
    assert opening(header) == ["A rule of two:", "an item, which goes on;", "another.", "And more."]
    said = "One.\n\nMore of\nit.\n\nArgs:\n    a: First,\n        and last.\n    b: Second."
    assert paragraphs(said) == ["One.", "More of it.", "First, and last.", "Second."]
    assert long_ones(["word " * 31, "word " * 15 + "end. " + "Word " * 15]) == [" ".join(["word"] * 31)]
    assert stiff(["thus and via it, viaduct"]) != []


@pytest.mark.parametrize("header", HEADERS, ids=lambda header: header.name)
def test_a_header_begins_in_plain_words(header: Path) -> None:
    said = opening(header)
    assert said
    assert long_ones(said) == []
    assert stiff(said) == []


def test_docstrings_are_in_plain_words() -> None:
    found = list(docstrings())
    assert len(found) > 150
    assert [(at, long_ones(paragraphs(said))) for at, said in found if long_ones(paragraphs(said))] == []
    assert [(at, stiff(paragraphs(said))) for at, said in found if stiff(paragraphs(said))] == []


def test_help_is_in_plain_words() -> None:
    found = help_texts()
    assert len(found) > 200
    assert long_ones(found) == []
    assert stiff(found) == []


def messages() -> Iterator[tuple[str, str]]:
    """What the program and the package say: their texts of five words and more, each with its file."""
    for file in sorted((ROOT / "crates").glob("*/src/**/*.rs")):
        source = file.read_text().partition("#[cfg(test)]\nmod tests")[0]
        for said in re.findall(r'(?<![\w#])"((?:[^"\\]|\\.)*)"', re.sub(r"//[^\n]*", "", source), re.S):
            text = re.sub(r"\\\n\s*", "", said).replace("\\n", "\n")
            yield from ((str(file.relative_to(ROOT)), line) for line in text.split("\n"))
    for file in MODULES:
        if file.suffix == ".py":
            texts = [
                node.value for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Constant)
            ]
            yield from ((str(file.relative_to(ROOT)), text) for text in texts if isinstance(text, str))


def test_messages_are_in_plain_words() -> None:
    found = [(at, re.sub(r"\{[^}]*\}( %)?", "X", text)) for at, text in messages() if len(text.split()) >= 5]
    assert len(found) > 1500
    # What is below a table, or is put together of parts, may have a little more than other sentences.
    longest = [
        (at, part)
        for at, text in found
        if not text.startswith("|") and "\n\n" not in text
        for part in re.split(r"(?<=[.!?:;])\)? +", re.sub(r"`[^`]*`", "X", text))
        if len(part.split()) > 35
    ]
    assert longest == []
    # Routes have a word of ip's.
    assert [(at, hit) for at, text in found for hit in stiff([text]) if "route add" not in text] == []


def test_pages_have_one_name_for_one_thing() -> None:
    glossary = (ROOT / "docs/glossary.md").read_text()
    assert [name for name in UNAMBIGUOUS if not re.search(rf"Also: [^|]*\b{name}\b", glossary)] == []
    wrong = []
    for page in WRITTEN:
        if page.name in ("glossary.md", "CHANGELOG.md"):
            continue
        said = prose(page)
        wrong += [f"{page.name}: {hit}" for hit in stiff(said)]
        for name in UNAMBIGUOUS:
            wrong += [f"{page.name}: {name}" for text in said if re.search(rf"\b{name}\b", text)]
    assert wrong == []
