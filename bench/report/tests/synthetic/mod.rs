//! A record that no machine measured: every scenario, plausible figures, the same at every call.

use std::collections::BTreeMap;

use sandquic_report::record::{
    Cell, Line, Outcome, Profile, Provenance, Run, Session, Skipped, Symbol, append,
};

pub(crate) const MIB: u64 = 1 << 20;

const CIPHERS: [&str; 3] = ["aes-128-gcm", "aes-256-gcm", "chacha20-poly1305"];

/// CPU s/GiB with each cipher, and what is not cryptography in it.
const HEADLINE: &[(&str, [f64; 3], f64)] = &[
    ("wasm-base", [25.1, 29.5, 7.5], 2.9),
    ("wasm-base64", [15.1, 17.3, 7.4], 2.9),
    ("wasm-autovec", [20.2, 23.9, 7.0], 2.9),
    ("wasm-autovec64", [13.2, 15.0, 6.9], 2.9),
    ("wasm-handvec", [11.7, 13.3, 5.4], 2.8),
    ("wasm-sandquic", [6.7, 7.6, 4.3], 2.7),
    ("wasm-sandquic-wide", [6.5, 7.4, 4.1], 2.7),
    ("wasm-sandquic-host", [4.9, 5.8, 2.7], 1.6),
    ("wasm-sandquic-p2-host", [4.8, 5.7, 2.6], 1.5),
    ("native-handvec", [7.9, 9.1, 3.3], 1.1),
    ("native-port", [4.6, 5.2, 2.6], 1.1),
    ("native-opt", [1.28, 1.20, 1.72], 0.7),
    ("native-quinn", [1.22, 1.10, 1.52], 0.7),
];

/// Shares of what is not cryptography: copy, socket-io, runtime, alloc, quic-proto, ack-loss, other.
const REST: [(&str, f64); 7] = [
    ("copy", 0.03),
    ("socket-io", 0.32),
    ("runtime", 0.18),
    ("alloc", 0.14),
    ("quic-proto", 0.2),
    ("ack-loss", 0.03),
    ("other", 0.1),
];

/// Numbers that look like noise and are the same at every call.
pub(crate) struct Noise(u64);

impl Noise {
    /// A factor around 1, at most `spread` away from it.
    fn factor(&mut self, spread: f64) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let unit = (self.0 >> 11) as f64 / (1_u64 << 53) as f64;
        1.0 + spread * (2.0 * unit - 1.0)
    }
}

pub(crate) fn cell(
    scenario: &str,
    workload: &str,
    build: &str,
    cipher: &str,
    bytes: u64,
    options: &[(&str, &str)],
) -> Cell {
    Cell {
        scenario: scenario.into(),
        workload: workload.into(),
        build: build.into(),
        cipher: cipher.into(),
        bytes,
        options: options.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
    }
}

pub(crate) fn session(name: &str, commit: &str) -> Line {
    Line::Session(Session {
        session: name.into(),
        effort: "full".into(),
        provenance: Provenance {
            unix_time: 1_796_064_662,
            command: ["sandquic", "bench", "evaluate", "--effort", "full"].map(String::from).to_vec(),
            commit: commit.into(),
            version: "0.1.0".into(),
            rustc: "rustc 1.95.0".into(),
            target: "x86_64-unknown-linux-gnu".into(),
            target_features: "fxsr,sse,sse2".into(),
            profile: "release".into(),
            engine: "wasmtime 48.0.8".into(),
            cpu: "Synthetic processor".into(),
            cpus: 2,
            cpu_features: vec!["aes".into(), "avx2".into()],
            kernel: "Linux 6.18.0".into(),
        },
        setup: BTreeMap::from([
            ("recv_buffer".into(), "4194304".into()),
            ("network".into(), "loopback".into()),
            ("divisor.headline".into(), "4".into()),
            ("sizes.headline".into(), "256 MiB instead of 1 GiB, to fit into the time".into()),
        ]),
    })
}

pub(crate) fn run(cell: Cell, round: u32, metrics: &[(&str, f64)]) -> Line {
    let metrics = metrics.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    Line::Run(Run { session: "one".into(), cell, round, outcome: Outcome::Ok, metrics })
}

/// A bulk transfer that takes so many CPU seconds a GiB.
pub(crate) fn transfer(
    noise: &mut Noise,
    cell: Cell,
    round: u32,
    cpu_per_gib: f64,
    more: &[(&str, f64)],
) -> Line {
    let gib = cell.bytes as f64 / (1024.0 * MIB as f64);
    let cpu = cpu_per_gib * gib * noise.factor(0.03);
    let seconds = cpu * noise.factor(0.05) + 0.02;
    let drops = if cell.build == "wasm-base" && round == 1 { 17.0 } else { 0.0 };
    let mut metrics = vec![
        ("seconds", seconds),
        ("goodput_mbps", 8.0 * cell.bytes as f64 / 1e6 / seconds),
        ("cpu_user_s", cpu * 0.8),
        ("cpu_system_s", cpu * 0.2),
        ("sender_cpu_s", 1.4 * gib),
        ("handshake_s", 0.003),
        ("drops", drops),
        ("recv_buffer_bytes", 4_194_304.0),
    ];
    metrics.extend_from_slice(more);
    run(cell, round, &metrics)
}

fn profile(noise: &mut Noise, cell: Cell, round: u32, total: f64, rest: f64) -> Line {
    let mut categories: BTreeMap<String, f64> =
        REST.iter().map(|(name, share)| ((*name).into(), rest / total * share * noise.factor(0.1))).collect();
    let others: f64 = categories.values().sum();
    categories.insert("crypto".into(), 1.0 - others);
    let symbols = categories
        .iter()
        .flat_map(|(category, share)| {
            (1..=3).map(move |at| Symbol {
                category: category.clone(),
                symbol: format!("{category}::function_{at}<[u8; 16]>"),
                object: if category == "socket-io" { "[kernel]".into() } else { "[jit]".into() },
                share: share / 2_f64.powi(at),
            })
        })
        .collect();
    let gib = cell.bytes as f64 / (1024.0 * MIB as f64);
    Line::Profile(Profile {
        session: "one".into(),
        cell,
        round,
        samples: 40_000,
        cpu_s: total * gib,
        categories,
        symbols,
    })
}

/// CPU s/GiB of a build of the headline.
fn cpu(build: &str, cipher: usize) -> f64 {
    HEADLINE.iter().find(|(name, ..)| *name == build).expect("a build of the table").1[cipher]
}

/// The lines of the record.
pub(crate) fn lines() -> Vec<Line> {
    let mut noise = Noise(7);
    let mut lines = vec![session("one", "0123456789abcdef0123456789abcdef01234567")];
    for round in 1..=5 {
        for (at, cipher) in CIPHERS.iter().enumerate() {
            for (build, cpu, _) in HEADLINE {
                let cell = cell("headline", "receive", build, cipher, 256 * MIB, &[]);
                lines.push(transfer(&mut noise, cell, round, cpu[at], &[]));
            }
        }
    }
    for round in 1..=3 {
        for (at, cipher) in CIPHERS.iter().enumerate() {
            for (build, cpu, rest) in HEADLINE {
                let cell = cell("headline", "receive", build, cipher, 256 * MIB, &[]);
                lines.push(profile(&mut noise, cell, round, cpu[at], *rest));
            }
        }
    }
    others(&mut noise, &mut lines);
    lines.push(Line::Skipped(Skipped {
        session: "one".into(),
        scenario: "mtu".into(),
        what: "mtu 9000 of wasm-base".into(),
        why: "a component sends datagrams of 1,200 bytes".into(),
    }));
    // Two runs that do not count.
    for (build, outcome) in [
        ("wasm-autovec", Outcome::Mismatch("the hash is not that of what was sent".into())),
        ("native-port", Outcome::Failed("no answer within 60 s".into())),
    ] {
        let cell = cell("headline", "receive", build, "aes-128-gcm", 256 * MIB, &[]);
        lines.push(Line::Run(Run {
            session: "one".into(),
            cell,
            round: 6,
            outcome,
            metrics: BTreeMap::new(),
        }));
    }
    lines
}

fn others(noise: &mut Noise, lines: &mut Vec<Line>) {
    for round in 1..=5 {
        for (at, cipher) in CIPHERS.iter().enumerate().filter(|(_, cipher)| **cipher != "aes-256-gcm") {
            for (start, fixed) in [("aot", 0.06), ("jit", 0.9)] {
                for mib in [64, 256, 1024] {
                    for build in ["wasm-handvec", "wasm-sandquic"] {
                        let gib = f64::from(mib) / 1024.0;
                        let slope = cpu(build, at);
                        let cell = cell(
                            "fixed-cost",
                            "receive",
                            build,
                            cipher,
                            u64::from(mib as u32) * MIB,
                            &[("start", start)],
                        );
                        lines.push(transfer(noise, cell, round, slope + fixed / gib, &[]));
                    }
                }
            }
            for mib in [64, 256, 1024] {
                let cell = cell("fixed-cost", "receive", "native-quinn", cipher, mib * MIB, &[]);
                lines.push(transfer(noise, cell, round, cpu("native-quinn", at), &[]));
            }
            for build in ["wasm-base", "wasm-sandquic", "native-opt", "native-quinn"] {
                let cell = cell("send", "send", build, cipher, 128 * MIB, &[]);
                lines.push(transfer(noise, cell, round, cpu(build, at) * 1.1, &[]));
            }
            for mode in ["full", "resumed", "early-data"] {
                for (build, ms) in [("wasm-sandquic", 3.1), ("native-opt", 1.2), ("native-quinn", 1.0)] {
                    let ms = ms * if mode == "full" { 1.0 } else { 0.5 } * noise.factor(0.04);
                    let cell = cell("connect", "connect", build, cipher, 1024, &[("mode", mode)]);
                    let metrics = [
                        ("seconds", 0.2 * ms),
                        ("connections", 200.0),
                        ("handshakes_per_s", 1000.0 / ms),
                        ("handshake_median_s", ms * 0.9e-3),
                        ("first_byte_median_s", ms * 1.1e-3),
                        ("cpu_user_s", 0.15 * ms),
                        ("cpu_system_s", 0.03 * ms),
                        ("resumed", if mode == "full" { 0.0 } else { 199.0 }),
                        ("early_data_accepted", if mode == "early-data" { 199.0 } else { 0.0 }),
                    ];
                    lines.push(run(cell, round, &metrics));
                }
            }
            for loss in ["0", "0.1", "1"] {
                for delay in ["0", "10", "50"] {
                    for (build, mbps) in [("wasm-sandquic", 700.0), ("native-quinn", 2_000.0)] {
                        let slow = 1.0 + 40.0 * loss.parse::<f64>().unwrap() + delay.parse::<f64>().unwrap();
                        let options = [("loss_percent", loss), ("delay_ms", delay)];
                        let cell = cell("network", "receive", build, cipher, 16 * MIB, &options);
                        let mbps = mbps / slow * noise.factor(0.1);
                        let more = [
                            ("packets_sent", 12_000.0),
                            ("packets_lost", 12.0 * slow),
                            ("goodput_mbps", mbps),
                        ];
                        lines.push(transfer(noise, cell, round, cpu(build, at), &more));
                    }
                }
            }
            for mtu in ["1200", "1452", "4000", "9000"] {
                for build in ["wasm-sandquic", "native-opt", "native-quinn"] {
                    let cell = cell("mtu", "receive", build, cipher, 256 * MIB, &[("mtu", mtu)]);
                    let packets = 1200.0 / mtu.parse::<f64>().unwrap();
                    lines.push(transfer(noise, cell, round, cpu(build, at) * (0.5 + 0.5 * packets), &[]));
                }
            }
            for build in ["wasm-sandquic", "wasm-host-crypto"] {
                let host = build == "wasm-host-crypto";
                let cell = cell("host-crypto", "receive", build, cipher, 256 * MIB, &[]);
                let more = [("host_calls", 190_000.0), ("host_bytes_copied", 540e6)];
                let more = if host { &more[..] } else { &[] };
                lines.push(transfer(noise, cell, round, if host { 3.1 } else { cpu(build, at) }, more));
            }
            for (build, times) in [
                ("wasm-sandquic", 1.0),
                ("wasm-no-chacha20", if at == 2 { 1.6 } else { 1.0 }),
                ("wasm-no-poly1305", if at == 2 { 1.2 } else { 1.0 }),
                ("wasm-no-aes", if at == 2 { 1.0 } else { 2.1 }),
                ("wasm-no-ghash", if at == 2 { 1.0 } else { 1.5 }),
                ("wasm-no-one-pass", 1.05),
                ("wasm-no-mask", 1.1),
            ] {
                let cell = cell("ablation", "receive", build, cipher, 128 * MIB, &[]);
                lines.push(transfer(noise, cell, round, cpu("wasm-sandquic", at) * times, &[]));
            }
            for (build, times) in [
                ("native-no-avx2", 1.2),
                ("native-no-aes", if at == 2 { 1.0 } else { 2.4 }),
                ("native-no-clmul", if at == 2 { 1.0 } else { 1.7 }),
                ("native-no-offloads", 1.3),
            ] {
                let cell = cell("ablation", "receive", build, cipher, 128 * MIB, &[]);
                lines.push(transfer(noise, cell, round, cpu("native-opt", at) * times, &[]));
            }
        }
        for (build, cpu) in [("wasm-unprotected", 2.6), ("native-unprotected", 0.62)] {
            let cell = cell("ceiling", "receive", build, "chacha20-poly1305", 256 * MIB, &[]);
            lines.push(transfer(noise, cell, round, cpu, &[]));
        }
    }
}

/// Lines as a file holds them.
pub(crate) fn text(lines: &[Line]) -> Vec<u8> {
    let mut text = Vec::new();
    for line in lines {
        append(&mut text, line).expect("a vector takes everything");
    }
    text
}
