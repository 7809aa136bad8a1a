//! Named mixes of congestion controls.

use queuewright_cca::Kind;

/// A name that stands for a table of weights in `cca`.
#[derive(Debug, Clone, Copy)]
pub struct Preset {
    /// The name in scenario files.
    pub name: &'static str,
    /// One line for lists: what it is.
    pub about: &'static str,
    /// Where its weights are from.
    pub source: &'static str,
    /// Congestion controls with their weights.
    pub weights: &'static [(Kind, u32)],
}

/// Every preset.
pub const PRESETS: [Preset; 1] = [MIX];

/// The traffic mix of the Titrate paper. The paper names nine congestion controls "according to the ratio
/// reported in the survey" of Mishra et al. and gives no numbers; these are its artifact's.
const MIX: Preset = Preset {
    name: "mix",
    about: "cubic 45, bbr 28, yeah 8, illinois 8, vegas 4, htcp 4, bic 1, newreno 1, scalable 1 of a hundred",
    source: "Titrate (NSDI 2026) section 5.1 and artifact, after Mishra et al., SIGMETRICS 2020",
    weights: &[
        (Kind::Cubic, 45),
        (Kind::Bbr, 28),
        (Kind::Yeah, 8),
        (Kind::Illinois, 8),
        (Kind::Vegas, 4),
        (Kind::Htcp, 4),
        (Kind::Bic, 1),
        (Kind::NewReno, 1),
        (Kind::Scalable, 1),
    ],
};

impl Preset {
    /// The preset of that name.
    pub fn from_name(name: &str) -> Option<Preset> {
        PRESETS.into_iter().find(|p| p.name == name)
    }
}

/// What `cca` and `--flows` take by name: congestion controls, then presets.
pub(crate) fn names() -> Vec<&'static str> {
    Kind::ALL.iter().map(|k| k.name()).chain(PRESETS.iter().map(|p| p.name)).collect()
}

/// A table has no order of its own: by name, so that draws do not depend on how it was written.
pub(crate) fn in_order(mut ccas: Vec<(Kind, u32)>) -> Vec<(Kind, u32)> {
    ccas.sort_by_key(|(kind, _)| kind.name());
    ccas
}
