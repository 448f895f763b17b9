//! The names that a record may use, in the order in which they are shown, and the colour of each.

use crate::record::Cell;

/// What a build is compared in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It is part of the headline.
    Headline,
    /// It is the named build with one thing replaced.
    Ablation(&'static str),
    /// It is the named build with the AEAD behind an import of the host.
    HostCrypto(&'static str),
    /// It is the named build with packets that are not protected.
    Ceiling(&'static str),
}

impl Role {
    /// The build that this one is a variant of.
    pub fn whole(self) -> Option<&'static str> {
        match self {
            Self::Headline => None,
            Self::Ablation(whole) | Self::HostCrypto(whole) | Self::Ceiling(whole) => Some(whole),
        }
    }
}

/// A build that can be measured.
#[derive(Debug, Clone, Copy)]
pub struct Build {
    /// Its name in records.
    pub name: &'static str,
    /// What it is, in a few words.
    pub what: &'static str,
    /// What it is compared in.
    pub role: Role,
    /// Its colour on a light ground.
    pub light: &'static str,
    /// Its colour on a dark ground.
    pub dark: &'static str,
}

const fn build(
    name: &'static str,
    what: &'static str,
    role: Role,
    light: &'static str,
    dark: &'static str,
) -> Build {
    Build { name, what, role, light, dark }
}

const WASM: &str = "wasm-sandquic";
const NATIVE: &str = "native-opt";

/// All builds. The hues are those of Okabe and Ito and of Tol's muted scheme, which stay apart for colour-blind
/// readers; every bar also bears its build's name.
pub const BUILDS: &[Build] = &[
    build(
        "wasm-base",
        "sandbox: the crates of the paper's provider, no SIMD",
        Role::Headline,
        "#8a8a8a",
        "#a0a0a0",
    ),
    build(
        "wasm-base64",
        "sandbox: RustCrypto's current crates, no SIMD",
        Role::Headline,
        "#586673",
        "#bcc6cf",
    ),
    build(
        "wasm-autovec",
        "sandbox: as wasm-base, vectorized by the compiler",
        Role::Headline,
        "#d08c00",
        "#e8a820",
    ),
    build(
        "wasm-autovec64",
        "sandbox: as wasm-base64, vectorized by the compiler",
        Role::Headline,
        "#8a6418",
        "#c9a766",
    ),
    build(
        "wasm-handvec",
        "sandbox: the paper's two SIMD kernels, scalar MACs",
        Role::Headline,
        "#d55e00",
        "#f08040",
    ),
    build("wasm-sandquic", "sandbox: sandquic, 128-bit SIMD", Role::Headline, "#0072b2", "#4aa3e6"),
    build(
        "wasm-sandquic-wide",
        "sandbox: sandquic, relaxed SIMD, wide arithmetic",
        Role::Headline,
        "#2d94c8",
        "#8fd0f5",
    ),
    build(
        "wasm-sandquic-host",
        "sandbox: sandquic on a host that batches datagrams",
        Role::Headline,
        "#2a3f8f",
        "#7d8fe8",
    ),
    build("wasm-sandquic-p2-host", "sandbox: the same host, WASI 0.2", Role::Headline, "#5b4fa3", "#a79be8"),
    build(
        "native-handvec",
        "native: the code of wasm-handvec, 128-bit vectors",
        Role::Headline,
        "#8c8c2a",
        "#c5c560",
    ),
    build(
        "native-port",
        "native: sandquic, 128-bit vectors, no offloads",
        Role::Headline,
        "#3a9d8c",
        "#6fd0c0",
    ),
    build("native-opt", "native: sandquic, AVX2, AES-NI, GSO and GRO", Role::Headline, "#117733", "#4cc47a"),
    build("native-quinn", "native: quinn on tokio and ring", Role::Headline, "#882255", "#dd7fb0"),
    build(
        "wasm-sandquic-p2",
        "the driver for WASI 0.2 in place of the one for 0.3",
        Role::Ablation(WASM),
        "#44806e",
        "#86c7b2",
    ),
    build(
        "wasm-no-chacha20",
        "RustCrypto's ChaCha20 in place of ours, two passes",
        Role::Ablation(WASM),
        "#b3541e",
        "#e59066",
    ),
    build(
        "wasm-no-poly1305",
        "RustCrypto's Poly1305 in place of ours, two passes",
        Role::Ablation(WASM),
        "#7a5195",
        "#b892d0",
    ),
    build(
        "wasm-no-aes",
        "RustCrypto's AES in place of ours, two passes",
        Role::Ablation(WASM),
        "#a8326b",
        "#e487b4",
    ),
    build(
        "wasm-no-ghash",
        "RustCrypto's GHASH in place of ours, two passes",
        Role::Ablation(WASM),
        "#8f7a00",
        "#d3bd4a",
    ),
    build("wasm-no-one-pass", "cipher and MAC in two passes", Role::Ablation(WASM), "#4f7a28", "#98c56c"),
    build(
        "wasm-no-mask",
        "RustCrypto's header masks in place of ours",
        Role::Ablation(WASM),
        "#50708f",
        "#9dbbd8",
    ),
    build("native-no-avx2", "without AVX2", Role::Ablation(NATIVE), "#8a4b2a", "#d19a7a"),
    build("native-no-aes", "without AES-NI", Role::Ablation(NATIVE), "#b03060", "#ea86ab"),
    build("native-no-clmul", "without PCLMULQDQ", Role::Ablation(NATIVE), "#6b5b95", "#b0a0da"),
    build(
        "native-no-offloads",
        "without GSO, GRO and recvmmsg",
        Role::Ablation(NATIVE),
        "#7a7a20",
        "#c4c460",
    ),
    build(
        "wasm-host-crypto",
        "the AEAD behind an import of the host",
        Role::HostCrypto(WASM),
        "#aa4499",
        "#e08fd4",
    ),
    build("wasm-unprotected", "sandbox, packets not protected", Role::Ceiling(WASM), "#5b8fa8", "#a5d3e8"),
    build("native-unprotected", "native, packets not protected", Role::Ceiling(NATIVE), "#5f8f5f", "#a8d8a8"),
];

/// The build that has our cipher and our MAC in two passes, and those that replace one of the two: they run in two
/// passes as well, so the worth of a kernel itself is their ratio to it.
pub const TWO_PASSES: (&str, &[&str]) =
    ("wasm-no-one-pass", &["wasm-no-chacha20", "wasm-no-poly1305", "wasm-no-aes", "wasm-no-ghash"]);

/// Finds a build.
pub fn find(name: &str) -> Option<&'static Build> {
    BUILDS.iter().find(|build| build.name == name)
}

/// The place of a build in what is shown.
pub fn rank(name: &str) -> usize {
    BUILDS.iter().position(|build| build.name == name).unwrap_or(BUILDS.len())
}

/// Whether a build runs in the sandbox.
pub fn is_sandboxed(name: &str) -> bool {
    name.starts_with("wasm-")
}

/// Ciphers: name in records, name in text.
pub const CIPHERS: &[(&str, &str)] = &[
    ("aes-128-gcm", "AES-128-GCM"),
    ("aes-256-gcm", "AES-256-GCM"),
    ("chacha20-poly1305", "ChaCha20-Poly1305"),
];

/// The name of a cipher in text.
pub fn cipher(name: &str) -> Option<&'static str> {
    CIPHERS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// A category of CPU time.
#[derive(Debug, Clone, Copy)]
pub struct Category {
    /// Its name in records.
    pub name: &'static str,
    /// What belongs to it.
    pub what: &'static str,
    /// Its colour, the same on both grounds.
    pub colour: &'static str,
    /// The colour of text on it.
    pub ink: &'static str,
}

/// The categories of a profile, from the bottom of a stacked bar up.
pub const CATEGORIES: &[Category] = &[
    Category { name: "crypto", what: "cryptography", colour: "#0072b2", ink: "#fff" },
    Category {
        name: "socket-io",
        what: "sockets, system calls and the kernel's UDP",
        colour: "#009e73",
        ink: "#000",
    },
    Category {
        name: "runtime",
        what: "the engine, its calls into the host, compilation",
        colour: "#d55e00",
        ink: "#000",
    },
    Category { name: "alloc", what: "memory allocation and management", colour: "#cc79a7", ink: "#000" },
    Category {
        name: "quic-proto",
        what: "the QUIC state machine, frames and headers",
        colour: "#56b4e9",
        ink: "#000",
    },
    Category {
        name: "ack-loss",
        what: "acknowledgements, loss detection, congestion control",
        colour: "#f0e442",
        ink: "#000",
    },
    Category { name: "copy", what: "memory copies", colour: "#e69f00", ink: "#000" },
    Category { name: "other", what: "symbols that no rule matches", colour: "#999999", ink: "#000" },
];

/// What a scenario asks; found from what its cells vary, so that a scenario of any name has its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Every build with every cipher: a bulk transfer, the build receives.
    Headline,
    /// Transfers of several lengths, compiled ahead of time and in the run.
    FixedCost,
    /// The build sends.
    Send,
    /// Many short connections.
    Connect,
    /// Loss and delay on the way.
    Network,
    /// The size of datagrams.
    Mtu,
    /// Cryptography that the host provides.
    HostCrypto,
    /// One thing replaced.
    Ablation,
    /// Packets that are not protected.
    Ceiling,
    /// Anything else.
    Other,
}

impl Kind {
    /// All kinds but [`Kind::Other`], in the order in which they are shown.
    pub const KNOWN: &[Self] = &[
        Self::Headline,
        Self::FixedCost,
        Self::Send,
        Self::Connect,
        Self::Network,
        Self::Mtu,
        Self::HostCrypto,
        Self::Ablation,
        Self::Ceiling,
    ];

    /// What the cells of one scenario vary.
    pub fn of<'a>(scenario: &str, cells: impl Iterator<Item = &'a Cell> + Clone) -> Self {
        let option = |name: &str| cells.clone().any(|cell| cell.options.contains_key(name));
        let role = |is: fn(Role) -> bool| {
            cells.clone().filter_map(|cell| find(&cell.build)).any(|build| is(build.role))
        };
        let workload = |name: &str| cells.clone().any(|cell| cell.workload == name);
        if scenario == "headline" {
            Self::Headline
        } else if workload("connect") {
            Self::Connect
        } else if option("loss_percent") || option("delay_ms") {
            Self::Network
        } else if option("start") {
            Self::FixedCost
        } else if option("mtu") {
            Self::Mtu
        } else if role(|role| matches!(role, Role::HostCrypto(_))) {
            Self::HostCrypto
        } else if role(|role| matches!(role, Role::Ablation(_))) {
            Self::Ablation
        } else if role(|role| matches!(role, Role::Ceiling(_))) {
            Self::Ceiling
        } else if workload("send") {
            Self::Send
        } else {
            Self::Other
        }
    }

    /// A heading.
    pub fn title(self) -> &'static str {
        match self {
            Self::Headline => "Bulk transfer",
            Self::FixedCost => "Fixed cost and slope",
            Self::Send => "The sandbox as the sender",
            Self::Connect => "Short connections",
            Self::Network => "Loss and delay",
            Self::Mtu => "Size of datagrams",
            Self::HostCrypto => "Cryptography of the host",
            Self::Ablation => "What each part is worth",
            Self::Ceiling => "The ceiling: packets not protected",
            Self::Other => "Other",
        }
    }

    /// What it asks.
    pub fn question(self) -> &'static str {
        match self {
            Self::Headline => "Every build receives the same content from native-quinn.",
            Self::FixedCost => {
                "What does a process cost before its first byte, and what each GiB after it? aot: the compiled code \
                 comes from the cache; jit: it is compiled in the run."
            }
            Self::Send => "The build uploads to native-quinn; CPU time is the sender's.",
            Self::Connect => {
                "The build opens many connections to native-quinn, one after the other, and fetches a small content \
                 over each."
            }
            Self::Network => "A relay in user space drops and delays datagrams; delay is one way.",
            Self::Mtu => "Both ends send datagrams of a fixed size, without discovery.",
            Self::HostCrypto => {
                "The AEAD is a function of the host, as WASI-Crypto would have it; the calls and the bytes copied over \
                 the boundary are counted."
            }
            Self::Ablation => {
                "One kernel, instruction or offload is taken away at a time. The ratio is to the whole build: above 1 \
                 in CPU time means that the part was worth something. Where a \
                 cipher or a MAC is replaced, both run in two passes; what that kernel itself is worth is the ratio to \
                 wasm-no-one-pass."
            }
            Self::Ceiling => "The same stack with keys that protect nothing: what no kernel can go below.",
            Self::Other => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    #[test]
    fn names_and_colours_are_distinct() {
        for of in [|build: &Build| build.name, |build: &Build| build.light, |build: &Build| build.dark] {
            assert_eq!(BUILDS.iter().map(of).collect::<BTreeSet<_>>().len(), BUILDS.len());
        }
        for build in BUILDS {
            assert!(build.role.whole().is_none_or(|whole| find(whole).is_some()), "{}", build.name);
        }
    }

    #[test]
    fn a_scenario_is_known_by_what_it_varies() {
        let cell = |workload: &str, build: &str, option: Option<&str>| Cell {
            scenario: "x".into(),
            workload: workload.into(),
            build: build.into(),
            cipher: "aes-128-gcm".into(),
            bytes: 1,
            options: option
                .map(|name| (name.to_owned(), "1".to_owned()))
                .into_iter()
                .collect::<BTreeMap<_, _>>(),
        };
        for (cells, kind) in [
            (vec![cell("receive", "wasm-base", None)], Kind::Other),
            (vec![cell("send", "wasm-base", None)], Kind::Send),
            (vec![cell("receive", "wasm-base", Some("start"))], Kind::FixedCost),
            (vec![cell("receive", "wasm-base", Some("mtu"))], Kind::Mtu),
            (vec![cell("receive", "wasm-base", Some("delay_ms"))], Kind::Network),
            (vec![cell("connect", "wasm-base", Some("mode"))], Kind::Connect),
            (
                vec![cell("receive", "wasm-base", None), cell("receive", "native-no-aes", None)],
                Kind::Ablation,
            ),
            (vec![cell("receive", "wasm-unprotected", None)], Kind::Ceiling),
            (vec![cell("receive", "wasm-host-crypto", None)], Kind::HostCrypto),
        ] {
            assert_eq!(Kind::of("x", cells.iter()), kind);
        }
        assert_eq!(Kind::of("headline", [].iter()), Kind::Headline);
    }
}
