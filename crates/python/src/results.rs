//! Results, and the tables of them.

use crate::draft::Draft;
use crate::sheets;
use crate::table::Table;
use crate::{RunError, input, said};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use queuewright_engine::header;
use queuewright_report::{TableStyle, answer, table};
use queuewright_results::measures::by_path;
use queuewright_results::sheets as rows;
use queuewright_results::{Detail, Run};
use queuewright_scenario::RunSpec;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::OnceLock;

/// Runs as bytes, for [`Results::unpack`].
pub fn pack(runs: &[Run]) -> PyResult<Vec<u8>> {
    let with_detail: Vec<(&Run, &Detail)> = runs.iter().map(|run| (run, &run.detail)).collect();
    rmp_serde::to_vec_named(&with_detail).map_err(|e| RunError::new_err(format!("results: {e}")))
}

/// What [`pack`] gave.
pub fn unpack(packed: &[u8]) -> PyResult<Vec<Run>> {
    let all: Vec<(Run, Detail)> =
        rmp_serde::from_slice(packed).map_err(|e| input(format!("not packed runs: {e}")))?;
    Ok(all.into_iter().map(|(run, detail)| Run { detail, ..run }).collect())
}

/// A run's discipline, seed and measures, by their paths.
type Measured = (String, u64, BTreeMap<String, f64>);

/// The results of a scenario.
#[pyclass(frozen, module = "queuewright._native")]
pub struct Results {
    /// Without time series: [`Results::series`] has them.
    results: queuewright_results::Results,
    draft: Py<Draft>,
    series: Table,
    runs: OnceLock<Table>,
    queues: OnceLock<Table>,
    groups: OnceLock<Table>,
    flows: OnceLock<Table>,
    responsiveness: OnceLock<Table>,
    cdf: OnceLock<Table>,
    transfers: OnceLock<Table>,
}

impl Results {
    /// Takes the time series out of the runs: as tables their memory is Arrow's.
    pub fn new(draft: Py<Draft>, runs: Vec<Run>) -> Results {
        let mut results = queuewright_results::Results { runs, ..header(&draft.get().scenario) };
        let series = sheets::series(&mut results);
        Results {
            results,
            draft,
            series,
            runs: OnceLock::new(),
            queues: OnceLock::new(),
            groups: OnceLock::new(),
            flows: OnceLock::new(),
            responsiveness: OnceLock::new(),
            cdf: OnceLock::new(),
            transfers: OnceLock::new(),
        }
    }

    fn sheet(
        &self,
        kept: &OnceLock<Table>,
        make: fn(&queuewright_results::Results) -> rows::Sheet<'_>,
    ) -> Table {
        kept.get_or_init(|| sheets::table(make(&self.results))).clone()
    }
}

#[pymethods]
impl Results {
    /// What `unpack` makes them of: the scenario, its runs packed, and their time series.
    fn pack<'p>(&self, py: Python<'p>) -> PyResult<(Py<Draft>, Bound<'p, PyBytes>, Table)> {
        let runs = PyBytes::new(py, &pack(&self.results.runs)?);
        Ok((self.draft.clone_ref(py), runs, self.series.clone()))
    }

    /// Results of a scenario, of which `run_some` or `pack` packed some runs each, in order. Time series, where they are not with
    /// the runs.
    #[staticmethod]
    #[pyo3(signature = (draft, packed, series=None))]
    fn unpack(
        draft: Py<Draft>,
        packed: Vec<Bound<'_, PyBytes>>,
        series: Option<Bound<'_, Table>>,
    ) -> PyResult<Results> {
        let mut runs = Vec::new();
        for part in packed {
            runs.extend(unpack(part.as_bytes())?);
        }
        // Of an interrupted call there are fewer.
        if runs.len() > draft.get().scenario.count() {
            return Err(input("not packed runs: there are too many"));
        }
        let made = Results::new(draft, runs);
        Ok(match series {
            Some(series) => Results { series: series.get().clone(), ..made },
            None => made,
        })
    }

    /// What was run.
    #[getter]
    fn draft(&self, py: Python<'_>) -> Py<Draft> {
        self.draft.clone_ref(py)
    }

    /// A row for each run and port.
    #[getter]
    fn runs(&self) -> Table {
        self.sheet(&self.runs, rows::runs)
    }

    /// A row for each run and queue of disciplines with several.
    #[getter]
    fn queues(&self) -> Table {
        self.sheet(&self.queues, rows::queues)
    }

    /// A row for each run and group of flows.
    #[getter]
    fn groups(&self) -> Table {
        self.sheet(&self.groups, rows::groups)
    }

    /// A row for each run and flow.
    #[getter]
    fn flows(&self) -> Table {
        self.sheet(&self.flows, rows::flows)
    }

    /// A row for each run and entry of flows with probes.
    #[getter]
    fn responsiveness(&self) -> Table {
        self.sheet(&self.responsiveness, rows::responsiveness)
    }

    /// A row for each run, port and point of the distribution of the sojourn time.
    #[getter]
    fn cdf(&self) -> Table {
        self.sheet(&self.cdf, rows::cdf)
    }

    /// A row for each flow that had an end.
    #[getter]
    fn transfers(&self) -> Table {
        self.sheet(&self.transfers, |results| rows::transfers(&results.runs))
    }

    /// A row for each run and sample time.
    #[getter]
    fn series(&self) -> Table {
        self.series.clone()
    }

    /// QueuePilot's reward of each run, a step being a sample of its time series; None where the network has several ports.
    fn rewards(&self) -> PyResult<Vec<Option<f64>>> {
        let specs = self.draft.get().scenario.runs().map_err(said)?;
        let of = |(i, run): (usize, &Run)| {
            // Some runs may be missing.
            let is_its = |spec: &&RunSpec| spec.discipline.label == run.discipline && spec.seed == run.seed;
            let spec = specs.iter().find(is_its)?;
            let mut run = run.clone();
            run.detail.series = sheets::series_of(&self.series, i);
            queuewright_experiments::reward(spec, &run)
        };
        Ok(self.results.runs.iter().enumerate().map(of).collect())
    }

    /// Of each run its discipline, seed and every measure that has a value, as `suite` and `reproduce` name them.
    fn measures(&self) -> Vec<Measured> {
        let of = |run: &Run| (run.discipline.clone(), run.seed, by_path(run));
        self.results.runs.iter().map(of).collect()
    }

    /// What `queuewright run --json` prints.
    fn to_json(&self) -> String {
        self.results.to_json()
    }

    /// What `queuewright run` prints in a pipe, and where runs are missing how many are there.
    fn summary(&self) -> String {
        let (there, all) = (self.results.runs.len(), self.draft.get().scenario.count());
        let missing = if there < all { format!("{there} of {all} runs\n") } else { String::new() };
        let answer: String = answer(&self.results).iter().map(|said| format!("\n{said}")).collect();
        missing + &table(&self.results, TableStyle::default()) + &answer + "\n"
    }

    /// Writes the folder that `queuewright run` writes, under `base` and called `name`; gives its path.
    fn save(&self, py: Python<'_>, base: PathBuf, name: &str) -> PyResult<PathBuf> {
        py.detach(|| {
            let scenario = &self.draft.get().scenario;
            let header = header(scenario);
            // Of an interrupted call fewer are there.
            let total = scenario.count();
            let mut folder = queuewright::folder(&base, scenario, name, &header, total)
                .map_err(|e| input(e.to_string().replacen("--out", "folder", 1)))?;
            for (i, run) in self.results.runs.iter().enumerate() {
                let mut run = run.clone();
                run.detail.series = sheets::series_of(&self.series, i);
                folder.add_run(i, run).map_err(|e| RunError::new_err(e.to_string()))?;
            }
            folder.finish().map_err(|e| RunError::new_err(e.to_string()))?;
            Ok(folder.path().to_path_buf())
        })
    }
}
