//! Many instances of one program.

use std::thread;

use sandquic_host::{Allocation, Cache, Error, Host, HostOptions, Output, Program, RunOptions};

fn host(allocation: Allocation) -> Host {
    Host::new(HostOptions { cache: Cache::Off, allocation, ..HostOptions::default() }).unwrap()
}

/// A core module that adds one to its memory's first byte, prints it and ends with it as its status.
fn counts() -> Program {
    let text = r#"(module
        (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
        (memory (export "memory") 1)
        (data (i32.const 0) "\28")
        (func (export "_start")
            (i32.store8 (i32.const 0) (i32.add (i32.load8_u (i32.const 0)) (i32.const 1)))
            (call $exit (i32.load8_u (i32.const 0)))))"#;
    Program::from_bytes("counts", wat::parse_str(text).unwrap()).unwrap()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn instances_of_one_program_share_nothing() {
    for allocation in [Allocation::OnDemand, Allocation::Pooled(2)] {
        let prepared = host(allocation).prepare(&counts()).unwrap();
        // The memory of one that has ended is that of the next, as it was at first.
        for _ in 0..3 {
            thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| {
                        runtime().block_on(async {
                            let instance = prepared.instance(RunOptions::default()).await.unwrap();
                            assert_eq!(instance.run().await.unwrap(), 41);
                        });
                    });
                }
            });
        }
    }
}

#[test]
fn a_full_pool_says_so_and_has_room_again() {
    let prepared = host(Allocation::Pooled(1)).prepare(&counts()).unwrap();
    runtime().block_on(async {
        let mut held = Vec::new();
        let error = loop {
            match prepared.instance(RunOptions { stdout: Output::Discard, ..RunOptions::default() }).await {
                Ok(instance) => held.push(instance),
                Err(error) => break error,
            }
            assert!(held.len() < 100, "the pool has an end");
        };
        assert!(matches!(error, Error::Full { .. }), "{error}");
        assert!(
            error.to_string().starts_with("there is no room for another instance of counts: "),
            "{error}"
        );
        assert_eq!(held.pop().unwrap().run().await.unwrap(), 41);
        assert!(prepared.instance(RunOptions::default()).await.is_ok());
    });
}
