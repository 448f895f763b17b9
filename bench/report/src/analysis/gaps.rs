//! What was not measured.

use std::collections::BTreeSet;

use super::{Analysis, CellSummary, Gap};
use crate::catalog::{self, CIPHERS, Kind, Role};

/// Whether what a session did not do is there nevertheless, by another session.
pub(super) fn is_filled(analysis: &Analysis, gap: &Gap) -> bool {
    let of_cells = analysis.cells.iter().any(|summary| {
        summary.ok > 0 && summary.cell.scenario == gap.scenario && summary.cell.build == gap.what
    });
    let of_profiles = gap.what == "profiles"
        && analysis.profiles.iter().any(|profile| profile.cell.scenario == gap.scenario);
    of_cells || of_profiles
}

/// Whether a text is about a build, and about a cipher if it names one.
fn speaks_of(text: &str, build: &str, cipher: &str) -> bool {
    let words = || text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let names_a_cipher = words().any(|word| catalog::cipher(word).is_some());
    words().any(|word| word == build) && (!names_a_cipher || words().any(|word| word == cipher))
}

/// What a whole evaluation has and these records do not, beyond what they say themselves.
pub(super) fn missing(analysis: &Analysis, told: &BTreeSet<Gap>) -> Vec<Gap> {
    let mut found = Vec::new();
    let scenarios = analysis.scenarios();
    for kind in Kind::KNOWN {
        if scenarios.iter().any(|(other, _)| other == kind) {
            continue;
        }
        found.push(Gap {
            scenario: kind.title().to_owned(),
            what: "the whole scenario".to_owned(),
            why: "not in these records".to_owned(),
        });
    }
    // Every build of a scenario with every cipher and in every variant that the scenario has.
    for (kind, name) in &scenarios {
        let cells = analysis.scenario(name);
        let mut builds: BTreeSet<usize> = cells.iter().map(|s| catalog::rank(&s.cell.build)).collect();
        let mut ciphers: BTreeSet<&str> = cells.iter().map(|s| &*s.cell.cipher).collect();
        if *kind == Kind::Headline {
            builds.extend(
                catalog::BUILDS
                    .iter()
                    .enumerate()
                    .filter_map(|(at, build)| (build.role == Role::Headline).then_some(at)),
            );
            ciphers.extend(CIPHERS.iter().map(|(name, _)| *name));
        }
        let variants: BTreeSet<_> =
            cells.iter().map(|s| (&s.cell.workload, s.cell.bytes, &s.cell.options)).collect();
        // The headline is shown at one length; other scenarios vary it on purpose.
        let variants: Vec<_> = match kind {
            Kind::Headline => variants.into_iter().next_back().into_iter().collect(),
            _ => variants.into_iter().collect(),
        };
        for build in builds {
            let build = catalog::BUILDS[build].name;
            for cipher in &ciphers {
                for (workload, bytes, options) in &variants {
                    // Only the sandbox has a start to choose.
                    if *kind == Kind::FixedCost
                        && options.contains_key("start") != catalog::is_sandboxed(build)
                    {
                        continue;
                    }
                    let is = |summary: &&&CellSummary| {
                        let cell = &summary.cell;
                        cell.build == build
                            && cell.cipher == *cipher
                            && &cell.options == *options
                            && (*kind == Kind::Headline
                                || cell.bytes == *bytes && &cell.workload == *workload)
                    };
                    let measured = cells.iter().filter(is).map(|summary| summary.ok).sum::<usize>();
                    if measured > 0 {
                        continue;
                    }
                    let failed: usize = cells.iter().filter(is).map(|summary| summary.left_out()).sum();
                    let why = if failed > 0 {
                        format!("none of its {failed} runs counts")
                    } else {
                        told.iter()
                            .find(|gap| gap.scenario == *name && speaks_of(&gap.what, build, cipher))
                            .map_or_else(|| "not in these records".to_owned(), |gap| gap.why.clone())
                    };
                    let variant: Vec<String> =
                        options.iter().map(|(name, value)| format!(", {name} {value}")).collect();
                    let size = if *kind == Kind::FixedCost {
                        format!(", {}", crate::text::size(*bytes))
                    } else {
                        String::new()
                    };
                    found.push(Gap {
                        scenario: name.clone(),
                        what: format!(
                            "{build}, {}{}{size}",
                            catalog::cipher(cipher).unwrap_or(cipher),
                            variant.concat()
                        ),
                        why,
                    });
                }
            }
        }
    }
    found
}
