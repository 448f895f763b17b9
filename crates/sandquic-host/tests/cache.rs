//! Compiled code on disk: found again, and replaced where it is not what it should be.

use std::fs;
use std::path::{Path, PathBuf};

use sandquic_host::{Allocation, Cache, Error, Host, HostOptions, Program, RunOptions};

/// A component that ends with a status.
fn component(status: i32) -> Program {
    let text = format!(
        r#"(component
            (core module $m (func (export "run") (result i32) i32.const {status}))
            (core instance $i (instantiate $m))
            (func $run (result (result)) (canon lift (core func $i "run")))
            (instance $run-interface (export "run" (func $run)))
            (export "wasi:cli/run@0.2.0" (instance $run-interface)))"#
    );
    Program::from_bytes("command", wat::parse_str(text).unwrap()).unwrap()
}

fn module() -> Program {
    Program::from_bytes("module", wat::parse_str("(module (func (export \"_start\")))").unwrap()).unwrap()
}

fn host(directory: &Path) -> Host {
    let cache = Cache::Directory(directory.to_path_buf());
    Host::new(HostOptions { cache, ..HostOptions::default() }).unwrap()
}

fn run(host: &Host, program: &Program) -> i32 {
    host.run(program, RunOptions::default()).unwrap()
}

/// The files of compiled code, in order of their names.
fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory.join("code")).unwrap();
    let mut entries: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    entries
}

#[test]
fn code_that_is_not_whole_is_made_again() {
    let directory = tempfile::tempdir().unwrap();
    let program = component(1);
    assert_eq!(run(&host(directory.path()), &program), 1);
    let [entry] = &entries(directory.path())[..] else { panic!("one program, one file") };
    let whole = fs::read(entry).unwrap();

    let mut changed = whole.clone();
    changed[whole.len() / 2] ^= 1;
    for damaged in [&whole[..0], &whole[..40], &whole[..whole.len() / 2], &whole[..whole.len() - 1], &changed]
    {
        fs::write(entry, damaged).unwrap();
        let host = host(directory.path());
        assert_eq!(run(&host, &program), 1);
        assert_eq!(host.cache_uses(), (0, 1), "{} of {} bytes", damaged.len(), whole.len());
        assert_eq!(fs::read(entry).unwrap().len(), whole.len());
        assert_eq!(run(&host, &program), 1);
        assert_eq!(host.cache_uses(), (1, 1));
    }
}

#[test]
fn code_of_another_kind_or_engine_is_made_again() {
    let directory = tempfile::tempdir().unwrap();
    let (program, other) = (component(1), module());
    assert_eq!(run(&host(directory.path()), &other), 0);
    let others = entries(directory.path());
    assert_eq!(run(&host(directory.path()), &program), 1);
    let mine = entries(directory.path()).into_iter().find(|entry| !others.contains(entry)).unwrap();

    // Whole, and no component.
    fs::copy(&others[0], &mine).unwrap();
    let host = host(directory.path());
    assert_eq!(run(&host, &program), 1);
    assert_eq!(host.cache_uses(), (0, 1));

    // What an engine with other settings makes does not take the place of this one's.
    let before = entries(directory.path()).len();
    let options = HostOptions {
        cache: Cache::Directory(directory.path().to_path_buf()),
        allocation: Allocation::Pooled(1),
        ..HostOptions::default()
    };
    assert_eq!(run(&Host::new(options).unwrap(), &program), 1);
    assert!(entries(directory.path()).len() >= before);
    assert_eq!(run(&host, &program), 1);
    assert_eq!(host.cache_uses(), (1, 1));
}

#[test]
fn a_program_runs_where_its_code_cannot_be_kept() {
    let directory = tempfile::tempdir().unwrap();
    let host = host(directory.path());
    fs::remove_dir(directory.path().join("code")).unwrap();
    for _ in 0..2 {
        assert_eq!(run(&host, &component(1)), 1);
    }
    assert_eq!(host.cache_uses(), (0, 2));
}

#[cfg(unix)]
#[test]
fn a_directory_that_others_write_to_is_refused() {
    use std::os::unix::fs::PermissionsExt;

    let directory = tempfile::tempdir().unwrap();
    drop(host(directory.path()));
    let code = directory.path().join("code");
    fs::set_permissions(&code, fs::Permissions::from_mode(0o777)).unwrap();
    let cache = Cache::Directory(directory.path().to_path_buf());
    let error = Host::new(HostOptions { cache, ..HostOptions::default() }).unwrap_err();
    assert!(matches!(error, Error::Cache { .. }));
    assert!(error.to_string().contains("can be written to by others (mode 777)"), "{error}");
}
