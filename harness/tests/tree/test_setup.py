"""What setup installs on which system; nothing is installed here."""

import re
import shutil

from harness.lab.chapters import ROOT
from harness.tests import golden
from harness.tests.shell import run, script

TOOLS = ("sh", "env", "dirname", "mktemp", "rm", "cmp", "cp", "mkdir")
ALL = {"LAB_BENCH": "1", "LAB_SITE": "1"}
REST = """python3 clang clang-format flake8 bsdcat sim_c gdb strace ss nc node chromium redis-server
    redis-cli redis-benchmark""".split()
HERE = [*REST, "valgrind", "npm"]
USER = {"id": "echo 1000"}
FAILS = "exit 1"
NO_SANITIZERS = 'case "$*" in *-fsanitize*) exit 1 ;; esac'
MACHINES = {  # variables of setup, the package manager, programs that are there, scripts of others
    "Debian": (ALL, "apt-get", [], {"gcc": FAILS}),
    "Fedora": (ALL, "dnf", [], {"gcc": FAILS}),
    "Arch": (ALL, "pacman", [], {"gcc": FAILS}),
    "everything is here": ({}, "apt-get", HERE, {}),
    "clang has no sanitizers": ({}, "apt-get", HERE, {"clang": NO_SANITIZERS}),
    "a user": ({}, "apt-get", REST, USER),
    "a user of Arch": ({}, "pacman", REST, USER),
    "a user with sudo": ({}, "apt-get", REST, {**USER, "sudo": 'echo sudo; exec "$@"'}),
    "no package manager": ({}, "none", REST, {}),
    "apt-get fails": ({}, "apt-get", REST, {"apt-get": FAILS}),
    "pacman fails": ({}, "pacman", REST, {"pacman": FAILS}),
    "npm": ({"LAB_SITE": "1"}, "apt-get", HERE, {"npm": 'echo "npm $@"'}),
    "musl": ({}, "apt-get", [], {"ldd": "echo 'musl libc (x86_64)' >&2; exit 1"}),
}


def outcome(place, variables, manager, has, scripts):
    """What setup prints in a copy of what it needs of the lab, with next to nothing on its PATH. A
    package manager only prints what it is told."""
    for name in ("harness/setup.sh", "docs/site/package.json", "docs/site/package-lock.json"):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, place / name)
    # The real one also looks outside of PATH.
    script(place / "harness" / "find-python.sh", "command -v python3")
    there = dict.fromkeys(("gcc", "apt-cache", *has), "exit 0")
    there |= {"id": "echo 0", manager: f'echo "{manager} $@"'} | scripts
    for name, text in there.items():
        script(place / "tools" / name, text)
    for name in TOOLS:
        (place / "tools" / name).symlink_to(shutil.which(name))
    done = run("sh", place / "harness/setup.sh", path=str(place / "tools"), **variables)
    return f"{done.stdout}{done.stderr}status {done.returncode}\n"


def test_what_setup_does_on_each_system(tmp_path):
    said = [f"# {name}\n{outcome(tmp_path / name, *row)}" for name, row in MACHINES.items()]
    text = re.sub(r".*npm: not found\n", "", "".join(said))  # as this shell says it
    golden.check("setup", text, tmp_path)
    page = (ROOT / "docs/platforms.md").read_text().split("## Packages")[1]
    packages = " ".join(re.findall("^setup: installs (.*)", text, re.M)).split()
    assert [package for package in packages if not re.search(rf"\b{package}\b", page)] == []
