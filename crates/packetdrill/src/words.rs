//! Names and arguments of system calls, as scripts write them.

use crate::epoll;
use crate::script::Expr;

/// A field of a structure.
pub fn field<'e>(fields: &'e [(Option<String>, Expr)], name: &str) -> Option<&'e Expr> {
    fields.iter().find(|f| f.0.as_deref() == Some(name)).map(|f| &f.1)
}

/// The events of a field.
pub fn field_mask(fields: &[(Option<String>, Expr)], name: &str) -> Option<u32> {
    match field(fields, name)? {
        Expr::Int(n) => u32::try_from(*n).ok(),
        other => epoll::mask(&other.words()),
    }
}

/// What epoll gives back with events.
pub fn field_data(fields: &[(Option<String>, Expr)]) -> i64 {
    ["fd", "ptr", "u32", "u64"].iter().find_map(|n| field(fields, n)).and_then(Expr::int).unwrap_or(0)
}

/// What a control message says of bytes left to read.
pub fn inq(all: &[Expr]) -> Option<i64> {
    all.iter().find_map(|e| match e {
        Expr::Struct(fields) => {
            let of = |name: &str| fields.iter().find(|f| f.0.as_deref() == Some(name)).map(|f| &f.1);
            match (of("cmsg_type").and_then(Expr::word), of("cmsg_data")) {
                (Some("TCP_CM_INQ"), Some(data)) => data.int(),
                _ => fields.iter().find_map(|f| inq(std::slice::from_ref(&f.1))),
            }
        }
        Expr::List(list) => inq(list),
        _ => None,
    })
}

/// Bytes of the vectors in the arguments: `{..., 1000}`.
pub fn vector_bytes(all: &[Expr]) -> Option<i64> {
    let mut sum = None;
    for e in all {
        let more = match e {
            Expr::Struct(fields) => match fields.as_slice() {
                [(None, Expr::Any), (None, Expr::Int(n))] => Some(*n),
                fields if fields.iter().any(|f| f.0.as_deref() == Some("cmsg_type")) => None,
                fields => fields
                    .iter()
                    .filter_map(|f| vector_bytes(std::slice::from_ref(&f.1)))
                    .reduce(|a, b| a.saturating_add(b)),
            },
            Expr::List(list) => vector_bytes(list),
            _ => None,
        };
        if let Some(n) = more {
            sum = Some(sum.unwrap_or(0i64).saturating_add(n));
        }
    }
    sum
}

/// Names that packetdrill sets for code.
pub fn constant(name: &str) -> Option<i64> {
    Some(match name {
        "TCP_CA_Open" => 0,
        "TCP_CA_Disorder" => 1,
        "TCP_CA_CWR" => 2,
        "TCP_CA_Recovery" => 3,
        "TCP_CA_Loss" => 4,
        "TCP_ESTABLISHED" => 1,
        "TCP_SYN_SENT" => 2,
        "TCP_SYN_RECV" => 3,
        "TCP_FIN_WAIT1" => 4,
        "TCP_FIN_WAIT2" => 5,
        "TCP_TIME_WAIT" => 6,
        "TCP_CLOSE" => 7,
        "TCP_CLOSE_WAIT" => 8,
        "TCP_LAST_ACK" => 9,
        "TCP_LISTEN" => 10,
        "TCP_CLOSING" => 11,
        "TCPI_OPT_TIMESTAMPS" => 1,
        "TCPI_OPT_SACK" => 2,
        "TCPI_OPT_WSCALE" => 4,
        "TCPI_OPT_ECN" => 8,
        "TCPI_OPT_ECN_SEEN" => 16,
        "TCPI_OPT_SYN_DATA" => 32,
        _ => return None,
    })
}

/// A number, or names that stand for one.
pub fn number_of(e: &Expr) -> Option<i64> {
    match e {
        Expr::Int(n) => Some(*n),
        Expr::Word(name) => Some(NUMBERS.iter().find(|n| n.0 == name)?.1),
        Expr::Or(all) => all.iter().try_fold(0, |sum, e| Some(sum | number_of(e)?)),
        Expr::List(list) if list.len() == 1 => number_of(&list[0]),
        _ => None,
    }
}

/// Numbers of Linux on x86-64 and arm64.
pub const NUMBERS: [(&str, i64); 62] = [
    ("SOCK_STREAM", 1),
    ("SOCK_NONBLOCK", 0o4000),
    ("SOCK_CLOEXEC", 0o2_000_000),
    ("O_RDONLY", 0),
    ("O_WRONLY", 1),
    ("O_RDWR", 2),
    ("O_NONBLOCK", 0o4000),
    ("F_GETFL", 3),
    ("F_SETFL", 4),
    ("SHUT_RD", 0),
    ("SHUT_WR", 1),
    ("SHUT_RDWR", 2),
    ("SIOCINQ", 0x541b),
    ("FIONREAD", 0x541b),
    ("MSG_PEEK", 0x2),
    ("MSG_TRUNC", 0x20),
    ("MSG_DONTWAIT", 0x40),
    ("MSG_EOR", 0x80),
    ("MSG_WAITALL", 0x100),
    ("MSG_NOSIGNAL", 0x4000),
    ("MSG_MORE", 0x8000),
    ("MSG_ZEROCOPY", 0x400_0000),
    ("SOL_SOCKET", 1),
    ("SOL_TCP", 6),
    ("IPPROTO_TCP", 6),
    ("SOL_IP", 0),
    ("IPPROTO_IP", 0),
    ("SO_REUSEADDR", 2),
    ("SO_ERROR", 4),
    ("SO_SNDBUF", 7),
    ("SO_RCVBUF", 8),
    ("SO_KEEPALIVE", 9),
    ("SO_PRIORITY", 12),
    ("SO_REUSEPORT", 15),
    ("SO_RCVLOWAT", 18),
    ("SO_SNDBUFFORCE", 32),
    ("SO_RCVBUFFORCE", 33),
    ("SO_MARK", 36),
    ("SO_BUSY_POLL", 46),
    ("SO_MAX_PACING_RATE", 47),
    ("SO_ZEROCOPY", 60),
    ("IP_TOS", 1),
    ("IP_TTL", 2),
    ("IP_MTU_DISCOVER", 10),
    ("TCP_NODELAY", 1),
    ("TCP_MAXSEG", 2),
    ("TCP_CORK", 3),
    ("TCP_KEEPIDLE", 4),
    ("TCP_KEEPINTVL", 5),
    ("TCP_KEEPCNT", 6),
    ("TCP_SYNCNT", 7),
    ("TCP_LINGER2", 8),
    ("TCP_DEFER_ACCEPT", 9),
    ("TCP_WINDOW_CLAMP", 10),
    ("TCP_QUICKACK", 12),
    ("TCP_THIN_LINEAR_TIMEOUTS", 16),
    ("TCP_THIN_DUPACK", 17),
    ("TCP_USER_TIMEOUT", 18),
    ("TCP_TIMESTAMP", 24),
    ("TCP_NOTSENT_LOWAT", 25),
    ("TCP_SAVE_SYN", 27),
    ("TCP_INQ", 36),
];

/// The name of an error's number.
pub fn errno(number: u32) -> &'static str {
    ERRORS.iter().find(|e| e.0 == number).map_or("an error of another number", |e| e.1)
}

const ERRORS: [(u32, &str); 34] = [
    (1, "EPERM"),
    (2, "ENOENT"),
    (4, "EINTR"),
    (5, "EIO"),
    (9, "EBADF"),
    (11, "EAGAIN"),
    (12, "ENOMEM"),
    (13, "EACCES"),
    (14, "EFAULT"),
    (16, "EBUSY"),
    (17, "EEXIST"),
    (22, "EINVAL"),
    (25, "ENOTTY"),
    (32, "EPIPE"),
    (71, "EPROTO"),
    (88, "ENOTSOCK"),
    (89, "EDESTADDRREQ"),
    (90, "EMSGSIZE"),
    (92, "ENOPROTOOPT"),
    (95, "EOPNOTSUPP"),
    (98, "EADDRINUSE"),
    (99, "EADDRNOTAVAIL"),
    (101, "ENETUNREACH"),
    (103, "ECONNABORTED"),
    (104, "ECONNRESET"),
    (105, "ENOBUFS"),
    (106, "EISCONN"),
    (107, "ENOTCONN"),
    (110, "ETIMEDOUT"),
    (111, "ECONNREFUSED"),
    (113, "EHOSTUNREACH"),
    (114, "EALREADY"),
    (115, "EINPROGRESS"),
    (125, "ECANCELED"),
];
