//! The body of the kernel benchmark: our primitives beside RustCrypto's crates and the paper's kernels, timed in one
//! process.
//!
//! The same code runs in Wasmtime, in V8 and natively. For every primitive and length it first checks that all
//! libraries compute the same, then times them in turn, repetition by repetition, so that what
//! changes on the machine meanwhile hits all of them alike.
#![forbid(unsafe_code)]

mod aead;
mod case;
mod clock;
mod hash;
mod mask;
#[cfg(feature = "baselines")]
mod paper;
#[cfg(feature = "ring")]
mod ring;
mod stream;

use serde::{Deserialize, Serialize};

use case::Case;
pub use case::Op;

/// Libraries that this body may hold; [`libraries`] says which it does.
pub const LIBRARIES: &[&str] = &["sandquic", "shuffle", "rustcrypto", "rand_chacha", "paper", "ring"];

/// The largest length in bytes that is taken: 64 MiB.
pub const MAX_BYTES: usize = 64 << 20;

/// What is to be measured. Empty lists mean everything.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Request {
    /// Names of [`LIBRARIES`].
    #[serde(default)]
    pub libraries: Vec<String>,
    /// Names of [`primitives`].
    #[serde(default)]
    pub primitives: Vec<String>,
    /// Lengths of messages in bytes, at most [`MAX_BYTES`]. Primitives whose length is fixed ignore them.
    pub bytes: Vec<usize>,
    /// Samples of each row.
    pub repetitions: usize,
    /// How long one sample takes at least, in microseconds, and one operation at least.
    pub sample_us: u64,
}

/// What was measured of one library, primitive, operation and length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The library.
    pub library: String,
    /// The library's backend: ours says its own, of others `default` is known.
    pub backend: String,
    /// The target features of this build that matter, separated by commas.
    pub target_features: String,
    /// The primitive.
    pub primitive: String,
    /// The operation.
    pub op: Op,
    /// The length of the message.
    pub bytes: usize,
    /// Nanoseconds an operation, one for each repetition.
    pub samples: Vec<f64>,
}

/// The libraries of this build.
pub fn libraries() -> Vec<&'static str> {
    let mut present = Vec::new();
    for case in cases() {
        if !present.contains(&case.library) {
            present.push(case.library);
        }
    }
    present
}

/// The primitives of this build, in the order of the rows.
pub fn primitives() -> Vec<&'static str> {
    let mut present = Vec::new();
    for case in cases() {
        if !present.contains(&case.primitive) {
            present.push(case.primitive);
        }
    }
    present
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    stream::cases(&mut cases);
    hash::cases(&mut cases);
    aead::cases(&mut cases);
    mask::cases(&mut cases);
    #[cfg(feature = "baselines")]
    paper::cases(&mut cases);
    #[cfg(feature = "ring")]
    ring::cases(&mut cases);
    cases
}

/// Measures, handing out each row when it is there.
///
/// # Errors
/// A message in one line, if the request names what is not in this build or makes no sense, or if two libraries
/// compute different results.
pub fn run(request: &Request, mut row: impl FnMut(Row)) -> Result<(), String> {
    check("library", &request.libraries, &libraries())?;
    check("primitive", &request.primitives, &primitives())?;
    if request.repetitions == 0 {
        return Err("no repetitions were asked for; ask for at least one".into());
    }
    if let Some(bytes) = request.bytes.iter().find(|bytes| **bytes > MAX_BYTES) {
        return Err(format!("messages of {bytes} bytes are too long; the longest are {MAX_BYTES}"));
    }
    let wanted = |list: &[String], name: &str| list.is_empty() || list.iter().any(|item| item == name);
    let mut cases = cases();
    cases.retain(|case| {
        wanted(&request.libraries, case.library) && wanted(&request.primitives, case.primitive)
    });
    // Rows of one primitive and operation are measured together.
    let mut keys: Vec<(&str, Op)> = Vec::new();
    for case in &cases {
        if !keys.contains(&(case.primitive, case.op)) {
            keys.push((case.primitive, case.op));
        }
    }
    for (primitive, op) in keys {
        let mut group: Vec<&mut Case> =
            cases.iter_mut().filter(|case| (case.primitive, case.op) == (primitive, op)).collect();
        let lengths = match group[0].fixed_bytes {
            Some(bytes) => vec![bytes],
            None => request.bytes.clone(),
        };
        for bytes in lengths {
            measure(&mut group, bytes, request)?.into_iter().for_each(&mut row);
        }
    }
    Ok(())
}

fn check(what: &str, asked: &[String], known: &[&str]) -> Result<(), String> {
    match asked.iter().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(format!("no {what} {name} in this build; there are {}", known.join(", "))),
        None => Ok(()),
    }
}

/// Times a group of cases that must agree.
fn measure(group: &mut [&mut Case], bytes: usize, request: &Request) -> Result<Vec<Row>, String> {
    let message = message(bytes);
    let mut data = message.clone();
    let mut first: Option<(&str, Vec<u8>, Vec<u8>)> = None;
    for case in group.iter_mut() {
        data.copy_from_slice(&message);
        let result = (case.run)(1, &mut data);
        match &first {
            None => first = Some((case.library, result, data.clone())),
            Some((library, wanted, wanted_data)) => {
                if result != *wanted || data != *wanted_data {
                    return Err(format!(
                        "{library} and {} disagree on {} of {bytes} bytes: one is wrong, nothing was measured",
                        case.library, case.primitive
                    ));
                }
            }
        }
    }
    let iterations: Vec<usize> =
        group.iter_mut().map(|case| clock::iterations(case, &mut data, request.sample_us)).collect();
    let mut samples = vec![Vec::with_capacity(request.repetitions); group.len()];
    for _ in 0..request.repetitions {
        for ((case, iterations), samples) in group.iter_mut().zip(&iterations).zip(&mut samples) {
            samples.push(clock::time(case, &mut data, *iterations) / *iterations as f64);
        }
    }
    Ok(group
        .iter()
        .zip(samples)
        .map(|(case, samples)| Row {
            library: case.library.into(),
            backend: case.backend.into(),
            target_features: target_features(),
            primitive: case.primitive.into(),
            op: case.op,
            bytes,
            samples,
        })
        .collect())
}

fn message(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i * 7 + i / 251) as u8).collect()
}

/// The target features of this build that decide between kernels.
pub fn target_features() -> String {
    let mut features: Vec<&str> = Vec::new();
    macro_rules! list {
        ($($name:tt)*) => {$(
            if cfg!(target_feature = $name) {
                features.push($name);
            }
        )*};
    }
    list!("simd128" "relaxed-simd" "sse2" "ssse3" "avx2" "aes" "pclmulqdq" "sha" "neon" "sha2");
    // Not a stable name yet: the compiler knows it only where it is turned on.
    if cfg!(sandquic_wide_arithmetic) {
        features.push("wide-arithmetic");
    }
    features.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(primitives: &[&str]) -> Request {
        Request {
            primitives: primitives.iter().map(|name| (*name).into()).collect(),
            bytes: vec![0, 1, 16, 64, 77, 256, 1350],
            repetitions: 1,
            sample_us: 0,
            ..Request::default()
        }
    }

    /// Every library against the others, over every primitive.
    #[test]
    fn libraries_agree() {
        let mut rows = Vec::new();
        run(&request(&[]), |row| rows.push(row)).unwrap();
        for library in libraries() {
            assert!(rows.iter().any(|row| row.library == library), "no row of {library}");
        }
        assert!(rows.iter().all(|row| row.samples.len() == 1 && row.samples[0] > 0.0));
    }

    #[test]
    fn what_is_unknown_is_refused_with_what_is_known() {
        let error = run(&request(&["md5"]), |_| ()).unwrap_err();
        assert!(error.contains("md5") && error.contains("sha256"), "{error}");
        let error = run(&Request { libraries: vec!["x".into()], ..request(&[]) }, |_| ()).unwrap_err();
        assert!(error.contains("rustcrypto"), "{error}");
        run(&Request { repetitions: 0, ..request(&[]) }, |_| ()).unwrap_err();
        run(&Request { bytes: vec![MAX_BYTES + 1], ..request(&[]) }, |_| ()).unwrap_err();
    }

    #[test]
    fn a_wrong_library_is_noticed() {
        let wrong = |n, data: &mut [u8]| {
            for _ in 0..n {
                data.fill(0);
            }
            Vec::new()
        };
        let mut ours = Case::new("sandquic", "chacha20", Op::Apply, |n, data| {
            for _ in 0..n {
                data.fill(1);
            }
            Vec::new()
        });
        let mut theirs = Case::new("rustcrypto", "chacha20", Op::Apply, wrong);
        let error = measure(&mut [&mut ours, &mut theirs], 16, &request(&[])).unwrap_err();
        assert!(error.contains("disagree"), "{error}");
    }
}
