//! Congestion controls as sockets of the guest choose them; those in C are BPF programs that the guest registers first.

use crate::Error;
use crate::place::scratch;
use queuewright_cca::{Kind, own};
use queuewright_linux::control::Source;
use queuewright_scenario::spec::{RunSpec, Traffic};
use std::collections::BTreeSet;

/// A control in C.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Control(Kind);

impl Control {
    /// None: the control is in no file, or the kernel has one of its own.
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

    /// What sockets choose it by.
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

/// What sockets choose a control by; none: Linux has not this one.
pub(crate) fn linux_name(kind: Kind) -> Option<String> {
    match Control::of(kind) {
        Some(control) => Some(control.linux_name()),
        None => kind.info().linux.map(|linux| linux.name.into()),
    }
}

/// Of what the guest says of a run that failed: where the kernel refuses a control, in words, with the line.
pub(crate) fn in_words(why: String, runs: &[RunSpec]) -> String {
    let refused = why.strip_prefix("control /").and_then(|refused| refused.split_once('\n'));
    let said = refused.and_then(|(file, said)| {
        let control = Control::all(runs).into_iter().find(|control| control.file() == file)?;
        Some(control.with(|source| source.refusal(said)))
    });
    said.unwrap_or(why)
}
