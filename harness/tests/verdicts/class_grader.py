"""In place of grading/grade.py, for the tests of `make class`: does what the submission's main.c
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


def main() -> int:
    calls = Path(os.environ["EVENT_LOOP_LAB_CALLS"])
    words = sys.argv[1:]
    place, results = (Path(words[words.index(name) + 1]) for name in ("--dir", "--results"))
    if "--only" in words:
        print(f"{words[words.index('--only') + 1]}, call by call")
        return 1
    with calls.open("a") as file:
        file.write(f"{(place / 'name').read_text()}\n")
    word = (place / "main.c").read_text()
    print(f"graded: {place}\nagain make grade CH=01 DIR={place} T=x {MARKUP}")
    if word == "hang":
        subprocess.Popen(["tail", "-f", place / "main.c"], start_new_session=True)
        signal.pause()
    if word == "kills-unit":
        os.kill(os.getppid(), signal.SIGKILL)
        signal.pause()
    if word.startswith("wait "):  # until that file exists
        while not Path(word.removeprefix("wait ")).exists():
            time.sleep(0.01)
        word = "100"
    if word == "once":  # judged when tried again
        word = "62.5" if calls.read_text().count("'once'") > 1 else "unjudged"
    verdict = {"100": "passed", "unjudged": "not judged"}.get(word, "failed")
    data = {"test": "test_01_a", "hint": "", "crashed": "", "seconds": 1.5, "verdict": verdict}
    test = {"name": f"It works {MARKUP}", "number": "01.1", "output": f"FAILED {MARKUP}"}
    test |= {"extra_data": data}
    test |= {} if verdict == "not judged" else {"status": verdict}
    score = 0 if verdict == "not judged" else float(word)
    extra = {"verdict": verdict, "not_judged": int(word == "unjudged"), "chapter": "01-blocking"}
    results.write_text(json.dumps({"score": score, "tests": [test], "extra_data": extra}))
    return {"passed": 0, "failed": 1}.get(verdict, 2)


if __name__ == "__main__":
    sys.exit(main())
