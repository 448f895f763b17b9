//! Files that clients send by PUT: stored whole or not at all.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use bytes::Buf;
use h3::error::Code;
use http::StatusCode;
use http::header::{self, HeaderMap};

use super::answer::{Answer, failure};
use super::path::RequestPath;
use super::root::Root;
use super::session::{Broken, RequestStream};

/// Where files are stored, and how large they may be.
#[derive(Debug)]
pub(super) struct Uploads {
    pub(super) root: Root,
    pub(super) most: u64,
}

/// A file on its way, removed unless it was stored.
struct Part<'a> {
    root: &'a Root,
    path: PathBuf,
    file: File,
    stored: bool,
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        if !self.stored {
            // Nothing more can be done for one that cannot be removed.
            let _ = self.root.remove(&self.path);
        }
    }
}

impl Uploads {
    /// Takes the content of a PUT and returns the answer.
    ///
    /// # Errors
    /// If the content did not come to its end; nothing is left of it then.
    pub(super) async fn take(
        &self,
        path: &RequestPath,
        headers: &HeaderMap,
        stream: &mut RequestStream,
    ) -> Result<Answer, Broken> {
        let announced = match headers.get(header::CONTENT_LENGTH).map(|field| field.to_str()) {
            None => None,
            Some(field) => match field.ok().and_then(|field| field.parse::<u64>().ok()) {
                Some(length) => Some(length),
                None => return Ok(Answer::error(StatusCode::BAD_REQUEST, "Content-Length is no number")),
            },
        };
        if announced.is_some_and(|length| length > self.most) {
            return Ok(self.too_large());
        }
        if headers.contains_key(header::CONTENT_RANGE) {
            // RFC 9110, 14.5: a part must not be stored as the whole.
            return Ok(Answer::error(
                StatusCode::BAD_REQUEST,
                "parts of files are not taken; send the whole",
            ));
        }
        let Some(name) = path.name().filter(|_| !path.directory) else {
            return Ok(Answer::error(StatusCode::CONFLICT, "the path is a directory's; name a file"));
        };
        let target = path.below();
        let mut part = match self.begin(&target, name) {
            Ok(part) => part,
            Err(error) => return Ok(refused(&error)),
        };
        let mut received = 0;
        while let Some(mut data) = stream.recv_data().await? {
            received += data.remaining() as u64;
            if received > self.most {
                return Ok(self.too_large());
            }
            while data.has_remaining() {
                let chunk = data.chunk();
                let length = chunk.len();
                if let Err(error) = part.file.write_all(chunk) {
                    return Ok(refused(&error));
                }
                data.advance(length);
            }
        }
        // Frames after trailers are illegal, and are found here.
        stream.recv_trailers().await?;
        if announced.is_some_and(|length| length != received) {
            // RFC 9114, 4.1.2: a message is malformed whose content has not the length that it says.
            stream.stop_stream(Code::H3_MESSAGE_ERROR);
            return Err(Broken(format!("{received} bytes came and not those of Content-Length")));
        }
        let replaced = self.root.exists(&target);
        if let Err(error) = part.file.sync_all().and_then(|()| self.root.rename(&part.path, &target)) {
            return Ok(refused(&error));
        }
        part.stored = true;
        let mut answer = Answer::empty(if replaced { StatusCode::NO_CONTENT } else { StatusCode::CREATED });
        answer.note = Some(format!("stored {received} bytes"));
        Ok(answer)
    }

    /// Makes a file beside the one that is to be.
    fn begin(&self, target: &Path, name: &str) -> io::Result<Part<'_>> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
        let random = u64::from_le_bytes(random);
        let path = target.with_file_name(format!(".{name}.{random:016x}.part"));
        let file = self.root.create_new(&path)?;
        Ok(Part { root: &self.root, path, file, stored: false })
    }

    fn too_large(&self) -> Answer {
        let why = format!("files of more than {} bytes are not taken", self.most);
        Answer::error(StatusCode::PAYLOAD_TOO_LARGE, &why)
    }
}

/// The answer for a file that cannot be stored.
fn refused(error: &io::Error) -> Answer {
    let mut answer = match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            Answer::error(StatusCode::CONFLICT, "there is no such directory")
        }
        io::ErrorKind::IsADirectory | io::ErrorKind::DirectoryNotEmpty => {
            Answer::error(StatusCode::CONFLICT, "there is a directory of this name")
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Answer::error(StatusCode::INSUFFICIENT_STORAGE, "there is no room for it")
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::InvalidFilename => failure(error),
        _ => Answer::error(StatusCode::INTERNAL_SERVER_ERROR, "the file cannot be stored"),
    };
    answer.note = Some(format!("not stored: {error}"));
    answer
}
