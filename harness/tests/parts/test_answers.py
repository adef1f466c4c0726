"""make answers: what a student learns once a chapter is finished, and not before."""

import json
import re
import shutil

from harness.grade import history
from harness.student.answers import main
from harness.submission import answers
from harness.submission.chapters import ROOT, find
from harness.tests import golden


def test_answers_are_shown_when_the_chapter_is_finished(monkeypatch, tmp_path, capsys):
    """The grade has to be one of the student's own files as they are now, with 100 points."""
    for place in ("submission.chapters.ROOT", "lab.answers.ROOT", "student.answers.RESULTS"):
        monkeypatch.setattr(f"harness.{place}", tmp_path)
    own, packed = tmp_path / "chapters" / find("01").slug, tmp_path / answers.PACKED.format("01")
    shutil.copytree(ROOT / "chapters" / find("01").slug, own)
    another = shutil.copytree(own, tmp_path / "another")
    packed.parent.mkdir(parents=True)

    def graded(score, verdict, source=own):
        found = {"score": score, "extra_data": {"verdict": verdict}}
        (tmp_path / "01.json").write_text(json.dumps(found))
        history._save(tmp_path / "01-passed.json", source, {"test": history.state(source)}, set())

    said = []
    for title, change in {
        "no grade": lambda: packed.write_bytes(answers.pack("1. Five.\n")),
        "99.5 points": lambda: graded(99.5, "failed"),
        "another server": lambda: graded(100, "passed", another),
        "100 points": lambda: graded(100, "passed"),
        "changed since": lambda: (own / "conn.c").write_text("// changed since\n"),
        "damaged": lambda: packed.write_bytes(b"AAAA"),
        "a handout without answers": packed.unlink,
    }.items():
        change()
        said.append(f"# {title}: {main(['--chapter', '01'])}\n{''.join(capsys.readouterr())}")
    golden.check("answers", re.sub(r"\(Error .*\)", "(...)", "".join(said)), tmp_path)
