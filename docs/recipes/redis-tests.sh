#!/bin/sh
# The tests of Redis itself, against a server of chapter 12 that is running already. They need tclsh
# (apt-get install tcl) and the source of Redis 7.0 (apt-get source redis, with a line deb-src):
#
#     make run CH=12 PORT=7000 ARGS="--app redis"     # in another terminal
#     sh docs/recipes/redis-tests.sh redis-7.0.15 7000 [unit/type/string...]
#
# A test is missing if it fails at a command or a setting that chapter 12 does not have. The status is
# 1 if any other test fails.
set -eu
source=$1 port=$2
shift 2
[ $# -gt 0 ] || set -- unit/type/string unit/type/incr unit/type/list unit/type/list-2 \
    unit/type/list-3 unit/keyspace unit/scan unit/expire unit/other unit/multi unit/quit \
    unit/pubsub unit/protocol unit/introspection

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir "$place/src"
cp -r "$source/tests" "$source/runtest" "$place"
cp "$source/src/version.h" "$place/src"
cd "$place"
# Before each unit the suite clears functions and changes settings, which chapter 12 refuses.
sed -i -e 's/^    r function flush/    catch {r function flush}/' \
    -e 's/^        r config set $param $val/        catch {r config set $param $val}/' \
    tests/support/server.tcl

# What is not in chapter 12 and does not say so: fields of CLIENT LIST and INFO, settings, scripts;
# and a test that counts the subscribers that missing ones leave behind.
cat >skipped <<'END'
EXEC and script timeout
just EXEC and script timeout
Regression for pattern matching very long nested loops
CLIENT LIST
CLIENT INFO
CLIENT LIST with IDs
CLIENT KILL SKIPME YES/NO will kill all clients
CONFIG GET hidden configs
CONFIG GET multiple args
Mix SUBSCRIBE and PSUBSCRIBE
END
for unit; do
    ./runtest --host 127.0.0.1 --port "$port" --singledb --durable --ignore-encoding \
        --ignore-digest --skipfile skipped --single "$unit" --tags \
        "-needs:debug -needs:repl -needs:save -needs:reset -needs:config-maxmemory -needs:latency" \
        >log 2>&1 || true
    sed -e 's/\x1b\[[0-9;]*m//g' -e '/The End/,$d' log | awk -v unit="$unit" '
        function close_test() {
            if (text ~ missing) lacking++
            else if (text != "") { failed++; print text }
            text = ""
        }
        BEGIN { missing = "ERR unknown (sub)?command|unknown command|ERR .*CONFIG SET|NOPROTO" }
        /^\[ok\]/ { passed++ }
        /^\[(err|exception)\]/ { close_test(); text = $0; lines = 1; next }
        /^\[/ { close_test() }
        text != "" && ++lines < 12 { text = text "\n  " $0 }
        END {
            close_test()
            printf "%-20s %3d passed  %3d failed  %3d missing\n", unit, passed, failed, lacking
            exit failed || !passed
        }' || status=1
done
exit ${status:-0}
