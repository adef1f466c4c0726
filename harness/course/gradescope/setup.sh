#!/bin/bash
# Gradescope runs this once, as root, while it builds the image: it installs what a grade needs.
set -e
cd "$(dirname "$0")"

apt-get update -q
DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
    gcc libc6-dev make valgrind gdb libarchive-tools \
    python3 python3-pytest python3-pytest-timeout
sh lab/harness/find-python.sh

# The student's processes may read the lab, and not change it.
chmod -R u=rwX,go=rX lab
chmod 755 run_autograder
