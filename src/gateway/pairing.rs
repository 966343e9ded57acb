//! Pairing codes, with which strangers get access.

use anyhow::Result;
use channels::Person;

use super::intake_context::IntakeContext;
use crate::{
    journal::role::Role,
    store::{
        Tx,
        audit::{self, AuditKind, Fact},
        people::pairing::{self, Bearer, Pairing},
    },
    texts::Language,
};

/// The reply to a stranger. A pairing code in the text is redeemed.
pub(super) async fn offer_pairing(
    tx: &mut Tx<'_>,
    context: &IntakeContext,
    person: &Person,
    text: &str,
) -> Result<String> {
    let IntakeContext { channel, owned, now, .. } = context;
    let (channel, owned, now) = (channel.as_str(), *owned, *now);
    let words = Language::of(person.language.as_deref()).words();
    let Some(code) = pairing_code(text) else { return Ok(words.stranger(&person.id)) };
    let bearer = Bearer { channel, id: &person.id, name: &person.name, code: &code, owned };
    let pairing = pairing::pair(tx, bearer, now).await?;
    if let Pairing::Paired(role) = pairing {
        let fact = Fact::new(AuditKind::Paired, &person.id)
            .with("channel", channel)
            .with("role", role.as_str());
        audit::append(tx, audit::ADMIN, vec![fact], now).await?;
    }
    Ok(match pairing {
        Pairing::Paired(Role::Owner) => words.paired_owner,
        Pairing::Paired(_) => words.paired,
        Pairing::Wrong => words.wrong_code,
        Pairing::Locked => words.locked,
    }
    .to_owned())
}

/// The letters of a code, without those that look alike. There are 32, so that each byte maps to
/// one without bias.
const LETTERS: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const CODE: usize = 10;

/// Creates a code of 50 bits. Five wrong guesses lock a person out for 15 minutes.
pub fn new_code() -> String {
    let mut bytes = [0_u8; CODE];
    getrandom::fill(&mut bytes).expect("the operating system has randomness");
    bytes.iter().map(|b| char::from(LETTERS[usize::from(b % 32)])).collect()
}

/// The code in `/start CODE`, `/pair CODE`, or a message that consists of a code only.
pub(super) fn pairing_code(text: &str) -> Option<String> {
    let word = text.trim();
    let word = word.strip_prefix("/start").or_else(|| word.strip_prefix("/pair")).unwrap_or(word);
    let code: String =
        word.chars().filter(|c| !c.is_whitespace() && *c != '-').collect::<String>().to_uppercase();
    let is_code = code.len() == CODE && code.bytes().all(|b| LETTERS.contains(&b));
    is_code.then_some(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_found_in_what_people_type() {
        let code = new_code();
        assert_eq!(pairing_code(&code), Some(code.clone()));
        assert_eq!(pairing_code(&format!("/start {code}")), Some(code.clone()));
        let (left, right) = code.split_at(5);
        assert_eq!(pairing_code(&format!(" {}-{right} ", left.to_lowercase())), Some(code));
        assert_eq!(pairing_code("/start"), None);
        assert_eq!(pairing_code("hello there"), None);
    }
}
