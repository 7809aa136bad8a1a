//! Learned policies: the shape of a network, and its numbers.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The network of a learned policy: what its weights are for, and so what a file of them must say.
#[derive(Debug, PartialEq, Eq)]
pub struct Network {
    /// Sizes of its layers, by name.
    pub dimensions: &'static [(&'static str, u32)],
    /// What it observes, in order, and the largest value of each (the smallest is 0).
    pub observations: &'static [(&'static str, u32)],
    /// What each action does, per cent.
    pub actions_percent: &'static [u32],
    /// The LSTM's gates in the order of their rows.
    pub gates: &'static [&'static str],
    /// The whole number that stands for a weight of 1.
    pub weight_one: u32,
    /// The whole number that stands for an activation or observation of 1.
    pub activation_one: u32,
    /// In the order in which [`Weights::values`] has them.
    pub tensors: &'static [Tensor],
}

/// Weights of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tensor {
    /// Name, as in the header.
    pub name: &'static str,
    /// How many outputs it has.
    pub rows: usize,
    /// Inputs of each output; none: one number each, its bias.
    pub columns: Option<usize>,
}

impl Tensor {
    /// How many numbers.
    pub fn count(&self) -> usize {
        self.rows * self.columns.unwrap_or(1)
    }
}

/// The numbers of a learned policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weights {
    /// Tensor after tensor of [`Network::tensors`], rows by output.
    #[serde(with = "crate::shared")]
    pub values: Arc<[i16]>,
    /// What results call them, such as `sha256:` and the hash of their file.
    pub id: String,
}
