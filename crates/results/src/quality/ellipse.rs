//! The ellipse of a cloud of points (delay, goodput): how much results vary, and whether both vary together.

/// The 1-sigma contour of the maximum-likelihood Gaussian of points, which encloses 39 % of it (RFC 7928 section 2.7; one sigma as in
/// Winstein, Transport Architectures for an Evolving Internet). A single point, or points that coincide, have no axes; points on a line have one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ellipse {
    /// Its middle: the mean of both coordinates.
    pub center: (f64, f64),
    /// The longer and the shorter half of its axes, in the points' unit; 0: none.
    pub semi_axes: (f64, f64),
    /// Of the longer axis against that of the first coordinate, radians, above -pi/2 to pi/2; 0 for a point or a circle.
    pub angle: f64,
}

impl Ellipse {
    /// Of points; none without any.
    pub fn of(points: &[(f64, f64)]) -> Option<Ellipse> {
        if points.is_empty() {
            return None;
        }
        let n = points.len() as f64;
        let sum = points.iter().fold((0.0, 0.0), |s, p| (s.0 + p.0, s.1 + p.1));
        let center = (sum.0 / n, sum.1 / n);
        // Maximum likelihood: over n, not n - 1.
        let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
        for p in points {
            let (dx, dy) = (p.0 - center.0, p.1 - center.1);
            (xx, xy, yy) = (xx + dx * dx / n, xy + dx * dy / n, yy + dy * dy / n);
        }
        let half = libm::hypot((xx - yy) / 2.0, xy);
        let middle = (xx + yy) / 2.0;
        Some(Ellipse {
            center,
            semi_axes: ((middle + half).sqrt(), minor(xx * yy, xy * xy, middle + half).sqrt()),
            angle: if half == 0.0 { 0.0 } else { libm::atan2(2.0 * xy, xx - yy) / 2.0 },
        })
    }

    /// Points around it, so many and the first again; none of a single point.
    pub fn outline(&self, sides: u32) -> Vec<(f64, f64)> {
        if self.semi_axes.0 <= 0.0 {
            return Vec::new();
        }
        let (sin, cos) = (libm::sin(self.angle), libm::cos(self.angle));
        let point = |k: u32| {
            let at = f64::from(k % sides) / f64::from(sides) * std::f64::consts::TAU;
            let (a, b) = (self.semi_axes.0 * libm::cos(at), self.semi_axes.1 * libm::sin(at));
            (self.center.0 + a * cos - b * sin, self.center.1 + a * sin + b * cos)
        };
        (0..=sides).map(point).collect()
    }
}

/// The smaller variance along an axis: the determinant over the larger one. What rounding leaves of a segment's width is none.
fn minor(product: f64, square: f64, larger: f64) -> f64 {
    let determinant = product - square;
    if determinant <= product * 1e-12 { 0.0 } else { determinant / larger }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::{FRAC_PI_2, FRAC_PI_4};

    #[test]
    fn points_and_segments_have_fewer_axes() {
        assert_eq!(Ellipse::of(&[]), None);
        let point = Ellipse { center: (3.0, 4.0), semi_axes: (0.0, 0.0), angle: 0.0 };
        assert_eq!(Ellipse::of(&[(3.0, 4.0)]), Some(point));
        assert_eq!(Ellipse::of(&[(3.0, 4.0); 3]), Some(point));
        assert_eq!(point.outline(8), []);
        let line = Ellipse::of(&[(0.0, 0.0), (2.0, 2.0), (4.0, 4.0)]).unwrap();
        assert_eq!((line.center, line.semi_axes.1), ((2.0, 2.0), 0.0));
        assert!((line.semi_axes.0 - (16.0f64 / 3.0).sqrt()).abs() < 1e-12);
        assert!((line.angle - FRAC_PI_4).abs() < 1e-12);
        // Upright.
        assert!((Ellipse::of(&[(1.0, 0.0), (1.0, 6.0)]).unwrap().angle - FRAC_PI_2).abs() < 1e-12);
    }

    /// In milliseconds and bits a second the one variance is 10^13 times the other: the ellipse is as wide and as high as in other units.
    #[test]
    fn units_do_not_matter() {
        let points = [(80.0, 2.0), (84.0, 3.0), (88.0, 1.0), (81.0, 9.0)];
        let ends = |of: f64| {
            let scaled = points.map(|(x, y)| (x, of * y));
            let around = Ellipse::of(&scaled).unwrap().outline(720);
            let end = |which: fn(f64, f64) -> f64, first: f64| around.iter().map(|p| p.0).fold(first, which);
            let high = around.iter().map(|p| p.1).fold(0.0, f64::max);
            [end(f64::min, f64::INFINITY), end(f64::max, 0.0), high / of]
        };
        // The means, and a standard deviation from them, by hand.
        let (x, sx) = (83.25, (38.75f64 / 4.0).sqrt());
        let (y, sy) = (3.75, (38.75f64 / 4.0).sqrt());
        for of in [1.0, 1e6, 1e-6, 1e9] {
            let want = [x - sx, x + sx, y + sy];
            assert!(
                want.iter().zip(ends(of)).all(|(w, e)| (w - e).abs() < 1e-3),
                "{of}: {:?} {want:?}",
                ends(of)
            );
        }
    }

    /// The corners of a rhombus with diagonals of 6 and 2, turned: each half of an axis is the diagonal's half over the root of two.
    #[test]
    fn axes_and_tilt_of_a_turned_rhombus() {
        for turn in [-1.2f64, -0.3, 0.0, 0.7, 1.5] {
            let (s, c) = turn.sin_cos();
            let corners = [(3.0, 0.0), (-3.0, 0.0), (0.0, 1.0), (0.0, -1.0)]
                .map(|(x, y)| (5.0 + x * c - y * s, 9.0 + x * s + y * c));
            let e = Ellipse::of(&corners).unwrap();
            let want = [5.0, 9.0, 3.0 / 2f64.sqrt(), 1.0 / 2f64.sqrt(), turn];
            let got = [e.center.0, e.center.1, e.semi_axes.0, e.semi_axes.1, e.angle];
            assert!(want.iter().zip(got).all(|(w, g)| (w - g).abs() < 1e-12), "{got:?} {want:?}");
            // Along its own axes every point around it is one half-axis from the middle.
            let around = e.outline(16);
            assert_eq!((around.len(), around[0]), (17, around[16]));
            for (x, y) in around {
                let (dx, dy) = (x - 5.0, y - 9.0);
                let (a, b) = ((dx * c + dy * s) / want[2], (dy * c - dx * s) / want[3]);
                assert!((a * a + b * b - 1.0).abs() < 1e-9, "{x} {y}");
            }
        }
    }
}
