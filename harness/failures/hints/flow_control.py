"""The hints of docs/reading-failures.md#flow-control, by their keys."""

TEXTS = {
    "budget-used-up": (
        "The budget ended the iteration before all work was done, and the remaining work was "
        "never resumed. Frames in the buffer, input that a full read has left, and a socket that "
        "is still writable cause no new event. Whenever the budget stops you, request another call "
        "in the next iteration."
    ),
    "flow-room": (
        "flow_room() returns the smaller of two numbers: the free space below high-water, and what "
        "is left of the budget, which is whole after flow_begin_turn(). It is 0 from high-water on "
        "and while the connection is suspended."
    ),
    "flow-spend": (
        "flow_spend() takes the cost from the budget. If the cost is larger than what is left, it "
        "takes that and no more. The budget is unsigned: below 0 it would be very large."
    ),
    "again-in-vain": (
        "flow_end_turn() requested another call although there is nothing to do in it, so the loop "
        "would never sleep. Request one only if the budget is used up, or if input is unread and "
        "the connection may be read now."
    ),
    "iteration-too-long": (
        "A few clients kept the loop busy for long. The budget of one client per iteration has to "
        "count its messages as well as its bytes, so that others are served. And what a client "
        "leaves behind, such as its alarms, has to be freed some at a time."
    ),
    "reads-ahead": (
        "The server read faster than it answered, so its input buffer grew as long as the client "
        "sent. Read only while some budget is left: frames that have been read come first, and "
        "what the client sends meanwhile waits in the kernel."
    ),
    "calls-cost-nothing": (
        "One client made very many calls necessary, and each call delays the others as much as "
        "sending some KiB. Let each send() take CALL_COST of the budget, beside its bytes. A "
        "callback of an alarm only adds its reply to the output: the next turn sends them together."
    ),
    "accepts-all": (
        "accept() is called until no client is left. With many new clients that takes long, and "
        "the connected clients wait. Accept a bounded number per iteration, then request another "
        "call, because an edge reports the remaining clients only once."
    ),
    "accepts-rest": (
        "An iteration accepts a bounded number of clients, and the others go on waiting. An edge "
        "reports them only once, so whenever the bound stops you, request another call in the next "
        "iteration."
    ),
    "water-marks": (
        "When the output reaches high-water (>=), suspend reading until it is down to low-water "
        "(<=). Between the two nothing changes. Check this whenever output was added or sent."
    ),
    "wants-input": (
        "The state comes first. A lingering connection is always read, until its client closes, "
        "and one that drains or is closed is never read. The marks and the quota count only while "
        "the connection is open."
    ),
    "quota-kept": (
        "A connection may have N frames answered per interval, which begins with the first of "
        "them. Count each answered frame for its own connection. Frames over N wait for the next "
        "interval: do not answer them early, drop them, or close the connection."
    ),
    "quota-renewed": (
        "The interval was over, and the waiting frames were not answered in time. When its timer "
        "fires, reset the quota and parse the frames that are already in the buffer. No event "
        "will report them."
    ),
    "quota-early": (
        "A new interval began too early. An interval begins when its first frame is answered: not "
        "when bytes arrive, not at fixed times, and not with the connection. It lasts the whole "
        "time of --quota."
    ),
    "quota-late": (
        "A new interval began too late. The timer is set when the first frame of an interval is "
        "answered, and for the time of --quota. Further frames do not set it again, and nothing "
        "is added to it or rounded."
    ),
    "quota-timer": (
        "The first frame of an interval sets its timer, once, and not as a recurring one; further "
        "frames leave it as it is. If it cannot be set, for want of memory, do not count the "
        "frames: nothing would ever refill the quota."
    ),
    "quota-unread": (
        "While the quota is used up, do not request input: the loop would be woken for input that "
        "it may not read. What the client sends then waits in the kernel, and finally at the "
        "client. If no frame was answered, no interval runs."
    ),
    "quota-held": (
        "One client had to wait for its next interval, and the others waited with it. To wait "
        "means to set a timer and to return to the loop."
    ),
    "quota-timeouts": (
        "The server did not read from this client because of its quota, then closed it as if the "
        "client were late. No timeout may run while the server itself does not read."
    ),
    "max-conns": (
        "With --max-conns connections open, do not accept: the other clients wait in the backlog. "
        "Do not watch the listening socket meanwhile, because it is always readable. When a "
        "connection has ended, accept one, and watch the socket again if another one is allowed."
    ),
    "turns-all-away": (
        "All clients that wait are turned away in one iteration. While others go on connecting "
        "that never ends, and the connected clients wait. Turn away ACCEPT_BUDGET clients at most, "
        "and the others in the next iterations."
    ),
    "tries-at-once": (
        "The server tries again and again without a pause. turn_away() returns true only if it has "
        "turned away ACCEPT_BUDGET clients, since then more may wait. Else the next try comes "
        "after ACCEPT_PAUSE_MS."
    ),
    "turned-away": (
        "The server has no descriptor left. Try to accept the waiting client for 3 s, then turn "
        "it away: close the reserve descriptor, accept and close clients that wait, ACCEPT_BUDGET "
        "in an iteration at most, and open the reserve again."
    ),
    "reserve": (
        "This worked once, but not a second time. Afterwards the server has to hold a reserve "
        "descriptor again and to have leaked none. It has to watch the listening socket as soon "
        "as a descriptor is free for a client."
    ),
    "refuses-early": (
        "Later clients were turned away too early. The 3 s begin with a failed try after one that "
        "succeeded, or after clients were turned away. So a successful accept() sets the count of "
        "failures to 0; once clients have been turned away, the count begins again."
    ),
    "lost-at-close": (
        "close() with unread input sends a reset, which destroys replies that are still on their "
        "way. First send every reply that is owed, and call shutdown(SHUT_WR). Then read and "
        "discard until the peer has closed too, and only then call close()."
    ),
    "linger-early": (
        "A closing connection was closed while its peer still had time. The peer has LINGER_MS "
        "since it last took bytes of the replies, or since the FIN was sent. Bytes that the "
        "peer's kernel has received count, although no event reports them."
    ),
    "linger": (
        "A closing connection waits for its peer at most LINGER_MS since the last progress, which "
        "means since the peer last took bytes of the replies. Input is not progress, and when the "
        "time is over the connection is closed, whatever is owed. The time runs only while there "
        "is something to send, not while the connection waits for an alarm."
    ),
    "linger-end": (
        "A client has closed after the FIN of the server, and its connection is still there. While "
        "it lingers read() returns 0 at the FIN of the client: nothing is left to wait for, so "
        "close the connection at once. LINGER_MS is for a client that does not close."
    ),
}
