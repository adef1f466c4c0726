"""make lint: habits that make English hard to read, with the place of each and a better word.

Looked at: documents, TODOs, comments and messages of C, docstrings, comments and strings of Python,
what a wrong server does wrong. Not looked at: code, Chinese pages, and the phrases of ALLOWED.

    python -m harness english [PATH ...]      these files and directories; without any, all of them
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.lab.chapters import ROOT

PLACES = (
    *("README.md", "docs/**/*.md", "chapters/*/*.md", "solutions/*/*.md", "solutions/*/*.patch"),
    *(f"{place}/**/*.[ch]" for place in ("solutions", "harness", "docs")),
    "harness/**/*.py",
)
LEFT_OUT = (
    "harness/authors/english.py",
    "harness/authors/selftest/test_english.py",
)
CHINESE = ("docs/zh/*.md", "*.zh.md")  # matched from the right


@dataclass(frozen=True)
class Habit:
    """`found` is what `pattern` finds, `better` the same in plain English: a test tries both."""

    name: str
    pattern: str
    instead: str
    found: str
    better: str

    def matches(self, text: str) -> Iterator[re.Match[str]]:
        return re.finditer(self.pattern, text, re.M)


THING = (
    "clients?|connections?|threads?|timers?|coroutines?|loops?|servers?|peers?|sockets?|senders?|"
    "readers?|writers?|guests?|others|those|all|one|everybody|everyone|nobody|somebody|anybody|only"
)
PERSON = "learns?|teach(?:es)?|knows?|wants?|works?|solves?|hands?|builds?|grades?|picks?|did"
START = r"(?:^|[.!?:;] )"  # of a sentence, or of a part of one
VERB = (
    "is|are|was|were|has|have|had|does|do|may|can|will|must|should|would|could|"
    "waits|goes|stays|comes|needs|gets|belongs|counts|stands|ends|fails|costs|makes"
)

HABITS = (
    Habit(
        "who for a thing",
        rf"\b[Ww]hoever\b|\b(?:{THING}) whom?\b(?! (?:{PERSON})\b)|(?:^|[;:.!] )Whom? (?![^.!]*\?)"
        r"|[;:] whom? (?!calls|owns|may|frees|did)",
        "the connection that ..., the thread that ..., it",
        "Who gets ready meanwhile runs next time.",
        "Coroutines that become ready meanwhile run next time.",
    ),
    Habit(
        "he for a thing",
        r"\b(?:[Hh]e|[Hh]im|[Hh]is|[Hh]imself)\b",
        "it, its",
        "no memory for him now",
        "no memory for it now",
    ),
    Habit(
        "a relative clause as the subject",
        rf"(?:^|[.!?] )What(?:ever)? (?:(?:it|you|they|we) \w+|(?:{VERB}|fits|went|cannot)) "
        rf"(?:[^.,?!:;()]+? )?(?<!to )(?:{VERB})\b(?![^.!]*\?)",
        "say the subject: 'Frames over the limit wait'",
        "What is over a limit waits.",
        "Frames over the limit wait.",
    ),
    Habit(
        "inversion",
        rf"{START}(?:Has|Have|Had|Is|Are|Was|Were|Does|Do|Should) [^.?!]*, then\b"
        r"|\b(?:Not always|Neither) (?:comes|is|are|does|do|has|ends|goes)\b",
        "If ...; subject before verb",
        "Has the client sent FIN, then nothing is unread.",
        "If the client has sent FIN, nothing is unread.",
    ),
    Habit(
        "no such",
        r"(?<!there )\b(?:is|are|and|was|were|for|last) no such\b|\bno such(?=[.,;:)])",
        "say the thing",
        "a wild pointer is no such",
        "a wild pointer is not reported as one",
    ),
    Habit(
        "so many as, of such, so long",
        r"\bso (?:many|much) as\b|\bof such(?! (?:a|an)\b)|\b[Ss]o long(?= (?:a|an|the|it|he|no)\b)"
        r"|\bso far as\b",
        "as many as; of these; until then",
        "for so many as fit",
        "as many as fit",
    ),
    Habit(
        "it is said so",
        r"\b(?:is|are|be) said (?:so|where|when)\b|\bsays? so much\b",
        "say what says it",
        "it is said so",
        "the header says this",
    ),
    Habit("anew", r"\b[Aa]new\b", "again", "connect anew", "connect again"),
    Habit(
        "behind for after",
        r"\b(?:bytes?|frames?|fields?|messages?|nothing|anything|something|more|right|sent|comes|"
        r"came|stands?|stood|FIN|what is|all|replies|one|LF|is|are) behind\b(?! a (?:slow|stalled))"
        r"|(?:^|[.;:] )Behind\b",
        "after; left over",
        "one frame behind the other",
        "one frame after the other",
    ),
    Habit(
        "asked for (required)",
        r"\b(?:is|are|be|been) asked for\b|\bneeds? no asking\b",
        "required, requested, needed",
        "`=` where `|=` is asked for",
        "`=` instead of `|=`",
    ),
    Habit(
        "others than, all there is",
        r"\bothers? than (?:it|they|he|the one)\b|\ball (?:that )?there (?:is|are|was|were)\b"
        r"|\bthat there (?:is|are|was|were)(?=[.,;:)])",
        "changed; everything, all of it",
        "connections that there are.",
        "connections open now",
    ),
    Habit(
        "line for queue",
        r"\b(?:in|into|of|from|at|out of) (?:a|the|its|one|whole) line(?= (?:already|again|twice|"
        r"once|of (?:those|tasks|the loop|ready|coroutines)|before|and (?:wakes|is woken)))"
        r"|\bline of (?:those|tasks|ready|coroutines|all)\b|\b(?:head|end) of the line\b"
        r"|\b(?:tasks?|coroutines?)(?: \w+){0,4} (?:in|into) (?:a|the|its) line\b",
        "queue",
        "puts a task into a line",
        "appends a task to a queue",
    ),
    Habit(
        "turn of the loop for iteration",
        r"\b[Tt]urns? of (?:the|a|its) (?:event )?loop\b|\bloop(?:'s|s')? turns?\b",
        "iteration (of the loop); a turn is what one connection does in it",
        "is called in the next turn of the loop",
        "is called in the next iteration",
    ),
    Habit(
        "news for readiness",
        r"\b[Nn]ews\b",
        "readiness, the direction is ready",
        "There are news.",
        "The direction is ready.",
    ),
    Habit(
        "brake for suspended",
        r"\b[Bb]rak(?:e|es|ed|ing)\b",
        "suspended",
        "the brake is on",
        "reading is suspended",
    ),
    Habit(
        "rest for remainder",
        r"\b(?:[Aa]|[Nn]o|its|their|such|this|that|any) rest\b|\brests\b(?! on\b)",
        "remainder, leftover bytes",
        "A rest is no frame.",
        "Leftover bytes are not a frame.",
    ),
    Habit(
        "end for EOF or FIN",
        r"\b(?:sent|sends?|sending|gets?|got|told|tells?|sees?|saw) (?:its|an?|their|the client's|"
        r"the peer's) end\b(?! of)|\b(?:comes?|came) to its end\b"
        r"|\bits end (?:comes|came|arrives)\b",
        "EOF, FIN, half-close; finishes",
        "The client sends its end.",
        "The client sends FIN.",
    ),
    Habit(
        "room for space",
        r"\b(?:no|enough|more|much|little|leaves?|makes?|finds?|has|is) room\b"
        r"|\b[Rr]oom (?:for|in)\b",
        "space, free space; directory",
        "there is no room for more",
        "there is no space for more",
    ),
    Habit(
        "crowd, party, guest",
        r"\b(?:[Cc]rowds?|(?<!third-)[Pp]art(?:y|ies)|[Gg]uests?)\b",
        "many clients, clients, client",
        "a crowd of idle guests",
        "many idle clients",
    ),
    Habit(
        "a bare infinitive as a fault",
        r"\b[Mm]istakes?:\**\s* to \w+",
        "Mistake: treating ...",
        "Mistake: to take what has come.",
        "Mistake: treating whatever has arrived as a frame.",
    ),
    Habit(
        "words of another time",
        r"\b(?:shall|dearer|cannot but|as yet|nought|thereof|therein|whereof)\b",
        "must, will; costs more",
        "Replies shall have the same order.",
        "Replies have to come in the same order.",
    ),
    Habit(
        "neither, nor at the end",
        r"\b(?:neither|nor|either not)\.(?=\s|$)|\bThat it may\b",
        "say the whole sentence",
        "At the end of the input neither.",
        "Leftover bytes are not a frame, even at the end of the input.",
    ),
)

FINITE = "is|are|was|were|has|have|had|gets|does|do|may|can|will|must"
# How docstrings begin that say something only together with another text.
BEGINNINGS = (
    Habit(
        "a pronoun without its noun",
        r"\A(?:Those|That of|That \w+ed\b|That are|Their|Its|They|Them|Itself|"
        r"(?:All|Both|Each|None|One|Some|Several|The \w+) of them)\b",
        "name the thing",
        "Those that this kernel knows.",
        "The rights that this kernel knows.",
    ),
    Habit(
        "a comparison with another docstring",
        r"\AThe same(?=[.,;:]| (?:for|of|by|once|with)\b)",
        "say what it does, and then what is different",
        "The same for a header, too.",
        "Whether the file is C or a header.",
    ),
    Habit(
        "so many, for how long",
        r"\AFor how\b|\A(?:\w+ )?[Ss]o (?:many|few|much|long)\b",
        "seconds since ...; connects `count` clients",
        "For how many seconds others kept a thread from running.",
        "Seconds in which a runnable thread waited for a processor.",
    ),
    Habit(
        "a preposition without a sentence",
        rf"\A(?:Of|From(?! now on)|By|Than|But for|In the child|In a child)\b"
        rf"(?![^.:]*\b(?:{FINITE})\b|[^.,]*: )|\AOf\b[^,.]*:",
        "say what is returned or done",
        "Of the lab's own history.",
        "The commit of the lab's own history.",
    ),
    Habit(
        "a conjunction without a sentence before it",
        r"\A(?:And|Or|Nor|Else|Also|Still|Then|Too|But)\b(?! for\b)",
        "a sentence of its own",
        "And the input goes wrong again.",
        "The input goes wrong again.",
    ),
    Habit(
        "a clause without a sentence",
        r"\ATo be\b|\AAs (?!many|much|far|soon|long)[^,]*?[.:;]",
        "say what it does",
        "To be called for every wait that ran out.",
        "Called for every wait that ran out.",
    ),
    Habit(
        "whether so",
        r"\bWhether so\b",
        "returns whether ...",
        "Whether so.",
        "Returns whether it has closed.",
    ),
)

# Right English that a pattern would find, in the words of the text.
ALLOWED = (
    *("who calls whom", "Who calls whom", "Who calls what", "who else is here"),
    *("translation is behind", "page that is behind"),
)


@dataclass(frozen=True)
class Finding:
    file: str
    line: int
    text: str
    habit: Habit

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text!r} ({self.habit.name}): {self.habit.instead}"


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """The texts of a file that a person reads, each with the number of its first line."""
    text = path.read_text()
    if path.suffix == ".md":
        return of_markdown(text)
    if path.suffix == ".patch":
        return of_patches(text)
    return of_c(text) if path.suffix in (".c", ".h") else of_python(text)


def of_markdown(text: str) -> Iterator[tuple[int, str]]:
    """All but code blocks, code in a line, and the targets of links."""
    text = re.sub(r"^( *)```.*?^ *```$", _blanked, text, flags=re.M | re.S)
    text = re.sub(r"(?<=\n\n)(?: {4,}(?![-*\d]).*\n|\n)+", _blanked, text)
    text = re.sub(r"`[^`\n]*`|\]\([^)\n]*\)|<!--.*?-->", _code, text, flags=re.S)
    number = 1
    for block in re.split(r"(\n(?=\s*\n|\||#|\s*[-*] |\s*\d+\. ))", text):
        if block.strip():
            yield number + len(block) - len(block.lstrip("\n")), block.lstrip("\n")
        number += block.count("\n")


def of_patches(text: str) -> Iterator[tuple[int, str]]:
    """The mistakes of wrong servers."""
    for part in re.finditer(r"^## .*\n(.+)\n(?=fails: )", text, re.M):
        yield text.count("\n", 0, part.start(1)) + 1, re.sub(r"`[^`\n]*`", _code, part[1])


def of_c(text: str) -> Iterator[tuple[int, str]]:
    """Comments, and strings with a blank in them."""
    strings: list[tuple[int, str]] = []
    for part in re.finditer(r'//[^\n]*|/\*.*?\*/|(?:"(?:\\.|[^"\\\n])*"\s*)+', text, re.S):
        number = text.count("\n", 0, part.start()) + 1
        if part[0].startswith("/"):
            comment = re.sub(r"^/[/*]+|\*/$", "", part[0])
            yield number, re.sub(r"`[^`\n]*`", _code, comment)
        elif " " in part[0].strip():
            strings.append((number, re.sub(r'^"|"\s*$|"(\s*)"', r"\1", part[0])))
    yield from strings


def of_python(text: str) -> Iterator[tuple[int, str]]:
    """Comments, docstrings, and strings with a blank in them that are not C."""
    lines: list[tuple[int, str]] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            if lines and lines[-1][0] + lines[-1][1].count("\n") + 1 == token.start[0]:
                lines[-1] = lines[-1][0], f"{lines[-1][1]}\n{token.string[1:]}"
            else:
                lines.append((token.start[0], token.string[1:]))
    yield from ((number, re.sub(r"`[^`\n]*`", _code, comment)) for number, comment in lines)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            if not re.search(r"[;{}]\n|^[-+ @]|\n[-+@]|\(\?|\\b", node.value):
                yield node.lineno, re.sub(r"`[^`\n]*`", _code, node.value)


def docstrings(text: str) -> Iterator[tuple[int, str]]:
    """The docstrings of Python, each with the number of its first line."""
    places = ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, places) and ast.get_docstring(node) is not None:
            yield node.body[0].lineno, re.sub(r"`[^`\n]*`", _code, node.body[0].value.value)


def _blanked(found: re.Match[str]) -> str:
    return "\n" * found[0].count("\n")


def _code(found: re.Match[str]) -> str:
    """A name in place of code, with as many lines."""
    return "_" + "\n" * found[0].count("\n") if "\n" in found[0] else "_"


def flat(text: str) -> tuple[str, list[int]]:
    """Puts each paragraph of a text on one line. Also returns where the lines of the text began in
    it."""
    whole, starts = "", []
    for line in text.split("\n"):
        starts.append(len(whole))
        words = re.sub(r"^[\s*>#|]+", "", line).strip()
        whole += f"{words} " if words else "\n"
    return whole, starts


def findings(path: Path) -> list[Finding]:
    name = str(path.relative_to(ROOT))
    found = list(_in_texts(name, prose(path), HABITS))
    if path.suffix == ".py":
        found += _in_texts(name, docstrings(path.read_text()), BEGINNINGS)
    return sorted(found, key=lambda one: one.line)


def _in_texts(
    name: str, texts: Iterator[tuple[int, str]], habits: tuple[Habit, ...]
) -> Iterator[Finding]:
    for number, text in texts:
        words, starts = flat(text)
        for phrase in ALLOWED:
            words = words.replace(phrase, "_" * len(phrase))
        for habit in habits:
            for match in habit.matches(words):
                line = number + bisect_right(starts, match.start()) - 1
                yield Finding(name, line, match[0].strip(), habit)


def files(places: list[str]) -> list[Path]:
    """The files that are looked at; only those at or below `places`, if there are any."""
    found = {path for place in PLACES for path in ROOT.glob(place)}
    found -= {ROOT / name for name in LEFT_OUT}
    found = {path for path in found if not any(map(path.match, CHINESE))}
    wanted = [Path(place).resolve() for place in places]
    return sorted(
        path
        for path in found
        if not wanted or any(path == place or place in path.parents for place in wanted)
    )


def main(places: list[str]) -> int:
    """Prints those of all files, or of `places`, and returns 1 if there are any."""
    found = [one for path in files(places) for one in findings(path)]
    if not found:
        return 0
    print(*found, sep="\n")
    print(f"{len(found)} habits to change: docs/working-on-the-lab.md, Plain English")
    return 1
