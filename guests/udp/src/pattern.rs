//! What is in a datagram.

/// The datagram with this number.
pub(crate) fn datagram(number: u32, bytes: usize) -> Vec<u8> {
    let mut data: Vec<u8> = (0..bytes).map(|at| (number as usize).wrapping_add(at) as u8).collect();
    let head = bytes.min(4);
    data[..head].copy_from_slice(&number.to_le_bytes()[..head]);
    data
}

/// The number of a datagram, or `None` if it is not as it was sent.
pub(crate) fn number(data: &[u8]) -> Option<u32> {
    let mut head = [0; 4];
    let len = data.len().min(4);
    head[..len].copy_from_slice(&data[..len]);
    let number = u32::from_le_bytes(head);
    let sound = |(at, &byte): (usize, &u8)| byte == (number as usize).wrapping_add(at) as u8;
    data.iter().enumerate().skip(4).all(sound).then_some(number)
}
