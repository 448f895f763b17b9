//! The paper's claims in words, each with how our figure follows from a record and why the two differ.

use super::figures::{
    alloc_and_runtime, category, cpu, crypto_of_last_step, cut, estimate_cpu, estimate_of, excess,
    fastest_native, fixed, gain, goodput, larger_datagrams, mac, most_ack_loss, native_busy, of_quinn, over,
    percent, predicted, rest, sender, share, variant,
};
use super::paper::{AES, CHACHA};
use crate::analysis::{Analysis, GOODPUT};
use crate::catalog::{self, Kind};

/// What a figure counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// Mb/s.
    Goodput,
    /// s.
    Seconds,
    /// ms/GiB.
    Milliseconds,
    /// Per cent.
    Percent,
    /// A ratio.
    Times,
}

/// A claim.
pub(super) struct Claim {
    /// Where the paper makes it.
    pub(super) section: &'static str,
    /// What it says.
    pub(super) claim: &'static str,
    /// What its figure counts.
    pub(super) unit: Unit,
    /// The paper's figure; `None` where it asks and has none.
    pub(super) paper: Option<f64>,
    /// Ours.
    pub(super) ours: fn(&Analysis) -> Option<f64>,
    /// Why they differ.
    pub(super) why: &'static str,
}

const fn claim(
    section: &'static str,
    claim: &'static str,
    unit: Unit,
    paper: f64,
    ours: fn(&Analysis) -> Option<f64>,
    why: &'static str,
) -> Claim {
    Claim { section, claim, unit, paper: Some(paper), ours, why }
}

/// A question that the paper leaves open.
const fn open(
    claim: &'static str,
    unit: Unit,
    ours: fn(&Analysis) -> Option<f64>,
    why: &'static str,
) -> Claim {
    Claim { section: "9, 10", claim, unit, paper: None, ours, why }
}

const KERNELS: &str = "the same two kernels, written anew; engine, compiler and processor differ";
const AUTOVEC: &str = "what a compiler vectorizes depends on its version: LLVM 22 here";
const LOOPBACK: &str =
    "loopback and shared processors here: a native receiver and its sender take each other's time";
const OPT: &str = "our native-opt has our kernels on AVX2, VAES and VPCLMULQDQ; the paper's has RustCrypto's";
const RULES: &str = "categories are by our rules; the event loop, the engine and its allocator differ";
const STACK: &str = "our endpoint drains the socket before it sends and acknowledges in batches";
const CACHE: &str = "our headline runs take compiled code from a cache; the paper compiles in each run";

/// All of them, in the order of the paper.
pub(super) const CLAIMS: &[Claim] = &[
    claim(
        "abstract, 8.1",
        "AES-128-GCM: goodput gain of Wasm-HandVec over Wasm-Base",
        Unit::Percent,
        61.34,
        |a| gain(a, "wasm-handvec", "wasm-base", AES),
        KERNELS,
    ),
    claim(
        "abstract, 8.1",
        "ChaCha20-Poly1305: the same",
        Unit::Percent,
        31.55,
        |a| gain(a, "wasm-handvec", "wasm-base", CHACHA),
        KERNELS,
    ),
    claim(
        "abstract, 8.1",
        "AES-128-GCM: goodput gain of Wasm-AutoVec over Wasm-Base",
        Unit::Percent,
        1.28,
        |a| gain(a, "wasm-autovec", "wasm-base", AES),
        AUTOVEC,
    ),
    claim(
        "8.1",
        "ChaCha20-Poly1305: the same",
        Unit::Percent,
        15.60,
        |a| gain(a, "wasm-autovec", "wasm-base", CHACHA),
        AUTOVEC,
    ),
    claim(
        "abstract, 8.2",
        "Wasm-HandVec: goodput of ChaCha20-Poly1305 by AES-128-GCM",
        Unit::Times,
        1.99,
        |a| over(goodput(a, "wasm-handvec", CHACHA), goodput(a, "wasm-handvec", AES)),
        KERNELS,
    ),
    claim(
        "1, 6, 8.2",
        "Wasm-Base: the same",
        Unit::Times,
        2.44,
        |a| over(goodput(a, "wasm-base", CHACHA), goodput(a, "wasm-base", AES)),
        KERNELS,
    ),
    claim(
        "5",
        "Sender's CPU time by transfer time, Wasm receivers, at most",
        Unit::Percent,
        26.0,
        |a| sender(a, catalog::is_sandboxed),
        LOOPBACK,
    ),
    claim(
        "5",
        "The same with Native-Port and Native-Opt",
        Unit::Percent,
        52.0,
        |a| sender(a, |build| matches!(build, "native-handvec" | "native-opt")),
        LOOPBACK,
    ),
    claim(
        "5",
        "The same with Native-Quinn",
        Unit::Percent,
        89.0,
        |a| sender(a, |build| build == "native-quinn"),
        LOOPBACK,
    ),
    claim(
        "5, 9",
        "CPU time beyond transfer time of the Wasm builds, at least",
        Unit::Seconds,
        0.35,
        |a| excess(a).into_iter().reduce(f64::min),
        CACHE,
    ),
    claim(
        "5, 9",
        "The same, at most",
        Unit::Seconds,
        0.46,
        |a| excess(a).into_iter().reduce(f64::max),
        CACHE,
    ),
    claim(
        "5",
        "CPU time by transfer time of Native-Port and Native-Opt, at least",
        Unit::Percent,
        68.0,
        |a| native_busy(a).into_iter().reduce(f64::min),
        LOOPBACK,
    ),
    claim(
        "5",
        "The same, at most",
        Unit::Percent,
        92.0,
        |a| native_busy(a).into_iter().reduce(f64::max),
        LOOPBACK,
    ),
    claim("5", "ack-loss in any build, at most", Unit::Milliseconds, 4.0, most_ack_loss, RULES),
    claim(
        "6, table 3",
        "Wasm-Base, AES-128-GCM: share of cryptography",
        Unit::Percent,
        81.3,
        |a| share(a, "wasm-base", AES, "crypto"),
        KERNELS,
    ),
    claim(
        "6, table 3",
        "Wasm-Base, ChaCha20-Poly1305: the same",
        Unit::Percent,
        55.4,
        |a| share(a, "wasm-base", CHACHA, "crypto"),
        KERNELS,
    ),
    claim(
        "6, table 3",
        "Wasm-Base, AES-128-GCM: CPU time that is not cryptography",
        Unit::Milliseconds,
        2_715.0,
        |a| rest(a, "wasm-base", AES),
        STACK,
    ),
    claim(
        "6, table 3",
        "Wasm-Base, ChaCha20-Poly1305: the same",
        Unit::Milliseconds,
        2_739.0,
        |a| rest(a, "wasm-base", CHACHA),
        STACK,
    ),
    claim(
        "6",
        "Wasm-Base: cryptographic CPU time of AES-128-GCM by ChaCha20-Poly1305",
        Unit::Times,
        3.46,
        |a| over(category(a, "wasm-base", AES, "crypto"), category(a, "wasm-base", CHACHA, "crypto")),
        KERNELS,
    ),
    claim(
        "7.3, 10",
        "Wasm-HandVec, AES-128-GCM: the MAC's share of cryptographic CPU time, about",
        Unit::Percent,
        40.0,
        |a| mac(a, AES, &["ghash", "polyval"]),
        "by the names of the heaviest symbols: what is inlined elsewhere is not seen",
    ),
    claim(
        "7.3, 10",
        "Wasm-HandVec, ChaCha20-Poly1305: the same",
        Unit::Percent,
        50.0,
        |a| mac(a, CHACHA, &["poly1305"]),
        "by the names of the heaviest symbols: what is inlined elsewhere is not seen",
    ),
    claim(
        "8.1",
        "AES-128-GCM: goodput gain of Wasm-HandVec over Wasm-AutoVec",
        Unit::Percent,
        59.31,
        |a| gain(a, "wasm-handvec", "wasm-autovec", AES),
        AUTOVEC,
    ),
    claim(
        "8.1",
        "ChaCha20-Poly1305: the same",
        Unit::Percent,
        13.79,
        |a| gain(a, "wasm-handvec", "wasm-autovec", CHACHA),
        AUTOVEC,
    ),
    claim(
        "8.1",
        "AES-128-GCM: cut in cryptographic CPU time, Wasm-AutoVec to Wasm-HandVec",
        Unit::Percent,
        44.6,
        |a| cut(a, "wasm-autovec", "wasm-handvec", AES),
        AUTOVEC,
    ),
    claim(
        "8.1",
        "ChaCha20-Poly1305: the same",
        Unit::Percent,
        23.8,
        |a| cut(a, "wasm-autovec", "wasm-handvec", CHACHA),
        AUTOVEC,
    ),
    claim(
        "8.1",
        "ChaCha20-Poly1305: the same, Wasm-Base to Wasm-AutoVec",
        Unit::Percent,
        22.7,
        |a| cut(a, "wasm-base", "wasm-autovec", CHACHA),
        AUTOVEC,
    ),
    claim(
        "8.3",
        "AES-128-GCM: goodput of Native-Quinn by Wasm-HandVec",
        Unit::Times,
        9.19,
        |a| over(goodput(a, "native-quinn", AES), goodput(a, "wasm-handvec", AES)),
        LOOPBACK,
    ),
    claim(
        "8.3",
        "ChaCha20-Poly1305: the same",
        Unit::Times,
        3.74,
        |a| over(goodput(a, "native-quinn", CHACHA), goodput(a, "wasm-handvec", CHACHA)),
        LOOPBACK,
    ),
    claim(
        "8.3",
        "ChaCha20-Poly1305: Wasm-Base's goodput of Native-Quinn's",
        Unit::Percent,
        20.3,
        |a| percent(goodput(a, "wasm-base", CHACHA), goodput(a, "native-quinn", CHACHA)),
        LOOPBACK,
    ),
    claim(
        "8.3",
        "ChaCha20-Poly1305: Wasm-HandVec's",
        Unit::Percent,
        26.8,
        |a| percent(goodput(a, "wasm-handvec", CHACHA), goodput(a, "native-quinn", CHACHA)),
        LOOPBACK,
    ),
    claim(
        "8.3",
        "Wasm-Base with ChaCha20-Poly1305 of the fastest native",
        Unit::Percent,
        16.4,
        |a| percent(goodput(a, "wasm-base", CHACHA), fastest_native(a)),
        LOOPBACK,
    ),
    claim(
        "8.3",
        "Wasm-HandVec with ChaCha20-Poly1305 of the fastest native (Spies et al.: 17.6 %)",
        Unit::Percent,
        21.6,
        |a| percent(goodput(a, "wasm-handvec", CHACHA), fastest_native(a)),
        LOOPBACK,
    ),
    claim(
        "8.3",
        "Wasm-HandVec and Native-Port, ChaCha20-Poly1305: cryptographic CPU time, one by the other",
        Unit::Times,
        1.11,
        |a| {
            over(
                category(a, "wasm-handvec", CHACHA, "crypto"),
                category(a, "native-handvec", CHACHA, "crypto"),
            )
        },
        KERNELS,
    ),
    claim(
        "8.3",
        "alloc and runtime in the decrease from Wasm-HandVec to Native-Port",
        Unit::Percent,
        45.0,
        alloc_and_runtime,
        RULES,
    ),
    claim(
        "8.3",
        "Native-Quinn's cryptographic CPU time by Native-Opt's, ChaCha20-Poly1305",
        Unit::Times,
        0.51,
        |a| over(category(a, "native-quinn", CHACHA, "crypto"), category(a, "native-opt", CHACHA, "crypto")),
        OPT,
    ),
    claim(
        "8.3",
        "crypto in the decrease from Native-Opt to Native-Quinn",
        Unit::Percent,
        97.2,
        crypto_of_last_step,
        OPT,
    ),
    claim(
        "8.4",
        "AES-128-GCM: predicted speedup, Wasm-AutoVec to Wasm-HandVec",
        Unit::Times,
        1.567,
        |a| predicted(a, "wasm-autovec", "wasm-handvec", AES),
        AUTOVEC,
    ),
    claim(
        "8.4",
        "AES-128-GCM: measured, goodput",
        Unit::Times,
        1.593,
        |a| over(goodput(a, "wasm-handvec", AES), goodput(a, "wasm-autovec", AES)),
        AUTOVEC,
    ),
    claim(
        "8.4",
        "ChaCha20-Poly1305: predicted",
        Unit::Times,
        1.133,
        |a| predicted(a, "wasm-autovec", "wasm-handvec", CHACHA),
        AUTOVEC,
    ),
    claim(
        "8.4",
        "ChaCha20-Poly1305: measured, goodput",
        Unit::Times,
        1.138,
        |a| over(goodput(a, "wasm-handvec", CHACHA), goodput(a, "wasm-autovec", CHACHA)),
        AUTOVEC,
    ),
    claim(
        "8.4",
        "AES-128-GCM: CPU time that is not cryptography, Wasm-AutoVec",
        Unit::Milliseconds,
        2_708.0,
        |a| rest(a, "wasm-autovec", AES),
        STACK,
    ),
    claim(
        "8.4",
        "AES-128-GCM: the same, Wasm-HandVec",
        Unit::Milliseconds,
        2_665.0,
        |a| rest(a, "wasm-handvec", AES),
        STACK,
    ),
    claim(
        "8.4",
        "ChaCha20-Poly1305: the same, Wasm-AutoVec",
        Unit::Milliseconds,
        2_724.0,
        |a| rest(a, "wasm-autovec", CHACHA),
        STACK,
    ),
    claim(
        "8.4",
        "ChaCha20-Poly1305: the same, Wasm-HandVec",
        Unit::Milliseconds,
        2_722.0,
        |a| rest(a, "wasm-handvec", CHACHA),
        STACK,
    ),
    claim(
        "8.4",
        "Wasm-HandVec with Native-Opt's cryptography, ChaCha20-Poly1305: speedup",
        Unit::Times,
        1.28,
        |a| Some(a.estimate("wasm-handvec", "native-opt", CHACHA)?.speedup),
        OPT,
    ),
    claim(
        "8.4",
        "The same: goodput",
        Unit::Goodput,
        2_511.0,
        |a| a.estimate("wasm-handvec", "native-opt", CHACHA)?.goodput,
        OPT,
    ),
    claim(
        "8.4",
        "The same: of Native-Opt",
        Unit::Percent,
        62.9,
        |a| estimate_of(a, CHACHA, "native-opt"),
        OPT,
    ),
    claim(
        "abstract, 8.4, 10",
        "The same: of Native-Quinn",
        Unit::Percent,
        34.2,
        |a| estimate_of(a, CHACHA, "native-quinn"),
        OPT,
    ),
    claim(
        "8.4",
        "The same: CPU time",
        Unit::Milliseconds,
        3_698.0,
        |a| Some(a.estimate("wasm-handvec", "native-opt", CHACHA)?.cpu * 1e3),
        STACK,
    ),
    claim("8.4", "The same: CPU time by Native-Opt's", Unit::Times, 2.3, |a| estimate_cpu(a, CHACHA), OPT),
    claim(
        "8.4",
        "Wasm-HandVec with Native-Opt's cryptography, AES-128-GCM: goodput",
        Unit::Goodput,
        2_807.0,
        |a| a.estimate("wasm-handvec", "native-opt", AES)?.goodput,
        OPT,
    ),
    claim("8.4", "The same: of Native-Opt", Unit::Percent, 54.7, |a| estimate_of(a, AES, "native-opt"), OPT),
    claim(
        "abstract, 8.4, 10",
        "The same: of Native-Quinn",
        Unit::Percent,
        30.9,
        |a| estimate_of(a, AES, "native-quinn"),
        OPT,
    ),
    claim("8.4", "The same: CPU time by Native-Opt's", Unit::Times, 2.8, |a| estimate_cpu(a, AES), OPT),
    claim(
        "9",
        "other in Wasm-HandVec with ChaCha20-Poly1305",
        Unit::Percent,
        22.7,
        |a| share(a, "wasm-handvec", CHACHA, "other"),
        "our rules name the kernel's functions one by one",
    ),
    claim(
        "9",
        "Fixed cost of a process, Wasm, compiled in the run, about",
        Unit::Seconds,
        0.4,
        |a| fixed(a, "jit"),
        "measured over several lengths, of the first sandboxed build in the report's table; two processors compile here, the paper's receiver had four",
    ),
    open(
        "The same, compiled ahead of time",
        Unit::Seconds,
        |a| fixed(a, "aot"),
        "the paper compiles in each run",
    ),
    open(
        "64-bit scalar baseline, AES-128-GCM: goodput gain of wasm-base64 over wasm-base",
        Unit::Percent,
        |a| gain(a, "wasm-base64", "wasm-base", AES),
        "the stronger baseline that the paper asks for",
    ),
    open(
        "The paper's kernels over it: wasm-handvec over wasm-base64, AES-128-GCM",
        Unit::Percent,
        |a| gain(a, "wasm-handvec", "wasm-base64", AES),
        "smaller than over wasm-base, as the paper expects",
    ),
    open(
        "Ours over it: wasm-sandquic over wasm-base64, AES-128-GCM",
        Unit::Percent,
        |a| gain(a, "wasm-sandquic", "wasm-base64", AES),
        "",
    ),
    open(
        "CPU time of the paper's kernels by ours, AES-128-GCM",
        Unit::Times,
        |a| over(cpu(a, "wasm-handvec", AES), cpu(a, "wasm-sandquic", AES)),
        "SIMD in the MAC and the masks too",
    ),
    open(
        "CPU time of the paper's kernels by ours, ChaCha20-Poly1305",
        Unit::Times,
        |a| over(cpu(a, "wasm-handvec", CHACHA), cpu(a, "wasm-sandquic", CHACHA)),
        "the same",
    ),
    open(
        "AES-256-GCM by AES-128-GCM in wasm-sandquic: CPU time",
        Unit::Times,
        |a| over(cpu(a, "wasm-sandquic", "aes-256-gcm"), cpu(a, "wasm-sandquic", AES)),
        "14 rounds by 10",
    ),
    open(
        "ChaCha20-Poly1305 by AES-128-GCM in wasm-sandquic: goodput",
        Unit::Times,
        |a| over(goodput(a, "wasm-sandquic", CHACHA), goodput(a, "wasm-sandquic", AES)),
        "a faster GHASH narrows the gap, as the paper expects",
    ),
    open(
        "Wasm as the sender: wasm-sandquic's goodput of native-quinn's, ChaCha20-Poly1305",
        Unit::Percent,
        |a| of_quinn(a, Kind::Send, "wasm-sandquic", GOODPUT, &[]),
        "",
    ),
    open(
        "Short connections: wasm-sandquic's handshakes a second of native-quinn's, full",
        Unit::Percent,
        |a| of_quinn(a, Kind::Connect, "wasm-sandquic", "handshakes_per_s", &[("mode", "full")]),
        "",
    ),
    open(
        "1 % loss, 10 ms delay: wasm-sandquic's goodput of native-quinn's, ChaCha20-Poly1305",
        Unit::Percent,
        |a| {
            of_quinn(a, Kind::Network, "wasm-sandquic", GOODPUT, &[("loss_percent", "1"), ("delay_ms", "10")])
        },
        "the path, not the processor, sets the pace",
    ),
    open(
        "Datagrams of 9,000 bytes: wasm-sandquic's CPU time by that with 1,200, ChaCha20-Poly1305",
        Unit::Times,
        larger_datagrams,
        "fewer packets; the share of cryptography rises",
    ),
    open(
        "Host-provided cryptography: CPU time of wasm-host-crypto by wasm-sandquic, AES-128-GCM",
        Unit::Times,
        |a| variant(a, "wasm-host-crypto", AES),
        "with the calls and copies over the boundary",
    ),
    open("The same, ChaCha20-Poly1305", Unit::Times, |a| variant(a, "wasm-host-crypto", CHACHA), ""),
    open(
        "Native-Opt without AVX2, ChaCha20-Poly1305: CPU time by the whole",
        Unit::Times,
        |a| variant(a, "native-no-avx2", CHACHA),
        "",
    ),
    open(
        "Native-Opt without AES-NI, AES-128-GCM: the same",
        Unit::Times,
        |a| variant(a, "native-no-aes", AES),
        "",
    ),
    open(
        "Native-Opt without GSO and GRO, ChaCha20-Poly1305: the same",
        Unit::Times,
        |a| variant(a, "native-no-offloads", CHACHA),
        "",
    ),
    open(
        "Packets not protected, in the sandbox: CPU time by wasm-sandquic, ChaCha20-Poly1305",
        Unit::Times,
        |a| variant(a, "wasm-unprotected", CHACHA),
        "the ceiling for any kernel",
    ),
    open(
        "The same natively, by native-opt (Kempf et al.: 10 to 20 % gained)",
        Unit::Times,
        |a| variant(a, "native-unprotected", CHACHA),
        "",
    ),
];
