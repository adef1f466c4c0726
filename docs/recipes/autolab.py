#!/usr/bin/env python3
"""The last line of an Autolab autograder, from the result of a grade:

    python3 docs/recipes/autolab.py build/results/04.json

PROBLEM is the name of the problem in Autolab, without a colon, which Autolab misreads. If a claim
was not judged the score is null, which Autolab stores as no score; without this line it stores 0.
https://docs.autolabproject.com/lab/
"""

import json
import sys

PROBLEM = "lab"

with open(sys.argv[1]) as file:
    result = json.load(file)
judged = result["extra_data"]["verdict"] != "not judged"
print(json.dumps({"scores": {PROBLEM: result["score"] if judged else None}}))
