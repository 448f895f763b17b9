//! Multiples of the keys that came more than once, which make the next verification faster: those of authorities, and of servers
//! that are connected to again.
//!
//! They follow from the key alone. No signature is remembered, nor whether one was good.

use std::cell::RefCell;

use super::PublicKey;
use super::point::Split;

/// Keys that are known at once, to each thread. One takes 4.7 kB once it has multiples.
const MOST: usize = 16;

/// Keys, the one that came last in front.
struct Keys(Vec<Known>);

struct Known {
    key: [u8; 64],
    /// Made when the key comes again: they cost more than they save the first time.
    multiples: Option<Box<Split<8>>>,
}

thread_local! {
    static KEYS: RefCell<Keys> = const { RefCell::new(Keys(Vec::new())) };
}

/// Calls `verify` with the key's multiples, if it has come before.
pub(super) fn with_multiples<R>(key: &PublicKey, verify: impl FnOnce(Option<&Split<8>>) -> R) -> R {
    KEYS.with_borrow_mut(|keys| verify(keys.multiples(key)))
}

#[cfg(test)]
pub(super) fn forget() {
    KEYS.with_borrow_mut(|keys| keys.0.clear());
}

impl Keys {
    fn multiples(&mut self, key: &PublicKey) -> Option<&Split<8>> {
        let Some(at) = self.0.iter().position(|known| known.key == key.bytes) else {
            self.0.truncate(MOST - 1);
            self.0.insert(0, Known { key: key.bytes, multiples: None });
            return None;
        };
        self.0[..=at].rotate_right(1);
        let multiples = &mut self.0[0].multiples;
        Some(multiples.get_or_insert_with(|| Box::new(Split::new(&key.point))))
    }
}

#[cfg(test)]
mod tests {
    use p256::ecdsa::SigningKey;

    use super::*;

    fn key(which: u8) -> PublicKey {
        let key = SigningKey::from_slice(&[which; 32]).expect("a scalar");
        PublicKey::decode(key.verifying_key().to_sec1_point(false).as_bytes()).expect("a key")
    }

    #[test]
    fn a_key_that_comes_again_has_multiples() {
        let mut keys = Keys(Vec::new());
        assert!(keys.multiples(&key(1)).is_none());
        assert!(keys.multiples(&key(2)).is_none());
        assert!(keys.multiples(&key(1)).is_some());
        assert!(keys.multiples(&key(1)).is_some());
        assert!(keys.multiples(&key(2)).is_some());
    }

    /// Their x coordinates are equal.
    #[test]
    fn a_key_has_no_multiples_of_its_inverse() {
        let secret = SigningKey::from_slice(&[1; 32]).expect("a scalar");
        let inverse = SigningKey::from(-*secret.as_nonzero_scalar());
        let [key, inverse] = [secret, inverse].map(|key| {
            PublicKey::decode(key.verifying_key().to_sec1_point(false).as_bytes()).expect("a key")
        });
        let mut keys = Keys(Vec::new());
        assert!(keys.multiples(&key).is_none());
        assert!(keys.multiples(&key).is_some());
        assert!(keys.multiples(&inverse).is_none());
    }

    #[test]
    fn the_key_that_was_not_used_longest_goes() {
        let mut keys = Keys(Vec::new());
        let most = MOST as u8;
        for which in 1..=most {
            assert!(keys.multiples(&key(which)).is_none());
        }
        assert!(keys.multiples(&key(1)).is_some());
        assert!(keys.multiples(&key(most + 1)).is_none());
        assert_eq!(keys.0.len(), MOST);
        assert!(keys.multiples(&key(1)).is_some());
        assert!(keys.multiples(&key(2)).is_none(), "it was the oldest");
    }
}
