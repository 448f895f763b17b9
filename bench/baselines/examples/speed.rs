//! The AEADs and header masks of every set of ciphers, in turns: the least time of many, in MB/s (10^6 bytes/s) of the
//! message and ns a mask. `cargo run --release --example speed`, or built for wasm32-wasip2 and run as a component.
#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use sandquic_baselines::{HandVec, RustCrypto, RustCryptoOld};
use sandquic_rustls::ciphers::{Aead, Ciphers, DefaultCiphers, HeaderMask};

/// Sizes of messages in bytes; the associated data have 20.
const SIZES: [usize; 3] = [64, 1350, 16_384];
/// How often the sets take turns.
const ROUNDS: usize = 40;
/// What a measurement of an AEAD handles at least, in bytes.
const WORK: usize = 128 << 10;

/// A row of the table: what it says, and how to do it once.
type Row = (String, usize, Box<dyn FnMut()>);

fn aead<const KEY: usize, A: Aead<KEY>>(rows: &mut Vec<Row>, set: &str, name: &str) {
    for size in SIZES {
        let key = A::new(&[7; KEY]);
        let mut data = vec![0; size];
        let seal = Box::new(move || {
            black_box(key.seal(&[3; 12], &[5; 20], black_box(&mut data))).expect("it is short");
        });
        rows.push((format!("{name:<18} seal {size:>6} {set}"), size, seal));
    }
    let key = A::new(&[7; KEY]);
    let mut sealed = vec![0; 1350];
    let tag = key.seal(&[3; 12], &[5; 20], &mut sealed).expect("it is short");
    let mut data = sealed.clone();
    let open = Box::new(move || {
        data.copy_from_slice(&sealed);
        black_box(key.open(&[3; 12], &[5; 20], black_box(&mut data), &tag)).expect("it is genuine");
    });
    rows.push((format!("{name:<18} open   1350 {set}"), 1350, open));
}

fn mask<const KEY: usize, M: HeaderMask<KEY>>(rows: &mut Vec<Row>, set: &str, name: &str) {
    let key = M::new(&[7; KEY]);
    let one = Box::new(move || {
        black_box(key.mask(black_box(&[9; 16])));
    });
    rows.push((format!("{name:<18} one  sample {set}"), 0, one));
}

fn set<C: Ciphers>(rows: &mut Vec<Row>) {
    aead::<16, C::Aes128Gcm>(rows, C::NAME, "aes-128-gcm");
    aead::<32, C::Aes256Gcm>(rows, C::NAME, "aes-256-gcm");
    aead::<32, C::ChaCha20Poly1305>(rows, C::NAME, "chacha20-poly1305");
    mask::<16, C::Aes128Mask>(rows, C::NAME, "aes-128 mask");
    mask::<32, C::ChaCha20Mask>(rows, C::NAME, "chacha20 mask");
}

fn main() {
    let mut rows = Vec::new();
    set::<RustCryptoOld>(&mut rows);
    set::<RustCrypto>(&mut rows);
    set::<HandVec>(&mut rows);
    set::<DefaultCiphers>(&mut rows);
    let mut best = vec![Duration::MAX; rows.len()];
    for _ in 0..ROUNDS {
        for ((_, size, run), best) in rows.iter_mut().zip(&mut best) {
            let times = (WORK / (*size).max(64)) as u32;
            let start = Instant::now();
            (0..times).for_each(|_| run());
            *best = start.elapsed().div_f64(times.into()).min(*best);
        }
    }
    let mut lines: Vec<(String, usize, Duration)> =
        rows.into_iter().zip(best).map(|((name, size, _), best)| (name, size, best)).collect();
    lines.sort_by(|a, b| a.0[..30].cmp(&b.0[..30]));
    for (name, size, best) in lines {
        let ns = best.as_secs_f64() * 1e9;
        match size {
            0 => println!("{name:<48} {ns:>8.0} ns"),
            _ => println!("{name:<48} {:>8.0} MB/s", size as f64 * 1e3 / ns),
        }
    }
}
