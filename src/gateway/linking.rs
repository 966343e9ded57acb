//! `/link`: whoever has accounts on several channels links them, and counts as one person.
//!
//! The account that is linked asks for a code in a private chat; the other one enters it. Whoever is
//! signed in to the web chat has the same account in the console. A link gives no rights: it says
//! that two accounts are one person, whose votes count once.

use anyhow::Result;
use channels::text;
use chrono::TimeDelta;

use super::{
    intake_context::{IntakeContext, TypedMessage},
    people,
};
use crate::store::{
    Tx,
    audit::{self, Fact},
    identities::{self, Account, Linking},
};

/// How long a code works.
const CODE_FOR: TimeDelta = TimeDelta::minutes(10);

/// `/link` makes a code, `/link CODE` redeems one, `/link off` ends the link of this account.
pub(super) async fn typed(
    tx: &mut Tx<'_>,
    desk: &IntakeContext,
    typed: &TypedMessage<'_>,
    rest: &str,
) -> Result<String> {
    let words = &typed.words().linking;
    // Whoever reads a code could link an account of their own.
    if typed.group {
        return Ok(words.private_only.to_owned());
    }
    let account = Account::new(&desk.channel, &typed.by.id);
    let own = (&account, typed.by.name.as_str());
    match rest {
        "" => {
            let code = people::new_code();
            identities::offer_link(tx, own, &code, desk.now, desk.now + CODE_FOR).await?;
            Ok((words.code)(&code))
        }
        "off" => {
            let unlinked = identities::unlink(tx, &account).await?;
            if unlinked {
                note(tx, desk, Fact::new("unlinked", &account.id)).await?;
            }
            Ok(if unlinked { words.unlinked } else { words.not_linked }.to_owned())
        }
        _ => redeem(tx, desk, typed, rest).await,
    }
}

async fn redeem(
    tx: &mut Tx<'_>,
    desk: &IntakeContext,
    typed: &TypedMessage<'_>,
    rest: &str,
) -> Result<String> {
    let words = typed.words();
    let account = Account::new(&desk.channel, &typed.by.id);
    let own = (&account, typed.by.name.as_str());
    let Some(code) = people::pairing_code(rest) else { return Ok(words.linking.wrong.to_owned()) };
    Ok(match identities::redeem_link(tx, own, &code, desk.now).await? {
        Linking::Linked { to, name } => {
            let fact = Fact::new("linked", &account.id)
                .with("to_channel", to.channel.as_str())
                .with("to", to.id.as_str());
            note(tx, desk, fact).await?;
            (words.linking.linked)(&text::escape(&text::neutralise(&name)), &to.channel)
        }
        Linking::OwnCode => words.linking.own_code.to_owned(),
        Linking::Wrong => words.linking.wrong.to_owned(),
        Linking::Locked => words.locked.to_owned(),
    })
}

async fn note(tx: &mut Tx<'_>, desk: &IntakeContext, fact: Fact) -> Result<()> {
    let fact = fact.with("channel", desk.channel.as_str());
    audit::append(tx, audit::ADMIN, vec![fact], desk.now).await
}
