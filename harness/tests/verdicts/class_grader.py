"""In place of grading/grade.py, for the tests of `make class`: does what the submission's main.c
says, and notes each call in the file that EVENT_LOOP_LAB_CALLS names."""

from __future__ import annotations

import argparse
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
    parser = argparse.ArgumentParser()
    for name in ("--chapter", "--dir", "--results", "--only"):
        parser.add_argument(name)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    if options.only:
        print(f"{options.only}, call by call")
        return 1
    with calls.open("a") as file:
        file.write(f"{Path(options.dir, 'name').read_text()}\n")
    word = Path(options.dir, "main.c").read_text().strip()
    print(f"graded: {options.dir}\nagain make grade CH=01 DIR={options.dir} T=x {MARKUP}")
    if word == "hang":
        subprocess.Popen(["sleep", "1000.25"], start_new_session=True)
        signal.pause()
    if word == "kills-unit":
        os.kill(os.getppid(), signal.SIGKILL)
        signal.pause()
    if word.startswith("wait "):  # until that file exists
        while not Path(word.removeprefix("wait ")).exists():
            time.sleep(0.01)
        word = "100"
    if word == "once":  # judged when tried again
        names = calls.read_text().splitlines()
        word = "62.5" if names.count(names[-1]) > 1 else "unjudged"
    save(Path(options.results), word)
    return {"100": 0, "unjudged": 2}.get(word, 1)


def save(path: Path, word: str) -> None:
    verdict = {"100": "passed", "unjudged": "not judged"}.get(word, "failed")
    data = {"test": "test_01_a", "hint": "", "crashed": "", "seconds": 1.5, "verdict": verdict}
    test = {"name": f"It works {MARKUP}", "number": "01.1", "output": f"FAILED {MARKUP}"}
    test |= {"extra_data": data}
    test |= {} if verdict == "not judged" else {"status": verdict}
    score = 0 if verdict == "not judged" else float(word)
    extra = {"verdict": verdict, "not_judged": int(word == "unjudged"), "chapter": "01-blocking"}
    path.write_text(json.dumps({"score": score, "tests": [test], "extra_data": extra}))


if __name__ == "__main__":
    sys.exit(main())
