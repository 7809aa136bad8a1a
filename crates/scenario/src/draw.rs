//! The concrete runs of a scenario: every range drawn, every size resolved.
//!
//! Draws come from PCG64 (XSL-RR 128/64), one stream for each key of each
//! `[[flows]]` entry, seeded with the SHA-256 of the run's seed and the stream's
//! name. So all disciplines of a seed see the same flows, and changing one key
//! leaves the draws of the others as they were.

use crate::arrivals::ArrivalPattern;
use crate::datagrams::Datagrams;
use crate::error::Error;
use crate::model::{Flows, LinkRate, Scenario, TrafficModel, largest_packet, rate_of};
use crate::packet::FULL_BYTES;
use crate::params;
use crate::probes::ProbesSpec;
use crate::random::{draw, stream};
use crate::requests::ClientSpec;
use crate::setting::bdp_times;
use crate::source::SourceSpec;
use crate::spec::{FlowSpec, GroupSpec, PortSpec, Rate, RunSpec, Stack, Timers, Traffic};
use crate::streams::{FlowTemplate, Streams};
use crate::units::Size;
use queuewright_cca::Kind;
use std::collections::{HashMap, HashSet};

impl Scenario {
    /// How many runs it stands for.
    pub fn count(&self) -> usize {
        self.disciplines.len() * self.run.seeds.len()
    }

    /// Every run of the scenario: for each discipline, in the scenario's order, each
    /// seed, in its order.
    ///
    /// # Errors
    /// A size in bandwidth-delay products that comes out impossible for a seed's
    /// flows: a buffer smaller than a packet, a parameter out of its range.
    pub fn runs(&self) -> Result<Vec<RunSpec>, Error> {
        let memory_bytes = self.memory_bytes();
        let drawn: Vec<Drawn> =
            self.run.seeds.iter().map(|s| Drawn { memory_bytes, ..self.draw(*s) }).collect();
        let mut runs = Vec::with_capacity(self.count());
        for i in 0..self.disciplines.len() {
            for d in &drawn {
                runs.push(self.assemble(i, d)?);
            }
        }
        Ok(runs)
    }

    fn assemble(&self, discipline: usize, d: &Drawn) -> Result<RunSpec, Error> {
        let overhead_bytes = self.ports[0].overhead_bytes;
        let packet = largest_packet(&self.flows, overhead_bytes);
        let fits = |what: String, bytes: u64, bdp: u64| match bytes >= packet {
            true => Ok(bytes),
            false => {
                // Who wrote none does not know of it.
                let it = if self.says(&what) { "it" } else { "the buffer, 2bdp where none is named," };
                let message = format!(
                    "with seed {} {it} comes to {bytes}b (1bdp = {bdp}b), less than one packet on \
                     this link ({packet}b); write a larger buffer, or packets, such as \"1p\"",
                    d.seed
                );
                Err(self.error_at(&what, message))
            }
        };
        let mut ports = Vec::with_capacity(self.ports.len());
        for (i, (port, &bdp)) in self.ports.iter().zip(&d.bdp_bytes).enumerate() {
            let (limit_bytes, limit_packets) = match port.buffer {
                None => (0, 0),
                Some(Size::Packets(n)) => (0, n),
                Some(Size::Bytes(n)) => (fits(format!("ports[{i}].buffer"), n, bdp)?, 0),
                Some(Size::Bdp(m)) => (fits(format!("ports[{i}].buffer"), bdp_times(bdp, m), bdp)?, 0),
            };
            let (entry, at) = match &port.discipline {
                Some(own) => (own, format!("ports[{i}].discipline")),
                None => (&self.disciplines[discipline], format!("disciplines[{discipline}]")),
            };
            let wrong = |(param, message): (String, String)| {
                self.error_at(&format!("{at}.{param}"), format!("with seed {} it {message}", d.seed))
            };
            let mut spec = params::resolve(entry, bdp, packet).map_err(wrong)?;
            if let LinkRate::Constant(bps) = port.rate {
                params::by_the_link(entry, bps, u64::from(FULL_BYTES + overhead_bytes), &mut spec);
            }
            if self.run.stack == Stack::Linux {
                params::as_the_kernels(entry, &mut spec);
            }
            let changes = params::resolve_changes(entry, bdp, packet).map_err(wrong)?;
            ports.push(PortSpec {
                name: port.name.clone(),
                discipline: spec,
                own: port.discipline.is_some(),
                timers: match self.run.stack {
                    Stack::Linux | Stack::Quic => Timers::Jiffies,
                    Stack::Ns3 => Timers::Exact,
                },
                changes,
                rate: match &port.rate {
                    LinkRate::Constant(bps) => Rate::Constant(*bps),
                    LinkRate::Schedule(schedule) => Rate::Schedule(schedule.clone()),
                    LinkRate::Trace(file) => Rate::Trace(file.trace.clone()),
                },
                burst_bytes: port.burst_bytes,
                shaper: port.shaper,
                police: port.police,
                late_marks: port.late_marks.unwrap_or(false),
                delay_ns: port.delay_ns,
                impairments: port.impairments,
                limit_bytes,
                limit_packets,
                shared: port.buffer.is_none(),
            });
        }
        // A shared buffer in bdp: of the ports that share it, together.
        let sharing = self.ports.iter().zip(&d.bdp_bytes).filter(|(p, _)| p.buffer.is_none());
        let bdp = sharing.fold(0u64, |sum, (_, bdp)| sum.saturating_add(*bdp));
        let shared_bytes = match self.shared {
            None | Some(Size::Packets(_)) => 0,
            Some(Size::Bytes(n)) => fits("shared.buffer".into(), n, bdp)?,
            Some(Size::Bdp(m)) => fits("shared.buffer".into(), bdp_times(bdp, m), bdp)?,
        };
        // Where the compared discipline runs first; reading has seen to it that it does.
        let compared = self.ports.iter().position(|p| p.discipline.is_none()).unwrap_or(0);
        Ok(RunSpec {
            discipline: ports[compared].discipline.clone(),
            seed: d.seed,
            duration_ns: self.run.duration_ns,
            warmup_ns: self.run.warmup_ns,
            stack: self.run.stack,
            overhead_bytes,
            ports,
            shared_bytes,
            groups: d.groups.clone(),
            flows: d.flows.clone(),
            sources: d.sources.clone(),
            probes: d.probes.clone(),
            series_interval_ns: self.run.sample_ns,
            series_flows: d.series_flows.clone(),
            memory_bytes: d.memory_bytes,
        })
    }

    /// Everything of a run that depends on the seed and not on the discipline.
    fn draw(&self, seed: u64) -> Drawn {
        let mut groups: Vec<GroupSpec> = Vec::new();
        let mut flows = Vec::new();
        let mut series_flows = Vec::new();
        let mut sources = Vec::new();
        for (i, entry) in self.flows.iter().enumerate() {
            let kinds = kinds(entry);
            let first_group = groups.len();
            let datagrams = matches!(entry.traffic, TrafficModel::Datagrams(_));
            let codec = match &entry.traffic {
                TrafficModel::Datagrams(Datagrams::Voip(call)) => Some(call.codec()),
                _ => None,
            };
            groups.extend(kinds.iter().map(|kind| GroupSpec {
                name: kind.to_string(),
                cca: kind.to_string(),
                cca_file: file_of(entry, kind),
                datagrams,
                codec,
            }));
            if let Some(source) = SourceSpec::new(entry, seed, i as u32, first_group as u32) {
                sources.push(source);
                continue;
            }
            let mut drawn = draw_entry(entry, seed, i as u32, first_group as u32);
            // Flows stand in the order of their groups; stable, so in the order drawn.
            drawn.sort_by_key(|f| f.group);
            for group in first_group..groups.len() {
                let first = flows.len() + drawn.partition_point(|f| (f.group as usize) < group);
                let count = drawn.iter().filter(|f| f.group as usize == group).count();
                let shown = count.min(self.run.series_flows as usize);
                series_flows.extend((first..first + shown).map(|n| n as u32));
            }
            flows.append(&mut drawn);
        }
        for (group, name) in groups.iter_mut().zip(self.group_names()) {
            group.name = name;
        }
        let bdp_bytes = (0..self.ports.len()).map(|port| self.bdp_bytes(port, &flows, &sources)).collect();
        let mut probes = Vec::new();
        let mut first_group = 0;
        for (i, entry) in self.flows.iter().enumerate() {
            let of_entry = first_group..first_group + kinds(entry).len() as u32;
            first_group = of_entry.end;
            if let Some(wanted) = &entry.probes {
                let group = groups.len() as u32;
                let name = entry.name.clone().unwrap_or_else(|| groups[of_entry.start as usize].name.clone());
                groups.push(GroupSpec {
                    name: format!("probes of {name}"),
                    cca: Kind::Cubic.name().into(),
                    cca_file: None,
                    datagrams: false,
                    codec: None,
                });
                probes.push(ProbesSpec {
                    load: name,
                    groups: of_entry,
                    group,
                    source: sources.len() as u32,
                    profiles: wanted.profiles.clone(),
                });
                sources.push(ProbesSpec::source(entry, seed, i as u32, group));
            }
        }
        Drawn { seed, groups, flows, sources, probes, series_flows, bdp_bytes, memory_bytes: 0 }
    }

    /// Names of the groups, one for each entry and congestion control: the entry's
    /// name (with the control's, if it has several), or the control's; made unique
    /// by a number.
    fn group_names(&self) -> Vec<String> {
        let given: HashSet<&str> = self.flows.iter().filter_map(|f| f.name.as_deref()).collect();
        let mut taken: HashSet<String> = HashSet::new();
        // The number to try next beside each name: those before it are taken.
        let mut next: HashMap<String, u32> = HashMap::new();
        let mut names: Vec<String> = Vec::new();
        for entry in &self.flows {
            let kinds = kinds(entry);
            for kind in &kinds {
                let base = match &entry.name {
                    None => kind.to_string(),
                    Some(name) if kinds.len() == 1 => name.clone(),
                    Some(name) => format!("{name} {kind}"),
                };
                // A name that an entry was given is that entry's alone.
                let is_taken = |name: &str| {
                    taken.contains(name) || (entry.name.as_deref() != Some(name) && given.contains(name))
                };
                let mut name = base.clone();
                if is_taken(&name) {
                    let n = next.entry(base.clone()).or_insert(2);
                    while is_taken(&name) {
                        name = format!("{base}-{n}");
                        *n += 1;
                    }
                }
                taken.insert(name.clone());
                names.push(name);
            }
        }
        names
    }

    /// A port's bandwidth-delay product with the flows as drawn, bytes: the link's rate (a
    /// schedule's first above 0, a trace's mean) times the mean base RTT of the TCP
    /// flows that cross it, or of all that do where none is TCP. Flows that follow one another count
    /// as one; those that arrive only where no others of their kind (TCP or not) are there, each entry as a flow of its middle RTT.
    fn bdp_bytes(&self, port: usize, flows: &[FlowSpec], sources: &[SourceSpec]) -> u64 {
        let bps = rate_of(&self.ports[port].rate);
        let tcp = |f: &FlowSpec| matches!(f.traffic, Traffic::Tcp { .. });
        // (is it TCP, its RTT)
        let lasting = flows.iter().cloned().chain(sources.iter().flat_map(|s| s.sessions().map(|t| t.flow)));
        let mut rtts: Vec<(bool, u64)> = lasting
            .filter(|f| f.path.iter().chain(&f.reverse_path).any(|p| *p as usize == port))
            .map(|f| (tcp(&f), f.base_rtt_ns))
            .collect();
        // Entries that have a flow there now were counted; what arrives is the rest.
        let arriving = |f: &&Flows| matches!(f.arrival, ArrivalPattern::Arrive(_) | ArrivalPattern::Pages(_));
        let passing = self.flows.iter().filter(arriving);
        let passing = passing.filter(|f| f.path.iter().chain(&f.reverse_path).any(|p| *p as usize == port));
        let middle = |f: &Flows| f.rtt_ns.min.midpoint(f.rtt_ns.max);
        let mut arriving: Vec<(bool, u64)> =
            passing.map(|f| (matches!(f.traffic, TrafficModel::Tcp { .. }), middle(f))).collect();
        let lasting_tcp = rtts.iter().any(|r| r.0);
        arriving.retain(|r| !lasting_tcp && (r.0 || rtts.is_empty()));
        rtts.append(&mut arriving);
        let any_tcp = rtts.iter().any(|r| r.0);
        let counted = rtts.iter().filter(|r| !any_tcp || r.0);
        let (sum, n) = counted.fold((0u128, 0u128), |(s, n), r| (s + u128::from(r.1), n + 1));
        // Bits a second times ns, over 8e9: bytes. Rates are below 2^40, the sum below 2^53.
        let bytes = u128::from(bps) * sum / (n.max(1) * 8_000_000_000);
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// An error about a part of the scenario that its reader accepts and an engine does not, such as
    /// `ports[0].loss`, `flows[1].repeat`, `disciplines[0].mtu` or `run.stack`: it says where the file has that
    /// key, or else the table around it.
    pub fn refuse(&self, what: &str, message: impl Into<String>) -> Error {
        let mut around = what;
        while !self.places.0.contains_key(around) {
            match around.rfind(['.', '[']) {
                Some(at) => around = &around[..at],
                None => break,
            }
        }
        let mut e = self.error_at(around, message.into());
        if around != what {
            // What stands there is the whole table.
            e.found = None;
        }
        e
    }

    /// Does the scenario itself say this, and not leave it to its default?
    fn says(&self, what: &str) -> bool {
        self.places.0.get(what).is_some_and(|(_, _, found)| !found.is_empty())
    }

    pub(crate) fn error_at(&self, what: &str, message: String) -> Error {
        match self.places.0.get(what) {
            Some((place, key, found)) => {
                let e = Error::new(place.clone(), key.clone(), message);
                // A key left to its default has no text to show.
                if found.is_empty() { e } else { e.found(found) }
            }
            None => Error::new(crate::error::Place::Flag, what, message),
        }
    }
}

struct Drawn {
    seed: u64,
    groups: Vec<GroupSpec>,
    flows: Vec<FlowSpec>,
    sources: Vec<SourceSpec>,
    probes: Vec<ProbesSpec>,
    series_flows: Vec<u32>,
    /// Of each run.
    memory_bytes: u64,
    /// Of each port.
    bdp_bytes: Vec<u64>,
}

/// What the groups of an entry are, in order.
fn kinds(entry: &Flows) -> Vec<&'static str> {
    match &entry.traffic {
        TrafficModel::Tcp { ccas, .. } => ccas.iter().map(|(kind, _)| kind.name()).collect(),
        TrafficModel::Datagrams(datagrams) => vec![datagrams.name()],
    }
}

/// What results say of the user's own file that a control is out of.
fn file_of(entry: &Flows, kind: &str) -> Option<String> {
    let file = entry.control_files.iter().find(|(of, _)| of.name() == kind);
    file.map(|(_, file)| format!("sha256:{}", file.sha256))
}

fn draw_entry(entry: &Flows, seed: u64, index: u32, first_group: u32) -> Vec<FlowSpec> {
    let count = draw(&mut stream(seed, &format!("flows[{index}].count")), entry.count);
    let mut streams = Streams::new(seed, index);
    let Some(rows) = &entry.rows else {
        let each = FlowTemplate::of(entry, first_group);
        let nth = |i: u64| with_client(streams.flow(entry, &each), ClientSpec::new(entry, seed, index, i));
        return (0..count).map(nth).collect();
    };
    let TrafficModel::Tcp { ccas, .. } = &entry.traffic else { return Vec::new() };
    let of_line = |(i, line): (u64, &Flows)| {
        let each = FlowTemplate::of(line, first_group);
        let mut flow = with_client(streams.flow(line, &each), ClientSpec::new(line, seed, index, i));
        if let Traffic::Tcp { cca, .. } = &flow.traffic {
            let group = ccas.iter().position(|(kind, _)| kind == cca).unwrap_or(0);
            flow.group = first_group + group as u32;
        }
        flow
    };
    (0..).zip(rows.flows.iter()).map(of_line).collect()
}

/// A flow with what its client asks for.
fn with_client(mut flow: FlowSpec, spec: Option<ClientSpec>) -> FlowSpec {
    if let Traffic::Tcp { client, .. } = &mut flow.traffic {
        *client = spec;
    }
    flow
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names are made in a time that grows with their number: with its square this test would have no end.
    #[test]
    fn groups_of_many_entries_have_names_of_their_own() {
        let entry = "[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\n";
        let named = |name: &str| format!("{entry}name = \"{name}\"\n");
        let text = format!(
            "{}{}{}[link]\nrate = \"10mbit\"\n[queue]\ndisciplines = [\"droptail\"]\n[run]\nduration = \"2s\"\n",
            named("cubic-2"),
            entry.repeat(12_000),
            named("cubic-5"),
        );
        let scenario = Scenario::parse(&text, "many.toml", ".".as_ref()).expect("a scenario");
        let names = scenario.group_names();
        assert_eq!(&names[..5], ["cubic-2", "cubic", "cubic-3", "cubic-4", "cubic-6"]);
        assert_eq!(names.last().map(String::as_str), Some("cubic-5"));
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), 12_002);
    }
}
