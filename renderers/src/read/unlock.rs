//! Documents that are protected by a password, opened with the first one of a list that fits.

use lopdf::{Document, LoadOptions};

use super::reading::ReadError;

/// The maximum unpacked size of each stream that is read when a PDF is opened.
const LOADED_BYTES: usize = 32 << 20;

/// The contents of a protected Office file. `None` if it is not protected.
pub fn office(bytes: &[u8], passwords: &[String]) -> Result<Option<Vec<u8>>, ReadError> {
    // The name of the stream that holds an encrypted document, in UTF-16.
    let name: Vec<u8> = "EncryptedPackage".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let is_compound = bytes.starts_with(super::kind::COMPOUND);
    if !is_compound || !bytes.windows(name.len()).any(|window| window == name) {
        return Ok(None);
    }
    let opened = passwords.iter().find_map(|password| {
        // With a wrong password it succeeds as well, and returns noise.
        office_crypto::decrypt_from_bytes(bytes.to_vec(), password)
            .ok()
            .filter(|opened| opened.starts_with(b"PK"))
    });
    opened.map(Some).ok_or_else(|| locked("This Office file"))
}

/// A PDF. Many are protected with an empty password, which needs none of the list.
pub fn pdf(bytes: &[u8], passwords: &[String]) -> Result<Document, ReadError> {
    for password in std::iter::once(None).chain(passwords.iter().cloned().map(Some)) {
        let options = LoadOptions {
            max_decompressed_size: Some(LOADED_BYTES),
            password,
            ..LoadOptions::default()
        };
        match Document::load_mem_with_options(bytes, options) {
            Ok(document) if document.is_encrypted() => {}
            Ok(document) => return Ok(document),
            Err(lopdf::Error::InvalidPassword | lopdf::Error::Decryption(_)) => {}
            Err(error) => return Err(ReadError::Damaged(format!("The PDF is damaged: {error}."))),
        }
    }
    Err(locked("The PDF"))
}

fn locked(what: &str) -> ReadError {
    ReadError::Unknown(format!(
        "{what} is protected by a password that is not known: ask for a copy without one. The \
         operator can add the password (extraction.passwords)."
    ))
}
