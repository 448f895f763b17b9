//! Our figures for the paper's claims, from an analysis; `None` where it does not have what they need.

use super::paper::{AES, CHACHA};
use crate::analysis::{Analysis, CPU, CellSummary, GIB, GOODPUT};
use crate::catalog::{self, BUILDS, CIPHERS, Kind, Role};

pub(super) fn goodput(a: &Analysis, build: &str, cipher: &str) -> Option<f64> {
    a.headline_mean(build, cipher, GOODPUT)
}

pub(super) fn cpu(a: &Analysis, build: &str, cipher: &str) -> Option<f64> {
    a.headline_mean(build, cipher, CPU)
}

pub(super) fn over(top: Option<f64>, bottom: Option<f64>) -> Option<f64> {
    top.zip(bottom.filter(|bottom| *bottom > 0.0)).map(|(top, bottom)| top / bottom)
}

pub(super) fn percent(top: Option<f64>, bottom: Option<f64>) -> Option<f64> {
    over(top, bottom).map(|ratio| ratio * 100.0)
}

pub(super) fn gain(a: &Analysis, build: &str, to: &str, cipher: &str) -> Option<f64> {
    percent(goodput(a, build, cipher), goodput(a, to, cipher)).map(|percent| percent - 100.0)
}

/// ms/GiB.
pub(super) fn category(a: &Analysis, build: &str, cipher: &str, category: &str) -> Option<f64> {
    Some(a.breakdown(build, cipher)?.category(category) * 1e3)
}

pub(super) fn share(a: &Analysis, build: &str, cipher: &str, category: &str) -> Option<f64> {
    Some(a.breakdown(build, cipher)?.share(category) * 100.0)
}

pub(super) fn rest(a: &Analysis, build: &str, cipher: &str) -> Option<f64> {
    let breakdown = a.breakdown(build, cipher)?;
    Some((breakdown.total - breakdown.category("crypto")) * 1e3)
}

pub(super) fn cut(a: &Analysis, from: &str, to: &str, cipher: &str) -> Option<f64> {
    percent(category(a, to, cipher, "crypto"), category(a, from, cipher, "crypto")).map(|left| 100.0 - left)
}

pub(super) fn predicted(a: &Analysis, from: &str, to: &str, cipher: &str) -> Option<f64> {
    a.step(from, to, cipher)?.change("crypto")?.predicted
}

/// The cells of the headline of the paper's builds and ciphers.
pub(super) fn cells<'a>(a: &'a Analysis, builds: &'a [&str]) -> impl Iterator<Item = &'a CellSummary> {
    builds.iter().flat_map(move |build| [AES, CHACHA].into_iter().filter_map(move |c| a.headline(build, c)))
}

pub(super) fn sender(a: &Analysis, is: fn(&str) -> bool) -> Option<f64> {
    let builds: Vec<&str> = super::paper::BUILDS.iter().map(|(_, build)| *build).filter(|b| is(b)).collect();
    cells(a, &builds)
        .filter_map(|cell| percent(cell.mean("sender_cpu_s"), cell.mean("seconds")))
        .reduce(f64::max)
}

/// CPU time less transfer time in s/GiB, of the paper's Wasm builds.
pub(super) fn excess(a: &Analysis) -> Vec<f64> {
    cells(a, &["wasm-base", "wasm-autovec", "wasm-handvec"])
        .filter_map(|cell| Some(cell.mean(CPU)? - 8.0 * GIB / 1e6 / cell.mean(GOODPUT)?))
        .collect()
}

pub(super) fn native_busy(a: &Analysis) -> Vec<f64> {
    cells(a, &["native-handvec", "native-opt"])
        .filter_map(|cell| percent(cell.mean("cpu_s"), cell.mean("seconds")))
        .collect()
}

pub(super) fn most_ack_loss(a: &Analysis) -> Option<f64> {
    super::paper::BUILDS
        .iter()
        .flat_map(|(_, build)| [AES, CHACHA].map(|cipher| category(a, build, cipher, "ack-loss")))
        .flatten()
        .reduce(f64::max)
}

/// The MAC's part of the cryptographic samples, by the names of the heaviest symbols.
pub(super) fn mac(a: &Analysis, cipher: &str, names: &[&str]) -> Option<f64> {
    let profile = a.headline_profile("wasm-handvec", cipher)?;
    let mut crypto = profile.symbols.iter().filter(|symbol| symbol.category == "crypto").peekable();
    crypto.peek()?;
    let (mut mac, mut all) = (0.0, 0.0);
    for symbol in crypto {
        all += symbol.share;
        let name = symbol.symbol.to_lowercase();
        // The AEAD's own name holds that of its MAC.
        let name = name.replace("chacha20poly1305", "").replace("chacha20_poly1305", "");
        if names.iter().any(|part| name.contains(part)) {
            mac += symbol.share;
        }
    }
    percent(Some(mac).filter(|mac| *mac > 0.0), Some(all))
}

pub(super) fn fastest_native(a: &Analysis) -> Option<f64> {
    BUILDS
        .iter()
        .filter(|build| build.role == Role::Headline && !catalog::is_sandboxed(build.name))
        .flat_map(|build| CIPHERS.iter().filter_map(|(cipher, _)| goodput(a, build.name, cipher)))
        .reduce(f64::max)
}

pub(super) fn alloc_and_runtime(a: &Analysis) -> Option<f64> {
    let step = a.step("wasm-handvec", "native-handvec", CHACHA)?;
    let part = step.change("alloc")?.decrease + step.change("runtime")?.decrease;
    percent(Some(part), step.decrease)
}

pub(super) fn crypto_of_last_step(a: &Analysis) -> Option<f64> {
    let step = a.step("native-opt", "native-quinn", CHACHA)?;
    percent(Some(step.change("crypto")?.decrease), step.decrease)
}

pub(super) fn estimate_of(a: &Analysis, cipher: &str, other: &str) -> Option<f64> {
    percent(a.estimate("wasm-handvec", "native-opt", cipher)?.goodput, goodput(a, other, cipher))
}

pub(super) fn estimate_cpu(a: &Analysis, cipher: &str) -> Option<f64> {
    over(Some(a.estimate("wasm-handvec", "native-opt", cipher)?.cpu), cpu(a, "native-opt", cipher))
}

/// The fixed cost of the sandbox, of wasm-handvec if it was measured, else of any build.
pub(super) fn fixed(a: &Analysis, start: &str) -> Option<f64> {
    let costs = a.fixed_costs();
    let mut sandboxed = costs.iter().filter(|cost| cost.start == start && catalog::is_sandboxed(&cost.build));
    let own = sandboxed.clone().find(|cost| cost.build == "wasm-handvec" && cost.cipher == CHACHA);
    Some(own.or_else(|| sandboxed.next())?.line.fixed)
}

/// A metric of a build by native-quinn's in a scenario of a kind, in per cent; with ChaCha20-Poly1305 if it is there.
pub(super) fn of_quinn(
    a: &Analysis,
    kind: Kind,
    build: &str,
    metric: &str,
    options: &[(&str, &str)],
) -> Option<f64> {
    let find = |build: &str, cipher: &str| {
        a.scenarios().into_iter().filter(|(other, _)| *other == kind).find_map(|(_, name)| {
            a.scenario(&name)
                .into_iter()
                .find(|cell| {
                    cell.cell.build == build
                        && cell.cell.cipher == cipher
                        && options.iter().all(|(name, value)| {
                            cell.cell.options.get(*name).is_some_and(|found| found == value)
                        })
                })
                .and_then(|cell| cell.mean(metric))
        })
    };
    [CHACHA, AES].iter().find_map(|cipher| percent(find(build, cipher), find("native-quinn", cipher)))
}

pub(super) fn larger_datagrams(a: &Analysis) -> Option<f64> {
    let of = |mtu: &str| {
        a.cells.iter().find(|cell| {
            cell.cell.build == "wasm-sandquic"
                && cell.cell.cipher == CHACHA
                && cell.cell.options.len() == 1
                && cell.cell.options.get("mtu").is_some_and(|found| found == mtu)
        })
    };
    over(of("9000")?.mean(CPU), of("1200")?.mean(CPU))
}

/// CPU time of a variant by that of the whole build.
pub(super) fn variant(a: &Analysis, build: &str, cipher: &str) -> Option<f64> {
    a.cells
        .iter()
        .filter(|cell| {
            cell.cell.build == build && cell.cell.cipher == cipher && cell.cell.workload == "receive"
        })
        .find_map(|cell| over(cell.mean(CPU), a.whole(cell)?.mean(CPU)))
}
