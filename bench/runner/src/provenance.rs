//! Where a record comes from: everything that is needed to repeat or to doubt it.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

/// The origin of a record.
#[derive(Debug, Clone, Serialize)]
pub struct Provenance {
    /// When the measurement began, in seconds since 1970-01-01 UTC.
    pub unix_time: u64,
    /// The command, argument by argument, without the directory of its program.
    pub command: Vec<String>,
    /// The commit of the sources from which the runner was built; `unknown` outside a repository.
    pub commit: &'static str,
    /// The version of this crate.
    pub version: &'static str,
    /// The compiler of the native code, as it names itself.
    pub rustc: &'static str,
    /// The target of the native code.
    pub target: &'static str,
    /// The target features with which the native code was compiled, separated by commas.
    pub target_features: &'static str,
    /// `release` or `debug`: what was measured in `debug` is worth nothing.
    pub profile: &'static str,
    /// The engine that ran components, with its version.
    pub engine: String,
    /// The processor's name.
    pub cpu: String,
    /// How many processors this process may use.
    pub cpus: usize,
    /// The processor's features that matter to these programs.
    pub cpu_features: Vec<String>,
    /// Name and release of the operating system's kernel.
    pub kernel: String,
}

impl Provenance {
    /// Collects it on this machine. What the system does not tell is `unknown` or empty.
    pub fn collect(engine: &str) -> Self {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        Self {
            unix_time: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
            command: command(),
            commit: env!("SANDQUIC_BENCH_COMMIT"),
            version: env!("CARGO_PKG_VERSION"),
            rustc: env!("SANDQUIC_BENCH_RUSTC"),
            target: env!("SANDQUIC_BENCH_TARGET"),
            target_features: env!("SANDQUIC_BENCH_FEATURES"),
            profile: env!("SANDQUIC_BENCH_PROFILE"),
            engine: engine.to_owned(),
            cpu: field(&cpuinfo, "model name").unwrap_or(std::env::consts::ARCH).to_owned(),
            cpus: std::thread::available_parallelism().map_or(1, |count| count.get()),
            cpu_features: cpu_features(&cpuinfo),
            kernel: kernel(),
        }
    }
}

/// The program's arguments; the program itself by its file name alone, since its directory is nobody's business.
fn command() -> Vec<String> {
    let mut args: Vec<String> = std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect();
    if let Some(program) = args.first_mut()
        && let Some(name) = std::path::Path::new(program.as_str()).file_name()
    {
        *program = name.to_string_lossy().into_owned();
    }
    args
}

fn kernel() -> String {
    let read = |name: &str| fs::read_to_string(format!("/proc/sys/kernel/{name}")).ok();
    match (read("ostype"), read("osrelease")) {
        (Some(name), Some(release)) => format!("{} {}", name.trim(), release.trim()),
        _ => std::env::consts::OS.to_owned(),
    }
}

/// The first value of a field in /proc/cpuinfo.
fn field<'a>(cpuinfo: &'a str, name: &str) -> Option<&'a str> {
    cpuinfo.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

fn cpu_features(cpuinfo: &str) -> Vec<String> {
    const OF_INTEREST: [&str; 13] = [
        "ssse3",
        "sse4_1",
        "avx",
        "avx2",
        "avx512f",
        "aes",
        "pclmulqdq",
        "vaes",
        "vpclmulqdq",
        "sha_ni",
        "asimd",
        "pmull",
        "sha2",
    ];
    let flags = field(cpuinfo, "flags").or_else(|| field(cpuinfo, "Features")).unwrap_or_default();
    flags.split_whitespace().filter(|flag| OF_INTEREST.contains(flag)).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpuinfo_is_read() {
        let text =
            "processor\t: 0\nmodel name\t: Some CPU 9\nflags\t\t: fpu ssse3 aes avx2 ht\n\nprocessor\t: 1\n";
        assert_eq!(field(text, "model name"), Some("Some CPU 9"));
        assert_eq!(cpu_features(text), ["ssse3", "aes", "avx2"]);
        assert_eq!(field("", "model name"), None);
        assert!(cpu_features("").is_empty());
    }

    #[test]
    fn what_is_collected_names_compiler_and_target() {
        let provenance = Provenance::collect("none");
        assert!(provenance.rustc.starts_with("rustc "), "{provenance:?}");
        assert!(provenance.target.contains('-'), "{provenance:?}");
        assert!(provenance.cpus >= 1 && !provenance.command[0].contains('/'), "{provenance:?}");
    }
}
