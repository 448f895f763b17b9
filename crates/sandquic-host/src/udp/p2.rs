//! `wasi:sockets/udp` and `wasi:sockets/udp-create-socket` 0.2.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use rustix::io::Errno;
use wasmtime::component::{
    ComponentNamedList, ComponentType, Lift, Linker, LinkerInstance, Lower, Resource, ResourceTable,
    ResourceType, WasmList,
};
use wasmtime::{AsContext, Result, StoreContextMut};
use wasmtime_wasi::p2::bindings::sockets::network::{ErrorCode, IpAddressFamily, IpSocketAddress};
use wasmtime_wasi::p2::{DynPollable, Network, Pollable, subscribe};

use super::Method;
use super::context::UdpView;
use super::socket::{Now, Socket};
use super::system::{Buffer, Family};
use super::turn::Turns;

/// The interfaces that Wasmtime's own implementation has defined, with their version.
const UDP: &str = "wasi:sockets/udp@0.2.12";
const CREATE: &str = "wasi:sockets/udp-create-socket@0.2.12";

/// Datagrams that one call receives or sends, at most.
const MAX_DATAGRAMS: usize = 64;
/// Bytes after which a call receives no more.
const ENOUGH_BYTES: usize = 1 << 17;

/// The resource behind a guest's socket.
struct UdpSocket {
    socket: Arc<Socket>,
    /// Whether `start-bind` waits for its `finish-bind`.
    binding: bool,
}

/// The resource behind a socket's incoming datagrams.
struct Incoming {
    socket: Arc<Socket>,
    /// The only peer, if there is one. The system lets those through that came before it knew.
    remote: Option<SocketAddr>,
}

/// The resource behind a socket's outgoing datagrams.
struct Outgoing {
    socket: Arc<Socket>,
    /// Datagrams that the last `check-send` has permitted.
    permitted: usize,
}

#[derive(ComponentType, Lower)]
#[component(record)]
struct IncomingDatagram {
    data: Bytes,
    #[component(name = "remote-address")]
    remote_address: IpSocketAddress,
}

#[derive(ComponentType, Lift)]
#[component(record)]
struct OutgoingDatagram {
    data: WasmList<u8>,
    #[component(name = "remote-address")]
    remote_address: Option<IpSocketAddress>,
}

type Answer<R> = Result<(std::result::Result<R, ErrorCode>,)>;
type Future<'a, R> = Box<dyn std::future::Future<Output = Answer<R>> + Send + 'a>;

pub(super) fn add_to_linker<T: UdpView>(linker: &mut Linker<T>) -> Result<()> {
    let mut create = linker.instance(CREATE)?;
    create.resource("udp-socket", ResourceType::host::<UdpSocket>(), drop_socket)?;
    create.func_wrap(
        "create-udp-socket",
        |mut store: StoreContextMut<'_, T>, (family,): (IpAddressFamily,)| -> Answer<Resource<UdpSocket>> {
            let view = store.data_mut().udp();
            let family = match family {
                IpAddressFamily::Ipv4 => Family::V4,
                IpAddressFamily::Ipv6 => Family::V6,
            };
            match Socket::new(view.ctx.shared(), family).map_err(wasmtime::Error::msg)? {
                Ok(socket) => Ok((Ok(view.table.push(UdpSocket { socket, binding: false })?),)),
                Err(error) => Ok((Err(error.into()),)),
            }
        },
    )?;
    let mut udp = linker.instance(UDP)?;
    udp.resource("udp-socket", ResourceType::host::<UdpSocket>(), drop_socket)?;
    sockets(&mut udp)?;
    options(&mut udp)?;
    incoming(&mut udp)?;
    outgoing(&mut udp)
}

fn drop_socket<T: UdpView>(mut store: StoreContextMut<'_, T>, rep: u32) -> Result<()> {
    let dropped = store.data_mut().udp().table.delete(Resource::<UdpSocket>::new_own(rep))?;
    dropped.socket.close();
    Ok(())
}

fn table<'a, T: UdpView>(store: &'a mut StoreContextMut<'_, T>) -> &'a mut ResourceTable {
    store.data_mut().udp().table
}

fn answer<R>(result: std::result::Result<R, Errno>) -> Answer<R> {
    Ok((result.map_err(ErrorCode::from),))
}

/// Binding, connecting and addresses.
fn sockets<T: UdpView>(udp: &mut LinkerInstance<'_, T>) -> Result<()> {
    type Handle = Resource<UdpSocket>;
    udp.func_wrap(
        "[method]udp-socket.start-bind",
        |mut store: StoreContextMut<'_, T>,
         (handle, network, addr): (Handle, Resource<Network>, IpSocketAddress)| {
            let table = table(&mut store);
            // It stands for the right to bind, and that the context knows.
            table.get(&network)?;
            let socket = table.get_mut(&handle)?;
            if socket.binding {
                return Ok((Err(ErrorCode::ConcurrencyConflict),));
            }
            let bound = socket.socket.bind(addr.into());
            socket.binding = bound.is_ok();
            answer(bound)
        },
    )?;
    udp.func_wrap(
        "[method]udp-socket.finish-bind",
        |mut store: StoreContextMut<'_, T>, (handle,): (Handle,)| -> Answer<()> {
            let socket = table(&mut store).get_mut(&handle)?;
            let binding = std::mem::take(&mut socket.binding);
            Ok((if binding { Ok(()) } else { Err(ErrorCode::NotInProgress) },))
        },
    )?;
    udp.func_wrap("[method]udp-socket.stream", stream)?;
    define(udp, "local-address", |socket, (_,): (Handle,)| socket.local().map(IpSocketAddress::from))?;
    define(udp, "remote-address", |socket, (_,): (Handle,)| socket.remote().map(IpSocketAddress::from))?;
    udp.func_wrap(
        "[method]udp-socket.address-family",
        |mut store: StoreContextMut<'_, T>, (handle,): (Handle,)| {
            Ok((match table(&mut store).get(&handle)?.socket.family() {
                Family::V4 => IpAddressFamily::Ipv4,
                Family::V6 => IpAddressFamily::Ipv6,
            },))
        },
    )?;
    pollable::<T, UdpSocket>(udp, "udp-socket")
}

type Streams = (Resource<Incoming>, Resource<Outgoing>);

fn stream<T: UdpView>(
    mut store: StoreContextMut<'_, T>,
    (handle, remote): (Resource<UdpSocket>, Option<IpSocketAddress>),
) -> Answer<Streams> {
    let table = table(&mut store);
    if table.iter_children(&handle)?.any(|child| child.is::<Incoming>() || child.is::<Outgoing>()) {
        return Err(wasmtime::Error::msg("the socket's streams of before have not been dropped"));
    }
    let socket = table.get(&handle)?.socket.clone();
    if !socket.is_bound() {
        return Ok((Err(ErrorCode::InvalidState),));
    }
    let changed = match remote {
        Some(addr) => socket.connect(addr.into()),
        None if socket.remote().is_ok() => socket.disconnect(),
        None => Ok(()),
    };
    if let Err(error) = changed {
        return answer(Err(error));
    }
    let remote = socket.remote().ok();
    let incoming = table.push_child(Incoming { socket: socket.clone(), remote }, &handle)?;
    let outgoing = table.push_child(Outgoing { socket, permitted: 0 }, &handle)?;
    Ok((Ok((incoming, outgoing)),))
}

/// Options.
fn options<T: UdpView>(udp: &mut LinkerInstance<'_, T>) -> Result<()> {
    use Buffer::{Receive, Send};
    type Handle = Resource<UdpSocket>;
    define(udp, "unicast-hop-limit", |socket, (_,): (Handle,)| socket.hop_limit())?;
    define(udp, "set-unicast-hop-limit", |socket, (_, value): (Handle, u8)| socket.set_hop_limit(value))?;
    define(udp, "receive-buffer-size", |socket, (_,): (Handle,)| socket.buffer_size(Receive))?;
    define(udp, "set-receive-buffer-size", |socket, (_, bytes): (Handle, u64)| {
        socket.set_buffer_size(Receive, bytes)
    })?;
    define(udp, "send-buffer-size", |socket, (_,): (Handle,)| socket.buffer_size(Send))?;
    define(udp, "set-send-buffer-size", |socket, (_, bytes): (Handle, u64)| {
        socket.set_buffer_size(Send, bytes)
    })
}

/// Receiving.
fn incoming<T: UdpView>(udp: &mut LinkerInstance<'_, T>) -> Result<()> {
    resource::<T, Incoming>(udp, "incoming-datagram-stream")?;
    udp.func_wrap_async("[method]incoming-datagram-stream.receive", |mut store, parameters| {
        let received = receive(table::<T>(&mut store), parameters);
        finish(received)
    })
}

/// What a call gives, and whose turn must end then.
type Attempt<R> = Result<(std::result::Result<R, ErrorCode>, Option<Arc<Turns>>)>;

fn receive(
    table: &mut ResourceTable,
    (handle, max): (Resource<Incoming>, u64),
) -> Attempt<Vec<IncomingDatagram>> {
    let stream = table.get(&handle)?;
    let max = usize::try_from(max).unwrap_or(usize::MAX).min(MAX_DATAGRAMS);
    let (mut datagrams, mut bytes, mut pause) = (Vec::new(), 0, None);
    while datagrams.len() < max && bytes < ENOUGH_BYTES {
        // One batch of the system's a call: what has been received is the guest's first.
        if !datagrams.is_empty() && stream.socket.is_empty() {
            break;
        }
        let received = match stream.socket.try_receive() {
            Now::Done(received) => received,
            Now::Pause(received, turns) => {
                pause = Some(turns);
                received
            }
            Now::Wait(()) => break,
        };
        match received {
            Ok((_, from)) if stream.remote.is_some_and(|remote| remote != from) => {}
            Ok((data, from)) => {
                bytes += data.len() + 1;
                datagrams.push(IncomingDatagram { data, remote_address: from.into() });
            }
            Err(error) if datagrams.is_empty() => return Ok((Err(error.into()), pause)),
            Err(_) => break,
        }
    }
    Ok((Ok(datagrams), pause))
}

/// Sending.
fn outgoing<T: UdpView>(udp: &mut LinkerInstance<'_, T>) -> Result<()> {
    resource::<T, Outgoing>(udp, "outgoing-datagram-stream")?;
    udp.func_wrap(
        "[method]outgoing-datagram-stream.check-send",
        |mut store: StoreContextMut<'_, T>, (handle,): (Resource<Outgoing>,)| -> Answer<u64> {
            let stream = table(&mut store).get_mut(&handle)?;
            stream.permitted = if stream.socket.is_blocked() { 0 } else { MAX_DATAGRAMS };
            Ok((Ok(stream.permitted as u64),))
        },
    )?;
    udp.func_wrap_async("[method]outgoing-datagram-stream.send", |store, parameters| {
        finish(send::<T>(store, parameters))
    })
}

fn send<T: UdpView>(
    mut store: StoreContextMut<'_, T>,
    (handle, datagrams): (Resource<Outgoing>, Vec<OutgoingDatagram>),
) -> Attempt<u64> {
    let stream = table(&mut store).get_mut(&handle)?;
    if datagrams.len() > stream.permitted {
        return Err(wasmtime::Error::msg("more datagrams are sent than `check-send` has permitted"));
    }
    if datagrams.is_empty() {
        return Ok((Ok(0), None));
    }
    stream.permitted = 0;
    let socket = stream.socket.clone();
    let (mut count, mut pause) = (0, None);
    for datagram in datagrams {
        // If some have been sent there is no error: it is the next call's.
        if count > 0 && socket.has_error() {
            break;
        }
        let to = datagram.remote_address.map(SocketAddr::from);
        let sent = match socket.try_send(datagram.data.as_le_slice(store.as_context()), to) {
            Now::Done(sent) => sent,
            Now::Pause(sent, turns) => {
                pause = Some(turns);
                sent
            }
            Now::Wait(()) => break,
        };
        match sent {
            Ok(()) => count += 1,
            Err(error) if count == 0 => return Ok((Err(error.into()), pause)),
            Err(_) => break,
        }
    }
    Ok((Ok(count), pause))
}

/// Hands over what a call gives, now or when everybody else of this thread has had a turn.
fn finish<'a, R: Send + 'a>(attempt: Attempt<R>) -> Future<'a, R> {
    Box::new(async move {
        let (result, pause) = attempt?;
        if let Some(turns) = pause {
            turns.pause().await;
        }
        Ok((result,))
    })
}

/// Defines a resource that can be polled.
fn resource<T: UdpView, R: Pollable + Sync>(udp: &mut LinkerInstance<'_, T>, name: &str) -> Result<()> {
    udp.resource(name, ResourceType::host::<R>(), |mut store, rep| {
        table(&mut store).delete(Resource::<R>::new_own(rep))?;
        Ok(())
    })?;
    pollable::<T, R>(udp, name)
}

fn pollable<T: UdpView, R: Pollable>(udp: &mut LinkerInstance<'_, T>, name: &str) -> Result<()> {
    udp.func_wrap(
        &format!("[method]{name}.subscribe"),
        |mut store: StoreContextMut<'_, T>, (handle,): (Resource<R>,)| -> Result<(Resource<DynPollable>,)> {
            Ok((subscribe(table(&mut store), handle)?,))
        },
    )
}

/// Defines a method of a socket.
fn define<T, P, R>(
    udp: &mut LinkerInstance<'_, T>,
    name: &str,
    method: impl Fn(&Socket, P) -> std::result::Result<R, Errno> + Send + Sync + 'static,
) -> Result<()>
where
    T: UdpView,
    P: Method<UdpSocket> + ComponentNamedList + Lift + 'static,
    R: Lower + 'static,
    (std::result::Result<R, ErrorCode>,): ComponentNamedList + Lower + Send + Sync,
{
    let name = format!("[method]udp-socket.{name}");
    udp.func_wrap(&name, move |mut store: StoreContextMut<'_, T>, parameters: P| {
        let socket = table(&mut store).get(parameters.handle())?.socket.clone();
        answer(method(&socket, parameters))
    })
}

type Ready<'a> = Pin<Box<dyn std::future::Future<Output = ()> + Send + 'a>>;

impl Pollable for UdpSocket {
    // No method of a socket waits.
    fn ready<'a, 'b>(&'a mut self) -> Ready<'b>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(std::future::ready(()))
    }
}

impl Pollable for Incoming {
    fn ready<'a, 'b>(&'a mut self) -> Ready<'b>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(self.socket.readable())
    }
}

impl Pollable for Outgoing {
    fn ready<'a, 'b>(&'a mut self) -> Ready<'b>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async {
            if self.socket.is_blocked() {
                self.socket.drain().await;
            }
        })
    }
}
