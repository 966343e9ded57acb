//! Taint: untrusted content in a conversation, and its consequences.
//!
//! Text from a web page, a server or a mail may contain instructions for the agent. Once a
//! conversation has read untrusted content (`Event::Tainted`, until `/new`), every call that has
//! side effects or contacts external systems requires approval, unless a rule names the tool.
//! Permissions for the conversation that were given before are void.
//!
//! Trusted are messages of people who may talk to the bot, and files of the workspace that the
//! agent wrote while it was not tainted. Files that people send are untrusted, and so is what a tool
//! makes of them. A tool that only
//! shows something in this chat never requires approval because of taint.

use comrak::{
    Arena, Options,
    nodes::{AstNode, Node, NodeCode, NodeValue},
};
use regex::Regex;
use serde_json::Value;
use std::sync::LazyLock;

use super::{
    catalog::{Subject, ToolSource, ToolSpec},
    paths, policy,
};
use crate::{
    journal::{event::Call, session::Session},
    texts::Messages,
};

/// The folder of long results, which may contain untrusted content.
const KEPT_RESULTS: &str = ".countersign";
/// The folder of downloaded documents.
const DOWNLOADS: &str = "downloads";
/// The folder of files that people send.
pub const INBOX: &str = "inbox";

/// The source of this call's result, if the result is untrusted content. A failed call has one as
/// well, since an error may quote the files that it has read.
pub fn source(call: &Call, spec: &ToolSpec, session: &Session) -> Option<String> {
    if let Some(path) = untrusted_file(call, spec, session) {
        return Some(format!("{} {path}", call.tool));
    }
    let about = policy::subject(spec, &call.arguments);
    let untrusted = match (&spec.subject, &spec.source) {
        _ if !spec.untrusted => false,
        (Some(Subject::Path(_)), ToolSource::Builtin) => {
            about.as_ref().is_none_or(|path| may_be_anyones(path) || session.is_untrusted(path))
        }
        _ => true,
    };
    // A shell may read any file.
    let through_shell =
        matches!(spec.subject, Some(Subject::Command(_))) && session.has_untrusted();
    (untrusted || through_shell).then(|| match about {
        Some(about) => format!("{} {about}", call.tool),
        None => call.tool.clone(),
    })
}

/// The first untrusted file that the call reads, besides its subject.
fn untrusted_file(call: &Call, spec: &ToolSpec, session: &Session) -> Option<String> {
    let named = spec.reads.iter().flat_map(|pointer| {
        let keys: Vec<_> = pointer.split('/').skip(1).collect();
        texts_at(&call.arguments, &keys)
    });
    // A path that is not valid is not opened.
    let mut paths = named.filter_map(|path| paths::normalise(path).ok());
    paths.find(|path| may_be_anyones(path) || session.is_untrusted(path))
}

fn texts_at<'v>(value: &'v Value, keys: &[&str]) -> Vec<&'v str> {
    match keys {
        [] => value.as_str().into_iter().collect(),
        ["*", rest @ ..] => {
            let entries = value.as_array().into_iter().flatten();
            entries.flat_map(|entry| texts_at(entry, rest)).collect()
        }
        [key, rest @ ..] => value.get(key).map(|value| texts_at(value, rest)).unwrap_or_default(),
    }
}

fn may_be_anyones(path: &str) -> bool {
    let folder = path.split('/').next().unwrap_or_default();
    [KEPT_RESULTS, DOWNLOADS, INBOX].contains(&folder)
}

/// Whether this file is in one of the folders for untrusted files, but is not the folder itself.
pub fn may_be_anyones_file(path: &str) -> bool {
    let inner = path.split_once('/').is_some_and(|(_, inner)| !inner.is_empty());
    inner && may_be_anyones(path)
}

/// Whether a tainted conversation needs approval for this tool.
pub fn concerns(spec: &ToolSpec, session: &Session) -> bool {
    let tainted = !session.taint.is_empty();
    tainted && (spec.outward || spec.changes_something())
}

/// The note about it in the approval.
pub fn note(session: &Session, words: &Messages) -> String {
    words.tainted(&session.taint)
}

/// Matches what a client may recognise as a URL, with or without a scheme.
static ADDRESS: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = concat!(
        r"(?i)\b(?:[a-z][a-z0-9+.-]*://|www\.)\S+",
        r"|\b(?:[a-z0-9-]+\.)+[a-z]{2,}(?::\d+)?[/?]\S*",
        r"|\b(?:[a-z0-9-]+\.){2,}[a-z]{2,}\b",
    );
    Regex::new(pattern).expect("a literal")
});

/// Replaces the links of a reply in a tainted conversation with code, so that no client loads them.
/// Links to these hosts are kept. A URL could leak what the conversation contains.
pub fn without_links(markdown: &str, hosts: &[String]) -> String {
    let mut options = Options::default();
    options.extension.strikethrough = true;
    options.extension.table = true;
    options.extension.tasklist = true;
    let arena = Arena::new();
    let root = comrak::parse_document(&arena, markdown, &options);
    let nodes: Vec<_> = root.descendants().collect();
    let changed: Vec<_> = nodes.iter().map(|node| disarm_link(&arena, node, hosts)).collect();
    let mut shown = String::new();
    match comrak::format_commonmark(root, &options, &mut shown) {
        Ok(()) if changed.contains(&true) => shown.trim_end().to_owned(),
        _ => markdown.to_owned(),
    }
}

/// Returns whether it changed anything.
fn disarm_link<'a>(arena: &'a Arena<'a>, node: Node<'a>, hosts: &[String]) -> bool {
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

    /// No reply of a tainted conversation makes a client load a URL.
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
            assert_eq!(without_links(reply, &hosts), shown, "{reply}");
        }
    }
}
