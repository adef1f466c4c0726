"""In place of grade/grade.py, for the tests of `make class`: does what the submission's main.c
says, and notes each call in the file that EVENT_LOOP_LAB_CALLS names."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

MARKUP = "<script>alert(1)</script>"


def main(_: list[str] | None = None) -> int:
    calls = Path(os.environ.get("EVENT_LOOP_LAB_CALLS", "build/calls"))
    words = sys.argv[1:]
    place, results = (Path(words[words.index(name) + 1]) for name in ("--dir", "--results"))
    if "--only" in words:
        print(f"{words[words.index('--only') + 1]}, call by call")
        return 1
    with calls.open("a") as file:
        word = (place / "main.c").read_text()
        file.write((place / "name").read_text() if (place / "name").exists() else f"{word}\n")
    print(f"graded: {place}\nagain make grade CH=01 DIR={place} T=x {MARKUP}")
    if word == "hang":
        subprocess.Popen(["tail", "-f", place / "main.c"], start_new_session=True)
        signal.pause()
    if word == "forges":  # it leaves a link for a result, and a process
        subprocess.Popen(["sleep", "1000"], start_new_session=True)
        names = ("results", "submission", "submission_metadata.json", "secret.json")
        print([name for name in names if os.access(f"/autograder/{name}", os.R_OK)])
        results.symlink_to("/autograder/secret.json")
        return 0
    if word == "kills-unit":
        os.kill(os.getppid(), signal.SIGKILL)
        signal.pause()
    if word.startswith("wait "):  # until that file exists
        while not Path(word.removeprefix("wait ")).exists():
            time.sleep(0.01)
        word = "100"
    if word == "once":  # judged when tried again
        word = "62.5" if calls.read_text().count("once") > 1 else "unjudged"
    verdict = {"100": "passed", "unjudged": "not judged"}.get(word, "failed")
    data = {"test": "test_01_a", "hint": "", "crashed": "", "seconds": 1.5, "verdict": verdict}
    test = {"name": f"It works {MARKUP}", "number": "01.1", "output": f"FAILED {MARKUP}"}
    test |= {"extra_data": data}
    test |= {} if verdict == "not judged" else {"status": verdict}
    score = 0 if verdict == "not judged" else float(word)
    extra = {"verdict": verdict, "not_judged": int(word == "unjudged"), "chapter": "01-blocking"}
    results.parent.mkdir(exist_ok=True)
    results.write_text(json.dumps({"score": score, "tests": [test], "extra_data": extra}))
    return {"passed": 0, "failed": 1}.get(verdict, 2)


if __name__ == "__main__":
    sys.exit(main())
