//! Figures of the paper "Accelerating QUIC Encryption in WebAssembly Using WASM-SIMD" (arXiv:2611.01989v1).

/// AES-128-GCM.
pub(super) const AES: &str = "aes-128-gcm";
/// ChaCha20-Poly1305.
pub(super) const CHACHA: &str = "chacha20-poly1305";

/// The paper's names of builds, and ours.
pub(super) const BUILDS: [(&str, &str); 6] = [
    ("Wasm-Base", "wasm-base"),
    ("Wasm-AutoVec", "wasm-autovec"),
    ("Wasm-HandVec", "wasm-handvec"),
    ("Native-Port", "native-handvec"),
    ("Native-Opt", "native-opt"),
    ("Native-Quinn", "native-quinn"),
];

/// Goodput in Mb/s, transfer time and CPU time in s/GiB.
type Transfer = (f64, f64, f64);

/// Table 2 and figure 3; builds in the order of [`BUILDS`].
pub(super) const TABLE_2: [(&str, [Transfer; 6]); 2] = [
    (
        AES,
        [
            (612.4, 14.03, 14.48),
            (620.0, 13.85, 14.31),
            (988.1, 8.69, 9.09),
            (1_235.0, 6.96, 6.42),
            (5_131.0, 1.67, 1.14),
            (9_081.0, 0.95, 0.90),
        ],
    ),
    (
        CHACHA,
        [
            (1_493.8, 5.75, 6.14),
            (1_727.0, 4.97, 5.36),
            (1_965.1, 4.37, 4.73),
            (2_514.0, 3.42, 2.84),
            (3_994.0, 2.15, 1.60),
            (7_345.0, 1.17, 1.11),
        ],
    ),
];

/// The columns of [`TABLE_4`]; empty is the total.
pub(super) const TABLE_4_COLUMNS: [&str; 8] =
    ["crypto", "copy", "socket-io", "runtime", "alloc", "quic-proto", "other", ""];

/// Table 4 and figure 4: ms/GiB.
pub(super) const TABLE_4: [(&str, [[f64; 8]; 6]); 2] = [
    (
        AES,
        [
            [11_768.0, 38.0, 441.0, 281.0, 593.0, 322.0, 1_038.0, 14_483.0],
            [11_598.0, 37.0, 443.0, 285.0, 589.0, 319.0, 1_033.0, 14_306.0],
            [6_423.0, 38.0, 423.0, 302.0, 591.0, 303.0, 1_005.0, 9_089.0],
            [5_404.0, 27.0, 209.0, 0.0, 22.0, 156.0, 606.0, 6_424.0],
            [534.0, 14.0, 36.0, 0.5, 24.0, 141.0, 389.0, 1_138.0],
            [184.0, 37.0, 89.0, 0.0, 22.0, 170.0, 399.0, 902.0],
        ],
    ),
    (
        CHACHA,
        [
            [3_403.0, 38.0, 423.0, 291.0, 584.0, 331.0, 1_071.0, 6_142.0],
            [2_631.0, 33.0, 439.0, 284.0, 594.0, 315.0, 1_057.0, 5_355.0],
            [2_004.0, 34.0, 425.0, 287.0, 585.0, 319.0, 1_073.0, 4_726.0],
            [1_804.0, 29.0, 203.0, 0.0, 22.0, 161.0, 618.0, 2_837.0],
            [976.0, 20.0, 36.0, 0.1, 23.0, 145.0, 400.0, 1_599.0],
            [495.0, 36.0, 71.0, 0.0, 19.0, 153.0, 331.0, 1_106.0],
        ],
    ),
];

/// The steps of table 5, by our names.
pub(super) const STEPS: [(&str, &str); 3] =
    [("wasm-handvec", "native-handvec"), ("native-handvec", "native-opt"), ("native-opt", "native-quinn")];

/// Table 5: decrease in CPU time with ChaCha20-Poly1305, ms/GiB, in each of [`STEPS`]; empty is the total.
pub(super) const TABLE_5: [(&str, [f64; 3]); 9] = [
    ("crypto", [200.0, 828.0, 480.0]),
    ("copy", [5.0, 9.0, -15.0]),
    ("socket-io", [222.0, 167.0, -35.0]),
    ("runtime", [287.0, -0.1, 0.1]),
    ("alloc", [563.0, -0.7, 4.0]),
    ("quic-proto", [158.0, 17.0, -8.0]),
    ("other", [455.0, 218.0, 69.0]),
    ("ack-loss", [1.0, 0.0, -0.6]),
    ("", [1_889.0, 1_238.0, 494.0]),
];
