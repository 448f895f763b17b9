//! Every way to run the kernel gives the same.

use super::kernel::{Crypt, Direction, Open, Seal};
use crate::{
    backend,
    chacha::block,
    poly1305::tests::model,
    simd::{Kernel, portable},
};

fn every_way<D: Direction>(state: &block::State, aad: &[u8], data: &[u8]) -> ([u8; 16], Vec<u8>) {
    let run = |how: &dyn Fn(Crypt<'_, D>) -> [u8; 16]| {
        let mut data = data.to_vec();
        (how(Crypt::new(state, aad, &mut data)), data)
    };
    let soft = run(&|kernel| kernel.soft());
    assert_eq!(run(&|kernel| kernel.run::<portable::V128>()), soft, "portable vectors, {} bytes", data.len());
    assert_eq!(run(&|kernel| backend::dispatch(kernel)), soft, "{}, {} bytes", backend(), data.len());
    assert_eq!(
        run(&|kernel| backend::dispatch_narrow(kernel)),
        soft,
        "128-bit vectors, {} bytes",
        data.len()
    );
    soft
}

#[test]
fn every_length() {
    let state = block::state(&[0x5a; 32], [0, 1, 2, 3]);
    let message: Vec<u8> = (0..1400u32).map(|i| (i * 7 + i / 256) as u8).collect();
    for length in 0..if cfg!(miri) { 70 } else { message.len() } {
        let aad = &message[..length % 37];
        let (tag, sealed) = every_way::<Seal>(&state, aad, &message[..length]);
        let (same, opened) = every_way::<Open>(&state, aad, &sealed);
        assert_eq!(tag, same, "{length} bytes");
        assert_eq!(opened, message[..length]);

        // By the book: RFC 8439, section 2.8.
        let keystream: Vec<u8> = (0..=length.div_ceil(64) as u64)
            .flat_map(|i| crate::stream::to_bytes(&block::block::<10>(&block::at::<false>(&state, i))))
            .collect();
        let want: Vec<u8> = message[..length].iter().zip(&keystream[64..]).map(|(m, k)| m ^ k).collect();
        assert_eq!(sealed, want);
        let mut input = aad.to_vec();
        input.resize(input.len().next_multiple_of(16), 0);
        input.extend_from_slice(&sealed);
        input.resize(input.len().next_multiple_of(16), 0);
        input.extend_from_slice(&(aad.len() as u64).to_le_bytes());
        input.extend_from_slice(&(length as u64).to_le_bytes());
        assert_eq!(tag, model::tag(keystream[..32].try_into().unwrap(), &input, true), "{length} bytes");
    }
}
