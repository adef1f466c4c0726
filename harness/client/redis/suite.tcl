# Runs one unit of Redis' own test suite for harness/client/redis/suite.py, which takes the place of
# the suite's test server. It is started in the source of Redis, with the options of test_helper.tcl.
#
# The suite is used as it is. What does not fit is changed in memory, when it has been read. A server
# that refuses FUNCTION FLUSH or a setting would end every unit before its first test.

set lab_missing {}
set lab_failed 0

rename source lab_source
proc source {path} {
    # The unit comes after everything that we change.
    if {[string match tests/unit/* $path]} {
        lab_report_in_fields
    }
    set result [uplevel 1 [list lab_source $path]]
    switch -- [file tail $path] {
        redis.tcl lab_notice_missing
        server.tcl lab_accept_refusals
    }
    return $result
}

proc lab_accept_refusals {} {
    set body [info body run_external_server_test]
    set body [string map {
        "r function flush" "catch {r function flush}"
        "r config set $param $val" "catch {r config set $param $val}"
    } $body]
    proc run_external_server_test [info args run_external_server_test] $body
}

# Keeps the first reply since the beginning of a test which says that the server lacks something.
proc lab_notice_missing {} {
    rename ::redis::redis_read_line ::redis::lab_read_line
    proc ::redis::redis_read_line fd {
        set line [lab_read_line $fd]
        if {$::lab_missing eq {} && [regexp $::env(LAB_SUITE_MISSING) $line]} {
            set ::lab_missing $line
        }
        return $line
    }
}

# What is sent to the test server: fields that a program in another language can take apart.
proc lab_report_in_fields {} {
    fconfigure $::test_server_fd -translation {auto binary}
    proc send_data_packet {fd status data {elapsed 0}} {
        if {$status eq {testing}} {
            # A test that has failed may have left clients behind: subscribed, in a transaction, or
            # with replies unread.
            if {$::lab_failed} {
                catch {reconnect}
                foreach {id socket} [array get ::redis::fd] {
                    if {![string match "*redisHandle$id" [srv 0 client]]} {
                        catch {close $socket}
                    }
                }
            }
            set ::lab_failed 0
            set ::lab_missing {}
        } elseif {$status eq {err}} {
            set ::lab_failed 1
        }
        set fields [list $status $data $::lab_missing]
        set payload [encoding convertto utf-8 [join $fields \x1f]]
        puts $fd [string length $payload]
        puts -nonewline $fd $payload
        flush $fd
    }
}

set argv0 tests/test_helper.tcl
source tests/test_helper.tcl
