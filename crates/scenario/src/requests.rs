//! What the client of a connection asks for while a run goes on.

use crate::arrivals::Pause;
use crate::client::{Client, Video};
use crate::model::{Flows, TrafficModel};
use crate::random::{Draws, stream};
use crate::sizes::Sizes;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What responses are drawn from: sizes and pauses, each out of a stream of the connection's own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestsSpec {
    /// Of each response after the first.
    pub sizes: Sizes,
    /// From a response's last byte to the next request.
    pub pause: Pause,
    /// Seed of the streams.
    pub seed: u64,
    /// Index of the `[[flows]]` entry, and of the flow in it, which name the streams.
    pub entry: u32,
    /// See `entry`.
    pub nth: u64,
}

/// Responses to come.
#[derive(Debug)]
pub struct Requests {
    sizes: Sizes,
    pause: Pause,
    size_draws: Draws,
    pause_draws: Draws,
}

impl Requests {
    /// None of them asked for yet.
    pub fn new(spec: &RequestsSpec) -> Requests {
        let RequestsSpec { sizes, pause, seed, entry, nth } = spec;
        let open = |key: &str| stream(*seed, &format!("flows[{entry}].{key}[{nth}]"));
        Requests {
            sizes: sizes.clone(),
            pause: *pause,
            size_draws: open("amount"),
            pause_draws: open("requests"),
        }
    }

    /// The next request: how long after the last response (ns), and for how much (bytes).
    pub fn ask(&mut self) -> (u64, u64) {
        (self.pause.draw(&mut self.pause_draws), self.sizes.draw(&mut self.size_draws))
    }
}

/// The client of a connection: what it will ask for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ClientSpec {
    /// Responses after the first, which is the flow's size.
    Requests(Box<RequestsSpec>),
    /// Chunks of a video.
    Video(#[serde(with = "queuewright_aqm::shared")] Arc<Video>),
}

impl ClientSpec {
    /// What the `nth` flow of an entry asks for.
    pub(crate) fn new(flows: &Flows, seed: u64, entry: u32, nth: u64) -> Option<ClientSpec> {
        let TrafficModel::Tcp { client, size, .. } = &flows.traffic else { return None };
        match (client.as_ref()?, size) {
            (Client::Video(video), _) => Some(ClientSpec::Video(video.clone())),
            (Client::Requests(pause), Some(sizes)) => {
                let (sizes, pause) = (sizes.clone(), *pause);
                Some(ClientSpec::Requests(Box::new(RequestsSpec { sizes, pause, seed, entry, nth })))
            }
            (Client::Requests(_), None) => None,
        }
    }
}
