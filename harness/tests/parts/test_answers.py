"""make answers: what a student learns once a chapter is finished, and not before."""

from __future__ import annotations

import json
import shutil

import pytest

from harness.course.handover import handout
from harness.grading import history
from harness.lab import answers
from harness.lab.chapters import CHAPTERS, ROOT, find
from harness.student.answers import is_finished, run

CHAPTER = find("01")


def test_each_chapter_has_its_answers():
    assert list(answers.of_page((ROOT / answers.PAGE).read_text())) == list(CHAPTERS)


def test_what_is_packed_can_be_read_only_by_the_command():
    text = answers.of_page((ROOT / answers.PAGE).read_text())[CHAPTER]
    packed = answers.pack(text)
    assert b"deadlock" in text.encode() and b"deadlock" not in packed
    assert answers.unpack(packed) == text
    for damaged in (packed[:-40], b"no base64", packed[8:]):
        with pytest.raises(ValueError):
            answers.unpack(damaged)


@pytest.mark.parametrize("number", ["01", "02"])
def test_a_handout_has_those_of_its_chapters(number):
    names = {f"lab/{answers.PACKED.format(chapter.number)}" for chapter in CHAPTERS}
    there = {one.name for one in handout.members(find(number))}
    assert len(names & there) == int(number)
    assert not names & {one.name for one in handout.members(find(number), with_answers=False)}


@pytest.fixture
def student(monkeypatch, tmp_path):
    """A copy of the lab with chapter 01, whose answers are packed; and a directory for results."""
    monkeypatch.setattr("harness.lab.chapters.ROOT", tmp_path)
    monkeypatch.setattr("harness.lab.answers.ROOT", tmp_path)
    monkeypatch.setattr("harness.student.answers.RESULTS", tmp_path)
    shutil.copytree(ROOT / "chapters" / CHAPTER.slug, tmp_path / "chapters" / CHAPTER.slug)
    packed = tmp_path / answers.PACKED.format("01")
    packed.parent.mkdir(parents=True)
    packed.write_bytes(answers.pack("1. Five."))
    return tmp_path


def grade(student, score: float, verdict: str, source=None) -> None:
    """What a grade leaves."""
    found = {"score": score, "extra_data": {"verdict": verdict}}
    (student / "01.json").write_text(json.dumps(found))
    source = source or CHAPTER.chapter_dir
    history._save(student / "01-passed.json", source, {"test_01": history.state(source)}, set())


def test_they_are_shown_when_the_chapter_is_finished(student, capsys):
    assert run("01") == 1
    assert "once chapters/01-blocking has 100 points" in capsys.readouterr().out
    grade(student, 99.5, "failed")
    assert run("01") == 1
    grade(student, 100, "passed")
    assert run("01") == 0
    assert capsys.readouterr().out.endswith("1. Five.\n")


def test_another_server_does_not_count(student):
    solution = shutil.copytree(CHAPTER.chapter_dir, student / "another")
    grade(student, 100, "passed", source=solution)
    assert not is_finished(CHAPTER, student)
    grade(student, 100, "passed")
    assert is_finished(CHAPTER, student)
    with (CHAPTER.chapter_dir / "conn.c").open("a") as file:
        file.write("// changed since\n")
    assert not is_finished(CHAPTER, student)


def test_what_a_handout_may_lack(student, capsys):
    from harness.student.answers import main

    packed = student / answers.PACKED.format("01")
    packed.write_bytes(b"AAAA")
    assert main(["--chapter", "01"]) == 2
    assert "docs/answers/01.packed is damaged" in capsys.readouterr().err
    packed.unlink()
    assert main(["--chapter", "01"]) == 2
    assert "came without answers" in capsys.readouterr().err
    assert main([]) == 2
    assert "make answers CH=01" in capsys.readouterr().err
