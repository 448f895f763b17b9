//! The import `sandquic:bench/aead`, with ring's AEADs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ring::aead::{self, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use sandquic_host::wasmtime::component::{
    ComponentType, Lift, Linker, Resource, ResourceTable, ResourceType, WasmList,
};
use sandquic_host::wasmtime::{self, Error, Result, StoreContextMut};
use sandquic_host::{RunOptions, State};

/// The name of the interface.
pub const INTERFACE: &str = "sandquic:bench/aead";

/// What crossed the boundary during a run.
#[derive(Debug, Default)]
pub struct Counts {
    calls: AtomicU64,
    bytes_copied: AtomicU64,
    keys_made: AtomicU64,
    keys_dropped: AtomicU64,
}

impl Counts {
    /// Calls of the interface's functions: keys made, messages sealed and opened, also in vain. Dropping a handle is
    /// none.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Bytes that were copied from the component's memory to the host's or back: each message into the host, and each
    /// result into the component. Nonces, associated data, tags and new keys are read where they lie.
    pub fn bytes_copied(&self) -> u64 {
        self.bytes_copied.load(Ordering::Relaxed)
    }

    /// Keys that were made.
    pub fn keys_made(&self) -> u64 {
        self.keys_made.load(Ordering::Relaxed)
    }

    /// Keys whose handle was dropped, and which the host forgot.
    pub fn keys_dropped(&self) -> u64 {
        self.keys_dropped.load(Ordering::Relaxed)
    }

    fn copied(&self, bytes: usize) {
        self.bytes_copied.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

/// Adds the interface to a host; see [`Host::with_imports`](sandquic_host::Host::with_imports). A run needs what
/// [`prepare`] puts into its options.
///
/// # Errors
/// The linker has the interface already.
pub fn add_to_linker(linker: &mut Linker<State>) -> Result<()> {
    let mut interface = linker.instance(INTERFACE)?;
    interface.resource("key", ResourceType::host::<Key>(), |mut store, handle| {
        let run = run_mut(&mut store)?;
        run.keys.delete(Resource::<Key>::new_own(handle))?;
        run.counts.keys_dropped.fetch_add(1, Ordering::Relaxed);
        Ok(())
    })?;
    interface.func_wrap("[constructor]key", new_key)?;
    interface.func_wrap("[method]key.seal", seal)?;
    interface.func_wrap("[method]key.open", open)
}

/// Gives a run its keys, none at first, and returns what is counted while it goes on.
pub fn prepare(options: &mut RunOptions) -> Arc<Counts> {
    let counts = Arc::new(Counts::default());
    options.extensions.insert(Run { keys: ResourceTable::new(), counts: counts.clone() });
    counts
}

/// What the functions of one run share.
struct Run {
    keys: ResourceTable,
    counts: Arc<Counts>,
}

/// A key behind a handle.
struct Key(LessSafeKey);

#[derive(Clone, Copy, ComponentType, Lift)]
#[component(enum)]
#[repr(u8)]
#[allow(dead_code, reason = "the engine makes them of what a component hands over")]
enum Algorithm {
    #[component(name = "aes128-gcm")]
    Aes128Gcm,
    #[component(name = "aes256-gcm")]
    Aes256Gcm,
    #[component(name = "chacha20-poly1305")]
    ChaCha20Poly1305,
}

type Store<'a> = StoreContextMut<'a, State>;
type Bytes = WasmList<u8>;
/// The interface's `result<list<u8>>`.
type Outcome = (Result<Vec<u8>, ()>,);

fn run<'a>(store: &'a Store<'_>) -> Result<&'a Run> {
    store.data().extension().ok_or_else(unprepared)
}

fn run_mut<'a>(store: &'a mut Store<'_>) -> Result<&'a mut Run> {
    store.data_mut().extension_mut().ok_or_else(unprepared)
}

fn unprepared() -> Error {
    Error::msg("the embedder started the run without `prepare`")
}

fn new_key(mut store: Store<'_>, (algorithm, bytes): (Algorithm, Bytes)) -> Result<(Resource<Key>,)> {
    let algorithm = match algorithm {
        Algorithm::Aes128Gcm => &aead::AES_128_GCM,
        Algorithm::Aes256Gcm => &aead::AES_256_GCM,
        Algorithm::ChaCha20Poly1305 => &aead::CHACHA20_POLY1305,
    };
    let bytes = bytes.as_le_slice(&store);
    let key = UnboundKey::new(algorithm, bytes).map_err(|_| {
        Error::msg(format!("a key of {} bytes, where {} are needed", bytes.len(), algorithm.key_len()))
    })?;
    let run = run_mut(&mut store)?;
    run.counts.calls.fetch_add(1, Ordering::Relaxed);
    run.counts.keys_made.fetch_add(1, Ordering::Relaxed);
    Ok((run.keys.push(Key(LessSafeKey::new(key)))?,))
}

fn seal(store: Store<'_>, (key, nonce, aad, data): (Resource<Key>, Bytes, Bytes, Bytes)) -> Result<Outcome> {
    let run = run(&store)?;
    run.counts.calls.fetch_add(1, Ordering::Relaxed);
    let Key(key) = run.keys.get(&key)?;
    let Some(nonce) = nonce_of(nonce.as_le_slice(&store)) else { return Ok((Err(()),)) };
    let data = data.as_le_slice(&store);
    let mut bytes = Vec::with_capacity(data.len() + key.algorithm().tag_len());
    bytes.extend_from_slice(data);
    run.counts.copied(data.len());
    let sealed = key.seal_in_place_append_tag(nonce, Aad::from(aad.as_le_slice(&store)), &mut bytes);
    Ok((answer(run, sealed.map(|()| bytes)),))
}

fn open(
    store: Store<'_>,
    (key, nonce, aad, data, tag): (Resource<Key>, Bytes, Bytes, Bytes, Bytes),
) -> Result<Outcome> {
    let run = run(&store)?;
    run.counts.calls.fetch_add(1, Ordering::Relaxed);
    let Key(key) = run.keys.get(&key)?;
    let Some(nonce) = nonce_of(nonce.as_le_slice(&store)) else { return Ok((Err(()),)) };
    let (data, tag) = (data.as_le_slice(&store), tag.as_le_slice(&store));
    if tag.len() != key.algorithm().tag_len() {
        return Ok((Err(()),));
    }
    // ring takes both in one piece: the tag is copied to where the data is copied to.
    let mut bytes = Vec::with_capacity(data.len() + tag.len());
    bytes.extend_from_slice(data);
    bytes.extend_from_slice(tag);
    run.counts.copied(bytes.len());
    let opened =
        key.open_in_place(nonce, Aad::from(aad.as_le_slice(&store)), &mut bytes).map(|text| text.len());
    let opened = opened.map(|length| {
        bytes.truncate(length);
        bytes
    });
    Ok((answer(run, opened),))
}

fn nonce_of(bytes: &[u8]) -> Option<Nonce> {
    let bytes: [u8; NONCE_LEN] = bytes.try_into().ok()?;
    Some(Nonce::assume_unique_for_key(bytes))
}

/// What goes back; the engine copies it into the component's memory.
fn answer(run: &Run, outcome: Result<Vec<u8>, ring::error::Unspecified>) -> Result<Vec<u8>, ()> {
    let bytes = outcome.map_err(|_| ())?;
    run.counts.copied(bytes.len());
    Ok(bytes)
}
