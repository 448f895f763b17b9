//! AES in counter mode against SP 800-38A and RustCrypto's crate `ctr`.

mod common;

use aead::consts::U16;
use common::{Random, hex};
use sandquic_crypto::aes::{Aes128, Aes128Ctr, Aes192Ctr, Aes256Ctr};
use sandquic_crypto::cipher::{InnerIvInit, Iv, Key, KeyIvInit, StreamCipher, StreamCipherSeek};

/// Bytes of the keystream.
const END: u128 = (1 << 70) - 64;

/// Both implementations with the same key and initial value.
fn pair<Ours, Theirs>(key: &Key<Ours>, iv: u128) -> (Ours, Theirs)
where
    Ours: KeyIvInit<IvSize = U16>,
    Theirs: KeyIvInit<IvSize = U16, KeySize = Ours::KeySize>,
{
    let iv: Iv<Ours> = iv.to_be_bytes().into();
    (Ours::new(key, &iv), Theirs::new(key, &iv))
}

/// Initial values: any; 32, 64 and all 128 bits that soon wrap; the last byte so that batches of eight wrap it.
fn initial_values(random: &mut Random) -> [u128; 6] {
    let any = u128::from_be_bytes(random.array());
    [
        any,
        any | 0xffff_fffd,
        (any | u128::from(u64::MAX)) - 9,
        u128::MAX,
        u128::MAX - 36,
        (any & !0xff) | 0xfb,
    ]
}

fn check<Ours, Theirs>(seed: u64)
where
    Ours: KeyIvInit<IvSize = U16> + StreamCipher + StreamCipherSeek,
    Theirs: KeyIvInit<IvSize = U16, KeySize = Ours::KeySize> + StreamCipher + StreamCipherSeek,
{
    let mut random = Random::new(seed);
    let mut key = Key::<Ours>::default();
    random.fill(&mut key);
    let data = random.bytes(600);
    for iv in initial_values(&mut random) {
        // Every length.
        for length in 0..=if common::small() { 300 } else { data.len() } {
            let (mut ours, mut theirs) = pair::<Ours, Theirs>(&key, iv);
            let (mut got, mut want) = (data[..length].to_vec(), data[..length].to_vec());
            ours.apply_keystream(&mut got);
            theirs.apply_keystream(&mut want);
            assert!(got == want, "{length} bytes from {iv:#034x}");
            assert_eq!(ours.current_pos::<usize>(), length);
        }
        // Pieces of every size, and of sizes that change.
        let (_, mut theirs) = pair::<Ours, Theirs>(&key, iv);
        let mut want = data.clone();
        theirs.apply_keystream(&mut want);
        for piece in (1..=200).step_by(if common::small() { 7 } else { 1 }) {
            let (mut ours, _) = pair::<Ours, Theirs>(&key, iv);
            let mut got = data.clone();
            got.chunks_mut(piece).for_each(|chunk| ours.apply_keystream(chunk));
            assert!(got == want, "pieces of {piece} from {iv:#034x}");
        }
        // The keystream alone.
        let (mut ours, mut theirs) = pair::<Ours, Theirs>(&key, iv);
        let (mut got, mut want) = ([1; 333], [0; 333]);
        ours.write_keystream(&mut got);
        theirs.apply_keystream(&mut want);
        assert!(got == want, "the keystream from {iv:#034x}");
        // Seeks, some of them across the counter's lower words.
        let (mut ours, mut theirs) = pair::<Ours, Theirs>(&key, iv);
        for round in 0..if common::small() { 40 } else { 400 } {
            let near = [0, 16 << 32, 1 << 40, 16 << 60, (16 << 64) - 1000, END - 4096][round % 6];
            let pos: u128 = near + random.below(2000) as u128;
            let length = random.below(700);
            ours.seek(pos);
            theirs.seek(pos);
            assert_eq!(ours.current_pos::<u128>(), pos);
            let (mut got, mut want) = (data[..length.min(600)].to_vec(), data[..length.min(600)].to_vec());
            ours.apply_keystream(&mut got);
            theirs.apply_keystream(&mut want);
            assert!(got == want, "{length} bytes at {pos} from {iv:#034x}");
        }
    }
    // A long message whose counter wraps in the middle of it.
    let long = random.bytes(100_003);
    let (mut ours, mut theirs) = pair::<Ours, Theirs>(&key, 0xff_ffff_ffff_ffff - 3000);
    let (mut got, mut want) = (long.clone(), long);
    ours.apply_keystream(&mut got[1..]);
    theirs.apply_keystream(&mut want[1..]);
    assert!(got == want, "100002 bytes");
}

#[test]
fn aes_128_against_rustcrypto() {
    check::<Aes128Ctr, ctr::Ctr128BE<aes::Aes128>>(128);
}

#[test]
fn aes_192_against_rustcrypto() {
    check::<Aes192Ctr, ctr::Ctr128BE<aes::Aes192>>(192);
}

#[test]
fn aes_256_against_rustcrypto() {
    check::<Aes256Ctr, ctr::Ctr128BE<aes::Aes256>>(256);
}

/// As long as GCM's counter does not wrap, it is the same.
#[test]
fn gcm_has_the_same_counter() {
    let (key, iv) = ([3; 16], [0x51; 16]);
    let (mut got, mut want) = ([7; 500], [7; 500]);
    Aes128Ctr::new(&key.into(), &iv.into()).apply_keystream(&mut got);
    ctr::Ctr32BE::<aes::Aes128>::new(&key.into(), &iv.into()).apply_keystream(&mut want);
    assert_eq!(got, want);
}

/// SP 800-38A, appendix F.5: encryption (F.5.1, F.5.3, F.5.5) and decryption (F.5.2, F.5.4, F.5.6).
#[test]
fn sp800_38a_appendix_f_5() {
    fn vector<C: KeyIvInit<IvSize = U16> + StreamCipher>(key: &str, sealed: &str) {
        let iv = hex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff");
        let plain = hex("6bc1bee22e409f96e93d7e117393172a ae2d8a571e03ac9c9eb76fac45af8e51
             30c81c46a35ce411e5fbc1191a0a52ef f69f2445df4f9b17ad2b417be66c3710");
        let mut data = plain.clone();
        C::new_from_slices(&hex(key), &iv).unwrap().apply_keystream(&mut data);
        assert_eq!(data, hex(sealed));
        C::new_from_slices(&hex(key), &iv).unwrap().apply_keystream(&mut data);
        assert_eq!(data, plain);
    }
    vector::<Aes128Ctr>(
        "2b7e151628aed2a6abf7158809cf4f3c",
        "874d6191b620e3261bef6864990db6ce 9806f66b7970fdff8617187bb9fffdff
         5ae4df3edbd5d35e5b4f09020db03eab 1e031dda2fbe03d1792170a0f3009cee",
    );
    vector::<Aes192Ctr>(
        "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
        "1abc932417521ca24f2b0459fe7e6e0b 090339ec0aa6faefd5ccc2c6f4ce8e94
         1e36b26bd1ebc670d1bd1d665620abf7 4f78a7f6d29809585a97daec58c6b050",
    );
    vector::<Aes256Ctr>(
        "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
        "601ec313775789a5b7a7f504bbf3d228 f443e3ca4d62b59aca84e990cacaf5c5
         2b0930daa23de94ce87017ba2d84988d dfc9c58db67aada613c2dd08457941a6",
    );
}

#[test]
fn the_end_is_an_error_that_changes_nothing() {
    for left in [0usize, 1, 63, 64, 65, 128, 200, 700] {
        let (key, iv) = ([9; 16].into(), u128::MAX / 3);
        let (mut cipher, mut theirs) = pair::<Aes128Ctr, ctr::Ctr128BE<aes::Aes128>>(&key, iv);
        cipher.seek(END - left as u128);
        let mut data = vec![5; left + 1];
        assert!(cipher.check_remaining(left + 1).is_err());
        assert!(cipher.try_apply_keystream(&mut data).is_err());
        assert!(data.iter().all(|byte| *byte == 5), "an error changed the data");
        assert_eq!(cipher.current_pos::<u128>(), END - left as u128);
        cipher.try_apply_keystream(&mut data[..left]).unwrap();
        theirs.seek(END - left as u128);
        let mut want = vec![5; left];
        theirs.apply_keystream(&mut want);
        assert_eq!(data[..left], want);
        assert!(cipher.try_apply_keystream(&mut data[..1]).is_err());
    }
    let mut cipher = Aes128Ctr::new(&[9; 16].into(), &[1; 16].into());
    assert!(cipher.try_seek(END + 1).is_err());
    assert!(cipher.try_seek(-1).is_err());
    cipher.seek(1u64 << 33);
    assert!(cipher.try_current_pos::<u32>().is_err());
}

#[test]
fn from_an_expanded_key() {
    use sandquic_crypto::cipher::KeyInit;

    let aes = Aes128::new(&[8; 16].into());
    let (mut got, mut want) = ([0; 99], [0; 99]);
    Aes128Ctr::inner_iv_init(aes, &[2; 16].into()).apply_keystream(&mut got);
    Aes128Ctr::new(&[8; 16].into(), &[2; 16].into()).apply_keystream(&mut want);
    assert_eq!(got, want);
}

#[test]
fn debug_shows_nothing() {
    let shown = format!("{:?}", Aes128Ctr::new(&[0xab; 16].into(), &[0xcd; 16].into()));
    assert_eq!(shown, "Aes128Ctr { .. }");
}
