//! What is served and fetched: files in folders of a run, and the certificates.

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose, SanType};

/// How many small files there are.
pub(crate) const SMALL: usize = 2_000;

/// The folders of a run.
#[derive(Debug, Clone)]
pub(crate) struct Site {
    root: PathBuf,
}

impl Site {
    /// Makes certificates and files under `root`.
    pub(crate) fn make(root: &Path) -> Result<Self, String> {
        let site = Self { root: root.to_owned() };
        site.fill().map_err(|error| format!("cannot make the files under {}: {error}", root.display()))?;
        certificates(root)?;
        Ok(site)
    }

    /// The folder that is served.
    pub(crate) fn www(&self) -> PathBuf {
        self.root.join("www")
    }

    /// Certificate of the issuer (PEM).
    pub(crate) fn ca(&self) -> PathBuf {
        self.root.join("ca.pem")
    }

    /// The server's certificate (PEM); `large`: one that a client has to be proven for (RFC 9000 section 8.1).
    pub(crate) fn certificate(&self, large: bool) -> PathBuf {
        self.root.join(if large { "large.pem" } else { "server.pem" })
    }

    /// The server's private key (PEM).
    pub(crate) fn key(&self) -> PathBuf {
        self.root.join("server.key")
    }

    fn fill(&self) -> std::io::Result<()> {
        let www = self.www();
        fs::create_dir_all(www.join("small"))?;
        for (name, size) in
            [("1k", 1 << 10), ("100k", 100 << 10), ("1m", 1 << 20), ("2m", 2 << 20), ("3m", 3 << 20)]
        {
            fs::write(www.join(name), noise(size as u64, size))?;
        }
        for number in 0..SMALL {
            fs::write(www.join("small").join(format!("{number:04}")), noise(number as u64 + 1, 32))?;
        }
        for (name, content) in PAGE {
            fs::write(www.join(name), content)?;
        }
        Ok(())
    }
}

/// The page for the browser.
const PAGE: [(&str, &[u8]); 5] = [
    ("index.html", include_bytes!("../page/index.html")),
    ("style.css", include_bytes!("../page/style.css")),
    ("script.js", include_bytes!("../page/script.js")),
    ("layers.svg", include_bytes!("../page/layers.svg")),
    ("favicon.svg", include_bytes!("../page/favicon.svg")),
];

/// Bytes without visible order: the high bytes of SplitMix64 (Steele, Lea and Flood 2014).
fn noise(seed: u64, size: usize) -> Vec<u8> {
    let mut state = seed;
    let mut bytes = Vec::with_capacity(size + 8);
    while bytes.len() < size {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bytes.extend((z ^ (z >> 31)).to_le_bytes());
    }
    bytes.truncate(size);
    bytes
}

/// An issuer, a certificate of it for loopback (ECDSA over P-256), and one with so many names that it takes several
/// datagrams more than three.
fn certificates(root: &Path) -> Result<(), String> {
    let make = || -> Result<[(&'static str, String); 4], rcgen::Error> {
        let mut ca = CertificateParams::default();
        ca.distinguished_name.push(DnType::CommonName, "sandquic interop issuer");
        ca.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        ca.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let ca_key = KeyPair::generate()?;
        let ca_certificate = ca.self_signed(&ca_key)?;
        let issuer = Issuer::from_params(&ca, &ca_key);
        let key = KeyPair::generate()?;
        let server = |more: usize| -> Result<String, rcgen::Error> {
            let names = (0..more).map(|n| format!("a-name-that-nobody-asks-for-{n:03}.example"));
            let mut params = CertificateParams::new(
                std::iter::once("localhost".to_owned()).chain(names).collect::<Vec<_>>(),
            )?;
            for address in ["127.0.0.1", "::1"] {
                params.subject_alt_names.extend(address.parse().ok().map(SanType::IpAddress));
            }
            params.distinguished_name.push(DnType::CommonName, "localhost");
            params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
            params.use_authority_key_identifier_extension = true;
            Ok(params.signed_by(&key, &issuer)?.pem())
        };
        Ok([
            ("ca.pem", ca_certificate.pem()),
            ("server.pem", server(0)?),
            ("large.pem", server(200)?),
            ("server.key", key.serialize_pem()),
        ])
    };
    for (name, pem) in make().map_err(|error| format!("cannot make the certificates: {error}"))? {
        let path = root.join(name);
        fs::write(&path, pem).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    Ok(())
}

/// Compares fetched files with what was served, byte by byte; how many bytes they have.
pub(crate) fn compare(www: &Path, fetched: &Path, paths: &[String]) -> Result<u64, String> {
    let mut bytes = 0;
    for path in paths {
        let name = path.rsplit('/').next().unwrap_or(path);
        let served = fs::read(www.join(path)).map_err(|error| format!("cannot read {path}: {error}"))?;
        let got = fs::read(fetched.join(name)).map_err(|_| format!("{path} was not fetched"))?;
        if got != served {
            let at = got.iter().zip(&served).take_while(|(a, b)| a == b).count();
            return Err(format!(
                "{path} differs from byte {at}: {} bytes instead of {}",
                got.len(),
                served.len()
            ));
        }
        bytes += served.len() as u64;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_that_differs_is_found_and_a_file_that_lacks() {
        let dir = tempfile::tempdir().unwrap();
        let (www, fetched) = (dir.path().join("www"), dir.path().join("fetched"));
        fs::create_dir_all(www.join("small")).unwrap();
        fs::create_dir_all(&fetched).unwrap();
        fs::write(www.join("small/a"), noise(1, 100)).unwrap();
        let paths = ["small/a".to_owned()];
        assert!(compare(&www, &fetched, &paths).unwrap_err().contains("was not fetched"));
        fs::write(fetched.join("a"), noise(1, 100)).unwrap();
        assert_eq!(compare(&www, &fetched, &paths), Ok(100));
        let mut other = noise(1, 100);
        other[57] ^= 1;
        fs::write(fetched.join("a"), other).unwrap();
        assert!(compare(&www, &fetched, &paths).unwrap_err().contains("from byte 57"));
        fs::write(fetched.join("a"), noise(1, 99)).unwrap();
        assert!(compare(&www, &fetched, &paths).unwrap_err().contains("99 bytes instead of 100"));
    }

    #[test]
    fn the_large_certificate_takes_more_than_three_datagrams() {
        let dir = tempfile::tempdir().unwrap();
        certificates(dir.path()).unwrap();
        let size = |name: &str| fs::metadata(dir.path().join(name)).unwrap().len() / 4 * 3;
        assert!(size("large.pem") > 3 * 1_500 && size("server.pem") < 1_000);
    }
}
