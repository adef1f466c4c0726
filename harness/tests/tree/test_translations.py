"""The Chinese pages say what the English ones say, as far as a program can tell.

An English change does not wait for its translation: a warning names each Chinese page that is
behind, and this page is not compared with its source. With FULL=1 it is a failure.
"""

from __future__ import annotations

import warnings

from harness.submission.chapters import ROOT
from harness.tests.drawn import FULL
from harness.tests.tree.documents import name, read
from harness.tests.tree.translations import MARK, differences, right_mark, translations


def test_chinese_pages_have_all_of_their_sources():
    pages = translations()
    found = {*ROOT.glob("docs/zh/*.md"), *ROOT.glob("*/*/*.zh.md"), *ROOT.glob("docs/*.zh.md")}
    assert found == set(pages.values()), "each English page of these has one, and no other"
    behind, wrong = [], []
    for source, page in pages.items():
        mark = MARK.match(read(page))
        right = right_mark(source, source.read_bytes())
        if mark is None or mark[1] != name(source):
            wrong.append(f"{name(page)}: its first line has to be {right}")
        elif mark[0] != right:
            behind.append(
                f"{name(page)} is the translation of an older {name(source)}. Translate what this "
                f"shows:\n    git diff {mark[2]} {name(source)}\n"
                f"  Then let its first line be\n    {right}"
            )
        else:
            wrong += differences(read(source), read(page), source, page)
    assert not wrong, "\n".join(wrong)
    assert not (FULL and behind), "\n".join(behind)
    if behind:
        warnings.warn("\n".join(["pages whose translation is behind:", *behind]), stacklevel=1)
