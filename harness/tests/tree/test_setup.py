"""What setup installs on which system; nothing is installed here."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from harness.lab.chapters import ROOT
from harness.tests import golden
from harness.tests.shell import run, script

TOOLS = ("sh", "env", "dirname", "mktemp", "rm", "cmp", "cp", "mkdir")
OTHERS = "clang clang-format flake8 gdb strace ss nc node chromium".split()
REDIS = ("redis-server", "redis-cli", "redis-benchmark")
FAILS = "exit 1"
USER = {"id": "echo 1000"}
ALL = {"LAB_BENCH": "1", "LAB_SITE": "1"}


def tools(place: Path, manager: str = "apt-get", has=(), **programs: str) -> Path:
    """A PATH with next to nothing on it but programs that succeed: gcc, and those in `has`. The
    package manager only prints what it is told. `programs`: scripts by name, with _ for -."""
    (place / "tools").mkdir(parents=True)
    for name in TOOLS:
        (place / "tools" / name).symlink_to(shutil.which(name))
    there = {name: "exit 0" for name in ("gcc", "apt-cache", *has)}
    there |= {"id": "echo 0", manager: f'echo "{manager} $@"'}
    there |= {name.replace("_", "-"): text for name, text in programs.items()}
    for name, text in there.items():
        script(place / "tools" / name, text)
    return place / "tools"


def setup(place: Path, **variables: str) -> str:
    """What setup prints with these tools, in a copy of what it needs of the lab."""
    for name in ("harness/setup.sh", "docs/site/package.json", "docs/site/package-lock.json"):
        (place.parent / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, place.parent / name)
    # The real one also looks outside of PATH.
    script(place.parent / "harness" / "find-python.sh", "command -v python3")
    done = run("sh", place.parent / "harness" / "setup.sh", path=str(place), **variables)
    text = re.sub(r".*npm: not found\n", "", f"{done.stdout}{done.stderr}")  # as this shell says it
    return f"{text}status {done.returncode}\n"


def test_what_setup_does_on_each_system(tmp_path):
    def machine(name, *arguments, has=(), **programs):
        return tools(tmp_path / name, *arguments, has=has, **programs)

    rest = ("python3", *OTHERS, *REDIS)
    every = (*rest, "valgrind", "npm")
    valkey = [name.replace("redis", "valkey") for name in every]
    no_runtime = {"clang": 'case "$*" in *-fsanitize*) exit 1 ;; esac'}
    site = machine("site", has=every, npm='echo "npm $@"; mkdir -p node_modules/vitepress')
    said = {
        "Debian": setup(machine("debian", gcc=FAILS), **ALL),
        "Fedora": setup(machine("fedora", "dnf", gcc=FAILS), **ALL),
        "Arch": setup(machine("arch", "pacman", gcc=FAILS), **ALL),
        "Debian, where all is installed": setup(machine("all", has=every)),
        "the same with Valkey": setup(machine("valkey", has=valkey)),
        "clang without its sanitizers": setup(machine("clang", has=every, **no_runtime)),
        "a user": setup(machine("user", has=rest, **USER)),
        "a user of Arch": setup(machine("arch-user", "pacman", has=rest, **USER)),
        "a user with sudo": setup(machine("sudo", has=rest, **USER, sudo='echo sudo; exec "$@"')),
        "no package manager": setup(machine("no-manager", "none", has=rest)),
        "apt-get fails": setup(machine("apt", has=rest, apt_get=FAILS)),
        "pacman fails": setup(machine("pacman", "pacman", has=rest, pacman=FAILS)),
        "npm, for the first time": setup(site, LAB_SITE="1"),
        "npm, again": setup(site, LAB_SITE="1"),
        "npm fails": setup(machine("npm", has=every, npm=FAILS), LAB_SITE="1"),
        "musl": setup(machine("musl", ldd="echo 'musl libc (x86_64)' >&2; exit 1")),
    }
    golden.check("setup", "".join(f"# {name}\n{text}" for name, text in said.items()), tmp_path)
    page = (ROOT / "docs/platforms.md").read_text().split("## Packages")[1]
    for name in ("Debian", "Fedora", "Arch"):
        packages = re.search("^setup: installs (.*)", said[name], re.M)[1].split()
        assert [package for package in packages if not re.search(rf"\b{package}\b", page)] == []


def test_the_container_has_what_setup_needs(tmp_path):
    dockerfile = (ROOT / ".devcontainer" / "Dockerfile").read_text()
    for words in re.findall(r"^COPY (.*)$", dockerfile, re.M):
        *files, target = words.split()
        (tmp_path / "lab" / target).mkdir(parents=True, exist_ok=True)
        for file in files:
            shutil.copy(ROOT / file, tmp_path / "lab" / target)
    place = tools(tmp_path)
    (place / "make").symlink_to(shutil.which("make"))
    made = re.search(r"^RUN (make .*)$", dockerfile, re.M)[1]
    result = run("sh", "-c", f"cd '{tmp_path}/lab' && {made}", path=str(place))
    assert (result.returncode, result.stdout.splitlines()[-1]) == (0, "setup: done"), result.stderr
