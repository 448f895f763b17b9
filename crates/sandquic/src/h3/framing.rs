//! Follows the frames of a stream (RFC 9114, 7.1) before h3 sees them: bounds those that it would keep whole, and cuts
//! DATA frames that its counter cannot hold.

use std::collections::VecDeque;
use std::fmt;

use bytes::Bytes;

/// The type of DATA frames.
const DATA: u64 = 0x00;
/// What starts a stream of WebTransport in place of a frame; no length follows. h3 refuses or ends it.
const WEBTRANSPORT_STREAM: u64 = 0x41;
/// The type of a control stream (RFC 9114, 6.2.1).
const CONTROL: u64 = 0x00;

/// Payload of the DATA frames that a longer one is cut into: any `usize` holds it.
const PIECE: u64 = 1 << 30;

/// The longest head of a frame: two variable-length integers (RFC 9000, 16).
const HEAD: usize = 16;

/// Where a stream is.
#[derive(Debug)]
pub(super) struct Framing {
    next: Next,
    /// The head of a frame, as far as it has come, or the type of a unidirectional stream.
    head: Head,
    /// Bytes left of the payload.
    left: u64,
    /// Bytes of a DATA frame that come after `left`, under heads that are still to be made.
    more: u64,
    max: u64,
    piece: u64,
}

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// The type of a unidirectional stream.
    StreamType,
    /// Frames.
    Frames,
    /// Nothing that h3 keeps.
    Anything,
}

#[derive(Debug, Default)]
struct Head {
    bytes: [u8; HEAD],
    length: usize,
}

impl Head {
    /// The bytes so far.
    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    fn push(&mut self, byte: u8) {
        // Two integers are complete before the room ends, and one before half of it.
        self.bytes[self.length] = byte;
        self.length += 1;
    }

    /// The first integer, if it is complete.
    fn first(&self) -> Option<u64> {
        integer(self.bytes()).map(|(value, _)| value)
    }

    /// Both integers, if they are complete.
    fn both(&self) -> Option<(u64, u64)> {
        let (first, rest) = integer(self.bytes())?;
        let (second, _) = integer(rest)?;
        Some((first, second))
    }
}

impl Framing {
    /// Of a stream that carries a request or a response.
    pub(super) fn request(max: u64) -> Self {
        Self { next: Next::Frames, head: Head::default(), left: 0, more: 0, max, piece: PIECE }
    }

    /// Of a unidirectional stream, which begins with its type (RFC 9114, 6.2).
    pub(super) fn unidirectional(max: u64) -> Self {
        Self { next: Next::StreamType, ..Self::request(max) }
    }

    /// Takes what the stream brought, and adds what h3 shall see to `out`.
    ///
    /// # Errors
    /// If a frame that h3 would keep is longer than allowed.
    pub(super) fn push(&mut self, data: Bytes, out: &mut VecDeque<Bytes>) -> Result<(), TooLarge> {
        // What precedes is with `out`, or in `head`.
        let mut start = 0;
        let mut at = 0;
        // Where the head began; before `data` if bytes of it were kept.
        let mut head_at = 0;
        while at < data.len() {
            if self.next == Next::Anything {
                break;
            }
            if self.left > 0 {
                let here = usize::try_from(self.left).unwrap_or(usize::MAX).min(data.len() - at);
                at += here;
                self.left -= here as u64;
                if self.left == 0 && self.more > 0 {
                    out.push_back(data.slice(start..at));
                    start = at;
                    out.push_back(self.next_piece());
                }
                continue;
            }
            if self.head.length == 0 {
                head_at = at;
            }
            let kept = start == 0 && head_at == 0 && self.head.length > at;
            self.head.push(data[at]);
            at += 1;
            let Some(length) = self.head_complete()? else { continue };
            let cut = length > self.piece && self.more > 0;
            if kept || cut {
                // The head is handed over apart: its first bytes came earlier, or it says another length.
                if head_at > start {
                    out.push_back(data.slice(start..head_at));
                }
                if cut {
                    out.push_back(self.next_piece());
                } else {
                    out.push_back(Bytes::copy_from_slice(self.head.bytes()));
                }
                start = at;
            }
            self.head.length = 0;
        }
        if self.head.length > 0 && self.next != Next::Anything {
            // An incomplete head waits, for its length may have to be changed.
            if head_at > start {
                out.push_back(data.slice(start..head_at));
            }
            return Ok(());
        }
        if start < data.len() {
            out.push_back(data.slice(start..));
        }
        Ok(())
    }

    /// The stream is at its end: a head that never became complete is h3's to complain of.
    pub(super) fn finish(&mut self, out: &mut VecDeque<Bytes>) {
        if self.head.length > 0 {
            out.push_back(Bytes::copy_from_slice(self.head.bytes()));
            self.head.length = 0;
        }
    }

    /// Sets what follows a head that is complete, and returns the length it gives.
    fn head_complete(&mut self) -> Result<Option<u64>, TooLarge> {
        if self.next == Next::StreamType {
            let Some(stream_type) = self.head.first() else { return Ok(None) };
            self.next = if stream_type == CONTROL { Next::Frames } else { Next::Anything };
            return Ok(Some(0));
        }
        if self.head.first() == Some(WEBTRANSPORT_STREAM) {
            self.next = Next::Anything;
            return Ok(Some(0));
        }
        let Some((frame_type, length)) = self.head.both() else { return Ok(None) };
        if frame_type == DATA && length > self.piece {
            self.more = length;
        } else if frame_type == DATA || length <= self.max {
            self.left = length;
        } else {
            return Err(TooLarge { frame_type, length, max: self.max });
        }
        Ok(Some(length))
    }

    /// The head of the next piece of a DATA frame.
    fn next_piece(&mut self) -> Bytes {
        self.left = self.more.min(self.piece);
        self.more -= self.left;
        // In the form of eight bytes, which holds any length.
        let mut head = [0; 9];
        head[1..].copy_from_slice(&(self.left | 0b11 << 62).to_be_bytes());
        Bytes::copy_from_slice(&head)
    }
}

/// Reads a variable-length integer (RFC 9000, 16), if it is complete.
fn integer(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (&first, _) = bytes.split_first()?;
    let (value, rest) = bytes.split_at_checked(1 << (first >> 6))?;
    let value = value.iter().fold(0, |all, &byte| all << 8 | u64::from(byte));
    Some((value & (u64::MAX >> 2) >> (62 - (8 * (1_u32 << (first >> 6)) - 2)), rest))
}

/// A frame is longer than allowed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLarge {
    frame_type: u64,
    length: u64,
    max: u64,
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { frame_type, length, max } = self;
        write!(f, "a frame of type {frame_type:#x} has {length} bytes; at most {max} are taken")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes out of `stream` in pieces of at most `at_once` bytes.
    fn through(mut framing: Framing, stream: &[u8], at_once: usize) -> Result<Vec<u8>, TooLarge> {
        let mut out = VecDeque::new();
        for piece in stream.chunks(at_once) {
            framing.push(Bytes::copy_from_slice(piece), &mut out)?;
        }
        framing.finish(&mut out);
        assert!(out.iter().all(|piece| !piece.is_empty()));
        Ok(out.iter().flat_map(|piece| piece.to_vec()).collect())
    }

    fn frame(frame_type: u64, form: u32, payload: &[u8]) -> Vec<u8> {
        let mut frame = encode(frame_type, 0);
        frame.extend(encode(payload.len() as u64, form));
        frame.extend(payload);
        frame
    }

    /// An integer in the shortest form, or one of at least `1 << form` bytes.
    fn encode(value: u64, form: u32) -> Vec<u8> {
        let form = (form..4).find(|form| value >> (8 * (1 << form) - 2) == 0).unwrap();
        let bytes = (value | u64::from(form) << (8 * (1 << form) - 2)).to_be_bytes();
        bytes[8 - (1 << form)..].to_vec()
    }

    #[test]
    fn integers_of_the_rfc() {
        // RFC 9000, A.1.
        for (bytes, value) in [
            (&[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c][..], 151_288_809_941_952_652),
            (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
            (&[0x7b, 0xbd], 15_293),
            (&[0x40, 0x25], 37),
            (&[0x25], 37),
        ] {
            assert_eq!(integer(bytes), Some((value, &[][..])));
            assert_eq!(integer(&bytes[..bytes.len() - 1]), None);
        }
    }

    #[test]
    fn frames_pass_unchanged_however_they_are_cut() {
        let mut stream = Vec::new();
        for form in 0..4 {
            stream.extend(frame(1, form, &[7; 30]));
            stream.extend(frame(DATA, form, &[8; 200]));
            stream.extend(frame(DATA, form, &[]));
            stream.extend(frame(0xf0700, form, b"a reserved one"));
        }
        for at_once in 1..stream.len() + 1 {
            assert_eq!(through(Framing::request(200), &stream, at_once).unwrap(), stream);
            let mut control = vec![0x00];
            control.extend(&stream);
            assert_eq!(through(Framing::unidirectional(200), &control, at_once).unwrap(), control);
            // An end in the middle of anything is passed on.
            assert_eq!(through(Framing::request(200), &stream[..at_once], 3).unwrap(), stream[..at_once]);
        }
    }

    #[test]
    fn long_data_is_cut() {
        let mut stream = frame(1, 0, &[7; 30]);
        stream.extend(frame(DATA, 2, &[8; 250]));
        stream.extend(frame(1, 0, &[9; 30]));
        let mut expected = frame(1, 0, &[7; 30]);
        for length in [100, 100, 50] {
            expected.extend(frame(DATA, 3, &vec![8; length]));
        }
        expected.extend(frame(1, 0, &[9; 30]));
        for at_once in 1..stream.len() + 1 {
            let framing = Framing { piece: 100, ..Framing::request(200) };
            assert_eq!(through(framing, &stream, at_once).unwrap(), expected, "{at_once} at once");
        }
    }

    #[test]
    fn what_would_be_kept_is_bounded() {
        for frame_type in [1, 4, 0x21, 0xf0700] {
            let mut stream = encode(frame_type, 0);
            stream.extend(encode(201, 0));
            let expected = Err(TooLarge { frame_type, length: 201, max: 200 });
            for at_once in 1..4 {
                assert_eq!(through(Framing::request(200), &stream, at_once), expected);
            }
            stream.insert(0, 0x00);
            assert_eq!(through(Framing::unidirectional(200), &stream, 1), expected);
        }
        // Streams that are no control streams have no frames.
        let other = [&[0x02][..], &[0xff; 50]].concat();
        assert_eq!(through(Framing::unidirectional(200), &other, 7).unwrap(), other);
        let webtransport = [&[0x40, 0x41][..], &[0xff; 50]].concat();
        assert_eq!(through(Framing::request(200), &webtransport, 7).unwrap(), webtransport);
    }
}
