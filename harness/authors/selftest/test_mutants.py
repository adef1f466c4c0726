"""Every wrong server is failed by the test that is meant for it, with the hint that is meant.

They are in harness/authors/mutants; conftest.py prints those that are not. Without FULL=1 a sample
of them is judged; SEED draws it.
"""

from __future__ import annotations

import dataclasses
from itertools import chain, groupby, zip_longest

import pytest

from harness.authors.mutants import catalogue, golden, matrix, page
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
from harness.authors.mutants.mutant import Unsound
from harness.authors.mutants.sample import sample
from harness.authors.selftest.drawn import SEED
from harness.failures.hints import HINTS
from harness.grading import scoring

AT_LEAST = 80
GOLDEN_AT_LEAST = 30
CLAIMS = scoring.load()
SAMPLE = next(mutant for mutant in CATALOGUE if mutant.id == "01-big-endian-reply")


def changed(**fields):
    """The sample with other fields."""
    return dataclasses.replace(SAMPLE, **fields)


DRAWN = {mutant.id for mutant in sample(CATALOGUE, SEED)}


def parameters():
    """One wrong server of each chapter in turn: the first of a chapter compiles nearly all of its
    solution, and workers that begin at the same time should not all do that for the same one."""
    chapters = [list(found) for _, found in groupby(CATALOGUE, lambda mutant: mutant.chapter)]
    for mutant in filter(None, chain.from_iterable(zip_longest(*chapters))):
        marks = [] if mutant.id in DRAWN else [pytest.mark.full("wrong servers")]
        yield pytest.param(mutant, id=mutant.id, marks=marks)


@pytest.mark.parametrize("mutant", parameters())
def test_wrong_server_is_caught(mutant, grader, tmp_path, record_property):
    judgement = judge(mutant, tmp_path, grader)
    found = (judgement.verdict, judgement.hint, judgement.killers)
    record_property(PROPERTY, {mutant.id: found})
    assert judgement.verdict == KILLED, f"{mutant.test}: {judgement.verdict}: {judgement.hint}"
    complaint = golden.complaint(mutant, judgement.text)
    assert not complaint, f"{complaint}\nif that is better: python3 -m harness mutants golden"


def test_every_test_catches_something():
    """A claim that no wrong server is meant for may be one that cannot fail."""
    unused = catalogue.unused(CATALOGUE, CLAIMS)
    for claim in CLAIMS:
        assert claim.name not in unused, (
            f"harness/claims/{claim.file.name}: no wrong server is meant for {claim.name}: add one "
            f"to harness/authors/mutants/ch{claim.chapter}.py, and try it with "
            "`make mutants T=its-name`"
        )


def test_many_failures_are_kept():
    kept = {path.stem for path in golden.DIRECTORY.glob("*.txt")}
    for left in sorted(kept - {mutant.id for mutant in CATALOGUE}):
        pytest.fail(
            f"there is no wrong server {left}: git rm harness/authors/mutants/golden/{left}.txt"
        )
    assert len(kept) >= GOLDEN_AT_LEAST, (
        f"{len(kept)} failures are in harness/authors/mutants/golden, and {GOLDEN_AT_LEAST} have "
        "to be: LAB_T=its-name LAB_FULL=1 $(sh harness/find-python.sh) -m harness mutants golden "
        "keeps one"
    )


FAILURE = """FAILED  01.3  A frame comes back.
               6.6 points   (TODO 3, io.c)

  what happened
     byte 4,096 of the body of the reply is 00 instead of
     74
  conversation
  -> 2  A sends 2 bytes: 05 00 "x"
  expected   06 00 00 00 74   |....t|
             ^^ first difference at byte 4, counting from 0
  again      make replay ID=01-01_echoes-776760 DIR=/tmp/x"""


def test_a_failure_without_what_changes():
    """Another run, with other bytes and numbers of other lengths, says the same."""
    other = FAILURE.replace("4,096", "7").replace("of\n     74", "of 1a").replace("776760", "1")
    other = (
        other.replace("05 00", "6f 70").replace("74   |....t|", "75 |.|").replace("/tmp/x", "/y")
    )
    other = other.replace("             ^^", "    ^^")
    assert golden.plain(other) == golden.plain(FAILURE)
    assert golden.plain(FAILURE.replace("instead", "in place")) != golden.plain(FAILURE)


def test_another_wording_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr(golden, "DIRECTORY", tmp_path)
    assert golden.complaint(SAMPLE, FAILURE) == ""  # none is kept
    golden.path(SAMPLE).write_text(golden.plain(FAILURE))
    assert golden.complaint(SAMPLE, FAILURE) == ""
    assert "+  again" in golden.complaint(SAMPLE, FAILURE.replace("replay", "rerun"))


# No wrong server of the catalogue can print these; the tests that prove them:
PROVED_ELSEWHERE = {
    "cannot-start": "test_start.py",
    "connect-stuck": "test_client.py",
    "over-limit": "test_hostile.py",
    "too-long": "test_grade.py",
}


def test_every_hint_is_proved():
    printed = {mutant.hint for mutant in CATALOGUE}
    for key in sorted(set(HINTS) - printed - set(PROVED_ELSEWHERE)):
        place = f"harness/failures/hints/{HINTS[key].anchor.replace('-', '_')}.py"
        pytest.fail(
            f"{place}: no wrong server is meant to print the hint {key!r}: add one to "
            f"harness/authors/mutants, or remove the hint"
        )
    twice = printed & set(PROVED_ELSEWHERE)
    assert not twice, f"a wrong server prints {twice} now: take it out of PROVED_ELSEWHERE"
    gone = set(PROVED_ELSEWHERE) - set(HINTS)
    assert not gone, f"there is no hint {gone} any more: take it out of PROVED_ELSEWHERE"


def test_the_catalogue_is_sound():
    faults = catalogue.faults(CATALOGUE, CLAIMS)
    assert not faults, "\n".join(["the wrong servers are not sound:", *faults])
    assert len(CATALOGUE) >= AT_LEAST, f"at least {AT_LEAST} wrong servers have to be there"


def test_the_page_is_up_to_date():
    command = "$(sh harness/find-python.sh) -m harness mutants write"
    same = page.PAGE.read_text() == page.text()
    assert same, f"docs/mutants.md is not what harness/authors/mutants says: `{command}` writes it"


def test_a_sample_tries_every_claim_and_every_hint():
    tried = {(mutant.chapter, mutant.hint) for mutant in CATALOGUE}
    for seed in range(3):
        drawn = sample(CATALOGUE, seed)
        assert len({mutant.id for mutant in drawn}) == len(drawn) < 0.7 * len(CATALOGUE)
        assert {mutant.test for mutant in drawn} == {mutant.test for mutant in CATALOGUE}
        assert {(mutant.chapter, mutant.hint) for mutant in drawn} == tried
    assert sample(CATALOGUE, 1) == sample(CATALOGUE, 1) != sample(CATALOGUE, 2)


# The check can fail


def test_a_right_server_survives(grader, tmp_path):
    assert judge(changed(edits={}), tmp_path, grader) == Judgement(changed(edits={}), SURVIVED)


def test_another_hint_is_not_the_one(grader, tmp_path):
    judgement = judge(changed(hint="sigpipe"), tmp_path, grader)
    assert (judgement.verdict, judgement.hint) == (OTHER_HINT, SAMPLE.hint)


def test_what_does_not_compile_is_not_caught(grader, tmp_path):
    mutant = changed(edits={"frame.c": '-#include "frame.h"\n'})
    judgement = judge(mutant, tmp_path, grader)
    assert judgement.verdict == BROKEN
    assert "frame.c" in judgement.hint


@pytest.mark.parametrize(
    "edits, says",
    [
        ({"frame.c": "-no such line"}, "frame.c: these lines occur 0 times"),
        ({"io.c": "-    while (size > 0) {"}, "io.c: these lines occur 2 times"),
        ({"io.c": "-while (size > 0) {"}, "io.c: these lines occur 0 times"),
        ({"none.c": "-x"}, "the solution has no none.c"),
    ],
)
def test_a_change_needs_its_place(edits, says):
    with pytest.raises(Unsound, match=says):
        changed(edits=edits).sources()


def test_a_change_is_made():
    change = "\n     }\n-    return IO_OK;\n+    return IO_EOF;\n }\n\n enum io_result io_write_all"
    mutant = changed(edits={"io.c": change + "(int fd, const void *data, size_t size)\n"})
    right, wrong = changed(edits={}).sources()["io.c"], mutant.sources()["io.c"]
    assert wrong == right.replace("return IO_OK;", "return IO_EOF;", 1) != right


@pytest.mark.parametrize(
    "fields, says",
    [
        ({"test": "test_04_replies_are_batched"}, "chapter 01 has no test"),
        ({"hint": "no-such-hint"}, "there is no hint"),
        ({"group": "others"}, "there is no group"),
        ({"name": "a" * 25}, "the name is longer"),
        ({"edits": {"io.c": "-x"}}, "occur 0 times"),
        ({}, "there are two of this name"),
    ],
)
def test_faults_of_the_catalogue_are_named(fields, says):
    (fault,) = catalogue.faults([*([] if fields else [SAMPLE]), changed(**fields)], CLAIMS)
    assert says in fault


# The matrix


def test_a_survivor_shows():
    killed, survivor = Judgement(SAMPLE, KILLED), Judgement(changed(name="x"), SURVIVED)
    lines = matrix.table([killed, survivor]).splitlines()
    assert lines[0] == "01  signs and widths"
    assert lines[1].split() == [
        *("killed", "big-endian-reply", "01_length_uses_all_four_bytes", "length-byte-lost")
    ]
    assert lines[2].startswith("SURVIVED")
    assert lines[-1] == "1 of 2 wrong servers are killed"


def test_the_matrix_fits():
    rows = matrix.table([Judgement(mutant, OTHER_HINT, "x") for mutant in CATALOGUE])
    assert max(map(len, rows.splitlines())) <= matrix.WIDTH


def test_a_test_that_kills_nothing_shows():
    others = {claim.name for claim in CLAIMS} - {SAMPLE.test}
    text = matrix.idle_claims([Judgement(SAMPLE, KILLED, killers=(SAMPLE.test,))], CLAIMS)
    assert {line.strip() for line in text.splitlines()[1:]} == others
