//! The prompts of servers, which people use as commands: `/server:prompt arguments`.
//!
//! Prompts are for people and not for the model: by the protocol, a person chooses them. The text of
//! a prompt is untrusted content.

use channels::text::neutralise;
use parking_lot::RwLock;
use rmcp::{
    model::{ContentBlock, GetPromptRequestParams, Prompt, ResourceContents, Role as Author},
    service::ServiceError,
};
use serde_json::Value;
use std::{collections::BTreeMap, ops::Range, sync::Arc};

use super::{
    DISCOVER_FOR, McpConfig, SILENT_FOR, Server, session,
    session::{Fault, McpSession},
};
use crate::{agent::naming::sanitise, journal::event::PromptRequest, tools::ToolError};

/// The maximum number of prompts of a server.
const MAX_PROMPTS: usize = 100;
/// The maximum number of parameters of a prompt.
const MAX_PARAMETERS: usize = 100;
/// The maximum length of a name, and of a description.
const NAME_CHARS: usize = 64;
const DESCRIPTION_CHARS: usize = 100;

/// A prompt of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptCommand {
    /// The server's name in the configuration.
    pub server: String,
    /// The server's name for the prompt.
    pub name: String,
    /// The server's description, on one line.
    pub description: String,
    parameters: Vec<PromptParameter>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct PromptParameter {
    name: String,
    is_required: bool,
}

/// The prompts of each agent's servers.
#[derive(Default)]
pub struct PromptCommands(RwLock<BTreeMap<String, Arc<Vec<PromptCommand>>>>);

impl PromptCommands {
    /// The prompts that people can use with an agent.
    pub fn of(&self, agent: &str) -> Arc<Vec<PromptCommand>> {
        let all = self.0.read();
        all.get(agent).cloned().unwrap_or_default()
    }

    pub fn set(&self, agent: &str, commands: Vec<PromptCommand>) {
        let mut all = self.0.write();
        all.insert(agent.to_owned(), Arc::new(commands));
    }
}

/// What a person typed for a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypedPrompt {
    Request(PromptRequest),
    /// The arguments do not fit; how to write the command.
    Unfit(String),
}

/// The prompt that a text requests, if it is the command of one.
pub fn typed(commands: &[PromptCommand], text: &str) -> Option<TypedPrompt> {
    let line = text.trim().strip_prefix('/')?;
    let (command, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let command = commands.iter().find(|known| known.is_called(command))?;
    Some(match command.arguments(rest.trim()) {
        Some(arguments) => {
            let (server, prompt) = (command.server.clone(), command.name.clone());
            TypedPrompt::Request(PromptRequest { server, prompt, arguments })
        }
        None => TypedPrompt::Unfit(command.usage()),
    })
}

impl PromptCommand {
    /// `None` if its name cannot be typed.
    pub(crate) fn new(server: &str, prompt: Prompt) -> Option<Self> {
        let is_typed = |name: &str| {
            let allowed = |c: char| c.is_alphanumeric() || "_-.:/".contains(c);
            !name.is_empty() && name.chars().count() <= NAME_CHARS && name.chars().all(allowed)
        };
        let parameters: Vec<_> = prompt.arguments.unwrap_or_default();
        let fits = is_typed(&prompt.name)
            && parameters.len() <= MAX_PARAMETERS
            && parameters.iter().all(|parameter| is_typed(&parameter.name));
        let parameters = parameters.into_iter().map(|parameter| PromptParameter {
            name: parameter.name,
            is_required: parameter.required == Some(true),
        });
        let about = prompt.description.or(prompt.title).unwrap_or_default();
        let about = neutralise(&about).split_whitespace().collect::<Vec<_>>().join(" ");
        fits.then(|| Self {
            server: server.to_owned(),
            name: prompt.name,
            description: about.chars().take(DESCRIPTION_CHARS).collect(),
            parameters: parameters.collect(),
        })
    }

    /// The command without its slash.
    pub fn command(&self) -> String {
        format!("{}:{}", sanitise(&self.server), self.name)
    }

    /// Some platforms make a command of letters and underscores only.
    fn is_called(&self, command: &str) -> bool {
        let own = self.command();
        own.eq_ignore_ascii_case(command) || own.replace(':', "_").eq_ignore_ascii_case(command)
    }

    /// `/server:prompt required=… [optional=…]`
    pub fn usage(&self) -> String {
        let mut usage = format!("/{}", self.command());
        for PromptParameter { name, is_required } in &self.parameters {
            let each = if *is_required { format!(" {name}=…") } else { format!(" [{name}=…]") };
            usage.push_str(&each);
        }
        usage
    }

    /// The arguments in a text: `name=value` pairs, or the values in order. A value with spaces is in
    /// quotes, or is the last one. A value of several words stays as it is written.
    fn arguments(&self, text: &str) -> Option<BTreeMap<String, String>> {
        let words = words(text);
        let is_pairs = words.iter().any(|word| self.pair(&word.text).is_some());
        let given = if is_pairs { self.pairs(text, &words)? } else { self.in_order(text, &words)? };
        let is_missing = |p: &PromptParameter| p.is_required && !given.contains_key(&p.name);
        (!self.parameters.iter().any(is_missing)).then_some(given)
    }

    fn pair<'w>(&self, word: &'w str) -> Option<(&'w str, &'w str)> {
        let (name, value) = word.split_once('=')?;
        self.parameters.iter().any(|known| known.name == name).then_some((name, value))
    }

    fn pairs(&self, text: &str, words: &[PromptWord]) -> Option<BTreeMap<String, String>> {
        let mut given = BTreeMap::new();
        let mut rest = words;
        while let Some((first, behind)) = rest.split_first() {
            let (name, value) = self.pair(&first.text)?;
            let more = behind.iter().take_while(|word| self.pair(&word.text).is_none()).count();
            let value = match behind[..more].last() {
                None => value,
                Some(last) => text[first.at.start..last.at.end].split_once('=')?.1,
            };
            if given.insert(name.to_owned(), value.to_owned()).is_some() {
                return None;
            }
            rest = &behind[more..];
        }
        Some(given)
    }

    fn in_order(&self, text: &str, words: &[PromptWord]) -> Option<BTreeMap<String, String>> {
        let Some(before_last) = self.parameters.len().checked_sub(1) else {
            return words.is_empty().then(BTreeMap::new);
        };
        let values = words.iter().enumerate().map(|(at, word)| {
            let is_rest = at == before_last && words.len() > before_last + 1;
            if is_rest { text[word.at.start..].to_owned() } else { word.text.clone() }
        });
        Some(self.parameters.iter().map(|known| known.name.clone()).zip(values).collect())
    }
}

/// A word of a text, without the quotes around it or its value, and where it is in the text.
struct PromptWord {
    text: String,
    at: Range<usize>,
}

/// The words of a text; quotes keep spaces together.
fn words(text: &str) -> Vec<PromptWord> {
    let (mut words, mut word, mut is_quoted) = (Vec::new(), None::<PromptWord>, false);
    for (at, c) in text.char_indices() {
        if c.is_whitespace() && !is_quoted {
            words.extend(word.take());
            continue;
        }
        let word = word.get_or_insert_with(|| PromptWord { text: String::new(), at: at..at });
        word.at.end = at + c.len_utf8();
        let opens = word.text.is_empty() || word.text.find('=') == Some(word.text.len() - 1);
        if c == '"' && (is_quoted || opens) {
            is_quoted = !is_quoted;
        } else {
            word.text.push(c);
        }
    }
    words.extend(word);
    words
}

/// Lists the prompts of a server that has some.
pub(super) async fn list(config: &McpConfig, session: &McpSession) -> Vec<PromptCommand> {
    let able = session.peer_info().map(|info| info.capabilities.clone());
    if able.is_none_or(|able| able.prompts.is_none()) {
        return Vec::new();
    }
    let problem = match session::bounded(DISCOVER_FOR, session.list_all_prompts()).await {
        Ok(Ok(prompts)) => {
            let mut commands: Vec<_> = prompts
                .into_iter()
                .filter_map(|prompt| PromptCommand::new(&config.name, prompt))
                .collect();
            commands.sort_by(|a, b| a.name.cmp(&b.name));
            commands.dedup_by(|a, b| a.name == b.name);
            commands.truncate(MAX_PROMPTS);
            return commands;
        }
        Ok(Err(problem)) => problem.to_string(),
        Err(problem) => problem.to_string(),
    };
    tracing::warn!(mcp.server = config.name, problem, "could not list the prompts of a server");
    Vec::new()
}

impl Server {
    /// The text of a prompt. Getting it changes nothing by the protocol's definition, so it is
    /// repeated once over a new connection.
    pub async fn prompt(&self, request: &PromptRequest) -> Result<String, ToolError> {
        let mut is_first = true;
        loop {
            let session = self.session().await?;
            let arguments = request.arguments.iter();
            let arguments =
                arguments.map(|(name, value)| (name.clone(), Value::from(value.as_str())));
            let wanted =
                GetPromptRequestParams::new(&request.prompt).with_arguments(arguments.collect());
            let got = session::bounded(SILENT_FOR, session.peer().get_prompt(wanted)).await?;
            let error = match got {
                Ok(prompt) => {
                    let messages = prompt.messages.iter();
                    let said: Vec<_> =
                        messages.map(|said| text_of(&said.role, &said.content)).collect();
                    return Ok(said.join("\n\n"));
                }
                Err(error) => error,
            };
            match self.prompt_fault(error).await {
                Some(error) => return Err(error),
                None if is_first => self.lost(&session).await,
                None => return Err(self.config.broken("lost the connection twice")),
            }
            is_first = false;
        }
    }

    /// `None` if a new connection may help.
    async fn prompt_fault(&self, error: ServiceError) -> Option<ToolError> {
        match Fault::of(&self.config, error) {
            Fault::Reported(error) => Some(error),
            Fault::Insufficient(refused) => {
                self.note_scopes(&refused).await;
                Some(refused.error(&self.config))
            }
            Fault::RateLimited(after) => Some(self.rate_limited(after.as_deref())),
            Fault::TimedOut(limit) => Some(ToolError::Timeout(limit)),
            Fault::Broken | Fault::NotRun => None,
        }
    }
}

fn text_of(author: &Author, content: &ContentBlock) -> String {
    let text = match content {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Resource(embedded) => match &embedded.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                format!("[resource: {uri}]\n{text}")
            }
            _ => "[a resource that is no text]".to_owned(),
        },
        ContentBlock::ResourceLink(link) => format!("[resource: {} at {}]", link.name, link.uri),
        _ => "[content that is no text]".to_owned(),
    };
    if matches!(author, Author::Assistant) { format!("[assistant]\n{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn command(parameters: &Value) -> PromptCommand {
        let prompt = json!({
            "name": "review", "description": "Reviews\ncode", "arguments": parameters,
        });
        let prompt = serde_json::from_value(prompt).expect("a prompt");
        PromptCommand::new("My Git", prompt).expect("it can be typed")
    }

    fn arguments(command: &PromptCommand, text: &str) -> Option<Value> {
        match typed(std::slice::from_ref(command), text)? {
            TypedPrompt::Request(request) => Some(json!(request.arguments)),
            TypedPrompt::Unfit(usage) => Some(json!(usage)),
        }
    }

    #[test]
    fn a_command_has_arguments_by_name_or_in_order() {
        let one = command(&json!([{ "name": "code", "required": true }]));
        assert_eq!((one.command(), &*one.description), ("my_git:review".into(), "Reviews code"));
        let of_one = |text: &str| arguments(&one, text);
        assert_eq!(of_one("/my_git:review a  \"b\" c"), Some(json!({ "code": "a  \"b\" c" })));
        assert_eq!(of_one("/My_Git_review code=a"), Some(json!({ "code": "a" })));
        assert_eq!(of_one("/my_git:review \"a b\""), Some(json!({ "code": "a b" })));
        assert_eq!(of_one("/my_git:review x=1"), Some(json!({ "code": "x=1" })));
        assert_eq!(of_one("/my_git:review"), Some(json!("/my_git:review code=…")));
        assert_eq!(of_one("/my_git:other a"), None);
        assert_eq!(of_one("my_git:review a"), None);
        let two = command(&json!([{ "name": "code", "required": true }, { "name": "style" }]));
        let of_two = |text: &str| arguments(&two, text);
        assert_eq!(
            of_two("/my_git:review \"a b\" c d"),
            Some(json!({ "code": "a b", "style": "c d" }))
        );
        assert_eq!(
            of_two("/my_git:review style=terse and kind code=\"x y\""),
            Some(json!({ "code": "x y", "style": "terse and kind" }))
        );
        let usage = Some(json!("/my_git:review code=… [style=…]"));
        for unfit in ["", " style=terse", " code=a code=b", " a code=b"] {
            assert_eq!(of_two(&format!("/my_git:review{unfit}")), usage, "{unfit}");
        }
        let none = command(&json!([]));
        assert_eq!(arguments(&none, "/my_git:review"), Some(json!({})));
        assert_eq!(arguments(&none, "/my_git:review x"), Some(json!("/my_git:review")));
    }

    #[test]
    fn a_value_of_several_words_stays_as_it_is_written() {
        let two = command(&json!([{ "name": "style" }, { "name": "code" }]));
        let code = "fn a() {\n    print(\"b  c\");\n}";
        for text in [format!("style=terse code={code}"), format!("terse {code}")] {
            let given = arguments(&two, &format!("/my_git:review {text}"));
            assert_eq!(given, Some(json!({ "style": "terse", "code": code })), "{text}");
        }
        let quoted = arguments(&two, "/my_git:review code=a(\"b\") style=\"very terse\"");
        assert_eq!(quoted, Some(json!({ "style": "very terse", "code": "a(\"b\")" })));
    }

    #[test]
    fn a_prompt_whose_name_cannot_be_typed_is_left_out() {
        for name in ["", "a b", "a\u{202e}b", &"x".repeat(65)] {
            let prompt = serde_json::from_value(json!({ "name": name })).expect("a prompt");
            assert_eq!(PromptCommand::new("g", prompt), None, "{name}");
        }
    }
}
