"""Programs of the grader, harness/modules, linked with a submission's modules."""

from __future__ import annotations

import functools
import re
from pathlib import Path

from harness.claims.context import sanitizers
from harness.feedback.failure import Failure
from harness.server import build, steps
from harness.submission import sources
from harness.submission.chapters import ROOT

PROGRAMS = ROOT / "harness" / "modules"
MESSAGE_LINES = 12  # of the compiler
NO_REFERENCE = "If you have changed no declaration, report this: the lab may be at fault."

# For a module that needs more than the files a program names. The program's own functions come
# first, and a function that is never called may lack the ones it calls.
ALL_FILES = ("-Wl,--gc-sections", "-Wl,--allow-multiple-definition")

STEPS = "steps"  # in the place of sanitizers: the modules are built so that their work is counted

_INCLUDES = re.compile(r'^#include "(\w+)\.h"', re.M)
_LINKS = re.compile(r"^ \* links: (.*?)(?: \*/)?$", re.M)


def links(name: str, directory: Path | None = None) -> list[str]:
    """The files of a module that the program NAME is linked with, as the program says: each under
    the name that it has in `directory`, whatever layer it is in. Those with a "?" only if they
    exist there."""
    said = " ".join(_LINKS.findall((PROGRAMS / f"{name}.c").read_text())).split()
    paths = reversed(sources.c_files(directory)) if directory else ()
    there = {path.name: sources.name_of(path, directory) for path in paths}
    wanted = [file.rstrip("?") for file in said if not file.endswith("?") or file[:-1] in there]
    return [there.get(file, file) for file in wanted]


def has_modules(number: str, directory: Path) -> bool:
    """Returns true if the submission has most of the files that the programs of chapter NUMBER are
    about, which these name first. A server of another design has not."""
    programs = [links(program.stem) for program in PROGRAMS.glob(f"{number}_*.c")]
    about = {files[0] for files in programs if files}
    there = {path.name for path in sources.c_files(directory)}
    return 2 * len(about & there) > len(about)


def own_files(name: str) -> list[str]:
    """The grader's files that the program NAME is made of: for each X.h of modules that it
    or one of these files includes, X.c is one of them."""
    found = [name]
    for one in found:  # including those that are found meanwhile
        texts = [path.read_text() for path in _files(one)]
        headers = dict.fromkeys(_INCLUDES.findall("".join(texts)))
        found += [header for header in headers if _files(header) and header not in found]
    return [f"{one}.c" for one in found if (PROGRAMS / f"{one}.c").is_file()]


def _files(name: str) -> list[Path]:
    return [path for path in (PROGRAMS / f"{name}.c", PROGRAMS / f"{name}.h") if path.is_file()]


@functools.lru_cache(maxsize=None)
def built(
    directory: Path, name: str, sanitize: str, untouched: tuple[str, ...] = ()
) -> Path | None:
    """The program, linked with the module in `directory`. None: it cannot be built with these
    sanitizers, or for STEPS, and perhaps without. `untouched`: directories with the lab's own
    files. Raises Failure, NotJudged."""
    try:
        flags = steps.FLAGS if sanitize == STEPS else sanitizers.flags(sanitize)
        return link(directory, name, flags)
    except build.BuildFailed as error:
        if sanitize:
            return None
        references = [one for one in map(Path, untouched) if not _missing(name, one)]
        build.check_the_lab(f"{name}.c of the grader", references, lambda one: link(one, name, ()))
        text = _complaint(str(error), links(name, directory))
        if not references:
            text += f"\n{NO_REFERENCE}"
        raise Failure(text, hint="module-not-built") from None


def link(
    directory: Path, name: str, flags: tuple[str, ...], compiler: list[str] | None = None
) -> Path:
    """Compiles the program with the module's files in `directory`; or with all but main.c, if these
    are not enough. Raises as build.cached_program does."""
    module = links(name, directory)
    missing = _missing(name, directory)
    if missing:
        raise build.BuildFailed(f"there is no {missing[0]}")
    files = (*(str(PROGRAMS / file) for file in own_files(name)), *module)
    linking = ()
    if flags == steps.FLAGS:
        files, linking = (*files, str(steps.SOURCE)), steps.LINKING
    try:
        return build.cached_program(directory, name, files, flags, compiler, linking).binary
    except build.BuildFailed as error:
        if not build.UNDEFINED.search(str(error)):
            raise
        others = [file for file in build.sources(directory) if file not in (*module, "main.c")]
        every, linking = (*files, *others), (*linking, *ALL_FILES)
        try:
            return build.cached_program(directory, name, every, flags, compiler, linking).binary
        except build.BuildFailed:
            raise error from None


def _missing(name: str, directory: Path) -> list[str]:
    """The files of the module that are not there."""
    return [file for file in links(name, directory) if not (directory / file).is_file()]


def _complaint(message: str, files: list[str]) -> str:
    """The compiler's messages, in a form that a student can read."""
    missing = dict.fromkeys(build.UNDEFINED.findall(message))
    what = " and ".join(files)
    if missing:
        names = ", ".join(f"{name}()" for name in missing)
        return f"{what} cannot be linked with a program of the grader: {names} is not defined"
    text = build.shorten(message.replace(f"{PROGRAMS}/", ""), MESSAGE_LINES)
    return f"{what} cannot be compiled with a program of the grader:\n{text}"
