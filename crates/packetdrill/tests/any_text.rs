//! Reading and running never panics, and always ends.

use proptest::prelude::*;
use queuewright_packetdrill::{Options, parse, run};
use std::path::Path;

/// Words of which scripts are made, and some that belong nowhere.
const WORDS: [&str; 66] = [
    "+0",
    "+.1",
    "0",
    "*",
    "+1~+2",
    "...",
    "<",
    ">",
    ".",
    "S",
    "S.",
    "P.",
    "F.",
    "-",
    "E.",
    "R",
    "1:1(0)",
    "0:0(0)",
    "1:1001(1000)",
    "1001:2001(1000)",
    "4294967295:4294967295(0)",
    "ack",
    "1",
    "1001",
    "win",
    "257",
    "65535",
    "<mss 1000,sackOK,nop,wscale 7>",
    "<sack 1001:2001,nop,nop>",
    "<nop,nop,TS val 1 ecr 2>",
    "<...>",
    "\n",
    "\n+0",
    "\n+.2",
    "socket(..., SOCK_STREAM, IPPROTO_TCP) = 3",
    "bind(3, ..., ...) = 0",
    "listen(3, 1) = 0",
    "accept(3, ..., ...) = 4",
    "connect(3, ..., ...) = 0",
    "write(4, ..., 5000) = 5000",
    "read(4, ..., 100) = 100",
    "close(4) = 0",
    "shutdown(4, SHUT_WR) = 0",
    "fcntl(3, F_SETFL, O_NONBLOCK) = 0",
    "poll",
    "poll([{fd=4, events=POLLIN, revents=POLLIN}], 1, 0) = 1",
    "epoll_create(1) = 5",
    "epoll_ctl(5, EPOLL_CTL_ADD, 4, {events=EPOLLIN|EPOLLOUT|EPOLLET, fd=4}) = 0",
    "epoll_wait(5, {events=EPOLLOUT, fd=4}, 1, 0) = 1",
    "setsockopt(4, SOL_SOCKET, SO_RCVBUF, [1], 4) = 0",
    "setsockopt(4, SOL_TCP, TCP_NOTSENT_LOWAT, [1], 4) = 0",
    "=",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "`sysctl net.ipv4.tcp_sack=1`",
    "%{ assert tcpi_snd_cwnd == 10 }%",
    "%{ x = (1 }%",
    "--mss=1000",
    "--tolerance_usecs=1",
    "\"",
    "/*",
    "//",
];

const OPEN: &str = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 bind(3, ..., ...) = 0\n+0 listen(3, 1) = 0\n\
    +0 < S 0:0(0) win 65535 <mss 1000,sackOK,nop,nop,nop,wscale 7>\n* > S. 0:0(0) ack 1 <...>\n+.1 < . 1:1(0) ack 1 win 1024\n\
    +0 accept(3, ..., ...) = 4\n";

fn try_it(text: &str) {
    if let Ok(script) = parse(text) {
        // No folder: nothing of this machine is read.
        run(&script, Path::new("/nonexistent"), &Options::default());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text(text in "\\PC*") {
        try_it(&text);
    }

    #[test]
    fn any_words(words in proptest::collection::vec(0..WORDS.len(), 0..40), opens in any::<bool>()) {
        let words: Vec<&str> = words.into_iter().map(|i| WORDS[i]).collect();
        try_it(&format!("{}{}", if opens { OPEN } else { "" }, words.join(" ")));
    }

    /// An open connection, to which anything comes.
    #[test]
    fn any_packets(packets in proptest::collection::vec((0u32..12, 0u32..12, 0u32..6, 0u32..12, 0u32..4, 0u32..2000), 1..40)) {
        let mut text = OPEN.to_string();
        for (seq, len, ack, sack, kind, win) in packets {
            let (seq, len) = (1 + seq * 700, len * 300);
            match kind {
                0 => text.push_str(&format!("+.01 write(4, ..., {}) = ...\n", len + 1)),
                1 => text.push_str("+.3 read(4, ..., 1000) = ...\n"),
                _ => text.push_str(&format!(
                    "+.01 < . {seq}:{}({len}) ack {} win {win} <sack {}:{},nop,nop>\n",
                    seq + len, 1 + ack * 1000, 1 + sack * 500, 1 + sack * 500 + 1000
                )),
            }
        }
        try_it(&text);
    }

    /// A connection of any kind, with buffers of any size, of which any part is acknowledged.
    #[test]
    fn any_connection(
        (sack, scaled, stamped, window) in (any::<bool>(), any::<bool>(), any::<bool>(), 0u32..70_000),
        (send, receive, unsent) in (0u32..40_000, 0u32..40_000, 0u32..3_000),
        steps in proptest::collection::vec((0u32..8, 0u32..9000, 0u32..9000, 0u32..3000), 1..40),
    ) {
        let options = [
            ("mss 1000", true),
            ("sackOK", sack),
            ("TS val 1 ecr 0", stamped),
            ("wscale 3", scaled),
        ];
        let options: Vec<_> = options.iter().filter(|o| o.1).map(|o| o.0).collect();
        let mut text = format!(
            "--mss=1000\n0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 setsockopt(3, SOL_SOCKET, SO_RCVBUF, [{receive}], 4) = 0\n\
             +0 bind(3, ..., ...) = 0\n+0 listen(3, 1) = 0\n+0 < S 0:0(0) win {} <{}>\n* > S. 0:0(0) ack 1 <...>\n\
             +.1 < . 1:1(0) ack 1 win {}\n+0 accept(3, ..., ...) = 4\n+0 fcntl(4, F_SETFL, O_RDWR|O_NONBLOCK) = 0\n\
             +0 setsockopt(4, SOL_SOCKET, SO_SNDBUF, [{send}], 4) = 0\n+0 setsockopt(4, SOL_TCP, TCP_NOTSENT_LOWAT, [{unsent}], 4) = 0\n",
            window.min(65_535), options.join(","), window.min(65_535)
        );
        for (kind, seq, len, win) in steps {
            match kind {
                0 => text.push_str(&format!("+.01 send(4, ..., {}, MSG_MORE) = ...\n", len * 9)),
                1 => text.push_str(&format!("+.01 write(4, ..., {}) = ...\n", len * 9)),
                2 => text.push_str(&format!("+.3 read(4, ..., {seq}) = ...\n")),
                3 => text.push_str(&format!("+.4 < . 1:1(0) ack {} win {win}\n", 1 + seq)),
                4 => text.push_str(&format!("+.001 < F. {}:{}({len}) ack 1 win {win}\n", 1 + seq, 1 + seq + len)),
                5 => text.push_str(&format!("+.01 setsockopt(4, SOL_SOCKET, SO_RCVBUF, [{len}], 4) = 0\n")),
                6 => text.push_str(&format!("+.01 < . 1:1(0) ack {} win {win}\n", 1 + seq % 2000)),
                _ => text.push_str(&format!("+.01 < P. {}:{}({len}) ack 1 win {win}\n", 1 + seq, 1 + seq + len)),
            }
        }
        try_it(&text);
    }
}
