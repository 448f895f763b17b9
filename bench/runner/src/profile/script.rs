//! The text of `perf script`: a line a sample, added up as it comes.

use std::collections::{BTreeSet, HashMap};
use std::io::{BufRead, Read};
use std::path::PathBuf;

use crate::Error;

/// The fields that are asked for, in the order in which `perf` writes them.
pub(super) const FIELDS: &str = "pid,period,ip,sym,dso";

/// Code that was compiled in the process.
pub(super) const JIT: &str = "[jit]";
/// The program that holds the engine, in a profile that has compiled code.
pub(super) const ENGINE: &str = "[engine]";
/// The kernel and its modules.
pub(super) const KERNEL: &str = "[kernel]";
/// What `perf` calls a symbol that it has no name for.
const NAMELESS: &str = "[unknown]";

/// Longest line; names are far shorter.
const LINE_LIMIT: u64 = 64 << 10;
/// Most different symbols, so that memory stays bounded whatever the text holds. Profiles have some thousands.
const SYMBOL_LIMIT: usize = 1 << 18;
/// Most processes in one profile: there is one, and what it starts.
const PROCESS_LIMIT: usize = 1 << 10;

/// Weights by symbol and object.
#[derive(Debug, Default)]
pub(super) struct Tally {
    samples: u64,
    weight: u64,
    /// By the name as it is in the object, and the object as `perf` calls it.
    weights: HashMap<(String, String), u64>,
    processes: BTreeSet<u32>,
}

impl Tally {
    /// Adds up the samples of a text.
    pub(super) fn read(mut text: impl BufRead) -> Result<Self, Error> {
        let mut tally = Self::default();
        let mut line = Vec::new();
        for number in 1_u64.. {
            line.clear();
            let read =
                text.by_ref().take(LINE_LIMIT).read_until(b'\n', &mut line).map_err(|error| {
                    Error::failed(format!("cannot read the output of perf script: {error}"))
                })?;
            if read == 0 {
                break;
            }
            if line.len() as u64 == LINE_LIMIT {
                return Err(Error::failed(format!(
                    "line {number} of perf script is longer than {LINE_LIMIT} bytes"
                )));
            }
            let line = String::from_utf8_lossy(line.trim_ascii());
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let sample = Sample::parse(&line).ok_or_else(|| {
                let start: String = line.chars().take(100).collect();
                Error::failed(format!(
                    "line {number} of perf script is no sample (process, period, address, symbol, object): {start}"
                ))
            })?;
            tally.add(&sample)?;
        }
        Ok(tally)
    }

    fn add(&mut self, sample: &Sample<'_>) -> Result<(), Error> {
        self.samples += 1;
        self.weight = self.weight.saturating_add(sample.period);
        if self.processes.len() < PROCESS_LIMIT {
            self.processes.insert(sample.process);
        }
        let key = (sample.symbol.to_owned(), sample.object.to_owned());
        let full = self.weights.len() >= SYMBOL_LIMIT && !self.weights.contains_key(&key);
        if full {
            return Err(Error::failed(format!("the profile has more than {SYMBOL_LIMIT} different symbols")));
        }
        let weight = self.weights.entry(key).or_default();
        *weight = weight.saturating_add(sample.period);
        Ok(())
    }

    /// Count of the samples.
    pub(super) fn samples(&self) -> u64 {
        self.samples
    }

    /// Sum of their periods: nanoseconds of CPU time.
    pub(super) fn weight(&self) -> u64 {
        self.weight
    }

    /// The symbol maps that an engine wrote for what was sampled.
    pub(super) fn maps(&self) -> Vec<PathBuf> {
        let named: BTreeSet<&str> =
            self.weights.keys().map(|(_, object)| object.as_str()).filter(|object| is_map(object)).collect();
        let own = |map: &&str| self.processes.iter().any(|id| map.ends_with(&format!("/perf-{id}.map")));
        named.into_iter().filter(own).map(PathBuf::from).collect()
    }

    /// Checks that functions have names, but for this share of the CPU time.
    pub(super) fn check_names(&self, most: f64) -> Result<(), Error> {
        let mut nameless: HashMap<&str, u64> = HashMap::new();
        for ((symbol, object), weight) in &self.weights {
            if symbol == NAMELESS {
                *nameless.entry(object).or_default() += weight;
            }
        }
        let sum: u64 = nameless.values().sum();
        let share = sum as f64 / self.weight.max(1) as f64;
        let Some((&object, _)) = nameless.iter().max_by_key(|(_, weight)| **weight) else { return Ok(()) };
        if share <= most {
            return Ok(());
        }
        let why = match kind(object) {
            Kind::Jit => format!(
                "the engine's symbol map {object} is missing or cannot be read; it is written by `sandquic run --profile \
                 perfmap`, and perf reads it only if it belongs to the user who profiles"
            ),
            Kind::Kernel => "the kernel hides its symbols: see the sysctls kernel.kptr_restrict and \
                             kernel.perf_event_paranoid, or profile as root"
                .to_owned(),
            Kind::Program | Kind::Library | Kind::Other => format!("{object} has no symbols"),
        };
        Err(Error::failed(format!(
            "{:.0} % of the profile's CPU time has no function name, most of it in {object}: {why}",
            100.0 * share
        )))
    }

    /// Weights by demangled symbol and by object as the rules call it.
    pub(super) fn into_symbols(self) -> Vec<(String, String, u64)> {
        let sandboxed = self.weights.keys().any(|(_, object)| kind(object) == Kind::Jit);
        let mut symbols: HashMap<(String, String), u64> = HashMap::with_capacity(self.weights.len());
        for ((symbol, object), weight) in self.weights {
            let object = match kind(&object) {
                Kind::Jit => JIT.to_owned(),
                Kind::Kernel => KERNEL.to_owned(),
                Kind::Program if sandboxed => ENGINE.to_owned(),
                Kind::Program | Kind::Library | Kind::Other => base_name(&object).to_owned(),
            };
            // Instances of a generic function, and what the linker numbered, are one symbol.
            *symbols.entry((format!("{:#}", rustc_demangle::demangle(&symbol)), object)).or_default() +=
                weight;
        }
        symbols.into_iter().map(|((symbol, object), weight)| (symbol, object, weight)).collect()
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    Jit,
    Kernel,
    Program,
    Library,
    Other,
}

fn kind(object: &str) -> Kind {
    let base = base_name(object);
    if is_map(object) || object.starts_with("[JIT]") || object == "//anon" {
        Kind::Jit
    } else if matches!(object, "[vdso]" | "[vsyscall]" | "[heap]" | "[stack]" | "[unknown]")
        || object.is_empty()
    {
        Kind::Other
    } else if object.starts_with('[') || base.starts_with("bpf_prog_") || base.contains(".ko") {
        Kind::Kernel
    } else if base.ends_with(".so") || base.contains(".so.") {
        Kind::Library
    } else {
        Kind::Program
    }
}

fn is_map(object: &str) -> bool {
    let number = object.strip_prefix("/tmp/perf-").and_then(|rest| rest.strip_suffix(".map"));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

fn base_name(object: &str) -> &str {
    object.rsplit('/').next().unwrap_or(object)
}

struct Sample<'a> {
    process: u32,
    period: u64,
    symbol: &'a str,
    object: &'a str,
}

impl<'a> Sample<'a> {
    /// `PID PERIOD ADDRESS SYMBOL (OBJECT)`; a symbol may hold spaces and parentheses.
    fn parse(line: &'a str) -> Option<Self> {
        let (process, rest) = line.trim_start().split_once(' ')?;
        let (period, rest) = rest.trim_start().split_once(' ')?;
        let (address, rest) = rest.trim_start().split_once(' ')?;
        u64::from_str_radix(address, 16).ok()?;
        let rest = rest.trim().strip_suffix(')')?;
        let rest = rest.strip_suffix(" (deleted)").unwrap_or(rest);
        let (symbol, object) = match rest.rsplit_once(" (") {
            Some(parts) => parts,
            None => (NAMELESS, rest.strip_prefix('(')?),
        };
        let symbol = symbol.trim();
        Some(Self {
            process: process.parse().ok()?,
            period: period.parse().ok()?,
            symbol: if symbol.is_empty() { NAMELESS } else { symbol },
            object,
        })
    }
}
