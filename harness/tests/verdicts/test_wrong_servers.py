"""Each wrong server of solutions/*/wrong.patch is failed by the claim that is meant for it, with the
hint that is meant. Without FULL=1 some of them are judged, see drawn.wrong_servers()."""

from __future__ import annotations

import dataclasses

import pytest

from harness.authors.mutants import catalogue, matrix, patch
from harness.authors.mutants.catalogue import CATALOGUE
from harness.authors.mutants.judge import (
    BROKEN,
    KILLED,
    OTHER_HINT,
    PROPERTY,
    SURVIVED,
    Judgement,
    judge,
)
from harness.failures.hints import HINTS
from harness.grading import scoring
from harness.lab.chapters import find
from harness.tests import drawn, golden

CLAIMS = scoring.load()
SAMPLE = next(mutant for mutant in CATALOGUE if mutant.id == "01-big-endian-reply")


def changed(**fields):
    """The sample with other fields."""
    return dataclasses.replace(SAMPLE, **fields)


def parameters():
    """All of them; the servers of the last chapter first, as these take longest to build."""
    now = drawn.wrong_servers(CATALOGUE)
    for mutant in reversed(CATALOGUE):
        marks = [] if mutant.id in now else [pytest.mark.full("wrong servers")]
        yield pytest.param(mutant, id=mutant.id, marks=marks)


@pytest.mark.parametrize("mutant", parameters())
def test_wrong_server_is_caught(mutant, grader, tmp_path, record_property):
    judgement = judge(mutant, tmp_path, grader)
    found = (judgement.verdict, judgement.hint, judgement.killers)
    record_property(PROPERTY, {mutant.id: found})
    assert judgement.verdict == KILLED, f"{mutant.test}: {judgement.verdict}: {judgement.hint}"
    if (golden.DIRECTORY / "failures" / f"{mutant.id}.txt").exists():
        golden.check(f"failures/{mutant.id}", golden.of_failure(judgement.text))


# No wrong server of the catalogue can print these hints; the tests that prove them:
PROVED_ELSEWHERE = {
    "cannot-start": "test_start.py",
    "connect-stuck": "test_client.py",
    "over-limit": "test_hostile.py",
    "too-long": "test_grade.py",
}


def test_every_claim_and_every_hint_has_a_wrong_server():
    """A claim that no wrong server is meant for may be one that cannot fail."""
    unused = catalogue.unused(CATALOGUE, CLAIMS)
    assert not unused, f"add one for {unused} to solutions/NN-name/wrong.patch"
    printed = {mutant.hint for mutant in CATALOGUE}
    unproved = sorted(set(HINTS) - printed - set(PROVED_ELSEWHERE))
    assert not unproved, f"no wrong server is meant to print {unproved}: add one, or remove these"
    twice = printed & set(PROVED_ELSEWHERE) | set(PROVED_ELSEWHERE) - set(HINTS)
    assert not twice, f"take {twice} out of PROVED_ELSEWHERE"


def test_the_catalogue_is_sound():
    faults = catalogue.faults(CATALOGUE, CLAIMS)
    assert not faults, "\n".join(["the wrong servers are not sound:", *faults])
    rows = matrix.table([Judgement(mutant, OTHER_HINT, "x") for mutant in CATALOGUE])
    assert max(map(len, rows.splitlines())) <= matrix.WIDTH


# The check can fail

COMMENT = """\
--- a/io.c
+++ b/io.c
@@ -1 +1,2 @@
 #include "io.h"
+/* Nothing else has changed. */
"""


def test_a_right_server_survives(grader, tmp_path):
    right = changed(diff=COMMENT)
    assert judge(right, tmp_path, grader) == Judgement(right, SURVIVED)


def test_another_hint_is_not_the_one(grader, tmp_path):
    judgement = judge(changed(hint="sigpipe"), tmp_path, grader)
    assert (judgement.verdict, judgement.hint) == (OTHER_HINT, SAMPLE.hint)


def test_what_does_not_compile_is_not_caught(grader, tmp_path):
    diff = '--- a/frame.c\n+++ b/frame.c\n@@ -1 +0,0 @@\n-#include "frame.h"\n'
    judgement = judge(changed(diff=diff), tmp_path, grader)
    assert judgement.verdict == BROKEN
    assert "frame.c" in judgement.hint


SOUND = f"""\
# framing

## one
A comment is no mistake.
fails: 01_empty_frames (empty-body)
{COMMENT}
## two
A second one is no mistake, too.
fails: 01_empty_frames (empty-body)
{COMMENT}"""
# A change of a file that is sound, and the fault that it makes.
FAULTS = {
    ("01_empty_frames", "04_replies_are_batched"): "chapter 01 has no test test_04_replies",
    ("empty-body", "no-such-hint"): "there is no hint 'no-such-hint': take a key",
    ("## one", "## two"): "there are two of this name: rename one",
    ("fails: 01", "01"): "its head is not complete: after `## one` write the mistake",
    ('#include "io.h"', '#include "no.h"'): "the diff does not fit: quote lines",
    ("a/io.c", "a/no.c"): "the solution has no no.c: correct the line `--- a/no.c`",
    (' #include "io.h"\n', ""): "solutions/01-blocking/io.c has the lines of a change at",
}


def test_a_fault_of_the_catalogue_is_named_with_its_place():
    assert catalogue.faults(catalogue.read(find("01"), SOUND), CLAIMS) == []
    for (old, new), says in FAULTS.items():
        (fault,) = catalogue.faults(
            catalogue.read(find("01"), SOUND.replace(old, new, 1)), CLAIMS
        )
        name = "two" if new == "## two" else "one"
        assert fault.startswith(f"solutions/01-blocking/wrong.patch: {name}: ")
        assert says in fault


def test_a_change_is_made_where_its_lines_are():
    """Whatever the numbers after @@ say: a solution changes, and its wrong servers stay."""
    text = "int a;\n\nint b;\n\nint c;\n"
    for numbers in ("-3 +3", "-700,9 +700"):
        diff = f"--- a/io.c\n+++ b/io.c\n@@ {numbers} @@\n-int c;\n+char c;\n"
        assert patch.changed({"io.c": text}, diff) == {"io.c": text.replace("int c", "char c")}
