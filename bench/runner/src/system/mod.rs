//! What the runner needs of the operating system: processes with their CPU time, processors to pin them to, socket
//! buffers and the count of dropped datagrams.

mod cpus;
mod drops;
mod process;
mod udp;
mod usage;

pub(crate) use cpus::{CpuList, split_cpus};
pub(crate) use drops::DropWatch;
pub(crate) use process::{CpuTime, Event, Process};
pub(crate) use udp::{Buffers, bind, granted};
pub(crate) use usage::{Usage, guest_memory};
