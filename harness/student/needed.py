"""The instruments of a grade, and what else it uses of the machine. Each is tried by the functions
that a grade calls, so that both say the same."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.claims.context import sanitizers, valgrind
from harness.client.redis.here import OTHERS as PROGRAMS_OF_OTHERS
from harness.feedback.failure import NotJudged
from harness.grade.scoring import Claim
from harness.server import build, limits, preload
from harness.server.linux import landlock, prctl
from harness.submission.chapters import ROOT
from harness.submission.sizes import MIB
from harness.waiting import procfs, sockets

SECONDS = 60  # for a program of two lines, on a busy machine
DISK_BYTES = 1024 * MIB  # for what is built, and what servers write
LEAK = """#include <stdlib.h>
char *volatile lost;
int main(void)
{
    lost = malloc(7);
    lost = NULL;
    return 0;
}
"""
WAITS = "#include <unistd.h>\nint main(void)\n{\n    return pause();\n}\n"
TWO_THREADS = """#include <pthread.h>
static void *run(void *arg) { return arg; }
int main(void)
{
    pthread_t thread;
    return pthread_create(&thread, 0, run, 0) || pthread_join(thread, 0);
}
"""


@dataclass(frozen=True)
class Instrument:
    """`problem()`: what is wrong with it here, "" if nothing. `remedy`: what mends that. `needed`:
    whether a claim is not judged without it. `otherwise`: what is different without it, if no claim
    needs it."""

    name: str
    problem: Callable[[], str]
    remedy: str
    needed: Callable[[Claim], bool] = lambda claim: False
    otherwise: str = ""


# The functions that try one


def compiler() -> str:
    try:
        done = _ran(build.HELLO)
    except NotJudged as error:
        return str(error)
    except build.BuildFailed as error:
        return f"it builds no program: {str(error).splitlines()[0]}"
    return "" if done.returncode == 0 else "the programs that it builds do not run"


def loopback() -> str:
    return _connects(socket.AF_INET, "127.0.0.1")


def ipv6() -> str:
    return _connects(socket.AF_INET6, "::1")


def memory_checker() -> str:
    """Whether it finds a leak, and its line, in a program that is built as servers are."""
    if valgrind.missing():
        return valgrind.MISSING
    with tempfile.TemporaryDirectory(prefix="lab-checkup-") as place:
        logs = Path(place)
        try:
            done = _ran(LEAK, wrapper=valgrind.wrapper(logs))
        except (NotJudged, build.BuildFailed, subprocess.TimeoutExpired) as error:
            return str(error).splitlines()[0]
        texts = [log.read_text(errors="replace") for log in logs.glob("*.log")]
        gave_up = valgrind.gave_up(logs)
    faults = [fault.text for text in texts for fault in valgrind.read_log(text, {"main.c"})]
    if gave_up or any("(main.c:" in text for text in faults):
        return gave_up
    said = done.stderr.strip().splitlines() or ["nothing"]
    return f"it does not find a leak in a program that was built here, and says: {said[-1]}"


def address_sanitizer() -> str:
    return _sanitizer("address,undefined", build.HELLO)


def thread_sanitizer() -> str:
    return _sanitizer("thread", TWO_THREADS)


def queues() -> str:
    """Why sock_diag(7) does not tell what waits in a socket, "" if it does: see observe.py."""
    try:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            with socket.create_connection(listener.getsockname()) as client:
                sockets.queues(client.getsockname(), client.getpeername())
    except sockets.Unavailable as error:
        return f"the kernel does not report which bytes wait in a socket: {error}"
    except OSError as error:
        return f"no connection can be made: {error.strerror}"
    return ""


def library() -> str:
    """Whether it is built, and loaded into a program, as into a server."""
    try:
        path = preload.shim_library()
    except NotJudged as error:
        return str(error).splitlines()[0]
    with tempfile.TemporaryDirectory(prefix="lab-checkup-") as scratch:
        variables = preload.environment([path], Path(scratch, "shim"), Path(scratch))
        done = subprocess.run(
            ["cat", "/proc/self/maps"],
            cwd=scratch,
            env={**os.environ, **variables},
            capture_output=True,
        )
    if procfs.named_in(done.stdout, os.path.realpath(path)):
        return ""
    return preload.not_loaded(done.stderr.decode(errors="replace"))


def confinement() -> str:
    if landlock.works():
        return ""
    if os.environ.get(landlock.SWITCH) == "0":
        return f"{landlock.SWITCH}=0 switches it off"
    return "this kernel does not have it, or does not allow it"


def namespaces() -> str:
    return "" if _in_a_child(prctl.enter_new_network) else "this user cannot make one"


def debugger() -> str:
    """Attaches gdb to a program that is built as servers are, as `make replay GDB=1` does."""
    if not shutil.which("gdb"):
        return "gdb is not installed"
    try:
        with _built(WAITS) as binary:
            said = _attached(binary)
    except subprocess.TimeoutExpired:
        return f"gdb does not end within {SECONDS} s"
    except (NotJudged, build.BuildFailed) as error:
        return str(error).splitlines()[0]
    if "ptrace:" in said:
        return "gdb may not attach to a program (ptrace)"
    return "" if 'of "main.c"' in said else "gdb does not find the lines of a program built here"


def _attached(binary: Path) -> str:
    """What gdb says of a program that runs."""
    waits = subprocess.Popen([binary], preexec_fn=prctl.allow_debuggers)
    try:
        command = ["gdb", "-nx", "-q", "-batch", "-iex", "set debuginfod enabled off"]
        command += ["-p", str(waits.pid), "-ex", "info line main"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    finally:
        waits.send_signal(signal.SIGKILL)
        waits.wait()
    return done.stdout + done.stderr


def disk() -> str:
    places = {"build/": ROOT, f"{tempfile.gettempdir()}/": Path(tempfile.gettempdir())}
    for name, place in places.items():
        free = shutil.disk_usage(place).free
        if free < DISK_BYTES:
            return f"{name} has {free // MIB:,} MiB left; a grade may need {DISK_BYTES // MIB:,}"
    return ""


def cores() -> str:
    return "" if len(os.sched_getaffinity(0)) > 1 else "there is one"


@contextmanager
def _built(program: str, names: str = "") -> Iterator[Path]:
    """The program, built with these sanitizers. Raises as build.cached_server."""
    with tempfile.TemporaryDirectory(prefix="lab-checkup-") as scratch:
        Path(scratch, "main.c").write_text(program)
        binary = build.cached_server(Path(scratch), extra_flags=sanitizers.flags(names)).binary
        yield binary
        shutil.rmtree(binary.parent, ignore_errors=True)


def _ran(
    program: str, names: str = "", wrapper: Sequence[str] = ()
) -> subprocess.CompletedProcess[str]:
    """Builds the program, with these sanitizers, and runs it. Raises as build.cached_server."""
    with _built(program, names) as binary:
        command = [*sanitizers.wrapper(names), *wrapper, str(binary)]
        environment = {**os.environ, **sanitizers.environment()}
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=SECONDS
        )


def _sanitizer(names: str, program: str) -> str:
    try:
        done = _ran(program, names)
    except NotJudged as error:
        return str(error)
    except build.BuildFailed:
        return f"the compiler does not build with -fsanitize={names}"
    except subprocess.TimeoutExpired:
        return f"a program that it has built does not end within {SECONDS} s"
    if done.returncode == 0:
        return ""
    reason = sanitizers.unusable(done.stdout + done.stderr)
    return reason.split("; this helps")[0] or f"a program ends with status {done.returncode}"


def _connects(family: int, address: str) -> str:
    try:
        with socket.create_server((address, 0), family=family) as listener:
            socket.create_connection(listener.getsockname()[:2], SECONDS).close()
    except OSError as error:
        return f"{address} cannot be used: {error.strerror}"
    return ""


def _in_a_child(works: Callable[[], bool]) -> bool:
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if works() else 1)
        finally:
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0


# What there is


def _needs(key: str) -> Callable[[Claim], bool]:
    return lambda claim: claim.needs == key


def _descriptors(claim: Claim) -> bool:
    return bool(limits.lacking_descriptors(claim.descriptors))


# By the mark of a claim, see `needs` in claims/marker.py.
MARKED = {
    "address,undefined": Instrument(
        "AddressSanitizer",
        address_sanitizer,
        f"install gcc's libasan and libubsan, or {sanitizers.REMEDY}",
        _needs("address,undefined"),
    ),
    "thread": Instrument(
        "ThreadSanitizer",
        thread_sanitizer,
        f"install gcc's libtsan, or {sanitizers.REMEDY}",
        _needs("thread"),
    ),
    "io_uring": Instrument("io_uring", prctl.ring_problem, prctl.RING_REMEDY, _needs("io_uring")),
    "queues": Instrument(
        "sock_diag",
        queues,
        "`sudo modprobe inet_diag tcp_diag`, or a kernel that has them",
        _needs("queues"),
    ),
    **{
        key: Instrument(one.name, one.problem, one.remedy, _needs(key))
        for key, one in PROGRAMS_OF_OTHERS.items()
    },
}
# Those that claims need without a mark of that name.
OTHERS = (
    Instrument("C compiler", compiler, "`make setup`, or set CC to one", lambda claim: True),
    Instrument("loopback", loopback, "`sudo ip link set lo up`", lambda claim: not claim.module),
    Instrument(
        "shim library", library, "`make setup`: it needs gcc and libc6-dev", lambda claim: True
    ),
    Instrument("valgrind", memory_checker, "`make setup`", lambda claim: claim.valgrind),
)
# Those that no claim needs.
OPTIONAL = (
    Instrument(
        "Landlock",
        confinement,
        "Linux 5.13 or later, or in a container `--security-opt seccomp=unconfined`",
        otherwise="a submission can write to the files of this user and signal its processes",
    ),
    Instrument(
        "network namespace",
        namespaces,
        "grade as root, or give CAP_SYS_ADMIN",
        otherwise="a grade with PORT= waits for the port of the server before",
    ),
    Instrument(
        "gdb",
        debugger,
        "`make setup`, or in a container `--cap-add SYS_PTRACE`",
        otherwise="`make replay GDB=1` does not work",
    ),
    Instrument(
        "IPv6",
        ipv6,
        "`sudo sysctl net.ipv6.conf.lo.disable_ipv6=0`",
        otherwise="no claim needs it; a SERVER= that listens on ::1 alone cannot be graded",
    ),
    Instrument(
        "disk",
        disk,
        "`make clean`, or free some space",
        otherwise="a grade can fail in the middle",
    ),
    Instrument("cores", cores, "a machine with two", otherwise="a grade takes longer"),
)


def descriptors(claims: list[Claim]) -> Instrument:
    """The number of descriptors that these claims need. A grade tries it in the same way, see
    grade/plugin.py."""
    most = max((claim.descriptors for claim in claims), default=0)
    return Instrument(
        "descriptors",
        lambda: limits.lacking_descriptors(most),
        f"raise the hard limit to {most} in /etc/security/limits.conf, or `--ulimit nofile={most}`",
        _descriptors,
    )
