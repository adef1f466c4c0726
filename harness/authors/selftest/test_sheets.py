"""Tables and numbers that people wrote, in the notation of any country; one writer of tables."""

from __future__ import annotations

import ast
import csv
import io
import re

import pytest

from harness.authors.selftest.shell import check_refused, lab
from harness.course.classes import labels, records
from harness.course.classes.records import Graded, Record
from harness.course.exports import tables
from harness.lab import numbers, sheets
from harness.lab.chapters import ROOT

HARNESS = ROOT / "harness"
WRITER = HARNESS / "lab" / "sheets.py"
# They read what redis-benchmark and redis-cli print.
READERS = {
    HARNESS / "student" / "bench" / "redis_benchmark.py",
    HARNESS / "claims" / "test_12_clients.py",
}
FORMULAS = ["=HYPERLINK(1)", "@SUM(1)", "+1", "-1", " =1", "\t=1", "\tx", "\r=1", "＝1", "a;=1"]
NAMES = [*FORMULAS, "ada", "O'Neil", "'quoted'", "'=x", "''-x", 'a "b", c', "-", "王 小明", "a;'=b"]


# Numbers


@pytest.mark.parametrize(
    "text, value, mark",
    [
        ("20", 20, ""),
        (" 50.00 ", 50, "."),
        ("20,5", 20.5, ","),
        ("0,500", 0.5, ","),
        ("1.234,5", 1234.5, ","),
        ("1,234.5", 1234.5, "."),
        ("1,000,000", 1_000_000, ""),
        ("1 000", 1000, ""),
        ("1\u00a0234,50", 1234.5, ","),
        ("1\u202f000.5", 1000.5, "."),
        ("1\u2009000", 1000, ""),
        ("1'000.25", 1000.25, "."),
        ("1000,125", 1000.125, ","),
    ],
)
def test_a_number_is_read_in_the_notation_of_any_country(text, value, mark):
    assert numbers.written(text) == (value, mark)


@pytest.mark.parametrize("text", ["1,000", "1.000", "12,500", "999.999"])
def test_a_number_that_is_two_numbers_is_refused(text):
    with pytest.raises(ValueError, match=r"in some countries and .* in others: write \d+ or "):
        numbers.written(text)


NO_NUMBERS = ["", "-5", "20%", "1e3", "٢٠", "２０", "½", "1,00,000", "1,000,5", "1_000", "20 pts"]


@pytest.mark.parametrize("text", [*NO_NUMBERS, "nan", "inf", "9" * 400, "1 00", "1 000 00"])
def test_what_is_no_number_is_refused(text):
    with pytest.raises(ValueError, match="is not a number such as 20, 20.5 or 20,5|too large"):
        numbers.written(text)


@pytest.mark.parametrize("text", ["20,5", *NO_NUMBERS[:2], *NO_NUMBERS[4:], "nan", "inf", "1e999"])
def test_a_program_prints_a_decimal_point(text):
    assert numbers.printed("87.500\n") == 87.5 and numbers.printed("1e1") == 10
    with pytest.raises(ValueError, match="is not a number such as 20 or 20.5"):
        numbers.printed(text)


@pytest.mark.parametrize("text", ["²", "٣", "-1", "1.0", "9" * 5000, ""])
def test_what_int_does_not_take_is_no_whole_number(text):
    """str.isdigit() takes the first two, and int() only the second."""
    assert numbers.is_whole("07") and not numbers.is_whole(text)


@pytest.mark.parametrize(
    "words",
    ["grade --seed ²", "class --submissions . --jobs ²", "steady --times ²", "fuzz"],
)
def test_a_variable_that_is_no_whole_number_is_wrong_usage(words):
    done = lab(*words.split(), LAB_CH="07", LAB_SECONDS="²")
    check_refused(done, "=²: ")
    assert "number" in done.stderr


# Reading


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("begin", ["", sheets.BOM, "sep={0}{1}", sheets.BOM + "sep={0}{1}"])
def test_a_sheet_is_changed_in_one_cell_and_nowhere_else(separator, end, begin):
    start = begin.format(separator, end)
    text = start + end.join(
        [
            separator.join(["Student", '"ID"', "a, b; c" if separator == "\t" else "Lab"]),
            separator.join(['"Lovelace, ""Ada""; x"', "1", '"7"']),
            "",
            separator.join(['"two' + end + 'lines"', "2", ""]),
        ]
    )
    sheet = sheets.read(text, ["Student", "ID"])
    assert sheet.rows[1] == ['Lovelace, "Ada"; x', "1", "7"] and sheet.rows[2] == [""]
    assert sheet.rows[3][0] == f"two{end}lines"
    assert sheet.changed({}) == text
    changed = sheet.changed({(1, 2): "8", (3, 2): "9"})
    assert changed == text.replace('"7"', '"8"') + "9"


def test_a_title_with_many_commas_does_not_hide_the_semicolons():
    sheet = sheets.read("Student;ID;Lab 1, 2, 3, 4, 5 (12)\nAda;1;\n", tables.KEYS)
    assert sheet.rows[0] == ["Student", "ID", "Lab 1, 2, 3, 4, 5 (12)"]


@pytest.mark.parametrize("text", ['ID\n"a', 'ID\n1\n"a"b,2\n'])
def test_quotes_that_do_not_match_are_told_with_their_line(text):
    with pytest.raises(sheets.Unreadable, match=r"line \d: a quotation mark is not closed"):
        sheets.read(text, ["ID"])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
def test_every_encoding_of_a_spreadsheet_is_read(encoding):
    data = "Müller".encode(encoding)
    text, found = sheets.decoded(data)
    assert text.removeprefix(sheets.BOM) == "Müller" and text.encode(found) == data


@pytest.mark.parametrize("data", [b"PK\3\4\0\0", "ID".encode("utf-16-le"), b"\xff\xfex"])
def test_what_is_no_text_is_refused(data):
    with pytest.raises(sheets.Unreadable, match="it is not text: save it as CSV"):
        sheets.decoded(data)


# Writing


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_no_formula_and_is_read_back(name):
    text = sheets.write([("name", "score"), (name, -1.5)])
    ((cell, score),) = list(csv.reader(io.StringIO(text, newline="")))[1:]
    begins = [cell, *cell.split(";")[1:]] if ";" in cell else [cell]
    assert not any(one.strip()[:1] in [*"=+-@＝"] or one[:1] in [*"\t\r"] for one in begins)
    assert score == "-1.5"
    assert sheets.records(text, ["name", "score"]) == [{"name": name, "score": "-1.5"}]


def test_the_scores_of_a_class_have_no_formulas():
    names = ["=HYPERLINK(1)", "@SUM(1)", "+1", "-1"]
    problem = Record("", "failed", 0, problem="=1+1")
    text = records.as_csv([Graded(name, ROOT, problem) for name in names])
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["name"] for row in rows] == [f"'{name}" for name in names]
    assert {row["problem"] for row in rows} == {"'=1+1"}
    assert [row["name"] for row in sheets.records(text, ["name"])] == names


def test_numbers_stay_with_names_that_look_like_formulas(tmp_path):
    key = tmp_path / "key.csv"
    drawn = labels.draw(key, ["=1", "+1", "ada"])
    assert labels.draw(key, ["=1", "+1", "ada"]) == labels.read(key) == drawn
    assert b"\n=" not in key.read_bytes() and b",=" not in key.read_bytes()
    text = key.read_text().replace(",", ";").replace("\n", "\r\n")
    key.write_text(f"{sheets.BOM}{text}", newline="")  # a spreadsheet has saved it
    assert labels.read(key) == drawn


def test_one_module_writes_all_tables():
    """Nobody else has the library's writer, or joins cells where a file is called .csv."""
    for path in sorted(HARNESS.rglob("*.py")):
        if path.is_relative_to(HARNESS / "authors" / "selftest") or path in (WRITER, *READERS):
            continue
        text = path.read_text()
        nodes = list(ast.walk(ast.parse(text)))
        named = {one.name for node in nodes if isinstance(node, ast.Import) for one in node.names}
        named |= {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
        by_hand = ".csv" in text and re.search(r"""["'](,|;|\\t)["']\.join""", text)
        assert "csv" not in named and not by_hand, f"{path}: harness/lab/sheets.py has write()"
    for path in READERS:
        assert not re.search(r"csv\.\w*writer", path.read_text(), re.I), path
