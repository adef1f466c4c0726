"""What the documents name is there: files, headings, make targets, tests, answers, terms."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from harness.__main__ import COMMANDS
from harness.tests.tree.documents import (
    CODE_LINE,
    CODE_SPAN,
    LINK,
    anchors,
    is_elsewhere,
    target,
    without_code,
)
from harness.tests.drawn import each_chapter
from harness.failures.hints import HINTS, PAGE
from harness.grading import scoring
from harness.lab import sources
from harness.lab.chapters import CHAPTERS, ROOT, Chapter, find

PLACES = (
    "README.md",
    "docs/*.md",
    "docs/toys/*.md",
    "chapters/*/README.md",
    "solutions/*/README.md",
)
DOCUMENTS = [path for place in PLACES for path in sorted(ROOT.glob(place))]
CLAIMS = scoring.load()

COMMAND = re.compile(r"^(?:\$ )?make((?: [^\s#]+)*)")  # a comment stands two spaces behind it
HEREDOC = re.compile(r"^( *)(?:python3 -|cat > \S+\.py) <<'END'\n(.*?)^\1END$", re.M | re.S)
CLAIM_NAME = re.compile(r"\btest_\d\d_\w+\b(?!\.py)")
SELECTION = re.compile(r"\bmake \w+ CH=(\d\d)\b.*? T=([\w.]+)")

HANDOUTS = sorted(ROOT.glob("chapters/*/README.md"))
SECTIONS = [  # after one chapter, a reader finds the way in the next
    "What you will be able to do",
    "The problem",
    "The idea",
    "What is always true",
    "The contract",
    "The files",
    "Predict before you code",
    "The TODOs",
    "Check all of it",
    "What still breaks",
    "Challenges",
    "Read on",
]

each_document = pytest.mark.parametrize(
    "document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT))
)


def commands(document: Path) -> list[str]:
    """Every line of code, and every piece of code within a line."""
    text = document.read_text()
    spans = [" ".join(span.split()) for span in CODE_SPAN.findall(CODE_LINE.sub("", text))]
    return CODE_LINE.findall(text) + spans


@pytest.fixture(scope="module")
def targets() -> set[str]:
    phony = re.search(r"^\.PHONY:(.*)$", (ROOT / "Makefile").read_text(), re.M)
    return {*phony[1].split(), *COMMANDS}


def test_the_lab_has_its_documents():
    names = {str(path.relative_to(ROOT)) for path in DOCUMENTS}
    assert {"README.md", "docs/protocol.md", PAGE, "docs/decisions.md"} <= names


@each_document
def test_links_lead_somewhere(document):
    for link in LINK.findall(without_code(document.read_text())):
        if is_elsewhere(link):
            continue
        path, anchor = target(link, document)
        there = path.exists() and path.is_relative_to(ROOT)
        assert there, f"{document}: the link {link} leads to no file of the lab"
        if anchor:
            found = anchors(path.read_text())
            where = path.relative_to(ROOT)
            assert anchor in found, f"{document}: {where} has no heading for the link {link}"


@pytest.mark.parametrize("handout", HANDOUTS, ids=lambda path: path.parent.name)
def test_every_handout_has_its_sections_in_order(handout):
    found = re.findall(r"^## (.+)$", handout.read_text(), re.M)
    wanted = [heading for heading in found if heading in SECTIONS]
    assert wanted == SECTIONS, f"{handout}: its headings are {found}; these go in this order"


@pytest.mark.parametrize("key", HINTS)
def test_hints_name_a_section(key):
    anchor = HINTS[key].anchor
    heading = f"a heading '## {anchor.replace('-', ' ').capitalize()}'"
    where = f"harness/failures/hints/{anchor.replace('-', '_')}.py has the hint {key!r}"
    found = anchors((ROOT / PAGE).read_text())
    assert anchor in found, f"{where}: add {heading} to {PAGE}, or move the hint"


@each_document
def test_make_targets_exist(document, targets):
    for command in commands(document):
        words = COMMAND.match(command)
        for word in words[1].split() if words else ():
            known = not re.fullmatch(r"[a-z]+", word) or word in targets
            assert known, f"{document}: `make {word}` is no target: correct {command!r}"


def test_variables_of_an_instructors_commands_exist():
    """The Makefile refuses others."""
    known = re.search(r"^VARIABLES *:?=((?:.*\\\n)*.*)$", (ROOT / "Makefile").read_text(), re.M)
    for command in commands(ROOT / "docs/instructors.md"):
        words = re.findall(r" ([A-Z]+)=", command) if command.startswith("make ") else []
        unknown = set(words) - set(known[1].split())
        assert not unknown, f"the Makefile has no {unknown}: correct {command!r}"


@each_document
def test_tests_that_are_named_exist(document):
    names = {claim.name for claim in CLAIMS}
    unknown = sorted(set(CLAIM_NAME.findall(document.read_text())) - names)
    assert not unknown, f"{document}: harness/claims has no {', '.join(unknown)}: correct the name"


@each_document
def test_selections_select_something(document):
    for number, wanted in SELECTION.findall(document.read_text()):
        found = scoring.select(scoring.holding(CLAIMS, find(number)), wanted)
        assert found, f"{document}: a grade of {number} has no T={wanted}: correct the name"


@each_document
def test_clients_by_hand_find_the_server_of_make_run(document):
    """On a shared machine, port 1234 or a file in /tmp may be somebody else's."""
    text = document.read_text()
    assert '("127.0.0.1", 1234)' not in text, f"{document}: take the port from build/port"
    if document.parent.parent.name == "chapters":
        assert "pgrep" not in text, f"{document}: take the pid from build/pid"
        assert "/tmp/" not in text, f"{document}: let it be a file in build/"


@each_document
def test_python_by_hand_compiles(document):
    text = document.read_text()
    for indent, code in HEREDOC.findall(text):
        compile(re.sub(f"^{indent}", "", code, flags=re.M), str(document), "exec")


@pytest.mark.parametrize("document", ["README.md", PAGE])
def test_failures_are_shown_as_they_are_printed(document):
    text = re.sub(r" +\(\d\)$", "", (ROOT / document).read_text(), flags=re.M)
    shown = re.findall(r"^    FAILED.*? make trace ID=\S+$", text, re.M | re.S)
    assert shown
    for failure in shown:
        words = " ".join(failure.split())
        number, name = re.search(r"make replay ID=(\d\d)-(\w+)-\d+", words).groups()
        chapter = find(number)
        claim = next(claim for claim in CLAIMS if claim.name == f"test_{name}")
        worth = scoring.worths(scoring.holding(CLAIMS, chapter), chapter)[claim.name]
        assert f"{claim.number} {claim.text} {scoring.number_text(worth)} points" in words
        assert any(f"hint {hint.text} {hint.place} again" in words for hint in HINTS.values())


# The answers

ANSWERS = ROOT / "docs" / "answers.md"
QUESTIONS = "Predict before you code"


def numbers(text: str, heading: str) -> list[int]:
    """The numbers of the list below a heading of the second level."""
    _, _, below = f"\n{text}".partition(f"\n## {heading}\n")
    section = re.split(r"^## ", below, flags=re.M)[0]
    return [int(number) for number in re.findall(r"^(\d+)\. ", section, re.M)]


@each_chapter
def test_each_question_has_its_answer(chapter):
    handout = chapter.chapter_dir / "README.md"
    questions = numbers(handout.read_text(), QUESTIONS)
    answers = numbers(ANSWERS.read_text(), f"Chapter {chapter.number}")
    assert questions, f"chapters/{chapter.slug}/README.md has no list below '## {QUESTIONS}'"
    assert answers == questions, (
        f"chapters/{chapter.slug}/README.md asks the questions {questions}, and docs/answers.md, "
        f"'## Chapter {chapter.number}', answers {answers}: write what is missing"
    )


@each_chapter
def test_answers_stand_in_one_place(chapter):
    text = (chapter.solution_dir / "README.md").read_text()
    where = f"solutions/{chapter.slug}/README.md"
    assert "\n## Answers" not in text, f"{where}: move the answers to docs/answers.md"


# The glossary

GLOSSARY = ROOT / "docs" / "glossary.md"


class Entry(NamedTuple):
    line: str
    terms: list[str]  # the forms of one term: "EOF", "end of input"
    slugs: list[str]  # of the chapters that it links to


def entries() -> list[Entry]:
    lines = [line for line in GLOSSARY.read_text().splitlines() if line.startswith("| **")]
    return [
        Entry(line, re.findall(r"\*\*([^*]+)\*\*", line), re.findall(r"/chapters/([\w-]+)/", line))
        for line in lines
    ]


def words(text: str) -> str:
    """In lower case, with one blank for each hyphen and line break: "low-water\nmark"."""
    return re.sub(r"[-\s]+", " ", text.lower())


def used(chapter: Chapter) -> str:
    """What a student of the chapter reads: its handout and its sources."""
    files = [chapter.chapter_dir / "README.md", *sources.files(chapter.chapter_dir)]
    return words("\n".join(path.read_text() for path in files))


ENTRIES = entries()
USED = {chapter.slug: used(chapter) for chapter in CHAPTERS}


def test_every_row_is_one_sentence_with_three_cells():
    rows = [line for line in GLOSSARY.read_text().splitlines() if line.startswith("| ")]
    assert len(ENTRIES) == len(rows) - 1, "docs/glossary.md: each row begins with a **term**"
    for entry in ENTRIES:
        cells = [cell.strip() for cell in entry.line.strip("|").split("|")]
        assert len(cells) == 3, f"docs/glossary.md has not three cells in {entry.line}"
        text = cells[1].rstrip(".")
        assert cells[1] != text and ". " not in text, f"docs/glossary.md: one sentence: {cells[1]}"


def test_terms_are_in_order_and_there_once():
    keys = [re.sub(r"[^a-z0-9]", "", "".join(entry.terms).lower()) for entry in ENTRIES]
    for before, after in zip(keys, keys[1:]):
        assert before < after, f"docs/glossary.md: move or join {before!r} and {after!r}"


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.terms[0])
def test_the_chapter_uses_the_term(entry):
    for slug in entry.slugs:
        assert slug in USED, f"docs/glossary.md, {entry.terms[0]}: there is no chapter {slug}"
        found = any(
            re.search(rf"(?<!\w){re.escape(words(term))}", USED[slug]) for term in entry.terms
        )
        assert found, (
            f"docs/glossary.md links {entry.terms[0]!r} to {slug}, whose handout and sources do "
            f"not have that word: use it there, or link to the chapter that does"
        )
