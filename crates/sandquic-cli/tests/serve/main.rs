//! `sandquic serve`, in the sandbox and natively: the same tests on both, with real clients over loopback.

#[path = "../support/mod.rs"]
mod support;

mod client;
mod content;
mod load;
mod refused;
mod running;
mod uploads;

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use running::Site;

/// Where the server runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Sandbox,
    Native,
}

pub(crate) const PLACES: [Place; 2] = [Place::Sandbox, Place::Native];

/// Runs a test at both places.
pub(crate) fn at_both(test: impl AsyncFn(Place)) {
    for place in PLACES {
        sandquic::block_on(async {
            let patience = std::pin::pin!(sandquic::sleep(Duration::from_secs(120)));
            let test = std::pin::pin!(test(place));
            if let futures_util::future::Either::Right(_) = futures_util::future::select(test, patience).await
            {
                panic!("{place:?}: not done in time");
            }
        });
    }
}

/// `length` bytes that differ from one place to the next.
pub(crate) fn pattern(length: usize) -> Vec<u8> {
    (0..length as u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

/// A directory with files of all kinds, served with the test certificate.
pub(crate) fn site() -> Site {
    let site = Site::new();
    let root = site.root();
    let write = |name: &str, content: &[u8]| {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    };
    write("index.html", b"<h1>home</h1>");
    write("page.txt", b"0123456789");
    write("big.bin", &pattern(3_000_000));
    write("empty", b"");
    write("sub/a file.css", b"a{}");
    write("sub/<b>.js", b"let a;");
    write("sub/deep/index.html", b"<h1>deep</h1>");
    fs::write(site.outside().join("secret"), b"secret").unwrap();
    link(&site.outside().join("secret"), &root.join("absolute"));
    link(Path::new("../outside/secret"), &root.join("relative"));
    link(Path::new("../outside"), &root.join("directory"));
    link(Path::new("page.txt"), &root.join("inside"));
    let file = fs::File::options().write(true).open(root.join("page.txt")).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000)).unwrap();
    site
}

#[cfg(unix)]
fn link(to: &Path, at: &Path) {
    std::os::unix::fs::symlink(to, at).unwrap();
}

#[cfg(not(unix))]
fn link(_: &Path, _: &Path) {}
