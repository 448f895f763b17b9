//! `udp-socket` of `wasi:sockets/types` 0.3.

use std::future::ready;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use rustix::io::Errno;
use wasmtime::component::{
    Accessor, ComponentNamedList, Lift, Linker, LinkerInstance, Lower, Resource, ResourceTable, ResourceType,
    WasmList,
};
use wasmtime::{AsContext, Result, StoreContextMut};
use wasmtime_wasi::p3::bindings::sockets::types::{ErrorCode, IpAddressFamily, IpSocketAddress};

use super::Method;
use super::context::UdpView;
use super::socket::{Now, Received, Socket};
use super::system::{Buffer, Family};
use super::turn::Turns;

/// The interface that Wasmtime's own implementation has defined, with its version.
const INTERFACE: &str = "wasi:sockets/types@0.3.0";

/// The resource behind a guest's handle.
struct UdpSocket(Arc<Socket>);

type Handle = Resource<UdpSocket>;
type Pending<'a, R> = Pin<Box<dyn Future<Output = Answer<R>> + Send + 'a>>;

/// What a function of a socket gives: a result for the guest.
type Answer<R> = Result<(std::result::Result<R, ErrorCode>,)>;

pub(super) fn add_to_linker<T: UdpView>(linker: &mut Linker<T>) -> Result<()> {
    let mut types = linker.instance(INTERFACE)?;
    types.resource("udp-socket", ResourceType::host::<UdpSocket>(), |mut store, rep| {
        let socket = store.data_mut().udp().table.delete(Handle::new_own(rep))?;
        socket.0.close();
        Ok(())
    })?;
    types.func_wrap(
        "[static]udp-socket.create",
        |mut store: StoreContextMut<'_, T>, (family,): (IpAddressFamily,)| -> Answer<Handle> {
            let view = store.data_mut().udp();
            let family = match family {
                IpAddressFamily::Ipv4 => Family::V4,
                IpAddressFamily::Ipv6 => Family::V6,
            };
            match Socket::new(view.ctx.shared(), family).map_err(wasmtime::Error::msg)? {
                Ok(socket) => Ok((Ok(view.table.push(UdpSocket(socket))?),)),
                Err(error) => Ok((Err(error.into()),)),
            }
        },
    )?;
    types.func_wrap_concurrent("[method]udp-socket.send", send)?;
    types.func_wrap_concurrent("[method]udp-socket.receive", receive)?;
    addresses(&mut types)?;
    options(&mut types)
}

fn socket<'a>(table: &'a ResourceTable, handle: &Handle) -> Result<&'a Arc<Socket>> {
    Ok(&table.get(handle)?.0)
}

fn send<T: UdpView>(
    accessor: &Accessor<T>,
    (handle, data, to): (Handle, WasmList<u8>, Option<IpSocketAddress>),
) -> Pending<'_, ()> {
    let to = to.map(SocketAddr::from);
    let attempt = accessor.with(|mut access| -> Result<_> {
        let socket = socket(access.data_mut().udp().table, &handle)?.clone();
        // The one copy: out of the guest's memory, into the run. While the call waits, the guest may change its memory.
        let data = data.as_le_slice(access.as_context());
        Ok(socket.try_send(data, to).or_wait(|| (socket.clone(), data.to_vec())))
    });
    match attempt {
        Ok(Now::Done(sent)) => Box::pin(ready(answer(sent))),
        Ok(Now::Pause(sent, turns)) => Box::pin(pause(answer(sent), turns)),
        Ok(Now::Wait((socket, data))) => Box::pin(async move { answer(socket.send(&data, to).await) }),
        Err(error) => Box::pin(ready(Err(error))),
    }
}

fn receive<T: UdpView>(
    accessor: &Accessor<T>,
    (handle,): (Handle,),
) -> Pending<'_, (Bytes, IpSocketAddress)> {
    let attempt = accessor.with(|mut access| -> Result<_> {
        let socket = socket(access.data_mut().udp().table, &handle)?;
        Ok(socket.try_receive().or_wait(|| socket.clone()))
    });
    let answer = |received: Received| answer(received.map(|(datagram, from)| (datagram, from.into())));
    match attempt {
        Ok(Now::Done(received)) => Box::pin(ready(answer(received))),
        Ok(Now::Pause(received, turns)) => Box::pin(pause(answer(received), turns)),
        Ok(Now::Wait(socket)) => Box::pin(async move { answer(socket.receive().await) }),
        Err(error) => Box::pin(ready(Err(error))),
    }
}

/// Hands an answer over when everybody else of this thread has had a turn.
async fn pause<R>(answer: Answer<R>, turns: Arc<Turns>) -> Answer<R> {
    turns.pause().await;
    answer
}

fn answer<R>(result: std::result::Result<R, Errno>) -> Answer<R> {
    Ok((result.map_err(ErrorCode::from),))
}

/// Functions about addresses.
fn addresses<T: UdpView>(types: &mut LinkerInstance<'_, T>) -> Result<()> {
    define(types, "bind", |socket, (_, addr): (Handle, IpSocketAddress)| socket.bind(addr.into()))?;
    define(types, "connect", |socket, (_, addr): (Handle, IpSocketAddress)| socket.connect(addr.into()))?;
    define(types, "disconnect", |socket, (_,): (Handle,)| socket.disconnect())?;
    define(types, "get-local-address", |socket, (_,): (Handle,)| socket.local().map(IpSocketAddress::from))?;
    define(types, "get-remote-address", |socket, (_,): (Handle,)| {
        socket.remote().map(IpSocketAddress::from)
    })?;
    types.func_wrap(
        "[method]udp-socket.get-address-family",
        |mut store: StoreContextMut<'_, T>, (handle,): (Handle,)| {
            Ok((match socket(store.data_mut().udp().table, &handle)?.family() {
                Family::V4 => IpAddressFamily::Ipv4,
                Family::V6 => IpAddressFamily::Ipv6,
            },))
        },
    )
}

/// Functions about options.
fn options<T: UdpView>(types: &mut LinkerInstance<'_, T>) -> Result<()> {
    use Buffer::{Receive, Send};
    define(types, "get-unicast-hop-limit", |socket, (_,): (Handle,)| socket.hop_limit())?;
    define(types, "set-unicast-hop-limit", |socket, (_, value): (Handle, u8)| socket.set_hop_limit(value))?;
    define(types, "get-receive-buffer-size", |socket, (_,): (Handle,)| socket.buffer_size(Receive))?;
    define(types, "set-receive-buffer-size", |socket, (_, bytes): (Handle, u64)| {
        socket.set_buffer_size(Receive, bytes)
    })?;
    define(types, "get-send-buffer-size", |socket, (_,): (Handle,)| socket.buffer_size(Send))?;
    define(types, "set-send-buffer-size", |socket, (_, bytes): (Handle, u64)| {
        socket.set_buffer_size(Send, bytes)
    })
}

/// Defines a method that never waits.
fn define<T, P, R>(
    types: &mut LinkerInstance<'_, T>,
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
    types.func_wrap(&name, move |mut store: StoreContextMut<'_, T>, parameters: P| {
        let socket = socket(store.data_mut().udp().table, parameters.handle())?.clone();
        answer(method(&socket, parameters))
    })
}
