"""make answers: what a student learns once a chapter is finished, and not before."""

import json
import re
import shutil

from harness.student.answers import main
from harness.submission import answers, seed
from harness.submission.chapters import ROOT, find
from harness.tests import golden


def test_answers_are_shown_when_the_chapter_is_finished(monkeypatch, tmp_path, capsys):
    """The grade has to be one of the student's own files as they are now, with 100 points."""
    for place in ("submission.chapters.ROOT", "submission.answers.ROOT", "grade.results.RESULTS"):
        monkeypatch.setattr(f"harness.{place}", tmp_path)
    own, packed = tmp_path / "chapters" / find("01").slug, tmp_path / answers.PACKED.format("01")
    shutil.copytree(ROOT / "chapters" / find("01").slug, own)
    another = shutil.copytree(own, tmp_path / "another")
    (another / "conn.c").write_text("// another\n")
    packed.parent.mkdir(parents=True)

    def graded(score, source=own):
        found = {"score": score, "extra_data": {"seed": seed.of_files(source)}}
        (tmp_path / "01.json").write_text(json.dumps(found))

    said = []
    for title, change in {
        "no grade": lambda: packed.write_bytes(answers.pack("1. Five.\n")),
        "99.5 points": lambda: graded(99.5),
        "another server": lambda: graded(100, another),
        "100 points": lambda: graded(100),
        "changed since": lambda: (own / "conn.c").write_text("// changed since\n"),
        "damaged": lambda: packed.write_bytes(b"AAAA"),
        "a handout without answers": packed.unlink,
    }.items():
        change()
        said.append(f"# {title}: {main(['--chapter', '01'])}\n{''.join(capsys.readouterr())}")
    golden.check("answers", re.sub(r"\(Error .*\)", "(...)", "".join(said)), tmp_path)
