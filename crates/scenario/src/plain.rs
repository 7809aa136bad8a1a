//! Congestion controls as plain data: by their names; of a file of a user's own with what is in it, so that another process has it, too.

use queuewright_cca::Kind;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::sync::Arc;

/// For `serde(with)`: one.
pub(crate) mod control {
    use super::*;

    /// A control of a file, for another process.
    #[derive(Serialize, Deserialize)]
    struct OfFile {
        name: String,
        #[serde(with = "queuewright_aqm::shared")]
        text: Arc<str>,
    }

    /// A control: one that the program has by its name, or a file.
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Known {
        Name(String),
        File(OfFile),
    }

    pub fn serialize<S: Serializer>(kind: &Kind, serializer: S) -> Result<S::Ok, S::Error> {
        match kind.own() {
            None => serializer.serialize_str(kind.name()),
            Some(own) => OfFile { name: kind.name().into(), text: own.text.clone() }.serialize(serializer),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Kind, D::Error> {
        match Known::deserialize(deserializer)? {
            Known::Name(name) => Kind::from_name(&name)
                .ok_or_else(|| D::Error::custom(format!("\"{name}\" is no congestion control"))),
            Known::File(file) => queuewright_cca::own::load(&format!("./{}.h", file.name), &file.text)
                .map_err(D::Error::custom),
        }
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
