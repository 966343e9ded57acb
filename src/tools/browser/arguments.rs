//! What a call of `browser_use` asks for.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;
use url::Url;

use super::actions;
use crate::{
    agent::catalog::{ApprovalMode, CallTerms, EffectClass},
    tools::{ToolError, contract::arguments::parse, web},
};

const WAIT_SECONDS: u64 = 5;
const MAX_WAIT_SECONDS: u64 = 30;
/// The maximum length of text that is entered.
const TEXT_CHARS: usize = 20_000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BrowserArguments {
    action: BrowserAction,
    /// The address to navigate to.
    #[serde(default)]
    url: Option<String>,
    /// The element, as named in the last snapshot: for click, type, select, press, download, upload,
    /// and to scroll to it.
    #[serde(default, rename = "ref")]
    reference: Option<String>,
    /// The text to type, the option to select, or the text to wait for.
    #[serde(default)]
    text: Option<String>,
    /// The key to press, such as Enter, Escape or Control+a.
    #[serde(default)]
    key: Option<String>,
    /// Where to scroll; default down.
    #[serde(default)]
    direction: Option<Direction>,
    /// How long to wait; default 5.
    #[serde(default)]
    #[schemars(range(min = 1, max = 30))]
    seconds: Option<u64>,
    /// The number of the tab to switch to, or to close.
    #[serde(default)]
    tab: Option<u32>,
    /// Path of the file in the workspace to upload.
    #[serde(default)]
    path: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BrowserAction {
    Navigate,
    Snapshot,
    Click,
    Type,
    Select,
    Press,
    Scroll,
    Wait,
    Tabs,
    CloseTab,
    Back,
    Extract,
    Screenshot,
    Download,
    Upload,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    Up,
    Down,
}

/// A call with what its action needs.
#[derive(Debug)]
pub enum BrowserStep {
    Navigate(Url),
    Look(BrowserLook),
    Input(BrowserInput),
}

/// An action that only shows something.
#[derive(Debug)]
pub enum BrowserLook {
    Snapshot,
    Scroll(Direction),
    ScrollTo(String),
    Wait { text: Option<String>, limit: Duration },
    Tabs(Option<u32>),
    CloseTab(u32),
    Back,
    Extract,
    Screenshot,
}

/// An action on an element, which may have effects outside.
#[derive(Debug)]
pub struct BrowserInput {
    pub reference: String,
    pub kind: InputKind,
}

#[derive(Debug)]
pub enum InputKind {
    Click,
    Type(String),
    Select(String),
    Press(String),
    Download,
    Upload(String),
}

/// How a call is judged: looking at an open page is free, opening an address is like `web_fetch`,
/// and an input requires an approval.
pub fn terms(arguments: &Value) -> CallTerms {
    let action = BrowserAction::deserialize(&arguments["action"]);
    match action.ok() {
        Some(BrowserAction::Navigate) => CallTerms {
            approval: ApprovalMode::Never,
            effect: EffectClass::ReadOnly,
            outward: true,
        },
        Some(
            BrowserAction::Snapshot
            | BrowserAction::Scroll
            | BrowserAction::Wait
            | BrowserAction::Tabs
            | BrowserAction::CloseTab
            | BrowserAction::Back
            | BrowserAction::Extract
            | BrowserAction::Screenshot,
        ) => CallTerms {
            approval: ApprovalMode::Never,
            effect: EffectClass::ReadOnly,
            outward: false,
        },
        _ => CallTerms {
            approval: ApprovalMode::UnlessAllowed,
            effect: EffectClass::AtMostOnce,
            outward: true,
        },
    }
}

/// Checks the arguments.
pub fn step(arguments: Value) -> Result<BrowserStep, ToolError> {
    let BrowserArguments { action, url, reference, text, key, direction, seconds, tab, path } =
        parse(arguments)?;
    let look = |look| Ok(BrowserStep::Look(look));
    match action {
        BrowserAction::Navigate => {
            return Ok(BrowserStep::Navigate(address(&needed(url, "url")?)?));
        }
        BrowserAction::Snapshot => return look(BrowserLook::Snapshot),
        BrowserAction::Scroll => {
            return look(match reference {
                Some(reference) => BrowserLook::ScrollTo(reference),
                None => BrowserLook::Scroll(direction.unwrap_or(Direction::Down)),
            });
        }
        BrowserAction::Wait => {
            let seconds = seconds.unwrap_or(WAIT_SECONDS).clamp(1, MAX_WAIT_SECONDS);
            return look(BrowserLook::Wait { text, limit: Duration::from_secs(seconds) });
        }
        BrowserAction::Tabs => return look(BrowserLook::Tabs(tab)),
        BrowserAction::CloseTab => return look(BrowserLook::CloseTab(needed(tab, "tab")?)),
        BrowserAction::Back => return look(BrowserLook::Back),
        BrowserAction::Extract => return look(BrowserLook::Extract),
        BrowserAction::Screenshot => return look(BrowserLook::Screenshot),
        BrowserAction::Click
        | BrowserAction::Type
        | BrowserAction::Select
        | BrowserAction::Press
        | BrowserAction::Download
        | BrowserAction::Upload => {}
    }
    let kind = match action {
        BrowserAction::Type => InputKind::Type(bounded(needed(text, "text")?)?),
        BrowserAction::Select => InputKind::Select(bounded(needed(text, "text")?)?),
        BrowserAction::Press => {
            let key = needed(key, "key")?;
            actions::check_key(&key)?;
            InputKind::Press(key)
        }
        BrowserAction::Download => InputKind::Download,
        BrowserAction::Upload => InputKind::Upload(needed(path, "path")?),
        _ => InputKind::Click,
    };
    Ok(BrowserStep::Input(BrowserInput { reference: needed(reference, "ref")?, kind }))
}

fn needed<T>(value: Option<T>, name: &str) -> Result<T, ToolError> {
    value.ok_or_else(|| ToolError::InvalidParameters(format!("this action needs `{name}`")))
}

fn bounded(text: String) -> Result<String, ToolError> {
    if text.chars().count() <= TEXT_CHARS {
        return Ok(text);
    }
    let why = format!("`text` has more than {TEXT_CHARS} characters");
    Err(ToolError::InvalidParameters(why))
}

/// An address of the web. Others would lead into the sandbox or to pages of the browser itself.
pub fn address(text: &str) -> Result<Url, ToolError> {
    let url = web::address(text)?;
    let why = match url.scheme() {
        "http" | "https" if url.username().is_empty() && url.password().is_none() => {
            return Ok(url);
        }
        "http" | "https" => "an address with a user name or password is not supported",
        _ => "only http and https addresses can be opened",
    };
    Err(ToolError::InvalidParameters(why.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_action_names_what_it_lacks() {
        for (arguments, missing) in [
            (json!({ "action": "navigate" }), "`url`"),
            (json!({ "action": "click" }), "`ref`"),
            (json!({ "action": "type", "ref": "e1" }), "`text`"),
            (json!({ "action": "press", "ref": "e1", "key": "Hyper" }), "not a key"),
            (json!({ "action": "upload", "ref": "e1" }), "`path`"),
            (json!({ "action": "close_tab" }), "`tab`"),
            (json!({ "action": "navigate", "url": "file:///etc/passwd" }), "only http"),
            (json!({ "action": "navigate", "url": "chrome://settings" }), "only http"),
            (json!({ "action": "navigate", "url": "https://a:b@example.org" }), "user name"),
        ] {
            let error = step(arguments.clone()).unwrap_err().to_string();
            assert!(error.contains(missing), "{arguments}: {error}");
        }
    }

    /// Inputs require an approval, looking does not, and opening an address is outward.
    /// Proves MC-36.
    #[test]
    fn only_looking_at_an_open_page_is_free() {
        let of = |action: &str| terms(&json!({ "action": action }));
        for input in ["click", "type", "select", "press", "download", "upload", "unknown"] {
            let terms = of(input);
            assert_eq!(terms.approval, ApprovalMode::UnlessAllowed, "{input}");
            assert_eq!((terms.effect, terms.outward), (EffectClass::AtMostOnce, true), "{input}");
        }
        for look in
            ["snapshot", "scroll", "wait", "tabs", "close_tab", "back", "extract", "screenshot"]
        {
            let terms = of(look);
            assert_eq!(terms.approval, ApprovalMode::Never, "{look}");
            assert_eq!((terms.effect, terms.outward), (EffectClass::ReadOnly, false), "{look}");
        }
        let navigate = of("navigate");
        assert_eq!((navigate.approval, navigate.outward), (ApprovalMode::Never, true));
    }
}
