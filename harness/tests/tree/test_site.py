"""make site, as a reader has it: built once, and looked at in Chromium. With SITE=1 only."""

from __future__ import annotations

import functools
import http.server
import json
import re
import shutil
import subprocess
import tarfile
import threading
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest

from harness.submission import skeleton
from harness.submission.chapters import ROOT
from harness.submission.target import setting
from harness.tests import shell
from harness.tests.tree.documents import Page

BROWSERS = "chromium", "chromium-browser", "google-chrome"
BROWSER = "--headless --no-sandbox --disable-gpu --hide-scrollbars --no-first-run".split()
SECONDS = 600
SPY = """<script>console.error = (...words) => parent.wrong.push(`${location.pathname}: ${words}`);
addEventListener("unhandledrejection", event => console.error(event.reason));
addEventListener("error", event => console.error(event.message));</script>"""


class Pages(http.server.SimpleHTTPRequestHandler):
    told: list = []
    done = threading.Event()

    def do_POST(self):
        self.told[:] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.done.set()


def looked_at(site: Path, profile: Path, pages: list[str], words: list) -> list:
    """What is wrong with the pages in a browser, and the first page that a search finds."""
    for path in site.rglob("*.html"):
        path.write_text(path.read_text().replace("<head>", f"<head>{SPY}", 1))
    script = Path(__file__).with_name("look.html").read_text()
    script = script.replace("PAGES", json.dumps(pages)).replace("WORDS", json.dumps(words))
    (site / "look.html").write_text(script)
    handler = functools.partial(Pages, directory=site)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        program = next(filter(None, map(shutil.which, BROWSERS)))
        address = f"http://127.0.0.1:{server.server_port}/look.html"
        command = [program, *BROWSER, f"--user-data-dir={profile}", "--remote-debugging-port=0"]
        browser = subprocess.Popen([*command, address], stderr=subprocess.DEVNULL)
        Pages.done.wait(SECONDS)
        browser.terminate()
        browser.wait()
        server.shutdown()
    return Pages.told


def dead_links(site: Path, pages: dict[str, Page]) -> list[str]:
    dead = []
    for name, page in pages.items():
        for link in page.links:
            url = urlsplit(urljoin(f"/{name}", link))
            path = site / unquote(url.path).lstrip("/")
            path = path / "index.html" if path.is_dir() else path
            target = pages.get(str(path.relative_to(site)))
            lost = url.fragment and (not target or unquote(url.fragment) not in target.ids)
            if not url.scheme and (lost or not path.exists()):
                dead.append(f"{name}: {link}")
    return dead


def secrets() -> set[str]:
    """Lines of answers and solved TODOs that no handout contains."""
    texts = [path.read_text() for path in ROOT.glob("solutions/**/*.[ch]")]
    texts = [region["code"] for text in texts for region in skeleton.REGION.finditer(text)]
    given = "".join(path.read_text() for path in ROOT.glob("chapters/**/*.*") if path.is_file())
    lines = "\n".join([*texts, (ROOT / "docs/answers.md").read_text()]).splitlines()
    long = {line.strip() for line in lines if len(line.strip()) >= 40 and "`" not in line}
    return {line for line in long if line not in given}


@pytest.mark.long
@pytest.mark.skipif(not setting("SITE"), reason="make test SITE=1 builds the site")
def test_the_site(tmp_path):
    site = tmp_path / "site"
    done = shell.lab("site", "--out", site)
    assert done.returncode == 0, done.stdout + done.stderr
    files = {str(path.relative_to(site)): path.read_text() for path in site.rglob("*.html")}
    pages = {name: Page(text) for name, text in files.items()}
    documents = {name for name in pages if not name.startswith(("files/", "404"))}
    assert {"index.html", "zh/index.html", "chapters/12-redis/index.html"} <= documents
    assert not dead_links(site, pages)
    texts = {name: re.sub(r"\s+", " ", "".join(page.data)) for name, page in pages.items()}
    scripts = (path.read_text() for path in (site / "assets").rglob("*.js"))
    everything = "".join([*texts.values(), *scripts])
    secret = secrets()
    assert len(secret) > 100 and not [line for line in secret if line in everything]
    names = [*tarfile.open(site / "lab.tar.gz").getnames(), *pages]
    assert not [name for name in names if re.search("(^|/)(solutions/|answers.(md|html))", name)]
    words = [("/", "back-pressure"), ("/zh/", "缓冲区")]
    looked = [f"/{name}" for name in [*documents, "files/chapters/05-framing/frame.c.html"]]
    told = looked_at(site, tmp_path / "profile", sorted(looked), words)
    assert told and not told[0], "\n".join(*told[:1] or [["the browser did not end"]])
    for (_, word), found in zip(words, told[1]):
        name = re.sub("/$", "/index.html", found)[1:]
        assert word in texts[name].lower(), f"the search for {word} leads to {name}"
