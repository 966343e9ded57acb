//! Sends one row of the outbox.
//!
//! A send is repeated only where the platform cannot show it twice: under the platform's
//! idempotency key or, where it has none, as an edit of a placeholder that was sent and recorded
//! first.

use channels::{Channel, Delivery, Outgoing, Receipt, SendError, limits::Repeat};

use super::{
    Gateway, album, approvals,
    delivery::{delivery, removal, temporary},
    outcome,
};
use crate::{
    store::{
        db::transient::until_available,
        outbox::{self, sending::Sending},
    },
    texts::Language,
};

/// Sends a row, in two steps where the platform requires it.
pub(super) async fn show(
    gateway: &Gateway,
    channel: &dyn Channel,
    sending: &mut Sending,
) -> Result<Receipt, SendError> {
    if sending.may_be_shown() {
        return show_once(gateway, channel, sending).await;
    }
    if let Some(receipt) = album::show(gateway, channel, sending).await? {
        return Ok(receipt);
    }
    if channel.limits().repeat == Repeat::EditInPlace {
        let is_text = matches!(sending.what, Outgoing::Text { .. });
        if is_text && sending.receipt.is_none() && sending.unknowns > 0 {
            return show_once(gateway, channel, sending).await;
        }
        if sending.receipt.is_none() {
            let Some(opening) = sending.what.opening() else {
                return show_once(gateway, channel, sending).await;
            };
            place(gateway, channel, sending, opening).await?;
        }
    }
    let mut delivery = delivery(sending, sending.what.clone());
    if let Some(approval) = sending.what.approval() {
        let token = approvals::new_token();
        gateway.store.mint_token(approval, &token).await.map_err(temporary)?;
        delivery.token = Some(token);
    }
    load(gateway, channel, sending, &mut delivery).await;
    outcome::send(gateway, channel, sending, &delivery).await
}

/// Reads the contents of a file. If they are missing, a text with its caption says so.
async fn load(
    gateway: &Gateway,
    channel: &dyn Channel,
    sending: &Sending,
    delivery: &mut Delivery,
) {
    let Outgoing::File { digest, name, caption, .. } = &delivery.what else { return };
    match gateway.artifacts.read(digest).await {
        Ok(bytes) => delivery.bytes = Some(bytes),
        Err(problem) => {
            let problem = format!("{problem:#}");
            tracing::error!(outbox.id = %sending.id, problem, "could not read an artifact");
            let notice = Language::of(Some(&sending.language)).words().file_missing(name);
            let parts = [Some(notice), caption.clone()].into_iter().flatten();
            let markdown = parts.collect::<Vec<_>>().join("\n\n");
            let text = Outgoing::Text { markdown, reply_to: None };
            // A row is one message, so a caption without room beside the notice is cut.
            let fitting = text.clone().degrade(channel.limits()).into_iter().next();
            delivery.what = fitting.unwrap_or(text);
        }
    }
}

/// Sends a placeholder with the first words and records it. From then on, every attempt is an edit.
async fn place(
    gateway: &Gateway,
    channel: &dyn Channel,
    sending: &mut Sending,
    opening: Outgoing,
) -> Result<(), SendError> {
    let placeholder = delivery(sending, opening);
    let receipt = outcome::send(gateway, channel, sending, &placeholder).await?;
    let row = &*sending;
    let recorded = until_available(|| gateway.store.record_receipt(row, Some(&receipt))).await;
    // The placeholder is shown, even if that is not recorded.
    if !recorded.map_err(|problem| SendError::Unknown(format!("{problem:#}")))? {
        remove_unused(gateway, channel, row, receipt).await;
        return Err(temporary(anyhow::anyhow!("another node is sending this row")));
    }
    sending.receipt = Some(receipt);
    Ok(())
}

/// Deletes a placeholder for a row that another node is sending, unless it had been recorded after
/// all and that node uses it. If this fails, the first words stay visible, as after a crash.
async fn remove_unused(
    gateway: &Gateway,
    channel: &dyn Channel,
    sending: &Sending,
    placeholder: Receipt,
) {
    let row = sending.id.clone();
    let used =
        gateway.store.read(move |tx| Box::pin(async move { outbox::receipt(tx, &row).await }));
    if used.await.is_ok_and(|used| used.as_ref() != Some(&placeholder)) {
        let _ = channel.send(&removal(sending.place.clone(), placeholder)).await;
    }
}

/// Sends directly what no placeholder can become: a text that is too short for one, or whose
/// placeholder had an unknown outcome, so that a second one must not follow it; a voice note; a
/// picture that may have been shown in an album. The row is marked as possibly shown first, so that
/// later attempts say that they may be duplicates.
async fn show_once(
    gateway: &Gateway,
    channel: &dyn Channel,
    sending: &Sending,
) -> Result<Receipt, SendError> {
    let may_be_shown = sending.may_be_shown();
    let mut delivery = delivery(sending, sending.what.clone());
    delivery.receipt = None;
    if may_be_shown {
        delivery.what = marked(channel, sending)?;
    } else if !gateway
        .store
        .record_receipt(sending, Some(&Receipt::nowhere()))
        .await
        .map_err(temporary)?
    {
        return Err(temporary(anyhow::anyhow!("another node is sending this row")));
    }
    load(gateway, channel, sending, &mut delivery).await;
    let sent = outcome::send(gateway, channel, sending, &delivery).await;
    let surely_not = !matches!(sent, Ok(_) | Err(SendError::Unknown(_)));
    if surely_not && !may_be_shown {
        let recorded = until_available(|| gateway.store.record_receipt(sending, None)).await;
        recorded.map_err(temporary)?;
    }
    sent
}

/// The room that contents leave for the notice of a possible duplicate, in the channel's unit of
/// length.
pub(super) const DUPLICATE_NOTICE: usize = 100;

/// Marks what may already have been shown as a possible duplicate.
fn marked(channel: &dyn Channel, sending: &Sending) -> Result<Outgoing, SendError> {
    let mark = Language::of(Some(&sending.language)).words().possible_duplicate;
    let mut what = sending.what.clone();
    match &mut what {
        Outgoing::Text { markdown, .. } => *markdown = format!("{mark}\n\n{markdown}"),
        Outgoing::File { caption, .. } => {
            let marked = caption.take().map(|caption| format!("{mark}\n\n{caption}"));
            *caption = Some(marked.unwrap_or_else(|| mark.to_owned()));
        }
        _ => {}
    }
    let mut parts = what.degrade(channel.limits());
    match (parts.pop(), parts.is_empty()) {
        (Some(one), true) => Ok(one),
        _ => Err(SendError::Rejected(
            "the message may already be shown, and has no room for the duplicate notice".to_owned(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_notice_fits_into_its_room_in_every_language() {
        for language in Language::ALL {
            let notice = format!("{}\n\n", language.words().possible_duplicate);
            assert!(notice.encode_utf16().count() <= DUPLICATE_NOTICE, "{notice}");
        }
    }
}
