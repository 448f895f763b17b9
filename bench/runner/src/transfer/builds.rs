//! The builds and ciphers that are compared, and how the ends of each build are started.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::ValueEnum;
use serde::Serialize;

use crate::choice::display_by_value;
use crate::{Context, Error};

/// A build of the end that is measured: kernels, target features and surroundings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Build {
    /// RustCrypto's old crates (what the paper's provider resolved to), no simd128.
    WasmBase,
    /// RustCrypto's current crates (64-bit AES and GHASH words), no simd128.
    WasmBase64,
    /// As wasm-base, with simd128: what the compiler vectorizes by itself.
    WasmAutovec,
    /// As wasm-base64, with simd128.
    WasmAutovec64,
    /// The paper's two kernels with scalar MACs, made again, with simd128.
    WasmHandvec,
    /// The product in the sandbox, with simd128 alone.
    WasmSandquic,
    /// The product in the sandbox, with relaxed-simd and wide-arithmetic too.
    WasmSandquicWide,
    /// wasm-sandquic on the host's batched UDP sockets; all in the sandbox but `*-host` have Wasmtime's own.
    WasmSandquicHost,
    /// wasm-sandquic-p2 on the host's batched UDP sockets.
    WasmSandquicP2Host,
    /// The code of wasm-handvec outside the sandbox, with 128-bit vectors; one datagram a system call.
    NativeHandvec,
    /// The product outside the sandbox with 128-bit vectors alone; one datagram a system call.
    NativePort,
    /// The product outside the sandbox, with the processor's instructions and the kernel's offloads (GSO, GRO).
    NativeOpt,
    /// Stock quinn on tokio and ring, outside the sandbox.
    NativeQuinn,
    /// wasm-sandquic with the driver for WASI 0.2: lists of datagrams, and one poll for all that it waits for.
    WasmSandquicP2,
    /// wasm-sandquic with RustCrypto's ChaCha20 and our Poly1305, in two passes.
    WasmNoChacha20,
    /// wasm-sandquic with our ChaCha20 and RustCrypto's Poly1305, in two passes.
    WasmNoPoly1305,
    /// wasm-sandquic with RustCrypto's AES and our GHASH, in two passes.
    WasmNoAes,
    /// wasm-sandquic with our AES and RustCrypto's GHASH, in two passes.
    WasmNoGhash,
    /// wasm-sandquic with our ciphers and our MACs in two passes.
    WasmNoOnePass,
    /// wasm-sandquic with RustCrypto's header masks.
    WasmNoMask,
    /// native-opt with 128-bit vectors (x86 only).
    NativeNoAvx2,
    /// native-opt without the processor's instructions for AES.
    NativeNoAes,
    /// native-opt without the processor's carry-less multiplication.
    NativeNoClmul,
    /// native-opt with one datagram a system call.
    NativeNoOffloads,
    /// wasm-sandquic with the AEAD of its packets by the host (ring), through an import of the benchmark's own host.
    WasmHostCrypto,
    /// The sandbox without protection of packets; the other end is as well.
    WasmUnprotected,
    /// native-opt without protection of packets; the other end is as well.
    NativeUnprotected,
}

/// What an end of a build is made of, before the flags that all share.
enum Recipe {
    /// A component of the command, or one in a file beside it, on Wasmtime's own UDP sockets.
    Component(&'static str, &'static [&'static str]),
    /// The same on the host's batched ones.
    Batched(&'static str),
    /// The command itself.
    Command(&'static [&'static str]),
    /// Another program beside it.
    Program(&'static str, &'static [&'static str]),
    /// Another program beside it that runs a component of its own.
    Host(&'static str),
}

use Recipe::{Batched, Command as Same, Component, Host, Program};

/// What the ceiling's programs must be told, lest anybody gets them by accident.
const UNPROTECTED: [&str; 2] = ["--ciphers", "unprotected"];

impl Build {
    /// The builds that are compared if none is named: the ladder from the paper's baseline to stock quinn.
    pub fn headline() -> &'static [Self] {
        let all = Self::value_variants();
        let last = all.iter().position(|build| *build == Self::NativeQuinn).map_or(0, |at| at + 1);
        &all[..last]
    }

    /// Whether it runs in the sandbox.
    pub fn is_sandboxed(self) -> bool {
        matches!(self.client(), Component(..) | Batched(..) | Host(..))
    }

    /// Whether its packets are not protected, so that only a sender of its own understands it.
    pub fn is_unprotected(self) -> bool {
        matches!(self, Self::WasmUnprotected | Self::NativeUnprotected)
    }

    /// How its client is started.
    fn client(self) -> Recipe {
        match self {
            Self::WasmBase => Component("@bench-client", &["--ciphers", "rustcrypto-old"]),
            Self::WasmBase64 => Component("@bench-client", &["--ciphers", "rustcrypto"]),
            Self::WasmAutovec => Component("@bench-client-simd128", &["--ciphers", "rustcrypto-old"]),
            Self::WasmAutovec64 => Component("@bench-client-simd128", &["--ciphers", "rustcrypto"]),
            Self::WasmHandvec => Component("@bench-client-simd128", &["--ciphers", "handvec"]),
            Self::WasmSandquic => Component("@transfer-client", &[]),
            Self::WasmSandquicWide => Component("@transfer-client-wide", &[]),
            Self::WasmSandquicHost => Batched("@transfer-client"),
            Self::WasmSandquicP2Host => Batched("@transfer-client-wasip2"),
            Self::NativeHandvec => {
                Program("sandquic-peer-128", &["client", "--no-offloads", "--ciphers", "handvec"])
            }
            Self::NativePort => Program("sandquic-peer-128", &["client", "--no-offloads"]),
            Self::NativeOpt => Same(&["bench-peer", "sandquic-client"]),
            Self::NativeQuinn => Same(&["bench-peer", "client"]),
            Self::WasmSandquicP2 => Component("@transfer-client-wasip2", &[]),
            Self::WasmNoChacha20 => Component("@bench-client-simd128", &["--ciphers", "no-chacha20"]),
            Self::WasmNoPoly1305 => Component("@bench-client-simd128", &["--ciphers", "no-poly1305"]),
            Self::WasmNoAes => Component("@bench-client-simd128", &["--ciphers", "no-aes"]),
            Self::WasmNoGhash => Component("@bench-client-simd128", &["--ciphers", "no-ghash"]),
            Self::WasmNoOnePass => Component("@bench-client-simd128", &["--ciphers", "no-one-pass"]),
            Self::WasmNoMask => Component("@bench-client-simd128", &["--ciphers", "no-mask"]),
            Self::NativeNoAvx2 => Program("sandquic-peer-no-avx2", &["client"]),
            Self::NativeNoAes => Program("sandquic-peer-no-aes", &["client"]),
            Self::NativeNoClmul => Program("sandquic-peer-no-clmul", &["client"]),
            Self::NativeNoOffloads => Same(&["bench-peer", "sandquic-client", "--no-offloads"]),
            Self::WasmHostCrypto => Host("sandquic-bench-host"),
            Self::WasmUnprotected => Component("sandquic-unprotected.wasm", &UNPROTECTED),
            Self::NativeUnprotected => {
                Program("sandquic-unprotected", &["client", UNPROTECTED[0], UNPROTECTED[1]])
            }
        }
    }

    /// How the server that it is measured against is started: stock quinn's, except where that would not understand it.
    fn server(self) -> Recipe {
        if self.is_unprotected() {
            Program("sandquic-unprotected", &["server", UNPROTECTED[0], UNPROTECTED[1]])
        } else {
            Same(&["bench-peer", "server"])
        }
    }

    /// Whether what the build needs beside the `sandquic` command is there.
    ///
    /// # Errors
    /// [`Error::Failed`] with what is missing and how to get it.
    pub(crate) fn check(self, context: &Context) -> Result<(), Error> {
        for file in [self.client(), self.server()].iter().filter_map(|recipe| recipe.file(context)) {
            if !file.is_file() {
                return Err(Error::failed(format!(
                    "build {self} needs {}, which `cargo xtask build` makes; choose others with --build",
                    file.display()
                )));
            }
        }
        Ok(())
    }

    /// The command that receives (or sends, or only connects), up to the flags that all clients share, and the path under
    /// which it finds the files of `directory`. `host` are further options of `sandquic run`, for a sandboxed one.
    pub(crate) fn receiver(self, context: &Context, directory: &Path, host: &[&str]) -> (Command, String) {
        self.client().command(context, directory, host)
    }

    /// The command of the server at the other end, up to the flags that all servers share: `--listen`, `--cert`, `--key`,
    /// `--file` or `--size`, `--once` or `--connections`, the buffers, `--window`, `--mtu` and `--until-stdin-closes`.
    pub(crate) fn sender(self, context: &Context) -> Command {
        self.server().command(context, Path::new(""), &[]).0
    }
}

impl Recipe {
    /// The file that it needs beside the command.
    fn file(&self, context: &Context) -> Option<PathBuf> {
        match self {
            Component(name, _) | Batched(name) if name.starts_with('@') => None,
            Component(name, _) | Batched(name) => Some(context.sandquic.with_file_name(name)),
            Same(_) => None,
            Program(name, _) | Host(name) => {
                Some(context.peer.with_file_name(format!("{name}{}", std::env::consts::EXE_SUFFIX)))
            }
        }
    }

    /// The command, and the path under which it finds the files of `directory`.
    fn command(&self, context: &Context, directory: &Path, host: &[&str]) -> (Command, String) {
        let program = self.file(context);
        match self {
            Component(name, _) | Batched(name) => {
                let mut command = Command::new(&context.sandquic);
                command.args(["run", "--inherit-network"]);
                if let Component(..) = self {
                    command.arg("--stock-udp");
                }
                command.args(host).arg("--dir-ro").arg(mapping(directory));
                command.arg(program.unwrap_or_else(|| name.into()));
                if let Component(_, arguments) = self {
                    command.args(*arguments);
                }
                (command, GUEST_DIRECTORY.into())
            }
            Host(name) => {
                let mut command = Command::new(program.unwrap_or_else(|| name.into()));
                command.args(host).arg("--dir-ro").arg(mapping(directory)).arg("--");
                (command, GUEST_DIRECTORY.into())
            }
            Same(arguments) | Program(_, arguments) => {
                let mut command = Command::new(program.unwrap_or_else(|| context.peer.clone()));
                command.args(*arguments);
                (command, directory.to_string_lossy().into_owned())
            }
        }
    }
}

/// Where a sandboxed client finds the files of its directory.
const GUEST_DIRECTORY: &str = "/bench";

/// The directory on the host and in there.
fn mapping(directory: &Path) -> OsString {
    let mut mapping = directory.as_os_str().to_owned();
    mapping.push("::");
    mapping.push(GUEST_DIRECTORY);
    mapping
}

/// A cipher suite of TLS 1.3, by its AEAD.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ValueEnum, Serialize)]
pub enum Cipher {
    /// TLS_AES_128_GCM_SHA256.
    #[value(name = "aes-128-gcm")]
    #[serde(rename = "aes-128-gcm")]
    Aes128Gcm,
    /// TLS_AES_256_GCM_SHA384.
    #[value(name = "aes-256-gcm")]
    #[serde(rename = "aes-256-gcm")]
    Aes256Gcm,
    /// TLS_CHACHA20_POLY1305_SHA256.
    #[value(name = "chacha20-poly1305")]
    #[serde(rename = "chacha20-poly1305")]
    ChaCha20Poly1305,
}

display_by_value!(Build, Cipher);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_same_everywhere() {
        for build in Build::value_variants() {
            assert_eq!(serde_json::to_value(build).unwrap(), build.to_string());
            assert_eq!(Build::from_str(&build.to_string(), false), Ok(*build));
            assert_eq!(build.is_sandboxed(), build.to_string().starts_with("wasm-"));
        }
        for cipher in Cipher::value_variants() {
            assert_eq!(serde_json::to_value(cipher).unwrap(), cipher.to_string());
        }
    }

    #[test]
    fn the_headline_is_the_ladder() {
        let headline = Build::headline();
        assert_eq!((headline.first(), headline.last()), (Some(&Build::WasmBase), Some(&Build::NativeQuinn)));
        assert!(headline.contains(&Build::WasmSandquicHost) && headline.contains(&Build::WasmSandquicP2Host));
        assert!(!headline.iter().any(|build| build.is_unprotected()));
    }

    #[test]
    fn a_sandboxed_receiver_sees_only_its_files() {
        let context = Context { sandquic: "s".into(), peer: "p".into(), engine: String::new() };
        let (command, directory) = Build::WasmAutovec.receiver(&context, Path::new("/d"), &[]);
        let args: Vec<_> = command.get_args().map(|arg| arg.to_str().unwrap()).collect();
        assert_eq!(
            args,
            [
                "run",
                "--inherit-network",
                "--stock-udp",
                "--dir-ro",
                "/d::/bench",
                "@bench-client-simd128",
                "--ciphers",
                "rustcrypto-old"
            ]
        );
        assert_eq!((command.get_program().to_str(), directory.as_str()), (Some("s"), "/bench"));
        let (command, _) = Build::WasmSandquicHost.receiver(&context, Path::new("/d"), &[]);
        let args: Vec<_> = command.get_args().map(|arg| arg.to_str().unwrap()).collect();
        assert_eq!(args, ["run", "--inherit-network", "--dir-ro", "/d::/bench", "@transfer-client"]);
        let context = Context { peer: "/b/p".into(), sandquic: "/b/s".into(), ..context };
        for (build, file) in [
            (Build::NativeHandvec, "sandquic-peer-128"),
            (Build::NativePort, "sandquic-peer-128"),
            (Build::NativeNoAvx2, "sandquic-peer-no-avx2"),
            (Build::NativeUnprotected, "sandquic-unprotected"),
        ] {
            let (command, _) = build.receiver(&context, Path::new("/d"), &[]);
            assert_eq!(Path::new(command.get_program()).file_stem().unwrap(), file);
            assert!(build.check(&context).unwrap_err().to_string().contains("cargo xtask build"));
        }
        let (command, directory) = Build::WasmHostCrypto.receiver(&context, Path::new("/d"), &["--no-cache"]);
        let args: Vec<_> = command.get_args().collect();
        assert_eq!(args, ["--no-cache", "--dir-ro", "/d::/bench", "--"]);
        assert_eq!(
            (command.get_program(), directory.as_str()),
            ("/b/sandquic-bench-host".as_ref(), "/bench")
        );
        let (command, _) = Build::WasmUnprotected.receiver(&context, Path::new("/d"), &[]);
        assert!(command.get_args().any(|arg| arg == "/b/sandquic-unprotected.wasm"));
        let server = Build::WasmUnprotected.sender(&context);
        let args: Vec<_> = server.get_args().collect();
        assert_eq!(args, ["server", "--ciphers", "unprotected"]);
        assert_eq!(Build::WasmSandquic.sender(&context).get_program(), "/b/p");
        assert!(Build::WasmSandquic.check(&context).is_ok());
        let context = Context { peer: "p".into(), ..context };
        let (command, directory) = Build::NativeQuinn.receiver(&context, Path::new("/d"), &[]);
        assert_eq!((command.get_program().to_str(), directory.as_str()), (Some("p"), "/d"));
    }
}
