#!/usr/bin/env python3
"""results.json of an external grader of PrairieLearn, from the result of a grade:

    python3 docs/recipes/prairielearn.py build/results/04.json > /grade/results/results.json

The file may have 1 MB, so long texts are cut. A submission that does not compile, or was not
judged, is not gradable: it costs no attempt.
https://docs.prairielearn.com/externalGrading/#grading-results
"""

import json
import sys

BYTES = 1_000_000

with open(sys.argv[1]) as file:
    result = json.load(file)
tests = result["tests"]


def cut(text):
    """The text in its share of the bytes; its beginning says what happened."""
    kept = text
    while len(json.dumps(kept)) > BYTES // 2 // (len(tests) + 1):
        kept = kept[: len(kept) * 9 // 10]
    return kept if kept == text else f"{kept}\n(cut here)"


def graded(test):
    name = f"{test['number']}  {test['name']}"
    points = {"points": test["score"], "max_points": test["max_score"]}
    return {"name": name, **points, "output": cut(test["output"])}


if result["extra_data"]["verdict"] == "not judged":
    text = "This was not judged: a fault of the machine, and not yours. Please submit it again."
    found = {"gradable": False, "format_errors": [text]}
elif not any("extra_data" in test for test in tests):
    text = "\n".join(test["output"] for test in tests)
    found = {"gradable": False, "format_errors": [f"It does not compile.\n{cut(text)}"]}
else:
    found = {"gradable": True, "score": result["score"] / 100, "output": cut(result["output"])}
    found["tests"] = [graded(test) for test in tests]
print(json.dumps(found, indent=2))
