//! Bytes that no honest peer sends, as datagrams to endpoints with sandquic's sessions and as packets to the keys of
//! sandquic-rustls: nothing panics, nothing forged is opened, and a stream holds only what its peer wrote.

#![no_main]

#[path = "../../../crates/sandquic/tests/common/mod.rs"]
mod common;
mod initial;
mod pair;

use std::collections::VecDeque;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use initial::Initial;
use libfuzzer_sys::arbitrary::{self, Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;
use pair::{Answer, CLIENT, Peer, SERVER};
use rustls::quic::{Keys, Version};
use rustls::{Side, SupportedCipherSuite};
use sandquic_rustls::cipher_suite;

/// Steps of a case.
const STEPS: usize = 48;
/// Bytes of a datagram.
const LONGEST: usize = 1500;

#[derive(Debug)]
struct Case {
    answer: Answer,
    /// Whether there is an honest client as well.
    client: bool,
    packet: Packet,
    steps: Vec<Step>,
}

/// A packet for the keys: how it is made, and the bit that is changed.
#[derive(Debug)]
struct Packet {
    suite: usize,
    number: u64,
    header: Vec<u8>,
    payload: Vec<u8>,
    bit: usize,
}

#[derive(Debug)]
enum Step {
    /// Any bytes, from the peer's address or another.
    Raw { to_server: bool, stranger: bool, bytes: Vec<u8> },
    /// Any frames in an Initial packet whose protection is right.
    Frames { to_server: bool, stranger: bool, number: u32, token: Vec<u8>, frames: Vec<u8> },
    /// The next datagram in flight, if it begins with an Initial packet, with changes under its protection.
    Reseal { to_server: bool, changes: Vec<(u16, u8)>, cut: Option<u16> },
    /// The next datagram in flight, with something done to it.
    Deliver { to_server: bool, how: How },
    /// The time until the next timer, and this more.
    Wait(u16),
}

#[derive(Debug)]
enum How {
    Whole,
    Twice,
    Later,
    Never,
    Bit(u16),
    Cut(u16),
    More(Vec<u8>),
}

fn some(u: &mut Unstructured<'_>) -> arbitrary::Result<Vec<u8>> {
    let most = if u.ratio(1, 4)? { LONGEST } else { 100 };
    let length = u.int_in_range(0..=most)?.min(u.len());
    Ok(u.bytes(length)?.to_vec())
}

impl<'a> Arbitrary<'a> for Case {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let answers = [Answer::Accept, Answer::Accept, Answer::Retry, Answer::Refuse, Answer::Ignore];
        let (answer, client) = (*u.choose(&answers)?, u.arbitrary()?);
        let (suite, number, bit) = (u.int_in_range(0..=2)?, u.arbitrary()?, u32::arbitrary(u)? as usize);
        let packet = Packet { suite, number, header: some(u)?, payload: some(u)?, bit };
        let mut steps = Vec::new();
        while steps.len() < STEPS && !u.is_empty() {
            steps.push(u.arbitrary()?);
        }
        Ok(Self { answer, client, packet, steps })
    }
}

impl<'a> Arbitrary<'a> for Step {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let to_server = u.arbitrary()?;
        Ok(match u.int_in_range(0..=7)? {
            0 => Self::Raw { to_server, stranger: u.arbitrary()?, bytes: some(u)? },
            1 => {
                let (stranger, number) = (u.arbitrary()?, u.arbitrary()?);
                let token = if u.ratio(1, 4)? { some(u)? } else { Vec::new() };
                Self::Frames { to_server, stranger, number, token, frames: some(u)? }
            }
            2 => {
                let mut changes = Vec::new();
                for _ in 0..u.int_in_range(0..=4)? {
                    changes.push(u.arbitrary()?);
                }
                Self::Reseal { to_server, changes, cut: u.arbitrary()? }
            }
            3 => Self::Wait(u.arbitrary()?),
            _ => Self::Deliver { to_server, how: u.arbitrary()? },
        })
    }
}

impl<'a> Arbitrary<'a> for How {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        Ok(match u.int_in_range(0..=15)? {
            0 => Self::Twice,
            1 => Self::Later,
            2 => Self::Never,
            3 => Self::Bit(u.arbitrary()?),
            4 => Self::Cut(u.arbitrary()?),
            5 => Self::More(some(u)?),
            _ => Self::Whole,
        })
    }
}

fuzz_target!(|case: Case| {
    keys(&case.packet);
    let mut scene = Scene::new(case.answer, case.client);
    for step in &case.steps {
        scene.take(step);
    }
});

/// The keys of a client and a server for each suite.
static KEYS: LazyLock<[(Keys, Keys); 3]> = LazyLock::new(|| {
    let suites = [
        cipher_suite::TLS13_AES_128_GCM_SHA256,
        cipher_suite::TLS13_AES_256_GCM_SHA384,
        cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
    ];
    suites.map(|suite| {
        let SupportedCipherSuite::Tls13(suite) = suite else { unreachable!("a suite of TLS 1.3") };
        let suite = suite.quic_suite().expect("a suite for QUIC");
        let keys = |side| suite.keys(b"any eight", side, Version::V1);
        (keys(Side::Client), keys(Side::Server))
    })
});

/// Opens bytes that nobody sealed, then a sealed packet before and after a change.
fn keys(packet: &Packet) {
    let Packet { number, header, payload, .. } = packet;
    let (client, server) = &KEYS[packet.suite];
    let (seal, open) = (&client.local.packet, &server.remote.packet);
    let mut bytes = payload.clone();
    assert!(open.decrypt_in_place(*number, header, &mut bytes).is_err(), "opened what nobody sealed");

    let mut bytes = payload.clone();
    let tag = seal.encrypt_in_place(*number, header, &mut bytes).expect("short enough");
    bytes.extend_from_slice(tag.as_ref());
    let sealed = bytes.clone();
    assert_eq!(open.decrypt_in_place(*number, header, &mut bytes).expect("its own packet"), payload);

    let mut changed = sealed;
    let bit = packet.bit % (8 * changed.len());
    changed[bit / 8] ^= 1 << (bit % 8);
    assert!(open.decrypt_in_place(*number, header, &mut changed).is_err(), "opened a changed packet");
    let plain = &changed[..payload.len()];
    assert!(plain.iter().all(|&byte| byte == 0), "a packet that was refused left something");
}

struct Scene {
    now: Instant,
    client: Peer,
    server: Peer,
    /// Connection IDs of the honest client's first packet: the one it made up for the server, and its own.
    ids: Option<(Vec<u8>, Vec<u8>)>,
}

impl Scene {
    fn new(answer: Answer, connect: bool) -> Self {
        let now = Instant::now();
        let mut scene = Self { now, client: Peer::client(), server: Peer::server(answer), ids: None };
        if connect {
            scene.client.connect(now);
            let first = scene.client.sent.front().expect("a client begins");
            let to = 6 + usize::from(first[5]);
            let from = to + 1 + usize::from(first[to]);
            scene.ids = Some((first[6..to].to_vec(), first[to + 1..from].to_vec()));
        }
        scene
    }

    fn receive(&mut self, to_server: bool, stranger: bool, datagram: &[u8]) {
        let peer = if to_server { CLIENT } else { SERVER };
        let from = if stranger { ([203, 0, 113, 9], 999) } else { peer };
        let to = if to_server { &mut self.server } else { &mut self.client };
        to.receive(self.now, from.into(), datagram);
    }

    fn in_flight(&mut self, to_server: bool) -> &mut VecDeque<Vec<u8>> {
        if to_server { &mut self.client.sent } else { &mut self.server.sent }
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Raw { to_server, stranger, bytes } => self.receive(*to_server, *stranger, bytes),
            Step::Frames { to_server, stranger, number, token, frames } => {
                let (server, client) = self.ids.clone().unwrap_or((vec![1; 8], vec![2; 8]));
                let side = if *to_server { Side::Client } else { Side::Server };
                let keys = initial::keys(&server, side);
                let (to, from) = if *to_server { (server, client) } else { (client, server) };
                let packet =
                    Initial { to, from, token: token.clone(), number: *number, payload: frames.clone() };
                self.receive(*to_server, *stranger, &packet.seal(&keys));
            }
            Step::Reseal { to_server, changes, cut } => self.reseal(*to_server, changes, *cut),
            Step::Deliver { to_server, how } => self.deliver(*to_server, how),
            Step::Wait(more) => {
                let next = [&mut self.client, &mut self.server].into_iter().filter_map(|p| p.wait(self.now));
                self.now += next.min().unwrap_or_default() + Duration::from_millis(u64::from(*more));
                self.client.timers(self.now);
                self.server.timers(self.now);
            }
        }
    }

    fn reseal(&mut self, to_server: bool, changes: &[(u16, u8)], cut: Option<u16>) {
        let Some(datagram) = self.in_flight(to_server).pop_front() else { return };
        let Some((id, _)) = &self.ids else { return };
        let (sender, receiver) =
            if to_server { (Side::Client, Side::Server) } else { (Side::Server, Side::Client) };
        let Some(mut packet) = Initial::open(&datagram, &initial::keys(id, receiver)) else { return };
        for (at, value) in changes {
            let length = packet.payload.len().max(1);
            if let Some(byte) = packet.payload.get_mut(usize::from(*at) % length) {
                *byte ^= value;
            }
        }
        if let Some(cut) = cut {
            packet.payload.truncate(usize::from(cut));
        }
        let changed = packet.seal(&initial::keys(id, sender));
        self.receive(to_server, false, &changed);
    }

    fn deliver(&mut self, to_server: bool, how: &How) {
        let Some(mut datagram) = self.in_flight(to_server).pop_front() else { return };
        match how {
            How::Whole => {}
            How::Twice => self.receive(to_server, false, &datagram),
            How::Later => return self.in_flight(to_server).push_back(datagram),
            How::Never => return,
            How::Bit(bit) => {
                let bit = usize::from(*bit) % (8 * datagram.len());
                datagram[bit / 8] ^= 1 << (bit % 8);
            }
            How::Cut(length) => datagram.truncate(usize::from(*length)),
            How::More(bytes) => datagram.extend_from_slice(bytes),
        }
        self.receive(to_server, false, &datagram);
    }
}
