#!/usr/bin/env python3
"""Late days: the points that count. Copy it, and write your own deadlines below.

It reads one JSON object, with name, chapter, points and time, and prints the points that count.
A hand-in that is at most FREE_DAYS late keeps all of its points. Each further day that has begun
costs SHARE of the points of the grade.
"""

import json
import math
import sys
from datetime import datetime

FREE_DAYS = 3
SHARE = 0.10
DAY = 24 * 60 * 60
DEADLINES = {  # by chapter; +01:00 is the time zone
    "01": "2030-03-01T23:59+01:00",
    "02": "2030-03-08T23:59+01:00",
    "03": "2030-03-15T23:59+01:00",
    "04": "2030-03-22T23:59+01:00",
}


def points_that_count(points, days_late):
    """`days_late`: with a fraction; below zero for a hand-in that is early."""
    days = max(0, math.ceil(days_late) - FREE_DAYS)
    return points * max(0.0, 1 - SHARE * days)


hand_in = json.load(sys.stdin)
if hand_in["chapter"] not in DEADLINES:
    sys.exit(f"there is no deadline for chapter {hand_in['chapter']}")
deadline = datetime.fromisoformat(DEADLINES[hand_in["chapter"]])
late = (hand_in["time"] - deadline.timestamp()) / DAY
print(round(points_that_count(hand_in["points"], late), 2))
