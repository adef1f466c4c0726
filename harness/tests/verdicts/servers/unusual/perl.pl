#!/usr/bin/perl
# Unusual: Perl, and a tick. perl.pl PORT
#
# Waits in select(), whose bit strings in Perl are as long as they have to be. Perl runs a signal
# handler only between two operations, and a signal that comes right before select() would wait
# with it: so select() returns once a second. Right, since one look a second is no CPU time worth
# mentioning.
use strict;
use warnings;
use Errno;
use IO::Handle;
use Socket qw(:DEFAULT IPPROTO_TCP TCP_NODELAY);

use constant {
    MAX_FRAME   => 32 << 20,
    READ_BYTES  => 64 << 10,
    TICK        => 1,
    HEADER_SIZE => 4,
};

my %clients;    # by descriptor: handle, data, start and whole (offsets in data), ending
my ($in, $out) = ('', '');    # who waits for what, as select() wants it
my $stop = 0;
$SIG{TERM} = $SIG{INT} = sub { $stop = 1 };
$SIG{PIPE} = 'IGNORE';

socket(my $listener, PF_INET, SOCK_STREAM, 0) or die "socket: $!";
setsockopt($listener, SOL_SOCKET, SO_REUSEADDR, 1) or die "setsockopt: $!";
bind($listener, pack_sockaddr_in($ARGV[-1], INADDR_LOOPBACK)) or die "bind: $!";
listen($listener, SOMAXCONN) or die "listen: $!";
$listener->blocking(0);

my $has_room = 1;
until ($stop) {
    vec($in, fileno $listener, 1) = $has_room;    # without a descriptor it would stay readable
    my $count = select my $readable = $in, my $writable = $out, undef, TICK;
    next if $count < 0;    # EINTR: the bits say nothing
    for my $fd ($count ? keys %clients : ()) {
        next unless vec($readable, $fd, 1) || vec($writable, $fd, 1);
        set_interest($fd, turn($clients{$fd}));
    }
    $has_room = accept_all() if !$has_room || vec($readable, fileno $listener, 1);
}

# False: no descriptor was left for somebody.
sub accept_all {
    while (1) {
        if (accept(my $handle, $listener)) {
            $handle->blocking(0);
            setsockopt($handle, IPPROTO_TCP, TCP_NODELAY, 1);
            $clients{ fileno $handle } = { handle => $handle, data => '', start => 0, whole => 0 };
            set_interest(fileno $handle, 1);
            next;
        }
        next if $!{EINTR} || $!{ECONNABORTED};
        return $!{EAGAIN};
    }
}

# Lets a client that is well wait for what it needs next, and forgets any other.
sub set_interest {
    my ($fd, $is_well) = @_;
    my $c = $clients{$fd};
    my $owes = $c->{start} < $c->{whole};
    vec($in,  $fd, 1) = $is_well && !$owes;
    vec($out, $fd, 1) = $is_well && $owes;
    delete $clients{$fd} unless $is_well;    # nobody else has the handle: this closes it
}

sub is_well { return defined $_[0] || $!{EAGAIN} || $!{EINTR} }

# Reads, unless something is owed, and sends what is taken. False: the connection is over.
sub turn {
    my ($c) = @_;
    if ($c->{start} == $c->{whole}) {
        my $n = sysread $c->{handle}, $c->{data}, READ_BYTES, length $c->{data};
        return 0 unless is_well($n);
        $c->{ending} = 1 if defined $n && $n == 0;
        find_frames($c);
    }
    while ($c->{start} < $c->{whole}) {
        my $size = $c->{whole} - $c->{start};
        my $n = syswrite $c->{handle}, $c->{data}, $size, $c->{start};
        return is_well($n) unless defined $n;
        $c->{start} += $n;
    }
    if ($c->{whole}) {
        my $rest = substr $c->{data}, $c->{whole};
        undef $c->{data};    # gives the memory back, which an empty string would keep
        @$c{qw(data start whole)} = ($rest, 0, 0);
    }
    return !$c->{ending};
}

# A frame is its own reply: `whole` is where the last complete one ends.
sub find_frames {
    my ($c) = @_;
    while (!$c->{ending} && length($c->{data}) - $c->{whole} >= HEADER_SIZE) {
        my $length = unpack 'V', substr $c->{data}, $c->{whole}, HEADER_SIZE;
        $c->{ending} = $length > MAX_FRAME;
        last if $c->{ending} || length($c->{data}) - $c->{whole} - HEADER_SIZE < $length;
        $c->{whole} += HEADER_SIZE + $length;
    }
}
