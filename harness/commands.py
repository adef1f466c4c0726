"""The commands of the lab: python3 -m harness COMMAND [OPTION ...]. `make COMMAND` calls it.

The variables of the Makefile take the place of options that are not given.
"""

from __future__ import annotations

import sys
from importlib import import_module

from harness.submission.chapters import ROOT

# The module of each, with a function main(words) -> exit status; or after a colon another function.
COMMANDS = {
    "grade": "grade.grade",
    "run": "student.run",
    "new": "student.new",
    "watch": "student.watch",
    "replay": "student.replay",
    "trace": "student.trace.command",
    "demo": "student.demos.command",
    "fuzz": "student.fuzz",
    "answers": "student.answers",
    "doctor": "student.doctor",
    "bench": "student.bench.command",
    "diff": "submission.skeleton:show_diff",
    "lesson": "submission.skeleton:show_lesson",
    "skeletons": "submission.skeleton:write_skeletons",
    "own": "submission.skeleton:own",
    "handout": "course.handover.handout",
    "handin": "course.handover.handin",
    "appeal": "course.handover.appeal",
    "class": "course.classes.command",
    "similar": "course.similarity.command",
    "export": "course.export",
    "gradescope": "course.gradescope.command",
    "site": "course.site",
    "wrong-servers": "maintain.wrong_servers.command",
    "pictures": "maintain.pictures.command",
    "steady": "maintain.steady",
}


def main() -> int:
    name, *words = sys.argv[1:] or [""]
    if name not in COMMANDS:
        print(f"harness: {name!r} is no command; they are {', '.join(COMMANDS)}", file=sys.stderr)
        return 2
    module, _, function = COMMANDS[name].partition(":")
    package = f"harness/{module.split('.')[0]}"
    if not (ROOT / package).is_dir():
        said = f"make {name}: {package} is not here: this copy of the lab is a handout"
        print(said, file=sys.stderr)
        return 2
    return getattr(import_module(f"harness.{module}"), function or "main")(words)
