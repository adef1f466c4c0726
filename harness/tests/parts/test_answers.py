"""make answers: what a student learns once a chapter is finished, and not before."""

from __future__ import annotations

import json
import re
import shutil

from harness.course.handover import handout
from harness.grading import history
from harness.lab import answers
from harness.lab.chapters import CHAPTERS, ROOT, find
from harness.student.answers import main
from harness.tests import golden

CHAPTER = find("01")


def test_each_chapter_has_answers_and_a_handout_has_those_of_its_chapters():
    assert list(answers.of_page((ROOT / answers.PAGE).read_text())) == list(CHAPTERS)
    names = {f"lab/{answers.PACKED.format(chapter.number)}" for chapter in CHAPTERS}
    for number, with_answers, count in (("01", True, 1), ("02", True, 2), ("02", False, 0)):
        members = handout.members(find(number), with_answers=with_answers)
        assert len(names & {one.name for one in members}) == count


def test_answers_are_shown_when_the_chapter_is_finished(monkeypatch, tmp_path, capsys):
    """The grade has to be one of the student's own files as they are now, with 100 points."""
    for place in ("lab.chapters.ROOT", "lab.answers.ROOT", "student.answers.RESULTS"):
        monkeypatch.setattr(f"harness.{place}", tmp_path)
    own = tmp_path / "chapters" / CHAPTER.slug
    shutil.copytree(ROOT / "chapters" / CHAPTER.slug, own)
    packed = tmp_path / answers.PACKED.format("01")
    packed.parent.mkdir(parents=True)
    packed.write_bytes(answers.pack("1. Five.\n"))
    assert b"Five" not in packed.read_bytes()
    said = []

    def graded(score, verdict, source=own):
        found = {"score": score, "extra_data": {"verdict": verdict}}
        (tmp_path / "01.json").write_text(json.dumps(found))
        history._save(tmp_path / "01-passed.json", source, {"test": history.state(source)}, set())

    def ask(title):
        status = main(["--chapter", "01"])
        printed = re.sub(r"\(Error .*\)", "(...)", "".join(capsys.readouterr()))
        said.append(f"# {title}: {status}\n{printed}")

    ask("no grade")
    graded(99.5, "failed")
    ask("99.5 points")
    graded(100, "passed", shutil.copytree(own, tmp_path / "another"))
    ask("another server")
    graded(100, "passed")
    ask("100 points")
    with (own / "conn.c").open("a") as file:
        file.write("// changed since\n")
    ask("changed since")
    packed.write_bytes(b"AAAA")
    ask("damaged")
    packed.unlink()
    ask("a handout without answers")
    golden.check("answers", "".join(said), tmp_path)
