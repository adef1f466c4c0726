"""The rules that make wrong servers: which changes they make of a source, and which they do not.

And what is kept and printed of a sweep. One change is graded, twice.
"""

from __future__ import annotations

import textwrap

import pytest

from harness.authors.mutants import rules, sweep
from harness.authors.mutants.candidates import Candidate, candidates, unchanged
from harness.authors.mutants.sweep import KILLED, SURVIVED, UNJUDGED, Found, Kept
from harness.grading.scoring import FAILED, NOT_JUDGED
from harness.lab import chapters, skeleton

SOURCE = """\
static int outside(int a)
{
    return a < 1;
}

static void inside(void)
{
%s
}
"""


def marked(body: str) -> str:
    """A source with these lines in the region `here`."""
    lines = f"// BEGIN here\n{textwrap.dedent(body).strip()}\n// END here"
    return SOURCE % textwrap.indent(lines, "    ")


def made(body: str, *wanted: str) -> list[str]:
    """The bodies that the rules make of this one; of some rules only, if any is named."""
    text, around = marked(body), marked("@").split("@")
    found = []
    for change in rules.changes(text, {"here"}):
        wrong = change.made(text)
        assert wrong.startswith(around[0]) and wrong.endswith(around[1])
        if not wanted or change.rule in wanted:
            body = wrong[len(around[0]) - 4 : -len(around[1])]
            found.append(textwrap.dedent(body))
    return found


@pytest.mark.parametrize(
    "body, wanted",
    [
        ("x = a < b;", ["x = a <= b;", ";"]),
        ("x = a <= b;", ["x = a < b;", ";"]),
        ("x = a > b;", ["x = a >= b;", ";"]),
        ("x = a >= b;", ["x = a > b;", ";"]),
        ("x = a == b;", ["x = a != b;", ";"]),
        ("x = a != b;", ["x = a == b;", ";"]),
        ("x = a && b;", ["x = a || b;", ";"]),
        ("x = a || b;", ["x = a && b;", ";"]),
        ("x = a + b;", ["x = a - b;", ";"]),
        ("x = a - b;", ["x = a + b;", ";"]),
        ("x += a;", ["x -= a;", ";"]),
        ("x--;", ["x++;", ";"]),
        ("x = 7;", ["x = 8;", "x = 6;", ";"]),
        ("x = 0xff;", ["x = 256;", "x = 254;", ";"]),
        ("x = MOST_BYTES;", ["x = (MOST_BYTES + 1);", "x = (MOST_BYTES - 1);", ";"]),
        ("x = a /* < 2 */ < b; // 3", ["x = a /* < 2 */ <= b; // 3", "; // 3"]),
    ],
)
def test_operators_and_numbers(body, wanted):
    assert made(body) == wanted


@pytest.mark.parametrize(
    "body",
    [
        "int x = a->b << c;",  # neither is a comparison
        "int *x = &y;",
        "int x = -y;",
        "int x = EINTR;",  # the name of no number
        "struct list mine = HEAD_INITIALIZER(mine);",
        "/* a < b, 1 + 2; */",
        "// if (a && b)",
        'const char *x = "a < 1; // \\" + b";',
        "char x = '+';",
    ],
)
def test_what_is_let_alone(body):
    assert made(body) == []


CONDITIONS = """\
if (f(a) || b)
    g();
else if (c)
    return;
for (;;) {
    while (d)
        h();
}
for (int i = 0; i != n; i++)
    k();
"""


def test_conditions():
    texts = made(CONDITIONS, rules.CONDITION)
    changed = [
        after
        for text in texts
        for before, after in zip(CONDITIONS.splitlines(), text.splitlines())
        if before != after
    ]
    assert [line.strip() for line in changed] == [
        "if (!(f(a) || b))",
        "if ((f(a) || b) || 1)",
        "if ((f(a) || b) && 0)",
        "else if (!(c))",
        "else if ((c) || 1)",
        "else if ((c) && 0)",
        "while (!(d))",
        "while ((d) || 1)",
        "while ((d) && 0)",
        "for (int i = 0; !(i != n); i++)",
        "for (int i = 0; (i != n) || 1; i++)",
        "for (int i = 0; (i != n) && 0; i++)",
    ]


def test_statements():
    """Each goes alone, and what guards it stays."""
    source = CONDITIONS + "switch (a) {\ncase ONE:\n    m(1,\n      2);\n    break;\n}"
    texts = made(source, rules.STATEMENT)
    gone = [before for before in ("g()", "return", "h()", "k()", "m(1,\n      2)", "break")]
    assert texts == [source.replace(before, "", 1) for before in gone]


def test_declarations_stay():
    body = """\
    int a;
    const struct conn *c = find(fd);
    char text[20] = {0};
    struct pair p = {.a = b};
    """
    assert made(body, rules.STATEMENT) == []


def test_only_regions_that_are_named_are_changed():
    text = marked("x = a < b;") + marked("y = c < d;").replace(" here\n", " there\n")
    assert {change.region for change in rules.changes(text, {"there"})} == {"there"}
    assert list(rules.changes(text, {"inside"})) == []


# What is made of the solutions


def a_candidate(wrong: str) -> Candidate:
    """frame.c of 01 with another text."""
    chapter = chapters.find("01")
    change = rules.Change("length", rules.COMPARISON, 0, 0, "")
    return Candidate(chapter, 2, "frame.c", 10, change, FRAME, wrong)


FRAME = skeleton.solution_without_marks(chapters.find("01"))["frame.c"]
LESS = FRAME.replace("<= FRAME_MAX", "< FRAME_MAX")


def test_every_region_is_changed():
    for chapter in chapters.CHAPTERS:
        found = candidates(chapter)
        assert {one.change.region for one in found} == {
            todo.region for todo in skeleton.todos(chapter)
        }
        assert len({one.key for one in found}) == len(found)
        assert all(one.wrong != one.right and "// BEGIN" not in one.wrong for one in found)


def test_a_difference_is_shown():
    where, *lines = a_candidate(LESS).diff().splitlines()
    assert where.endswith("  frame.c:10, length: comparison")
    assert lines == [
        "    -    return *length <= FRAME_MAX_BYTES;",
        "    +    return *length < FRAME_MAX_BYTES;",
    ]


def test_the_same_program_is_judged_once():
    same = FRAME.replace("*length <= FRAME_MAX_BYTES", "!(*length > FRAME_MAX_BYTES)")
    less = LESS.replace("*length < FRAME_MAX_BYTES", "*length < 1 * FRAME_MAX_BYTES")
    refused = LESS.replace("FRAME_MAX_BYTES", "NO_SUCH_NAME")
    no_result = FRAME.replace("return *length <= FRAME_MAX_BYTES", "")
    texts = (same, LESS, less, refused, no_result)
    keys = [a_candidate(text).key for text in texts]
    assert unchanged(map(a_candidate, texts), 2) == (
        {keys[3], keys[4]},
        {keys[0]: "", keys[2]: keys[1]},
    )


def test_what_was_found_is_kept(tmp_path):
    first = Kept(tmp_path / "rules" / "01.jsonl")
    assert first.find("a") is None
    first.add(Found("a", SURVIVED))
    first.add(Found("a", KILLED, "test_01_echoes", "silence"))
    assert Kept(tmp_path / "rules" / "01.jsonl").find("a").by == "test_01_echoes"


@pytest.mark.parametrize(
    "found, asked_again",
    [
        (None, (True, True)),
        (Found("a", UNJUDGED), (True, True)),
        (Found("a", KILLED), (False, False)),
        (Found("a", SURVIVED), (False, True)),
        (Found("a", SURVIVED, full=True), (False, False)),
    ],
)
def test_a_sweep_goes_on(found, asked_again):
    """Survivors of a chapter's own claims are asked again when all claims are."""
    assert tuple(not sweep.is_done(found, full) for full in (False, True)) == asked_again


def test_what_the_claims_of_a_todo_let_pass_is_reported():
    own = a_candidate(FRAME + "\n"), Found("x", KILLED, "test_own")
    other = a_candidate(LESS), Found("y", KILLED, "test_other")
    survived = a_candidate(LESS), Found("z", SURVIVED)
    todo = own[0].todo
    todo_of = {"test_own": f"01.{todo}", "test_other": f"01.{todo + 1}"}
    first, *lines = sweep.report(chapters.find("01"), [own, other, survived], todo_of)
    assert first == "01  3 changes: 2 killed, 1 survived; 1 by the claims of their TODO"
    diff = a_candidate(LESS).diff()
    assert "\n".join(lines) == f"\n{diff}\n    01.{todo}, killed by test_other\n\n{diff}"


def test_some_are_drawn(monkeypatch):
    """A seed draws the same each time, in the order of all."""
    monkeypatch.setenv("LAB_N", "3")
    some = [[one.key for one in LISTEN].index(one.key) for one in sweep.drawn(LISTEN)]
    assert len(some) == 3 and some == sorted(some)
    assert sweep.drawn(LISTEN) == sweep.drawn(LISTEN)
    monkeypatch.setenv("LAB_SEED", "2")
    assert some != [[one.key for one in LISTEN].index(one.key) for one in sweep.drawn(LISTEN)]


LISTEN = candidates(chapters.find("01"), "listen")
NO_SOCKET = next(one for one in LISTEN if "!(fd < 0)" in one.wrong)


def test_a_change_is_judged(grader, monkeypatch, tmp_path):
    """The first claim that fails kills it, and its sources are removed."""
    monkeypatch.setattr(sweep, "DIRECTORY", tmp_path)
    found = sweep.judge(NO_SOCKET, grader, full=False)
    assert (found.verdict, found.by[:7]) == (KILLED, "test_01")
    assert list(tmp_path.iterdir()) == []


def test_one_failed_test_is_enough(grader, tmp_path):
    NO_SOCKET.write(tmp_path)
    words = ["--chapter", "01", "--dir", str(tmp_path), "--only", "01.1", "--jobs", "0"]
    graded = grader.grade([*words, "--until-lost"])
    first, *others = [test["extra_data"]["verdict"] for test in graded.results["tests"]]
    assert first == FAILED and others and set(others) == {NOT_JUDGED}
