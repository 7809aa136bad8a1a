//! Rows of numbers for the page, little-endian as WebAssembly has it.

use crate::sums::Sums;
use queuewright_results::Series;
use queuewright_sim::Watched;

/// The samples of a series from one on: of each its time (s) and every column, as `f64`.
pub fn samples(series: &Series, sums: Option<&Sums>, from: usize) -> Vec<u8> {
    let many = series.time_s.len().saturating_sub(from);
    let mut out = Vec::with_capacity(many * (series.columns.len() + 1 + Sums::COLUMNS.len()) * 8);
    for (i, time) in series.time_s.iter().enumerate().skip(from) {
        out.extend(time.to_le_bytes());
        for column in &series.columns {
            out.extend(column.values.get(i).unwrap_or(&f64::NAN).to_le_bytes());
        }
        for value in sums.iter().flat_map(|sums| sums.row(i)) {
            out.extend(value.to_le_bytes());
        }
    }
    out
}

/// A packet: when it came and left (ns, `f64`; infinity while it waits), its number, flow and segment (`u32`), its length (`u16`), what has
/// become of it (bits 0 to 3), whether it is marked (bit 4) and whether it was sent before (bit 5), the reason, those ahead of it
/// (`u32`) and its group (`u32`).
pub fn packet(out: &mut Vec<u8>, number: u32, packet: &Watched, group: u32) {
    let left = if packet.left_ns == u64::MAX { f64::INFINITY } else { packet.left_ns as f64 };
    out.extend((packet.came_ns as f64).to_le_bytes());
    out.extend(left.to_le_bytes());
    for word in [number, packet.flow, packet.seq] {
        out.extend(word.to_le_bytes());
    }
    out.extend(packet.bytes.to_le_bytes());
    out.push(packet.fate as u8 | u8::from(packet.marked) << 4 | u8::from(packet.again) << 5);
    out.push(packet.reason as u8);
    out.extend(packet.ahead.to_le_bytes());
    out.extend(group.to_le_bytes());
}
