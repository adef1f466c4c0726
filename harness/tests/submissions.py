"""Small submissions in C, and small claims about them, for the tests of the grader itself."""

from __future__ import annotations

from pathlib import Path

# Right in what the claims below ask for: one client at a time, any length.
RIGHT = r"""
#define _GNU_SOURCE
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static volatile sig_atomic_t stop;

static void on_stop(int number)
{
    (void)number;
    stop = 1;
}

static void serve(int fd)
{
    uint8_t head[4];
    while (recv(fd, head, 4, MSG_WAITALL) == 4) {
        uint32_t size = head[0] | head[1] << 8 | head[2] << 16 | (uint32_t)head[3] << 24;
        uint8_t *body = malloc(size + 1);
        if (recv(fd, body, size, size ? MSG_WAITALL : 0) == (ssize_t)size || size == 0) {
            CHANGE
            send(fd, head, 4, MSG_NOSIGNAL | MSG_MORE);
            send(fd, body, size, MSG_NOSIGNAL);
        }
        free(body);
    }
}

int main(void)
{
    struct sigaction action = {.sa_handler = on_stop};
    sigaction(SIGTERM, &action, NULL);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    bind(fd, (struct sockaddr *)&address, length);
    listen(fd, 16);
    getsockname(fd, (struct sockaddr *)&address, &length);
    printf("listening on 127.0.0.1:%d\n", ntohs(address.sin_port));
    fflush(stdout);
    while (!stop) {
        int client = accept(fd, NULL, NULL);
        if (client < 0)
            continue;
        serve(client);
        close(client);
    }
    close(fd);
    return 0;
}
"""

WRONG_BYTE = "if (size > 4) body[4] = 'a'; /* TODO 2: see below */"
CRASH = 'fprintf(stderr, "about to fall\\n"); abort();'
# A compiler leaves out memory that nothing is stored into, unless its address is looked at.
LEAK = "void *volatile lost = malloc(100 + size); if (lost == NULL) return;"
WARNING = "\n#warning nobody uses this\n"
BROKEN = "#error this is not finished\n"
EXITS = '#include <stdio.h>\nint main(void) { fputs("no luck\\n", stderr); return 3; }\n'
NEVER_LISTENS = "#include <unistd.h>\nint main(void) { for (;;) pause(); }\n"


def right(change: str = "") -> str:
    """The right server, with a change where it has a frame and has not yet answered."""
    return RIGHT.replace("CHANGE", change)


def submission(directory: Path, source: str) -> Path:
    """A directory with this one C file."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "main.c").write_text(source)
    return directory


CLAIMS_01 = '''
import os
import signal
import time

from harness.claims.marker import claim

@claim("01.1")
def test_01_connects(server):
    """A client can connect."""
    server.connect()

@claim("01.2")
def test_01_echoes(server):
    """A frame comes back as it was sent."""
    client = server.connect()
    client.send_frame(b"hello")
    client.expect_frame(b"hello")

@claim("01.2", cli=True, native=True)
def test_01_ends(server):
    """SIGTERM ends the server."""
    server.process.stop_gently(5)
'''

CLAIMS_02 = '''
from harness.claims.marker import claim
from harness.feedback.failure import NotJudged

@claim("02.1")
def test_02_random_bytes(server, rng):
    """A frame of random bytes comes back."""
    body = rng.randbytes(1000)
    client = server.connect()
    client.send_frame(body)
    client.expect_frame(body)

@claim("02.2", chapters="02")
def test_02_only_here(server):
    """What only chapter 02 claims."""
    server.connect()
'''

CLAIMS_FAULTY = '''
import os
import signal
import time

from harness.claims.marker import claim
from harness.feedback.failure import NotJudged

@claim("01.1")
def test_01_bug_of_the_test(server):
    """The test has a bug."""
    raise KeyError("oops")

@claim("01.1")
def test_01_kills_its_worker(server):
    """The worker process dies."""
    os.kill(os.getpid(), signal.SIGKILL)

@claim("01.2")
def test_01_no_instrument(server):
    """The instrument is missing."""
    raise NotJudged("no instrument here")

@claim("01.3")
def test_01_connects(server):
    """A client can connect."""
    server.connect()
'''

CLAIMS_BUSY = '''
from pathlib import Path

from harness.claims.marker import claim
from harness.feedback.failure import TooBusy

@claim("01.1")
def test_01_quiet_the_second_time(server):
    """The machine is too busy for it, and then it is not."""
    tried = Path(__file__).with_suffix(".tried")
    if not tried.exists():
        tried.touch()
        raise TooBusy("a first time")

@claim("01.2")
def test_01_never_quiet(server):
    """The machine is always too busy for it."""
    with Path(__file__).with_suffix(".never").open("a") as file:
        file.write(".")
    raise TooBusy("each time")
'''

CLAIMS_SLOW = '''
import time

from harness.claims.marker import claim

@claim("01.1")
def test_01_sleeps(server):
    """It takes for ever."""
    server.connect()
    time.sleep(1000)

@claim("01.2")
def test_01_connects(server):
    """A client can connect."""
    server.connect()
'''


def claims(directory: Path, **files: str) -> Path:
    """A directory of claims: the keyword test_01_x becomes the file test_01_x.py."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (directory / f"{name}.py").write_text(text)
    return directory
