//! What other people's words in a conversation have to do with what it may do.
//!
//! Words of a web page, a server or a mail may be orders to the agent. Once a conversation has read
//! such (`Event::Tainted`, until `/new`), whatever it tells the outside or changes is asked about,
//! unless a rule names it; what was allowed for the conversation before that is void.
//!
//! Not other people's words are: what people write to the bot, as they may talk to it; files of the
//! workspace, as the agent wrote them, unless it did so while it was under the influence. What
//! people send as a file may be anybody's. Not the outside is this very chat: a tool that never asks, and only shows
//! something here.

use comrak::{
    Arena, Options,
    nodes::{AstNode, Node, NodeCode, NodeValue},
};
use regex::Regex;
use std::sync::LazyLock;

use super::{
    catalog::{Source, Subject, ToolSpec},
    policy,
};
use crate::{
    crash,
    journal::{event::Call, session::Session},
    texts::Messages,
};

/// Where long results are kept, which may be anybody's words.
const KEPT_RESULTS: &str = ".countersign";
/// Where documents of the web are put.
const DOWNLOADS: &str = "downloads";
/// Where files are laid that people send.
pub const INBOX: &str = "inbox";

/// Where the words of this call's result come from, if they are other people's.
pub fn source(call: &Call, spec: &ToolSpec, session: &Session) -> Option<String> {
    let about = policy::subject(spec, &call.arguments);
    let foreign = match (&spec.subject, &spec.source) {
        _ if !spec.untrusted => false,
        (Some(Subject::Path(_)), Source::Builtin) => {
            about.as_ref().is_none_or(|path| is_anybodys(path) || session.is_foreign(path))
        }
        _ => true,
    };
    // A shell may read any file there is.
    let through_shell = matches!(spec.subject, Some(Subject::Command(_))) && session.has_foreign();
    (foreign || through_shell).then(|| match about {
        Some(about) => format!("{} {about}", call.tool),
        None => call.tool.clone(),
    })
}

fn is_anybodys(path: &str) -> bool {
    let folder = path.split('/').next().unwrap_or_default();
    [KEPT_RESULTS, DOWNLOADS, INBOX].contains(&folder)
}

/// Whether that is a file in one of those folders. The folders themselves have names of ours.
pub fn is_anybodys_file(path: &str) -> bool {
    let inner = path.split_once('/').is_some_and(|(_, inner)| !inner.is_empty());
    inner && is_anybodys(path)
}

/// Whether a tainted conversation has to ask before it uses this tool.
pub fn concerns(spec: &ToolSpec, session: &Session) -> bool {
    let tainted = !session.taint.is_empty() && !crash::planted("taint");
    tainted && (spec.outward || spec.changes_something())
}

/// What the question says about it.
pub fn told(session: &Session, words: &Messages) -> String {
    words.tainted(&session.taint)
}

/// What a reader or a platform may take for an address, with or without a scheme.
static ADDRESS: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = concat!(
        r"(?i)\b(?:[a-z][a-z0-9+.-]*://|www\.)\S+",
        r"|\b(?:[a-z0-9-]+\.)+[a-z]{2,}(?::\d+)?[/?]\S*",
        r"|\b(?:[a-z0-9-]+\.){2,}[a-z]{2,}\b",
    );
    Regex::new(pattern).expect("a literal")
});

/// A reply of a tainted conversation: what it links to is shown as code, which nobody loads by
/// looking at it, except on these hosts. An address can carry off what the conversation knows.
pub fn defused(markdown: &str, hosts: &[String]) -> String {
    let mut options = Options::default();
    options.extension.strikethrough = true;
    options.extension.table = true;
    options.extension.tasklist = true;
    let arena = Arena::new();
    let root = comrak::parse_document(&arena, markdown, &options);
    let nodes: Vec<_> = root.descendants().collect();
    let changed: Vec<_> = nodes.iter().map(|node| defuse(&arena, node, hosts)).collect();
    let mut shown = String::new();
    match comrak::format_commonmark(root, &options, &mut shown) {
        Ok(()) if changed.contains(&true) => shown.trim_end().to_owned(),
        _ => markdown.to_owned(),
    }
}

/// Whether there was anything to defuse.
fn defuse<'a>(arena: &'a Arena<'a>, node: Node<'a>, hosts: &[String]) -> bool {
    let code = |literal: &str| {
        let literal = literal.replace('`', "'");
        let code = NodeValue::Code(NodeCode { num_backticks: 1, literal });
        &*arena.alloc(AstNode::from(code))
    };
    let text = |text: &str| &*arena.alloc(AstNode::from(NodeValue::Text(text.to_owned().into())));
    let value = node.data.borrow().value.clone();
    match value {
        NodeValue::Link(link) | NodeValue::Image(link) if !is_safe(&link.url, hosts) => {
            let label: Vec<_> = node.children().collect();
            for part in label {
                node.insert_before(part);
            }
            node.insert_before(text(" "));
            node.insert_before(code(&link.url));
            node.detach();
            true
        }
        NodeValue::Text(words) if ADDRESS.is_match(&words) => {
            let mut rest = 0;
            for found in ADDRESS.find_iter(&words) {
                node.insert_before(text(&words[rest..found.start()]));
                let safe = is_safe(found.as_str(), hosts);
                let shown = if safe { text(found.as_str()) } else { code(found.as_str()) };
                node.insert_before(shown);
                rest = found.end();
            }
            node.insert_before(text(&words[rest..]));
            node.detach();
            true
        }
        NodeValue::HtmlInline(html) => {
            node.insert_before(code(&html));
            node.detach();
            true
        }
        NodeValue::HtmlBlock(html) => {
            node.data.borrow_mut().value = NodeValue::Paragraph;
            node.append(code(html.literal.trim()));
            true
        }
        _ => false,
    }
}

fn is_safe(address: &str, hosts: &[String]) -> bool {
    let host = url::Url::parse(address).ok().and_then(|url| url.host_str().map(str::to_owned));
    host.is_some_and(|host| {
        hosts.iter().any(|own| host == *own || host.ends_with(&format!(".{own}")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No reply of a tainted conversation makes a client load an address.
    /// Proves S1.
    #[test]
    fn links_and_pictures_are_defused() {
        let hosts = ["example.org".to_owned()];
        for (reply, shown) in [
            ("no *link*", "no *link*"),
            ("![x](https://evil.test/?q=1)", "x `https://evil.test/?q=1`"),
            ("[here](https://evil.test \"title\")", "here `https://evil.test`"),
            ("see https://evil.test/a?b=c now", "see `https://evil.test/a?b=c` now"),
            ("<https://evil.test>", "`https://evil.test` `https://evil.test`"),
            ("www.evil.test/x", "`www.evil.test/x`"),
            ("evil.test/?q=secret", "`evil.test/?q=secret`"),
            ("secret.evil.test now", "`secret.evil.test` now"),
            ("[a](//evil.test)", "a `//evil.test`"),
            ("[a][b]\n\n[b]: https://evil.test", "a `https://evil.test`"),
            ("[tg](tg://resolve?domain=x)", "tg `tg://resolve?domain=x`"),
            ("<img src=https://evil.test>", "`<img src=https://evil.test>`"),
            ("`https://evil.test`", "`https://evil.test`"),
            ("\\`https://evil.test\\`", "\\``https://evil.test'`"),
            ("```\nhttps://evil.test\n```", "```\nhttps://evil.test\n```"),
            ("[docs](https://docs.example.org/a)", "[docs](https://docs.example.org/a)"),
            ("https://example.org", "https://example.org"),
            ("https://notexample.org", "`https://notexample.org`"),
            ("https://example.org.evil.test", "`https://example.org.evil.test`"),
            ("https://example.org@evil.test/", "`https://example.org@evil.test/`"),
        ] {
            assert_eq!(defused(reply, &hosts), shown, "{reply}");
        }
    }
}
