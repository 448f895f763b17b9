//! Which instance a datagram is for.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sandquic_instance::{ConnectionIds, Key};

use crate::udp::{Inbox, Steer, UdpOptions};

/// The instances of one run.
pub(super) struct Group {
    connection_ids: ConnectionIds,
    members: Vec<Member>,
}

struct Member {
    /// What others have received for it.
    inbox: Inbox,
    /// Whether it takes anything now.
    running: AtomicBool,
}

impl Group {
    pub(super) fn new(count: u16, key: Key) -> Self {
        let member = |_| Member { inbox: Inbox::new(), running: AtomicBool::new(false) };
        Self { connection_ids: key.connection_ids(), members: (0..count).map(member).collect() }
    }

    /// Lets the sockets of a member share their ports with the others'.
    pub(super) fn join(group: &Arc<Self>, index: u16, udp: &mut UdpOptions) {
        let index = usize::from(index);
        udp.share_ports = true;
        udp.steer = Some(Arc::new(Steering { group: group.clone(), index }));
        udp.inbox = Some(group.members[index].inbox.clone());
    }

    /// A member takes datagrams from now on.
    pub(super) fn begin(&self, index: u16) {
        self.members[usize::from(index)].running.store(true, Ordering::Relaxed);
    }

    /// A member has ended: who receives something for it keeps it. The guest knows no such connection, and tells the client.
    pub(super) fn end(&self, index: u16) {
        self.members[usize::from(index)].running.store(false, Ordering::Relaxed);
    }
}

/// Looks at what one member's sockets receive.
struct Steering {
    group: Arc<Group>,
    index: usize,
}

impl Steer for Steering {
    fn elsewhere(&self, datagram: &[u8], _: SocketAddr) -> Option<&Inbox> {
        let index = usize::from(self.group.connection_ids.destination(datagram)?);
        if index == self.index {
            return None;
        }
        let member = self.group.members.get(index)?;
        member.running.load(Ordering::Relaxed).then_some(&member.inbox)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_goes_to_the_instance_that_its_destination_names_while_that_runs() {
        let key = Key::new([3; 32]);
        let group = Arc::new(Group::new(3, key));
        (0..3).for_each(|index| group.begin(index));
        let mut options = UdpOptions::default();
        Group::join(&group, 1, &mut options);
        assert!(options.share_ports && options.inbox.is_some());
        let steer = options.steer.unwrap();
        let from = SocketAddr::from(([127, 0, 0, 1], 4433));
        let datagram = |index| {
            let cid = key.connection_ids().encode(index, [1, 2, 3, 4, index]);
            [&[0x40], &cid[..], &[0; 20]].concat()
        };
        let goes_to = |datagram: &[u8]| {
            let inbox = steer.elsewhere(datagram, from)?;
            assert!(inbox.push(4433, datagram, from));
            let held: Vec<_> =
                (0..3).filter(|&index| group.members[index].inbox.pop(4433).is_some()).collect();
            assert_eq!(held.len(), 1);
            held.first().copied()
        };
        assert_eq!(goes_to(&datagram(0)), Some(0));
        assert_eq!(goes_to(&datagram(1)), None, "its own");
        assert_eq!(goes_to(&datagram(2)), Some(2));
        assert_eq!(goes_to(&datagram(3)), None, "there is none such");
        assert_eq!(goes_to(&[0x40; 40]), None, "nobody's");
        assert_eq!(goes_to(b""), None);
        group.end(2);
        assert_eq!(goes_to(&datagram(2)), None, "it has ended");
        group.begin(2);
        assert_eq!(goes_to(&datagram(2)), Some(2));
    }
}
