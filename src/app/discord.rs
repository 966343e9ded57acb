//! Connects a Discord account, and registers the commands in every language.

use anyhow::{Context as _, Result, anyhow};
use channels::discord::{self, Admission, Command, Discord, DiscordConfig, LocalizedText, Roots};
use std::{collections::BTreeMap, fs, path::Path};

use crate::{
    config::ChannelEntry,
    texts::{Language, MENU, Messages},
};

/// Commands whose response everyone in the place can see.
const PUBLIC: [&str; 3] = ["new", "stop", "panic"];
/// Commands with a text argument.
const TAKES: [(&str, &str); 1] = [("model", "name")];

pub(super) fn connect(
    entry: &ChannelEntry,
    variables: &BTreeMap<String, String>,
    admission: Admission,
) -> Result<Discord> {
    let token = entry.token.as_ref().context("token is missing")?;
    let token = token.reveal(variables).context("token")?;
    let roots = entry.ca_file.as_deref().map(roots).transpose().context("ca_file")?;
    Ok(Discord::new(DiscordConfig {
        api_url: entry.api_url.clone(),
        public_key: entry.public_key.clone(),
        roots: roots.unwrap_or_default(),
        commands: commands(),
        words: discord::AdapterTexts {
            reason: worded(|words| words.why_not.to_owned()),
            denial: worded(|words| words.deny.to_owned()),
            unreadable: worded(|words| words.unreadable.to_owned()),
            not_yours: worded(|words| words.not_yours.to_owned()),
        },
        admission,
        ..DiscordConfig::new(&entry.id, token)
    }))
}

fn roots(file: &Path) -> Result<Roots> {
    let pem = fs::read(file).with_context(|| format!("reading {}", file.display()))?;
    Roots::from_pem(&pem).map_err(|problem| anyhow!("{} {problem}", file.display()))
}

fn commands() -> Vec<Command> {
    let command = |(at, name): (usize, &&str)| Command {
        name: (*name).to_owned(),
        description: worded(|words| words.menu[at].to_owned()),
        argument: TAKES.iter().find(|(command, _)| command == name).map(|(_, argument)| {
            ((*argument).to_owned(), worded(|words| words.menu[at].to_owned()))
        }),
        private: !PUBLIC.contains(name),
    };
    MENU.iter().enumerate().map(command).collect()
}

fn worded(say: impl Fn(&Messages) -> String) -> LocalizedText {
    let all = Language::ALL.map(|language| (language.tag().to_owned(), say(language.words())));
    LocalizedText { english: say(Language::English.words()), others: all.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_offered_in_every_language() {
        let all = commands();
        assert_eq!(all.iter().map(|command| command.name.as_str()).collect::<Vec<_>>(), MENU);
        for Command { name, description, .. } in &all {
            let said = &description.others;
            assert_eq!(said.len(), Language::ALL.len());
            assert!(said.values().all(|text| (1..=100).contains(&text.chars().count())), "{name}");
        }
        let model = all.iter().find(|command| command.name == "model").expect("it is offered");
        assert!(model.argument.is_some() && model.private);
    }
}
