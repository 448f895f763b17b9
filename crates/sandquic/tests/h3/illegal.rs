//! What a client that breaks the rules of RFC 9114 gets from a server over our transport.

use std::time::Duration;

use sandquic::h3::Connection as Transport;
use sandquic::{Connection, ConnectionError, ReadError, ReadToEndError, VarInt};

use super::ours::echo;
use super::{pair, with_patience};

const FRAME_UNEXPECTED: u32 = 0x105;
const FRAME_ERROR: u32 = 0x106;
const EXCESSIVE_LOAD: u32 = 0x107;

/// A frame with a length below 16384.
fn frame(frame_type: u8, payload: &[u8]) -> Vec<u8> {
    let length = 0x4000 | payload.len() as u16;
    [&[frame_type][..], &length.to_be_bytes(), payload].concat()
}

/// A section of fields by RFC 9204 with the static table alone: a GET of `/` on localhost, then more.
fn get(more: &[u8]) -> Vec<u8> {
    let fields = [&[0, 0, 0xd1, 0xd7, 0xc1, 0x50, 9][..], b"localhost", more].concat();
    frame(1, &fields)
}

/// A stream of the client's own, with its type first.
async fn unidirectional(client: &Connection, content: &[u8], end: bool) {
    let mut stream = client.open_uni().await.unwrap();
    stream.write_all(content).await.unwrap();
    if end {
        stream.finish().unwrap();
    } else {
        // It stays open for as long as the connection.
        std::mem::forget(stream);
    }
}

/// A request's stream, and what became of it.
async fn request(client: &Connection, content: &[u8], end: bool) -> Result<Vec<u8>, ReadToEndError> {
    let (mut send, mut recv) = client.open_bi().await.unwrap();
    // The server may refuse it before all is written.
    let _ = send.write_all(content).await;
    if end {
        let _ = send.finish();
    }
    recv.read_to_end(1 << 20).await
}

/// The code that the server ends a connection with after `offence`.
fn closed_with(offence: impl AsyncFnOnce(&Connection)) -> u32 {
    with_patience(async {
        let (client, server, _endpoints) = pair().await;
        tokio::spawn(echo(Transport::new(server).max_frame_size(20_000)));
        offence(&client).await;
        match client.closed().await {
            ConnectionError::ApplicationClosed(close) => u64::from(close.error_code) as u32,
            other => panic!("{other}"),
        }
    })
}

/// The code that the server resets a request with; the connection goes on.
fn reset_with(content: &[u8], end: bool) -> u32 {
    with_patience(async {
        let (client, server, _endpoints) = pair().await;
        tokio::spawn(echo(Transport::new(server).max_frame_size(20_000)));
        unidirectional(&client, &[0, 4, 0], false).await;
        let Err(ReadToEndError::Read(ReadError::Reset(code))) = request(&client, content, end).await else {
            panic!("the request was not reset");
        };
        // The next is answered.
        let answer = request(&client, &get(&[]), true).await.unwrap();
        assert_eq!(answer[0], 1, "a HEADERS frame");
        assert!(client.close_reason().is_none());
        code.into_inner() as u32
    })
}

#[test]
fn control_streams() {
    let settings = frame(4, &[]);
    let control = |frames: &[u8]| [&[0], &settings[..], frames].concat();
    let cases: &[(&str, Vec<u8>, bool, u32)] = &[
        ("SETTINGS twice", control(&settings), false, FRAME_UNEXPECTED),
        ("no SETTINGS first", [&[0], &frame(7, &[0])[..]].concat(), false, 0x10a),
        ("a setting of HTTP/2", [&[0], &frame(4, &[0x02, 0])[..]].concat(), false, 0x109),
        ("a setting twice", [&[0], &frame(4, &[0x06, 9, 0x06, 9])[..]].concat(), false, 0x109),
        ("DATA", control(&frame(0, b"x")), false, FRAME_UNEXPECTED),
        ("HEADERS", control(&get(&[])), false, FRAME_UNEXPECTED),
        ("PUSH_PROMISE", control(&frame(5, &[0, 0, 0])), false, FRAME_UNEXPECTED),
        ("a PING of HTTP/2", control(&frame(6, &[0; 8])), false, FRAME_UNEXPECTED),
        ("its end", control(&[]), true, 0x104),
        ("a frame that is too long", control(&[0x21, 0x80, 1, 0, 0]), false, EXCESSIVE_LOAD),
        (
            "a length of 2^62 - 1",
            control(&[0x21, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
            false,
            EXCESSIVE_LOAD,
        ),
    ];
    for (name, content, end, code) in cases {
        let found = closed_with(async |client| unidirectional(client, content, *end).await);
        assert_eq!(found, *code, "{name}: {found:#x}");
    }
    let found = closed_with(async |client| {
        unidirectional(client, &control(&[]), false).await;
        unidirectional(client, &control(&[]), false).await;
    });
    assert_eq!(found, 0x103, "two control streams");
}

#[test]
fn requests_that_end_the_connection() {
    let cases: &[(&str, Vec<u8>, u32)] = &[
        ("DATA first", frame(0, b"x"), FRAME_UNEXPECTED),
        ("SETTINGS", frame(4, &[]), FRAME_UNEXPECTED),
        ("SETTINGS after HEADERS", [get(&[]), frame(4, &[])].concat(), FRAME_UNEXPECTED),
        ("a frame that is cut off", get(&[])[..8].to_vec(), FRAME_ERROR),
        ("DATA after trailers", [get(&[]), frame(1, &[0, 0]), frame(0, b"x")].concat(), FRAME_UNEXPECTED),
        ("a reference to an empty dynamic table", frame(1, &[2, 0, 0x80]), 0x200),
    ];
    for (name, content, code) in cases {
        let found = closed_with(async |client| {
            unidirectional(client, &[0, 4, 0], false).await;
            let _ = request(client, content, true).await;
        });
        assert_eq!(found, *code, "{name}: {found:#x}");
    }
}

#[test]
fn requests_that_are_refused_alone() {
    let upper_case = get(&[0x23, b'X', b'-', b'A', 1, b'v']);
    assert_eq!(reset_with(&upper_case, true), 0x10e, "a name in upper case");
    let no_path = frame(1, &[&[0, 0, 0xd1, 0xd7, 0x50, 9][..], b"localhost"].concat());
    assert_eq!(reset_with(&no_path, true), 0x10e, "no :path");
    assert_eq!(reset_with(&[], true), 0x10d, "nothing");
    assert_eq!(reset_with(&[0x01, 0x80, 0, 0x50, 0], false), EXCESSIVE_LOAD, "HEADERS of 20480 bytes");
    assert_eq!(
        reset_with(&[0x21, 0xc0, 0, 0, 1, 0, 0, 0, 0], false),
        EXCESSIVE_LOAD,
        "a reserved frame of 4 GiB"
    );
}

#[test]
fn unknown_frames_and_streams_are_passed_over() {
    with_patience(async {
        let (client, server, _endpoints) = pair().await;
        tokio::spawn(echo(Transport::new(server)));
        let settings = frame(4, &[0x40, 0x21, 7]);
        let reserved = frame(0x21, b"reserved");
        unidirectional(&client, &[&[0], &settings[..], &reserved].concat(), false).await;
        unidirectional(&client, &[0x21, 1, 2, 3], true).await;
        let content = [&reserved[..], &get(&[]), &reserved, &frame(0, b"content"), &reserved].concat();
        let answer = request(&client, &content, true).await.unwrap();
        assert!(answer.windows(7).any(|window| window == b"content"));
        // One that says nothing for now does not stop the others.
        let (_send, _recv) = client.open_bi().await.unwrap();
        request(&client, &get(&[]), true).await.unwrap();
        assert!(client.close_reason().is_none());
        client.close(VarInt::from_u32(0x100), b"");
        tokio::time::sleep(Duration::from_millis(1)).await;
    });
}
