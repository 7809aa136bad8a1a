//! Made-up results, the same on every machine: shaped like real ones, true of nothing.

use queuewright_results::*;
use std::collections::BTreeMap;

/// A deterministic noise in -1..1 (SplitMix64).
pub fn noise(key: u64) -> f64 {
    let mut z = key.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) as f64 / u64::MAX as f64 * 2.0 - 1.0
}

/// A comparison of the labels over the seeds, `samples` samples a series.
pub fn results(labels: &[&str], seeds: &[u64], samples: usize) -> Results {
    let mut runs = Vec::new();
    for (d, label) in labels.iter().enumerate() {
        runs.extend(seeds.iter().map(|&seed| run(label, d, seed, samples)));
    }
    Results {
        schema: SCHEMA,
        version: "0.1.0".into(),
        scenario: serde_json::json!({
            "name": "sample", "link": {"rate": "100mbit", "delay": "1ms", "buffer": "2bdp"},
            "flows": [{"count": 10, "cca": "cubic", "rtt": "20ms..80ms"}, {"count": 4, "cca": "bbr"}],
            "hash": "3f79bb7b435b05321651daefd374cdc681dc06faa65e374e38337b88ca046dea",
        }),
        runs,
    }
}

fn run(label: &str, d: usize, seed: u64, samples: usize) -> Run {
    let base = [88.0, 6.1, 14.6, 9.2, 31.0][d % 5];
    let key = (d as u64) << 32 | seed << 16;
    let mean = base * (1.0 + 0.06 * noise(key));
    let thresholds = d % 2 == 1;
    let mut flows: Vec<Flow> = (0..14u32)
        .map(|id| {
            let cubic = id < 10;
            Flow {
                id,
                group: if cubic { "cubic" } else { "bbr" }.into(),
                cca: if cubic { "cubic" } else { "bbr" }.into(),
                base_rtt_ms: 50.0 + 30.0 * noise(u64::from(id)),
                goodput_bps: 6.6e6 * (1.0 + 0.4 * noise(key + u64::from(id))),
                sojourn_ms: mean,
                srtt_ms: Some(50.0 + mean),
                retransmits: u64::from(id) * 7,
                timeouts: 0,
                fct_s: None,
                video: None,
            }
        })
        .collect();
    flows.push(Flow {
        id: 14,
        group: "voice".into(),
        cca: "cbr".into(),
        base_rtt_ms: 20.0,
        goodput_bps: 2e6,
        srtt_ms: None,
        fct_s: Some(12.5),
        ..Flow::default()
    });
    let groups = [("cubic", "cubic"), ("bbr", "bbr"), ("voice", "cbr")].map(|(name, cca)| {
        let own = flows.iter().filter(|f| f.group == name);
        Group {
            name: name.into(),
            cca: cca.into(),
            cca_file: None,
            flows: own.clone().count() as u32,
            goodput_bps: own.map(|f| f.goodput_bps).sum(),
            transfers: None,
            video: (cca == "bbr").then_some(Video {
                chunks: 90,
                bitrate_bps: 3.2e6 / (1.0 + mean / 50.0),
                switches: 4 + d as u64,
                stalls: d as u64,
                stalled_s: 1.5 * d as f64,
                startup_s: 0.4,
                linear_qoe: 3.2 / (1.0 + mean / 50.0) - 0.1 * d as f64,
                stalling_index: 0.9,
            }),
            datagrams: (cca == "cbr").then(|| Datagrams {
                received: 50_000,
                lost: 500,
                loss: 500.0 / 50_500.0,
                delay_ms: Sojourn {
                    mean: mean + 12.0,
                    p50: mean + 11.0,
                    p95: mean * 1.6 + 11.0,
                    ..Sojourn::default()
                },
                ..Datagrams::default()
            }),
            harm: None,
        }
    });
    let time_s: Vec<f64> = (0..samples).map(|i| i as f64 * 0.01).collect();
    let queue = |i: usize| {
        let phase = (i as f64 / 400.0 + noise(key)).rem_euclid(1.0);
        (mean * 12_500.0 * (0.5 + phase) * (1.0 + 0.1 * noise(key + i as u64))).max(0.0)
    };
    let column = |name: &str, unit: &str, value: &dyn Fn(usize) -> f64| Column {
        name: name.into(),
        unit: unit.into(),
        values: (0..samples).map(value).collect(),
    };
    let mut columns = vec![
        column("bottleneck.backlog_bytes", "bytes", &queue),
        column("bottleneck.rate_bps", "bit/s", &|i| 9.6e7 + 3e6 * noise(i as u64 + key)),
        column("flow0.cwnd", "packets", &|i| 40.0 + 30.0 * (i as f64 / 300.0 + seed as f64).sin()),
        column("flow0.goodput_bps", "bit/s", &|i| 7e6 + 1e6 * noise(key + 3 * i as u64)),
    ];
    columns.push(if thresholds {
        column("bottleneck.threshold_bytes", "bytes", &|i| {
            if i < samples / 20 { f64::NAN } else { mean * 20_000.0 }
        })
    } else {
        column("bottleneck.drop_probability", "", &|i| 0.01 + 0.005 * noise(i as u64 / 50))
    });
    Run {
        discipline: label.into(),
        parameters: BTreeMap::from([("limit".into(), "2bdp".into()), ("target".into(), "5ms".into())]),
        seed,
        engine: "sim".into(),
        duration_s: 60.0,
        warmup_s: 10.0,
        ports: vec![Port {
            name: "bottleneck".into(),
            utilization: 0.999 - 0.02 * (d % 3) as f64 + 0.001 * noise(key + 1),
            packets: 400_000 + seed,
            sojourn_ms: Sojourn {
                mean,
                std: mean / 3.0,
                p25: mean * 0.7,
                p50: mean * 0.95,
                p75: mean * 1.2,
                p95: mean * 1.6,
                p99: mean * 2.0,
                p99_9: mean * 2.5,
                max: mean * 3.0,
            },
            backlog_packets: Backlog { mean: mean * 8.0, max: mean * 24.0 },
            backlog_bytes: Backlog { mean: mean * 12_500.0, max: mean * 37_500.0 },
            drop_fraction: 0.004 * (1.0 + d as f64) + 1e-4 * noise(key + 2),
            mark_fraction: 0.0,
            drops: BTreeMap::from([("overlimit".into(), 120), (label.to_string(), 7)]),
            ..Port::default()
        }],
        jain: 0.9 + 0.05 * noise(key + 5),
        groups: groups.to_vec(),
        flows,
        wall_s: 0.5,
        packets_per_s: 8e5,
        detail: Detail {
            transfers: Vec::new(),
            sojourn_cdf: vec![
                (0..=200)
                    .map(|i| {
                        let share = f64::from(i) / 200.0;
                        (mean * 0.3 - mean * 0.35 * (1.0 - share * 0.999).ln(), share)
                    })
                    .collect(),
            ],
            series: Series { time_s, columns },
        },
        ..Run::default()
    }
}
