//! Shortens a key to 25 characters, the maximum length of a nonce of Discord.

/// The maximum length of a nonce, in characters.
pub(super) const NONCE: usize = 25;

const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// Keeps short keys, and hashes longer ones to 128 bits (FNV-1a). The hash only has to be stable;
/// it is not secret.
pub(super) fn fold(name: &str) -> String {
    if name.len() <= NONCE && name.is_ascii() {
        return name.to_owned();
    }
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for byte in name.bytes() {
        hash = (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
    }
    let mut digits = Vec::with_capacity(NONCE);
    while hash > 0 {
        digits.push(char::from(DIGITS[(hash % 36) as usize]));
        hash /= 36;
    }
    digits.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves M3.
    #[test]
    fn a_nonce_fits_and_is_the_same_for_the_same_row() {
        assert_eq!(fold("short-7"), "short-7");
        let row = "01992f5e-7d2c-7b51-9d7a-5b8c0f7a3e11";
        assert!(fold(row).len() <= NONCE);
        assert_eq!(fold(row), fold(row));
        assert_ne!(fold(row), fold("01992f5e-7d2c-7b51-9d7a-5b8c0f7a3e12"));
        assert!(fold(&"é".repeat(400)).len() <= NONCE);
    }
}
