"""The hints of docs/reading-failures.md#flow-control, by their keys."""

TEXTS = {
    "turn-over": (
        "A turn was over before the work was done, and the rest was never taken up. Frames that "
        "are here already, and a socket that would take more, are no news: ask for another call "
        "in the next turn, whenever the budget is what has stopped you."
    ),
    "turn-too-long": (
        "A few clients that never stop have kept the loop for long. What one may do in a turn "
        "needs a bound that its messages use up as well as its bytes; then the others have their "
        "turn."
    ),
    "accepts-all": (
        "accept() is called until no client is left. With many new clients that takes long, and "
        "those that are connected already wait. Accept a bounded number in a turn; then ask for "
        "another call, since an edge reports the remaining clients only once."
    ),
    "water-marks": (
        "Output that has reached high-water suspends reading, until it is down to low-water: "
        "reached is >=, and down to is <=, and between the two nothing changes. Look at it "
        "whenever output was added or sent."
    ),
    "quota-kept": (
        "A connection has N frames in an interval, which begins with the first of them. Count "
        "each frame that is answered, for its own connection; what is over N is neither answered "
        "before the next interval, nor dropped, nor a reason to close."
    ),
    "quota-renewed": (
        "The interval was over, and what had to wait was not answered in time. When its timer "
        "rings the quota is whole again, and frames that were read before have to be looked at "
        "then: no event will tell of them."
    ),
    "quota-unread": (
        "While the quota is used up do not ask for input, or the loop is woken for what it may "
        "not take. What the client sends waits in the kernel, and in the end at the client. And "
        "where no frame was taken, no interval runs."
    ),
    "quota-held": (
        "A client that has to wait for its next interval made the others wait, too. Waiting is "
        "setting a timer, and going back to the loop."
    ),
    "quota-timeouts": (
        "The client waited for us, held by its quota, and was closed as if we had waited for it. "
        "No time-out runs for what the server itself does not read."
    ),
    "max-conns": (
        "With --max-conns open, do not accept: the others wait in the backlog. Do not watch the "
        "listening socket meanwhile either, it is readable all the time; when a connection has "
        "ended, accept one, and watch it again if there is room."
    ),
    "turned-away": (
        "Who waits for a descriptor is tried again and again for 3 s, and then told that there is "
        "none: give up the reserve, accept and close until nobody waits, take a reserve again."
    ),
    "reserve": (
        "It went well once. Afterwards a descriptor is held in reserve again, no other one has "
        "been lost, and the listening socket is watched as soon as there is one for a client."
    ),
    "lost-at-close": (
        "close() with input still unread is a reset, and that destroys replies on their way. "
        "First send all that is owed; then shutdown(SHUT_WR), and read and discard what comes "
        "until the peer ends too; then close()."
    ),
    "linger": (
        "At its end a connection waits for its peer, LINGER_MS from the last progress: from the "
        "last byte of its replies that was taken. What it sends then is no progress; and when the "
        "time is over it is closed, whatever is owed. That time runs only while something is to be "
        "taken, and not while an alarm is waited for."
    ),
}
