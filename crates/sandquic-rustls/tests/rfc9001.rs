//! The sample packets of RFC 9001, appendix A, as far as this layer makes them, and the limits of section 6.6.

mod common;

use common::hex;
use rustls::crypto::cipher::{AeadKey, Iv};
use rustls::crypto::tls13::{HkdfExpander, OkmBlock};
use rustls::quic::{self, Keys, Version};
use rustls::{Side, Tls13CipherSuite};
use sandquic_rustls::cipher_suite::{
    TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384, TLS13_CHACHA20_POLY1305_SHA256,
};
use sandquic_rustls::ciphers::{Ciphers, DefaultCiphers, HeaderMask};

const CONNECTION_ID: &str = "8394c8f03e515708";

fn aes_128() -> &'static Tls13CipherSuite {
    TLS13_AES_128_GCM_SHA256.tls13().unwrap()
}

fn initial(side: Side) -> Keys {
    let suite = aes_128();
    Keys::initial(Version::V1, suite, suite.quic.unwrap(), &hex(CONNECTION_ID), side)
}

/// HKDF-Expand-Label with an empty context (RFC 8446, 7.1).
fn expand_label(secret: &dyn HkdfExpander, label: &str, len: usize) -> Vec<u8> {
    let label = format!("tls13 {label}");
    let mut out = vec![0; len];
    secret
        .expand_slice(&[&(len as u16).to_be_bytes(), &[label.len() as u8], label.as_bytes(), &[0]], &mut out)
        .unwrap();
    out
}

fn expander(secret: &[u8]) -> Box<dyn HkdfExpander> {
    aes_128().hkdf_provider.expander_for_okm(&OkmBlock::new(secret))
}

fn iv12(iv: &[u8]) -> Iv {
    let iv: [u8; 12] = iv.try_into().unwrap();
    iv.into()
}

/// A key of `N` bytes for rustls, which makes keys of 32 bytes from outside.
fn key32(bytes: &[u8]) -> AeadKey {
    AeadKey::from(<[u8; 32]>::try_from(bytes).unwrap())
}

/// Protects a packet and compares; then takes the protection off and compares.
fn check(
    local: (&dyn quic::PacketKey, &dyn quic::HeaderProtectionKey),
    remote: (&dyn quic::PacketKey, &dyn quic::HeaderProtectionKey),
    packet_number: (u64, usize),
    header: &[u8],
    payload: &[u8],
    expected: &[u8],
) {
    let (number, number_len) = packet_number;
    let number_at = header.len() - number_len;
    let mut packet = [header, payload].concat();
    let tag = local.0.encrypt_in_place(number, header, &mut packet[header.len()..]).unwrap();
    packet.extend_from_slice(tag.as_ref());
    apply(&mut packet, number_at, |sample, first, number| local.1.encrypt_in_place(sample, first, number));
    assert_eq!(packet, expected);

    apply(&mut packet, number_at, |sample, first, number| remote.1.decrypt_in_place(sample, first, number));
    let (plain_header, sealed) = packet.split_at_mut(header.len());
    assert_eq!(plain_header, header);
    let opened = remote.0.decrypt_in_place(number, plain_header, sealed).unwrap();
    assert_eq!(opened, payload);
}

/// Calls `mask` as a QUIC endpoint does: up to four bytes of packet number, the sample four bytes after its start.
fn apply(
    packet: &mut [u8],
    number_at: usize,
    mask: impl Fn(&[u8], &mut u8, &mut [u8]) -> Result<(), rustls::Error>,
) {
    let (head, sample) = packet.split_at_mut(number_at + 4);
    let (first, rest) = head.split_at_mut(number_at);
    mask(&sample[..16], &mut first[0], rest).unwrap();
}

#[test]
fn a1_keys() {
    let secret = |text: &str| expander(&hex(text));
    let client = secret("c00cf151ca5be075ed0ebfb5c80323c42d6b7db67881289af4008f1f6c357aea");
    assert_eq!(expand_label(&*client, "quic key", 16), hex("1f369613dd76d5467730efcbe3b1a22d"));
    assert_eq!(expand_label(&*client, "quic iv", 12), hex("fa044b2f42a3fd3b46fb255c"));
    assert_eq!(expand_label(&*client, "quic hp", 16), hex("9f50449e04a0e810283a1e9933adedd2"));
    let server = secret("3c199828fd139efd216c155ad844cc81fb82fa8d7446fa7d78be803acdda951b");
    assert_eq!(expand_label(&*server, "quic key", 16), hex("cf3a5331653c364c88f0f379b6067e37"));
    assert_eq!(expand_label(&*server, "quic iv", 12), hex("0ac1493ca1905853b0bba03e"));
    assert_eq!(expand_label(&*server, "quic hp", 16), hex("c206b8d9b9f0f37644430b490eeaa314"));

    let salt = hex("38762cf7f55934b34d179ae6a4c80cadccbb7f0a");
    let secret = aes_128().hkdf_provider.extract_from_secret(Some(&salt), &hex(CONNECTION_ID));
    assert_eq!(
        expand_label(&*secret, "client in", 32),
        hex("c00cf151ca5be075ed0ebfb5c80323c42d6b7db67881289af4008f1f6c357aea")
    );
    assert_eq!(
        expand_label(&*secret, "server in", 32),
        hex("3c199828fd139efd216c155ad844cc81fb82fa8d7446fa7d78be803acdda951b")
    );
}

#[test]
fn a2_client_initial() {
    let mut payload = hex(CLIENT_INITIAL_PAYLOAD);
    payload.resize(1162, 0);
    let (client, server) = (initial(Side::Client), initial(Side::Server));
    check(
        (&*client.local.packet, &*client.local.header),
        (&*server.remote.packet, &*server.remote.header),
        (2, 4),
        &hex("c300000001088394c8f03e5157080000449e00000002"),
        &payload,
        &hex(CLIENT_INITIAL_PACKET),
    );
}

#[test]
fn a3_server_initial() {
    let (client, server) = (initial(Side::Client), initial(Side::Server));
    check(
        (&*server.local.packet, &*server.local.header),
        (&*client.remote.packet, &*client.remote.header),
        (1, 2),
        &hex("c1000000010008f067a5502a4262b50040750001"),
        &hex(
            "02000000000600405a020000560303eefce7f7b37ba1d1632e96677825ddf73988cfc79825df566dc5430b9a045a1200
              130100002e00330024001d00209d3c940d89690b84d08a60993c144eca684d1081287c834d5311bcf32bb9da1a002b00
              020304",
        ),
        &hex(
            "cf000000010008f067a5502a4262b5004075c0d95a482cd0991cd25b0aac406a5816b6394100f37a1c69797554780bb3
              8cc5a99f5ede4cf73c3ec2493a1839b3dbcba3f6ea46c5b7684df3548e7ddeb9c3bf9c73cc3f3bded74b562bfb19fb84
              022f8ef4cdd93795d77d06edbb7aaf2f58891850abbdca3d20398c276456cbc42158407dd074ee",
        ),
    );
}

#[test]
fn a4_retry_key() {
    // The tag itself is the endpoint's to make; the AEAD under it is this layer's.
    use sandquic_rustls::ciphers::Aead;
    let aead = <DefaultCiphers as Ciphers>::Aes128Gcm::new(
        &hex("be0c690b9f66575a1d766b54e368c84e").try_into().unwrap(),
    );
    let nonce = hex("461599d35d632bf2239825bb").try_into().unwrap();
    let pseudo_packet = hex("088394c8f03e515708ff000000010008f067a5502a4262b5746f6b656e");
    let tag = aead.seal(&nonce, &pseudo_packet, &mut []).unwrap();
    assert_eq!(tag[..], hex("04a265ba2eff4d829058fb3f0f2496ba"));
}

#[test]
fn a5_chacha20_short_header() {
    let suite = TLS13_CHACHA20_POLY1305_SHA256.tls13().unwrap();
    let secret = OkmBlock::new(&hex("9ac312a7f877468ebe69422748ad00a15443f18203a07d6060f688f30f21632b"));
    let secret = suite.hkdf_provider.expander_for_okm(&secret);
    let key = expand_label(&*secret, "quic key", 32);
    assert_eq!(key, hex("c6d98ff3441c3fe1b2182094f69caa2ed4b716b65488960a7a984979fb23e1c8"));
    let iv = expand_label(&*secret, "quic iv", 12);
    assert_eq!(iv, hex("e0459b3474bdd0e44a41c144"));
    let hp = expand_label(&*secret, "quic hp", 32);
    assert_eq!(hp, hex("25a282b9e82f06f21f488917a4fc8f1b73573685608597d0efcb076b0ab7a7a4"));
    let updated = expand_label(&*secret, "quic ku", 32);
    assert_eq!(updated, hex("1223504755036d556342ee9361d253421a826c9ecdf3c7148684b36b714881f9"));

    let algorithm = suite.quic.unwrap();
    assert_eq!(algorithm.aead_key_len(), 32);
    let packet = algorithm.packet_key(key32(&key), iv12(&iv));
    let header = algorithm.header_protection_key(key32(&hp));
    let keys = (&*packet, &*header);
    let protected = hex("4cfe4189655e5cd55c41f69080575d7999c25a5bfb");
    check(keys, keys, (654_360_564, 3), &hex("4200bff4"), &[1], &protected);

    // What the endpoint after a key update seals, this one does not open.
    let next = expander(&updated);
    let next_key = expand_label(&*next, "quic key", 32);
    let next_iv = expand_label(&*next, "quic iv", 12);
    let next = algorithm.packet_key(key32(&next_key), iv12(&next_iv));
    let mut payload = vec![1];
    let tag = next.encrypt_in_place(654_360_565, &hex("4600bff5"), &mut payload).unwrap();
    payload.extend_from_slice(tag.as_ref());
    let mut copy = payload.clone();
    assert!(packet.decrypt_in_place(654_360_565, &hex("4600bff5"), &mut copy).is_err());
    assert_eq!(next.decrypt_in_place(654_360_565, &hex("4600bff5"), &mut payload).unwrap(), [1]);
}

#[test]
fn header_masks() {
    let aes = <DefaultCiphers as Ciphers>::Aes128Mask::new(
        &hex("9f50449e04a0e810283a1e9933adedd2").try_into().unwrap(),
    );
    let sample = hex("d1b1c98dd7689fb8ec11d242b123dc9b").try_into().unwrap();
    assert_eq!(aes.mask(&sample)[..], hex("437b9aec36"));
    let chacha = <DefaultCiphers as Ciphers>::ChaCha20Mask::new(
        &hex("25a282b9e82f06f21f488917a4fc8f1b73573685608597d0efcb076b0ab7a7a4").try_into().unwrap(),
    );
    let sample = hex("5e5cd55c41f69080575d7999c25a5bfb").try_into().unwrap();
    assert_eq!(chacha.mask(&sample)[..], hex("aefefe7d03"));
}

/// Several masks at once are the masks one by one, for every number of samples, the last counter among them.
#[test]
fn batches_of_header_masks() {
    fn check<const KEY: usize, H: HeaderMask<KEY>>() {
        let key = core::array::from_fn(|i| i as u8 * 3 + 1);
        let mask = H::new(&key);
        let samples: [[u8; 16]; 21] = core::array::from_fn(|n| {
            if n == 4 { [0xff; 16] } else { core::array::from_fn(|i| (n * 31 + i * 7) as u8) }
        });
        for len in 0..=samples.len() {
            let mut masks = vec![[0xaa; 5]; len];
            mask.masks(&samples[..len], &mut masks);
            let one_by_one: Vec<_> = samples[..len].iter().map(|sample| mask.mask(sample)).collect();
            assert_eq!(masks, one_by_one, "{len} samples");
        }
        // As many as the shorter slice holds.
        let mut masks = [[0xaa; 5]; 3];
        mask.masks(&samples[..2], &mut masks);
        assert_eq!(masks[..2], [mask.mask(&samples[0]), mask.mask(&samples[1])]);
        assert_eq!(masks[2], [0xaa; 5]);
    }
    check::<16, <DefaultCiphers as Ciphers>::Aes128Mask>();
    check::<32, <DefaultCiphers as Ciphers>::Aes256Mask>();
    check::<32, <DefaultCiphers as Ciphers>::ChaCha20Mask>();
}

#[test]
fn limits_of_section_6_6() {
    let limits = |suite: &'static rustls::SupportedCipherSuite| {
        // Initial keys of any suite tell its limits: their length is the suite's.
        let suite = suite.tls13().unwrap();
        let keys = Keys::initial(Version::V1, suite, suite.quic.unwrap(), &hex(CONNECTION_ID), Side::Client);
        (keys.local.packet.confidentiality_limit(), keys.local.packet.integrity_limit())
    };
    assert_eq!(limits(&TLS13_AES_128_GCM_SHA256), (1 << 23, 1 << 52));
    assert_eq!(limits(&TLS13_AES_256_GCM_SHA384), (1 << 23, 1 << 52));
    assert_eq!(limits(&TLS13_CHACHA20_POLY1305_SHA256), (u64::MAX, 1 << 36));
}

#[test]
fn malformed_packets_are_refused() {
    let (client, server) = (initial(Side::Client), initial(Side::Server));
    let mut payload = b"sixteen and more bytes of payload".to_vec();
    let tag = client.local.packet.encrypt_in_place(7, b"header", &mut payload).unwrap();
    payload.extend_from_slice(tag.as_ref());
    let open = |number, header: &[u8], sealed: &[u8]| {
        let mut sealed = sealed.to_vec();
        server.remote.packet.decrypt_in_place(number, header, &mut sealed).map(<[u8]>::to_vec)
    };
    assert_eq!(open(7, b"header", &payload).unwrap(), b"sixteen and more bytes of payload");
    assert!(open(8, b"header", &payload).is_err(), "another packet number");
    assert!(open(7, b"Header", &payload).is_err(), "another header");
    for len in 0..payload.len() {
        assert!(open(7, b"header", &payload[..len]).is_err(), "{len} bytes");
    }
    for at in 0..payload.len() {
        let mut changed = payload.clone();
        changed[at] ^= 1;
        assert!(open(7, b"header", &changed).is_err(), "byte {at} changed");
    }

    let header = &client.local.header;
    assert_eq!(header.sample_len(), 16);
    for (sample, number) in [(15, 4), (17, 4), (0, 4), (16, 5)] {
        let (mut first, mut number) = (0xc3, vec![0; number]);
        let error = header.encrypt_in_place(&vec![0; sample], &mut first, &mut number).unwrap_err();
        assert!(error.to_string().contains("bytes"), "{error}");
        assert!(first == 0xc3 && number.iter().all(|b| *b == 0), "nothing is changed by a refused call");
    }
}

const CLIENT_INITIAL_PAYLOAD: &str = "
    060040f1010000ed0303ebf8fa56f12939b9584a3896472ec40bb863cfd3e86804fe3a47f06a2b69484c000004130113
    02010000c000000010000e00000b6578616d706c652e636f6dff01000100000a00080006001d00170018001000070005
    04616c706e000500050100000000003300260024001d00209370b2c9caa47fbabaf4559fedba753de171fa71f50f1ce1
    5d43e994ec74d748002b0003020304000d0010000e0403050306030203080408050806002d00020101001c0002400100
    3900320408ffffffffffffffff05048000ffff07048000ffff0801100104800075300901100f088394c8f03e51570806
    048000ffff";

const CLIENT_INITIAL_PACKET: &str = "
    c000000001088394c8f03e5157080000449e7b9aec34d1b1c98dd7689fb8ec11d242b123dc9bd8bab936b47d92ec356c
    0bab7df5976d27cd449f63300099f3991c260ec4c60d17b31f8429157bb35a1282a643a8d2262cad67500cadb8e7378c
    8eb7539ec4d4905fed1bee1fc8aafba17c750e2c7ace01e6005f80fcb7df621230c83711b39343fa028cea7f7fb5ff89
    eac2308249a02252155e2347b63d58c5457afd84d05dfffdb20392844ae812154682e9cf012f9021a6f0be17ddd0c208
    4dce25ff9b06cde535d0f920a2db1bf362c23e596d11a4f5a6cf3948838a3aec4e15daf8500a6ef69ec4e3feb6b1d98e
    610ac8b7ec3faf6ad760b7bad1db4ba3485e8a94dc250ae3fdb41ed15fb6a8e5eba0fc3dd60bc8e30c5c4287e53805db
    059ae0648db2f64264ed5e39be2e20d82df566da8dd5998ccabdae053060ae6c7b4378e846d29f37ed7b4ea9ec5d82e7
    961b7f25a9323851f681d582363aa5f89937f5a67258bf63ad6f1a0b1d96dbd4faddfcefc5266ba6611722395c906556
    be52afe3f565636ad1b17d508b73d8743eeb524be22b3dcbc2c7468d54119c7468449a13d8e3b95811a198f3491de3e7
    fe942b330407abf82a4ed7c1b311663ac69890f4157015853d91e923037c227a33cdd5ec281ca3f79c44546b9d90ca00
    f064c99e3dd97911d39fe9c5d0b23a229a234cb36186c4819e8b9c5927726632291d6a418211cc2962e20fe47feb3edf
    330f2c603a9d48c0fcb5699dbfe5896425c5bac4aee82e57a85aaf4e2513e4f05796b07ba2ee47d80506f8d2c25e50fd
    14de71e6c418559302f939b0e1abd576f279c4b2e0feb85c1f28ff18f58891ffef132eef2fa09346aee33c28eb130ff2
    8f5b766953334113211996d20011a198e3fc433f9f2541010ae17c1bf202580f6047472fb36857fe843b19f5984009dd
    c324044e847a4f4a0ab34f719595de37252d6235365e9b84392b061085349d73203a4a13e96f5432ec0fd4a1ee65accd
    d5e3904df54c1da510b0ff20dcc0c77fcb2c0e0eb605cb0504db87632cf3d8b4dae6e705769d1de354270123cb11450e
    fc60ac47683d7b8d0f811365565fd98c4c8eb936bcab8d069fc33bd801b03adea2e1fbc5aa463d08ca19896d2bf59a07
    1b851e6c239052172f296bfb5e72404790a2181014f3b94a4e97d117b438130368cc39dbb2d198065ae3986547926cd2
    162f40a29f0c3c8745c0f50fba3852e566d44575c29d39a03f0cda721984b6f440591f355e12d439ff150aab7613499d
    bd49adabc8676eef023b15b65bfc5ca06948109f23f350db82123535eb8a7433bdabcb909271a6ecbcb58b936a88cd4e
    8f2e6ff5800175f113253d8fa9ca8885c2f552e657dc603f252e1a8e308f76f0be79e2fb8f5d5fbbe2e30ecadd220723
    c8c0aea8078cdfcb3868263ff8f0940054da48781893a7e49ad5aff4af300cd804a6b6279ab3ff3afb64491c85194aab
    760d58a606654f9f4400e8b38591356fbf6425aca26dc85244259ff2b19c41b9f96f3ca9ec1dde434da7d2d392b905dd
    f3d1f9af93d1af5950bd493f5aa731b4056df31bd267b6b90a079831aaf579be0a39013137aac6d404f518cfd4684064
    7e78bfe706ca4cf5e9c5453e9f7cfd2b8b4c8d169a44e55c88d4a9a7f9474241e221af44860018ab0856972e194cd934";
