//! The builds and ciphers that are compared, and how each build's receiver is started.

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::ValueEnum;
use serde::Serialize;

use crate::choice::display_by_value;
use crate::{Context, Error};

/// A build of the receiver: kernels, target features and surroundings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Build {
    /// RustCrypto's old crates (what the paper's provider resolved to), no simd128.
    #[value(name = "wasm-base")]
    #[serde(rename = "wasm-base")]
    WasmBase,
    /// RustCrypto's current crates (64-bit AES and GHASH words), no simd128.
    #[value(name = "wasm-base64")]
    #[serde(rename = "wasm-base64")]
    WasmBase64,
    /// As wasm-base, with simd128: what the compiler vectorizes by itself.
    #[value(name = "wasm-autovec")]
    #[serde(rename = "wasm-autovec")]
    WasmAutovec,
    /// As wasm-base64, with simd128.
    #[value(name = "wasm-autovec64")]
    #[serde(rename = "wasm-autovec64")]
    WasmAutovec64,
    /// The paper's two kernels with scalar MACs, made again, with simd128.
    #[value(name = "wasm-handvec")]
    #[serde(rename = "wasm-handvec")]
    WasmHandvec,
    /// The product in the sandbox, with simd128 alone.
    #[value(name = "wasm-sandquic")]
    #[serde(rename = "wasm-sandquic")]
    WasmSandquic,
    /// The product in the sandbox, with relaxed-simd and wide-arithmetic too.
    #[value(name = "wasm-sandquic-wide")]
    #[serde(rename = "wasm-sandquic-wide")]
    WasmSandquicWide,
    /// The code of wasm-handvec outside the sandbox, with 128-bit vectors; one datagram a system call.
    #[value(name = "native-handvec")]
    #[serde(rename = "native-handvec")]
    NativeHandvec,
    /// The product outside the sandbox with 128-bit vectors alone; one datagram a system call.
    #[value(name = "native-port")]
    #[serde(rename = "native-port")]
    NativePort,
    /// The product outside the sandbox, with the processor's instructions and the kernel's offloads (GSO, GRO).
    #[value(name = "native-opt")]
    #[serde(rename = "native-opt")]
    NativeOpt,
    /// Stock quinn on tokio and ring, outside the sandbox.
    #[value(name = "native-quinn")]
    #[serde(rename = "native-quinn")]
    NativeQuinn,
}

impl Build {
    /// Whether the receiver runs in the sandbox.
    pub fn is_sandboxed(self) -> bool {
        self.component().is_some()
    }

    /// The embedded component and the arguments that choose its ciphers.
    fn component(self) -> Option<(&'static str, &'static [&'static str])> {
        match self {
            Self::WasmBase => Some(("@bench-client", &["--ciphers", "rustcrypto-old"])),
            Self::WasmBase64 => Some(("@bench-client", &["--ciphers", "rustcrypto"])),
            Self::WasmAutovec => Some(("@bench-client-simd128", &["--ciphers", "rustcrypto-old"])),
            Self::WasmAutovec64 => Some(("@bench-client-simd128", &["--ciphers", "rustcrypto"])),
            Self::WasmHandvec => Some(("@bench-client-simd128", &["--ciphers", "handvec"])),
            Self::WasmSandquic => Some(("@transfer-client", &[])),
            Self::WasmSandquicWide => Some(("@transfer-client-wide", &[])),
            Self::NativeHandvec | Self::NativePort | Self::NativeOpt | Self::NativeQuinn => None,
        }
    }

    /// The program of a receiver outside the sandbox.
    fn native_program(self, context: &Context) -> PathBuf {
        match self {
            Self::NativeHandvec | Self::NativePort => {
                context.peer.with_file_name(format!("sandquic-peer-128{}", std::env::consts::EXE_SUFFIX))
            }
            _ => context.peer.clone(),
        }
    }

    /// Whether what the build needs beside the `sandquic` command is there.
    ///
    /// # Errors
    /// [`Error::Failed`] with what is missing and how to get it.
    pub(crate) fn check(self, context: &Context) -> Result<(), Error> {
        let program = self.native_program(context);
        if self.is_sandboxed() || program == context.peer || program.is_file() {
            return Ok(());
        }
        Err(Error::failed(format!(
            "build {self} needs {}, which `cargo xtask build` makes; choose others with --build",
            program.display()
        )))
    }

    /// The command that receives, up to the flags that all clients share, and the path under which it finds the
    /// files of `directory`. `host` are further options of `sandquic run`, for a sandboxed one.
    pub(crate) fn receiver(self, context: &Context, directory: &Path, host: &[&str]) -> (Command, String) {
        match self.component() {
            Some((component, ciphers)) => {
                let mut command = Command::new(&context.sandquic);
                let mut mapping = directory.as_os_str().to_owned();
                mapping.push("::/bench");
                command
                    .args(["run", "--inherit-network"])
                    .args(host)
                    .arg("--dir-ro")
                    .arg(mapping)
                    .arg(component);
                command.args(ciphers);
                (command, "/bench".into())
            }
            None => {
                let mut command = Command::new(self.native_program(context));
                command.args(match self {
                    Self::NativeHandvec => &["--no-offloads", "--ciphers", "handvec"][..],
                    Self::NativePort => &["--no-offloads"],
                    Self::NativeOpt => &["bench-peer", "sandquic-client"],
                    _ => &["bench-peer", "client"],
                });
                (command, directory.to_string_lossy().into_owned())
            }
        }
    }
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
    fn a_sandboxed_receiver_sees_only_its_files() {
        let context = Context { sandquic: "s".into(), peer: "p".into(), engine: String::new() };
        let (command, directory) = Build::WasmAutovec.receiver(&context, Path::new("/d"), &[]);
        let args: Vec<_> = command.get_args().map(|arg| arg.to_str().unwrap()).collect();
        assert_eq!(
            args,
            [
                "run",
                "--inherit-network",
                "--dir-ro",
                "/d::/bench",
                "@bench-client-simd128",
                "--ciphers",
                "rustcrypto-old"
            ]
        );
        assert_eq!((command.get_program().to_str(), directory.as_str()), (Some("s"), "/bench"));
        let context = Context { peer: "/b/p".into(), ..context };
        for build in [Build::NativeHandvec, Build::NativePort] {
            let (command, _) = build.receiver(&context, Path::new("/d"), &[]);
            let name = Path::new(command.get_program()).file_stem();
            assert_eq!(name.unwrap(), "sandquic-peer-128");
            assert!(build.check(&context).unwrap_err().to_string().contains("cargo xtask build"));
        }
        let context = Context { peer: "p".into(), ..context };
        let (command, directory) = Build::NativeQuinn.receiver(&context, Path::new("/d"), &[]);
        assert_eq!((command.get_program().to_str(), directory.as_str()), (Some("p"), "/d"));
    }
}
