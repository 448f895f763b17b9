//! From an origin to a connection: names, addresses of both families, and attempts that race (RFC 8305).

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::future::{Either, select};
use futures_util::stream::FuturesUnordered;
use rustls::CertificateError;
use sandquic::{
    ClientConfig, Connection, ConnectionError, Endpoint, SocketOptions, TransportConfig, TransportErrorCode,
    VarInt, ZeroRttAccepted,
};

use super::failure::{Failure, reason, status};
use super::target::Origin;
use super::tls::{Refusal, Verifier};

/// How long an attempt has for itself before the next address is tried beside it (RFC 8305, 5).
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);
/// The most addresses that are tried.
const MOST_ADDRESSES: usize = 8;
/// How long a server may say nothing at all.
const IDLE: Duration = Duration::from_secs(30);
/// Flow-control windows of a connection and of each stream in bytes: what a disk that is slow makes this side keep.
const WINDOW: u32 = 16 << 20;

/// The receive buffer of a socket in bytes, as far as the system grants it: what arrives while a disk is written to.
const RECEIVE_BUFFER: usize = 4 << 20;

/// Which addresses may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// IPv4 alone.
    V4,
    /// IPv6 alone.
    V6,
    /// Both.
    Any,
}

impl Family {
    fn has(self, address: &IpAddr) -> bool {
        match self {
            Self::V4 => address.is_ipv4(),
            Self::V6 => address.is_ipv6(),
            Self::Any => true,
        }
    }
}

/// The transport's settings of every connection.
pub(crate) fn transport() -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    transport
        .max_idle_timeout(Some(VarInt::from_u32(IDLE.as_millis() as u32).into()))
        .keep_alive_interval(Some(IDLE / 3))
        .stream_receive_window(VarInt::from_u32(WINDOW))
        .receive_window(VarInt::from_u32(WINDOW))
        .max_concurrent_bidi_streams(VarInt::from_u32(0));
    Arc::new(transport)
}

/// The sockets, one for each family, made when they are needed.
#[derive(Default)]
pub(crate) struct Sockets {
    v4: RefCell<Option<Endpoint>>,
    v6: RefCell<Option<Endpoint>>,
}

impl Sockets {
    fn endpoint(&self, address: SocketAddr) -> std::io::Result<Endpoint> {
        let (place, any): (_, IpAddr) = match address {
            SocketAddr::V4(_) => (&self.v4, Ipv4Addr::UNSPECIFIED.into()),
            SocketAddr::V6(_) => (&self.v6, Ipv6Addr::UNSPECIFIED.into()),
        };
        let mut place = place.borrow_mut();
        match &*place {
            Some(endpoint) => Ok(endpoint.clone()),
            None => {
                let options = SocketOptions::new().recv_buffer(RECEIVE_BUFFER);
                let endpoint = Endpoint::client_with(SocketAddr::new(any, 0), &options)?;
                Ok(place.insert(endpoint).clone())
            }
        }
    }

    /// Lets the servers learn that the connections, which are closed, are; but does not wait for those that are gone.
    pub(crate) async fn farewell(&self) {
        let endpoints: Vec<Endpoint> =
            [&self.v4, &self.v6].into_iter().filter_map(|place| place.borrow().clone()).collect();
        let idle = async {
            for endpoint in &endpoints {
                endpoint.wait_idle().await;
            }
        };
        within(Some(Duration::from_millis(20)), idle).await;
    }
}

/// A connection that has come about.
pub(crate) struct Connected {
    pub(crate) connection: Connection,
    /// Whether the server takes the early data, if the connection is used before its handshake is over.
    pub(crate) early: Option<ZeroRttAccepted>,
    pub(crate) resolved: Instant,
    pub(crate) connected: Instant,
}

/// What a connection is made with.
pub(crate) struct Attempt<'a> {
    pub(crate) sockets: &'a Sockets,
    pub(crate) config: ClientConfig,
    pub(crate) verifier: &'a Verifier,
    pub(crate) server_name: &'a str,
    /// Where the server is to be found.
    pub(crate) place: &'a Origin,
    /// Its addresses, if they need not be asked for.
    pub(crate) fixed: Option<&'a [IpAddr]>,
    pub(crate) family: Family,
    pub(crate) limit: Option<Duration>,
}

impl Attempt<'_> {
    /// Connects to the first address that answers.
    ///
    /// # Errors
    /// With the status that curl has for it.
    pub(crate) async fn connect(&self) -> Result<Connected, Failure> {
        match within(self.limit, self.race()).await {
            Some(outcome) => outcome,
            None => {
                let limit = self.limit.unwrap_or_default().as_secs_f64();
                let message =
                    format!("no connection to {} in {limit} seconds (--connect-timeout)", self.place);
                Err(Failure::new(status::TIMEOUT, message))
            }
        }
    }

    /// Connects to the address of an earlier session, and sends early data if the session allows it.
    pub(crate) fn connect_early(&self, address: SocketAddr) -> Option<Connected> {
        let started = Instant::now();
        let connecting = self.start(address).ok()?;
        let (connection, early) = connecting.into_0rtt().ok()?;
        Some(Connected { connection, early: Some(early), resolved: started, connected: started })
    }

    fn start(&self, address: SocketAddr) -> Result<sandquic::Connecting, Failure> {
        let failed =
            |what: String| Failure::new(status::CONNECT, format!("cannot connect to {address}: {what}"));
        let endpoint = self.sockets.endpoint(address).map_err(|error| failed(reason(&error)))?;
        endpoint
            .connect_with(self.config.clone(), address, self.server_name)
            .map_err(|error| failed(error.to_string()))
    }

    async fn race(&self) -> Result<Connected, Failure> {
        let mut queue = self.addresses().await?;
        let resolved = Instant::now();
        let mut running = FuturesUnordered::new();
        let mut failure = None;
        loop {
            if let Some(address) = queue.pop_front() {
                match self.start(address) {
                    Ok(connecting) => running.push(async move { (address, connecting.await) }),
                    Err(error) => {
                        failure.get_or_insert(error);
                        continue;
                    }
                }
            }
            let delay = (!queue.is_empty()).then_some(ATTEMPT_DELAY);
            match within(delay, running.next()).await {
                None => {}
                Some(Some((_, Ok(connection)))) => {
                    let connected = Instant::now();
                    return Ok(Connected { connection, early: None, resolved, connected });
                }
                Some(Some((address, Err(error)))) => {
                    let error = self.explain(address, error);
                    // A server that is there and is not to be trusted is no reason to look for another.
                    if error.status != status::CONNECT {
                        return Err(error);
                    }
                    failure = Some(error);
                }
                Some(None) => {
                    let nothing =
                        || Failure::new(status::CONNECT, format!("{} has no usable address", self.place));
                    return Err(failure.unwrap_or_else(nothing));
                }
            }
        }
    }

    /// The addresses in the order of the attempts.
    async fn addresses(&self) -> Result<VecDeque<SocketAddr>, Failure> {
        let port = self.place.port;
        let found = match (self.fixed, self.place.host.parse::<IpAddr>()) {
            (Some(fixed), _) => fixed.iter().map(|address| SocketAddr::new(*address, port)).collect(),
            (None, Ok(address)) => vec![SocketAddr::new(address, port)],
            (None, Err(_)) => look_up(self.place.host.clone(), port).await.map_err(|error| {
                Failure::transient(status::RESOLVE, format!("cannot look up {}: {error}", self.place.host))
            })?,
        };
        let none = found.is_empty();
        let addresses = interleaved(found.into_iter().filter(|address| self.family.has(&address.ip())));
        if addresses.is_empty() {
            let kind = match self.family {
                _ if none => "address",
                Family::V4 => "IPv4 address (--ipv4)",
                Family::V6 => "IPv6 address (--ipv6)",
                Family::Any => "address",
            };
            return Err(Failure::new(status::RESOLVE, format!("{} has no {kind}", self.place.host)));
        }
        Ok(addresses)
    }

    /// Why an attempt failed.
    fn explain(&self, address: SocketAddr, error: ConnectionError) -> Failure {
        explain(self.place, address, self.verifier, error)
    }
}

/// Why a connection to a server was not made, or ended.
pub(crate) fn explain(
    place: &Origin,
    address: SocketAddr,
    verifier: &Verifier,
    error: ConnectionError,
) -> Failure {
    let server =
        if place.host.parse::<IpAddr>().is_ok() { place.to_string() } else { format!("{place} ({address})") };
    match verifier.refusal() {
        Some(Refusal::Certificate(error)) => {
            let what = certificate(&error);
            let message = format!(
                "the certificate of {server} cannot be trusted: {what}; name its authority with --ca, or its key with --pin and --insecure"
            );
            return Failure::new(status::CERTIFICATE, message);
        }
        Some(Refusal::Pin(key)) => {
            let message = format!("the key of {server} is {key}, which --pin does not name");
            return Failure::new(status::PIN, message);
        }
        None => {}
    }
    match error {
        ConnectionError::TimedOut => Failure::transient(
            status::CONNECT,
            format!("cannot connect to {server}: no answer in {} seconds", IDLE.as_secs()),
        ),
        ConnectionError::TransportError(error) if is_tls(error.code) => {
            Failure::new(status::TLS, format!("the TLS handshake with {server} failed: {}", error.reason))
        }
        ConnectionError::ConnectionClosed(close) if is_tls(close.error_code) => {
            let alert = u64::from(close.error_code) - u64::from(TransportErrorCode::crypto(0));
            let what = match alert {
                40 => "it shares no cipher or version with this client (handshake_failure)".to_owned(),
                112 => "it has no certificate for this name (unrecognized_name)".to_owned(),
                116 => "it wants a certificate of the client (certificate_required)".to_owned(),
                120 => "it does not speak this protocol (no_application_protocol)".to_owned(),
                alert => format!("alert {alert} {}", String::from_utf8_lossy(&close.reason)),
            };
            Failure::new(status::TLS, format!("{server} refused the TLS handshake: {what}"))
        }
        ConnectionError::ConnectionClosed(close)
            if close.error_code == TransportErrorCode::CONNECTION_REFUSED =>
        {
            let reason = String::from_utf8_lossy(&close.reason);
            Failure::transient(status::CONNECT, format!("{server} refused the connection: {reason}"))
        }
        error => Failure::new(status::QUIC, format!("the connection to {server} failed: {error}")),
    }
}

/// What is wrong with a certificate, in words.
fn certificate(error: &CertificateError) -> String {
    match error {
        CertificateError::UnknownIssuer => "its issuer is not among the authorities".into(),
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "it has expired".into(),
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "it is not valid yet; is this machine's clock right?".into()
        }
        CertificateError::Revoked => "it was revoked".into(),
        CertificateError::NotValidForNameContext { presented, .. } if !presented.is_empty() => {
            format!("it is for {}", presented.join(", "))
        }
        error => error.to_string(),
    }
}

/// Whether a code stands for a TLS alert (RFC 9001, 4.8).
fn is_tls(code: TransportErrorCode) -> bool {
    (u64::from(TransportErrorCode::crypto(0))..=u64::from(TransportErrorCode::crypto(255)))
        .contains(&u64::from(code))
}

/// Addresses of both families in turn, beginning with the family that the system prefers (RFC 8305, 4).
fn interleaved(found: impl Iterator<Item = SocketAddr>) -> VecDeque<SocketAddr> {
    let mut seen: Vec<SocketAddr> = Vec::new();
    for address in found {
        if !seen.contains(&address) {
            seen.push(address);
        }
    }
    let Some(first) = seen.first().map(SocketAddr::is_ipv6) else { return VecDeque::new() };
    let (preferred, others): (Vec<_>, Vec<_>) =
        seen.into_iter().partition(|address| address.is_ipv6() == first);
    let mut others = others.into_iter();
    let mut order = VecDeque::new();
    for address in preferred {
        order.push_back(address);
        order.extend(others.next());
    }
    order.extend(others);
    order.truncate(MOST_ADDRESSES);
    order
}

/// Asks the system for a host's addresses. A thread waits for it, so that time limits hold meanwhile.
#[cfg(not(target_family = "wasm"))]
async fn look_up(host: String, port: u16) -> std::io::Result<Vec<SocketAddr>> {
    use std::sync::{Mutex, PoisonError};
    use std::task::{Poll, Waker};

    type Answer = (Option<std::io::Result<Vec<SocketAddr>>>, Option<Waker>);
    let answer: Arc<Mutex<Answer>> = Arc::default();
    let theirs = answer.clone();
    std::thread::Builder::new().name("look-up".into()).spawn(move || {
        let found = (host.as_str(), port).to_socket_addrs().map(Iterator::collect);
        let mut answer = theirs.lock().unwrap_or_else(PoisonError::into_inner);
        answer.0 = Some(found);
        if let Some(waker) = answer.1.take() {
            waker.wake();
        }
    })?;
    std::future::poll_fn(|cx| {
        let mut answer = answer.lock().unwrap_or_else(PoisonError::into_inner);
        match answer.0.take() {
            Some(found) => Poll::Ready(found),
            None => {
                answer.1 = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    })
    .await
}

/// Asks `wasi:sockets/ip-name-lookup`, through the standard library. A component has one thread, which waits.
#[cfg(target_family = "wasm")]
async fn look_up(host: String, port: u16) -> std::io::Result<Vec<SocketAddr>> {
    Ok((host.as_str(), port).to_socket_addrs()?.collect())
}

/// What a future yields, or `None` if the time is over before.
pub(crate) async fn within<T>(limit: Option<Duration>, future: impl Future<Output = T>) -> Option<T> {
    let Some(limit) = limit else { return Some(future.await) };
    match select(pin!(future), pin!(sandquic::sleep(limit))).await {
        Either::Left((value, _)) => Some(value),
        Either::Right(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_take_turns() {
        let address = |text: &str| text.parse::<SocketAddr>().unwrap();
        let found = ["[::1]:1", "[::2]:1", "[::1]:1", "[::3]:1", "1.1.1.1:1", "1.1.1.2:1"].map(address);
        let order = interleaved(found.into_iter());
        assert_eq!(order, ["[::1]:1", "1.1.1.1:1", "[::2]:1", "1.1.1.2:1", "[::3]:1"].map(address));
        let order = interleaved(["1.1.1.1:1", "[::1]:1", "[::2]:1"].map(address).into_iter());
        assert_eq!(order, ["1.1.1.1:1", "[::1]:1", "[::2]:1"].map(address));
        assert!(interleaved(std::iter::empty()).is_empty());
        assert_eq!(
            interleaved((1..100).map(|port| SocketAddr::new([1, 1, 1, 1].into(), port))).len(),
            MOST_ADDRESSES
        );
    }

    #[test]
    fn alerts_are_told_from_other_errors() {
        assert!(is_tls(TransportErrorCode::crypto(0)) && is_tls(TransportErrorCode::crypto(255)));
        assert!(
            !is_tls(TransportErrorCode::PROTOCOL_VIOLATION)
                && !is_tls(TransportErrorCode::CONNECTION_REFUSED)
        );
    }
}
