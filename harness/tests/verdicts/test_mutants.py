"""Every wrong server is failed by the test that is meant for it, with the hint that is meant.

They are in solutions/NN-name/wrong.patch; conftest.py prints those that are not. Without FULL=1 a
sample of them is judged; SEED draws it.
"""

from __future__ import annotations

import dataclasses
from itertools import chain, groupby, zip_longest

import pytest

from harness.authors.mutants import catalogue, command, golden, matrix, page, patch
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
from harness.authors.mutants.mutant import solution
from harness.authors.mutants.sample import PARTS, sample
from harness.tests.drawn import SEED
from harness.failures.hints import HINTS
from harness.grading import scoring
from harness.lab.chapters import find

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
    of_chapters = [list(found) for _, found in groupby(CATALOGUE, lambda mutant: mutant.chapter)]
    for mutant in filter(None, chain.from_iterable(zip_longest(*of_chapters))):
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
            f"to solutions/{claim.chapter.slug}/wrong.patch, and try it with "
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
            f"solutions/NN-name/wrong.patch, or remove the hint"
        )
    twice = printed & set(PROVED_ELSEWHERE)
    assert not twice, f"a wrong server prints {twice} now: take it out of PROVED_ELSEWHERE"
    gone = set(PROVED_ELSEWHERE) - set(HINTS)
    assert not gone, f"there is no hint {gone} any more: take it out of PROVED_ELSEWHERE"


def test_the_catalogue_is_sound():
    faults = catalogue.faults(CATALOGUE, CLAIMS)
    assert not faults, "\n".join(["the wrong servers are not sound:", *faults])
    assert len(CATALOGUE) >= AT_LEAST, f"at least {AT_LEAST} wrong servers have to be there"


def test_the_page_has_all_of_them():
    rows = [line for line in page.text().splitlines() if " | test_" in line]
    assert len(rows) == len(CATALOGUE)


def test_some_samples_try_every_claim_and_every_hint():
    tried = {(mutant.chapter, mutant.hint) for mutant in CATALOGUE}
    for first in (0, PARTS):
        samples = [sample(CATALOGUE, first + part) for part in range(PARTS)]
        assert max(map(len, samples)) < 0.25 * len(CATALOGUE)
        drawn = list(chain(*samples))
        assert len({mutant.id for mutant in drawn}) == len(drawn)
        assert {mutant.test for mutant in drawn} == {mutant.test for mutant in CATALOGUE}
        assert {(mutant.chapter, mutant.hint) for mutant in drawn} == tried
    assert sample(CATALOGUE, 1) == sample(CATALOGUE, 1) != sample(CATALOGUE, 1 + PARTS)


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


# The diffs

FILES = {"io.c": "int a;\n\nint b;\n\nint c;\n\nint b;\n", "loop/run.c": "int run;\n"}


def diff(*lines: str, file="io.c", numbers="-1 +1"):
    return "\n".join([f"--- a/{file}", f"+++ b/{file}", f"@@ {numbers} @@", *lines]) + "\n"


@pytest.mark.parametrize("numbers", ["-3 +3", "-1 +1", "-700,9 +700"])
def test_a_change_is_made_where_its_lines_are(numbers):
    found = patch.changed(FILES, diff("-int c;", "+char c;", numbers=numbers))
    assert found == {"io.c": FILES["io.c"].replace("int c;", "char c;")}


def test_several_files_are_changed():
    """An editor may have removed the blank of an empty line."""
    both = diff("-int a;", "", "+int x;") + diff("-int run;", "+int walk;", file="loop/run.c")
    found = patch.changed(FILES, both)
    assert found["loop/run.c"] == "int walk;\n"
    assert found["io.c"] == "\nint x;\nint b;\n\nint c;\n\nint b;\n"
    assert patch.ambiguous(FILES, both) == []


def test_settings_of_a_user_change_nothing(tmp_path, monkeypatch):
    """With this one, git would refuse a blank at the end of a line."""
    (tmp_path / ".gitconfig").write_text("[apply]\nwhitespace = error\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    found = patch.changed(FILES, diff("-int c;", "+int d; "))
    assert found["io.c"].splitlines(keepends=True)[4] == "int d; \n"


@pytest.mark.parametrize(
    "lines", [("-int b;", "+int x;"), ("+int x;",), ("-int b;",), (" int b;", "+int x;")]
)
def test_a_change_with_several_places_is_ambiguous(lines):
    assert patch.ambiguous(FILES, diff(*lines)) == ["io.c"]
    assert patch.ambiguous(FILES, diff(" int c;", "", *lines)) == []


@pytest.mark.parametrize(
    "text, says",
    [
        (diff("-int c", "+int d"), "error: while searching for:\nint c\n"),
        (diff("-int c;", "+int d;", file="no.c"), "the solution has no no.c: correct the line"),
        ("", "git apply says:"),
    ],
)
def test_a_diff_that_does_not_fit_is_refused(text, says):
    with pytest.raises(patch.Refused, match=says):
        patch.changed(FILES, text)


# The files


WRONG = """\
Some words.

# framing

## one
It is wrong.
fails: 01_empty_frames (silence)
--- a/io.c
+++ b/io.c
@@ -3 +3 @@
-x
+y

## two
It is wrong, too.
fails: 01_first_frames (empty-body)
--- a/net.c
"""


def test_a_file_of_wrong_servers_is_read():
    one, two = catalogue.read(find("01"), WRONG)
    assert (one.id, one.group, one.what) == ("01-one", "framing", "It is wrong.")
    assert (one.test, one.hint) == ("test_01_empty_frames", "silence")
    assert one.diff == "--- a/io.c\n+++ b/io.c\n@@ -3 +3 @@\n-x\n+y\n"
    assert (two.name, two.group, two.diff) == ("two", "framing", "--- a/net.c\n")


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


def test_a_sound_file_has_no_faults():
    assert catalogue.faults(catalogue.read(find("01"), SOUND), CLAIMS) == []


@pytest.mark.parametrize(
    "old, new, says",
    [
        ("01_empty_frames", "04_replies_are_batched", "chapter 01 has no test test_04_replies"),
        ("empty-body", "no-such-hint", "there is no hint 'no-such-hint': take a key"),
        ("## one", f"## {'a' * 25}", "the name is longer than 24 characters: shorten it"),
        ("## one", "## two", "there are two of this name: rename one"),
        ("fails: 01", "01", "its head is not complete: after `## one` write the mistake"),
        ("fails: 01_empty_frames (empty-body)\n", "", "its head is not complete: after `## one`"),
        ("A comment is no mistake.\n", "", "its head is not complete: after `## one` write"),
        ('#include "io.h"', '#include "no.h"', "the diff does not fit: quote lines"),
        ("a/io.c", "a/no.c", "the solution has no no.c: correct the line `--- a/no.c`"),
        (' #include "io.h"\n', "", "solutions/01-blocking/io.c has the lines of a change at"),
        (COMMENT, "", "the diff does not fit"),
    ],
)
def test_a_fault_of_a_file_is_named_with_its_place(old, new, says):
    (fault,) = catalogue.faults(catalogue.read(find("01"), SOUND.replace(old, new, 1)), CLAIMS)
    name = "two" if new == "## two" else "a" * 25 if "aaa" in new else "one"
    assert fault.startswith(f"solutions/01-blocking/wrong.patch: {name}: ")
    assert says in fault


def test_a_group_that_is_not_known_is_a_fault():
    found = catalogue.faults(catalogue.read(find("01"), SOUND.replace("framing", "others")), CLAIMS)
    assert len(found) == 2 and "there is no group 'others': take one of GROUPS" in found[0]


def test_a_wrong_server_without_a_heading_is_a_fault():
    """Otherwise its lines would belong to the one before."""
    (fault,) = catalogue.faults(catalogue.read(find("01"), SOUND.replace("## two\n", "")), CLAIMS)
    assert "one: this line belongs to no diff: 'A second one is no mistake, too.'" in fault


def test_a_copy_to_change(monkeypatch, tmp_path):
    monkeypatch.setattr(command, "DIRECTORY", tmp_path)
    monkeypatch.setenv("LAB_CH", "01")
    assert command.main(["copy"]) == 0
    for name in ("a", "b"):
        copied = {path.name: path.read_text() for path in (tmp_path / name).iterdir()}
        assert copied == solution(find("01"))


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
