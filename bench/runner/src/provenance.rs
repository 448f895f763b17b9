//! Where a record comes from: everything that is needed to repeat or to doubt it.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

pub use sandquic_report::record::Provenance;

/// Collects it on this machine. What the system does not tell is `unknown` or empty.
pub fn collect(engine: &str) -> Provenance {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    Provenance {
        unix_time: now(),
        command: command(),
        commit: env!("SANDQUIC_BENCH_COMMIT").to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        rustc: env!("SANDQUIC_BENCH_RUSTC").to_owned(),
        target: env!("SANDQUIC_BENCH_TARGET").to_owned(),
        target_features: env!("SANDQUIC_BENCH_FEATURES").to_owned(),
        profile: env!("SANDQUIC_BENCH_PROFILE").to_owned(),
        engine: engine.to_owned(),
        cpu: field(&cpuinfo, "model name").unwrap_or(std::env::consts::ARCH).to_owned(),
        cpus: std::thread::available_parallelism().map_or(1, |count| count.get()),
        cpu_features: cpu_features(&cpuinfo),
        kernel: kernel(),
    }
}

/// Seconds since 1970-01-01 UTC.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
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
        let provenance = collect("none");
        assert!(provenance.rustc.starts_with("rustc "), "{provenance:?}");
        assert!(provenance.target.contains('-'), "{provenance:?}");
        assert!(provenance.cpus >= 1 && !provenance.command[0].contains('/'), "{provenance:?}");
    }
}
