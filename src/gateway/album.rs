//! Combines consecutive pictures of the outbox into an album, on platforms that support albums.

use anyhow::Result;
use channels::{Channel, Delivery, Outgoing, Receipt, SendError};

use super::{
    Gateway,
    delivery::{delivery, temporary},
    outcome,
};
use crate::store::{db::transient::until_available, outbox::sending::Sending};

/// Sends a picture together with the pictures that follow it as one album, if there are any and the
/// platform accepts them.
pub(super) async fn show(
    gateway: &Gateway,
    channel: &dyn Channel,
    first: &Sending,
) -> Result<Option<Receipt>, SendError> {
    let limits = channel.limits();
    if limits.album < 2 || first.receipt.is_some() || !first.what.is_picture() {
        return Ok(None);
    }
    let others = gateway.store.begin_album(first, limits.album, limits.upload_bytes);
    let others = others.await.map_err(temporary)?;
    if others.is_empty() {
        return Ok(None);
    }
    let sent = match packed(gateway, first, &others).await {
        Ok(album) => outcome::send(gateway, channel, first, &album).await,
        // One of the pictures cannot be read.
        Err(problem) => Err(SendError::Rejected(format!("{problem:#}"))),
    };
    match sent {
        Ok(receipt) => {
            let ended = until_available(|| gateway.store.end_album(first, others.clone())).await;
            ended.map_err(|problem| SendError::Unknown(format!("{problem:#}")))?;
            Ok(Some(receipt))
        }
        Err(SendError::Unknown(reason)) => Err(SendError::Unknown(reason)),
        Err(problem) => {
            let parted = until_available(|| gateway.store.part_album(first, others.clone())).await;
            parted.map_err(temporary)?;
            match problem {
                // One of the pictures cannot be sent, so each is sent on its own.
                SendError::Rejected(_) => Ok(None),
                other => Err(other),
            }
        }
    }
}

async fn packed(gateway: &Gateway, first: &Sending, others: &[Sending]) -> Result<Delivery> {
    let mut album = one(gateway, first).await?;
    for other in others {
        album.album.push(one(gateway, other).await?);
    }
    Ok(album)
}

async fn one(gateway: &Gateway, sending: &Sending) -> Result<Delivery> {
    let mut delivery = delivery(sending, sending.what.clone());
    if let Outgoing::File { digest, .. } = &sending.what {
        delivery.bytes = Some(gateway.artifacts.read(digest).await?);
    }
    Ok(delivery)
}
