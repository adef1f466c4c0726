"""Links lead somewhere, and whatever a document names is there: files, commands, functions, tests,
answers."""

from __future__ import annotations

import re
from pathlib import Path

from harness.__main__ import COMMANDS
from harness.failures.hints import HINTS, PAGE
from harness.grading import scoring
from harness.lab import links, skeleton, sources
from harness.lab.chapters import CHAPTERS, ROOT, find
from harness.tests.tree import documents
from harness.tests.tree.documents import CODE_LINE, CODE_SPAN, LINK, name, read

MAKEFILE = read(ROOT / "Makefile")
COMMAND = re.compile(r"^(?:\$ )?make((?: [^\s#]+)*)")  # two spaces stand before a comment
HARNESS = re.compile(r"-m harness (\w+)")
MODULE = re.compile(r"-m (harness(?:\.\w+)+)")
SELECTION = re.compile(r"make \w+ CH=(\d\d)\b.*? T=([\w.]+)")
CLAIM_NAME = re.compile(r"\btest_\d\d_\w+\b(?!\.py)")
FILE = re.compile(r"(?<![\w/.~-])(?:harness|docs|chapters|solutions)/[\w./-]*\w(?![\w*{<N])")
FUNCTION = re.compile(r"\b(?!io_uring_)(([a-z]+)_\w+)\(")
EXAMPLE = re.compile(rf"NN|\b(?:ch)?{len(CHAPTERS) + 1}\b")  # a chapter that a reader may add
HEREDOC = re.compile(r"^( *)(?:python3 -|cat > \S+\.py) <<'END'\n(.*?)^\1END$", re.M | re.S)
GIVEN = re.compile(r"^Given are (\d+) files with about ([\d,]+) lines ", re.M)
QUESTIONS = "Predict before you code"
SECTIONS = [  # after one chapter, a reader finds the way in the next
    *("What you will be able to do", "The problem", "The idea", "What is always true"),
    *("The contract", "The files", QUESTIONS, "The TODOs", "Check all of it"),
    *("What still breaks", "Challenges", "Read on"),
]


def test_links_and_anchors_lead_somewhere():
    dead = []
    for document in documents.documents():
        for link in LINK.findall(documents.without_code(read(document))):
            path, anchor = documents.target(link, document)
            if documents.is_elsewhere(link):
                continue
            if not (path.exists() and path.is_relative_to(ROOT)):
                dead.append(f"{name(document)}: the link {link} leads to no file of the lab")
            elif anchor and anchor not in documents.anchors(path):
                dead.append(f"{name(document)}: {name(path)} has no anchor for the link {link}")
    for page in (ROOT / PAGE, ROOT / "docs/zh/reading-failures.md"):
        lacks = {hint.anchor for hint in HINTS.values()} - documents.anchors(page)
        dead += [f"{name(page)}: a hint names the section #{anchor}" for anchor in sorted(lacks)]
    assert not dead, "\n".join(dead)


def code(document: Path) -> list[str]:
    """Every line of code, and every piece of code within a line."""
    text = read(document)
    spans = [" ".join(span.split()) for span in CODE_SPAN.findall(CODE_LINE.sub("", text))]
    return CODE_LINE.findall(text) + spans


def listed(variable: str) -> set[str]:
    """The words of a variable of the Makefile."""
    found = re.search(rf"^{re.escape(variable)} *:?=?((?:.*\\\n)*.*)$", MAKEFILE, re.M)
    return set(found[1].replace("\\", " ").split())


TARGETS = {*listed(".PHONY:"), *COMMANDS}
VARIABLES = listed("VARIABLES")


def unknown_in_command(line: str, claims: list) -> list[str]:
    """The words of a command that name nothing."""
    words = COMMAND.match(line)[1].split() if COMMAND.match(line) else []
    found = [word for word in words if re.fullmatch("[a-z]+", word) and word not in TARGETS]
    given = [word.partition("=")[0] for word in words if re.match(r"[A-Za-z]\w*=", word)]
    found += [word for word in given if word not in VARIABLES]
    found += [word for word in HARNESS.findall(line) if word not in COMMANDS]
    modules = [(word, ROOT / word.replace(".", "/")) for word in MODULE.findall(line)]
    found += [word for word, at in modules if not (at.is_dir() or at.with_suffix(".py").exists())]
    found += [
        f"CH={number} T={wanted}"
        for number, wanted in SELECTION.findall(line)
        if not scoring.select(scoring.holding(claims, find(number)), wanted)
    ]
    return found


def test_what_a_document_names_is_there():
    claims = scoring.load()
    names = {claim.name for claim in claims}
    texts = [text for one in CHAPTERS for text in sources.texts(one.solution_dir).items()]
    functions = set(re.findall(r"\w+(?=\()", "".join(text for _, text in texts)))
    modules = {Path(file).stem for file, _ in texts}
    gone = []
    for document in documents.documents():
        said = name(document)
        gone += [f"{said}: no claim {one}" for one in {*CLAIM_NAME.findall(read(document))} - names]
        for line in code(document):
            gone += [f"{said}: {word!r} in `{line}`" for word in unknown_in_command(line, claims)]
            gone += [f"{said}: no {file}" for file in FILE.findall(line) if is_gone(file)]
            gone += [
                f"{said}: no function {function}() in solutions/"
                for function, module in FUNCTION.findall(line)
                if said.startswith("chapters/") and module in modules and function not in functions
            ]
        for indent, python in HEREDOC.findall(read(document)):
            compile(re.sub(f"^{indent}", "", python, flags=re.M), said, "exec")
    assert not gone, "\n".join(gone)


def is_gone(file: str) -> bool:
    return not (ROOT / file).exists() and not EXAMPLE.search(file)


def numbers(text: str, heading: str) -> list[int]:
    """The numbers of the list below a heading of the second level."""
    section = f"\n{text}\n## ".partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return [int(number) for number in re.findall(r"^(\d+)\. ", section, re.M)]


def test_a_handout_has_its_sections_its_answers_and_says_how_much_is_given():
    """From 07 on more is given than a student reads: files without a TODO, new or changed here."""
    answers = read(ROOT / "docs/answers.md")
    for chapter in CHAPTERS:
        text = read(chapter.chapter_dir / "README.md")
        found = [one for one in re.findall(r"^## (.+)$", text, re.M) if one in SECTIONS]
        assert found == SECTIONS, chapter.slug
        asked = numbers(text, QUESTIONS)
        assert asked and asked == numbers(answers, f"Chapter {chapter.number}"), chapter.slug
        said = GIVEN.search(text)
        assert bool(said) == (chapter.number >= "07")
        marks = [f"// BEGIN {todo.region}\n" for todo in skeleton.todos(chapter)]
        own = [one for one in sources.files(chapter.solution_dir) if not links.is_linked(one)]
        given = [read(path) for path in own if not any(mark in read(path) for mark in marks)]
        lines = sum(text.count("\n") for text in given)
        if said:
            assert int(said[1]) == len(given), chapter.slug
            assert abs(int(said[2].replace(",", "")) - lines) <= lines / 10, (chapter.slug, lines)
