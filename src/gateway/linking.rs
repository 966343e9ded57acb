//! `/link`: links accounts on several channels, so that they count as one person.
//!
//! The account to be linked requests a code in a private chat, and the other account enters it. A
//! person who is signed in to the web chat has the same account in the console. A link gives no
//! rights: it says that two accounts are one person, whose votes count once.

use anyhow::Result;
use channels::text;
use chrono::TimeDelta;

use super::{
    intake_context::{IntakeContext, TypedMessage},
    pairing,
};
use crate::store::{
    Tx,
    audit::{self, AuditKind, Fact},
    people::identities::{self, Account, Linking, NamedAccount},
};

/// How long a code is valid.
const CODE_FOR: TimeDelta = TimeDelta::minutes(10);

/// Handles `/link`, which creates a code, `/link CODE`, which redeems one, and `/link off`, which
/// removes the link of this account.
pub(super) async fn typed(
    tx: &mut Tx<'_>,
    context: &IntakeContext,
    typed: &TypedMessage<'_>,
    rest: &str,
) -> Result<String> {
    let words = &typed.words().linking;
    // Anyone who sees the code could link their own account.
    if typed.group {
        return Ok(words.private_only.to_owned());
    }
    let account = Account::new(&context.channel, &typed.by.id);
    let own = NamedAccount { account: &account, name: &typed.by.name };
    match rest {
        "" => {
            let code = pairing::new_code();
            identities::offer_link(tx, own, &code, context.now, context.now + CODE_FOR).await?;
            Ok((words.code)(&code))
        }
        "off" => {
            let unlinked = identities::unlink(tx, &account).await?;
            if unlinked {
                note(tx, context, Fact::new(AuditKind::Unlinked, &account.id)).await?;
            }
            Ok(if unlinked { words.unlinked } else { words.not_linked }.to_owned())
        }
        _ => redeem(tx, context, typed, rest).await,
    }
}

async fn redeem(
    tx: &mut Tx<'_>,
    context: &IntakeContext,
    typed: &TypedMessage<'_>,
    rest: &str,
) -> Result<String> {
    let words = typed.words();
    let account = Account::new(&context.channel, &typed.by.id);
    let own = NamedAccount { account: &account, name: &typed.by.name };
    let Some(code) = pairing::pairing_code(rest) else { return Ok(words.linking.wrong.to_owned()) };
    Ok(match identities::redeem_link(tx, own, &code, context.now).await? {
        Linking::Linked { to, name } => {
            let fact = Fact::new(AuditKind::Linked, &account.id)
                .with("to_channel", to.channel.as_str())
                .with("to", to.id.as_str());
            note(tx, context, fact).await?;
            (words.linking.linked)(&text::escape(&text::neutralise(&name)), &to.channel)
        }
        Linking::OwnCode => words.linking.own_code.to_owned(),
        Linking::Wrong => words.linking.wrong.to_owned(),
        Linking::Locked => words.locked.to_owned(),
    })
}

async fn note(tx: &mut Tx<'_>, context: &IntakeContext, fact: Fact) -> Result<()> {
    let fact = fact.with("channel", context.channel.as_str());
    audit::append(tx, audit::ADMIN, vec![fact], context.now).await
}
