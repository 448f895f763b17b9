//! The figures for programs.

use serde_json::{Value, json};

use crate::analysis::ladder::{KERNEL_STEPS, LADDERS};
use crate::analysis::{Analysis, Estimate, Step};
use crate::catalog::{CIPHERS, Kind};

/// Version of the JSON's form.
const SCHEMA_VERSION: u32 = 1;

/// One line for each cell and metric.
pub fn csv(analysis: &Analysis) -> String {
    let mut out = String::from(
        "scenario,workload,build,cipher,bytes,options,ok,mismatched,failed,runs_with_drops,metric,count,mean,ci95,median,min,max\n",
    );
    for summary in &analysis.cells {
        let cell = &summary.cell;
        let options: Vec<String> =
            cell.options.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let head = [
            field(&cell.scenario),
            field(&cell.workload),
            field(&cell.build),
            field(&cell.cipher),
            cell.bytes.to_string(),
            field(&options.join(";")),
            summary.ok.to_string(),
            summary.mismatches.len().to_string(),
            summary.failures.len().to_string(),
            summary.runs_with_drops.to_string(),
        ]
        .join(",");
        if summary.metrics.is_empty() {
            // A cell none of whose runs counts has its line too.
            out.push_str(&format!("{head},,0,,,,,\n"));
        }
        for (name, metric) in &summary.metrics {
            let ci95 = metric.ci95.map(|half| half.to_string()).unwrap_or_default();
            out.push_str(&format!(
                "{head},{},{},{},{ci95},{},{},{}\n",
                field(name),
                metric.count,
                metric.mean,
                metric.median,
                metric.min,
                metric.max
            ));
        }
    }
    for profile in &analysis.profiles {
        let cell = &profile.cell;
        let options: Vec<String> =
            cell.options.iter().map(|(name, value)| format!("{name}={value}")).collect();
        for (category, share) in &profile.categories {
            let ci95 = share.ci95.map(|half| half.to_string()).unwrap_or_default();
            out.push_str(&format!(
                "{},{},{},{},{},{},{},0,0,0,{},{},{},{ci95},{},{},{}\n",
                field(&cell.scenario),
                field(&cell.workload),
                field(&cell.build),
                field(&cell.cipher),
                cell.bytes,
                field(&options.join(";")),
                profile.profiles,
                field(&format!("profile_share_{category}")),
                share.count,
                share.mean,
                share.median,
                share.min,
                share.max
            ));
        }
    }
    out
}

/// A field of CSV (RFC 4180). Text that a spreadsheet would take for a formula is kept from it.
fn field(text: &str) -> String {
    let text =
        if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{text}") } else { text.to_owned() };
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

/// One object with everything.
pub fn json(analysis: &Analysis) -> Value {
    let mut steps: Vec<Step> = Vec::new();
    let mut estimates: Vec<Estimate> = Vec::new();
    let mut breakdowns = Vec::new();
    for (cipher, _) in CIPHERS {
        let ladder = LADDERS.iter().flat_map(|(_, builds)| builds.windows(2).map(|pair| (pair[0], pair[1])));
        for (from, to) in KERNEL_STEPS.iter().copied().chain(ladder) {
            if steps.iter().any(|step| step.from == from && step.to == to && step.cipher == *cipher) {
                continue;
            }
            steps.extend(analysis.step(from, to, cipher));
        }
        for (build, donor) in [("wasm-handvec", "native-opt"), ("wasm-sandquic", "native-opt")] {
            estimates.extend(analysis.estimate(build, donor, cipher));
        }
        for build in analysis.headline_builds() {
            breakdowns.extend(analysis.breakdown(build.name, cipher));
        }
    }
    let scenarios: Vec<Value> = analysis
        .scenarios()
        .into_iter()
        .map(|(kind, name)| {
            let title = if kind == Kind::Other { "" } else { kind.title() };
            json!({"name": name, "title": title})
        })
        .collect();
    json!({
        "schema_version": SCHEMA_VERSION,
        "kind": "report",
        "records": analysis.records,
        "provenance": analysis.sessions,
        "scenarios": scenarios,
        "rows": analysis.cells,
        "profiles": analysis.profiles,
        "breakdowns": breakdowns,
        "ratios": analysis.ratios(),
        "steps": steps,
        "estimates": estimates,
        "fixed_costs": analysis.fixed_costs(),
        "missing": analysis.gaps,
        "problems": analysis.problems,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_and_no_formulas() {
        assert_eq!(field("plain"), "plain");
        assert_eq!(field("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(field("=1+1"), "'=1+1");
    }
}
