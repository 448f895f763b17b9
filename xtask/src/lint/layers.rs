//! The layer rule: a crate names only crates below it.

use crate::lint::outcome;
use crate::workspace::{Package, Workspace};

/// The product, from the bottom up: each may name those before it.
const PRODUCT: [&str; 5] =
    ["sandquic-instance", "sandquic-crypto", "sandquic-rustls", "sandquic-wasi", "sandquic"];

/// A member and those it may name.
struct Layer {
    /// The member.
    name: &'static str,
    /// Members it may name.
    below: &'static [&'static str],
}

/// Members outside the product's stack.
const OTHERS: &[Layer] = &[
    Layer { name: "sandquic-host", below: &["sandquic-instance"] },
    Layer { name: "sandquic-transfer", below: &PRODUCT },
    Layer { name: "sandquic-web", below: &PRODUCT },
    Layer { name: "sandquic-report", below: &[] },
    Layer { name: "sandquic-baselines", below: &["sandquic-crypto", "sandquic-rustls"] },
    Layer {
        name: "sandquic-peer",
        below: &["sandquic-rustls", "sandquic", "sandquic-transfer", "sandquic-baselines"],
    },
    Layer { name: "sandquic-host-crypto-client", below: &GUEST },
    Layer { name: "sandquic-bench-host", below: &["sandquic-host"] },
    // Nobody may name it but the two programs of the evaluation's ceiling.
    Layer { name: "sandquic-unprotected", below: &["sandquic-rustls", "sandquic", "sandquic-transfer"] },
    Layer {
        name: "sandquic-unprotected-client",
        below: &["sandquic", "sandquic-transfer", "sandquic-unprotected"],
    },
    Layer {
        name: "sandquic-bench",
        below: &[
            "sandquic-crypto",
            "sandquic-rustls",
            "sandquic",
            "sandquic-host",
            "sandquic-transfer",
            "sandquic-kernels",
            "sandquic-baselines",
            "sandquic-report",
        ],
    },
    Layer {
        name: "sandquic-cli",
        below: &[
            "sandquic-crypto",
            "sandquic-rustls",
            "sandquic",
            "sandquic-host",
            "sandquic-transfer",
            "sandquic-web",
            "sandquic-bench",
            "sandquic-report",
        ],
    },
    // Its relay is the evaluation's.
    Layer { name: "sandquic-interop", below: &["sandquic-bench"] },
    Layer { name: "xtask", below: &[] },
];

/// What a guest may name; what is under `bench/` only behind the feature `baselines`.
const GUEST: [&str; 5] =
    ["sandquic-crypto", "sandquic-rustls", "sandquic", "sandquic-transfer", "sandquic-web"];

pub(super) fn check(workspace: &Workspace, members: &[Package]) -> Result<(), String> {
    let folder = |package: &Package| {
        let inside = package.dir.strip_prefix(workspace.root()).unwrap_or(&package.dir);
        inside
            .components()
            .next()
            .map(|first| first.as_os_str().to_string_lossy().into_owned())
            .unwrap_or_default()
    };
    let folders: Vec<(String, &Package)> = members.iter().map(|package| (folder(package), package)).collect();
    outcome(violations(&folders))
}

/// Every dependency on a member that is not below, of members with the first folder of their path.
fn violations(members: &[(String, &Package)]) -> Vec<String> {
    let folder_of =
        |name: &str| members.iter().find(|(_, p)| p.name == name).map(|(folder, _)| folder.as_str());
    let mut found = Vec::new();
    for (folder, package) in members {
        let Some(below) = below(folder, &package.name) else {
            found.push(format!("{}: in no layer; give it one in xtask/src/lint/layers.rs", package.name));
            continue;
        };
        for dependency in &package.dependencies {
            let Some(other) = folder_of(&dependency.name) else { continue };
            let behind_baselines = folder == "guests"
                && other == "bench"
                && dependency.optional
                && dependency.name == "sandquic-baselines";
            if dependency.name == package.name
                || below.contains(&dependency.name.as_str())
                || behind_baselines
            {
                continue;
            }
            let remedy = match (folder.as_str(), other) {
                ("guests", "bench") => "make the dependency optional, behind the feature `baselines`",
                (_, "bench") => "only bench/ and the command may name bench/",
                _ => "move what is needed down, or the code that needs it up",
            };
            let kind = &dependency.kind;
            found.push(format!(
                "{}: names {} ({kind} dependency), which is not below it; {remedy}",
                package.name, dependency.name
            ));
        }
    }
    found
}

/// What a member may name, if it has a layer.
fn below(folder: &str, name: &str) -> Option<&'static [&'static str]> {
    if let Some(at) = PRODUCT.iter().position(|product| *product == name) {
        return Some(&PRODUCT[..at]);
    }
    match OTHERS.iter().find(|layer| layer.name == name) {
        Some(layer) => Some(layer.below),
        None if folder == "guests" => Some(&GUEST),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Dependency;

    fn package(name: &str, dependencies: &[(&str, bool)]) -> Package {
        let dependency = |&(name, optional): &(&str, bool)| Dependency {
            name: name.to_owned(),
            optional,
            kind: "normal".to_owned(),
        };
        Package {
            name: name.to_owned(),
            dependencies: dependencies.iter().map(dependency).collect(),
            ..Package::default()
        }
    }

    fn found(members: &[(&str, &Package)]) -> Vec<String> {
        let members: Vec<_> =
            members.iter().map(|(folder, package)| ((*folder).to_owned(), *package)).collect();
        violations(&members)
    }

    #[test]
    fn what_points_down_passes() {
        let crypto = package("sandquic-crypto", &[("zeroize", true)]);
        let rustls = package("sandquic-rustls", &[("sandquic-crypto", false)]);
        let baselines = package("sandquic-baselines", &[("sandquic-rustls", false)]);
        let guest =
            package("sandquic-transfer-client", &[("sandquic-rustls", false), ("sandquic-baselines", true)]);
        let members = [("crates", &crypto), ("crates", &rustls), ("bench", &baselines), ("guests", &guest)];
        assert_eq!(found(&members), Vec::<String>::new());
    }

    #[test]
    fn planted_violations_are_found() {
        let crypto = package("sandquic-crypto", &[("sandquic-rustls", false)]);
        let rustls = package("sandquic-rustls", &[("sandquic-baselines", false)]);
        let baselines = package("sandquic-baselines", &[]);
        let guest = package("sandquic-transfer-client", &[("sandquic-baselines", false)]);
        let stray = package("sandquic-stray", &[]);
        let unprotected = package("sandquic-unprotected", &[]);
        let command = package("sandquic-cli", &[("sandquic-unprotected", true)]);
        let server = package("sandquic-transfer-server", &[("sandquic-unprotected", true)]);
        let members = [
            ("crates", &crypto),
            ("crates", &rustls),
            ("bench", &baselines),
            ("guests", &guest),
            ("crates", &stray),
            ("bench", &unprotected),
            ("crates", &command),
            ("guests", &server),
        ];
        let found = found(&members);
        for (line, part) in found.iter().zip([
            "sandquic-crypto: names sandquic-rustls",
            "sandquic-rustls: names sandquic-baselines",
            "sandquic-transfer-client: names sandquic-baselines",
            "sandquic-stray: in no layer",
            "sandquic-cli: names sandquic-unprotected",
            "sandquic-transfer-server: names sandquic-unprotected",
        ]) {
            assert!(line.starts_with(part), "{line}");
        }
        assert_eq!(found.len(), 6);
    }
}
