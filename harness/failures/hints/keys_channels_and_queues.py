"""The hints of docs/reading-failures.md#keys-channels-and-queues, by their keys."""

TEXTS = {
    "dict-loses": (
        "While the table grows or shrinks, an entry is in one of two tables. Look for it in both, "
        "put new ones into the new table, and take out of the one that has it. Moving a bucket "
        "moves all entries of its chain."
    ),
    "dict-grows": (
        "A table with as many entries as buckets needs a larger one. Keep both meanwhile: each "
        "call moves a few buckets, dict_insert(), dict_find() and dict_remove() alike. Count what "
        "was moved, and buckets that were empty, in `moves`."
    ),
    "dict-moves": (
        "No call may move more than a few buckets, however large the table is: keep both tables, "
        "and where you are. Count what was moved, and buckets that were empty, in `moves`. Grow "
        "and shrink at different counts: otherwise one key more or less moves everything again."
    ),
    "dict-shrinks": (
        "After removals the table may be far too large. Move to a smaller one, in steps as well, "
        "and free the old one when it is empty."
    ),
    "dict-pieces": (
        "A large table comes and goes in pieces, so that no client waits for all of it. "
        "table_new() clears nothing by itself. Call table_trim() with `next` in each step that "
        "moves buckets, and table_free() when all of them have moved."
    ),
    "dict-memory": (
        "If table_new() returns false there is no new table. Until you know that there is one, "
        "leave `main`, `from` and `next` as they are. The first table may be missing, too: then "
        "dict_insert() returns false, and the next call tries again."
    ),
    "dict-pause": (
        "One command pays for what others have left behind. Move and give back a few buckets with "
        "each call. free() must join free blocks at once, see start() in app_redis.c: otherwise "
        "the next large malloc() joins all of them."
    ),
    "freed-at-once": (
        "A thing of many pieces is freed some hundred at a time, with a timer of 0 ms, and other "
        "clients are served in between: see garbage.h. It is gone for all clients at once."
    ),
    "dict-scan": (
        "A cursor of SCAN stays valid while the table changes its size. While two tables are in "
        "use, an entry may be in either. Entries must stay in their bucket, or in those that "
        "dict_scan() visits together with it."
    ),
    "dict-cost": (
        "The cost of a key grows with the number of keys: chains get long. The table has to grow "
        "with its entries, and to be done with that before it is full again. The hash uses all "
        "bytes of the key."
    ),
    "dict-seed": (
        "If everybody knows the hash, a client can send keys that all go into one bucket. Take a "
        "seed from getrandom() for each table."
    ),
    "expiry-commands": (
        "SET and GETSET end the time to live of a key, commands that change a value keep it, and "
        "RENAME takes it along. EXPIRE with a time that is over removes the key. The options NX, "
        "XX, GT and LT are checked before anything is changed."
    ),
    "expiry-on-access": (
        "A key whose time is over is gone for every command, even if no timer has removed it yet. "
        "So the function that looks for a key compares the time, and removes the key."
    ),
    "expiry-moment": (
        "Time stands still while a command runs, and in EXEC while all its commands run. If each "
        "look-up reads the clock, a key ends between two of them: the second one frees a key that "
        "the command still uses. Read the clock once for each command."
    ),
    "expiry-late": (
        "A key is there until its end, and gone one millisecond after it. Keep the end in "
        "milliseconds: an end in seconds, or a time to live that is rounded, is early or late."
    ),
    "expiry-clock": (
        "The end of a key is a time of day, and that can be set. The timer of a key goes by the "
        "monotonic clock: when it rings, compare the end with the time of day. If the end is not "
        "reached, set the timer again."
    ),
    "expiry-far": (
        "A timer waits for at most 2^31 - 1 ms, which are not 25 days, and times need 64 bits. "
        "When the timer rings and the end is not reached, set it again."
    ),
    "expiry-idle": (
        "Keys expire while no command comes, too: otherwise those that nobody uses are never "
        "removed. A timer for each key with a time to live removes it and frees its value."
    ),
    "expiry-stale": (
        "A time to live belongs to one value of one key in one database. If the value is replaced "
        "or removed, or its time changes, cancel its timer. Otherwise the timer removes another "
        "value, or uses memory that was freed."
    ),
    "expiry-polls": (
        "Do not look for expired keys again and again. The nearest timer tells the loop how long "
        "it may sleep."
    ),
    "subscribe-count": (
        "SUBSCRIBE replies once for each channel, with the number of channels that this client has "
        "then; a channel that it has counts once. PUBLISH replies with how many clients it has "
        "reached. UNSUBSCRIBE without a channel leaves all, and replies even if there is none."
    ),
    "subscribe-pattern": (
        "A pattern counts like a channel: PSUBSCRIBE replies with the number of both. A message "
        "goes to the subscribers of its channel, then to those of each pattern that fits, as "
        "`pmessage`, the pattern, the channel and the text. PUBLISH counts each of them."
    ),
    "subscriber-mode": (
        "A client with at least one channel may send SUBSCRIBE, UNSUBSCRIBE, PING and QUIT. Others "
        "get the error of Redis, and PING has an array as its reply. After the last UNSUBSCRIBE "
        "the client is an ordinary one."
    ),
    "subscriber-left": (
        "When a connection ends, take it out of all its channels, before its memory is freed, and "
        "remove channels that nobody has any more."
    ),
    "client-listed": (
        "CLIENT LIST has found a connection that is being closed. When the coroutine that frees a "
        "connection waits for its operations, other code runs. So take the connection out of every "
        "list before that wait, and free its client after it."
    ),
    "client-left": (
        "A client has left, and what it waited for is still there. Whatever ends a connection, its "
        "channels, its patterns, its queue and its watches are forgotten and freed before it is."
    ),
    "subscriber-slow": (
        "Do not wait for a subscriber that does not read, and do not collect messages for it "
        "without end. If its output would be above high-water and one message, close it, log the "
        "reason, and do not count it. Publisher and other subscribers go on."
    ),
    "multi-queue": (
        "After MULTI a command is checked and kept, with a copy of its arguments, and the reply is "
        "QUEUED. EXEC runs all of them in order, and its reply is the array of their replies. "
        "After EXEC or DISCARD nothing is left of the queue."
    ),
    "multi-errors": (
        "If a command cannot be queued (unknown, or a wrong number of arguments), EXEC replies "
        "EXECABORT and runs none. An error in EXEC is only the reply of its own command: the "
        "others run. DISCARD forgets the mistake, too."
    ),
    "multi-left": (
        "A queue belongs to its connection: when that ends, nothing of it runs, and it is freed."
    ),
    "redis-no-memory": (
        "If there is no memory for what a command does, nothing changes, and its connection is "
        "closed: see call_no_memory(). So make all items before the first one is added to the "
        "list, or take those out again that were added."
    ),
    "subscribe-bound": (
        "Count the memory of the channels of a client, as that of its watched keys: see "
        "relation_fits(). Channels that it has left do not count any more. Its name is short, too."
    ),
    "multi-bound": (
        "Count the memory of the commands that wait for EXEC: their bytes, and what is kept for "
        "each argument. One that is too much is refused with an error, EXEC replies EXECABORT, and "
        "the memory of all of them is freed."
    ),
    "watch-keys": (
        "WATCH remembers keys of the selected database, also those that are not there. When one of "
        "them changes, mark every client that watches it, also the one that changes it. EXEC of a "
        "marked client runs nothing, and replies that there is no array: *-1."
    ),
    "watch-changes": (
        "Each change of a key has to be told to the clients that watch it: a new value, a change "
        "of the value in its place, another time to live, and each way to remove it. A command "
        "that changes nothing tells nobody."
    ),
    "watch-ends": (
        "A key whose time is over has changed, also if nothing has removed it yet. So EXEC looks "
        "for each watched key, which removes one that has ended. One that had ended before WATCH "
        "is not there, and does not change when it is removed."
    ),
    "watch-forgotten": (
        "EXEC, DISCARD, UNWATCH and the end of the connection forget all watched keys of a client, "
        "and its mark. Take each watch out of both lists and free it. A key that a client watches "
        "already is not added again, and what it watches may take 64 MiB."
    ),
    "redis-stop": (
        "When the server ends, cancel the timers of keys, free databases, channels, queues and "
        "watches, and exit with status 0. A value has one owner, which frees it once."
    ),
    "redis-options": (
        "With `--app redis` there is one loop, and RESP is the framing. `--threads` above 1 and "
        "`--framing` are wrong usage then: print the usage line on stderr and exit with status 2."
    ),
    "redis-differs": (
        "The last command shown has another reply here than in Redis. The commands before it are "
        "needed for that: try them one by one in redis-cli, on both servers."
    ),
    "others-client": (
        "This program was written for Redis, and does not get what Redis would reply. Try the last "
        "step by hand, with redis-cli or nc, and compare with the reply in docs/protocol.md."
    ),
    "others-wait": (
        "A program that was written for Redis waits for a reply that does not come. It may send "
        "many commands at once, and commands that you have not tried: answer each, also one that "
        "you do not know."
    ),
    "others-pipe": (
        "redis-cli --pipe sends everything while it reads replies, and counts them. Each command "
        "has exactly one reply. Go on reading while replies wait to be sent, up to high-water."
    ),
}
