//! What is built for WebAssembly, and how.

/// Folders under `target` that hold code built with the wasm32 standard libraries.
pub(crate) const BUILD_DIRS: [&str; 3] = ["guests-build", "wasm-tests", "wasm-lint"];

/// `RUSTFLAGS` of a build.
pub(crate) const BASE: &str = "";
/// With 128-bit SIMD.
pub(crate) const SIMD128: &str = "-C target-feature=+simd128";

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

/// A package and the file it becomes.
pub(crate) struct Output {
    /// The package.
    pub(crate) package: &'static str,
    /// What cargo calls the file.
    pub(crate) file: &'static str,
    /// Its name under `target/guests`.
    pub(crate) name: &'static str,
}

const fn output(package: &'static str, file: &'static str, name: &'static str) -> Output {
    Output { package, file, name }
}

/// Every guest.
pub(crate) const BUILDS: &[Build] = &[
    Build {
        dir: "product",
        target: "wasm32-wasip2",
        rustflags: SIMD128,
        features: "",
        outputs: &[
            output("sandquic-transfer-client", "sandquic_transfer_client.wasm", "transfer-client.wasm"),
            output("sandquic-transfer-server", "sandquic_transfer_server.wasm", "transfer-server.wasm"),
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
];
