"""Prints as JSON what surrounds this process. As a command of the lab, it also does so as a server.

To be run as the commands are: `sh harness/find-python.sh -m harness.tests.verdicts.surrounded`.
"""

import json
import os
import resource
import signal
import sys


def of_itself(name):
    with open(f"/proc/self/{name}") as file:
        return file.read()


def told():
    umask = os.umask(0)
    os.umask(umask)
    status = dict(line.split(":\t") for line in of_itself("status").splitlines())
    limits = (name for name in dir(resource) if name.startswith("RLIMIT_"))
    return {
        "limits": {name: resource.getrlimit(getattr(resource, name)) for name in limits},
        "signals": [status["SigBlk"], status["SigIgn"]],
        "interrupt": str(signal.getsignal(signal.SIGINT)),
        "umask": umask,
        "slack": of_itself("timerslack_ns"),
        "personality": of_itself("personality"),
        "policy": os.sched_getscheduler(0),
        "descriptors": sorted(map(int, os.listdir("/proc/self/fd")))[:3],
        "variables": dict(os.environ),
        "optimize": sys.flags.optimize,
    }


def main() -> int:
    from harness.server.waiting.wait import PATIENCE
    from harness.server.process import ServerProcess

    print(json.dumps(told()))
    server = ServerProcess()
    status = server.run([sys.executable, "-I", "-S", __file__], PATIENCE)
    print(server.stdout.text(), server.stderr.text(), sep="", end="")
    return 0 if status and status.code == 0 else 1


if __name__ == "__main__" and sys.flags.isolated:  # the server, which finds no package of the lab
    print(json.dumps(told()))
elif __name__ == "__main__":
    from harness.lab import command_line

    sys.exit(command_line.program(main))
