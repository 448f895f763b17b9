//! What must have been seen for a case to have happened. Each check says in a few words what it saw.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use super::Case;
use crate::files;
use crate::job::{Act, ClientJob, RANGE};
use crate::network::Seen;
use crate::network::wire::Kind;
use crate::process;
use crate::tshark::Capture;

/// What a case has left behind.
pub(crate) struct Evidence<'a> {
    pub(crate) case: &'a Case,
    pub(crate) job: &'a ClientJob<'a>,
    /// What the network saw.
    pub(crate) seen: Seen,
    /// Datagrams that the network lost by its share.
    pub(crate) lost: u64,
    /// Clients' addresses that the network knew.
    pub(crate) addresses: u64,
    /// How long the client took.
    pub(crate) took: Duration,
    pub(crate) capture: Capture,
    /// What client and server said.
    pub(crate) client_said: String,
    pub(crate) server_said: String,
    /// Where a server puts what is uploaded, if it keeps it.
    pub(crate) uploads: PathBuf,
}

type Verdict = Result<String, String>;

impl Evidence<'_> {
    /// Compares the files, for the acts that fetch them.
    pub(crate) fn files(&self) -> Verdict {
        match self.case.act {
            Act::Head | Act::Range | Act::Upload | Act::Page => Ok(String::new()),
            _ => files::compare(&self.job.site.www(), &self.job.fetched(), self.job.paths)
                .map(|bytes| format!("{bytes} bytes in {:.2} s", self.took.as_secs_f64())),
        }
    }

    fn fetched(&self) -> Result<Vec<u8>, String> {
        let file = self.job.fetched().join(&self.job.paths[0]);
        std::fs::read(&file).map_err(|_| format!("{} was not fetched", self.job.paths[0]))
    }

    fn served(&self) -> Result<Vec<u8>, String> {
        let file = self.job.site.www().join(&self.job.paths[0]);
        std::fs::read(&file).map_err(|error| format!("cannot read {}: {error}", file.display()))
    }

    /// Packets of this kind that clients sent, and the server.
    fn packets(&self, kind: Kind) -> (u64, u64) {
        (self.seen.by_clients(kind), self.seen.by_server(kind))
    }
}

fn demand(holds: bool, otherwise: impl Into<String>) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise.into()) }
}

/// What a server may send beyond three times what it had, in bytes: quinn-proto sends a whole datagram wherever a byte is
/// left of its limit (its issue 1082).
const DATAGRAM: u64 = 1_200;

pub(super) fn handshake(e: &Evidence<'_>) -> Verdict {
    demand(e.seen.by_clients(Kind::OneRtt) > 0, "no 1-RTT packet came from the client")?;
    demand(e.seen.by_server(Kind::VersionNegotiation) == 0, "the server did not take version 1")?;
    demand(
        e.seen.excess < DATAGRAM,
        format!(
            "the server sent {:.2} times what it had from an address that was not proven",
            e.seen.amplification
        ),
    )?;
    Ok(match e.seen.first_flight {
        0 | 1 => String::new(),
        flight => format!("a hello of {flight} datagrams"),
    })
}

/// Without Retry, which a server may send by itself when datagrams are lost.
pub(super) fn first(e: &Evidence<'_>) -> Verdict {
    demand(e.seen.by_server(Kind::Retry) == 0, "the server sent Retry without being told to")?;
    handshake(e)
}

pub(super) fn long_way(e: &Evidence<'_>) -> Verdict {
    handshake(e)?;
    let round_trips = e.took.as_secs_f64() / (2.0 * e.case.delay.as_secs_f64());
    demand(
        round_trips >= 2.0,
        format!("{round_trips:.1} round trips are too few for a handshake and a request"),
    )?;
    demand(e.seen.first_flight >= 2, "the hello was not repeated")?;
    Ok(format!("{round_trips:.1} round trips"))
}

/// A client may open another connection when the server grants no more streams at the moment; not before.
pub(super) fn multiplexed(e: &Evidence<'_>) -> Verdict {
    handshake(e)?;
    let files = e.job.paths.len() as u64;
    demand(
        e.addresses > 0 && files / e.addresses >= files.min(500),
        format!("it took {} connections", e.addresses),
    )?;
    Ok(match e.addresses {
        1 => String::new(),
        several => format!("{several} connections"),
    })
}

pub(super) fn suite(e: &Evidence<'_>) -> Verdict {
    handshake(e)?;
    let Some(cipher) = e.case.cipher else { return Err("the case names no suite".to_owned()) };
    let hellos = e.capture.fields("tls.handshake.type == 2", &["tls.handshake.ciphersuite"])?;
    demand(!hellos.is_empty(), "tshark finds no ServerHello")?;
    let wanted = format!("0x{:04x}", cipher.number());
    match hellos.iter().flatten().find(|suite| **suite != wanted) {
        Some(other) => Err(format!("the server's hello names {other} instead of {wanted}")),
        None => Ok(wanted),
    }
}

pub(super) fn retried(e: &Evidence<'_>) -> Verdict {
    let (tokens, retries) = (e.seen.by_clients(Kind::InitialWithToken), e.seen.by_server(Kind::Retry));
    demand(retries > 0, "no Retry came from the server")?;
    demand(tokens > 0, "no Initial packet with a token came from the client")?;
    Ok(format!("{retries} Retry"))
}

pub(super) fn resumed(e: &Evidence<'_>) -> Verdict {
    let hellos = e.capture.fields("tls.handshake.type == 2", &["frame.number"])?.len();
    demand(hellos >= 2, format!("tshark finds {hellos} ServerHello instead of two"))?;
    let resumed = e.capture.count("tls.handshake.type == 2 && tls.handshake.extension.type == 41")?;
    demand(resumed > 0, "no ServerHello takes up a session (pre_shared_key)")?;
    Ok(String::new())
}

pub(super) fn early(e: &Evidence<'_>) -> Verdict {
    resumed(e)?;
    let packets = e.seen.by_clients(Kind::ZeroRtt);
    demand(packets > 0, "the client sent no 0-RTT packet")?;
    let accepted = e.capture.count("tls.handshake.type == 8 && tls.handshake.extension.type == 42")?;
    demand(accepted > 0, "no EncryptedExtensions accept early data")?;
    Ok(format!("{packets} 0-RTT packets"))
}

pub(super) fn head(e: &Evidence<'_>) -> Verdict {
    let length = e.served()?.len();
    // Whatever the client does with a header: it says the length, and there is no body of that length.
    demand(
        e.client_said.contains(&length.to_string()),
        format!("the client says nothing of {length} bytes"),
    )?;
    let body = e.fetched().map(|body| body.len()).unwrap_or(0);
    demand(body < length, "a body came")?;
    demand(e.seen.bytes_down < length as u64 / 2, format!("the server sent {} bytes", e.seen.bytes_down))?;
    Ok(format!("{} bytes on the wire", e.seen.bytes_down))
}

pub(super) fn range(e: &Evidence<'_>) -> Verdict {
    let (served, fetched) = (e.served()?, e.fetched()?);
    demand(
        served.get(RANGE.0..=RANGE.1) == Some(&fetched),
        format!("what came ({} bytes) is not that range", fetched.len()),
    )?;
    Ok(format!("{} bytes", fetched.len()))
}

pub(super) fn upload(e: &Evidence<'_>) -> Verdict {
    let served = e.served()?;
    let length = served.len();
    demand(e.seen.bytes_up >= length as u64, format!("the client sent {} bytes alone", e.seen.bytes_up))?;
    let files: Vec<_> = std::fs::read_dir(&e.uploads).into_iter().flatten().flatten().collect();
    if let Some(file) = files.first() {
        let kept = std::fs::read(file.path()).map_err(|error| format!("cannot read the upload: {error}"))?;
        demand(kept == served, format!("the {} bytes that the server keeps are others", kept.len()))?;
        return Ok(format!("{length} bytes kept"));
    }
    // This server keeps nothing: it answers with the number of bytes that came, or logs it.
    let answered =
        e.fetched().is_ok_and(|answer| String::from_utf8_lossy(&answer).contains(&length.to_string()));
    let told = e.server_said.contains(&length.to_string());
    demand(answered || told, format!("the server does not say that {length} bytes came"))?;
    Ok(format!("{length} bytes"))
}

pub(super) fn dark(e: &Evidence<'_>) -> Verdict {
    handshake(e)?;
    demand(e.seen.dropped > 0, "the transfer was over before the darkness")?;
    demand(e.took >= Duration::from_secs(2), "it took less than the darkness")?;
    Ok(format!("{} datagrams lost in it", e.seen.dropped))
}

pub(super) fn keys_updated(e: &Evidence<'_>) -> Verdict {
    let port = e.capture.port;
    let mut counts = Vec::new();
    for (from, side) in
        [("client", format!("udp.dstport == {port}")), ("server", format!("udp.srcport == {port}"))]
    {
        for phase in [0, 1] {
            let found = e.capture.count(&format!("quic.key_phase == {phase} && {side}"))?;
            demand(found > 0, format!("the {from} sent no packet of key phase {phase}"))?;
            counts.push(found.to_string());
        }
    }
    Ok(format!("packets of phases 0 and 1: {}/{} up, {}/{} down", counts[0], counts[1], counts[2], counts[3]))
}

pub(super) fn not_amplified(e: &Evidence<'_>) -> Verdict {
    handshake(e)?;
    demand(e.seen.dropped > 0, "the client sent too few datagrams for one to be lost")?;
    demand(e.seen.amplification > 2.0, "the server never came near the limit")?;
    Ok(match e.seen.excess {
        0 => format!("{:.2} times at most", e.seen.amplification),
        bytes => format!("three times and {bytes} bytes, less than a datagram"),
    })
}

pub(super) fn lost(e: &Evidence<'_>) -> Verdict {
    handshake(e)?;
    demand(e.lost > 0, "nothing was lost")?;
    Ok(format!("{} datagrams lost", e.lost))
}

pub(super) fn corrupted(e: &Evidence<'_>) -> Verdict {
    demand(e.seen.corrupted > 0, "nothing was changed")?;
    Ok(format!("{} datagrams changed", e.seen.corrupted))
}

pub(super) fn rebound(e: &Evidence<'_>) -> Verdict {
    handshake(e)?;
    let wanted = e.case.weather.rebinding.map_or(0, |rebinding| rebinding.times);
    demand(
        e.seen.rebindings == wanted,
        format!("the client got another port {} times instead of {wanted}", e.seen.rebindings),
    )?;
    demand(e.seen.since_rebinding > 0, "nothing came from the last port")?;
    Ok(format!("{} changes", e.seen.rebindings))
}

pub(super) fn port_changed(e: &Evidence<'_>) -> Verdict {
    handshake(e)?;
    demand(e.addresses >= 2, "the transfer was over before the client changed its port")?;
    Ok(String::new())
}

pub(super) fn negotiated(e: &Evidence<'_>) -> Verdict {
    let (others, _) = e.packets(Kind::OtherVersion);
    demand(others > 0, "the client offered no other version")?;
    demand(e.seen.by_server(Kind::VersionNegotiation) > 0, "no Version Negotiation came from the server")?;
    demand(e.seen.by_clients(Kind::OneRtt) > 0, "no 1-RTT packet of version 1 came from the client")?;
    Ok(String::new())
}

pub(super) fn decoded(e: &Evidence<'_>) -> Verdict {
    handshake(e)?;
    let all = e.capture.count("quic")?;
    let (up, down) = e.packets(Kind::OneRtt);
    demand(all as u64 >= (up + down) / 2, format!("tshark sees {all} datagrams of QUIC alone"))?;
    for (filter, what) in [
        ("_ws.malformed", "malformed"),
        ("quic.decryption_failed", "not decrypted"),
        ("quic && !quic.frame_type", "without a frame"),
    ] {
        let rows = e.capture.fields(filter, &["frame.number", "_ws.col.Info"])?;
        if let Some(row) = rows.first() {
            return Err(format!(
                "{} of {all} datagrams are {what}, the first: {}",
                rows.len(),
                row.join(" ")
            ));
        }
    }
    demand(e.capture.count("http3")? > 0, "tshark finds no HTTP/3")?;
    Ok(format!("{all} datagrams"))
}

pub(super) fn page(e: &Evidence<'_>) -> Verdict {
    handshake(e)?;
    let flight = e.seen.first_flight;
    let said = &e.client_said;
    let result = said.split(r#"id="result""#).nth(1).and_then(|rest| rest.split('>').nth(1));
    let result = result.and_then(|rest| rest.split('<').next()).unwrap_or_default();
    demand(!result.is_empty(), format!("the page's script did not end: {}", process::tail(said, 2)))?;
    demand(!result.contains("\"error\""), format!("the page's script says {result}"))?;
    let protocols: Vec<&str> =
        result.split("\"protocol\":\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    demand(protocols.len() >= 5, format!("{} resources instead of five", protocols.len()))?;
    if let Some(other) = protocols.iter().find(|protocol| **protocol != "h3") {
        return Err(format!("a resource came by `{other}`"));
    }
    let (_, sum) = process::output(Command::new("sha256sum").arg(e.job.site.www().join("1m")))?;
    let sum = sum.split_whitespace().next().unwrap_or_default();
    demand(sum.len() == 64 && result.contains(sum), "the bytes of fetch() are not those of the file")?;
    Ok(format!("{} resources by h3, a hello of {flight} datagrams", protocols.len()))
}
