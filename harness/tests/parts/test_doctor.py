"""What `make doctor` says of a machine that lacks something: each instrument is hidden once."""

import re
import shutil
from unittest.mock import Mock

import pytest

from harness.feedback.failure import NotJudged
from harness.student import doctor
from harness.tests import golden
from harness.tests.shell import script
from harness.waiting import sockets

which = shutil.which
FINE = doctor.Check("fine", problem=str, remedy="")
NO_ANSWER = sockets.Unavailable("error 2")


def without(name):
    """Finds programs except for this one, of Redis and of Valkey."""
    return lambda one, **_: one not in (name, name.replace("redis", "valkey")) and which(one)


def refuses(words):
    """A fake compiler that fails if its command line contains these words."""
    return f'case "$*" in *{words}*) exit 1;; esac\nexec gcc "$@"'


# The check, and what hides it: another value of an attribute; or a compiler, or the only
# program on PATH, which is redis-server, as a script.
HIDDEN = [
    ("C compiler", "CC", refuses("")),
    ("shim library", "harness.server.preload.shim_library", Mock(side_effect=NotJudged("hidden"))),
    ("valgrind", "PATH", "exit 1"),
    ("descriptors", "resource.getrlimit", lambda _: (1024, 4096)),
    ("AddressSanitizer", "CC", refuses("-fsanitize=address")),
    ("ThreadSanitizer", "CC", refuses("-fsanitize=thread")),
    ("sock_diag", "harness.waiting.sockets._ask", Mock(side_effect=NO_ANSWER)),
    ("io_uring", "harness.server.linux.prctl._RING", [1_000_000]),  # a call that no kernel has
    ("redis-cli", "shutil.which", without("redis-cli")),
    ("redis-benchmark", "shutil.which", without("redis-benchmark")),
    ("redis-py", "sys.executable", "/bin/false"),
    ("gdb", "PATH", "exit 1"),
]


def test_each_instrument_is_missed(tmp_path, capsys):
    """Of the claims that are not judged without it, the first one is shown."""
    every, said = doctor.checks, []
    for name, what, value in HIDDEN:
        with pytest.MonkeyPatch.context() as monkeypatch:
            chosen = lambda claims: [*(one for one in every(claims) if one.name == name), FINE]  # noqa
            monkeypatch.setattr(doctor, "checks", chosen)
            if "." in what:
                monkeypatch.setattr(what, value)
            else:
                program = script(tmp_path / str(len(said)) / "program", value)
                monkeypatch.setenv(what, str(program if what == "CC" else program.parent))
            status = doctor.main([])
        text = capsys.readouterr().out.split("\n\n")[1].removesuffix("\n  yes   fine")
        assert max(map(len, text.splitlines())) <= 80
        text = re.sub("(not judged: [^,]*), .*(?= this helps)", r"\1, ...", " ".join(text.split()))
        said.append(f"{status} {text}")
    golden.check("doctor", "\n".join(said), tmp_path)
