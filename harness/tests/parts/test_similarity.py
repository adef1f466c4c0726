"""Which submissions are alike: copies come first, and independent solutions are not named."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from harness.tests.parts import copies
from harness.tests.tree.documents import Page
from harness.course.classes import labels, progress, submissions
from harness.course.similarity import command as similar
from harness.course.similarity.fingerprints import (
    GRAM,
    WINDOW,
    fingerprints,
    given,
    grams,
    winnowed,
)
from harness.course.similarity.pairs import COMMON_AT_LEAST, Comparison, Pair, compare
from harness.course.similarity.pieces import shared_pieces
from harness.course.similarity.tokens import tokens
from harness.lab import command_line
from harness.lab.chapters import find

PAIRED = ("01", "04")  # chapters with a second solution


def codes(text: str) -> bytes:
    return tokens(text).codes


# Tokens


@pytest.mark.parametrize(
    "one, other",
    [
        ("int count = 3;", "static const size_t n=0x10u; // other"),
        ("if (a) b(c);", "if (a)\n{\n\tb(c); /* it */ }"),
        ("p->next = NULL;", "q.rest = 0;"),
        ("unsigned long int x;", "uint64_t y;"),
        ('say("one \\" // two");', 'tell("");'),
        ("c = 'a';", "n = 97;"),
        ("struct conn *c;", "connection *d;"),
        ("#include <stdio.h>\nint x;", "int x;"),
        ("a = b \\\n + c;", "a = b + c;"),
    ],
)
def test_what_a_copy_can_change_is_no_token(one, other):
    assert codes(one) == codes(other)


@pytest.mark.parametrize(
    "one, other", [("a < b;", "a <= b;"), ("while (a) b();", "if (a) b();"), ("a + b", "a - b")]
)
def test_structure_is_a_token(one, other):
    assert codes(one) != codes(other)


def test_text_that_is_no_c_has_tokens_all_the_same():
    for text in ("", "\0\xff", "/* never closed", '"never closed', "'", "#", "@`$"):
        tokens(text + "\nint x;")


def test_a_token_knows_where_it_begins():
    text = "/* a */ int\n  x = 1;"
    assert [text[at] for at in tokens(text).starts] == ["i", "x", "=", "1", ";"]


# Fingerprints


def test_an_operator_is_one_token():
    assert [len(codes(text)) for text in ("[", "<<=", "...", "->")] == [1] * 4


def test_every_equal_run_of_the_promised_length_has_a_common_fingerprint():
    """The promise of winnowing, for runs of exactly GRAM + WINDOW - 1 tokens between others."""
    rng = random.Random(5)
    for _ in range(200):
        run = rng.randbytes(GRAM + WINDOW - 1)
        one = rng.randbytes(rng.randrange(40)) + run + rng.randbytes(rng.randrange(40))
        other = rng.randbytes(rng.randrange(40)) + run + rng.randbytes(rng.randrange(40))
        assert winnowed(grams(one)) & winnowed(grams(other))


def test_fewer_fingerprints_are_kept_than_there_are_k_grams():
    every = grams(random.Random(6).randbytes(2000))
    assert len(winnowed(every)) < 0.3 * len(every)


@pytest.mark.parametrize("number", ["01", "04", "10"])
def test_an_untouched_skeleton_has_no_fingerprint_of_its_own(number):
    chapter = find(number)
    texts = copies.untouched(chapter).values()
    assert fingerprints(texts, frozenset()) and not fingerprints(texts, given(chapter))


def test_the_solution_of_an_earlier_chapter_is_no_evidence():
    before = copies.solution(find("03")).values()
    assert not fingerprints(before, given(find("04")))
    assert fingerprints(before, given(find("03")))


# Pairs


def test_without_what_was_given_an_untouched_skeleton_is_alike_to_a_solution():
    chapter = find("04")
    both = {"skeleton": copies.untouched(chapter), "ada": copies.solution(chapter)}
    assert compare(both).pairs[0].share > 0.9
    assert not compare(both, given(chapter)).pairs


@pytest.mark.parametrize("number", PAIRED)
def test_two_solutions_written_independently_are_not_named(number):
    chapter = find(number)
    both = {"ada": copies.solution(chapter), "ben": copies.independent(chapter)}
    found = compare(both, given(chapter))
    assert not found.named and found.pairs[0].share < 0.1


@pytest.mark.parametrize("number", PAIRED)
def test_disguised_copies_come_first(number):
    """Among forty others, skeletons that nobody has touched, and two independent solutions."""
    chapter, rng = find(number), random.Random(3)
    everyone = copies.many(chapter, 40, rng)
    planted = {(f"{one.__name__} copy", f"{one.__name__} original") for one in copies.DISGUISES}
    found = compare(everyone, given(chapter))
    first = {tuple(sorted((pair.first, pair.second))) for pair in found.pairs[: len(planted)]}
    assert first == planted
    assert all(pair.share > 0.85 for pair in found.pairs[: len(planted)])
    named = {(pair.first, pair.second) for pair in found.named}
    assert not any(name.startswith("untouched") for pair in named for name in pair)
    assert ("one solution", "other solution") not in named


@pytest.mark.parametrize("disguise", copies.DISGUISES)
def test_a_disguised_program_still_compiles(disguise, tmp_path):
    """A copy that does not compile could not be handed in."""
    made = disguise(copies.independent(find("01")), random.Random(4))
    sources = copies.write(made, tmp_path)
    command = ["gcc", "-std=gnu11", "-w", "-fsyntax-only", "-pthread", *sources.glob("*.c")]
    subprocess.run(command, check=True)


@pytest.mark.parametrize("number", PAIRED)
def test_a_second_solution_has_its_own_functions_and_repeats_none_of_the_skeleton(number):
    chapter = find(number)
    made = copies.independent(chapter)
    for path in (copies.INDEPENDENT / number).iterdir():
        given = copies.untouched(chapter)[path.name]
        own = [match[0] for match in copies.FUNCTION.finditer(path.read_text())]
        assert own and not [text for text in own if text in given]
        assert all(made[path.name].count(text) == 1 for text in own)


@pytest.mark.parametrize("number", PAIRED)
def test_the_second_solutions_compile_without_a_warning(number, tmp_path):
    sources = copies.write(copies.independent(find(number)), tmp_path)
    flags = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread", "-fsyntax-only"]
    subprocess.run(["gcc", *flags, *sources.glob("*.c")], check=True)


def test_what_very_many_have_is_no_evidence_and_that_is_said():
    chapter = find("01")
    same = {f"s{at:02}": copies.solution(chapter) for at in range(COMMON_AT_LEAST + 1)}
    found = compare(same, given(chapter))
    assert not found.pairs and set(found.alike_to_many) == set(same)
    assert f"{len(same)} submissions share half" in "\n".join(similar.table(found, {}))
    del same["s00"]
    assert len(compare(same, given(chapter)).named) == 45


@pytest.mark.parametrize(
    "shared, share, named", [(15, 0.25, True), (14, 1.0, False), (100, 0.24, False)]
)
def test_a_pair_is_named_when_both_the_share_and_the_number_are_large(shared, share, named):
    assert Pair("ada", "ben", shared, share).named is named


def test_shares_of_the_whole_class():
    found = compare({"a": {"x.c": ""}, "b": {"x.c": ""}, "c": {"x.c": ""}})
    assert found.share_at(0.5) == 0 and found.share_at(0.99) == 0
    pairs = (Pair("a", "b", 1, 0.2), Pair("a", "c", 1, 0.9))
    found = Comparison(pairs, frozenset(), 10, (), dict.fromkeys("abc", 1))
    assert [found.share_at(part) for part in (0, 0.5, 1)] == [0, 0.2, 0.9]


# Pieces


def test_a_piece_is_found_where_it_is_in_each():
    body = "\n".join(f"    a{at} = b(c, d{'[1]' * at});" for at in range(6))
    one = {"x.c": f"int f(void)\n{{\n{body}\n}}\n"}
    other = {"y.c": f"void g(int n)\n{{\n    n++;\n    n++;\n{body}\n}}\n"}
    (piece,) = shared_pieces(one, other, ())
    assert (piece.here.file, piece.here.last) == ("x.c", 8)
    assert (piece.there.file, piece.there.last) == ("y.c", 10)
    assert not shared_pieces(one, other, frozenset(grams(codes(one["x.c"]))))


# What students hand in


def read(directory: Path) -> tuple[dict[str, dict[str, str]], dict[str, str]]:
    chapter = find("01")
    found, _ = submissions.find(directory)
    return similar.read(found, labels.of(chapter, directory, [], anonymous=False))


def test_directories_zips_and_tars_are_read(tmp_path):
    files = {
        "lab/io.c": "int x;",
        "lab/more/io.h": "int z;",
        "lab/.git/old.c": "int y;",
        "lab/.old.c": "int y;",
        "__MACOSX/io.c": "\1",
        "notes.md": "#",
    }
    top = tmp_path / "a 名前"
    for name, text in files.items():
        copies.write({Path(name).name: text}, top / Path(name).parent)
    for name, kind in (("b", "zip"), ("c", "gztar")):
        shutil.make_archive(str(tmp_path / name), kind, top)
    found, left_out = read(tmp_path)
    assert found == dict.fromkeys(["a 名前", "b", "c"], {"io.c": "int x;", "more/io.h": "int z;"})
    assert not left_out


def test_of_several_hand_ins_the_latest_counts(tmp_path):
    """The one that `make class` grades."""
    for when, text in ((2000, "int late;"), (1000, "int early;")):
        place = copies.write({"io.c": text}, tmp_path / "ada" / str(9999 - when))
        os.utime(place / "io.c", (when, when))
    assert read(tmp_path)[0] == {"ada": {"io.c": "int late;"}}
    with zipfile.ZipFile(tmp_path / "ada.zip", "w") as archive:
        archive.writestr("io.c", "int last;")
    assert read(tmp_path)[0] == {"ada": {"io.c": "int last;"}}


def test_what_cannot_be_read_is_left_out_with_the_reason(tmp_path):
    (tmp_path / "broken.zip").write_bytes(b"PK\3\4 and no more")
    (tmp_path / "damaged.tar.gz").write_bytes(b"\x1f\x8b")
    (tmp_path / "empty").mkdir()
    other = copies.write({"io.c": "int x;"}, tmp_path / "other")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "io.c").symlink_to(other / "io.c")
    with zipfile.ZipFile(tmp_path / "outside.zip", "w") as archive:
        archive.writestr("../io.c", "int x;")
    found, left_out = read(tmp_path)
    assert set(found) == {"other"}
    assert set(left_out) == {"broken", "damaged", "empty", "links", "outside"}
    assert "There are no .c files" in left_out["links"]
    assert "would be outside" in left_out["outside"]


def test_a_submission_with_far_too_much_c_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(similar, "MOST_BYTES", 8)
    for name, text in (("ada", "int x;"), ("ben", "int x, y;")):
        copies.write({"io.c": text, "data.txt": "more than eight bytes"}, tmp_path / name)
    found, left_out = read(tmp_path)
    assert set(found) == {"ada"} and "of C" in left_out["ben"]


# The command


@pytest.fixture
def hostile_class(tmp_path, monkeypatch):
    """Two alike and one other, with names and lines that are no HTML and no good for a terminal."""
    build = tmp_path / "build"
    monkeypatch.setattr(command_line, "BUILD", build)
    monkeypatch.setattr(labels, "RESULTS", build / "class")
    tmp_path = tmp_path / "sub"
    chapter = find("01")
    wanted = {
        name: text.replace("fd %d", "<script>") for name, text in copies.solution(chapter).items()
    }
    for name in ("ada <b>&amp;", "bén \x1b[31m" + "名" * 40):
        copies.write(wanted, tmp_path / name)
    copies.write(copies.untouched(chapter), tmp_path / "cleo")
    (tmp_path / "dan.zip").write_bytes(b"")
    (tmp_path / "roster.txt").write_text("ada, bén, cleo, dan")
    return tmp_path


def test_the_command_prints_a_table_and_writes_a_page(hostile_class, capsys):
    assert similar.main(["--chapter", "01", "--submissions", str(hostile_class)]) == 0
    printed = capsys.readouterr().out
    for said in ("3 submissions, 3 pairs", "100%", "evidence, not a verdict"):
        assert said in printed
    assert "left out: dan: The" in printed and "left out: roster: The file is not" in printed
    assert "\x1b" not in printed
    table = printed.split("the page:")[0]
    assert all(progress.columns_of(line) <= 80 for line in table.splitlines())
    text = (command_line.BUILD / "similar" / "01" / "similar.html").read_text()
    page = Page(text)
    assert not set(page.tags) & {"script", "b", "img", "link"} and "\x1b" not in text
    assert {link[1:] for link in page.links} <= page.ids
    assert "evidence, not a verdict" in text and "prefers-color-scheme: dark" in text
    assert "ada &lt;b&gt;&amp;amp;" in text and "http" not in text


def test_with_anon_numbers_stand_for_names_and_are_those_of_the_class(hostile_class, capsys):
    names = [one.name for one in submissions.find(hostile_class)[0]]
    before = labels.of(find("01"), labels.RESULTS, names, anonymous=True).numbers
    arguments = ["--chapter", "01", "--submissions", str(hostile_class), "--anonymous"]
    assert similar.main(arguments) == 0
    printed = capsys.readouterr().out
    text = (command_line.BUILD / "similar" / "01-anonymous" / "similar.html").read_text()
    assert "01-key.csv" in printed
    for said in (printed.split("the page:")[0], text):
        assert not [name for name in ("ada", "bén", "cleo", "roster") if name in said]
        assert f"{before['dan']}: The file is empty" in said
        assert all(before[name] in said for name in names if name != "cleo")


@pytest.mark.parametrize(
    "arguments, says",
    [
        ([], "which chapter?"),
        (["--chapter", "04"], "which submissions?"),
        (["--chapter", "04", "--submissions", "nowhere"], "does not exist"),
        (["--chapter", "44", "--submissions", "docs"], "44"),
        (["--chapter", "04", "--submissions", "docs"], "instance answers: The file is not"),
    ],
)
def test_wrong_usage_says_what_to_do(arguments, says, capsys):
    assert similar.main(arguments) == 2
    assert says in capsys.readouterr().err
