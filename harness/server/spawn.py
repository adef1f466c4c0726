"""Starts a command line as a child process, with its own session, directory and limits."""

from __future__ import annotations

import errno
import os
import random
import resource
import shlex
import shutil
import socket
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.feedback.failure import Failure, NotJudged
from harness.server.linux import landlock, prctl
from harness.server.preload import NO_DESCRIPTOR, PRELOAD, Limit, start_words
from harness.submission import surroundings
from harness.submission.sizes import MIB
from harness.waiting.clock import Start

FILE_BYTES = 64 * MIB  # a server may write into one file
CPU_SECONDS = 120
DESCRIPTORS = 4096
CHOSEN_PORTS = range(10_000, 30_000)  # below the ports that kernels give to clients
LOCALHOST = "127.0.0.1"

_OUR_FAULT = {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN}


@dataclass(frozen=True)
class Command:
    """What to start, and how.

    `argv` may be one string, cut as a shell cuts it (but no shell runs). `wrapper` comes before it:
    valgrind and its options. `nofile`: each process may open this many descriptors. `preload`: the
    shim and what goes with it. `writable`: directories that it may write to, beside its own.
    `environment`: variables that it gets, beside ours. `inherited`: descriptors that the program
    gets unchanged. `linked_here`: the lab has linked the program, so it has to load `preload`.
    `counted`: the shim counts and disturbs calls. `traced`: it records what each wait is for.
    `ring`: the kernel has io_uring for it. `clock`: it gets a clock that the harness moves, see
    clock.py. `steps`: it was built so that its work is counted.
    """

    argv: str | Sequence[str]
    wrapper: Sequence[str] = ()
    nofile: int | None = None
    preload: Sequence[Path] = ()
    writable: Sequence[Path] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    inherited: Sequence[int] = ()
    linked_here: bool = False
    counted: bool = True
    traced: bool = False
    ring: bool = True
    clock: Start | None = None
    steps: bool = False

    def words(self, port: int | None) -> list[str]:
        """The arguments, with programs and files named so that they are found from any
        directory."""
        words = shlex.split(self.argv) if isinstance(self.argv, str) else list(self.argv)
        if port is not None:
            words = [word.replace("{port}", str(port)) for word in words]
            words[1:] = map(_from_anywhere, words[1:])
        if self.wrapper:
            return [_program(self.wrapper[0]), *self.wrapper[1:], _program(words[0]), *words[1:]]
        return [_program(words[0]), *words[1:]]


def start(
    command: Command,
    port: int | None,
    directory: Path,
    environment: dict[str, str],
    writable: Sequence[Path],
) -> subprocess.Popen[bytes]:
    """Starts it, with pipes for both outputs. Popen must not wait for the child.

    Where servers can be confined, it may write only below the directories `writable`. Raises
    Failure if the program cannot be executed, NotJudged if no program can be started.
    """
    words = command.words(port)
    limits = _limits(command.nofile)
    preload = environment.get(PRELOAD, "")  # not for the program that starts it
    confinement = landlock.ruleset(writable)
    ruleset = NO_DESCRIPTOR if confinement is None else confinement
    told, report = os.pipe()
    given = [one for one in (report, ruleset) if one != NO_DESCRIPTOR]
    with open(told, "rb") as answer:
        try:
            child = subprocess.Popen(
                [*start_words(limits, report, ruleset, preload), *words],
                cwd=directory,
                env={name: text for name, text in environment.items() if name != PRELOAD},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                pass_fds=(*command.inherited, *given),
                start_new_session=True,
                preexec_fn=None if command.ring else _without_io_uring,
            )
        except subprocess.SubprocessError as error:
            raise NotJudged("io_uring cannot be refused to a server") from error
        except OSError as error:
            raise NotJudged(f"no server can be started: {error.strerror}") from error
        finally:
            for descriptor in given:
                os.close(descriptor)
        # It ends when the server is executed, or a step before that has failed.
        step, _, number = answer.read().decode().partition(" ")
    if step:
        child.communicate()
        raise _reason(words[0], step, int(number))
    return child


def _reason(program: str, step: str, number: int) -> Failure | NotJudged:
    if number in _OUR_FAULT:
        return NotJudged(f"no server can be started: {os.strerror(number)}")
    if step == "execute":
        return _cannot_start(program, number)
    return NotJudged(f"the limits of a server cannot be set ({step}: {os.strerror(number)})")


def _without_io_uring() -> None:
    if not prctl.refuse_io_uring():
        raise OSError("unknown machine")


def free_port() -> int:
    """A port that no program uses at the moment, on any address of this machine."""
    for port in random.SystemRandom().sample(CHOSEN_PORTS, 100):
        with socket.socket() as probe:
            try:
                probe.bind(("", port))
            except OSError:
                continue
            return port
    raise NotJudged("no free port was found")


def _program(name: str) -> str:
    """The file to execute, searched in PATH as a shell does."""
    found = shutil.which(name)
    if found:
        return os.path.abspath(found)
    raise _cannot_start(name, errno.EACCES if os.path.exists(name) else errno.ENOENT)


def _from_anywhere(word: str) -> str:
    """A path that exists here, made absolute: the server runs in another directory."""
    is_path = not word.isdigit() and os.path.exists(word)
    return os.path.abspath(word) if is_path else word


def _cannot_start(program: str, number: int) -> Failure:
    return Failure(f"cannot start {program}: {os.strerror(number)}", hint="cannot-start")


def _limits(nofile: int | None) -> list[Limit]:
    """The limits of a server, which may open so many descriptors; None: DESCRIPTORS, or fewer where
    this process may not open as many. Raises NotJudged if this machine allows less."""
    allowed = _within(resource.RLIMIT_NOFILE, nofile or DESCRIPTORS)
    if nofile and allowed < nofile:
        raise NotJudged(f"a server needs {nofile:,} descriptors, this machine allows {allowed:,}")
    wanted = [
        (resource.RLIMIT_NOFILE, allowed, allowed),
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_FSIZE, FILE_BYTES, FILE_BYTES),
        (resource.RLIMIT_CPU, CPU_SECONDS, CPU_SECONDS + 5),  # SIGXCPU first, then SIGKILL
    ]
    return [(which, _within(which, soft), _within(which, hard)) for which, soft, hard in wanted]


def _within(which: int, limit: int) -> int:
    """The limit, or less if this process may not go as high."""
    return surroundings.within(limit, resource.getrlimit(which)[1])
