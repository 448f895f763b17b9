//! The page of the documentation.

use std::fmt::Write;

use crate::case::CASES;
use crate::matrix::Matrix;

const INTRODUCTION: &str = "\
# Interoperability
What `sandquic serve` and `sandquic get` do with clients and servers of others, written by `cargo xtask interop`. Every
case runs on loopback through a relay that delays, loses, changes and blocks datagrams and gives clients other ports and
addresses. A case has passed when the files that arrived are those that were served, byte for byte, and what the case is
about was seen: in packet headers by the relay, or by tshark in the relay's capture with the key logs of both ends. Ours is
in the sandbox unless a column says `natively`. Most cases are those of the QUIC interop runner, by their names there.

`cargo xtask interop --peer ngtcp2 --case retry,zerortt` runs some of them; `--instead quinn` puts stock quinn in our
place, which tells whether the others pass a case among themselves.
";

/// The whole page.
pub(crate) fn page(versions: &[(&'static str, &'static str, String)], matrix: &Matrix) -> String {
    let mut text = INTRODUCTION.to_owned();
    text.push_str("\n| program | version of this run | what it is |\n| --- | --- | --- |\n");
    for (name, about, version) in versions {
        let _ = writeln!(text, "| {name} | {version} | {about} |");
    }
    text.push_str(&matrix.markdown());
    text.push_str("\n## The cases\n| case | what happens, and what must be seen |\n| --- | --- |\n");
    for case in CASES {
        let _ = writeln!(text, "| {} | {} |", case.name, case.about);
    }
    let (passed, failed, refused) = matrix.counts();
    let _ = writeln!(text, "\n{passed} passed, {failed} failed, {refused} not supported by the peer.");
    text
}
