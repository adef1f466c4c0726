#!/usr/bin/env python3
"""Late days: adds the points that count to the scores of a class, as one more column.

Copy it, write your own deadlines below, and call it each time after `make class`:

    python3 late.py 04 build/class/04/sub/scores.csv

A hand-in that is at most FREE_DAYS late keeps all of its points. Each further day that has begun
costs SHARE of them. `make export FORMAT=canvas` takes this column instead of the score.
"""

import csv
import math
import sys
from datetime import datetime, timedelta

FREE_DAYS = 3
SHARE = 0.10
DEADLINES = {  # by chapter, in the time of the machine that wrote the scores
    "01": "2030-03-01 23:59",
    "02": "2030-03-08 23:59",
    "03": "2030-03-15 23:59",
    "04": "2030-03-22 23:59",
}


def points_that_count(points, days_late):
    """`days_late`: with a fraction; below zero for a hand-in that is early."""
    days = max(0, math.ceil(days_late) - FREE_DAYS)
    return points * max(0.0, 1 - SHARE * days)


chapter, scores = sys.argv[1:]
if chapter not in DEADLINES:
    sys.exit(f"there is no deadline for chapter {chapter}")
deadline = datetime.fromisoformat(DEADLINES[chapter])
with open(scores, encoding="utf-8", newline="") as file:
    rows = list(csv.DictReader(file))
for row in rows:
    row["counts"] = row["score"]  # blank if it was not judged; nothing was handed in at no time
    if row["score"] and row["handed in"]:
        late = (datetime.fromisoformat(row["handed in"]) - deadline) / timedelta(days=1)
        row["counts"] = f"{round(points_that_count(float(row['score']), late), 2):g}"
with open(scores, "w", encoding="utf-8", newline="") as file:
    table = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
