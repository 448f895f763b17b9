//! Many instances of one program.

use std::num::NonZeroU16;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use sandquic_host::{
    Allocation, Cache, Error, Host, HostOptions, Instances, Output, Program, RunOptions, Udp,
};

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

/// A core module that traps if it gets an argument, and else ends with status 0.
fn traps_with_an_argument() -> Program {
    let text = r#"(module
        (import "wasi_snapshot_preview1" "args_sizes_get" (func $sizes (param i32 i32) (result i32)))
        (memory (export "memory") 1)
        (func (export "_start")
            (drop (call $sizes (i32.const 0) (i32.const 4)))
            (if (i32.gt_u (i32.load (i32.const 0)) (i32.const 1)) (then unreachable))))"#;
    Program::from_bytes("traps", wat::parse_str(text).unwrap()).unwrap()
}

fn with_argument(given: bool) -> RunOptions {
    RunOptions { args: given.then(|| "now".into()).into_iter().collect(), ..RunOptions::default() }
}

#[test]
fn one_that_traps_ends_alone_and_is_reported() {
    let host = host(Allocation::OnDemand);
    let reports = Mutex::new(Vec::new());
    let mut instances = Instances::new(NonZeroU16::new(3).unwrap());
    instances.restart_after = None;
    let outcomes = host
        .run_instances(
            &traps_with_an_argument(),
            instances,
            |index| with_argument(index == 1),
            |ended| {
                reports.lock().unwrap().push((ended.index, ended.outcome.is_ok(), ended.again));
            },
        )
        .unwrap();
    assert!(matches!(outcomes[..], [Ok(0), Err(Error::Trap { .. }), Ok(0)]), "{outcomes:?}");
    let mut reports = reports.into_inner().unwrap();
    reports.sort_unstable();
    assert_eq!(reports, [(0, true, false), (1, false, false), (2, true, false)]);
}

#[test]
fn one_that_traps_after_a_while_is_made_anew() {
    let host = host(Allocation::Pooled(4));
    let made = [const { AtomicU32::new(0) }; 2];
    let reports = Mutex::new(Vec::new());
    let mut instances = Instances::new(NonZeroU16::new(2).unwrap());
    instances.restart_after = Some(Duration::ZERO);
    let outcomes = host.run_instances(
        &traps_with_an_argument(),
        instances,
        // The second traps twice.
        |index| {
            let before = made[usize::from(index)].fetch_add(1, Ordering::Relaxed);
            with_argument(index == 1 && before < 2)
        },
        |ended| reports.lock().unwrap().push((ended.index, ended.again)),
    );
    assert!(matches!(outcomes.unwrap()[..], [Ok(0), Ok(0)]));
    assert_eq!(made.map(|made| made.load(Ordering::Relaxed)), [1, 3]);
    let mut reports = reports.into_inner().unwrap();
    reports.sort_unstable();
    assert_eq!(reports, [(0, false), (1, false), (1, true), (1, true)]);

    // But not one that traps at its start.
    instances.restart_after = Some(Duration::from_secs(3600));
    let outcomes = host.run_instances(
        &traps_with_an_argument(),
        instances,
        |_| with_argument(true),
        |ended| {
            assert!(!ended.again);
        },
    );
    assert!(outcomes.unwrap().iter().all(|outcome| matches!(outcome, Err(Error::Trap { .. }))));
}

/// A core module that prints its environment.
fn prints_environment() -> Program {
    let text = r#"(module
        (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "environ_sizes_get" (func $sizes (param i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "environ_get" (func $get (param i32 i32) (result i32)))
        (memory (export "memory") 2)
        (func (export "_start")
            (drop (call $sizes (i32.const 0) (i32.const 4)))
            (drop (call $get (i32.const 64) (i32.const 1024)))
            (i32.store (i32.const 8) (i32.const 1024))
            (i32.store (i32.const 12) (i32.load (i32.const 4)))
            (drop (call $write (i32.const 1) (i32.const 8) (i32.const 1) (i32.const 16)))))"#;
    Program::from_bytes("environment", wat::parse_str(text).unwrap()).unwrap()
}

#[test]
fn each_is_told_its_position_and_the_key_of_this_run() {
    let host = host(Allocation::OnDemand);
    let mut keys = Vec::new();
    for _ in 0..2 {
        let outputs = Mutex::new(Vec::new());
        let outcomes = host.run_instances(
            &prints_environment(),
            Instances::new(NonZeroU16::new(2).unwrap()),
            |index| {
                let (stdout, output) = Output::captured(1 << 12);
                outputs.lock().unwrap().push((index, output));
                let env = vec![("SANDQUIC_INSTANCE".into(), "7/9".into()), ("OTHER".into(), "kept".into())];
                RunOptions { stdout, env, ..RunOptions::default() }
            },
            |_| {},
        );
        assert!(matches!(outcomes.unwrap()[..], [Ok(0), Ok(0)]));
        let mut key = None;
        for (index, output) in outputs.into_inner().unwrap() {
            let text = output.text();
            let mut variables: Vec<&str> = text.split_terminator('\0').collect();
            variables.sort_unstable();
            let [other, position, secret] = variables[..] else { panic!("{variables:?}") };
            assert_eq!((other, position), ("OTHER=kept", &*format!("SANDQUIC_INSTANCE={index}/2")));
            let secret = secret.strip_prefix("SANDQUIC_INSTANCE_KEY=").unwrap().to_owned();
            assert_eq!(secret.len(), 64);
            assert_eq!(*key.get_or_insert(secret.clone()), secret, "one key for all");
        }
        keys.extend(key);
    }
    assert_ne!(keys[0], keys[1], "another for every run");
}

#[test]
fn what_cannot_be_run_is_refused() {
    let stock = HostOptions { cache: Cache::Off, udp: Udp::Stock, ..HostOptions::default() };
    let run = |host: &Host, count| {
        let instances = Instances::new(NonZeroU16::new(count).unwrap());
        host.run_instances(&counts(), instances, |_| RunOptions::default(), |_| {}).unwrap_err().to_string()
    };
    let error = run(&Host::new(stock).unwrap(), 2);
    assert!(error.contains("cannot share a port"), "{error}");
    let error = run(&host(Allocation::OnDemand), 257);
    assert!(error.contains("257 instances are too many; run 256 or fewer"), "{error}");
}
