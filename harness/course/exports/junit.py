"""JUnit XML, which GitLab, Jenkins and most continuous integration show as a list of tests."""

from __future__ import annotations

from xml.etree import ElementTree

from harness.course.exports.result import FAILED, NOT_JUDGED, Claim, Result, number


def junit(result: Result) -> str:
    """One test suite. A claim that was not judged is an <error>, one that failed a <failure>.

    The elements and attributes are those of junit-10.xsd in Jenkins' xUnit plugin:
    https://github.com/jenkinsci/xunit-plugin
    """
    counts = _counts(result)
    time = f"{result.seconds:.2f}"
    top = ElementTree.Element("testsuites", name="Event Loop Lab", time=time, **counts)
    suite = ElementTree.SubElement(
        top, "testsuite", name=result.chapter, time=time, skipped="0", **counts
    )
    properties = ElementTree.SubElement(suite, "properties")
    values = {"verdict": result.verdict, "points": number(result.points)}
    for name, value in {**values, "of": number(result.worth)}.items():
        ElementTree.SubElement(properties, "property", name=name, value=str(value))
    for claim in result.claims:
        _case(suite, claim)
    if not result.claims:
        _nothing(suite, result)
    ElementTree.indent(top)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(top, "unicode") + "\n"


def _counts(result: Result) -> dict[str, str]:
    verdicts = [claim.verdict for claim in result.claims] or [NOT_JUDGED]
    return {
        "tests": str(len(verdicts)),
        "failures": str(verdicts.count(FAILED)),
        "errors": str(verdicts.count(NOT_JUDGED)),
    }


def _case(suite: ElementTree.Element, claim: Claim) -> None:
    case = ElementTree.SubElement(
        suite,
        "testcase",
        name=claim.text,
        classname=f"{claim.number} {claim.name}".strip(),
        time=f"{claim.seconds:.2f}",
    )
    element = {FAILED: "failure", NOT_JUDGED: "error"}.get(claim.verdict)
    if element:
        kind = claim.hint or claim.verdict
        found = ElementTree.SubElement(case, element, type=kind, message=claim.message)
        found.text = claim.output


def _nothing(suite: ElementTree.Element, result: Result) -> None:
    """A grade that could not run any test is one error, so that it is not shown as a success."""
    case = ElementTree.SubElement(suite, "testcase", name="The grade runs.", classname="grade")
    error = ElementTree.SubElement(case, "error", type=NOT_JUDGED, message="nothing was judged")
    error.text = result.output
