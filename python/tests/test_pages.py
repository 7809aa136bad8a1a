"""Pages in plain words: links that lead somewhere, and guides that are easy to read."""

import json
import re
import sys
from pathlib import Path

import pytest
from conftest import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

GUIDES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs/tutorials").glob("*.md")),
    *sorted((ROOT / "docs/how-to").glob("*.md")),
]
PAGES = sorted(
    {
        *ROOT.glob("*.md"),
        *(
            page
            for folder in ("docs", "suites", "policies", "experiments")
            for page in (ROOT / folder).rglob("*.md")
        ),
    }
)
# Those that people write, but for logs. A program writes papers' pages, and what is made of sources.
WRITTEN = [
    page
    for page in PAGES
    if page.parent != ROOT / "docs/log"
    and (page.parent != ROOT / "docs/experiments" or page.name == "README.md")
    and page.parent != ROOT / "docs/suites"
    and page.name not in ("commands.md", "python-api.md", "sheets.md")
]
_BLOCK = re.compile(r"^( *)```.*?^\1```[ ]*$", re.M | re.S)
_INDENTED = re.compile(r"\n\n(?: {4}.*\n+)+")
_CODE = re.compile(r"`[^`\n]+`")
_LINK = re.compile(r"\[(?P<text>(?:[^\[\]]|\[[^\[\]]*\])*)\]\((?P<to>[^()\s]+)\)")


def without_blocks(page: Path) -> str:
    return _INDENTED.sub("\n\n", _BLOCK.sub("", page.read_text()))


def anchors(page: Path) -> set[str]:
    """What can follow `#` in a link to a page, as GitHub makes it of the headings."""
    found: dict[str, int] = {}
    for heading in re.findall(r"^#+ +(.*?) *$", without_blocks(page), re.M):
        words = _LINK.sub(lambda link: link["text"], heading).lower()
        slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        found[slug] = found.get(slug, -1) + 1
    return {f"{slug}-{n}" if n else slug for slug, last in found.items() for n in range(last + 1)}


def prose(page: Path) -> list[str]:
    """Paragraphs and list items, without headings, tables and blocks; code is one word."""
    parts: list[list[str]] = [[]]
    for line in without_blocks(page).splitlines():
        text = line.strip()
        if not text or text.startswith(("#", "|", "!", "<")):
            parts.append([])
        elif item := re.match(r"(?:\d+\.|[-*]) +(.*)", text):
            parts.append([item[1]])
        else:
            parts[-1].append(text)
    whole = (
        _LINK.sub(lambda link: link["text"], _CODE.sub("Code", " ".join(part))) for part in parts if part
    )
    return [text.replace("*", "") for text in whole]


def words(paragraphs: list[str]) -> list[list[str]]:
    """Their sentences, as words."""
    return [
        one.split()
        for text in paragraphs
        for one in re.split(r"(?<=[.!?:])\)? +(?=[(\"A-Z0-9])", text)
        if one
    ]


def sentences(page: Path) -> list[list[str]]:
    """Its sentences, as words."""
    return words(prose(page))


def syllables(word: str) -> int:
    """Groups of vowels, without a silent e."""
    letters = re.sub("[^a-z]", "", word.lower())
    silent = letters.endswith("e") and not letters.endswith("le")
    return max(len(re.findall("[aeiouy]+", letters)) - silent, 1)


def grade(all_sentences: list[list[str]]) -> float:
    """Years of school that a text takes (Kincaid et al. 1975)."""
    words = [word for sentence in all_sentences for word in sentence]
    return 0.39 * len(words) / len(all_sentences) + 11.8 * sum(map(syllables, words)) / len(words) - 15.59


def test_what_is_easy_is_told_from_what_is_not(tmp_path: Path) -> None:
    easy, hard = tmp_path / "easy.md", tmp_path / "hard.md"
    easy.write_text(
        "# A heading that does not count\n\nThe queue is full. `a b c` [waits](b.md#c): 3 packets.\n\n| a |\n"
    )
    hard.write_text(
        "Notwithstanding considerable heterogeneity, utilisation approximates theoretical maximality.\n"
    )
    assert sentences(easy) == [["The", "queue", "is", "full."], ["Code", "waits:"], ["3", "packets."]]
    assert [syllables(word) for word in ("queue", "waits", "simple", "utilisation", "17")] == [1, 1, 2, 5, 1]
    assert grade(sentences(easy)) < 3 < 20 < grade(sentences(hard))
    # By hand: 7 words of 9 syllables in one sentence.
    assert grade([["The", "packets", "wait", "in", "a", "little", "queue."]]) == pytest.approx(
        0.39 * 7 + 11.8 * 9 / 7 - 15.59
    )


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_is_easy_to_read(page: Path) -> None:
    all_sentences = sentences(page)
    assert all_sentences
    assert grade(all_sentences) <= 9
    assert [" ".join(words) for words in all_sentences if len(words) > 30] == []


def test_guides_are_among_the_pages_that_are_easy_to_read() -> None:
    assert set(GUIDES) <= set(WRITTEN)
    assert all(len(sentences(page)) >= 5 for page in GUIDES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    lost = []
    for link in _LINK.finditer(_CODE.sub("Code", _BLOCK.sub("", page.read_text()))):
        to = link["to"]
        if re.match(r"[a-z]+:", to):
            continue
        path, _, anchor = to.partition("#")
        there = (page.parent / path).resolve() if path else page
        known = there.exists() and (not anchor or there.suffix != ".md" or anchor in anchors(there))
        lost += [] if known else [to]
    assert lost == []


def options() -> dict[str, set[str]]:
    """The commands, and the options of each, as docs/commands.md has them, whose blocks are run."""
    sections = (ROOT / "docs/commands.md").read_text().split("\n## ")[1:]
    of = {part.partition("\n")[0]: part for part in sections}
    listed = of.pop("All of them").partition("\nCommands:\n")[2].partition("\nOptions:\n")[0]
    assert list(of) == [*dict.fromkeys(of)]
    assert set(of) == set(re.findall(r"^  ([a-z-]+)  ", listed, re.M))
    return {name: set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", part)) for name, part in of.items()}


def commands(page: Path) -> list[tuple[str, set[str]]]:
    """The commands in a page's code, each with its options."""
    text = page.read_text().replace("\\\n", " ")
    found = []
    for said in re.finditer(r"(?<![\w/.-])queuewright ([a-z][a-z-]*)((?:[^\n`|#;]|\| )*)", text):
        line = text[text.rfind("\n", 0, said.start()) + 1 : said.start()]
        fenced = text.count("\n```", 0, said.start()) % 2 == 1
        if fenced or line.startswith("    ") or line.count("`") % 2 == 1:
            found.append((said[1], set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", said[2]))))
    return found


def test_commands_and_options_on_pages_are_those_that_there_are() -> None:
    known = options()
    # What Python imports, and the text that seeds are made of.
    others = {"as", "import", "scenario"}
    wrong, looked_at = [], 0
    for page in PAGES:
        if page.parent.name == "log" or page.name == "commands.md":
            continue
        for name, used in commands(page):
            looked_at += 1
            # An attached discipline's parameters are options, too.
            strange = used - known.get(name, set()) if name != "attach" else set()
            if strange or name not in known | dict.fromkeys(others):
                wrong.append(f"{page.relative_to(ROOT)}: {name} {sorted(strange)}")
    assert wrong == []
    assert looked_at > 300


def test_every_command_is_on_the_list() -> None:
    listed = re.findall(r"^\| (`queuewright .*?) \|", (ROOT / "docs/README.md").read_text(), re.M)
    words = {word for cell in listed for code in re.findall(r"`([^`]*)`", cell) for word in code.split()}
    assert set(options()) - words == set()


@pytest.mark.parametrize("name", ["advise", "tune"])
def test_tables_of_options_have_all_of_them(name: str) -> None:
    cells = re.findall(r"^\| (`--.*?) \|", (ROOT / f"docs/{name}.md").read_text(), re.M)
    listed = {flag for cell in cells for flag in re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", cell)}
    # What is said in words.
    assert listed == options()[name] - {"--help", "--version"} - ({"--resume"} if name == "tune" else set())


def test_results_have_no_key_that_the_page_lacks() -> None:
    keys = set()

    def walk(part: object) -> None:
        if isinstance(part, dict):
            keys.update(part.get("properties", {}))
        for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list) else []:
            walk(inner)

    walk(json.loads((ROOT / "docs/results.schema.json").read_text()))
    page = (ROOT / "docs/results.md").read_text()
    named = {word for code in _CODE.findall(page) for word in re.findall(r"[a-z_0-9]+", code)}
    assert len(keys) > 80
    assert keys - named == set()


def number(said: str) -> float | bool | str:
    """A value as the page of trainings says it."""
    if plain := re.fullmatch(r"(-?[\d.]+(?:e-?\d+)?)( million)?( \(off\))?", said):
        return float(plain[1]) * (1e6 if plain[2] else 1)
    return {"on": True, "off": False}.get(said, said)


def test_the_page_of_trainings_has_the_presets() -> None:
    presets = [
        tomllib.loads((ROOT / f"python/queuewright/learn/presets/{name}.toml").read_text())["learning"]
        for name in ("default", "paper")
    ]
    text = (ROOT / "docs/training.md").read_text()
    rows = re.findall(r"^\| (`[a-z_`, ]+`) \| (.*?) \| (.*?) \|", text, re.M)
    listed, compared = [], 0
    for names, *said in rows:
        keys = re.findall("`(.*?)`", names)
        listed += keys
        for preset, values in zip(presets, said, strict=True):
            each = values.split(", ")
            # What changes during a training is said in words.
            if any(isinstance(preset[key], list) for key in keys):
                continue
            compared += len(keys)
            assert [number(one) for one in each] == [preset[key] for key in keys], names
    assert sorted(listed) == sorted(presets[0])
    assert compared > 25


def test_messages_that_have_a_cure_are_those_of_the_program() -> None:
    files = [*(ROOT / "crates").glob("*/src/**/*.rs"), *(ROOT / "python/queuewright").rglob("*.py")]
    # A text may be broken into lines there, and have names put into it.
    source = re.sub(r"\\\n\s*", "", "\n".join(file.read_text() for file in files))

    def parts_of(text: str) -> list[str]:
        return re.findall(r"[A-Za-z0-9_'-]+", text)

    said = f" {' '.join(parts_of(source))} "
    strange, looked_at = [], 0
    for row in re.findall(r"^\| (.*) \|$", (ROOT / "docs/how-to/it-does-not-work.md").read_text(), re.M):
        # The doctor's have the name of the line before them.
        message = ["", *row.split(" | ")][-2]
        for text in re.findall(r"`([^`]+)`", message):
            parts = parts_of(text)
            runs = zip(parts, parts[1:], parts[2:], strict=False)
            if len(parts) >= 3:
                looked_at += 1
                strange += [] if any(f" {' '.join(run)} " in said for run in runs) else [text]
    assert strange == []
    assert looked_at > 25


def test_exit_codes_are_said_alike() -> None:
    codes = re.search(r"^Exit codes: (.*?) \(", (ROOT / "docs/commands.md").read_text(), re.M)
    assert codes is not None
    page = (ROOT / "docs/README.md").read_text()
    assert f"Exit codes: {codes[1]}. " in page


def test_the_readme_stays_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120


def test_pages_name_the_version_that_there_is() -> None:
    version = re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.M)
    assert version is not None
    guides = [*(ROOT / "docs").glob("*.md"), *GUIDES]
    named = {
        (page.name, found)
        for page in guides
        for found in re.findall(r"\bqueuewright[ /](\d+\.\d+\.\d+)\b", page.read_text())
    }
    assert len(named) >= 3
    assert {(page, found) for page, found in named if found != version[1]} == set()
