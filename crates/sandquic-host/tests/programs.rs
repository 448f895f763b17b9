//! The host with small programs: what they are granted, how they end, and what is said when they cannot run.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use sandquic_host::{
    Cache, Captured, DEFAULT_MAX_MEMORY, Error, Host, HostOptions, Input, Kind, Network, Output, Preopen,
    Profile, Program, RunOptions, State,
    wasmtime::{Error as Failure, StoreContextMut},
};

fn host() -> Host {
    Host::new(HostOptions { cache: Cache::Off, ..HostOptions::default() }).expect("the engine works here")
}

fn program(name: &str, text: &str) -> Program {
    Program::from_bytes(name, wat::parse_str(text).expect("the test's own program assembles")).unwrap()
}

fn captured(options: RunOptions) -> (RunOptions, Captured) {
    let (stdout, output) = Output::captured(1 << 16);
    (RunOptions { stdout, ..options }, output)
}

/// A core module with WASI 0.1's functions at hand and `body` as its `_start`.
fn module(body: &str) -> String {
    format!(
        r#"(module
            (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
            (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
            (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
            (import "wasi_snapshot_preview1" "args_sizes_get" (func $args_sizes_get (param i32 i32) (result i32)))
            (import "wasi_snapshot_preview1" "args_get" (func $args_get (param i32 i32) (result i32)))
            (import "wasi_snapshot_preview1" "environ_sizes_get"
                (func $environ_sizes_get (param i32 i32) (result i32)))
            (import "wasi_snapshot_preview1" "environ_get" (func $environ_get (param i32 i32) (result i32)))
            (import "wasi_snapshot_preview1" "path_open"
                (func $path_open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
            (memory (export "memory") 2)
            ;; The iovec is at 0, counts at 8 and 12, names from 64 on, data from 1024 on.
            (data (i32.const 64) "in.txt")
            (data (i32.const 80) "out.txt")
            (data (i32.const 1024) "hello\n")
            (func $write (param $fd i32) (param $at i32) (param $size i32) (result i32)
                (i32.store (i32.const 0) (local.get $at))
                (i32.store (i32.const 4) (local.get $size))
                (call $fd_write (local.get $fd) (i32.const 0) (i32.const 1) (i32.const 8)))
            (func (export "_start") {body}))"#
    )
}

/// A component that exports `wasi:cli/run` of a release, whose `run` is a core function's body.
fn component(release: &str, asynchronous: &str, body: &str) -> String {
    format!(
        r#"(component
            (core module $m (func (export "run") (result i32) {body}))
            (core instance $i (instantiate $m))
            (func $run {asynchronous} (result (result)) (canon lift (core func $i "run")))
            (instance $run-interface (export "run" (func $run)))
            (export "wasi:cli/run@{release}" (instance $run-interface)))"#
    )
}

#[test]
fn a_core_module_writes_to_standard_output() {
    let hello =
        program("hello", &module("(drop (call $write (i32.const 1) (i32.const 1024) (i32.const 6)))"));
    assert_eq!(hello.kind(), Kind::Module);
    let (options, output) = captured(RunOptions::default());
    assert_eq!(host().run(&hello, options).unwrap(), 0);
    assert_eq!(output.text(), "hello\n");
}

#[test]
fn arguments_start_with_the_programs_name() {
    let body = "
        (drop (call $args_sizes_get (i32.const 8) (i32.const 12)))
        (drop (call $args_get (i32.const 2048) (i32.const 4096)))
        (drop (call $write (i32.const 1) (i32.const 4096) (i32.load (i32.const 12))))";
    let (options, output) =
        captured(RunOptions { args: vec!["one".into(), "--two".into()], ..RunOptions::default() });
    assert_eq!(host().run(&program("args", &module(body)), options).unwrap(), 0);
    assert_eq!(output.text(), "args\0one\0--two\0");
}

#[test]
fn the_environment_is_what_was_given_and_nothing_else() {
    let body = "
        (drop (call $environ_sizes_get (i32.const 8) (i32.const 12)))
        (drop (call $environ_get (i32.const 2048) (i32.const 4096)))
        (drop (call $write (i32.const 1) (i32.const 4096) (i32.load (i32.const 12))))";
    let program = program("environ", &module(body));
    for env in [vec![], vec![("KEY".to_string(), "value".to_string())]] {
        let expected: String = env.iter().map(|(key, value)| format!("{key}={value}\0")).collect();
        let (options, output) = captured(RunOptions { env, ..RunOptions::default() });
        assert_eq!(host().run(&program, options).unwrap(), 0);
        assert_eq!(output.text(), expected);
    }
}

#[test]
fn standard_input_can_be_bytes() {
    let body = "
        (i32.store (i32.const 0) (i32.const 1024))
        (i32.store (i32.const 4) (i32.const 512))
        (drop (call $fd_read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
        (drop (call $write (i32.const 1) (i32.const 1024) (i32.load (i32.const 8))))";
    let (options, output) =
        captured(RunOptions { stdin: Input::Bytes(b"from outside".to_vec()), ..RunOptions::default() });
    assert_eq!(host().run(&program("cat", &module(body)), options).unwrap(), 0);
    assert_eq!(output.text(), "from outside");
}

/// Opens `in.txt` below the first directory and copies up to 512 bytes of it to standard output; the status is the
/// error number if that fails. 2 is the right to read (`fd_read`), 64 the right to write.
const COPY_FILE: &str = "
    (local $error i32)
    (local.set $error (call $path_open (i32.const 3) (i32.const 0) (i32.const 64) (i32.const 6) (i32.const 0)
        (i64.const 2) (i64.const 0) (i32.const 0) (i32.const 16)))
    (if (local.get $error) (then (call $proc_exit (local.get $error))))
    (i32.store (i32.const 0) (i32.const 1024))
    (i32.store (i32.const 4) (i32.const 512))
    (drop (call $fd_read (i32.load (i32.const 16)) (i32.const 0) (i32.const 1) (i32.const 8)))
    (drop (call $write (i32.const 1) (i32.const 1024) (i32.load (i32.const 8))))";

/// Makes `out.txt` below the first directory with five bytes in it; the status is the error number if that fails.
const MAKE_FILE: &str = "
    (local $error i32)
    (local.set $error (call $path_open (i32.const 3) (i32.const 0) (i32.const 80) (i32.const 7) (i32.const 1)
        (i64.const 64) (i64.const 0) (i32.const 0) (i32.const 16)))
    (if (local.get $error) (then (call $proc_exit (local.get $error))))
    (call $proc_exit (call $write (i32.load (i32.const 16)) (i32.const 1024) (i32.const 5)))";

#[test]
fn directories_are_open_only_where_granted() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("in.txt"), "content").unwrap();
    let preopen =
        |writable| Preopen { host: directory.path().to_path_buf(), guest: "/data".into(), writable };
    let (read, make) = (program("read", &module(COPY_FILE)), program("make", &module(MAKE_FILE)));

    let (options, output) = captured(RunOptions { preopens: vec![preopen(false)], ..RunOptions::default() });
    assert_eq!(host().run(&read, options).unwrap(), 0);
    assert_eq!(output.text(), "content");

    let (options, _) = captured(RunOptions::default());
    assert_ne!(host().run(&read, options).unwrap(), 0, "no directory was granted");

    let options = RunOptions { preopens: vec![preopen(false)], ..RunOptions::default() };
    assert_ne!(host().run(&make, options).unwrap(), 0, "the directory is for reading");
    assert!(!directory.path().join("out.txt").exists());

    let options = RunOptions { preopens: vec![preopen(true)], ..RunOptions::default() };
    assert_eq!(host().run(&make, options).unwrap(), 0);
    assert_eq!(fs::read(directory.path().join("out.txt")).unwrap(), b"hello");
}

#[test]
fn exit_statuses_come_through() {
    // Wasmtime takes 0 to 125 from a core module; a component of WASI 0.3 has 0 to 255.
    for status in [0, 1, 7, 125] {
        let program = program("exit", &module(&format!("(call $proc_exit (i32.const {status}))")));
        assert_eq!(host().run(&program, RunOptions::default()).unwrap(), status);
    }
}

#[test]
fn commands_of_both_component_releases_run() {
    for (release, asynchronous) in [("0.2.0", ""), ("0.2.6", ""), ("0.3.0", "async"), ("0.3.2", "async")] {
        for (body, status) in [("i32.const 0", 0), ("i32.const 1", 1)] {
            let program = program("command", &component(release, asynchronous, body));
            assert_eq!(program.kind(), Kind::Component);
            let outcome = host().run(&program, RunOptions { network: Network::All, ..RunOptions::default() });
            assert_eq!(outcome.unwrap(), status, "release {release}");
        }
    }
}

#[test]
fn a_trap_is_one_line_that_names_the_function() {
    let text = "(module
        (func $inner unreachable)
        (func $outer call $inner)
        (func (export \"_start\") call $outer))";
    let module_error = host().run(&program("crash", text), RunOptions::default()).unwrap_err();
    assert!(matches!(module_error, Error::Trap { .. }));
    assert_eq!(
        module_error.to_string(),
        "crash trapped: wasm `unreachable` instruction executed (in inner, called by outer)"
    );
    for (release, asynchronous) in [("0.2.0", ""), ("0.3.0", "async")] {
        let program = program("crash", &component(release, asynchronous, "unreachable"));
        let error = host().run(&program, RunOptions::default()).unwrap_err();
        assert!(matches!(error, Error::Trap { .. }), "{error}");
        let message = error.to_string();
        assert!(message.starts_with("crash trapped: wasm `unreachable` instruction executed"), "{message}");
        assert_eq!(message.lines().count(), 1);
    }
}

#[test]
fn endless_recursion_is_a_trap_not_a_crash() {
    let text = "(module (func $f (export \"_start\") call $f))";
    let error = host().run(&program("deep", text), RunOptions::default()).unwrap_err();
    assert!(error.to_string().starts_with("deep trapped: call stack exhausted"), "{error}");
}

#[test]
fn output_beyond_the_limit_does_not_grow_memory() {
    let body = "(loop $again
        (br_if $again (i32.eqz (call $write (i32.const 1) (i32.const 1024) (i32.const 4096))))
        (call $proc_exit (i32.const 9)))";
    let (stdout, output) = Output::captured(10_000);
    let outcome =
        host().run(&program("flood", &module(body)), RunOptions { stdout, ..RunOptions::default() });
    assert!(matches!(outcome, Ok(9) | Err(Error::Stopped { .. })), "{outcome:?}");
    assert!(output.bytes().len() <= 10_000);
}

#[test]
fn compiled_code_is_found_again_by_content() {
    let directory = tempfile::tempdir().unwrap();
    let options = || HostOptions {
        cache: Cache::Directory(directory.path().join("not/there/yet")),
        ..HostOptions::default()
    };
    let one = program("one", &component("0.2.0", "", "i32.const 1"));
    let first = Host::new(options()).unwrap();
    assert_eq!(first.run(&one, RunOptions::default()).unwrap(), 1);
    assert_eq!(first.cache_uses(), (0, 1));
    // Another name, the same content.
    let again = Program::from_bytes("again", one.bytes()).unwrap();
    let second = Host::new(options()).unwrap();
    assert_eq!(second.run(&again, RunOptions::default()).unwrap(), 1);
    assert_eq!(second.cache_uses(), (1, 0));
    let zero = program("one", &component("0.2.0", "", "i32.const 0"));
    assert_eq!(second.run(&zero, RunOptions::default()).unwrap(), 0);
    assert_eq!(second.cache_uses(), (1, 1));
}

#[test]
fn what_cannot_run_is_refused_with_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("missing.wasm");
    let text = directory.path().join("notes.txt");
    fs::write(&text, "no program").unwrap();
    let sound = wat::parse_str(component("0.2.0", "", "i32.const 0")).unwrap();
    let run = |program: Program| host().run(&program, RunOptions::default()).unwrap_err();

    let cases = [
        (Program::from_file(&missing).unwrap_err(), "no such file: "),
        (Program::from_file(directory.path()).unwrap_err(), "cannot read "),
        (Program::from_file(&text).unwrap_err(), "notes.txt is not a WebAssembly binary"),
        (run(Program::from_bytes("cut", &sound[..sound.len() - 9]).unwrap()), "cut is damaged"),
        (run(program("library", "(component)")), "library is not a command: it does not export wasi:cli/run"),
        (
            run(program("library", "(module (func (export \"add\")))")),
            "library is not a command: it exports no function `_start`; it exports add",
        ),
        (
            run(program("odd", "(module (import \"env\" \"clock\" (func)) (func (export \"_start\")))")),
            "odd imports what this host does not provide: unknown import: `env::clock`",
        ),
        (
            run(program(
                "odd",
                r#"(component
                    (import "wasi:http/types@0.2.0" (instance (export "x" (func))))
                    (core module $m (func (export "run") (result i32) i32.const 0))
                    (core instance $i (instantiate $m))
                    (func $run (result (result)) (canon lift (core func $i "run")))
                    (instance $r (export "run" (func $run)))
                    (export "wasi:cli/run@0.2.0" (instance $r)))"#,
            )),
            "odd imports what this host does not provide: component imports instance `wasi:http/types@0.2.0`",
        ),
    ];
    for (error, message) in cases {
        let found = error.to_string();
        assert!(found.contains(message), "expected {message:?} in {found:?}");
        assert_eq!(found.lines().count(), 1, "{found}");
    }
}

#[test]
fn a_directory_that_is_none_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let program = program("command", &component("0.2.0", "", "i32.const 0"));
    for (path, message) in [(&file, "it is a file"), (&directory.path().join("none"), "No such file")] {
        let preopens = vec![Preopen { host: path.clone(), guest: "/".into(), writable: false }];
        let error = host().run(&program, RunOptions { preopens, ..RunOptions::default() }).unwrap_err();
        assert!(matches!(error, Error::Preopen { .. }));
        assert!(error.to_string().contains(message), "{error}");
    }
}

#[test]
fn a_cache_that_cannot_be_kept_is_refused_when_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let error =
        Host::new(HostOptions { cache: Cache::Directory(file), ..HostOptions::default() }).unwrap_err();
    assert!(matches!(error, Error::Cache { .. }));
    assert!(error.to_string().contains("SANDQUIC_CACHE_DIR"), "{error}");
}

#[test]
fn inside_a_runtime_the_async_form_is_asked_for() {
    let program = program("command", &component("0.3.0", "async", "i32.const 0"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let error = host().run(&program, RunOptions::default()).unwrap_err();
        assert!(error.to_string().contains("run_async"), "{error}");
        assert_eq!(host().run_async(&program, RunOptions::default()).await.unwrap(), 0);
    });
}

#[cfg(target_os = "linux")]
#[test]
fn a_profiler_finds_readable_names_of_code_from_the_cache_too() {
    let cache = tempfile::tempdir().unwrap();
    let text = r#"(module
        (func $_ZN4test5inner17h0123456789abcdefE)
        (func (export "_start") call $_ZN4test5inner17h0123456789abcdefE))"#;
    let program = program("named", text);
    let map = std::path::PathBuf::from(format!("/tmp/perf-{}.map", std::process::id()));
    // The engine appends to one file for as long as the process lives.
    let mut before = 0;
    let cache_path = cache.path();
    for found in [false, true] {
        let options = HostOptions {
            cache: Cache::Directory(cache_path.to_path_buf()),
            profile: Profile::PerfMap,
            ..HostOptions::default()
        };
        let host = Host::new(options).unwrap();
        let prepared = host.prepare(&program).unwrap();
        assert_eq!(host.cache_uses(), if found { (1, 0) } else { (0, 1) });
        assert!(!maps_files_of(cache_path), "perf would look for names in the file");
        drop(prepared);
        assert_eq!(host.run(&program, RunOptions::default()).unwrap(), 0);
        drop(host);
        let names = fs::read_to_string(&map).unwrap();
        let new = &names[before..];
        assert!(new.lines().any(|line| line.ends_with(" test::inner")), "{new}");
        before = names.len();
    }
    fs::remove_file(&map).unwrap();

    let options = HostOptions { cache: Cache::Directory(cache_path.to_path_buf()), ..HostOptions::default() };
    let host = Host::new(options).unwrap();
    let prepared = host.prepare(&program).unwrap();
    assert!(maps_files_of(cache_path), "without a profiler the code is mapped");
    drop(prepared);
}

/// Whether a file below a directory is mapped into this process.
#[cfg(target_os = "linux")]
fn maps_files_of(directory: &std::path::Path) -> bool {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    maps.lines().any(|line| line.contains(directory.to_str().unwrap()))
}

/// A component that hands 20 and 22 to `acme:math/adder.add` of its host, and fails unless the sum is 42.
const ADDS: &str = r#"(component
    (import "acme:math/adder" (instance $adder
        (export "add" (func (param "a" u32) (param "b" u32) (result u32)))))
    (core func $add (canon lower (func $adder "add")))
    (core module $m
        (import "adder" "add" (func $add (param i32 i32) (result i32)))
        (func (export "run") (result i32)
            (i32.ne (call $add (i32.const 20) (i32.const 22)) (i32.const 42))))
    (core instance $i (instantiate $m (with "adder" (instance (export "add" (func $add))))))
    (func $run (result (result)) (canon lift (core func $i "run")))
    (instance $r (export "run" (func $run)))
    (export "wasi:cli/run@0.2.0" (instance $r)))"#;

#[test]
fn an_embedder_adds_imports_with_state_for_each_run() {
    struct Calls(Arc<AtomicU32>);
    let host = Host::with_imports(HostOptions { cache: Cache::Off, ..HostOptions::default() }, |linker| {
        linker.instance("acme:math/adder")?.func_wrap(
            "add",
            |mut store: StoreContextMut<'_, State>, (a, b): (u32, u32)| {
                let calls = store.data_mut().extension_mut::<Calls>();
                let calls = calls.ok_or_else(|| Failure::msg("started without its calls"))?;
                calls.0.fetch_add(1, Ordering::Relaxed);
                Ok((a + b,))
            },
        )
    })
    .unwrap();
    let adds = program("adds", ADDS);
    let calls = [Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(10))];
    for calls in &calls {
        let mut options = RunOptions::default();
        options.extensions.insert(Calls(calls.clone()));
        assert_eq!(host.run(&adds, options).unwrap(), 0);
    }
    assert_eq!(calls.map(|calls| calls.load(Ordering::Relaxed)), [1, 11]);

    let error = host.run(&adds, RunOptions::default()).unwrap_err();
    assert!(error.to_string().contains("started without its calls"), "{error}");
    let error = self::host().run(&adds, RunOptions::default()).unwrap_err();
    assert!(matches!(error, Error::MissingImport { .. }), "{error}");
}

#[test]
fn imports_that_cannot_be_added_are_refused_with_the_reason() {
    let error = Host::with_imports(HostOptions { cache: Cache::Off, ..HostOptions::default() }, |_| {
        Err(Failure::msg("no adder today"))
    });
    assert_eq!(error.unwrap_err().to_string(), "cannot start the engine: no adder today");
}

/// Grows its memory of one page to 64.
const GROWS: &str = r#"(module
    (memory (export "memory") 1)
    (func $allocate (param $pages i32)
        (if (i32.eq (memory.grow (local.get $pages)) (i32.const -1)) (then unreachable)))
    (func (export "_start") (call $allocate (i32.const 63))))"#;

#[test]
fn memory_beyond_what_was_granted_ends_the_program_and_only_it() {
    let host = host();
    let grows = program("grows", GROWS);
    let run =
        |program: &Program, max_memory| host.run(program, RunOptions { max_memory, ..RunOptions::default() });
    // 64 pages of 64 KiB.
    assert_eq!(run(&grows, 4 << 20).unwrap(), 0);
    let error = run(&grows, (4 << 20) - 1).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { granted: 4_194_303, .. }));
    assert_eq!(
        error.to_string(),
        "grows trapped: it needs more than the 4194303 bytes of memory that it was granted (in allocate)"
    );
    // What it starts with counts too, in a component as in a module.
    assert!(matches!(run(&grows, 65_535).unwrap_err(), Error::OutOfMemory { .. }));
    let large =
        component("0.3.0", "async", "i32.const 0").replace("(core module $m", "(core module $m (memory 32)");
    let large = program("large", &large);
    assert_eq!(
        run(&large, 1 << 20).unwrap_err().to_string(),
        "large trapped: it needs more than the 1 MiB of memory that it was granted"
    );
    assert_eq!(run(&large, 2 << 20).unwrap(), 0);
    let table = component("0.2.0", "", "i32.const 0")
        .replace("(core module $m", "(core module $m (table 10000 funcref)");
    assert!(matches!(run(&program("table", &table), 1 << 16).unwrap_err(), Error::OutOfMemory { .. }));
    assert_eq!(run(&grows, DEFAULT_MAX_MEMORY).unwrap(), 0);
}
