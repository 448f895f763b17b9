//! Rust source without its comments and literals, for rules that look for words.

/// `source` with comments, strings and character literals replaced by spaces; the lines stay where they are.
pub(super) fn code_only(source: &str) -> String {
    let bytes = source.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let end = skip(bytes, at);
        if end == at {
            out.push(bytes[at]);
            at += 1;
        } else {
            out.extend(bytes[at..end].iter().map(|&b| if b == b'\n' { b'\n' } else { b' ' }));
            at = end;
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The end of the comment or literal that starts at `at`; `at` if none does.
fn skip(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at..];
    let in_word = at > 0 && is_word(bytes[at - 1]);
    match rest {
        [b'/', b'/', ..] => at + rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len()),
        [b'/', b'*', ..] => block_comment(bytes, at),
        [b'"', ..] => string(bytes, at + 1),
        [b'r' | b'b' | b'c', ..] if !in_word => prefixed(bytes, at),
        [b'\'', b'\\', _, ..] => after(bytes, at + 3, b'\''),
        // A lifetime has no closing quote after one character.
        [b'\'', first, ..] => {
            let width = match first {
                0..0x80 => 1,
                0xf0.. => 4,
                0xe0.. => 3,
                _ => 2,
            };
            if bytes.get(at + 1 + width) == Some(&b'\'') { at + 2 + width } else { at }
        }
        _ => at,
    }
}

/// The end of a literal that starts with `r`, `b` or `c`: `b"`, `br#"`, `b'`, ...; `at` if it is a word.
fn prefixed(bytes: &[u8], at: usize) -> usize {
    let mut quote = at;
    let mut raw = false;
    while let Some(b'r' | b'b' | b'c') = bytes.get(quote) {
        raw |= bytes[quote] == b'r';
        quote += 1;
        if quote - at > 2 {
            return at;
        }
    }
    let hashes = bytes[quote..].iter().take_while(|&&b| b == b'#').count();
    match bytes.get(quote + hashes) {
        Some(b'"') if raw => {
            let mut end = vec![b'"'];
            end.resize(1 + hashes, b'#');
            let start = quote + hashes + 1;
            let length = bytes[start..].windows(end.len()).position(|window| window == end);
            length.map_or(bytes.len(), |length| start + length + end.len())
        }
        Some(b'"') if hashes == 0 => string(bytes, quote + 1),
        Some(b'\'') if hashes == 0 && quote == at + 1 && bytes[at] == b'b' => {
            let escaped = usize::from(bytes.get(quote + 1) == Some(&b'\\'));
            after(bytes, quote + 2 + escaped, b'\'')
        }
        _ => at,
    }
}

fn block_comment(bytes: &[u8], at: usize) -> usize {
    let (mut depth, mut at) = (1, at + 2);
    while depth > 0 && at < bytes.len() {
        match bytes[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    at
}

/// The end of a string whose first character is at `at`.
fn string(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(bytes.len())
}

/// The place behind the next `end` from `at`.
fn after(bytes: &[u8], at: usize, end: u8) -> usize {
    let at = at.min(bytes.len());
    bytes[at..].iter().position(|&b| b == end).map_or(bytes.len(), |length| at + length + 1)
}

fn is_word(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric()
}

/// The numbers, from 1, of the lines of `code` on which `word` stands by itself.
pub(super) fn lines_with<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let has = move |line: &str| {
        line.match_indices(word).any(|(at, _)| {
            let before = line[..at].bytes().next_back();
            let behind = line[at + word.len()..].bytes().next();
            !before.is_some_and(is_word) && !behind.is_some_and(is_word)
        })
    };
    code.lines().enumerate().filter(move |(_, line)| has(line)).map(|(at, _)| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_comments_and_literals_do_not_count() {
        let source = r###"
// unsafe
/* unsafe /* unsafe */ unsafe */
let a = "unsafe \" unsafe";
let b = r#"unsafe " unsafe"#;
let c = br"unsafe"; let d = b"unsafe"; let e = c"unsafe";
let f: &'static str = ""; let g = '"'; let h = b'"'; let i = '\''; let j = b'\''; let k = 'ü';
#![forbid(unsafe_code)] fn not_unsafe() {}
"###;
        let code = code_only(source);
        assert_eq!(lines_with(&code, "unsafe").count(), 0, "{code}");
        assert_eq!(code.lines().count(), source.lines().count());
        assert!(code.contains("fn not_unsafe() {}"));
        assert!(code.contains("&'static str"));
    }

    #[test]
    fn words_in_code_count() {
        let source = "fn f<'a>(x: &'a u8) {\n    // why\n    unsafe { g(x) }\n}\n/* */ unsafe impl Send for A {}\nr#unsafe;bar;\n";
        assert_eq!(lines_with(&code_only(source), "unsafe").collect::<Vec<_>>(), [3, 5, 6]);
    }
}
