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
