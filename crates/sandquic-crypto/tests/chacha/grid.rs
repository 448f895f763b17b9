//! Differential tests of a stream cipher: against a model written from the definition and against another
//! implementation, over lengths, cuts and positions.

use sandquic_crypto::cipher::{StreamCipher, StreamCipherSeek};

/// Whether the reduced grid was asked for, at compile time or at run time, by `SANDQUIC_TEST_GRID=small`.
pub(crate) fn small() -> bool {
    let run_time = std::env::var("SANDQUIC_TEST_GRID");
    option_env!("SANDQUIC_TEST_GRID") == Some("small") || run_time.as_deref() == Ok("small")
}

/// The longest message of the grids.
pub(crate) fn max_len() -> usize {
    if small() { 300 } else { 600 }
}

/// Bytes that are not zero and do not repeat with the block.
pub(crate) fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i as u32).wrapping_mul(2_654_435_761).to_be_bytes()[0] ^ i as u8).collect()
}

/// Bytes from hexadecimal digits; whitespace is skipped.
pub(crate) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.chars().filter_map(|c| c.to_digit(16)).map(|d| d as u8).collect();
    assert!(digits.len().is_multiple_of(2), "an odd number of digits");
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// A cipher under test.
pub(crate) struct Grid<C, R, M> {
    /// Makes the cipher, at position 0.
    pub(crate) ours: fn() -> C,
    /// The same key and nonce in the other implementation.
    pub(crate) other: fn() -> R,
    /// The definition: block `n` of the keystream.
    pub(crate) model: M,
    /// The number of blocks that can be used, and that the other implementation can use.
    pub(crate) blocks: u128,
    pub(crate) other_blocks: u128,
}

impl<C: StreamCipher + StreamCipherSeek + Clone, R: StreamCipher + StreamCipherSeek, M: Fn(u64) -> [u8; 64]>
    Grid<C, R, M>
{
    /// `data` xored with the keystream from byte `pos` on, by the model.
    fn expected(&self, pos: u128, data: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(data.len());
        let mut block = [0; 64];
        for (i, byte) in data.iter().enumerate() {
            let at = pos + i as u128;
            if i == 0 || at.is_multiple_of(64) {
                block = (self.model)((at / 64) as u64);
            }
            out.push(byte ^ block[(at % 64) as usize]);
        }
        out
    }

    /// Compares all three from one position.
    pub(crate) fn check_at(&self, pos: u128, len: usize) {
        let data = pattern(len);
        let expected = self.expected(pos, &data);
        let mut got = data.clone();
        let mut cipher = (self.ours)();
        cipher.seek(pos);
        assert_eq!(cipher.current_pos::<u128>(), pos);
        cipher.apply_keystream(&mut got);
        assert!(got == expected, "differs from the model at {pos}, length {len}");
        assert_eq!(cipher.current_pos::<u128>(), pos + len as u128);
        if pos + len as u128 <= self.other_blocks * 64 {
            let mut other = data;
            let mut cipher = (self.other)();
            cipher.seek(pos);
            cipher.apply_keystream(&mut other);
            assert!(got == other, "differs from the other implementation at {pos}, length {len}");
        }
    }

    /// Every length from 0, as one stream.
    pub(crate) fn lengths(&self) {
        for len in 0..=max_len() {
            self.check_at(0, len);
        }
    }

    /// Every length cut at every place (with `step` 1), and into pieces of one size.
    pub(crate) fn cuts(&self, step: usize) {
        let data = pattern(max_len());
        let expected = self.expected(0, &data);
        for len in (0..=data.len()).step_by(step) {
            for cut in 0..=len {
                let mut got = data[..len].to_vec();
                let mut cipher = (self.ours)();
                cipher.apply_keystream(&mut got[..cut]);
                cipher.apply_keystream(&mut got[cut..]);
                assert!(got == expected[..len], "length {len} cut at {cut}");
            }
        }
        for piece in 1..=300 {
            let mut got = data.clone();
            let mut cipher = (self.ours)();
            for chunk in got.chunks_mut(piece) {
                cipher.apply_keystream(chunk);
            }
            assert!(got == expected, "pieces of {piece}");
        }
    }

    /// 1 MiB and 77 bytes from nine positions, one across the carry of the counter's first word if it has a second, the
    /// last ending with the keystream.
    pub(crate) fn long(&self) {
        let len = if small() { 8 * 1024 + 77 } else { (1 << 20) + 77 };
        let end = self.blocks * 64;
        let carry = (1 << 38).min(end / 2);
        for pos in [0, 1, 63, 64, 191, 256 * 64 + 5, 1_000_003, carry - 4000, end - len as u128] {
            self.check_at(pos, len);
        }
    }

    /// Around block `n`: every start near it, in the block and between, and lengths across all passes.
    pub(crate) fn around(&self, n: u128) {
        for start in n.saturating_sub(9)..n + 2 {
            for len in [1, 63, 64, 65, 128, 192, 255, 256, 257, 320, 512, 513, 576, 1100] {
                if start * 64 + len as u128 <= self.blocks * 64 {
                    self.check_at(start * 64, len);
                }
            }
            self.check_at((start * 64 + 17).min(self.blocks * 64 - 700), 700);
        }
    }

    /// The end of the keystream can be reached and not passed, and an error changes nothing.
    pub(crate) fn end(&self) {
        let end = self.blocks * 64;
        for left in [0usize, 1, 10, 63, 64, 65, 128, 200, 256, 300, 512, 700] {
            let start = end - left as u128;
            for more in [1, 2, 64, 100, 600] {
                let data = pattern(left + more);
                let mut cipher = (self.ours)();
                cipher.seek(start);
                let mut got = data.clone();
                assert!(cipher.check_remaining(left + more).is_err());
                assert!(cipher.try_apply_keystream(&mut got).is_err(), "{more} bytes too many were accepted");
                assert!(got == data, "an error changed the data");
                let mut out = vec![0xee; data.len()];
                assert!(cipher.try_apply_keystream_b2b(&data, &mut out).is_err());
                assert!(cipher.try_write_keystream(&mut out).is_err());
                assert!(out.iter().all(|&b| b == 0xee), "an error wrote to the output");
                assert_eq!(cipher.current_pos::<u128>(), start, "an error moved the position");
                // What is left can still be used.
                cipher.try_apply_keystream(&mut got[..left]).expect("the last bytes");
                assert!(got[..left] == self.expected(start, &data[..left]));
                assert!(cipher.try_apply_keystream(&mut got[..1]).is_err());
                assert!(cipher.try_apply_keystream(&mut []).is_ok());
            }
        }
        // Unchecked calls can go further; the next checked one fails.
        let mut cipher = (self.ours)();
        cipher.seek(end - 64);
        cipher.unchecked_apply_keystream(&mut [0; 1000]);
        assert!(cipher.check_remaining(1000).is_err());
        assert!(cipher.try_apply_keystream(&mut [0; 64]).is_err());
    }

    /// Positions that a cipher or a type of numbers does not have are errors, all others exact.
    pub(crate) fn positions(&self) {
        let end = self.blocks * 64;
        let mut cipher = (self.ours)();
        cipher.seek(100u32);
        assert!(cipher.try_seek(end + 1).is_err());
        assert!(cipher.try_seek(u128::MAX).is_err());
        for negative in [-1, -63, -64, -65, i32::MIN] {
            assert!(cipher.try_seek(negative).is_err());
        }
        assert_eq!(cipher.current_pos::<u128>(), 100, "an error moved the position");
        cipher.seek(i32::MAX);
        assert_eq!(cipher.current_pos::<i32>(), i32::MAX);
        cipher.apply_keystream(&mut [0]);
        assert!(cipher.try_current_pos::<i32>().is_err());
        cipher.seek(u32::MAX);
        assert_eq!(cipher.current_pos::<u32>(), u32::MAX);
        cipher.apply_keystream(&mut [0]);
        assert!(cipher.try_current_pos::<u32>().is_err());
        if end > 1 << 64 {
            cipher.seek(u64::MAX);
            assert_eq!(cipher.current_pos::<u64>(), u64::MAX);
            cipher.apply_keystream(&mut [0]);
            assert!(cipher.try_current_pos::<u64>().is_err());
        } else {
            assert!(cipher.try_seek(u64::MAX).is_err());
        }
        cipher.seek(end);
        assert_eq!(cipher.current_pos::<u128>(), end);
    }

    /// A walk of seeks and calls of all kinds, in places and lengths drawn from a fixed sequence.
    pub(crate) fn walk(&self) {
        let mut random = 1_u64;
        let mut below = |bound: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % bound
        };
        let end = self.blocks * 64;
        let around = [3000, 1 << 22, (1 << 38).min(end / 2), end - 3000];
        let (mut cipher, mut pos) = ((self.ours)(), 0);
        for step in 0..if small() { 300 } else { 3000 } {
            let mut data = pattern(below(700) as usize);
            // An odd place in memory.
            let skip = data.len().min(below(4) as usize);
            let data = &mut data[skip..];
            if below(4) == 0 || pos + data.len() as u128 > end {
                pos = around[below(4) as usize] - 3000 + u128::from(below(6000));
                pos = pos.min(end - 700);
                cipher.seek(pos);
            }
            let expected = self.expected(pos, if step % 3 == 0 { &[0; 700][..data.len()] } else { data });
            match step % 3 {
                0 => cipher.write_keystream(data),
                1 => cipher.apply_keystream(data),
                _ => {
                    // A copy goes on as the original would.
                    let mut copy = cipher.clone();
                    let input = data.to_vec();
                    cipher.apply_keystream_b2b(&input, data);
                    let mut again = input.clone();
                    copy.apply_keystream(&mut again);
                    assert!(again == data);
                    cipher = copy;
                }
            }
            assert!(data == expected, "step {step}, at {pos}, length {}", data.len());
            pos += data.len() as u128;
            assert_eq!(cipher.current_pos::<u128>(), pos);
        }
    }

    /// The other ways to call a cipher.
    pub(crate) fn calls(&self) {
        let data = pattern(333);
        let expected = self.expected(0, &data);
        let mut out = vec![0; 333];
        (self.ours)().apply_keystream_b2b(&data, &mut out);
        assert!(out == expected);
        let mut short = vec![0xee; 332];
        assert!((self.ours)().try_apply_keystream_b2b(&data, &mut short).is_err());
        assert!(short.iter().all(|&b| b == 0xee));
        let mut stream = data.clone();
        (self.ours)().write_keystream(&mut stream);
        assert!(stream == self.expected(0, &[0; 333]));
        // Seeking forwards and backwards within and across blocks.
        let mut cipher = (self.ours)();
        for pos in [300usize, 0, 64, 65, 63, 1, 255, 256, 128] {
            let mut got = data[pos..].to_vec();
            cipher.seek(pos);
            cipher.apply_keystream(&mut got);
            assert!(got == expected[pos..], "from {pos}");
        }
    }
}
