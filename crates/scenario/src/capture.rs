//! Packet captures, pcap and pcapng: how many bytes each flow in them carried.

use crate::limits::CAPTURE;
use etherparse::{LaxNetSlice, LaxSlicedPacket, TransportSlice};
use pcap_parser::{Block, Linktype, PcapBlockOwned, PcapError, create_reader};
use std::collections::HashMap;
use std::io::BufRead;
use std::net::IpAddr;

/// So many bytes of a capture hold a flow, or no more are read.
const FIRST_BYTES: usize = 64 << 20;
/// No packet of a capture is longer (libpcap's `MAXIMUM_SNAPLEN` of most links is 256 KiB).
const BUFFER: usize = 1 << 20;

/// Addresses, protocol and ports, in one direction.
type Key = (IpAddr, IpAddr, u8, u16, u16);

/// Does a file begin as a capture does (pcap in either order of bytes, with micro- or nanoseconds; pcapng)?
pub(crate) fn is_capture(bytes: &[u8]) -> bool {
    const MAGIC: [[u8; 4]; 5] = [
        [0xa1, 0xb2, 0xc3, 0xd4],
        [0xd4, 0xc3, 0xb2, 0xa1],
        [0xa1, 0xb2, 0x3c, 0x4d],
        [0x4d, 0x3c, 0xb2, 0xa1],
        [0x0a, 0x0d, 0x0d, 0x0a],
    ];
    MAGIC.iter().any(|m| bytes.starts_with(m))
}

/// Bytes that each TCP and UDP flow of a capture carried, headers not counted, in the order in which the flows appear. The two
/// directions of a connection are two flows, and what carried nothing is none. A capture may hold the heads of packets alone:
/// lengths are what IP says. A last packet that is cut off is left out.
pub fn flow_sizes(mut from: impl BufRead + Send) -> Result<Vec<u64>, String> {
    let unread = |e: PcapError<&[u8]>| format!("a packet capture that cannot be read: {}", reason(&e));
    let first = from.fill_buf().map_err(|e| e.to_string())?;
    let next_generation = first.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]);
    let mut reader = create_reader(BUFFER, from).map_err(unread)?;
    let mut read = 0;
    let mut links: Vec<Linktype> = Vec::new();
    let mut flows: HashMap<Key, u32> = HashMap::new();
    let mut sizes: Vec<u64> = Vec::new();
    let mut waiting = false;
    loop {
        if next_generation && too_short(reader.data()) {
            return Err(unread(PcapError::ReadError));
        }
        let step = match reader.next() {
            Ok((length, block)) => {
                Some((length, packet(&block, &mut links).and_then(|(link, p)| carried(link, p))))
            }
            Err(PcapError::Eof | PcapError::UnexpectedEof) => break,
            Err(PcapError::Incomplete(_)) => None,
            Err(e) => return Err(unread(e)),
        };
        let Some((length, found)) = step else {
            if waiting {
                // All that there is was read: the last packet is cut off.
                break;
            }
            waiting = true;
            reader.refill().map_err(unread)?;
            continue;
        };
        waiting = false;
        reader.consume(length);
        read += length;
        if sizes.is_empty() && read > FIRST_BYTES {
            return Err(format!("a packet capture without a flow in its first {} MB", FIRST_BYTES >> 20));
        }
        if let Some((key, payload)) = found.filter(|(_, payload)| *payload > 0) {
            let known = sizes.len();
            let index = *flows.entry(key).or_insert(known as u32);
            if u64::from(index) == CAPTURE.items.0 {
                return Err(format!(
                    "a packet capture of more than {} flows; take a part of it, as editcap -c does",
                    CAPTURE.items.0
                ));
            }
            match sizes.get_mut(index as usize) {
                Some(size) => *size += payload,
                None => sizes.push(payload),
            }
        }
    }
    if sizes.is_empty() {
        return Err("a packet capture without a TCP or UDP flow that carries data over IP".into());
    }
    Ok(sizes)
}

/// Does a block of processes' names begin here that says to be shorter than what encloses it? pcap-parser 0.17 subtracts that
/// unchecked; of all other kinds it looks.
fn too_short(block: &[u8]) -> bool {
    let word = |at: usize| block.get(at..at + 4).and_then(|w| w.try_into().ok());
    let (Some(kind), Some(length)) = (word(0), word(4)) else { return false };
    let is = |read: fn([u8; 4]) -> u32| read(kind) == 0x8000_0001 && read(length) < 12;
    is(u32::from_le_bytes) || is(u32::from_be_bytes)
}

fn reason(e: &PcapError<&[u8]>) -> &'static str {
    match e {
        PcapError::BufferTooSmall => "a packet longer than 1 MiB",
        PcapError::HeaderNotRecognized | PcapError::Incomplete(_) | PcapError::Eof => {
            "its header is not complete"
        }
        _ => "what follows its header is damaged",
    }
}

/// The packet of a block, if it has one, and its kind of link. `links` are those of the present section.
fn packet<'a>(block: &PcapBlockOwned<'a>, links: &mut Vec<Linktype>) -> Option<(Linktype, &'a [u8])> {
    match block {
        PcapBlockOwned::LegacyHeader(head) => links.push(head.network),
        PcapBlockOwned::NG(Block::SectionHeader(_)) => links.clear(),
        PcapBlockOwned::NG(Block::InterfaceDescription(interface)) => links.push(interface.linktype),
        PcapBlockOwned::Legacy(p) => return Some((*links.first()?, p.data)),
        PcapBlockOwned::NG(Block::EnhancedPacket(p)) => {
            let data = p.data.get(..p.caplen as usize).unwrap_or(p.data);
            return Some((*links.get(p.if_id as usize)?, data));
        }
        PcapBlockOwned::NG(Block::SimplePacket(p)) => return Some((*links.first()?, p.data)),
        PcapBlockOwned::NG(_) => {}
    }
    None
}

/// The flow of a packet, and the bytes that it carries for it.
fn carried(link: Linktype, data: &[u8]) -> Option<(Key, u64)> {
    let ip = |skip: usize| data.get(skip..).and_then(|d| LaxSlicedPacket::from_ip(d).ok());
    let packet = match link {
        Linktype::ETHERNET => LaxSlicedPacket::from_ethernet(data).ok()?,
        Linktype::RAW | Linktype::IPV4 | Linktype::IPV6 => ip(0)?,
        Linktype::NULL | Linktype::LOOP => ip(4)?,
        Linktype::LINUX_SLL => ip(16)?,
        Linktype(276) => ip(20)?, // LINUX_SLL2
        _ => return None,
    };
    let (from, to, said, there) = match packet.net.as_ref()? {
        LaxNetSlice::Ipv4(v4) => {
            let h = v4.header();
            let said = usize::from(h.total_len()).saturating_sub(h.slice().len());
            (h.source_addr().into(), h.destination_addr().into(), said, v4.payload().payload.len())
        }
        LaxNetSlice::Ipv6(v6) => {
            let h = v6.header();
            let said = usize::from(h.payload_length()).saturating_sub(v6.extensions().slice().len());
            (h.source_addr().into(), h.destination_addr().into(), said, v6.payload().payload.len())
        }
        LaxNetSlice::Arp(_) => return None,
    };
    let (protocol, source, destination, header) = match packet.transport.as_ref()? {
        TransportSlice::Tcp(t) => (6, t.source_port(), t.destination_port(), t.header_slice().len()),
        TransportSlice::Udp(u) => (17, u.source_port(), u.destination_port(), 8),
        _ => return None,
    };
    // Captured where the card cuts segments, a burst beyond 64 KiB says a length of 0.
    let payload = said.max(there).saturating_sub(header);
    Some(((from, to, protocol, source, destination), payload as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::PacketBuilder;
    use proptest::prelude::*;

    const LINK: [[u8; 6]; 2] = [[2; 6], [4; 6]];

    /// A packet of `port`'s flow with so many bytes.
    fn segment(port: u16, v6: bool, bytes: usize) -> Vec<u8> {
        let link = PacketBuilder::ethernet2(LINK[0], LINK[1]);
        let ip =
            if v6 { link.ipv6([1; 16], [2; 16], 64) } else { link.ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64) };
        let mut out = Vec::new();
        if port < 100 {
            ip.udp(port, 443).write(&mut out, &vec![7; bytes]).unwrap();
        } else {
            ip.tcp(port, 80, 1, 1000).write(&mut out, &vec![7; bytes]).unwrap();
        }
        out
    }

    /// A pcap file of packets cut after `snap` bytes.
    fn pcap(link: u32, packets: &[Vec<u8>], snap: usize) -> Vec<u8> {
        let mut f = Vec::new();
        for word in [0xa1b2_c3d4u32, 2 | 4 << 16, 0, 0, snap as u32, link] {
            f.extend(word.to_le_bytes());
        }
        for p in packets {
            let kept = &p[..p.len().min(snap)];
            for word in [1u32, 0, kept.len() as u32, p.len() as u32] {
                f.extend(word.to_le_bytes());
            }
            f.extend(kept);
        }
        f
    }

    /// A pcapng file: a section, an Ethernet interface, enhanced packets.
    fn pcapng(packets: &[Vec<u8>]) -> Vec<u8> {
        let mut f = Vec::new();
        let mut block = |kind: u32, body: &[u8]| {
            let pad = body.len().next_multiple_of(4) - body.len();
            let length = (12 + body.len() + pad) as u32;
            f.extend(kind.to_le_bytes());
            f.extend(length.to_le_bytes());
            f.extend(body);
            f.extend(std::iter::repeat_n(0, pad));
            f.extend(length.to_le_bytes());
        };
        block(0x0a0d_0d0a, &[&0x1a2b_3c4du32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat());
        block(1, &[1, 0, 0, 0, 0, 0, 0, 0]);
        for p in packets {
            let head = [0, 0, 1, p.len() as u32, p.len() as u32].map(u32::to_le_bytes).concat();
            block(6, &[&head[..], p].concat());
        }
        f
    }

    fn packets() -> Vec<Vec<u8>> {
        vec![
            segment(1000, false, 1448),
            segment(53, true, 300),
            segment(1000, false, 0), // an ACK
            segment(1001, true, 10),
            segment(1000, false, 52),
            vec![0; 30], // not IP
        ]
    }

    #[test]
    fn bytes_of_each_flow_in_either_format() {
        let file = pcap(1, &packets(), 65_535);
        assert!(is_capture(&file));
        assert_eq!(flow_sizes(&file[..]), Ok(vec![1500, 300, 10]));
        assert_eq!(flow_sizes(&*pcapng(&packets())), Ok(vec![1500, 300, 10]));
        // Without the link's header.
        let bare: Vec<Vec<u8>> = packets().iter().map(|p| p[14..].to_vec()).collect();
        assert_eq!(flow_sizes(&*pcap(101, &bare, 65_535)), Ok(vec![1500, 300, 10]));
    }

    /// CAIDA's captures hold heads alone.
    #[test]
    fn lengths_are_what_ip_says_where_packets_are_cut() {
        assert_eq!(flow_sizes(&*pcap(1, &packets(), 80)), Ok(vec![1500, 300, 10]));
        let mut file = pcap(1, &packets(), 65_535);
        file.truncate(file.len() - 60); // into the last segment
        assert_eq!(flow_sizes(&file[..]), Ok(vec![1448, 300, 10]));
    }

    /// Less than the block's own head and end, which its reader subtracts.
    #[test]
    fn a_block_shorter_than_its_head_is_refused() {
        for (kind, length) in [(0x8000_0001u32, 4u32), (0x8000_0001, 8), (0x8000_0001, 11), (6, 8), (99, 0)] {
            let mut file = pcapng(&packets());
            for word in [kind, length, 0, length, 0, 0, 0, 0, 0, 0, 0, 0] {
                file.extend(word.to_le_bytes());
            }
            let e = flow_sizes(&file[..]).unwrap_err();
            assert!(e.contains("damaged"), "{kind} {length}: {e}");
        }
    }

    #[test]
    fn a_capture_without_flows_is_refused() {
        for (file, why) in [
            (pcap(1, &[segment(1000, false, 0)], 99), "without a TCP or UDP flow"),
            (pcap(147, &packets(), 99), "without a TCP or UDP flow"), // a link that is not known
            (vec![0xd4, 0xc3, 0xb2, 0xa1, 2], "header is not complete"),
        ] {
            let e = flow_sizes(&file[..]).unwrap_err();
            assert!(e.contains(why), "{e}");
        }
    }

    proptest! {
        #[test]
        fn no_file_is_too_odd(
            start in prop::sample::select(vec![pcap(1, &packets(), 65_535), pcapng(&packets())]),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..20),
            length in any::<prop::sample::Index>(),
        ) {
            let mut file = start;
            for (at, byte) in changes {
                let at = at.index(file.len());
                file[at] = byte;
            }
            file.truncate(length.index(file.len() + 1));
            let _ = flow_sizes(&file[..]);
        }
    }
}
