//! Another congestion control in a run's place of one.

use crate::flow::Traffic;
use crate::model::TrafficModel;
use crate::source::ArrivalProcess;
use crate::spec::RunSpec;
use queuewright_cca::Kind;

impl RunSpec {
    /// Gives all flows of one congestion control another one, such as a Rust type of a program's own
    /// ([`Kind::of`](queuewright_cca::Kind::of)), and their groups its name. What the other needs of ECN they negotiate.
    pub fn replace_control(&mut self, from: Kind, to: Kind) {
        let replace = |cca: &mut Kind, ecn: &mut bool, l4s: &mut bool| {
            if *cca == from {
                *cca = to;
                (*ecn, *l4s) = (*ecn || to.needs_ecn(), *l4s || to.info().ect1);
            }
        };
        let of_flow = |traffic: &mut Traffic| {
            if let Traffic::Tcp { cca, ecn, l4s, .. } = traffic {
                replace(cca, ecn, l4s);
            }
        };
        self.flows.iter_mut().for_each(|flow| of_flow(&mut flow.traffic));
        for source in &mut self.sources {
            match &mut source.arrival {
                ArrivalProcess::Sessions { first, .. } => {
                    first.iter_mut().for_each(|flow| of_flow(&mut flow.traffic));
                }
                ArrivalProcess::Arrivals { each, .. } | ArrivalProcess::Pages { each, .. } => {
                    if let TrafficModel::Tcp { ccas, ecn, l4s, .. } = &mut each.traffic {
                        ccas.iter_mut().for_each(|(kind, _)| replace(kind, ecn, l4s));
                    }
                }
            }
        }
        for group in self.groups.iter_mut().filter(|group| group.cca == from.name()) {
            group.cca = to.name().into();
        }
    }
}
