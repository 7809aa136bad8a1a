//! The bytes of tc's requests; and those between tc and the kernel module, `module/options.h` in Rust.

use crate::words::QdiscRequest;
use queuewright_aqm::REASONS;
use queuewright_aqm::counters::{SOJOURNS, sojourn_below_ns};
use std::{ptr, slice};

/// `QW_OPTION_*`.
pub(crate) const LIMIT: u16 = 1;
pub(crate) const LIMIT_BYTES: u16 = 2;
pub(crate) const PARAM: u16 = 3;
pub(crate) const WEIGHTS: u16 = 4;

/// Of linux/rtnetlink.h.
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
/// `NLM_F_CREATE` of linux/netlink.h.
const CREATE: u16 = 0x400;
/// tc's buffer has 64 KiB after the header.
const MOST: usize = 65_000;
/// `struct nlmsghdr`, and with the `struct tcmsg` behind it.
const HEADER: usize = 16;
const ATTRIBUTES: usize = 36;
/// `tcm_parent` in the message, and what it is of a root: `TC_H_ROOT`.
const PARENT: usize = 28;
const ROOT: u32 = u32::MAX;

/// A request that tc is about to send.
pub(crate) struct Request(*mut u8);

impl Request {
    /// # Safety
    /// `message` is a netlink message in a buffer of 64 KiB that lives as long as the request.
    pub unsafe fn new(message: *mut u8) -> Self {
        Request(message)
    }

    fn length(&self) -> usize {
        // SAFETY: the header is there; nothing is known of its alignment.
        unsafe { ptr::read_unaligned(self.0.cast::<u32>()) as usize }
    }

    /// Is a qdisc to be made (`add`, `replace`), or one to be changed?
    pub fn creates(&self) -> bool {
        // SAFETY: as in `length`.
        let flags = unsafe { ptr::read_unaligned(self.0.add(6).cast::<u16>()) };
        flags & CREATE != 0
    }

    /// Is it to be the root of its device?
    pub fn is_root(&self) -> bool {
        // SAFETY: as in `length`; a qdisc's request has a `struct tcmsg`.
        self.length() >= ATTRIBUTES
            && unsafe { ptr::read_unaligned(self.0.add(PARENT).cast::<u32>()) == ROOT }
    }

    /// Has the kernel look for another kind, known by this name; tc has written the kind that it was told.
    pub fn set_kind(&mut self, kind: &str) -> Result<(), String> {
        // SAFETY: the whole message is there.
        let all = unsafe { slice::from_raw_parts(self.0, self.length()) };
        let mut new = all.get(..ATTRIBUTES).unwrap_or_default().to_vec();
        let mut rest = all.get(ATTRIBUTES..).unwrap_or_default();
        while let [a, b, c, d, ..] = *rest {
            let length = usize::from(u16::from_ne_bytes([a, b]));
            let (whole, what) = (length.next_multiple_of(4), u16::from_ne_bytes([c, d]));
            match what {
                TCA_KIND => attribute(&mut new, TCA_KIND, &[kind.as_bytes(), &[0]].concat()),
                _ => new.extend(rest.get(..whole).unwrap_or(rest)),
            }
            rest = rest.get(whole.max(4)..).unwrap_or_default();
        }
        self.write(&new)
    }

    fn write(&mut self, message: &[u8]) -> Result<(), String> {
        if !(HEADER..=MOST).contains(&message.len()) {
            return Err("these options do not fit into a message".into());
        }
        // SAFETY: it fits into the buffer, and the length is at its beginning.
        unsafe {
            ptr::copy_nonoverlapping(message.as_ptr(), self.0, message.len());
            ptr::write_unaligned(self.0.cast::<u32>(), message.len() as u32);
        }
        Ok(())
    }

    /// Appends `TCA_OPTIONS`.
    pub fn put(&mut self, wish: &QdiscRequest) -> Result<(), String> {
        let mut inside = Vec::new();
        if let Some(limit) = wish.limit {
            attribute(&mut inside, LIMIT, &limit.to_ne_bytes());
        }
        if let Some(bytes) = wish.limit_bytes {
            attribute(&mut inside, LIMIT_BYTES, &bytes.to_ne_bytes());
        }
        for (name, value) in &wish.params {
            attribute(&mut inside, PARAM, &[&value.to_ne_bytes(), name.as_bytes(), &[0]].concat());
        }
        if let Some(weights) = &wish.weights {
            let bytes: Vec<u8> = weights.iter().flat_map(|w| w.to_ne_bytes()).collect();
            attribute(&mut inside, WEIGHTS, &bytes);
        }
        // SAFETY: the whole message is there.
        let mut whole = unsafe { slice::from_raw_parts(self.0, self.length()) }.to_vec();
        whole.resize(whole.len().next_multiple_of(4), 0);
        attribute(&mut whole, TCA_OPTIONS, &inside);
        self.write(&whole)
    }
}

/// `struct nlattr`, its payload, padding.
fn attribute(out: &mut Vec<u8>, kind: u16, payload: &[u8]) {
    // No payload of ours is near 64 KiB but for a request that `put` refuses.
    let length = u16::try_from(payload.len() + 4).unwrap_or(u16::MAX);
    out.extend(length.to_ne_bytes());
    out.extend(kind.to_ne_bytes());
    out.extend(payload);
    out.resize(out.len().next_multiple_of(4), 0);
}

/// The payload of an attribute; None: there is none.
///
/// # Safety
/// `attribute` is null or points to a whole attribute.
pub(crate) unsafe fn payload<'a>(attribute: *const u8) -> Option<&'a [u8]> {
    if attribute.is_null() {
        return None;
    }
    // SAFETY: see above.
    unsafe {
        let length = usize::from(ptr::read_unaligned(attribute.cast::<u16>()));
        Some(slice::from_raw_parts(attribute.add(4), length.checked_sub(4)?))
    }
}

/// What a qdisc says of its options.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Options {
    pub limit: Option<u32>,
    pub limit_bytes: Option<u64>,
    /// Names and numbers, as the module has them.
    pub params: Vec<(String, u64)>,
}

pub(crate) fn read(mut bytes: &[u8]) -> Options {
    let mut out = Options::default();
    while let Some((head, rest)) = bytes.split_first_chunk::<4>() {
        let length = usize::from(u16::from_ne_bytes([head[0], head[1]]));
        let Some(payload) = length.checked_sub(4).and_then(|n| rest.get(..n)) else { break };
        // Its two highest bits are flags.
        match u16::from_ne_bytes([head[2], head[3]]) & 0x3fff {
            LIMIT => out.limit = payload.try_into().ok().map(u32::from_ne_bytes),
            LIMIT_BYTES => out.limit_bytes = payload.try_into().ok().map(u64::from_ne_bytes),
            PARAM => {
                if let Some((number, name)) = payload.split_first_chunk::<8>() {
                    let name = String::from_utf8_lossy(name).trim_end_matches('\0').to_string();
                    out.params.push((name, u64::from_ne_bytes(*number)));
                }
            }
            _ => {}
        }
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    out
}

/// `struct qw_statistics`.
#[derive(Debug)]
pub(crate) struct Statistics {
    pub arrived: [u64; 2],
    pub sent: [u64; 2],
    pub drops: [u64; REASONS],
    pub marks: [u64; REASONS],
    pub sojourn_ns: u64,
    pub sojourn_sum_ns: u64,
    pub sojourns: [u64; SOJOURNS],
    /// In the order of the registry's probes.
    pub variables: Vec<f64>,
}

impl Statistics {
    /// None: it is shorter than this version's.
    pub fn read(bytes: &[u8]) -> Option<Statistics> {
        let (words, _) = bytes.as_chunks::<8>();
        let mut words = words.iter().map(|w| u64::from_ne_bytes(*w));
        fn take<const N: usize>(words: &mut impl Iterator<Item = u64>) -> Option<[u64; N]> {
            let mut out = [0; N];
            for slot in &mut out {
                *slot = words.next()?;
            }
            Some(out)
        }
        let mut statistics = Statistics {
            arrived: take(&mut words)?,
            sent: take(&mut words)?,
            drops: take(&mut words)?,
            marks: take(&mut words)?,
            sojourn_ns: words.next()?,
            sojourn_sum_ns: words.next()?,
            sojourns: take(&mut words)?,
            variables: Vec::new(),
        };
        let count = words.next()?;
        for _ in 0..count {
            let [value, unit] = take(&mut words)?;
            statistics.variables.push(value.cast_signed() as f64 / unit.max(1) as f64);
        }
        Some(statistics)
    }

    /// Mean sojourn time of what was sent, ns.
    pub fn mean_ns(&self) -> u64 {
        self.sojourn_sum_ns.checked_div(self.sent[0]).unwrap_or(0)
    }

    /// 99 % of the packets waited no longer than this, ns: the end of an octave.
    pub fn most_ns(&self) -> u64 {
        sojourn_below_ns(&self.sojourns, 0.99)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::{Command, Stdio};

    #[test]
    fn what_is_put_can_be_read() {
        let mut message = vec![0u8; 70_000];
        message[..4].copy_from_slice(&36u32.to_ne_bytes());
        message[6..8].copy_from_slice(&CREATE.to_ne_bytes());
        let wish = QdiscRequest {
            limit: Some(9),
            limit_bytes: Some(1 << 40),
            params: vec![("ecn", 1), ("mtu", 1514)],
            ..QdiscRequest::default()
        };
        // SAFETY: a buffer of more than 64 KiB.
        let mut request = unsafe { Request::new(message.as_mut_ptr()) };
        assert!(request.creates());
        request.put(&wish).expect("it fits");
        let length = request.length();
        // SAFETY: the attribute was written a moment ago.
        let inside = unsafe { payload(message[36..].as_ptr()) }.expect("an attribute");
        assert_eq!(36 + 4 + inside.len(), length);
        let found = read(inside);
        assert_eq!((found.limit, found.limit_bytes), (Some(9), Some(1 << 40)));
        assert_eq!(found.params, [("ecn".to_string(), 1), ("mtu".to_string(), 1514)]);
        assert!(!request.is_root());
        request.set_kind("bpf_codel_2").expect("it fits");
        assert_eq!(request.length(), length);
        let huge = QdiscRequest { weights: Some(vec![0; 40_000]), ..QdiscRequest::default() };
        // SAFETY: as above.
        assert!(unsafe { Request::new(message.as_mut_ptr()) }.put(&huge).is_err());
    }

    #[test]
    fn another_kind_stands_where_the_first_one_stood() {
        let mut message = vec![0u8; 70_000];
        let mut inside = vec![0; ATTRIBUTES];
        inside[PARENT..PARENT + 4].fill(0xff);
        attribute(&mut inside, TCA_KIND, b"bpf_duk\0");
        attribute(&mut inside, 5, b"estimator");
        message[..inside.len()].copy_from_slice(&inside);
        message[..4].copy_from_slice(&(inside.len() as u32).to_ne_bytes());
        // SAFETY: a buffer of more than 64 KiB.
        let mut request = unsafe { Request::new(message.as_mut_ptr()) };
        assert!(request.is_root());
        request.set_kind("bpf_duk_12").expect("it fits");
        let mut expected = inside[..ATTRIBUTES].to_vec();
        attribute(&mut expected, TCA_KIND, b"bpf_duk_12\0");
        attribute(&mut expected, 5, b"estimator");
        assert_eq!(request.length(), expected.len());
        assert_eq!(message[4..expected.len()], expected[4..]);
    }

    /// A C compiler lays `struct qw_statistics` out, with a number of its own in each place; `Statistics` finds them there.
    #[test]
    fn the_module_has_the_same_in_c() {
        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join("statistics");
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        let source = format!(
            "#include <stdio.h>\n#include \"options.h\"\n\
             _Static_assert(QW_OPTION_LIMIT == {LIMIT} && QW_OPTION_LIMIT_BYTES == {LIMIT_BYTES}, \"\");\n\
             _Static_assert(QW_OPTION_PARAM == {PARAM} && QW_OPTION_WEIGHTS == {WEIGHTS}, \"\");\n\
             _Static_assert(QW_REASONS == {REASONS} && QW_SOJOURNS == {SOJOURNS}, \"\");\n\
             int main(void)\n{{\n\tstruct qw_statistics s = {{\n\
             \t\t.arrived_packets = 1, .arrived_bytes = 2, .sent_packets = 3, .sent_bytes = 4,\n\
             \t\t.drops = {{ 5, 6 }}, .marks = {{ 7, 8 }}, .sojourn_ns = 9, .sojourn_sum_ns = 10,\n\
             \t\t.sojourns = {{ 11, [QW_SOJOURNS - 1] = 12 }}, .variables = QW_VARIABLES,\n\
             \t\t.variable = {{ {{ -13, 2 }}, [QW_VARIABLES - 1] = {{ 14, 1 }} }},\n\
             \t}};\n\treturn fwrite(&s, sizeof(s), 1, stdout) != 1;\n}}\n"
        );
        let mut cc = Command::new("cc");
        cc.args(["-std=c11", "-xc", "-", "-o"]).arg(&program);
        for part in ["module", "aqm"] {
            cc.arg(format!("-I{root}/{part}"));
        }
        let mut cc = cc.stdin(Stdio::piped()).spawn().expect("a C compiler");
        cc.stdin.take().expect("piped").write_all(source.as_bytes()).expect("it reads");
        assert!(cc.wait().expect("it ends").success());
        let bytes = Command::new(&program).output().expect("it runs").stdout;
        let s = Statistics::read(&bytes).expect("whole");
        assert_eq!((s.arrived, s.sent), ([1, 2], [3, 4]));
        assert_eq!((&s.drops[..3], &s.marks[..3]), (&[5, 6, 0][..], &[7, 8, 0][..]));
        assert_eq!((s.sojourn_ns, s.sojourn_sum_ns), (9, 10));
        assert_eq!((s.sojourns[0], s.sojourns[1], s.sojourns[SOJOURNS - 1]), (11, 0, 12));
        assert_eq!((s.variables[0], s.variables.last()), (-6.5, Some(&14.0)));
        assert_eq!(bytes.len(), size_of::<u64>() * (7 + 2 * REASONS + SOJOURNS + 2 * s.variables.len()));
    }

    #[test]
    fn bytes_that_make_no_sense_are_passed_over() {
        for bytes in [&[][..], &[1], &[3, 0, 1, 0], &[200, 0, 1, 0, 7], &[5, 0, 1, 0, 9, 0, 0, 0]] {
            assert_eq!(read(bytes), Options::default());
        }
        assert!(Statistics::read(&[0; 100]).is_none());
        let mut whole = vec![0; 8 * (4 + 10 + 2 + SOJOURNS)];
        assert!(Statistics::read(&whole).is_none());
        whole.extend(1u64.to_ne_bytes());
        whole.extend((-3i64).to_ne_bytes());
        whole.extend(2u64.to_ne_bytes());
        assert_eq!(Statistics::read(&whole).expect("whole").variables, [-1.5]);
    }
}
