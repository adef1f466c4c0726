"""What setup installs on which system, and the container that is made with it."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from harness.tests.shell import run, script
from harness.lab.chapters import ROOT


@pytest.fixture
def machine(tmp_path):
    """A PATH with next to nothing on it, and an apt-get that only writes down what it is told."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("sh", "env", "dirname", "mktemp", "rm", "gcc", "as", "ld"):
        (tools / name).symlink_to(shutil.which(name))
    script(tools / "apt-get", f'echo "$@ $DEBIAN_FRONTEND" >>{tmp_path}/calls')
    script(tools / "apt-cache", "exit 0")
    script(tools / "id", "echo 0")
    return tools


def instead(tools: Path, manager: str, status: int = 0) -> None:
    """Another package manager takes the place of apt-get."""
    (tools / "apt-get").unlink()
    script(tools / manager, f'echo "{manager} $@" >>{tools.parent}/calls; exit {status}')


def run_setup(tools: Path, file: Path = ROOT / "harness/setup.sh", **environment: str):
    log = tools.parent / "calls"
    log.unlink(missing_ok=True)
    result = run("sh", str(file), path=str(tools), **environment)
    return result, log.read_text().splitlines() if log.exists() else []


def run_without_python(tools: Path, **environment: str):
    """The real find-python.sh also looks outside of PATH."""
    copy = tools.parent / "setup.sh"
    copy.write_text((ROOT / "harness/setup.sh").read_text())
    script(tools.parent / "find-python.sh", "exit 1")
    return run_setup(tools, copy, **environment)


EVERYTHING = (
    *("python3", "clang", "clang-format", "flake8", "valgrind", "gdb", "strace", "ss", "nc"),
    *("redis-server", "redis-cli", "redis-benchmark"),
)


def have(tools: Path, *names: str) -> None:
    for name in names:
        script(tools / name, "exit 0")


def test_setup_installs_what_is_missing(machine):
    have(machine, "python3", "clang", "gdb")
    result, calls = run_setup(machine)
    assert result.returncode == 0
    assert calls == [
        "update -q ",
        "install -y -q --no-install-recommends valgrind strace iproute2 netcat-openbsd"
        " redis-server redis-tools clang-format flake8 noninteractive",
    ]
    assert "missing: valgrind (make memcheck)" in result.stdout


def test_setup_does_nothing_when_all_is_there(machine):
    have(machine, *EVERYTHING)
    result, calls = run_setup(machine)
    assert (result.stdout, calls) == ("setup: everything is here\n", [])


def test_setup_is_content_with_valkey(machine):
    have(machine, *(name.replace("redis", "valkey") for name in EVERYTHING))
    assert run_setup(machine)[0].stdout == "setup: everything is here\n"


def test_setup_finds_a_compiler_without_its_library(machine):
    have(machine, *EVERYTHING)
    (machine / "gcc").unlink()
    script(machine / "gcc", "exit 1")
    assert run_setup(machine)[1][1].endswith(
        "recommends gcc libc6-dev liburing-dev libhiredis-dev noninteractive"
    )


def test_setup_finds_a_clang_without_its_sanitizers(machine):
    """Debian's clang only recommends them, and setup installs nothing that is recommended."""
    have(machine, *EVERYTHING)
    script(machine / "clang", 'case "$*" in *-fsanitize*) exit 1 ;; esac')
    result, calls = run_setup(machine)
    assert calls[1].endswith("recommends libclang-rt-dev noninteractive")
    assert "missing: libclang-rt-dev (sanitizers of clang)" in result.stdout
    (machine / "clang").unlink()
    script(machine / "apt-cache", "exit 100")  # Ubuntu 22.04
    assert run_setup(machine)[1][1].endswith("recommends clang noninteractive")


def test_setup_without_root(machine):
    have(machine, *set(EVERYTHING) - {"valgrind"})
    script(machine / "id", "echo 1000")
    result, calls = run_setup(machine)
    assert (result.returncode, calls) == (1, [])
    assert "run as root: apt-get install valgrind" in result.stderr
    script(machine / "sudo", 'exec "$@"')
    assert len(run_setup(machine)[1]) == 2


def test_setup_without_a_package_manager(machine):
    have(machine, *set(EVERYTHING) - {"valgrind"})
    (machine / "apt-get").unlink()
    result, _ = run_setup(machine)
    assert result.returncode == 1
    assert "missing: valgrind" in result.stdout
    assert "apt-get, dnf and pacman are not here" in result.stderr


FEDORA = "install -y --setopt=install_weak_deps=False"
ARCH = "-S --needed --noconfirm"
PACKAGES = {
    "dnf": f"dnf {FEDORA} gcc glibc-devel libtsan libasan libubsan liburing-devel python3"
    " python3-pytest python3-pytest-timeout python3-pytest-xdist valgrind gdb strace iproute netcat"
    " valkey python3-redis hiredis-devel clang compiler-rt clang-tools-extra python3-flake8",
    "pacman": f"pacman {ARCH} gcc liburing python python-pytest python-pytest-timeout"
    " python-pytest-xdist valgrind gdb strace iproute2 openbsd-netcat valkey python-redis hiredis"
    " clang compiler-rt flake8",
}
LIBRARIES = {
    "dnf": " libuv-devel libevent-devel libev-devel python3-matplotlib graphviz",
    "pacman": " libuv libevent libev python-matplotlib graphviz",
}

SITE = {"dnf": " nodejs nodejs-npm chromium", "pacman": " nodejs npm chromium"}


@pytest.mark.parametrize("manager", PACKAGES)
@pytest.mark.parametrize("bench", ["", "1"])
def test_setup_knows_the_packages_of_other_systems(machine, manager, bench):
    (machine / "gcc").unlink()
    instead(machine, manager)
    result, calls = run_without_python(machine, LAB_BENCH=bench)
    assert result.returncode == 0, result.stderr
    assert calls == [PACKAGES[manager] + (LIBRARIES[manager] if bench else "")]


@pytest.fixture
def lab(machine):
    """A copy of what SITE=1 needs of the lab, and an npm that notes its arguments."""
    top = machine.parent / "lab"
    (top / "docs" / "site").mkdir(parents=True)
    for name in ("harness/setup.sh", "docs/site/package.json", "docs/site/package-lock.json"):
        (top / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, top / name)
    script(top / "harness" / "find-python.sh", "echo python3")
    for name in ("cmp", "cp", "mkdir"):
        (machine / name).symlink_to(shutil.which(name))
    have(machine, *EVERYTHING, "node", "chromium")
    calls = f"{machine.parent}/calls"
    script(machine / "npm", f'echo "$PWD $@" >>{calls}; mkdir -p node_modules/vitepress')
    return top


def test_setup_installs_vitepress_once(machine, lab):
    for calls in ([f"{lab}/build/npm ci --ignore-scripts --no-audit --no-fund"], []):
        result, called = run_setup(machine, lab / "harness" / "setup.sh", LAB_SITE="1")
        assert (result.returncode, called) == (0, calls), result.stderr
    (lab / "docs" / "site" / "package-lock.json").write_text("another")
    assert len(run_setup(machine, lab / "harness" / "setup.sh", LAB_SITE="1")[1]) == 1


def test_setup_of_the_site_installs_its_programs_first(machine, lab):
    (machine / "chromium").unlink()
    _, calls = run_setup(machine, lab / "harness" / "setup.sh", LAB_SITE="1")
    assert calls[1].endswith("recommends chromium noninteractive") and " ci " in calls[2]


def test_setup_says_when_npm_fails(machine, lab):
    script(machine / "npm", "exit 1")
    result, _ = run_setup(machine, lab / "harness" / "setup.sh", LAB_SITE="1")
    assert result.returncode == 1 and not (lab / "build" / "npm").exists()
    assert "npm has failed, see above; it needs registry.npmjs.org" in result.stderr


@pytest.mark.parametrize("manager, by_hand", [("dnf", "dnf install"), ("pacman", "pacman -S")])
def test_setup_without_root_names_the_command(machine, manager, by_hand):
    have(machine, *set(EVERYTHING) - {"valgrind"})
    instead(machine, manager)
    script(machine / "id", "echo 1000")
    result, calls = run_setup(machine)
    assert (result.returncode, calls) == (1, [])
    assert f"run as root: {by_hand}" in result.stderr
    assert result.stderr.endswith(" valgrind\n")


def test_setup_says_when_the_manager_fails(machine):
    have(machine, *set(EVERYTHING) - {"valgrind"})
    instead(machine, "pacman", status=1)
    result, calls = run_setup(machine)
    assert (result.returncode, len(calls)) == (1, 1)
    assert "pacman has failed, see above; the lab needs these packages: valgrind" in result.stderr
    assert "sudo pacman -Syu, then make setup" in result.stderr
    assert "setup: done" not in result.stdout


def test_setup_stops_when_apt_finds_no_network(machine):
    have(machine, *set(EVERYTHING) - {"valgrind"})
    script(machine / "apt-get", f'echo "$1" >>{machine.parent}/calls; exit 100')
    result, calls = run_setup(machine)
    assert (result.returncode, calls) == (1, ["update"])
    assert "apt-get has failed" in result.stderr


def test_setup_says_at_once_that_musl_is_not_supported(machine):
    script(machine / "ldd", "echo 'musl libc (x86_64)' >&2; exit 1")
    result, calls = run_setup(machine)
    assert (result.returncode, calls, result.stdout) == (1, [], "")
    assert "this system uses musl, and the lab needs glibc; nothing is installed" in result.stderr
    assert "docs/platforms.md" in result.stderr


def test_the_page_lists_the_packages_that_setup_installs(machine):
    """One column for each system."""
    (machine / "gcc").unlink()
    everything = {"LAB_BENCH": "1", "LAB_SITE": "1"}
    wanted = [run_without_python(machine, **everything)[1][1].split("recommends ")[1].split()[:-1]]
    for manager in PACKAGES:
        wanted.append((PACKAGES[manager] + LIBRARIES[manager] + SITE[manager]).split()[2:])
    section = (ROOT / "docs/platforms.md").read_text().split("## Packages")[1].split("\n## ")[0]
    rows = re.findall(r"^\| [^|]+\|([^|]+)\|([^|]+)\|([^|]+)\|$", section, re.M)[1:]
    for column, packages in zip(zip(*rows), wanted):
        listed = " ".join(cell for cell in column if not re.search("come with|the same", cell))
        pytest_row = [word for word in packages if re.match("python3($|-pytest)", word)]
        assert set(listed.split()) | set(pytest_row) == {p for p in packages if p[0] != "-"}


# The container

CONTAINER = ROOT / ".devcontainer"
DOCKERFILE = (CONTAINER / "Dockerfile").read_text()


def test_the_container_installs_what_setup_does(machine, tmp_path):
    """`make setup` runs with no more of the lab than the Dockerfile copies."""
    lab = tmp_path / "lab"
    for words in re.findall(r"^COPY (.*)$", DOCKERFILE, re.M):
        *files, target = words.split()
        (lab / target).mkdir(parents=True, exist_ok=True)
        for file in files:
            shutil.copy(ROOT / file, lab / target)
    assert (lab / "harness" / "find-python.sh").is_file()
    script(lab / "harness" / "find-python.sh", "exit 1")  # the real one looks outside of PATH
    (machine / "make").symlink_to(shutil.which("make"))
    (machine / "gcc").unlink()
    made = re.search(r"^RUN (make .*)$", DOCKERFILE, re.M)[1]
    result = run("sh", "-c", f"cd '{lab}' && {made}", path=str(machine))
    assert result.returncode == 0, result.stderr
    installed = (machine.parent / "calls").read_text().splitlines()
    assert installed == run_without_python(machine)[1]


def test_the_editor_builds_that_container():
    settings = json.loads((CONTAINER / "devcontainer.json").read_text())
    build = settings["build"]
    assert (CONTAINER / build["dockerfile"]).is_file()
    assert (CONTAINER / build["context"]).resolve() == ROOT
    assert (settings["init"], settings["capAdd"]) == (True, ["SYS_PTRACE"])
    assert re.search(rf"^USER {settings['remoteUser']}$", DOCKERFILE, re.M)


def test_the_page_starts_the_same_container():
    text = (ROOT / "docs/platforms.md").read_text()
    build, start = re.findall(r"^    (docker .*)$", text, re.M)
    assert f"# Build it in the lab's directory: {build}\n" in DOCKERFILE
    assert {"--init", "--cap-add=SYS_PTRACE", f'"$PWD":{workdir()}'} <= set(start.split())
    assert start.split()[-1] == build.split("-t ")[1].split()[0]


def workdir() -> str:
    return re.search(r"^WORKDIR (.*)$", DOCKERFILE, re.M)[1]
