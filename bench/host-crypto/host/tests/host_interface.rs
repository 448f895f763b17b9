//! The interface as small components meet it: what it does with keys, tags and lengths, and what it counts.

use std::sync::Arc;

use ring::aead::{
    AES_128_GCM, AES_256_GCM, Aad, Algorithm, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey,
};
use sandquic_bench_host::aead::{self, Counts};
use sandquic_host::{Cache, Error, Host, HostOptions, Program, RunOptions};

const KEY: [u8; 32] = [7; 32];
const NONCE: [u8; 12] = [9; 12];
const AAD: &[u8] = b"header";
const TEXT: &[u8] = b"what is protected";

/// What the WIT file's enum calls the algorithms, in its order.
const ALGORITHMS: [&Algorithm; 3] = [&AES_128_GCM, &AES_256_GCM, &CHACHA20_POLY1305];

/// A component whose `run` is `body` over the interface's functions. Its memory holds the key at 0, the nonce at 32, the
/// associated data at 64, `message` (a text, then a tag) at 128, and from 1024 on what functions return; at 1000 is the
/// outcome of a call: 0 or 1, and where and how long the result is. The functions in short: `$make` a key, `$drop` it,
/// `$seal` the text under it, `$open` the message; the latter two return whether they failed.
fn component(key_length: usize, algorithm: usize, message: &[u8], body: &str) -> Program {
    let bytes = |bytes: &[u8]| bytes.iter().map(|byte| format!("\\{byte:02x}")).collect::<String>();
    let (nonce, aad, text) = (NONCE.len(), AAD.len(), message.len() - 16);
    let text = format!(
        r#"(component
        (import "sandquic:bench/aead" (instance $aead
            (type $algorithm' (enum "aes128-gcm" "aes256-gcm" "chacha20-poly1305"))
            (export "algorithm" (type $algorithm (eq $algorithm')))
            (export "key" (type $key (sub resource)))
            (export "[constructor]key" (func
                (param "algorithm" $algorithm) (param "bytes" (list u8)) (result (own $key))))
            (export "[method]key.seal" (func (param "self" (borrow $key)) (param "nonce" (list u8))
                (param "aad" (list u8)) (param "data" (list u8)) (result (result (list u8)))))
            (export "[method]key.open" (func (param "self" (borrow $key)) (param "nonce" (list u8))
                (param "aad" (list u8)) (param "data" (list u8)) (param "tag" (list u8))
                (result (result (list u8)))))))
        (alias export $aead "key" (type $key))
        (core module $libc
            (memory (export "memory") 1)
            (global $end (mut i32) (i32.const 1024))
            (func (export "realloc") (param i32 i32 i32 i32) (result i32)
                (global.set $end (i32.add (global.get $end) (local.get 3)))
                (i32.sub (global.get $end) (local.get 3))))
        (core instance $libc (instantiate $libc))
        (core func $new (canon lower (func $aead "[constructor]key") (memory (core memory $libc "memory"))))
        (core func $seal (canon lower (func $aead "[method]key.seal")
            (memory (core memory $libc "memory")) (realloc (core func $libc "realloc"))))
        (core func $open (canon lower (func $aead "[method]key.open")
            (memory (core memory $libc "memory")) (realloc (core func $libc "realloc"))))
        (core func $drop (canon resource.drop $key))
        (core module $m
            (import "libc" "memory" (memory 1))
            (import "aead" "new" (func $new (param i32 i32 i32) (result i32)))
            (import "aead" "seal" (func $seal' (param i32 i32 i32 i32 i32 i32 i32 i32)))
            (import "aead" "open" (func $open' (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32)))
            (import "aead" "drop" (func $drop (param i32)))
            (data (i32.const 0) "{key}")
            (data (i32.const 32) "{nonce_bytes}")
            (data (i32.const 64) "{aad_bytes}")
            (data (i32.const 128) "{message}")
            (func $make (result i32)
                (call $new (i32.const {algorithm}) (i32.const 0) (i32.const {key_length})))
            (func $seal (param $key i32) (param $nonce i32) (result i32)
                (call $seal' (local.get $key) (i32.const 32) (local.get $nonce) (i32.const 64) (i32.const {aad})
                    (i32.const 128) (i32.const {text}) (i32.const 1000))
                (i32.load8_u (i32.const 1000)))
            (func $open (param $key i32) (param $tag i32) (result i32)
                (call $open' (local.get $key) (i32.const 32) (i32.const {nonce}) (i32.const 64) (i32.const {aad})
                    (i32.const 128) (i32.const {text}) (i32.const {tag_at}) (local.get $tag) (i32.const 1000))
                (i32.load8_u (i32.const 1000)))
            ;; Whether the result of the last call differs from so many bytes at a place.
            (func $differs (param $at i32) (param $size i32) (result i32)
                (local $i i32) (local $differs i32)
                (local.set $differs (i32.ne (i32.load (i32.const 1008)) (local.get $size)))
                (loop $next
                    (local.set $differs (i32.or (local.get $differs) (i32.ne
                        (i32.load8_u (i32.add (i32.load (i32.const 1004)) (local.get $i)))
                        (i32.load8_u (i32.add (local.get $at) (local.get $i))))))
                    (local.set $i (i32.add (local.get $i) (i32.const 1)))
                    (br_if $next (i32.lt_u (local.get $i) (local.get $size))))
                (local.get $differs))
            (data (i32.const 512) "{plain}")
            (func (export "run") (result i32) (local $key i32) {body}))
        (core instance $i (instantiate $m
            (with "libc" (instance $libc))
            (with "aead" (instance (export "new" (func $new)) (export "seal" (func $seal))
                (export "open" (func $open)) (export "drop" (func $drop))))))
        (func $run (result (result)) (canon lift (core func $i "run")))
        (instance $r (export "run" (func $run)))
        (export "wasi:cli/run@0.2.0" (instance $r)))"#,
        key = bytes(&KEY),
        nonce_bytes = bytes(&NONCE),
        aad_bytes = bytes(AAD),
        message = bytes(message),
        plain = bytes(TEXT),
        tag_at = 128 + text,
    );
    Program::from_bytes("small", wat::parse_str(text).expect("the test's own component assembles")).unwrap()
}

/// What the algorithm makes of [`TEXT`], computed beside the interface.
fn sealed(algorithm: &'static Algorithm) -> Vec<u8> {
    let key = LessSafeKey::new(UnboundKey::new(algorithm, &KEY[..algorithm.key_len()]).unwrap());
    let mut bytes = TEXT.to_vec();
    key.seal_in_place_append_tag(Nonce::assume_unique_for_key(NONCE), Aad::from(AAD), &mut bytes).unwrap();
    bytes
}

fn run(program: &Program) -> (Result<i32, Error>, Arc<Counts>) {
    let host = HostOptions { cache: Cache::Off, ..HostOptions::default() };
    let host = Host::with_imports(host, aead::add_to_linker).unwrap();
    let mut options = RunOptions::default();
    let counts = aead::prepare(&mut options);
    (host.run(program, options), counts)
}

#[test]
fn every_algorithm_seals_and_opens_and_its_copies_are_counted() {
    for (number, algorithm) in ALGORITHMS.into_iter().enumerate() {
        let message = sealed(algorithm);
        let opens = "
            (local.set $key (call $make))
            (if (call $open (local.get $key) (i32.const 16)) (then (return (i32.const 1))))
            (call $differs (i32.const 512) (i32.const 17))";
        let (status, counts) = run(&component(algorithm.key_len(), number, &message, opens));
        assert_eq!(status.unwrap(), 0, "{algorithm:?}");
        assert_eq!((counts.calls(), counts.bytes_copied()), (2, (17 + 16) + 17), "{algorithm:?}");

        // The plain text at 128 this time, and what it should become at 512.
        let plain = [TEXT, &[0; 16]].concat();
        let seals = format!(
            "(local.set $key (call $make))
            (if (call $seal (local.get $key) (i32.const 12)) (then (return (i32.const 1))))
            {}
            (call $differs (i32.const 512) (i32.const 33))",
            message
                .iter()
                .enumerate()
                .map(|(at, byte)| format!("(i32.store8 (i32.const {}) (i32.const {byte}))", 512 + at))
                .collect::<String>()
        );
        let (status, counts) = run(&component(algorithm.key_len(), number, &plain, &seals));
        assert_eq!(status.unwrap(), 0, "{algorithm:?}");
        assert_eq!((counts.calls(), counts.bytes_copied()), (2, 17 + (17 + 16)), "{algorithm:?}");
    }
}

#[test]
fn a_wrong_tag_is_refused_and_nothing_comes_back() {
    for (number, algorithm) in ALGORITHMS.into_iter().enumerate() {
        for at in [0, TEXT.len(), TEXT.len() + 15] {
            let mut message = sealed(algorithm);
            message[at] ^= 1;
            let opens = "(call $open (call $make) (i32.const 16))";
            let (status, counts) = run(&component(algorithm.key_len(), number, &message, opens));
            assert_eq!(status.unwrap(), 1, "{algorithm:?}, byte {at}");
            assert_eq!((counts.calls(), counts.bytes_copied()), (2, 17 + 16));
        }
    }
}

#[test]
fn wrong_lengths_are_refused() {
    let message = sealed(&AES_128_GCM);
    for body in ["(call $open (call $make) (i32.const 15))", "(call $seal (call $make) (i32.const 11))"] {
        let (status, counts) = run(&component(16, 0, &message, body));
        assert_eq!(status.unwrap(), 1, "{body}");
        assert_eq!((counts.calls(), counts.bytes_copied()), (2, 0), "{body}");
    }
    let (status, counts) = run(&component(17, 0, &message, "(call $open (call $make) (i32.const 16))"));
    let error = status.unwrap_err().to_string();
    assert!(error.contains("a key of 17 bytes, where 16 are needed"), "{error}");
    assert_eq!(counts.keys_made(), 0);
}

#[test]
fn the_host_forgets_a_key_whose_handle_is_dropped() {
    let message = sealed(&AES_128_GCM);
    let body = "
        (call $drop (call $make))
        (local.set $key (call $make))
        (call $drop (call $make))
        (call $open (local.get $key) (i32.const 16))";
    let (status, counts) = run(&component(16, 0, &message, body));
    assert_eq!(status.unwrap(), 0);
    assert_eq!((counts.keys_made(), counts.keys_dropped()), (3, 2));
    let body = "
        (local.set $key (call $make))
        (call $drop (local.get $key))
        (call $open (local.get $key) (i32.const 16))";
    let (status, counts) = run(&component(16, 0, &message, body));
    assert!(matches!(status, Err(Error::Trap { .. } | Error::Stopped { .. })), "{status:?}");
    assert_eq!((counts.keys_made(), counts.keys_dropped()), (1, 1));
}

#[test]
fn a_run_that_was_not_prepared_says_so() {
    let host = HostOptions { cache: Cache::Off, ..HostOptions::default() };
    let host = Host::with_imports(host, aead::add_to_linker).unwrap();
    let program = component(16, 0, &sealed(&AES_128_GCM), "(call $open (call $make) (i32.const 16))");
    let error = host.run(&program, RunOptions::default()).unwrap_err();
    assert!(error.to_string().contains("without `prepare`"), "{error}");
}
