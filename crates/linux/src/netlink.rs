//! Qdiscs, classes and filters of a device, as the kernel tells of them over netlink (rtnetlink(7)). What tc prints of them is for
//! eyes: it cuts rates, has no JSON for classes, and none that can be read where a qdisc is unknown to it.

use crate::{Error, names};
use netlink_packet_core::{
    DecodeError, NLA_F_NESTED, NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_DUMP_INTR, NLM_F_ECHO, NLM_F_EXCL,
    NLM_F_REPLACE, NLM_F_REQUEST, NetlinkBuffer, NetlinkDeserializable, NetlinkHeader, NetlinkMessage,
    NetlinkPayload, NetlinkSerializable, NlasIterator,
};
use rustix::io::retry_on_intr;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recvfrom, sendto, socket_with,
};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Handle of our roots htb and mq, by which we know them again. A packet whose priority names a class passes htb's filter by; nobody
/// names this one by chance.
pub(crate) const HANDLE: &str = "7177";
/// `TC_H_ROOT`: the parent of a device's root qdisc.
const ROOT: u32 = 0xffff_ffff;
/// `TC_H_INGRESS`, which is `TC_H_CLSACT`: the parent of what looks at packets that come in.
const INGRESS: u32 = 0xffff_fff1;

// Attributes of linux/rtnetlink.h and linux/pkt_sched.h, and of a classifier's in linux/pkt_cls.h.
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_STATS2: u16 = 7;
const TCA_STAB: u16 = 8;
const TCA_CHAIN: u16 = 11;
/// Of linux/gen_stats.h, in `TCA_STATS2`.
const TCA_STATS_RATE_EST: u16 = 2;
const TCA_HTB_PARMS: u16 = 1;
const TCA_HTB_RATE64: u16 = 6;
const TCA_HTB_CEIL64: u16 = 7;
const TCA_BPF_NAME: u16 = 7;
const TCA_BPF_FLAGS: u16 = 8;
const TCA_BPF_ID: u16 = 11;
const TCA_BPF_FLAG_ACT_DIRECT: u32 = 1;

// Of linux/if_link.h.
const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_LINKINFO: u16 = 18;
const IFLA_EXT_MASK: u16 = 29;
const IFLA_GSO_MAX_SEGS: u16 = 40;
const IFLA_GRO_MAX_SIZE: u16 = 58;
const IFLA_GRO_IPV4_MAX_SIZE: u16 = 64;
const IFLA_INFO_KIND: u16 = 1;
const RTEXT_FILTER_SKIP_STATS: u32 = 8;

/// The kernel sends up to 32 KiB at a time.
const LONGEST: usize = 1 << 16;
/// The kernel answers at once.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often an answer is asked for again that changed while it was given.
const TRIES: usize = 10;

/// `struct tcmsg`.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Head {
    family: u8,
    pad: [u8; 3],
    index: i32,
    handle: u32,
    parent: u32,
    info: u32,
}

/// A qdisc, a class or a filter.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Entry {
    /// What tc calls it: `htb`, `bpf_codel`.
    pub kind: String,
    /// Its own number, `major:minor` in 16 bits each; of a filter its handle, 0 for the classifier that has it.
    pub handle: u32,
    /// What it is in.
    pub parent: u32,
    /// Number of its device.
    index: i32,
    /// Of a filter its priority, and the protocol of the packets that it sees.
    info: u32,
    attributes: Vec<u8>,
}

/// The number that tc writes as `7177:10`, both in hexadecimal.
pub(crate) fn number(text: &str) -> u32 {
    let (major, minor) = text.split_once(':').unwrap_or((text, ""));
    let part = |digits| u32::from_str_radix(digits, 16).unwrap_or(0);
    part(major) << 16 | part(minor)
}

impl Entry {
    /// Number of its device.
    pub(crate) fn device(&self) -> u32 {
        self.index.cast_unsigned()
    }

    /// Is it the device's root qdisc?
    pub fn is_root(&self) -> bool {
        self.parent == ROOT
    }

    /// Does it look at what comes in?
    pub(crate) fn is_ingress(&self) -> bool {
        self.parent == INGRESS
    }

    /// Are lengths counted by a table of sizes (tc-stab(8))?
    pub(crate) fn has_sizes(&self) -> bool {
        self.attribute(TCA_STAB).is_some()
    }

    /// Most packets of a `pfifo` (`struct tc_fifo_qopt`).
    pub(crate) fn packets(&self) -> Option<u32> {
        u32::read_from_prefix(self.options()).ok().map(|(limit, _)| limit)
    }

    /// Rate and ceiling of a class of htb, bytes a second (`struct tc_htb_opt`: two `tc_ratespec`, whose rates have 32 bits; longer
    /// ones stand by themselves).
    pub(crate) fn rates(&self) -> Option<[u64; 2]> {
        let parms = self.option(TCA_HTB_PARMS)?;
        let long = |kind| Some(u64::read_from_prefix(self.option(kind)?).ok()?.0);
        let rate = |at: usize| Some(u64::from(u32::read_from_prefix(parms.get(at..)?).ok()?.0));
        Some([long(TCA_HTB_RATE64).or_else(|| rate(8))?, long(TCA_HTB_CEIL64).or_else(|| rate(20))?])
    }

    /// A filter's chain: packets come to those of 0.
    pub(crate) fn chain(&self) -> u32 {
        self.attribute(TCA_CHAIN)
            .and_then(|chain| u32::read_from_prefix(chain).ok())
            .map_or(0, |(chain, _)| chain)
    }

    /// Is its rate estimated (tc's `estimator`)?
    pub(crate) fn is_estimated(&self) -> bool {
        self.attribute(TCA_STATS2).is_some_and(|stats| attribute(stats, TCA_STATS_RATE_EST).is_some())
    }

    /// Priority of a filter, and the protocol (`ETH_P_*`) of the packets that it sees.
    pub(crate) fn sees(&self) -> (u16, u16) {
        ((self.info >> 16) as u16, u16::from_be(self.info as u16))
    }

    /// Number of a filter's program, if its answer is the verdict.
    pub(crate) fn program(&self) -> Option<u32> {
        let word = |kind| Some(u32::read_from_prefix(self.option(kind)?).ok()?.0);
        word(TCA_BPF_FLAGS).filter(|flags| flags & TCA_BPF_FLAG_ACT_DIRECT != 0)?;
        word(TCA_BPF_ID)
    }

    /// What a filter's program was called by who put it there: tc takes the name of its pin.
    pub(crate) fn program_name(&self) -> Option<&[u8]> {
        self.option(TCA_BPF_NAME)
    }

    /// A filter, with the number of its program if it has one.
    #[cfg(test)]
    pub(crate) fn filter(
        kind: &str,
        handle: u32,
        program: Option<u32>,
        priority: u16,
        protocol: u16,
    ) -> Self {
        let mut options = Vec::new();
        if let Some(program) = program {
            put(&mut options, TCA_BPF_FLAGS, &TCA_BPF_FLAG_ACT_DIRECT.to_ne_bytes());
            put(&mut options, TCA_BPF_ID, &program.to_ne_bytes());
        }
        let mut attributes = Vec::new();
        put(&mut attributes, TCA_OPTIONS, &options);
        let info = u32::from(priority) << 16 | u32::from(protocol.to_be());
        Entry { kind: kind.into(), handle, info, attributes, ..Entry::default() }
    }

    pub(crate) fn options(&self) -> &[u8] {
        self.attribute(TCA_OPTIONS).unwrap_or_default()
    }

    fn option(&self, kind: u16) -> Option<&[u8]> {
        attribute(self.options(), kind)
    }

    /// What is said of it under a number of linux/rtnetlink.h (`TCA_STATS2`, 7).
    pub fn attribute(&self, kind: u16) -> Option<&[u8]> {
        attribute(&self.attributes, kind)
    }
}

/// The content of the first attribute of a kind among those that stand one after another.
pub fn attribute(of: &[u8], kind: u16) -> Option<&[u8]> {
    let found = NlasIterator::new(of).map_while(Result::ok).find(|nla| nla.kind() == kind)?;
    let length = found.value_length();
    // Behind its length and its kind.
    found.into_inner().get(4..4 + length)
}

impl NetlinkDeserializable for Entry {
    type Error = DecodeError;

    fn deserialize(_: &NetlinkHeader, payload: &[u8]) -> Result<Self, DecodeError> {
        let (head, attributes) = Head::read_from_prefix(payload)
            .map_err(|_| DecodeError::buffer_too_small(payload.len(), size_of::<Head>()))?;
        let kind = attribute(attributes, TCA_KIND).unwrap_or_default();
        let kind = kind.split(|b| *b == 0).next().unwrap_or_default();
        Ok(Self {
            kind: String::from_utf8_lossy(kind).into_owned(),
            handle: head.handle,
            parent: head.parent,
            index: head.index,
            info: head.info,
            attributes: attributes.to_vec(),
        })
    }
}

/// `struct ifinfomsg`.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct LinkHead {
    family: u8,
    pad: u8,
    kind: u16,
    index: u32,
    flags: u32,
    change: u32,
}

/// A device.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Link {
    /// Its number.
    pub(crate) index: u32,
    pub(crate) name: OsString,
    /// Of its link, in hexadecimal.
    pub(crate) address: String,
    /// Segments that it takes as one packet, at most (`gso_max_segs`).
    pub(crate) segments: u32,
    /// Bytes up to which it puts packets together that come in, at most, of IPv6 and of IPv4 (`gro_max_size`, `gro_ipv4_max_size`).
    pub(crate) gro: [Option<u32>; 2],
    /// What drives it, if that is the kernel's own: `ifb`, `veth`.
    pub(crate) kind: String,
    /// Is it up?
    pub(crate) is_up: bool,
    /// Have its packets Ethernet's header?
    pub(crate) is_ethernet: bool,
}

impl NetlinkDeserializable for Link {
    type Error = DecodeError;

    fn deserialize(_: &NetlinkHeader, payload: &[u8]) -> Result<Self, DecodeError> {
        let (head, attributes) = LinkHead::read_from_prefix(payload)
            .map_err(|_| DecodeError::buffer_too_small(payload.len(), size_of::<LinkHead>()))?;
        let of = |kind| attribute(attributes, kind).unwrap_or_default();
        let name = of(IFLA_IFNAME).split(|b| *b == 0).next().unwrap_or_default();
        let address: Vec<String> = of(IFLA_ADDRESS).iter().map(|b| format!("{b:02x}")).collect();
        let word = |kind| of(kind).try_into().ok().map(u32::from_ne_bytes);
        let kind = attribute(of(IFLA_LINKINFO), IFLA_INFO_KIND).unwrap_or_default();
        let kind = kind.split(|b| *b == 0).next().unwrap_or_default();
        Ok(Self {
            index: head.index,
            name: OsStr::from_bytes(name).into(),
            address: address.join(":"),
            segments: word(IFLA_GSO_MAX_SEGS).unwrap_or(u32::MAX),
            gro: [IFLA_GRO_MAX_SIZE, IFLA_GRO_IPV4_MAX_SIZE].map(word),
            kind: String::from_utf8_lossy(kind).into_owned(),
            is_up: head.flags & libc::IFF_UP.cast_unsigned() != 0,
            is_ethernet: [libc::ARPHRD_ETHER, libc::ARPHRD_LOOPBACK].contains(&head.kind),
        })
    }
}

/// Messages one after another, to the first that is none.
fn messages<M: NetlinkDeserializable<Error = DecodeError>>(
    mut rest: &[u8],
) -> impl Iterator<Item = Result<NetlinkMessage<M>, DecodeError>> {
    std::iter::from_fn(move || {
        let all = std::mem::take(&mut rest);
        (!all.is_empty()).then(|| {
            let length = NetlinkBuffer::new_checked(all)?.length() as usize;
            let message = NetlinkMessage::<M>::deserialize(all)?;
            rest = all.get(length.next_multiple_of(4)..).unwrap_or_default();
            Ok(message)
        })
    })
}

/// What the kernel tells of in messages that somebody has kept, to the first that is none.
pub fn entries(kept: &[u8]) -> impl Iterator<Item = Entry> {
    messages::<Entry>(kept).map_while(Result::ok).filter_map(|message| match message.payload {
        NetlinkPayload::InnerMessage(entry) => Some(entry),
        _ => None,
    })
}

/// The attributes that stand one after another.
pub fn attributes(of: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    NlasIterator::new(of).map_while(Result::ok).filter_map(|nla| {
        let (kind, length) = (nla.kind(), nla.value_length());
        Some((kind, nla.into_inner().get(4..4 + length)?))
    })
}

/// Adds an attribute.
pub(crate) fn put(to: &mut Vec<u8>, kind: u16, value: &[u8]) {
    // None that a qdisc has is as long as that.
    let length = u16::try_from(4 + value.len()).unwrap_or(u16::MAX);
    to.extend(length.to_ne_bytes());
    to.extend(kind.to_ne_bytes());
    to.extend(value);
    to.resize(to.len().next_multiple_of(4), 0);
}

/// What is asked.
struct Ask {
    what: u16,
    /// The head of its kind, and attributes.
    content: Vec<u8>,
}

impl NetlinkSerializable for Ask {
    fn message_type(&self) -> u16 {
        self.what
    }

    fn buffer_len(&self) -> usize {
        self.content.len()
    }

    fn serialize(&self, buffer: &mut [u8]) {
        buffer[..self.content.len()].copy_from_slice(&self.content);
    }
}

/// The qdiscs of a device.
///
/// # Errors
/// If the kernel does not say.
pub fn qdiscs(index: u32) -> Result<Vec<Entry>, Error> {
    ask(index, || {
        let all = once(libc::RTM_GETQDISC, NLM_F_DUMP, index, 0)?;
        // Where another device goes while it is told of all, Linux before 7 leaves one out and does not say so. The root is asked for
        // by itself, too; the kernel's own, which have no number, are then not told of.
        let root = once(libc::RTM_GETQDISC, NLM_F_ACK | NLM_F_ECHO, index, ROOT)?;
        let same = |all: &[Entry]| all.iter().find(|q| q.is_root() && q.handle != 0).map(|q| q.handle);
        let (told, asked) = (all.as_deref().and_then(same), root.as_deref().and_then(same));
        Ok(all.filter(|_| told == asked))
    })
}

/// The qdiscs of all devices of this network namespace.
///
/// # Errors
/// If the kernel does not say, or does not twice say the same: where a device goes meanwhile, Linux before 7 leaves others out, and does not
/// say so.
pub(crate) fn all_qdiscs() -> Result<Vec<Entry>, Error> {
    let places = |all: &[Entry]| all.iter().map(|q| (q.index, q.handle, q.parent)).collect::<Vec<_>>();
    let dump = || once(libc::RTM_GETQDISC, NLM_F_DUMP, 0, 0);
    ask(0, || {
        let (first, second) = (dump()?, dump()?);
        Ok(second.filter(|all| first.is_some_and(|first| places(&first) == places(all))))
    })
}

/// The classes of a device.
///
/// # Errors
/// If the kernel does not say.
pub(crate) fn classes(index: u32) -> Result<Vec<Entry>, Error> {
    ask(index, || once(libc::RTM_GETTCLASS, NLM_F_DUMP, index, 0))
}

/// The filters at a qdisc, of all chains, and the classifiers that have them, which have the handle 0; 0: at the root, whatever it is.
///
/// # Errors
/// If the kernel does not say.
pub(crate) fn filters(index: u32, qdisc: u32) -> Result<Vec<Entry>, Error> {
    ask(index, || once(libc::RTM_GETTFILTER, NLM_F_DUMP, index, qdisc))
}

fn ask(
    index: u32,
    once: impl Fn() -> Result<Option<Vec<Entry>>, std::io::Error>,
) -> Result<Vec<Entry>, Error> {
    tried(once, &format!("qdiscs of device {index}"))
}

/// Asks again where the answer changed while it was given.
fn tried<M>(once: impl Fn() -> Result<Option<Vec<M>>, std::io::Error>, what: &str) -> Result<Vec<M>, Error> {
    for _ in 0..TRIES {
        if let Some(all) =
            once().map_err(|e| Error::System(format!("the {what}, asked for over netlink: {e}")))?
        {
            return Ok(all);
        }
    }
    Err(Error::System(format!("the {what} change while they are read: try again")))
}

/// What is told of all devices (0) or one; of all at it (`how` is `NLM_F_DUMP`), or of the one at a place (`NLM_F_ACK | NLM_F_ECHO`: else others alone hear of it). None: it changed meanwhile.
fn once(what: u16, how: u16, index: u32, parent: u32) -> Result<Option<Vec<Entry>>, std::io::Error> {
    let head = head(index, (0, parent));
    match talk::<Entry>(what, how, head.as_bytes().to_vec()) {
        // There is none at that place, or no such device.
        Err(e) if matches!(e.raw_os_error(), Some(libc::ENOENT | libc::ENODEV)) => Ok(Some(Vec::new())),
        // All devices' qdiscs are told of.
        Ok(Some(mut all)) => {
            // Of a block of filters that several devices share none is told (`TCM_IFINDEX_MAGIC_BLOCK`).
            let shared = |entry: &Entry| what == libc::RTM_GETTFILTER && entry.index == -1;
            all.retain(|entry| [0, entry.index].contains(&head.index) || shared(entry));
            Ok(Some(all))
        }
        other => other,
    }
}

/// The devices of this thread's network namespace.
///
/// # Errors
/// If the kernel does not say.
pub(crate) fn links() -> Result<Vec<Link>, Error> {
    let all = link_head(0, 0);
    // Where it is asked for more than the least, the kernel makes room for the device of which there is most to tell; else it leaves
    // that and all behind it out, and does not say so.
    let mut asked = all.as_bytes().to_vec();
    put(&mut asked, IFLA_EXT_MASK, &RTEXT_FILTER_SKIP_STATS.to_ne_bytes());
    let once = || talk(libc::RTM_GETLINK, NLM_F_DUMP, asked.clone());
    tried(once, "devices of this network namespace")
}

/// What is asked of a device's qdiscs, classes and filters.
fn head(index: u32, (handle, parent): (u32, u32)) -> Head {
    // No device has such a number, and 0 is all of them.
    let index = i32::try_from(index).unwrap_or(-1);
    Head { family: 0, pad: [0; 3], index, handle, parent, info: 0 }
}

/// Sets most segments of a packet that a device takes (`gso_max_segs`), as `ip link set dev DEV gso_max_segs N` does.
///
/// # Errors
/// If the kernel refuses.
pub(crate) fn set_segments(index: u32, segments: u32) -> Result<(), Error> {
    let what = format!("gso_max_segs {segments}");
    set_link(index, &what, &[(IFLA_GSO_MAX_SEGS, segments)])
}

/// Sets [`Link::gro`], of which what is None stays.
///
/// # Errors
/// If the kernel refuses.
pub(crate) fn set_gro(index: u32, sizes: [Option<u32>; 2]) -> Result<(), Error> {
    let both = [IFLA_GRO_MAX_SIZE, IFLA_GRO_IPV4_MAX_SIZE].into_iter().zip(sizes);
    let all: Vec<(u16, u32)> = both.filter_map(|(kind, size)| Some((kind, size?))).collect();
    set_link(index, &format!("gro_max_size {sizes:?}"), &all)
}

fn set_link(index: u32, what: &str, words: &[(u16, u32)]) -> Result<(), Error> {
    let mut content = link_head(index, 0).as_bytes().to_vec();
    for (kind, word) in words {
        put(&mut content, *kind, &word.to_ne_bytes());
    }
    talk::<Link>(libc::RTM_NEWLINK, NLM_F_ACK, content)
        .map(drop)
        .map_err(|e| Error::System(format!("{what} of device {index}, asked for over netlink: {e}")))
}

/// A device by its number, with flags that are to be set.
fn link_head(index: u32, flags: u32) -> LinkHead {
    LinkHead { family: 0, pad: 0, kind: 0, index, flags, change: flags }
}

/// Sets a device up.
///
/// # Errors
/// If the kernel refuses.
pub(crate) fn set_up(index: u32) -> Result<(), Error> {
    let content = link_head(index, libc::IFF_UP.cast_unsigned()).as_bytes().to_vec();
    talk::<Link>(libc::RTM_NEWLINK, NLM_F_ACK, content)
        .map(drop)
        .map_err(|e| Error::System(format!("device {index}, set up over netlink: {e}")))
}

/// Makes a device of one of the kernel's own kinds, with a number of our choice, which is up.
///
/// # Errors
/// If there is one of this name or number, or the kernel has no such kind.
pub(crate) fn make_link(index: u32, name: &str, kind: &str) -> Result<(), Error> {
    let mut content = link_head(index, libc::IFF_UP.cast_unsigned()).as_bytes().to_vec();
    put(&mut content, IFLA_IFNAME, &[name.as_bytes(), &[0]].concat());
    let mut info = Vec::new();
    put(&mut info, IFLA_INFO_KIND, kind.as_bytes());
    put(&mut content, IFLA_LINKINFO | NLA_F_NESTED, &info);
    let how = NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
    talk::<Link>(libc::RTM_NEWLINK, how, content).map(drop).map_err(|e| match e.raw_os_error() {
        Some(libc::EOPNOTSUPP) => Error::System(format!(
            "this kernel has no devices of the kind {kind}: its module {kind} is needed"
        )),
        _ => {
            Error::System(format!("the device {} ({kind}), asked for over netlink: {e}", names::quoted(name)))
        }
    })
}

/// Deletes a device.
///
/// # Errors
/// If the kernel refuses.
pub(crate) fn delete_link(index: u32) -> Result<(), Error> {
    talk::<Link>(libc::RTM_DELLINK, NLM_F_ACK, link_head(index, 0).as_bytes().to_vec())
        .map(drop)
        .map_err(|e| Error::System(format!("device {index}, deleted over netlink: {e}")))
}

/// Makes a qdisc the root of a device, as `tc qdisc replace` does.
///
/// # Errors
/// If the kernel refuses.
pub(crate) fn replace_root(index: u32, handle: u32, kind: &str, options: &[u8]) -> Result<(), Error> {
    let mut attributes = Vec::new();
    put(&mut attributes, TCA_KIND, &[kind.as_bytes(), &[0]].concat());
    if !options.is_empty() {
        // Younger kinds (ets) want to be told that there are attributes in it; of older ones it is a structure.
        put(&mut attributes, TCA_OPTIONS | NLA_F_NESTED, options);
    }
    let how = NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE;
    let content = [head(index, (handle, ROOT)).as_bytes(), &attributes].concat();
    talk::<Entry>(libc::RTM_NEWQDISC, how, content).map(drop).map_err(|e| {
        Error::System(format!("{kind} as the root of device {index}, asked for over netlink: {e}"))
    })
}

/// Removes a qdisc that is not a root.
///
/// # Errors
/// If the kernel refuses.
pub(crate) fn remove(index: u32, qdisc: &Entry) -> Result<(), Error> {
    let place = (qdisc.handle, qdisc.parent);
    let content = head(index, place).as_bytes().to_vec();
    talk::<Entry>(libc::RTM_DELQDISC, NLM_F_ACK, content).map(drop).map_err(|e| {
        Error::System(format!("{} at device {index}, removed over netlink: {e}", names::quoted(&qdisc.kind)))
    })
}

/// Asks the kernel; what it tells of. None: it changed meanwhile.
fn talk<M: NetlinkDeserializable<Error = DecodeError>>(
    what: u16,
    how: u16,
    content: Vec<u8>,
) -> Result<Option<Vec<M>>, std::io::Error> {
    let kernel = SocketAddrNetlink::new(0, 0);
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    bind(&socket, &kernel)?;
    // Who has CAP_NET_ADMIN here can send to this socket without end: that is not to hold up a command. (Connected it
    // would not come at all; but a process that only reads is confined, and connects to nobody.)
    let until = Instant::now() + PATIENCE;
    set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE))?;
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | how;
    header.sequence_number = 1;
    let mut message = NetlinkMessage::new(header, NetlinkPayload::InnerMessage(Ask { what, content }));
    message.finalize();
    let mut buffer = vec![0; message.buffer_len()];
    message.serialize(&mut buffer);
    retry_on_intr(|| sendto(&socket, &buffer, SendFlags::empty(), &kernel))?;
    let mut all = Vec::new();
    let mut changed = false;
    let mut buffer = vec![0; LONGEST];
    loop {
        if Instant::now() > until {
            let why = format!("no answer to its end within {} s", PATIENCE.as_secs());
            return Err(std::io::Error::new(std::io::ErrorKind::TimedOut, why));
        }
        let (_, length, from) = retry_on_intr(|| recvfrom(&socket, &mut *buffer, RecvFlags::TRUNC))?;
        let from = from.and_then(|a| SocketAddrNetlink::try_from(a).ok());
        if from.is_none_or(|a| a.pid() != 0) {
            // Not the kernel's.
            continue;
        }
        let said = buffer.get(..length).ok_or_else(|| std::io::Error::other("an answer of over 64 KiB"))?;
        for message in messages::<M>(said) {
            let message = message.map_err(|e| std::io::Error::other(e.to_string()))?;
            changed |= message.header.flags & NLM_F_DUMP_INTR != 0;
            match message.payload {
                // What it could not tell of to the end is not all.
                NetlinkPayload::Done(end) if end.code < 0 => {
                    return Err(std::io::Error::from_raw_os_error(-end.code));
                }
                NetlinkPayload::Done(_) => return Ok((!changed).then_some(all)),
                NetlinkPayload::Error(e) if e.code.is_none() => return Ok(Some(all)),
                NetlinkPayload::Error(e) => return Err(e.to_io()),
                NetlinkPayload::InnerMessage(one) => all.push(one),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use queuewright_testing::attribute as attribute_of;

    #[test]
    fn numbers_as_tc_writes_them() {
        assert_eq!(number("7177:10"), 0x7177_0010);
        assert_eq!(number("7178:"), 0x7178_0000);
        assert_eq!(number("8001"), 0x8001_0000);
    }

    /// One with these options.
    fn with(options: &[u8]) -> Entry {
        Entry { attributes: attribute_of(TCA_OPTIONS, options), ..Entry::default() }
    }

    #[test]
    fn rates_of_a_class_of_htb() {
        let mut parms = [0; 44];
        parms[8..12].copy_from_slice(&625_000_u32.to_ne_bytes());
        parms[20..24].copy_from_slice(&u32::MAX.to_ne_bytes());
        let options = [
            attribute_of(TCA_HTB_PARMS, &parms),
            attribute_of(TCA_HTB_CEIL64, &5_000_000_000_u64.to_ne_bytes()),
        ]
        .concat();
        assert_eq!(with(&options).rates(), Some([625_000, 5_000_000_000]));
    }

    #[test]
    fn programs_that_give_the_verdict() {
        let filter = |flags: u32| {
            let parts =
                [(TCA_BPF_FLAGS, &flags.to_ne_bytes()[..]), (7, b"odd"), (TCA_BPF_ID, &9_u32.to_ne_bytes())];
            with(&parts.map(|(kind, value)| attribute_of(kind, value)).concat())
        };
        assert_eq!((filter(1).program(), filter(0).program()), (Some(9), None));
    }

    #[test]
    fn what_is_cut_short_is_none() {
        let whole = attribute_of(TCA_HTB_PARMS, &[1; 44]);
        for length in 0..whole.len() {
            assert_eq!(with(&whole[..length]).rates(), None, "{length} bytes");
        }
    }

    #[test]
    fn the_loopback_has_a_root() {
        // The kernel tells anybody.
        let lo = crate::names::index("lo").expect("a loopback");
        let all = qdiscs(lo).expect("answered");
        assert_eq!(all.iter().filter(|q| q.is_root()).count(), 1, "{all:?}");
        assert!(!all[0].kind.is_empty());
        assert_eq!(qdiscs(u32::MAX).expect("answered"), []);
        let of_lo =
            links().expect("answered").into_iter().find(|link| link.index == lo).expect("it is a device");
        assert_eq!((of_lo.name.to_str(), &*of_lo.address), (Some("lo"), "00:00:00:00:00:00"));
    }
}
