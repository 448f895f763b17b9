//! A program before it is compiled.

use std::path::Path;
use std::sync::Arc;

use crate::Error;

/// The two kinds of WebAssembly binary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A component: the imports of WASI 0.2 or 0.3.
    Component,
    /// A core module: the imports of WASI 0.1 (`wasi_snapshot_preview1`).
    Module,
}

/// A WebAssembly binary with the name by which messages call it. Cloning shares the bytes.
#[derive(Clone, Debug)]
pub struct Program {
    name: String,
    kind: Kind,
    bytes: Arc<[u8]>,
}

impl Program {
    /// Reads a program from a file; its name is the file's, without `.wasm`.
    ///
    /// # Errors
    /// [`Error::Read`], and those of [`Program::from_bytes`].
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|source| Error::Read { path: path.into(), source })?;
        let name = match path.extension() {
            Some(extension) if extension == "wasm" => path.file_stem(),
            _ => path.file_name(),
        };
        let name = name.unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        Self::from_bytes(name, bytes)
    }

    /// Takes a program from memory.
    ///
    /// # Errors
    /// [`Error::NotWasm`] unless the bytes start as a component or a core module does. What follows is read when
    /// the program is compiled.
    pub fn from_bytes(name: impl Into<String>, bytes: impl Into<Arc<[u8]>>) -> Result<Self, Error> {
        let (name, bytes) = (name.into(), bytes.into());
        match kind(&bytes) {
            Ok(kind) => Ok(Self { name, kind, bytes }),
            Err(found) => Err(Error::NotWasm { program: name, found }),
        }
    }

    /// The name by which messages call the program.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Component or core module.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The binary.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Reads the eight bytes of the preamble: magic, version, layer (Component Model, `Binary.md`).
fn kind(bytes: &[u8]) -> Result<Kind, String> {
    if bytes.is_empty() {
        return Err("it is empty".into());
    }
    let Some((preamble, _)) = bytes.split_first_chunk::<8>() else {
        return Err(format!("it is only {} bytes long", bytes.len()));
    };
    if preamble[..4] != *b"\0asm" {
        let text = std::str::from_utf8(&bytes[..bytes.len().min(64)]).unwrap_or_default();
        let text = text.trim_start();
        return Err(if text.starts_with("(module") || text.starts_with("(component") {
            "it is WebAssembly text, which has to be assembled first".into()
        } else {
            "it does not start with the bytes 00 61 73 6d".into()
        });
    }
    match [preamble[4], preamble[5], preamble[6], preamble[7]] {
        [1, 0, 0, 0] => Ok(Kind::Module),
        [0x0d, 0, 1, 0] => Ok(Kind::Component),
        [version, _, layer, _] => {
            Err(format!("its preamble names version {version} of layer {layer}, which is unknown"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preamble_tells_the_kind() {
        assert_eq!(kind(b"\0asm\x01\0\0\0"), Ok(Kind::Module));
        assert_eq!(kind(b"\0asm\x0d\0\x01\0..."), Ok(Kind::Component));
    }

    #[test]
    fn what_is_no_binary_is_refused_with_what_it_is() {
        for (bytes, found) in [
            (&b""[..], "empty"),
            (b"\0asm", "only 4 bytes"),
            (b"  (module (func))", "WebAssembly text"),
            (b"(component)", "WebAssembly text"),
            (b"\x7fELF\x02\x01\x01\0", "does not start with"),
            (b"\0asm\x02\0\0\0", "version 2 of layer 0"),
        ] {
            let error = kind(bytes).unwrap_err();
            assert!(error.contains(found), "{bytes:?} gave {error}");
        }
    }
}
