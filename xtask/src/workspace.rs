//! The workspace: its places, and what `cargo metadata` says of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::cmd::Cmd;
use crate::{Error, Result};

/// Where things are.
pub(crate) struct Workspace {
    root: PathBuf,
}

/// A package of the workspace or of its dependency tree.
#[derive(Clone, Debug, Default)]
pub(crate) struct Package {
    /// Name.
    pub(crate) name: String,
    /// Version.
    pub(crate) version: String,
    /// Its folder.
    pub(crate) dir: PathBuf,
    /// The native library it says it links.
    pub(crate) links: Option<String>,
    /// Its declared dependencies.
    pub(crate) dependencies: Vec<Dependency>,
    /// The kind and source file of each target.
    pub(crate) targets: Vec<(String, PathBuf)>,
    /// Feature name to what it switches on.
    pub(crate) features: BTreeMap<String, Vec<String>>,
}

impl Package {
    /// Whether it becomes a WebAssembly file of its own.
    pub(crate) fn is_component(&self) -> bool {
        self.targets.iter().any(|(kind, _)| kind.contains("cdylib"))
    }
}

/// A declared dependency.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dependency {
    /// The package's name (not what it is renamed to).
    pub(crate) name: String,
    /// Whether only a feature brings it in.
    pub(crate) optional: bool,
    /// `normal`, `dev` or `build`.
    pub(crate) kind: String,
}

impl Workspace {
    /// The workspace this program was built from.
    pub(crate) fn find() -> Result<Self> {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
        match manifest.parent() {
            Some(root) if root.join("Cargo.toml").is_file() => Ok(Self { root: root.to_owned() }),
            _ => Err(Error::Failed(format!(
                "{} is no longer in its workspace: run it as `cargo xtask`",
                manifest.display()
            ))),
        }
    }

    /// The root folder.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// A path under the root.
    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// A path under the build folder.
    pub(crate) fn target(&self, relative: &str) -> PathBuf {
        self.root.join("target").join(relative)
    }

    /// The `sandquic` command that `build` makes.
    pub(crate) fn sandquic(&self) -> PathBuf {
        self.target("release/sandquic")
    }

    /// Plain cargo, in the root, with the build folder this crate assumes.
    pub(crate) fn cargo(&self) -> Cmd {
        self.cargo_of(None)
    }

    /// Cargo of the rustup toolchain `name`, or plain cargo.
    pub(crate) fn cargo_of(&self, name: Option<&str>) -> Cmd {
        let cargo = Cmd::new("cargo").dir(&self.root).env("CARGO_TARGET_DIR", self.target(""));
        match name {
            Some(name) => cargo.arg(format!("+{name}")),
            None => cargo,
        }
    }

    /// The members of the workspace.
    pub(crate) fn members(&self) -> Result<Vec<Package>> {
        self.metadata(&["--no-deps"])
    }

    /// Every package in the dependency trees of the workspace.
    pub(crate) fn packages(&self) -> Result<Vec<Package>> {
        self.metadata(&[])
    }

    fn metadata(&self, flags: &[&str]) -> Result<Vec<Package>> {
        let json = self.cargo().words("metadata --format-version 1 --quiet").args(flags).read()?;
        let json: Value = serde_json::from_str(&json)
            .map_err(|e| Error::Failed(format!("`cargo metadata` wrote no JSON: {e}")))?;
        Ok(list(&json["packages"]).map(package).collect())
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn package(value: &Value) -> Package {
    let dependency = |d: &Value| Dependency {
        name: text(&d["name"]),
        optional: d["optional"].as_bool().unwrap_or_default(),
        kind: d["kind"].as_str().unwrap_or("normal").to_owned(),
    };
    let features = value["features"].as_object().into_iter().flatten();
    Package {
        name: text(&value["name"]),
        version: text(&value["version"]),
        dir: PathBuf::from(text(&value["manifest_path"])).parent().map(Path::to_owned).unwrap_or_default(),
        links: value["links"].as_str().map(str::to_owned),
        dependencies: list(&value["dependencies"]).map(dependency).collect(),
        targets: list(&value["targets"])
            .map(|t| {
                (
                    list(&t["kind"]).map(text).collect::<Vec<_>>().join(","),
                    PathBuf::from(text(&t["src_path"])),
                )
            })
            .collect(),
        features: features.map(|(name, on)| (name.clone(), list(on).map(text).collect())).collect(),
    }
}
