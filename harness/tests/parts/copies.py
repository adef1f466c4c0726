"""A class by machine: copies that somebody tried to hide, and solutions that differ.

A submission is a dictionary, file name to text. A disguise keeps what the program does.

    python3 -m harness.tests.parts.copies sizes

prints what copies share with other lengths of k-grams.
"""

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache, wraps
from pathlib import Path
from unittest.mock import patch

from harness.authors.mutants import catalogue, rules
from harness.course.similarity import fingerprints as printing
from harness.course.similarity.pairs import compare
from harness.lab import skeleton, sources
from harness.lab.chapters import Chapter, find

Files = dict[str, str]
Disguise = Callable[[Files, random.Random], Files]

OPERANDS = ("a", "b->c", "d[2]", "e(f)", "g(h, 1)", "*i", "(j + k)", "~l", "!m")
OPERATORS = ("+", "-", "*", "/", "&", "|", "^", "<<", "%", "==", "<", ">=", "&&")
FORMS = ("n = {};", "n += {};", "if ({}) o++;", "p({});", "while ({}) q(r);", "s[{}]--;")

INDEPENDENT = Path(__file__).parent / "independent"
WORD = re.compile(r"(?<![\w\\%])[A-Za-z_]\w*")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
INCLUDE = re.compile(r"^ *#include (.*)\n", re.M)
# A function: its head in one or more lines from column 0, and its body up to a } in column 0.
FUNCTION = re.compile(r"^(?P<head>\w[^;{}()=#]*\([^;{}]*\))\n\{\n.*?^\}\n", re.M | re.S)
KEYWORDS = set(
    "auto break case char const continue default do double else enum extern float for goto if "
    "inline int long register restrict return short signed sizeof static struct switch typedef "
    "union unsigned void volatile while defined main define ifdef ifndef endif elif undef "
    "format noreturn noinline weak".split()
)


def solution(chapter: Chapter) -> Files:
    """The lab's own solution."""
    return skeleton.solution_without_marks(chapter)


def untouched(chapter: Chapter) -> Files:
    """The skeleton, as it was handed out."""
    return sources.texts(chapter.chapter_dir)


def independent(chapter: Chapter) -> Files:
    """A second solution, written separately and on purpose in another style.

    independent/NN/ has only what a student writes: functions in place of those of the skeleton, and
    more functions and includes in front of them. Everything else is the skeleton's.
    """
    files = untouched(chapter)
    for name, text in sources.texts(INDEPENDENT / chapter.number).items():
        files[name] = _replaced(files[name], text)
    return files


def _replaced(text: str, own: str) -> str:
    """The text with the functions of `own` that it has, too; each brings what stands before it."""
    replaced = {_name(match): match[0] for match in FUNCTION.finditer(text)}
    begin = 0
    for match in FUNCTION.finditer(own):
        old = replaced.get(_name(match))
        if old is not None:
            text = text.replace(old, own[begin : match.end()].lstrip("\n"))
            begin = match.end()
    return text


def _name(function: re.Match[str]) -> str:
    return WORD.findall(function["head"].split("(")[0])[-1]


def write(files: Files, directory: Path) -> Path:
    """Puts the files into the directory, which is made."""
    sources.write(directory, files)
    return directory


# Disguises


def renamed(files: Files, rng: random.Random) -> Files:
    """Every name that the C library does not have is another one."""
    own = {word for text in files.values() for word in WORD.findall(rules.blanked(text))}
    own = {word for word in own if not word.startswith("_")}
    own -= KEYWORDS | _library(tuple(sorted(_headers(files))))
    fresh = {word: f"{rng.choice('abcdefgh')}_{at}" for at, word in enumerate(sorted(own))}
    return {name: _worded(text, fresh) for name, text in files.items()}


def of_each_file(change: Callable[[str, random.Random], str]) -> Disguise:
    """The disguise that makes this change in each file."""

    @wraps(change)
    def disguise(files: Files, rng: random.Random) -> Files:
        return {name: change(text, rng) for name, text in files.items()}

    return disguise


@of_each_file
def reordered(text: str, rng: random.Random) -> str:
    """The functions in another order, with declarations above them."""
    found = list(FUNCTION.finditer(text))
    if len(found) < 2:
        return text
    order = [match[0] for match in found]
    rng.shuffle(order)
    heads = "".join(match["head"] + ";\n" for match in found)
    pieces, at = [text[: found[0].start()], heads], found[0].start()
    for match, other in zip(found, order):
        pieces += [text[at : match.start()], other]
        at = match.end()
    return "".join([*pieces, text[at:]])


@of_each_file
def reformatted(text: str, rng: random.Random) -> str:
    """The program without comments, and with other line breaks and blanks."""
    bare = COMMENT.sub(" ", text)
    lines = []
    for line in bare.splitlines():
        if line.lstrip().startswith("#") or '"' in line or "'" in line or line.endswith("\\"):
            lines.append(line)
        else:
            words = re.split(r"(?<=[;{}(),])|(?<= )", line.strip())
            lines.append("".join(word + rng.choice(["", "", "\n", "\t"]) for word in words))
    return "\n".join(line for line in lines if line.strip()) + "\n"


@of_each_file
def retyped(text: str, rng: random.Random) -> str:
    """Braces round single statements, no const, and other names of the same types."""
    for old, new in (("size_t", "unsigned long"), ("uint8_t", "unsigned char")):
        text = re.sub(rf"(?<!_)\b{old}\b", new, text)
    text = re.sub(r"\bconst (?!.*\[)", "", text)
    guarded = re.compile(r"^( *)((?:if|while) \(.*\))\n +(\w.*;)$", re.M)
    return guarded.sub(r"\1\2 {\n\1    \3\n\1}", text)


@of_each_file
def on_one_line(text: str, rng: random.Random) -> str:
    """The program without comments, and with each function on one line."""
    bare = COMMENT.sub(" ", text)
    return FUNCTION.sub(lambda match: " ".join(match[0].split()) + "\n", bare)


def disguised(files: Files, rng: random.Random) -> Files:
    """The program with all of the disguises above at once."""
    return renamed(reformatted(reordered(files, rng), rng), rng)


# Differences, as between students who have not seen each other's work


def different(files: Files, chapter: Chapter, rng: random.Random) -> Files:
    """The files with changes in what the skeleton does not have: a third of the changes that
    harness/authors/mutants/rules.py knows, and another statement after two of three.

    It need not compile. The result has little in common with the files, and with other results.
    """
    given = untouched(chapter)
    return {
        name: text if text == given.get(name) else _mixed(text, set(given[name].split("\n")), rng)
        for name, text in files.items()
    }


def _mixed(text: str, given: set[str], rng: random.Random) -> str:
    head = "// BEGIN all\n"
    lines = f"{head}{text}// END all\n".split("\n")
    found = list(rules.changes("\n".join(lines), {"all"}))
    before, changed = "\n".join(lines), set()
    for change in rng.sample(found, len(found) // 3):
        row = before.count("\n", 0, change.start)
        new = change.made(before).split("\n")
        if row not in changed and len(new) == len(lines) and _is_own(lines[row], given):
            changed.add(row)
            lines[row] = new[row]
    mixed = []
    for line in lines[1:-2]:
        mixed.append(line)
        if _is_own(line, given) and line.endswith(";") and rng.random() < 0.7:
            mixed.append(_statement(rng))
    return "\n".join(mixed) + "\n"


def _is_own(line: str, given: set[str]) -> bool:
    return line.startswith("    ") and line not in given


def _statement(rng: random.Random) -> str:
    """One of many thousand statements that differ in their structure."""
    expression = rng.choice(OPERANDS)
    for _ in range(rng.randint(0, 3)):
        expression += f" {rng.choice(OPERATORS)} {rng.choice(OPERANDS)}"
    return "    " + rng.choice(FORMS).format(expression)


def _headers(files: Files) -> set[str]:
    return {header for text in files.values() for header in INCLUDE.findall(text) if "<" in header}


@lru_cache
def _library(headers: tuple[str, ...]) -> frozenset[str]:
    """Every word that the preprocessor knows after these headers."""
    source = "#define _GNU_SOURCE\n" + "".join(f"#include {header}\n" for header in headers)
    command = ["gcc", "-E", "-dD", "-x", "c", "-"]
    result = subprocess.run(command, input=source, capture_output=True, text=True, check=True)
    return frozenset(WORD.findall(result.stdout))


def _worded(text: str, fresh: dict[str, str]) -> str:
    """Renames identifiers outside of literals. Drops comments, which use the old names."""
    parts = re.split(
        r"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|/\*.*?\*/|//[^\n]*)""", text, flags=re.S
    )
    for at, part in enumerate(parts):
        if at % 2 == 0:
            parts[at] = WORD.sub(lambda match: fresh.get(match[0], match[0]), part)
        elif part.startswith("/"):
            parts[at] = " "
    return "".join(parts)


DISGUISES = (renamed, reordered, reformatted, retyped, on_one_line, disguised)
UNTOUCHED = 5


def many(chapter: Chapter, count: int, rng: random.Random) -> dict[str, Files]:
    """A class of `count`: both solutions, skeletons, a disguised copy of each kind, and others."""
    solutions = [solution(chapter), independent(chapter)]
    everyone = dict(zip(("one solution", "other solution"), solutions))
    everyone |= {f"untouched {at}": untouched(chapter) for at in range(UNTOUCHED)}
    for disguise in DISGUISES:
        original = different(rng.choice(solutions), chapter, rng)
        everyone[f"{disguise.__name__} original"] = original
        everyone[f"{disguise.__name__} copy"] = disguise(original, rng)
    bases = solutions + [mutant.sources() for mutant in catalogue.select(chapter)]
    for at in range(count - len(everyone)):
        everyone[f"student {at:03}"] = different(rng.choice(bases), chapter, rng)
    return everyone


def sizes() -> Iterator[str]:
    """How alike two solutions and their copies are, for other sizes of k-grams and windows."""
    for gram, window in ((9, 8), (12, 8), (15, 8), (20, 8), (23, 17)):
        size = {"GRAM": gram, "WINDOW": window}
        with patch.multiple(printing, **size):
            shares = [_shares(find(number)) for number in ("01", "04")]
        yield "  ".join([f"{gram:>2} {window:>2}", *(", ".join(one) for one in zip(*shares))])


def _shares(chapter: Chapter) -> list[str]:
    """What an independent pair, a disguised copy and an edited copy share with the original."""
    printing.of_file.cache_clear()
    known, own, rng = printing.given(chapter), independent(chapter), random.Random(1)
    others = solution(chapter), disguised(own, rng), different(own, chapter, rng)
    pairs = [compare({"a": own, "b": other}, known).pairs for other in others]
    return [f"{found[0].share:.2f}" if found else "0" for found in pairs]


if __name__ == "__main__":
    if sys.argv[1:] != ["sizes"]:
        sys.exit(f"usage: {sys.argv[0]} sizes")
    print("\n".join(sizes()))
