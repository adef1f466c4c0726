#!/usr/bin/env python3
"""Numbers for names: a directory of links to the hand-ins, and a table that says who is who.

    python3 docs/recipes/anonymous.py sub anonymous key.csv
    make class CH=04 SUB=anonymous

The numbers are drawn, so that their order says nothing. Names that the table has keep theirs: call
it again when more has been handed in. It cannot hide a name that stands in the code.
"""

import csv
import os
import random
import re
import sys
from pathlib import Path

sub, made, key = map(Path, sys.argv[1:])
how = {"encoding": "utf-8", "errors": "surrogateescape", "newline": ""}
numbers = {}
if key.exists():
    with key.open(**how) as file:
        numbers = {row["name"]: row["number"] for row in csv.DictReader(file)}
found = {}  # ada/, ada.zip and ada.tar.gz are hand-ins of one student
for path in sub.iterdir():
    end = "" if path.is_dir() else re.search(r"(\.tar)?(\.\w{1,5})?$", path.name)[0]
    if not path.name.startswith("."):
        found[path] = (path.name.removesuffix(end), end)
new = sorted({name for name, _ in found.values()} - numbers.keys())
random.SystemRandom().shuffle(new)
for name in new:
    numbers[name] = f"{len(numbers) + 1:04}"
with open(os.open(key, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", **how) as file:
    rows = csv.writer(file)
    rows.writerows([("number", "name"), *((number, name) for name, number in numbers.items())])
made.mkdir(exist_ok=True)
for path, (name, end) in found.items():
    link = made / f"{numbers[name]}{end}"
    link.unlink(missing_ok=True)
    link.symlink_to(path.resolve())
