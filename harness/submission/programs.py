"""Other programs that the lab asks for a short answer."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence


def answer(command: Sequence[str], seconds: float) -> subprocess.CompletedProcess[str]:
    """What a command printed and how it ended. One that cannot be started, or takes longer than
    `seconds`, has status 1 and the reason on stderr. Ctrl-C does not reach it."""
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            start_new_session=True,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(command, 1, "", str(error))
