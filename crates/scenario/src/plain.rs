//! Congestion controls as plain data: by their names.

use queuewright_cca::Kind;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// For `serde(with)`: one.
pub(crate) mod control {
    use super::*;

    pub fn serialize<S: Serializer>(kind: &Kind, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(kind.name())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Kind, D::Error> {
        let name = String::deserialize(deserializer)?;
        Kind::from_name(&name).ok_or_else(|| D::Error::custom(format!("\"{name}\" is no congestion control")))
    }
}

/// For `serde(with)`: several with their weights.
pub(crate) mod controls {
    use super::*;

    #[derive(Serialize, Deserialize)]
    struct One(#[serde(with = "control")] Kind, u32);

    pub fn serialize<S: Serializer>(kinds: &[(Kind, u32)], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(kinds.iter().map(|(kind, weight)| One(*kind, *weight)))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(Kind, u32)>, D::Error> {
        let all = Vec::<One>::deserialize(deserializer)?;
        Ok(all.into_iter().map(|One(kind, weight)| (kind, weight)).collect())
    }
}
