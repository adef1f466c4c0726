"""Links lead somewhere, and whatever a document or a picture names is there: files,
commands, functions, tests."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

from harness.__main__ import COMMANDS
from harness.feedback.hints import HINTS, PAGE
from harness.grade import scoring
from harness.maintain.pictures import command as pictures
from harness.submission import sources
from harness.submission.chapters import CHAPTERS, ROOT, find
from harness.tests.tree import documents
from harness.tests.tree.documents import CODE_LINE, CODE_SPAN, LINK, name, read

MAKEFILE = read(ROOT / "Makefile")
COMMAND = re.compile(r"^(?:\$ )?make((?: [^\s#]+)*)")  # two spaces stand before a comment
HARNESS = re.compile(r"-m harness (\w+)")
SELECTION = re.compile(r"make \w+ CH=(\d\d)\b.*? T=([\w.]+)")
CLAIM_NAME = re.compile(r"\btest_\d\d_\w+\b(?!\.py)")
FILE = re.compile(r"(?<![\w/.~-])(?:harness|docs|chapters|solutions)/[\w./-]*\w(?![\w*{<N])")
NOT_PACKED = re.compile(r"tar .*lab\.tar\.gz(?: lab/\S+)* (?!lab/)(\w\S*)")
FUNCTION = re.compile(r"\b(?!io_uring_)(([a-z]+)_\w+)\(")
EXAMPLE = re.compile(rf"NN|\b(?:ch)?{len(CHAPTERS) + 1}\b")  # a chapter that a reader may add
HEREDOC = re.compile(r"^( *)(?:python3 -|cat > \S+\.py) <<'END'\n(.*?)^\1END$", re.M | re.S)
NAME = re.compile(r"[A-Za-z]\w*_\w+|\b\w+(?=\(\))")  # conn_read, POLL_STOP, reader_i32, poll()
# These names are not functions of a server: they belong to clients, to libraries or to TCP.
ELSEWHERE = {"recv", "connect", "io_uring_enter", "FIN_WAIT", "TIME_WAIT", "CLOSE_WAIT", "LAST_ACK"}
TEXT = "{http://www.w3.org/2000/svg}text"


def test_links_and_anchors_lead_somewhere():
    dead = []
    for document in documents.documents():
        for link in LINK.findall(documents.without_code(read(document))):
            path, anchor = documents.target(link, document)
            if documents.ELSEWHERE.match(link):
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


TARGETS = listed(".PHONY:") | listed("COMMANDS")
VARIABLES = listed("VARIABLES")


def unknown_in_command(line: str, claims: list) -> list[str]:
    """The words of a command that name nothing."""
    words = COMMAND.match(line)[1].split() if COMMAND.match(line) else []
    found = [word for word in words if re.fullmatch("[a-z]+", word) and word not in TARGETS]
    given = [word.partition("=")[0] for word in words if re.match(r"[A-Za-z]\w*=", word)]
    found += [word for word in given if word not in VARIABLES]
    found += [word for word in HARNESS.findall(line) if word not in COMMANDS]
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
    gone = [] if listed("COMMANDS") == COMMANDS.keys() - {"own"} else ["make has other commands"]
    for document in documents.documents():
        said = name(document)
        gone += [f"{said}: no claim {one}" for one in {*CLAIM_NAME.findall(read(document))} - names]
        for line in code(document):
            gone += [f"{said}: {word!r} in `{line}`" for word in unknown_in_command(line, claims)]
            files = [file for file in FILE.findall(line) if not EXAMPLE.search(file)]
            gone += [f"{said}: no {file}" for file in files if not (ROOT / file).exists()]
            gone += [f"{said}: {file} is not in lab/" for file in NOT_PACKED.findall(line)]
            gone += [
                f"{said}: no function {function}() in solutions/"
                for function, module in FUNCTION.findall(line)
                if said.startswith("chapters/") and module in modules and function not in functions
            ]
        for indent, python in HEREDOC.findall(read(document)):
            compile(re.sub(f"^{indent}", "", python, flags=re.M), said, "exec")
    assert not gone, "\n".join(gone)


def test_each_todo_of_a_handout_is_checked_by_its_own_claims():
    for chapter in CHAPTERS:
        text = read(chapter.chapter_dir / "README.md")
        parts = re.findall(r"^### TODO (\d+):(.*?)(?=^##|\Z)", text, re.M | re.S)
        for number, part in parts:
            check = f"- Check: `make grade CH={chapter.number} T={chapter.number}.{number}`"
            assert check in part, f"{name(chapter.chapter_dir)}: TODO {number} lacks {check}"


def test_pictures_are_drawn_and_about_the_code():
    """The mark in a picture is a hash of its source, so Graphviz need not be here."""
    wrong = []
    for source in pictures.sources():
        svg, title = source.with_suffix(".svg"), f"docs/pictures/{source.stem}.svg"
        mark = f"<!-- from {source.name}, {pictures.digest(source)} -->\n"
        if not svg.exists() or not svg.read_text().startswith(mark):
            wrong.append(f"{title} is not drawn from its source of today: make pictures")
            continue
        number = source.name[:2] if source.name[:2].isdigit() else "01"
        code = "".join(sources.texts(find(number).chapter_dir).values())
        words = " ".join(one.text or "" for one in ElementTree.parse(svg).iter(TEXT))
        names = set(NAME.findall(words)) - ELSEWHERE - set(re.findall(r"\w+", code))
        wrong += [f"{title} names {one}, which chapter {number} lacks" for one in sorted(names)]
    assert not wrong, "\n".join(wrong)
