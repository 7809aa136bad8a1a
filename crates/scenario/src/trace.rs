//! Link traces in the common format: one line per opportunity to send one
//! 1500-byte packet, in milliseconds from the start.

use crate::error::{Error, Place};
use crate::limits::TRACE;
use crate::rate::Trace;
use crate::units::quote;

/// Latest time in a trace, milliseconds: a thousand hours.
pub const MAX_MS: u64 = 3_600_000_000;

/// Reads a trace: lines of whole milliseconds that do not fall. A time that is
/// written n times allows n packets in that millisecond. The trace repeats with
/// the last time as its period, as mahimahi has it. `name` is for errors.
///
/// # Errors
/// A line that is not a number, falls or is beyond [`MAX_MS`]; no line; no time above 0.
pub fn parse(bytes: &[u8], name: &str) -> Result<Trace, Error> {
    let fail = |line: usize, found: Option<&[u8]>, message: &str| {
        let place = Place::File { name: name.to_string(), line };
        let mut e = Error::new(place, "", message);
        e.found = found.map(|f| format!("\"{}\"", quote(&String::from_utf8_lossy(&f[..f.len().min(300)]))));
        e
    };
    // All is looked at before any of it is kept.
    let mut lines = 0;
    let mut last = 0u64;
    let body = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let body = body.strip_suffix(b"\n").unwrap_or(body);
    if body.is_empty() {
        return Err(fail(
            0,
            None,
            "an empty trace; write one line per 1500-byte packet that the link can send, in milliseconds from the start",
        ));
    }
    for (i, line) in body.split(|b| *b == b'\n').enumerate() {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let digits = line.trim_ascii();
        if digits.is_empty() {
            return Err(fail(
                i + 1,
                None,
                "an empty line; each line of a trace is a time in whole milliseconds",
            ));
        }
        let time = number(digits).ok_or_else(|| {
            fail(i + 1, Some(line), "not a time in whole milliseconds from the start, such as 17")
        })?;
        if time > MAX_MS {
            return Err(fail(i + 1, Some(line), "too late; a trace may be 3600000000 ms (1000 hours) long"));
        }
        if time < last {
            return Err(fail(
                i + 1,
                Some(line),
                &format!("before the line above it ({last}); times of a trace do not fall"),
            ));
        }
        last = time;
        lines += 1;
    }
    if lines as u64 > TRACE.items.0 {
        return Err(fail(0, None, &format!("more than {} lines", TRACE.items.0)));
    }
    if last == 0 {
        return Err(fail(
            0,
            None,
            "every time in this trace is 0; it repeats after its last time, which must be above 0",
        ));
    }
    let mut opportunities_ns = Vec::with_capacity(lines);
    let times = body.split(|b| *b == b'\n').filter_map(|line| number(line.trim_ascii()));
    opportunities_ns.extend(times.map(|ms| ms * 1_000_000));
    Ok(Trace { opportunities_ns, period_ns: last * 1_000_000 })
}

/// Of digits alone; what is too large is the largest.
fn number(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0u64, |n, b| {
        b.is_ascii_digit().then(|| n.saturating_mul(10).saturating_add(u64::from(b - b'0')))
    })
}

/// Mean rate of a trace, bit/s of 1500-byte packets, rounded down.
pub fn mean_rate(trace: &Trace) -> u64 {
    let bits = trace.opportunities_ns.len() as u128 * 12_000;
    u64::try_from(bits * 1_000_000_000 / u128::from(trace.period_ns.max(1))).unwrap_or(u64::MAX)
}
