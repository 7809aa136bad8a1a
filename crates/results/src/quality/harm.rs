//! What one flow takes from another, and what each should get.

/// Harm to a measure of which more is better, such as goodput: 0 none, 1 all, below 0 where company helps. `alone` and `with` in
/// the same unit. Ware et al., Beyond Jain's Fairness Index, HotNets 2019.
pub fn of_more(alone: f64, with: f64) -> f64 {
    (alone - with) / alone
}

/// Harm to a measure of which less is better, such as a completion time or a delay: 0 none, towards 1 without bound. As [`of_more`].
pub fn of_less(alone: f64, with: f64) -> f64 {
    (with - alone) / with
}

/// What a flow crosses and wants.
#[derive(Debug, Clone)]
pub struct Demand {
    /// Links on its way, as indices of the capacities.
    pub links: Vec<usize>,
    /// The most it takes; infinite for bulk.
    pub most: f64,
}

/// The max-min fair shares of flows (RFC 5166 section 2.3.2), in the unit of the capacities, by progressive filling: all grow
/// together, and one stays where it is as soon as it has what it wants or a link on its way is full.
///
/// # Panics
/// Where a flow names a link that there is not.
pub fn max_min(capacities: &[f64], flows: &[Demand]) -> Vec<f64> {
    let mut shares = vec![0.0; flows.len()];
    let mut left = capacities.to_vec();
    let mut growing: Vec<usize> = (0..flows.len()).collect();
    // Each round one at least stops.
    while !growing.is_empty() {
        let mut on = vec![0u32; left.len()];
        for link in growing.iter().flat_map(|&f| &flows[f].links) {
            on[*link] += 1;
        }
        let room = |l: usize| left[l] / f64::from(on[l]);
        let of_flow = |f: usize| {
            let links = flows[f].links.iter().map(|&l| room(l));
            links.fold(flows[f].most - shares[f], f64::min).max(0.0)
        };
        let step = growing.iter().map(|&f| of_flow(f)).fold(f64::INFINITY, f64::min);
        let stop: Vec<usize> = growing.iter().copied().filter(|&f| of_flow(f) <= step).collect();
        for &f in &growing {
            shares[f] += step;
        }
        left.iter_mut().zip(&on).for_each(|(l, n)| {
            if *n > 0 {
                *l -= step * f64::from(*n);
            }
        });
        growing.retain(|f| !stop.contains(f));
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(links: &[usize], most: f64) -> Demand {
        Demand { links: links.to_vec(), most }
    }

    /// Completion times of the ccafct README, ms: alone, with CUBIC, with Prague.
    #[test]
    fn harm_is_as_published() {
        let harms = [339.3, 1171.3].map(|with| (of_less(176.2, with) * 1000.0).round());
        assert_eq!(harms, [481.0, 850.0]);
        assert_eq!((of_more(10.0, 2.5), of_more(10.0, 10.0), of_more(4.0, 5.0)), (0.75, 0.0, -0.25));
    }

    #[test]
    fn shares_fill_up_evenly() {
        let bulk = f64::INFINITY;
        assert_eq!(max_min(&[50.0], &[on(&[0], bulk), on(&[0], bulk)]), [25.0, 25.0]);
        // One of two wants no more than 10 of 50: the rest is the other's.
        assert_eq!(max_min(&[50.0], &[on(&[0], 10.0), on(&[0], bulk)]), [10.0, 40.0]);
        assert_eq!(max_min(&[50.0], &[on(&[0], 10.0), on(&[0], 5.0)]), [10.0, 5.0]);
        // A parking lot: the long flow has a third of the narrow link, and the one beside it on the wide link all the rest.
        let lot = [on(&[0, 1], bulk), on(&[0], bulk), on(&[1], bulk), on(&[1], bulk)];
        assert_eq!(max_min(&[10.0, 9.0], &lot), [3.0, 7.0, 3.0, 3.0]);
        assert_eq!(max_min(&[], &[]), Vec::<f64>::new());
        assert_eq!(max_min(&[0.0], &[on(&[0], bulk)]), [0.0]);
    }
}
