//! Random numbers, the same on every machine.

use crate::units::Range;
use rand_pcg::Pcg64;
use rand_pcg::rand_core::{Rng, SeedableRng};
use sha2::{Digest, Sha256};

/// A stream of random numbers.
pub(crate) type Draws = Pcg64;

/// The stream of a name under a seed.
pub(crate) fn stream(seed: u64, name: &str) -> Draws {
    let text = format!("queuewright scenario {seed} {name}");
    Pcg64::from_seed(Sha256::digest(text.as_bytes()).into())
}

/// Uniform in `min..=max`, without bias.
pub(crate) fn draw(rng: &mut Draws, range: Range) -> u64 {
    let span = range.max - range.min;
    if span == 0 {
        return range.min;
    }
    if span == u64::MAX {
        return rng.next_u64();
    }
    let n = span + 1;
    // Values above the last whole multiple of n would favour the small ones.
    let rest = (u64::MAX % n + 1) % n;
    loop {
        let x = rng.next_u64();
        if x <= u64::MAX - rest {
            return range.min + x % n;
        }
    }
}

/// Uniform in (0, 1].
pub(crate) fn open(rng: &mut Draws) -> f64 {
    ((rng.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
}

/// Standard normal, by Box and Muller. libm's functions are the same on every machine.
pub(crate) fn normal(rng: &mut Draws) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(open(rng)));
    radius * libm::cos(2.0 * std::f64::consts::PI * open(rng))
}

/// Exponential with a mean.
pub(crate) fn exponential(rng: &mut Draws, mean: u64) -> u64 {
    (-libm::log(open(rng)) * mean as f64) as u64
}
