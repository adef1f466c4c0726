"""Takes the picture out of a page of make trace, for a document.

    python3 -m harness.authors.pictures.timeline build/trace/PAGE.html docs/timelines/NAME.svg

A browser without a window draws the page. NAME.json has what the page was drawn from: the site
draws it again, so that a reader can look at its parts. Status 0; 2 with the reason on stderr.
"""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from harness.authors.pictures.command import CannotDraw, legend
from harness.lab import command_line

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# It opens a file of ours: without its sandbox it also runs as root.
OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--window-size=900,900", "--dump-dom")
SECONDS = 60

VIEW = re.compile(r'<div class="view">(<svg.*?</svg>)(<svg.*?</svg>)</div>', re.S)
SIZE = re.compile(r'<svg width="([\d.]+)" height="(\d+)"')
KEY = re.compile(r'class="key" style="--colour: var\(--([\w-]+)\)">(.*?)</span>')
SCHEMES = re.compile(r":root \{(.*?)\}", re.S)  # the light one, then the dark one
VARIABLE = re.compile(r"--([\w-]+): (#[0-9a-f]{6});")
DATA = re.compile(r'id="data">(.*?)</script>', re.S)
DIR = re.compile(r" DIR=\S+")  # of a wrong server that its reader does not have
TEXT = re.compile(r"<pre>(.*?)</pre>", re.S)  # what the grader says; and the timeline as text
USED = re.compile(r'(fill|stroke)="var\(--([\w-]+)\)"')


def drawn(page: Path) -> str:
    """The page as a browser builds it. Raises CannotDraw."""
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        raise CannotDraw(f"it needs a browser: {', '.join(BROWSERS)}")
    command = [browser, *OPTIONS, page.resolve().as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    if not VIEW.search(done.stdout):
        raise CannotDraw(f"{page}: the browser has drawn no timeline")
    return done.stdout


def picture(document: str) -> str:
    """The timeline of a page that was drawn, as SVG for a light page and a dark one."""
    names, view = VIEW.search(document).groups()
    light, dark = (dict(VARIABLE.findall(scheme)) for scheme in SCHEMES.findall(document))
    (left, height), (wide, _) = (map(float, SIZE.search(svg).groups()) for svg in (names, view))
    keys = [(light[variable], "ff", words) for variable, words in KEY.findall(document)]
    row, right, below = legend(keys, left + wide, height)
    body = f'<g transform="translate({left:.0f},0)">{view}</g>{names}'
    used = sorted(set(USED.findall(body)))
    body = USED.sub(lambda found: f'{found[1]}="{light[found[2]]}"', body)
    return "\n".join(
        [
            f'<svg width="{right:.0f}" height="{below:.0f}" xmlns="http://www.w3.org/2000/svg">',
            "<style>",
            _scheme(light),
            f"@media (prefers-color-scheme: dark) {{ {_scheme(dark)} }}",
            "text { font: 11px system-ui, sans-serif; }",
            f"text {{ fill: {light['soft']}; fill: var(--soft); }}",
            f".name {{ font-weight: 600; fill: {light['ink']}; fill: var(--ink); }}",
            *(f'[{where}="{light[name]}"] {{ {where}: var(--{name}); }}' for where, name in used),
            "</style>",
            re.sub(r"(</\w+>)(?=<)", r"\1\n", body),
            *row,
            "</svg>",
            "",
        ]
    )


def data(page: str) -> str:
    """What a page was drawn from, as JSON: the timeline, and the texts beside it."""
    said, text = (html.unescape(found) for found in TEXT.findall(page))
    found = {"said": DIR.sub("", said), "text": text, **json.loads(DATA.search(page)[1])}
    columns = ",\n".join(json.dumps(column) for column in found.pop("columns"))
    head = json.dumps(found)[:-1]
    return f'{head}, "columns": [\n{columns}\n]}}\n'


def _scheme(variables: dict[str, str]) -> str:
    return f":root {{ {' '.join(f'--{name}: {colour};' for name, colour in variables.items())} }}"


def main(arguments: list[str]) -> int:
    """Returns the exit status."""
    if len(arguments) != 2:
        print(
            "timeline: python3 -m harness.authors.pictures.timeline PAGE PICTURE", file=sys.stderr
        )
        return 2
    try:
        page, target = map(Path, arguments)
        target.write_text(picture(drawn(page)))
        target.with_suffix(".json").write_text(data(page.read_text()))
    except (CannotDraw, OSError, subprocess.TimeoutExpired) as error:
        print(f"timeline: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(command_line.program(lambda: main(sys.argv[1:])))
