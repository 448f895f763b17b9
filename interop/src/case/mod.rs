//! The cases: what happens, over which network, and what must be seen for it to have happened.

mod checks;

use std::time::Duration;

pub(crate) use checks::Evidence;

use crate::files::SMALL;
use crate::job::{Act, Cipher, Protocol};
use crate::network::{Blackhole, Rebinding, Weather};

/// A case. Whatever else it checks, the files that arrived are those that were served, byte for byte.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    /// Its name: that of the QUIC interop runner where it has this case.
    pub(crate) name: &'static str,
    /// What happens and what is checked.
    pub(crate) about: &'static str,
    /// What the client does.
    pub(crate) act: Act,
    pub(crate) protocol: Protocol,
    /// The only suite that the client offers.
    pub(crate) cipher: Option<Cipher>,
    /// Whether the server makes clients prove their address.
    pub(crate) retry: bool,
    /// Whether the server's certificate takes many datagrams.
    pub(crate) large_certificate: bool,
    /// Whether it is over IPv6.
    pub(crate) ipv6: bool,
    /// What is fetched.
    pub(crate) files: Files,
    /// How long a datagram takes, each way.
    pub(crate) delay: Duration,
    /// The share of datagrams that is lost, each way, from 0 to 1.
    pub(crate) loss: f64,
    pub(crate) weather: Weather,
    /// How long it may take.
    pub(crate) patience: Duration,
    /// What must be seen beside the files; says in a few words what was.
    pub(crate) check: fn(&Evidence<'_>) -> Result<String, String>,
}

/// Which files.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Files {
    /// These.
    Named(&'static [&'static str]),
    /// So many of the small ones.
    Small(usize),
}

impl Files {
    /// Their paths.
    pub(crate) fn paths(self) -> Vec<String> {
        match self {
            Self::Named(names) => names.iter().map(|name| (*name).to_owned()).collect(),
            Self::Small(count) => (0..count.min(SMALL)).map(|number| format!("small/{number:04}")).collect(),
        }
    }
}

/// A file of a kilobyte over a network of 5 ms each way.
const PLAIN: Case = Case {
    name: "",
    about: "",
    act: Act::Fetch,
    protocol: Protocol::H3,
    cipher: None,
    retry: false,
    large_certificate: false,
    ipv6: false,
    files: Files::Named(&["1k"]),
    delay: Duration::from_millis(5),
    loss: 0.0,
    weather: Weather { corruption: 0.0, lost_up: None, blackhole: None, rebinding: None },
    patience: Duration::from_secs(40),
    check: checks::handshake,
};

/// Three files of 6 MiB in all over one connection and a network of 15 ms each way.
const LARGE: Case = Case {
    files: Files::Named(&["1m", "2m", "3m"]),
    delay: Duration::from_millis(15),
    patience: Duration::from_secs(60),
    ..PLAIN
};

/// Ten files, each over a connection of its own.
const TEN: Files = Files::Small(10);

/// All cases, in the order of the report.
pub(crate) const CASES: &[Case] = &[
    Case {
        name: "handshake",
        about: "1 KiB; a handshake of version 1 without Retry",
        check: checks::first,
        ..PLAIN
    },
    Case { name: "transfer", about: "1, 2 and 3 MiB at once over one connection, 30 ms round trip", ..LARGE },
    Case {
        name: "longrtt",
        about: "1 KiB at a round trip of 1.5 s, longer than the client waits before it repeats its hello",
        delay: Duration::from_millis(750),
        check: checks::long_way,
        ..PLAIN
    },
    Case {
        name: "aes-128-gcm",
        about: "the client offers this suite alone, and the server's hello names it",
        cipher: Some(Cipher::Aes128),
        files: Files::Named(&["1m"]),
        check: checks::suite,
        ..PLAIN
    },
    Case {
        name: "aes-256-gcm",
        about: "the same",
        cipher: Some(Cipher::Aes256),
        files: Files::Named(&["1m"]),
        check: checks::suite,
        ..PLAIN
    },
    Case {
        name: "chacha20",
        about: "the same, ChaCha20-Poly1305",
        cipher: Some(Cipher::ChaCha20),
        files: Files::Named(&["1m"]),
        check: checks::suite,
        ..PLAIN
    },
    Case {
        name: "multiplexing",
        about: "2,000 files of 32 bytes over one connection",
        files: Files::Small(SMALL),
        delay: Duration::from_millis(15),
        patience: Duration::from_secs(90),
        check: checks::multiplexed,
        ..PLAIN
    },
    Case {
        name: "parallel",
        about: "50 files of 32 bytes at once over one connection",
        files: Files::Small(50),
        check: checks::multiplexed,
        ..PLAIN
    },
    Case {
        name: "retry",
        about: "the server sends Retry, the client comes back with its token",
        retry: true,
        check: checks::retried,
        ..PLAIN
    },
    Case {
        name: "resumption",
        about: "the second of two connections resumes: its ServerHello has the extension pre_shared_key",
        act: Act::Resume,
        files: Files::Named(&["1k", "100k"]),
        check: checks::resumed,
        ..PLAIN
    },
    Case {
        name: "zerortt",
        about: "as before, and the requests of the second are 0-RTT packets that the server's EncryptedExtensions accept",
        act: Act::EarlyData,
        files: Files::Named(&["1k", "100k"]),
        check: checks::early,
        ..PLAIN
    },
    Case {
        name: "http3",
        about: "the page's files over HTTP/3",
        files: Files::Named(&["index.html", "style.css", "script.js", "layers.svg", "100k"]),
        ..PLAIN
    },
    Case {
        name: "http09",
        about: "1 MiB over HTTP/0.9 (hq-interop)",
        protocol: Protocol::Hq,
        files: Files::Named(&["1m", "1k"]),
        ..PLAIN
    },
    Case {
        name: "head",
        about: "HEAD: the length, and no body",
        act: Act::Head,
        files: Files::Named(&["1m"]),
        check: checks::head,
        ..PLAIN
    },
    Case {
        name: "range",
        about: "200,000 bytes out of the middle of 1 MiB",
        act: Act::Range,
        files: Files::Named(&["1m"]),
        check: checks::range,
        ..PLAIN
    },
    Case {
        name: "upload",
        about: "PUT of 1 MiB",
        act: Act::Upload,
        files: Files::Named(&["1m"]),
        check: checks::upload,
        ..PLAIN
    },
    Case {
        name: "blackhole",
        about: "6 MiB, and after the first of them nothing passes for 2 s",
        weather: Weather {
            blackhole: Some(Blackhole { after: 1 << 20, lasts: Duration::from_secs(2) }),
            ..PLAIN.weather
        },
        check: checks::dark,
        ..LARGE
    },
    Case {
        name: "keyupdate",
        about: "the client changes the keys during a transfer, and the server follows: packets of both key phases, each way",
        act: Act::KeyUpdate,
        check: checks::keys_updated,
        ..LARGE
    },
    Case {
        name: "amplificationlimit",
        about: "a certificate of 9 kB, while the client's datagrams 2 to 7 are lost: the server sends at most three times \
                what it got, and less than a datagram, before the client has proven its address",
        large_certificate: true,
        weather: Weather { lost_up: Some((2, 7)), ..PLAIN.weather },
        check: checks::not_amplified,
        ..PLAIN
    },
    Case {
        name: "handshakeloss",
        about: "ten connections, 30 % of the datagrams lost each way",
        act: Act::Each,
        files: TEN,
        loss: 0.3,
        patience: Duration::from_secs(150),
        check: checks::lost,
        ..PLAIN
    },
    Case {
        name: "handshakecorruption",
        about: "ten connections, a byte of 30 % of the datagrams changed each way",
        act: Act::Each,
        files: TEN,
        weather: Weather { corruption: 0.3, ..PLAIN.weather },
        patience: Duration::from_secs(150),
        check: checks::corrupted,
        ..PLAIN
    },
    Case {
        name: "transferloss",
        about: "2 MiB, 5 % of the datagrams lost each way",
        files: Files::Named(&["2m"]),
        loss: 0.05,
        patience: Duration::from_secs(120),
        check: checks::lost,
        ..LARGE
    },
    Case {
        name: "transfercorruption",
        about: "2 MiB, a byte of 2 % of the datagrams changed each way",
        files: Files::Named(&["2m"]),
        weather: Weather { corruption: 0.02, ..PLAIN.weather },
        patience: Duration::from_secs(120),
        check: checks::corrupted,
        ..LARGE
    },
    Case { name: "ipv6", about: "1 MiB over ::1", ipv6: true, files: Files::Named(&["1m"]), ..PLAIN },
    Case {
        name: "rebind-port",
        about: "6 MiB, while the network gives the client another port after each of the first three",
        weather: Weather {
            rebinding: Some(Rebinding { every: 1 << 20, times: 3, address: false }),
            ..PLAIN.weather
        },
        check: checks::rebound,
        ..LARGE
    },
    Case {
        name: "rebind-addr",
        about: "the same with another address, 127.0.0.2 and back",
        weather: Weather {
            rebinding: Some(Rebinding { every: 1 << 20, times: 3, address: true }),
            ..PLAIN.weather
        },
        check: checks::rebound,
        ..LARGE
    },
    Case {
        name: "migration",
        about: "6 MiB, while the client goes on from another port on purpose, with another connection ID",
        act: Act::Migrate,
        check: checks::port_changed,
        ..LARGE
    },
    Case {
        name: "nat-rebinding",
        about: "6 MiB, while the client's own socket changes its port and the client says nothing of it",
        act: Act::Rebind,
        check: checks::port_changed,
        ..LARGE
    },
    Case {
        name: "versionnegotiation",
        about: "the client offers a version first that no server knows, is answered with Version Negotiation and takes 1",
        act: Act::Negotiate,
        check: checks::negotiated,
        ..PLAIN
    },
    Case {
        name: "capture",
        about: "tshark decrypts every packet of 1 MiB over HTTP/3 with the key log, and finds none malformed",
        files: Files::Named(&["1m", "index.html"]),
        check: checks::decoded,
        ..PLAIN
    },
    Case {
        name: "page",
        about: "a page with an image, a style sheet, a script and a fetch() of 1 MiB: all by `h3`, and the bytes' SHA-256",
        act: Act::Page,
        files: Files::Named(&["index.html"]),
        check: checks::page,
        ..PLAIN
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_has_a_name_of_its_own() {
        for (at, case) in CASES.iter().enumerate() {
            assert!(!case.name.is_empty() && !case.about.is_empty());
            assert!(CASES[..at].iter().all(|other| other.name != case.name), "{}", case.name);
        }
    }
}
