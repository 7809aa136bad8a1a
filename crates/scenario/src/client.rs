//! What a client asks for over one connection: one response after another, or the chunks of a video.

use crate::arrivals::Pause;
use crate::error::Error;
use crate::keys::{RATE, VIDEO};
use crate::node::{Node, Table};
use crate::units::S;
use crate::units::Unit;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// What the client at the receiving end of a connection asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Client {
    /// Responses of the entry's sizes, each asked for after a pause from the last byte of the one before.
    Requests(Pause),
    /// A video, with an adaptive player.
    Video(#[serde(with = "queuewright_aqm::shared")] Arc<Video>),
}

/// A video and the buffer of its player.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Video {
    /// Bitrates it is there in, bits a second, rising.
    pub ladder_bps: Vec<u64>,
    /// Playing time of a chunk, ns.
    pub chunk_ns: u64,
    /// Playing time that the player keeps ahead at most, ns; at least a chunk.
    pub buffer_ns: u64,
}

/// Big Buck Bunny at 30 frames a second as dash.js' sample has it (`bbb_30fps.mpd`): bits a second.
const LADDER: [u64; 10] =
    [254_320, 507_246, 759_798, 1_013_310, 1_254_758, 1_883_700, 3_134_488, 4_952_892, 9_914_554, 14_931_538];
/// What dash.js keeps ahead at most (`bufferTimeAtTopQuality`).
const BUFFER: u64 = 30 * S;

impl Video {
    fn read(node: &Node) -> Result<Video, Error> {
        let t = node.table(&VIDEO)?;
        let ladder_bps = match t.get("ladder") {
            None => LADDER.to_vec(),
            Some(n) => {
                let mut ladder = Vec::new();
                for item in n.list("rates that rise, such as [\"500kbit\", \"2mbit\"]")? {
                    let bps = item.one(&RATE)?;
                    if ladder.last().is_some_and(|last| bps <= *last) {
                        return Err(item.error("the rates of a ladder rise"));
                    }
                    ladder.push(bps);
                }
                if ladder.is_empty() || ladder.len() > 100 {
                    return Err(n.error("write 1 to 100 rates, such as [\"500kbit\", \"2mbit\"]"));
                }
                ladder
            }
        };
        let chunk_ns = t.one("chunk")?;
        let buffer_ns = match t.get("buffer") {
            None => BUFFER.max(chunk_ns),
            Some(_) => t.one_within("buffer", chunk_ns, u64::MAX)?,
        };
        Ok(Video { ladder_bps, chunk_ns, buffer_ns })
    }

    fn show(&self) -> Json {
        json!({
            "ladder": self.ladder_bps.iter().map(|bps| Unit::Rate.show(*bps)).collect::<Vec<_>>(),
            "chunk": Unit::Time.show(self.chunk_ns),
            "buffer": Unit::Time.show(self.buffer_ns),
        })
    }
}

impl Client {
    /// The client of an entry of TCP flows, if it has one.
    pub(crate) fn read(t: &Table<'_>) -> Result<Option<Client>, Error> {
        let (requests, video) = (t.get("requests"), t.get("video"));
        let Some(given) = requests.or(video) else { return Ok(None) };
        let other = ["repeat", "arrivals", "pages"].iter().find_map(|k| t.get(k));
        if let Some(n) = requests.and(video).or(other) {
            return Err(n.key_error(format!(
                "does not go with {}: the flow is one connection, on which a client asks for what it wants",
                given.key
            )));
        }
        if let Some(n) = video {
            if let Some(size) = t.get("size") {
                return Err(size.key_error("follows from the video's ladder and chunk; leave it out"));
            }
            return Ok(Some(Client::Video(Arc::new(Video::read(n)?))));
        }
        if t.get("size").is_none() {
            return Err(t.missing("size", "the size of a response, such as \"10kb..100kb\""));
        }
        Ok(Pause::read_if(t, "requests")?.map(Client::Requests))
    }

    /// The key that it was read from, and its value.
    pub(crate) fn show(&self) -> (&'static str, Json) {
        match self {
            Client::Requests(pause) => ("requests", pause.show()),
            Client::Video(video) => ("video", video.show()),
        }
    }
}
