//! How a recording is kept: a line that says what it is, the draw in another (JSON), the rest compressed.

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, Read, Write};

pub(super) fn write(out: &mut impl Write, magic: &str, draw: &impl Serialize, rest: &[u8]) -> io::Result<()> {
    writeln!(out, "{magic}\n{}", serde_json::to_string(draw)?)?;
    let mut deflate = DeflateEncoder::new(out, Compression::best());
    deflate.write_all(rest)?;
    deflate.finish()?;
    Ok(())
}

/// Most bytes of a recording when it is unpacked.
const MOST_BYTES: u64 = queuewright_scenario::limits::UNPACKED.bytes;

/// What [`write`] wrote: the draw and the rest. `what`: what it should be, for who gave something else.
pub(super) fn read<D: DeserializeOwned>(
    bytes: &[u8],
    magic: &str,
    what: &str,
) -> Result<(D, Vec<u8>), String> {
    let mut parts = bytes.splitn(3, |b| *b == b'\n');
    let (found, draw, rest) = (parts.next(), parts.next(), parts.next());
    if found != Some(magic.as_bytes()) {
        return Err(format!("not {what}"));
    }
    let draw = serde_json::from_slice(draw.unwrap_or_default()).map_err(|e| format!("line 2: {e}"))?;
    let mut plain = Vec::new();
    // A few bytes may stand for gigabytes.
    let mut inflate = DeflateDecoder::new(rest.unwrap_or_default()).take(MOST_BYTES + 1);
    inflate.read_to_end(&mut plain).map_err(|e| format!("after line 2: {e}"))?;
    if plain.len() as u64 > MOST_BYTES {
        return Err(format!("after line 2: more than {} MB when unpacked", MOST_BYTES >> 20));
    }
    Ok((draw, plain))
}
