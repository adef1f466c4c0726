"""Why a claim did not pass: what is told to the student, and which hint helps best."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from harness.claims.context.concerned import Concerned
from harness.feedback.compare import compare, first_difference
from harness.feedback.failure import Failure, NotJudged, TooBusy
from harness.feedback.printable import harmless
from harness.submission.sizes import KIB
from harness.waiting.wait import wait_until

if TYPE_CHECKING:
    from harness.claims.context.stage import Stage

# Hints of failures that the end of the server explains better.
PEER_IS_GONE = {"closed-early", "closed-in-reply", "reset-early", "replies-missing"}
PEER_IS_GONE |= {"connect-refused", "ended-early", "not-taken"}
# Hints of failures that the server's log explains better, where it has one of these.
CUT_SHORT = {"closed-early", "closed-in-reply", "reset-early", "replies-missing"}
LOG_SAYS = (
    (re.compile(r"too (?:long|large|big)\b", re.I), "refused-as-too-long"),
    (re.compile(r"closed: Resource temporarily unavailable"), "call-disturbed"),  # EAGAIN
)
LOG_SECONDS = 0.5  # at most, until the server has logged why it closed
LOG_LOOKS = 3  # at a server that sleeps, one after the other, until its last line has arrived here
SAMPLE_BYTES = 8  # of a random body: they occur once
SENT_AT_ONCE = 256 * KIB  # as a rule, whatever the kernel holds already
# General hints of a client that waits for the server in vain.
WAITED = {"silence", "stalled-reply", "replies-missing", "not-taken", "not-closed"}
# Hints of claims that know already why it is not accepted, or why another client blocks the server.
KNOWN = {"server-stopped-accepting", "accept-failed", "max-conns", "turned-away", "reserve"}
KNOWN |= {"tries-at-once", "turns-all-away", "ready-for-nothing", "told-once", "quota-held"}
KNOWN |= {"accepts-all", "accepts-rest", "co-accept", "co-serve", "ring-accepts-one"}
OF_OTHERS = {"blocked-by-another", "starved", "table-too-small"}  # others keep it waiting
# Hints about an earlier reply, which replace these.
AFTER_A_REPLY = {
    "one-frame-only": {"silence", "closed-early", "reset-early"},
    "table-too-small": {"silence"},
}
# The fatal faults that these hints tell of, whatever the claim is about: keys of marker.FATAL.
FATAL = {
    **dict.fromkeys(("memory-fault", "data-race", "undefined-behaviour"), "memory"),
    **dict.fromkeys(("sigpipe", "divided-by-zero", "module-crashed"), "crash"),
    **dict.fromkeys(("over-limit", "memory-grows"), "growth"),
    **dict.fromkeys(("memory-leak", "descriptor-leak"), "leak"),
    "not-ended": "stop",
}
OWN_SIGNAL = re.compile("killed by SIG(ABRT|BUS|FPE|ILL|PIPE|SEGV|TRAP)")
COMPARE_WIDTH = 78  # columns; the report indents it by two


@dataclass(frozen=True)
class Diagnosis:
    """What is known about a claim that did not pass. A text is "" where there is nothing to say.

    `failed`: the server is the reason; otherwise the claim was not judged, and only `message` and
    `busy` are set.
    """

    failed: bool
    message: str  # what happened
    hint: str = ""  # a key of hints.HINTS
    steps: str = ""  # the conversation, a line a step
    compare: str = ""  # what was expected beside what was received
    server: str = ""  # its state at the end
    stderr: str = ""  # its last lines
    crashed: str = ""  # where in its source
    fatal: str = ""  # a key of marker.FATAL, if what happened is such a fault for any claim
    busy: bool = False  # the machine was too busy to judge it
    late: bool = False  # the server may only have been too slow, and no wait may be that long

    def told(self) -> dict:
        """The diagnosis as an object of JSON, without empty fields."""
        return {"failed": self.failed, **{k: v for k, v in asdict(self).items() if v}}

    def printable(self) -> Diagnosis:
        """The diagnosis, with texts that do no harm to a terminal."""
        texts = {one.name: getattr(self, one.name) for one in fields(self)}
        return replace(self, **{k: harmless(v) for k, v in texts.items() if isinstance(v, str)})


def diagnose(
    error: BaseException,
    stage: Stage,
    hints: Mapping[str, str] = MappingProxyType({}),
    refusals: bool = False,
) -> Diagnosis:
    """What to tell about a test that raised `error`. `hints`, `refusals`: of its Mark."""
    if isinstance(error, Failure):
        stage.conversation.blame(error)
        error = stage.explained(error)
    if not isinstance(error, Failure):
        kind = "" if isinstance(error, NotJudged) else f"{type(error).__name__}: "
        return not_judged(kind + str(error), busy=isinstance(error, TooBusy))
    hint, it = _hint(error, stage), Concerned(stage)
    if hint in CUT_SHORT and not refusals:
        hint = _reason_in_log(stage) or hint
    fatal = FATAL.get(hint, "crash" if _crashed(stage) else "")
    meant = hints if error.means is None else error.means
    hint = _meant(meant.get(hint, stage.means(hint)), hint, stage)
    if hint == "silence" and error.asleep and it.has_not_read():
        hint = "input-unread"
    if hint == "state-shared" and _is_of_the_same_frame(error):
        hint = "offset-of-the-remainder"
    locked = it.locked()
    if locked:
        hint = "lock-held"
    seen = error.expected is not None and error.received is not None
    fate, printed = stage.ending()
    return Diagnosis(
        failed=True,
        message=error.message,
        hint=hint,
        steps=stage.conversation.render(),
        compare=compare(error.expected, error.received, COMPARE_WIDTH) if seen else "",
        server=fate + (locked or _doing(error, it)),
        stderr=printed,
        crashed=stage.crashed(),
        fatal=fatal,
        late=not error.asleep and stage.has_waited_in_vain(),
    )


def _doing(error: Failure, it: Concerned) -> str:
    """ ", and ...": what the server does."""
    sleeps = it.waits_for() if error.asleep or error.hint == "not-ended" else ""
    return (sleeps or it.busy()) + it.not_accepted()


def not_judged(message: str, busy: bool = False) -> Diagnosis:
    """The diagnosis of a claim that failed through no fault of the server: the first line of the
    message."""
    return Diagnosis(failed=False, message=message.split("\n")[0], busy=busy)


def _meant(hint, general, stage):
    """The better hint that a claim has for a general one, unless the failure contradicts it, or the
    server's log knows better."""
    it = Concerned(stage)
    if general in AFTER_A_REPLY.get(hint, ()) and not stage.conversation.went_on():
        return general
    if general in WAITED and hint not in KNOWN and it.is_blocked_by_another():
        return "blocked-by-another"
    if general in WAITED and hint not in KNOWN | OF_OTHERS and it.has_not_accepted():
        return "not-accepted"
    if hint == "server-stopped-accepting" and general == "silence" and it.has_accepted():
        return general
    if general == "not-closed" and _logs_every_close(stage.ending()[1]):
        return "logged-not-closed"
    if hint == "ready-for-nothing" and it.busy():
        return general
    if hint == "blocked-by-another" and it.waits_for_readiness():
        return "never-watched"
    return hint


def _hint(error, stage):
    """The hint of the error; or one about the server's end, if that is the reason for the
    silence."""
    fate, _ = stage.ending()
    if fate.startswith("killed by the grader"):
        return "over-limit"
    if error.hint not in PEER_IS_GONE or not stage.surprised():
        return error.hint
    if "SIGPIPE" in fate:
        return "sigpipe"
    if "SIGFPE" in fate:
        return "divided-by-zero"
    return "crashed" if fate.startswith("killed") else "ended-early"


def _crashed(stage):
    """Returns true if a mistake of the server has killed it."""
    return stage.surprised() and bool(OWN_SIGNAL.match(stage.ending()[0]))


def _is_of_the_same_frame(error):
    """What came instead stands elsewhere in the frame that was due, which is too large to be sent
    at once: so it is no mix of two clients."""
    due, came = error.expected or b"", error.received or b""
    at = first_difference(due, came) or 0
    sample = came[at : at + SAMPLE_BYTES]
    return len(due) > SENT_AT_ONCE and len(sample) == SAMPLE_BYTES and sample in due


def _reason_in_log(stage):
    """The hint for the reason that the server has logged; None if there is none.

    A server may log it after the close that the client saw. It has, once the server sleeps or has
    ended.
    """
    rested = 0

    def said():
        nonlocal rested
        rested = rested + 1 if Concerned(stage).at_rest() else 0
        return rested >= LOG_LOOKS or _logged(stage.ending()[1])

    wait_until(said, LOG_SECONDS, LOG_SECONDS / 50)
    return _logged(stage.ending()[1])


def _logged(log):
    """The hint for the reason in the last lines of the server's log; None if there is none."""
    return next((hint for pattern, hint in LOG_SAYS if pattern.search(log)), None)


def _logs_every_close(log):
    """Whether the server has logged the close of each connection that it has logged as opened."""
    opened, closed = (len(re.findall(rf": {word}\b", log)) for word in ("opened", "closed"))
    return 0 < opened <= closed
