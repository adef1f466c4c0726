#!/usr/bin/env python3
"""What vpl_execution prints for Moodle's Virtual Programming Lab, from the result of a grade:

    python3 docs/recipes/vpl.py build/results/04.json

A line of a comment that begins with "-" is a title, one with ">" is shown as it is: so no line of a
failure can end the comment, or be a grade. If a claim was not judged there is no line with a grade,
and Moodle proposes none. Moodle's server sets the highest grade of the activity, VPL_GRADEMAX.
http://demovpl.dis.ulpgc.es/index.php/support, "How to configure the Moodle module"
"""

import json
import os
import sys


def verbatim(text):
    shown = [" " if char == "\t" else char if char.isprintable() else "." for char in text]
    return ">" + "".join(shown)


with open(sys.argv[1]) as file:
    result = json.load(file)
print("<|--", *map(verbatim, result["output"].splitlines()), sep="\n")
for test in result["tests"]:
    verdict = test.get("status", "not judged")
    if verdict != "passed":
        print(f"-{verdict}  {test.get('number', '')}  {test['name']}")
        print(*map(verbatim, test["output"].splitlines()), sep="\n")
print("--|>")
if result["extra_data"]["verdict"] != "not judged":
    highest = float(os.environ.get("VPL_GRADEMAX") or 100)
    print(f"Grade :=>> {round(result['score'] / 100 * highest, 2):g}")
