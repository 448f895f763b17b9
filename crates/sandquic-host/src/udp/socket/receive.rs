//! Receiving: from the ring, and into it.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use quinn_udp::UdpSockRef;
use rustix::io::Errno;
use tokio::io::Interest;

use super::{Now, Socket, State};
use crate::udp::ring::Ring;
use crate::udp::run::errno;

/// A datagram and its peer, or why there is none.
pub(in crate::udp) type Received = Result<(Bytes, SocketAddr), Errno>;

impl Socket {
    /// A datagram, if there is one.
    pub(in crate::udp) fn try_receive(&self) -> Now<Received> {
        let mut state = self.lock();
        let mut sent = false;
        let received = loop {
            if let Some(datagram) = state.pop() {
                break Ok(datagram);
            }
            match self.refill(&mut state) {
                Ok(true) => {}
                // Whoever asks for an answer has said what it had to say, and the answer may come while it is sent.
                Ok(false) if !sent => {
                    sent = true;
                    drop(state);
                    if !self.shared.turns.send() {
                        return Now::Wait(());
                    }
                    state = self.lock();
                }
                Ok(false) => return Now::Wait(()),
                Err(error) => break Err(error),
            }
        };
        drop(state);
        self.done(received)
    }

    /// Waits for a datagram.
    pub(in crate::udp) async fn receive(&self) -> Received {
        self.wait(|| match self.try_receive() {
            Now::Done(received) | Now::Pause(received, _) => Some(received),
            Now::Wait(()) => None,
        })
        .await
    }

    /// Whether nothing is left of what the system has handed over.
    pub(in crate::udp) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Waits until there is a datagram or an error to be received.
    pub(in crate::udp) async fn readable(&self) {
        self.wait(|| {
            let mut state = self.lock();
            if !state.is_empty() || state.failed.is_some() {
                return Some(());
            }
            match self.refill(&mut state) {
                Ok(false) => None,
                Ok(true) => Some(()),
                Err(error) => {
                    state.failed = Some(error);
                    Some(())
                }
            }
        })
        .await;
    }

    /// Tries until there is something, whenever something may have come.
    async fn wait<R>(&self, mut attempt: impl FnMut() -> Option<R>) -> R {
        loop {
            let mut readable = pin!(self.io.readable());
            let mut arrived = pin!(async {
                match &self.shared.options.inbox {
                    Some(inbox) => inbox.arrived().await,
                    None => std::future::pending().await,
                }
            });
            // Both are asked before looking, lest something be missed that comes in between.
            let mut ask = |cx: &mut Context<'_>| {
                readable.as_mut().poll(cx).is_ready() | arrived.as_mut().poll(cx).is_ready()
            };
            let woken = poll_fn(|cx| Poll::Ready(ask(cx))).await;
            if let Some(received) = attempt() {
                return received;
            }
            if !woken {
                poll_fn(|cx| if ask(cx) { Poll::Ready(()) } else { Poll::Pending }).await;
            }
        }
    }

    /// Gets more for an empty ring, and says whether there was any.
    fn refill(&self, state: &mut State) -> Result<bool, Errno> {
        if let Some(error) = state.failed.take() {
            return Err(error);
        }
        let Some(port) = state.port else { return Err(Errno::NOTCONN) };
        let shared = &*self.shared;
        if let Some(inbox) = &shared.options.inbox {
            while let Some((datagram, from)) = inbox.pop(port) {
                shared.cells().steered_in.add(1);
                if shared.check_peer(from, false).is_ok() {
                    state.steered = Some((datagram, from));
                    return Ok(true);
                }
                shared.cells().refused.add(1);
            }
        }
        // What the guest has sent may be what is answered, perhaps by itself.
        let _ = self.flush(state, true);
        loop {
            let mut receive = || {
                shared.cells().receive_calls.add(1);
                state.ring.fill(&shared.spare, |slots, metas| {
                    self.offloads.recv(UdpSockRef::from(&self.io), slots, metas)
                })
            };
            let mut asked = false;
            let received = self.io.try_io(Interest::READABLE, || {
                asked = true;
                receive()
            });
            // The runtime may not have heard of what has come meanwhile: to ask costs less than to wait for that.
            match if asked { received } else { receive() } {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    state.ring.rest(&shared.spare);
                    return Ok(false);
                }
                Err(error) => return Err(errno(&error)),
            }
            self.admit(&mut state.ring, port);
            if !state.ring.is_empty() {
                return Ok(true);
            }
        }
    }

    /// Counts a batch, drops what is not permitted, and hands on what is for others.
    fn admit(&self, ring: &mut Ring, port: u16) {
        let shared = &*self.shared;
        let cells = shared.cells();
        ring.retain(|message| {
            let datagrams = message.datagrams() as u64;
            cells.received.add(datagrams);
            if datagrams > 1 {
                cells.gro_batches.add(1);
            }
            let permitted = shared.check_peer(message.from, false).is_ok();
            if !permitted {
                cells.refused.add(datagrams);
            }
            permitted
        });
        if let Some(steer) = &shared.options.steer {
            ring.divert(|datagram, from| {
                let Some(inbox) = steer.elsewhere(datagram, from) else { return false };
                cells.steered_out.add(1);
                if !inbox.push(port, datagram, from) {
                    cells.steered_lost.add(1);
                }
                true
            });
        }
    }
}
