//! The names by which the guest's sockets choose congestion controls. Those in C are BPF programs, which the guest registers first.

use crate::Error;
use crate::place::scratch;
use queuewright_cca::{Kind, own};
use queuewright_linux::control::Source;
use queuewright_scenario::spec::{RunSpec, Traffic};
use std::collections::BTreeSet;

/// A congestion control in C, without one of the kernel's own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Control(Kind);

impl Control {
    /// None: it is not in C, or the kernel has one of its own.
    pub fn of(kind: Kind) -> Option<Control> {
        (kind.info().linux.is_none() && kind.in_c().is_some()).then_some(Control(kind))
    }

    /// All of these runs.
    pub fn all(runs: &[RunSpec]) -> BTreeSet<Control> {
        let flows = runs.iter().flat_map(|run| &run.flows);
        let kinds = flows.filter_map(|flow| match flow.traffic {
            Traffic::Tcp { cca, .. } => Some(cca),
            Traffic::Datagrams { .. } => None,
        });
        kinds.filter_map(Control::of).collect()
    }

    /// Do its packets say ECT(1)?
    pub fn ect1(&self) -> bool {
        self.0.info().ect1
    }

    /// Its file in the guest.
    pub fn file(&self) -> String {
        format!("{}.bpf.o", self.linux_name())
    }

    /// The name that sockets choose it by.
    pub fn linux_name(&self) -> String {
        self.with(|source| source.linux_name())
    }

    /// Its BPF object, for a kernel of this version.
    pub fn compile(&self, linux: u32) -> Result<Vec<u8>, Error> {
        let work = scratch("queuewright-control")?;
        self.with(|source| source.compile(linux, work.path())).map_err(Error::Machine)
    }

    fn with<T>(&self, what: impl FnOnce(Source<'_>) -> T) -> T {
        let text = self.0.in_c().unwrap_or_default();
        let sha256 = self.0.own().map_or_else(|| own::sha256(text), |own| own.sha256.clone());
        what(Source { name: self.0.name(), text, sha256: &sha256, headers: &own::headers() })
    }
}

/// The name that sockets choose a congestion control by; none: Linux does not have it.
pub(crate) fn linux_name(kind: Kind) -> Option<String> {
    match Control::of(kind) {
        Some(control) => Some(control.linux_name()),
        None => kind.info().linux.map(|linux| linux.name.into()),
    }
}

/// What the guest says of a run that failed. If the kernel refuses a congestion control: why, and in which line.
pub(crate) fn in_words(why: String, runs: &[RunSpec]) -> String {
    let refused = why.strip_prefix("control /").and_then(|refused| refused.split_once('\n'));
    let said = refused.and_then(|(file, said)| {
        let control = Control::all(runs).into_iter().find(|control| control.file() == file)?;
        Some(control.with(|source| source.refusal(said)))
    });
    said.unwrap_or(why)
}
