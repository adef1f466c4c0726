"""What every isolation can do, and the one that does nothing."""

from __future__ import annotations

from pathlib import Path


class Isolation:
    """Wraps the command that grades one submission. `name` is the value of ISOLATE=, and `open`
    has a sentence for each thing that a submission can still reach."""

    name: str
    open: tuple[str, ...] = ()

    def command(self, argv: list[str], lab: Path, submission: Path, output: Path) -> list[str]:
        """The command that runs `argv` in isolation, with `lab` as its directory.

        Paths inside are those outside. `output` exists; it is the only place to leave results in.
        """
        raise NotImplementedError


class Nothing(Isolation):
    """Runs the command as it is: only what a grade does by itself protects anything."""

    name = "none"
    open = (
        "A submission can use the network.",
        "A submission can read every file that you can read: solutions, other submissions.",
        "A submission can leave System V shared memory behind.",
    )

    def command(self, argv: list[str], lab: Path, submission: Path, output: Path) -> list[str]:
        return list(argv)
