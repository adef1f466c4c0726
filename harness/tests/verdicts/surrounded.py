"""Prints as JSON what surrounds this process. As a command of the lab, it also does so as a server.
"""

import json
import os
import resource
import signal
import sys
from pathlib import Path


def told():
    umask = os.umask(0)
    os.umask(umask)
    status = dict(line.split(":\t") for line in Path("/proc/self/status").read_text().splitlines())
    limits = (name for name in dir(resource) if name.startswith("RLIMIT_"))
    return {
        "limits": {name: resource.getrlimit(getattr(resource, name)) for name in limits},
        "signals": [status["SigBlk"], status["SigIgn"], str(signal.getsignal(signal.SIGINT))],
        "umask": umask,
        "slack": Path("/proc/self/timerslack_ns").read_text(),
        "personality": Path("/proc/self/personality").read_text(),
        "policy": os.sched_getscheduler(0),
        "descriptors": sorted(map(int, os.listdir("/proc/self/fd")))[:3],
        "variables": dict(os.environ),
        "optimize": sys.flags.optimize,
    }


def main() -> int:
    from harness.server.process import ServerProcess
    from harness.waiting.wait import PATIENCE

    print(json.dumps(told()))
    server = ServerProcess()
    status = server.run([sys.executable, "-I", "-S", __file__], PATIENCE)
    print(server.stdout.text(), server.stderr.text(), sep="", end="")
    return 0 if status and status.code == 0 else 1


if __name__ == "__main__" and sys.flags.isolated:  # the server, which finds no package of the lab
    print(json.dumps(told()))
elif __name__ == "__main__":
    from harness.submission import command_line

    sys.exit(command_line.program(main))
