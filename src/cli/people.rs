//! `countersign people`: lists people with access.

use anyhow::Result;
use clap::Args;

use super::output::OutputFormat;
use crate::{
    admin::api::people::MemberView,
    store::{
        Store,
        lists::{PageRequest, people},
    },
};

#[derive(Debug, Args)]
pub struct PeopleArgs {
    /// Only those on this channel
    #[arg(long, value_name = "ID")]
    channel: Option<String>,
    #[command(flatten)]
    output: OutputFormat,
}

/// The maximum number of people to list.
const MAX_LISTED: usize = 10_000;

/// Returns the list.
pub async fn run(store: &Store, args: PeopleArgs) -> Result<String> {
    let all = PageRequest { limit: MAX_LISTED, ..PageRequest::default() };
    let listed =
        store.read(move |tx| Box::pin(async move { people::list(tx, &all).await })).await?;
    let mut members: Vec<MemberView> = listed.into_iter().map(Into::into).collect();
    members.retain(|member| args.channel.as_ref().is_none_or(|id| *id == member.channel));
    let none = "Nobody yet: `countersign pair` prints a code that gives access. People who are named in \
        the configuration are not listed.";
    args.output.list(&members, none, |member| {
        let MemberView { channel, person, name, role, since } = member;
        format!("{channel} {person} ({name}): {}, since {}", role.as_str(), since.format("%F"))
    })
}
