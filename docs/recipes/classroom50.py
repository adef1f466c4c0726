#!/usr/bin/env python3
"""result.json of an autograder.py of Classroom 50, from the result of a grade:

    python3 docs/recipes/classroom50.py build/results/04.json > result.json

Its runner says in the environment which submission this is. Points there are integers; where claims
have parts of a point, all are in hundredths. It has no word for a claim that was not judged: then
nothing is written, and the status is 1.
https://github.com/foundation50/classroom50/blob/main/schemas/result-v1.schema.json
"""

import json
import os
import sys
from datetime import datetime, timezone

with open(sys.argv[1]) as file:
    result = json.load(file)
if result["extra_data"]["verdict"] == "not judged":
    sys.exit("classroom50: a claim was not judged, so there is no score: grade it again")
its = os.environ
if missing := [name for name in ("CLASSROOM", "ASSIGNMENT", "SUBMISSION_TAG", "COMMIT_URL",
                                 "RELEASE_URL") if not its.get(name)]:
    sys.exit(f"classroom50: the runner of Classroom 50 sets {', '.join(missing)}")
points = [result["score"], *(test["max_score"] for test in result["tests"])]
unit = 1 if all(point == int(point) for point in points) else 100
tests = [
    {
        "test-name": f"{test.get('number', '')}  {test['name']}".strip(),
        "passed": test["status"] == "passed",
        "score": round(test["score"] * unit),
        "max-score": round(test["max_score"] * unit),
        "output": test["output"],
    }
    for test in result["tests"]
]
found = {
    "schema": "classroom50/result/v1",
    "classroom": its["CLASSROOM"],
    "assignment": its["ASSIGNMENT"],
    "assignment_type": its.get("ASSIGNMENT_TYPE") or "individual",
    "owner": its.get("OWNER") or its.get("USERNAME", ""),
    "submission": its["SUBMISSION_TAG"],
    "commit": its["COMMIT_URL"],
    "release": its["RELEASE_URL"],
    "review": its.get("REVIEW_URL") or its["COMMIT_URL"],
    "datetime": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
    "score": round(result["score"] * unit),  # less than the sum, with a broken guard
    "max-score": sum(test["max-score"] for test in tests),
    "tests": tests,
}
print(json.dumps(found, indent=2))
