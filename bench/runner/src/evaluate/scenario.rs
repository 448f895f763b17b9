//! Scenarios: what is asked, of which builds, under which circumstances, how often. One file each in `bench/scenarios`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use clap::ValueEnum;
use sandquic_report::record::Cell;
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::choice::display_by_value;
use crate::peer::Mode;
use crate::transfer::{Build, Cipher};
use crate::units::parse_size;

/// The scenarios that this program holds, in the order in which they are measured: name and text.
const EMBEDDED: &[(&str, &str)] = &[
    ("headline", include_str!("../../../scenarios/headline.toml")),
    ("fixed-cost", include_str!("../../../scenarios/fixed-cost.toml")),
    ("send", include_str!("../../../scenarios/send.toml")),
    ("connect", include_str!("../../../scenarios/connect.toml")),
    ("network", include_str!("../../../scenarios/network.toml")),
    ("mtu", include_str!("../../../scenarios/mtu.toml")),
    ("host-crypto", include_str!("../../../scenarios/host-crypto.toml")),
    ("ablation-wasm", include_str!("../../../scenarios/ablation-wasm.toml")),
    ("ablation-native", include_str!("../../../scenarios/ablation-native.toml")),
    ("ceiling", include_str!("../../../scenarios/ceiling.toml")),
];

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Effort {
    /// Once each, as little as possible: shows that everything works, measures nothing.
    Smoke,
    /// Few runs of small sizes.
    Quick,
    /// As the scenario says.
    Full,
}

/// What the measured process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Workload {
    /// It fetches content from `native-quinn`.
    Receive,
    /// It uploads content to `native-quinn`.
    Send,
    /// It makes many connections to `native-quinn`, one after the other, each to fetch a little content.
    Connect,
}

/// When a sandboxed program is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Start {
    /// Ahead of time: its machine code is loaded from the cache.
    Aot,
    /// Just in time: in the run.
    Jit,
}

display_by_value!(Effort, Workload, Start);

/// A scenario at one effort.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scenario {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) question: String,
    pub(crate) workload: Workload,
    pub(crate) builds: Vec<Build>,
    pub(crate) ciphers: Vec<Cipher>,
    /// Bytes of content in one transfer.
    pub(crate) bytes: Vec<u64>,
    /// Connections of one run of [`Workload::Connect`].
    pub(crate) connections: u32,
    /// Where time is short, the smallest of `bytes` (or `connections`) is not reduced below this; not at all where the
    /// file does not say.
    pub(crate) least: u64,
    /// Share of the time, relative to other scenarios.
    pub(crate) weight: f64,
    pub(crate) runs: u32,
    pub(crate) profiles: u32,
    pub(crate) options: BTreeMap<String, Vec<String>>,
}

/// A cell of a scenario before its size is known to fit.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Target {
    pub(crate) build: Build,
    pub(crate) cipher: Cipher,
    pub(crate) bytes: u64,
    pub(crate) options: BTreeMap<String, String>,
}

impl Target {
    /// The value of an option.
    pub(crate) fn option(&self, name: &str) -> Option<&str> {
        self.options.get(name).map(String::as_str)
    }
}

impl Scenario {
    /// All combinations, such that the builds of one cipher and circumstance follow one another.
    pub(crate) fn targets(&self) -> Vec<Target> {
        let mut combinations = vec![BTreeMap::new()];
        for (name, values) in &self.options {
            combinations = combinations
                .into_iter()
                .flat_map(|options: BTreeMap<String, String>| {
                    values.iter().map(move |value| {
                        let mut options = options.clone();
                        options.insert(name.clone(), value.clone());
                        options
                    })
                })
                .collect();
        }
        let mut targets = Vec::new();
        for &bytes in &self.bytes {
            for options in &combinations {
                for &cipher in &self.ciphers {
                    for &build in &self.builds {
                        let mut options = options.clone();
                        if !build.is_sandboxed() {
                            // Native programs are always compiled ahead of time.
                            options.remove("start");
                        }
                        let target = Target { build, cipher, bytes, options };
                        if !targets.contains(&target) {
                            targets.push(target);
                        }
                    }
                }
            }
        }
        targets
    }

    /// The cell of a target when sizes are divided by so much.
    pub(crate) fn cell(&self, target: &Target, divisor: u32) -> Cell {
        let bytes = match self.workload {
            Workload::Connect => target.bytes,
            Workload::Receive | Workload::Send => target.bytes / u64::from(divisor),
        };
        Cell {
            scenario: self.name.clone(),
            workload: self.workload.to_string(),
            build: target.build.to_string(),
            cipher: target.cipher.to_string(),
            bytes,
            options: target.options.clone(),
        }
    }

    /// What a run's length depends on: bytes, or the number of connections.
    pub(crate) fn amount(&self, target: &Target) -> u64 {
        match self.workload {
            Workload::Connect => u64::from(self.connections),
            Workload::Receive | Workload::Send => target.bytes,
        }
    }

    /// The smallest amount of all targets.
    pub(crate) fn smallest(&self) -> u64 {
        match self.workload {
            Workload::Connect => u64::from(self.connections),
            Workload::Receive | Workload::Send => self.bytes.iter().copied().min().unwrap_or(1),
        }
    }

    /// The largest power of two by which amounts may be divided.
    pub(crate) fn largest_divisor(&self) -> u32 {
        let mut divisor = 1;
        while divisor < 1 << 20 && self.smallest() / u64::from(divisor * 2) >= self.least.max(1) {
            divisor *= 2;
        }
        divisor
    }
}

/// A scenario's file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    title: String,
    question: String,
    #[serde(deserialize_with = "name")]
    workload: Workload,
    builds: Names<Build>,
    ciphers: Names<Cipher>,
    bytes: Vec<Size>,
    connections: Option<u32>,
    least: Option<Size>,
    weight: Option<f64>,
    runs: u32,
    #[serde(default)]
    profiles: u32,
    #[serde(default)]
    options: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    quick: Override,
    #[serde(default)]
    smoke: Override,
}

/// What is different at another effort.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Override {
    builds: Option<Names<Build>>,
    ciphers: Option<Names<Cipher>>,
    bytes: Option<Vec<Size>>,
    connections: Option<u32>,
    least: Option<Size>,
    runs: Option<u32>,
    profiles: Option<u32>,
    options: Option<BTreeMap<String, Vec<String>>>,
}

/// A list of values by the names that the command line takes.
#[derive(Debug)]
struct Names<T>(Vec<T>);

impl<'de, T: ValueEnum> Deserialize<'de> for Names<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let names = Vec::<String>::deserialize(deserializer)?;
        names.iter().map(|name| known(name).map_err(D::Error::custom)).collect::<Result<_, _>>().map(Self)
    }
}

/// Bytes, written with a unit.
#[derive(Debug, Clone, Copy)]
struct Size(u64);

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        parse_size(&String::deserialize(deserializer)?).map(Self).map_err(D::Error::custom)
    }
}

fn name<'de, D: Deserializer<'de>, T: ValueEnum>(deserializer: D) -> Result<T, D::Error> {
    known(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}

/// The value of that name, or a message with those that there are.
fn known<T: ValueEnum>(name: &str) -> Result<T, String> {
    T::from_str(name, false).map_err(|_| {
        let values = T::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        let names: Vec<String> = values.map(|value| format!("`{}`", value.get_name())).collect();
        format!("`{name}` is not known; there are {}", names.join(", "))
    })
}

/// Every scenario of this program with its title and question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Listed {
    pub(crate) name: &'static str,
    pub(crate) title: String,
    pub(crate) question: String,
}

/// What there is to choose from.
pub(crate) fn list() -> Result<Vec<Listed>, Error> {
    EMBEDDED
        .iter()
        .map(|(name, text)| {
            let scenario = parse(name, text, Effort::Full)?;
            Ok(Listed { name, title: scenario.title, question: scenario.question })
        })
        .collect()
}

/// The scenarios of these names or files; all that are embedded if there are none.
pub(crate) fn load(chosen: &[String], effort: Effort) -> Result<Vec<Scenario>, Error> {
    if chosen.is_empty() {
        return EMBEDDED.iter().map(|(name, text)| parse(name, text, effort)).collect();
    }
    let mut scenarios: Vec<Scenario> = Vec::new();
    for choice in chosen {
        let scenario = match EMBEDDED.iter().find(|(name, _)| name == choice) {
            Some((name, text)) => parse(name, text, effort)?,
            None => file(choice, effort)?,
        };
        if scenarios.iter().any(|other| other.name == scenario.name) {
            return Err(Error::Usage(format!("--scenario: `{}` is there twice", scenario.name)));
        }
        scenarios.push(scenario);
    }
    Ok(scenarios)
}

fn file(path: &str, effort: Effort) -> Result<Scenario, Error> {
    let names: Vec<&str> = EMBEDDED.iter().map(|(name, _)| *name).collect();
    let as_path = Path::new(path);
    if as_path.extension().is_none_or(|extension| extension != "toml") {
        return Err(Error::Usage(format!(
            "--scenario {path}: no such scenario; there are {}, and files that end in .toml",
            names.join(", ")
        )));
    }
    let text = fs::read_to_string(as_path)
        .map_err(|error| Error::failed(format!("cannot read the scenario {path}: {error}")))?;
    let name = as_path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    parse(&name, &text, effort)
}

/// Reads a scenario and checks it at every effort, so that a mistake shows at once.
fn parse(name: &str, text: &str, effort: Effort) -> Result<Scenario, Error> {
    let wrong = |message: String| Error::failed(format!("scenario {name}: {}", message.trim_end()));
    let mut chosen = None;
    for candidate in [Effort::Smoke, Effort::Quick, Effort::Full] {
        let file: File = toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
        let scenario = at(name, file, candidate);
        check(&scenario).map_err(|message| wrong(format!("at effort {candidate}: {message}")))?;
        if candidate == effort {
            chosen = Some(scenario);
        }
    }
    chosen.ok_or_else(|| wrong(format!("no effort {effort}")))
}

fn at(name: &str, file: File, effort: Effort) -> Scenario {
    let change = match effort {
        Effort::Smoke => file.smoke,
        Effort::Quick => file.quick,
        Effort::Full => Override::default(),
    };
    let bytes: Vec<u64> = change.bytes.unwrap_or(file.bytes).iter().map(|size| size.0).collect();
    let connections = change.connections.or(file.connections).unwrap_or(0);
    Scenario {
        name: name.to_owned(),
        title: file.title,
        question: file.question,
        workload: file.workload,
        builds: change.builds.unwrap_or(file.builds).0,
        ciphers: change.ciphers.unwrap_or(file.ciphers).0,
        bytes,
        connections,
        least: change.least.or(file.least).map_or(u64::MAX, |size| size.0),
        weight: file.weight.unwrap_or(1.0),
        runs: change.runs.unwrap_or(file.runs),
        profiles: change.profiles.unwrap_or(file.profiles),
        options: change.options.unwrap_or(file.options),
    }
}

fn check(scenario: &Scenario) -> Result<(), String> {
    if scenario.builds.is_empty() || scenario.ciphers.is_empty() || scenario.bytes.is_empty() {
        return Err("builds, ciphers and bytes need one entry at least".into());
    }
    if scenario.bytes.contains(&0) {
        return Err("bytes: a transfer of no bytes measures nothing".into());
    }
    if !(1..=10_000).contains(&scenario.runs) || scenario.profiles > 10_000 {
        return Err("runs must be from 1 to 10000, profiles from 0".into());
    }
    if !(scenario.weight.is_finite() && scenario.weight > 0.0) {
        return Err("weight must be a number above 0".into());
    }
    match (scenario.workload, scenario.connections) {
        (Workload::Connect, 1..=100_000) | (Workload::Receive | Workload::Send, 0) => {}
        (Workload::Connect, _) => return Err("connections must be from 1 to 100000".into()),
        _ => return Err("connections belong to the workload connect".into()),
    }
    for (name, values) in &scenario.options {
        if values.is_empty() {
            return Err(format!("option {name} needs one value at least"));
        }
        for value in values {
            check_option(scenario.workload, name, value)?;
        }
    }
    Ok(())
}

fn check_option(workload: Workload, name: &str, value: &str) -> Result<(), String> {
    let wrong = |what: &str| Err(format!("option {name} = `{value}`: {what}"));
    match name {
        "mtu" if !value.parse().is_ok_and(|mtu: u16| (1_200..=65_527).contains(&mtu)) => {
            wrong("write bytes of a UDP payload, from 1200 to 65527")
        }
        "loss_percent" if !value.parse().is_ok_and(|loss: f64| (0.0..=100.0).contains(&loss)) => {
            wrong("write a number from 0 to 100")
        }
        "delay_ms" if !value.parse().is_ok_and(|delay: u32| delay <= 10_000) => {
            wrong("write milliseconds, from 0 to 10000")
        }
        "mtu" | "loss_percent" | "delay_ms" => Ok(()),
        "start" => known::<Start>(value).map(drop),
        "mode" if workload != Workload::Connect => wrong("it belongs to the workload connect"),
        "mode" => known::<Mode>(value).map(drop),
        _ => Err(format!(
            "option `{name}` is not known; there are `mtu`, `loss_percent`, `delay_ms`, `start` and `mode`"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = r#"
        title = "T"
        question = "Q?"
        workload = "receive"
        builds = ["wasm-sandquic", "native-quinn"]
        ciphers = ["aes-128-gcm", "chacha20-poly1305"]
        bytes = ["64MiB", "1GiB"]
        least = "16MiB"
        runs = 5
        [options]
        start = ["aot", "jit"]
        [smoke]
        bytes = ["1MiB"]
        runs = 1
    "#;

    #[test]
    fn the_product_of_all_lists_is_measured() {
        let scenario = parse("small", SMALL, Effort::Full).unwrap();
        let targets = scenario.targets();
        // Two sizes, two ciphers; the sandboxed build twice, the native one without a way to start.
        assert_eq!(targets.len(), 2 * 2 * 3);
        assert!(targets.iter().all(|target| target.build.is_sandboxed() == target.option("start").is_some()));
        assert_eq!((targets[0].build, targets[1].build), (Build::WasmSandquic, Build::NativeQuinn));
        assert_eq!(scenario.largest_divisor(), 4);
        let cell = scenario.cell(&targets[0], 4);
        assert_eq!(
            (cell.bytes, cell.scenario.as_str(), cell.workload.as_str()),
            (16 << 20, "small", "receive")
        );

        let scenario = parse("small", SMALL, Effort::Smoke).unwrap();
        assert_eq!((scenario.runs, scenario.bytes.as_slice()), (1, &[1 << 20][..]));
        assert_eq!(scenario.largest_divisor(), 1);
    }

    #[test]
    fn a_mistake_is_named_with_what_is_possible() {
        for (from, to, words) in [
            ("wasm-sandquic", "wasm-turbo", &["wasm-turbo", "`wasm-base64`", "native-quinn"][..]),
            ("aes-128-gcm", "aes-128", &["`aes-128`", "chacha20-poly1305"]),
            ("\"receive\"", "\"fetch\"", &["`fetch`", "`receive`, `send`, `connect`"]),
            ("runs = 5", "runs = 0", &["runs must be from 1"]),
            ("runs = 5", "runs = 5\nrounds = 5", &["unknown field `rounds`", "`runs`"]),
            ("runs = 5", "runs = 5\nconnections = 5", &["workload connect"]),
            ("runs = 5", "runs = 5\nweight = 0.0", &["weight"]),
            ("runs = 5", "", &["missing field `runs`"]),
            ("64MiB", "64 bananas", &["64 bananas", "256MiB"]),
            ("64MiB", "0", &["no bytes"]),
            ("start =", "speed =", &["`speed`", "`loss_percent`"]),
            ("\"jit\"", "\"later\"", &["`later`", "`aot`, `jit`"]),
            ("start = [\"aot\", \"jit\"]", "mtu = [\"100\"]", &["mtu = `100`", "1200"]),
            ("start = [\"aot\", \"jit\"]", "loss_percent = [\"101\"]", &["0 to 100"]),
            ("start = [\"aot\", \"jit\"]", "delay_ms = [\"-1\"]", &["milliseconds"]),
            ("start = [\"aot\", \"jit\"]", "mode = [\"full\"]", &["workload connect"]),
            ("start = [\"aot\", \"jit\"]", "mtu = []", &["one value"]),
            ("[smoke]", "[smoky]", &["smoky"]),
            ("bytes = [\"1MiB\"]", "builds = []", &["effort smoke", "one entry"]),
        ] {
            assert!(SMALL.contains(from), "{from}");
            let error = parse("small", &SMALL.replacen(from, to, 1), Effort::Full).unwrap_err().to_string();
            assert!(error.starts_with("scenario small: "), "{error}");
            for word in words {
                assert!(error.contains(word), "no {word:?} in {error}");
            }
        }
    }

    #[test]
    fn every_file_is_embedded_and_good() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
        let mut files: Vec<String> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
            .collect();
        files.sort();
        let mut names: Vec<&str> = EMBEDDED.iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        assert_eq!(files, names);
        for effort in [Effort::Smoke, Effort::Quick, Effort::Full] {
            for scenario in load(&[], effort).unwrap() {
                assert!(!scenario.targets().is_empty());
                assert!(effort != Effort::Smoke || scenario.runs == 1, "{}", scenario.name);
                assert!(effort != Effort::Full || scenario.runs >= 5, "{}", scenario.name);
                assert!(scenario.question.ends_with('?'), "{}", scenario.name);
            }
        }
        assert_eq!(list().unwrap().len(), EMBEDDED.len());
    }

    #[test]
    fn names_and_files_are_chosen() {
        let chosen = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            load(&names, Effort::Quick).map_err(|error| error.to_string())
        };
        assert_eq!(chosen(&["headline"]).unwrap().len(), 1);
        assert!(chosen(&["headline", "headline"]).unwrap_err().contains("twice"));
        assert!(chosen(&["headlines"]).unwrap_err().contains("there are headline, "));
        assert!(chosen(&["/no/such.toml"]).unwrap_err().contains("cannot read the scenario /no/such.toml"));
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("mine.toml");
        fs::write(&path, SMALL).unwrap();
        assert_eq!(chosen(&[path.to_str().unwrap()]).unwrap()[0].name, "mine");
    }
}
