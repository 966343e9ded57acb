//! Checks whether people with a sign-in link may talk in the web chat.

use anyhow::Result;
use std::collections::BTreeSet;

use crate::{
    clock::{Clock as _, SystemClock},
    config::{ChannelEntry, Config},
    store::{
        Store,
        lists::PageRequest,
        people::{self, web_sessions},
    },
};

/// The maximum number of sessions and links to check.
const MAX_LISTED: usize = 1_000;

/// The web chat that is served at `/`, if there is one.
fn web_chat(config: &Config) -> Option<&ChannelEntry> {
    config.channels.iter().filter(|entry| entry.is_own_chat()).min_by_key(|entry| &entry.id)
}

/// A warning if somebody with this name may not talk there.
pub(super) async fn warning(config: &Config, store: &Store, name: &str) -> Result<Option<String>> {
    let Some(entry) = web_chat(config) else { return Ok(None) };
    let is_named = |names: &[String]| names.iter().any(|known| known == name);
    let by_file = is_named(&entry.allow)
        || is_named(&entry.owners)
        || entry.allow.iter().any(|known| known == "*")
        || entry.roles.contains_key(name);
    let (channel, person) = (entry.id.clone(), name.to_owned());
    let kept = store
        .read(move |tx| Box::pin(async move { people::role(tx, &channel, &person).await }))
        .await?;
    let id = &entry.id;
    Ok((!by_file && kept.is_none()).then(|| {
        format!(
            "{name:?} may not talk on `{id}`: add the name to `allow` of the channel, or send a \
                code of `countersign pair --channel {id}` in the chat"
        )
    }))
}

/// The warnings for all people with a session or an unused link. People who signed in with an
/// OpenID provider are skipped, because it gave them a role.
pub(super) async fn warnings(config: &Config, store: &Store) -> Result<Vec<String>> {
    let now = SystemClock.now();
    let open = store
        .read(move |tx| {
            Box::pin(async move {
                let all = PageRequest { limit: MAX_LISTED, ..PageRequest::default() };
                web_sessions::list(tx, &all, now).await
            })
        })
        .await?;
    let names: BTreeSet<_> =
        open.into_iter().filter(|one| !one.by_issuer).map(|one| one.person).collect();
    let mut found = Vec::new();
    for name in names {
        found.extend(warning(config, store, &name).await?);
    }
    Ok(found)
}
