//! What is built for WebAssembly, and how.

use std::path::PathBuf;

use crate::workspace::Workspace;

/// Folders under `target` that hold code built with the wasm32 standard libraries.
pub(crate) const BUILD_DIRS: [&str; 4] = ["guests-build", "wasm-tests", "wasm-lint", "kernels"];

/// `RUSTFLAGS` of a build.
pub(crate) const BASE: &str = "";
/// With 128-bit SIMD.
pub(crate) const SIMD128: &str = "-C target-feature=+simd128";

/// With everything the kernels can use. The last feature is kept from all other crates: see `scoped-rustc`.
pub(crate) const WIDE: &str = "-C target-feature=+simd128,+relaxed-simd,+wide-arithmetic";

/// What is shipped. Limbs of 32 bits in `crypto-bigint`, `p256` and `p384`: without wide-arithmetic a product of 64-bit ones
/// is a call. A handshake with a P-384 or an RSA certificate takes two thirds of the time. Not where RustCrypto's ciphers
/// are compared with: theirs would lose by it.
pub(crate) const PRODUCT: &str = r#"-C target-feature=+simd128 --cfg cpubits="32""#;
/// The same with [`WIDE`].
const PRODUCT_WIDE: &str = r#"-C target-feature=+simd128,+relaxed-simd,+wide-arithmetic --cfg cpubits="32""#;

/// One call of cargo. Each has a build folder of its own: neither other flags nor other features (a `cdylib`'s file has
/// no hash in its name) may disturb what another has built.
pub(crate) struct Build {
    /// The folder, under `target/guests-build`.
    pub(crate) dir: &'static str,
    /// The target.
    pub(crate) target: &'static str,
    /// `RUSTFLAGS`.
    pub(crate) rustflags: &'static str,
    /// Features of the packages, separated by commas.
    pub(crate) features: &'static str,
    /// Package, the file that cargo makes, and the name under `target/guests`.
    pub(crate) outputs: &'static [Output],
}

/// Where a guest goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// `target/guests`, all of which the command embeds.
    Guests,
    /// Beside the command, which must not hold it.
    Apart,
}

impl Build {
    /// Whether our kernels, and they alone, get 128-bit arithmetic.
    pub(crate) fn is_wide(&self) -> bool {
        self.rustflags.contains("+wide-arithmetic")
    }
}

/// A package and the file it becomes.
pub(crate) struct Output {
    /// The package.
    pub(crate) package: &'static str,
    /// What cargo calls the file.
    pub(crate) file: &'static str,
    /// Its name there.
    pub(crate) name: &'static str,
    /// Where it goes.
    pub(crate) place: Place,
}

impl Output {
    /// Its path.
    pub(crate) fn path(&self, workspace: &Workspace) -> PathBuf {
        match self.place {
            Place::Guests => workspace.target("guests").join(self.name),
            Place::Apart => workspace.sandquic().with_file_name(self.name),
        }
    }
}

const fn output(package: &'static str, file: &'static str, name: &'static str) -> Output {
    Output { package, file, name, place: Place::Guests }
}

const fn apart(package: &'static str, file: &'static str, name: &'static str) -> Output {
    Output { package, file, name, place: Place::Apart }
}

/// A build of the kernel benchmark, a core module that holds our kernels and those they are compared with.
const fn kernels(dir: &'static str, rustflags: &'static str, name: &'static [Output]) -> Build {
    Build { dir, target: "wasm32-wasip1", rustflags, features: "", outputs: name }
}

/// The paper's kernels are in one of these builds, beside ours with the same target features.
const fn with_baselines(build: Build) -> Build {
    Build { features: "baselines", ..build }
}

/// Every guest.
pub(crate) const BUILDS: &[Build] = &[
    Build {
        dir: "product",
        target: "wasm32-wasip2",
        rustflags: PRODUCT,
        features: "",
        outputs: &[
            output("sandquic-transfer-client", "sandquic_transfer_client.wasm", "transfer-client.wasm"),
            output("sandquic-transfer-server", "sandquic_transfer_server.wasm", "transfer-server.wasm"),
            output("sandquic-serve", "sandquic_serve.wasm", "serve.wasm"),
            output("sandquic-udp", "sandquic_udp.wasm", "udp.wasm"),
            output("sandquic-get", "sandquic_get.wasm", "get.wasm"),
            apart(
                "sandquic-unprotected-client",
                "sandquic_unprotected_client.wasm",
                "sandquic-unprotected.wasm",
            ),
        ],
    },
    Build {
        dir: "product-wide",
        target: "wasm32-wasip2",
        rustflags: PRODUCT_WIDE,
        features: "",
        outputs: &[output(
            "sandquic-transfer-client",
            "sandquic_transfer_client.wasm",
            "transfer-client-wide.wasm",
        )],
    },
    Build {
        dir: "product-wasip2",
        target: "wasm32-wasip2",
        rustflags: PRODUCT,
        features: "wasip2",
        outputs: &[
            output(
                "sandquic-transfer-client",
                "sandquic_transfer_client.wasm",
                "transfer-client-wasip2.wasm",
            ),
            output(
                "sandquic-transfer-server",
                "sandquic_transfer_server.wasm",
                "transfer-server-wasip2.wasm",
            ),
            output("sandquic-serve", "sandquic_serve.wasm", "serve-wasip2.wasm"),
            output("sandquic-get", "sandquic_get.wasm", "get-wasip2.wasm"),
        ],
    },
    Build {
        dir: "bench",
        target: "wasm32-wasip2",
        rustflags: BASE,
        features: "baselines",
        outputs: &[output("sandquic-transfer-client", "sandquic_transfer_client.wasm", "bench-client.wasm")],
    },
    Build {
        dir: "bench-simd128",
        target: "wasm32-wasip2",
        rustflags: SIMD128,
        features: "baselines",
        outputs: &[output(
            "sandquic-transfer-client",
            "sandquic_transfer_client.wasm",
            "bench-client-simd128.wasm",
        )],
    },
    Build {
        dir: "host-crypto",
        target: "wasm32-wasip2",
        rustflags: SIMD128,
        features: "",
        // In a folder of its own: the `sandquic` command embeds what is in the folder above, and cannot run this.
        outputs: &[output(
            "sandquic-host-crypto-client",
            "sandquic_host_crypto_client.wasm",
            "host-crypto/client.wasm",
        )],
    },
    kernels("kernels-base", BASE, &[output("sandquic-kernels", "kernels.wasm", "kernels-base.wasm")]),
    with_baselines(kernels(
        "kernels-simd128",
        SIMD128,
        &[output("sandquic-kernels", "kernels.wasm", "kernels-simd128.wasm")],
    )),
    kernels(
        "kernels-simd128-soft",
        r#"-C target-feature=+simd128 --cfg sandquic_backend="soft" --cfg sha2_backend="soft" --cfg chacha20_backend="soft""#,
        &[output("sandquic-kernels", "kernels.wasm", "kernels-simd128-soft.wasm")],
    ),
    kernels(
        "kernels-relaxed",
        "-C target-feature=+simd128,+relaxed-simd",
        &[output("sandquic-kernels", "kernels.wasm", "kernels-relaxed.wasm")],
    ),
    kernels("kernels-wide", WIDE, &[output("sandquic-kernels", "kernels.wasm", "kernels-wide.wasm")]),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_build_disturbs_another() {
        let dirs: BTreeSet<_> = BUILDS.iter().map(|build| build.dir).collect();
        assert_eq!(dirs.len(), BUILDS.len(), "two builds in one folder");
        let outputs: Vec<_> =
            BUILDS.iter().flat_map(|build| build.outputs).map(|output| output.name).collect();
        let names: BTreeSet<_> = outputs.iter().collect();
        assert_eq!(names.len(), outputs.len(), "two guests of one name");
    }
}
