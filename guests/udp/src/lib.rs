//! Component: sends and receives datagrams as it is told, by the sockets of WASI 0.3 or 0.2.
//!
//! The first argument is the release, `0.3` or `0.2`; each other one is a step, done in order:
//!
//! | step | what it does |
//! | --- | --- |
//! | `bind=ADDR` | makes a socket, prints `bound ADDR` |
//! | `connect=ADDR` | connects it |
//! | `send=ADDR/BYTES/COUNT` | sends datagrams of one size |
//! | `sizes=ADDR/N+N+...` | sends one datagram of each size |
//! | `random=ADDR/SEED/COUNT/MOST` | sends datagrams of 1 to MOST bytes |
//! | `both=ADDR/ADDR/BYTES/COUNT` | sends to two peers in turn |
//! | `fill=ADDR/BYTES` | sends until there is no room, prints `filled COUNT` |
//! | `shout=ADDR/BYTES/MS` | sends without waiting for anything else, prints `shouted COUNT` |
//! | `send-buffer=BYTES` | asks for a size of the socket's send buffer; with 0.3 alone |
//! | `receive=COUNT` | prints `received BYTES NUMBER PORT` for each datagram |
//! | `echo=COUNT` | sends each datagram back |
//! | `pairs=COUNT/BURST/BYTES` | moves COUNT datagrams from one socket to another: BURST are sent, then received |
//! | `flood=MS` | sends to itself and receives without waiting for anything else |
//! | `fair=MS` | the same, until a timer beside it ends it |
//! | `sleep=MS`, `spin=MS` | waits, or does not |
//! | `close` | drops the socket |
//! | `trap` | traps |
//!
//! Every datagram has a number, counted by its sender, in its first four bytes (little-endian), and then a pattern that
//! is checked. An error of a step is printed, `STEP: error CODE`, and is no failure.

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "a command speaks on its standard output")]

#[cfg(target_os = "wasi")]
mod p2;
#[cfg(target_os = "wasi")]
mod p3;
mod pattern;
mod script;

#[cfg(target_os = "wasi")]
use script::Script;

#[cfg(target_os = "wasi")]
struct Command;

#[cfg(target_os = "wasi")]
wasip3::cli::command::export!(Command);

#[cfg(target_os = "wasi")]
impl wasip3::exports::cli::run::Guest for Command {
    async fn run() -> Result<(), ()> {
        let arguments = wasip3::cli::environment::get_arguments();
        let (release, steps) = match arguments.get(1..) {
            Some([release, steps @ ..]) => (release.as_str(), steps),
            _ => ("", &[][..]),
        };
        let done = match release {
            "0.3" => Script::<p3::Socket>::default().run(steps).await,
            "0.2" => Script::<p2::Socket>::default().run(steps).await,
            other => Err(format!("no release {other:?}; the first argument is 0.3 or 0.2")),
        };
        done.map_err(|message| println!("{message}"))
    }
}
