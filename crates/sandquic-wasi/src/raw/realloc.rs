//! The allocator that the host uses for the lists it returns from imports.

use std::cell::Cell;
use std::ptr::{self, NonNull};

/// Room for the lists of bytes that the call under way may return.
struct Offer {
    at: Cell<*mut u8>,
    len: Cell<usize>,
    /// What is taken of it, from its beginning.
    used: Cell<usize>,
}

// SAFETY: a component of wasm32 has one thread.
unsafe impl Sync for Offer {}

static OFFER: Offer = Offer { at: Cell::new(ptr::null_mut()), len: Cell::new(0), used: Cell::new(0) };

/// Make the call `call` with room for the lists of bytes that it may return, one after another, and tell how much of the
/// room it took. A call that does not return at once gets other memory later.
pub(super) fn offering<T>(room: Option<(NonNull<u8>, usize)>, call: impl FnOnce() -> T) -> (T, usize) {
    let Some((at, len)) = room else { return (call(), 0) };
    OFFER.at.set(at.as_ptr());
    OFFER.len.set(len);
    OFFER.used.set(0);
    let result = call();
    OFFER.len.set(0);
    // Whatever is at these addresses later was not offered.
    (result, OFFER.used.take())
}

unsafe extern "C" {
    /// The allocator of everything else. `wit-bindgen` has one under this name, which uses the program's own.
    fn cabi_realloc(old: *mut u8, old_len: usize, align: usize, new_len: usize) -> *mut u8;
}

/// What `wit-component` gives to the host as the allocator for imports.
///
/// # Safety
///
/// As for `realloc` of the canonical ABI: `old` is null or was returned by this, for `old_len` bytes.
// SAFETY: nothing else has this name, which the component's tools prescribe.
#[unsafe(no_mangle)]
unsafe extern "C" fn cabi_import_realloc(
    old: *mut u8,
    old_len: usize,
    align: usize,
    new_len: usize,
) -> *mut u8 {
    let used = OFFER.used.get();
    if old_len == 0 && align == 1 && new_len > 0 && new_len <= OFFER.len.get().saturating_sub(used) {
        OFFER.used.set(used + new_len);
        return OFFER.at.get().wrapping_add(used);
    }
    let offset = old.addr().wrapping_sub(OFFER.at.get().addr());
    if old_len > 0 && offset < used {
        // A list that grows beyond its first guess, which a host may do with text, and leaves the room.
        if offset + old_len == used {
            OFFER.used.set(offset);
        }
        // SAFETY: a new block.
        let new = unsafe { cabi_realloc(ptr::null_mut(), 0, align, new_len) };
        // SAFETY: as many bytes as both have; the new block is nobody else's.
        unsafe { old.copy_to_nonoverlapping(new, old_len.min(new_len)) };
        return new;
    }
    // SAFETY: as the caller promises, and `old` is no room that was offered.
    unsafe { cabi_realloc(old, old_len, align, new_len) }
}
