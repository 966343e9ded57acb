//! Templates, and the context of a request. A value that a template uses and nobody provides is an
//! error.

use anyhow::{Context as _, Result};
use axum::{
    extract::{FromRequest, FromRequestParts, Query},
    http::{Uri, request::Parts},
    response::{Html, IntoResponse as _, Redirect, Response},
};
use channels::text::reveal;
use chrono::{DateTime, Utc};
use minijinja::{
    Environment, State, UndefinedBehavior,
    value::{Serde, Value as Shown},
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};
use url::form_urlencoded;

use super::localize::localized;
use crate::{
    admin::{
        Admin,
        api::{caller::Caller, halt},
        code_html::CodeBudget,
        language, markdown_html, percent,
        problem::{INVALID_FORM, Problem},
        templates::{self, extend},
    },
    journal::role::Role,
    texts::{Language, console},
};

/// The templates, by name.
const TEMPLATES: &[(&str, &str)] = &[
    ("access.html", include_str!("pages/access.html")),
    ("approvals.html", include_str!("pages/approvals.html")),
    ("artifacts.html", include_str!("pages/artifacts.html")),
    ("audit.html", include_str!("pages/audit.html")),
    ("channels.html", include_str!("pages/channels.html")),
    ("conversation.html", include_str!("pages/conversation.html")),
    ("conversations.html", include_str!("pages/conversations.html")),
    ("dead_letters.html", include_str!("pages/dead_letters.html")),
    ("frame.html", include_str!("pages/frame.html")),
    ("grants.html", include_str!("pages/grants.html")),
    ("history.html", include_str!("pages/history.html")),
    ("overview.html", include_str!("pages/overview.html")),
    ("parts.html", include_str!("pages/parts.html")),
    ("people.html", include_str!("pages/people.html")),
    ("rules.html", include_str!("pages/rules.html")),
    ("schedules.html", include_str!("pages/schedules.html")),
    ("configuration.html", include_str!("pages/configuration.html")),
    ("doctor.html", include_str!("pages/doctor.html")),
    ("search.html", include_str!("pages/search.html")),
    ("skills.html", include_str!("pages/skills.html")),
    ("start.html", include_str!("pages/start.html")),
    ("settings.html", include_str!("pages/settings.html")),
    ("tools.html", include_str!("pages/tools.html")),
    ("usage.html", include_str!("pages/usage.html")),
    ("webhooks.html", include_str!("pages/webhooks.html")),
    ("wiki.html", include_str!("pages/wiki.html")),
    ("wiki_page.html", include_str!("pages/wiki_page.html")),
];

/// The pages of the navigation, in order: path, title, required role.
const NAV: &[(&str, &str, Role)] = &[
    ("/console/overview", "Overview", Role::Viewer),
    ("/console/start", "First steps", Role::Owner),
    ("/console/approvals", "Approvals", Role::Approver),
    ("/console/conversations", "Conversations", Role::Operator),
    ("/console/search", "Search", Role::Operator),
    ("/console/tools", "Tools", Role::Viewer),
    ("/console/rules", "Guard rules", Role::Operator),
    ("/console/grants", "Grants", Role::Approver),
    ("/console/people", "People", Role::Operator),
    ("/console/access", "Access", Role::Owner),
    ("/console/schedules", "Schedules", Role::Operator),
    ("/console/skills", "Skills", Role::Operator),
    ("/console/wiki", "Wiki", Role::Operator),
    ("/console/artifacts", "Artifacts", Role::Operator),
    ("/console/dead-letters", "Dead letters", Role::Operator),
    ("/console/webhooks", "Webhooks", Role::Operator),
    ("/console/channels", "Channels", Role::Viewer),
    ("/console/usage", "Usage", Role::Operator),
    ("/console/audit", "Audit", Role::Operator),
    ("/console/settings", "Settings", Role::Operator),
    ("/console/configuration", "Models and channels", Role::Owner),
    ("/console/doctor", "Doctor", Role::Operator),
];

/// The notice that is shown after an action, by its key in the URL.
const DONE: &[(&str, &str)] = &[
    ("decided", "Decision saved."),
    ("voted", "Vote saved. More people have to agree."),
    ("vote_withdrawn", "Vote withdrawn."),
    ("set", "Saved. Takes effect from the next turn."),
    ("added", "Rule saved. It takes effect immediately on all nodes."),
    ("removed", "Removed."),
    ("replayed", "Queued for another attempt."),
    ("dropped", "Dropped. It will not be sent."),
    ("revoked", "Revoked immediately."),
    ("changed", "Changed."),
    ("saved", "Saved."),
    ("reconnected", "Reconnected."),
    ("reconnecting", "Reconnection requested, but no node has reported a result yet."),
    ("known", "The platform accepts the token."),
    ("halted", "Halted: no tool can run, and all open approvals were denied."),
    ("webhook_tested", "The test delivery is queued. It is listed below."),
    ("reloaded", "The configuration was reloaded."),
    ("model_connected", "The model answers, and agents use it now."),
    ("bot_connected", "The platform accepts the token. The bot is connecting."),
    ("lifted", "Halt lifted: tools can run again."),
];

static PAGES: LazyLock<BTreeMap<&'static str, Environment<'static>>> = LazyLock::new(|| {
    Language::ALL.into_iter().map(|language| (language.tag(), templates(language))).collect()
});

/// The templates in a language.
fn templates(language: Language) -> Environment<'static> {
    let mut pages = Environment::new();
    pages.set_undefined_behavior(UndefinedBehavior::Strict);
    pages.add_filter("instant", instant);
    pages.add_filter("exact", |value: Shown| exact(&value));
    pages.add_filter("markdown", markdown);
    pages.add_filter("markdown_line", |text: &str| channels::text::format(text).text);
    pages.add_filter("without_title", |text: &str| without_title(text).to_owned());
    pages.add_filter("segment", |text: &str| percent::encoded(text));
    pages.add_filter("money", |micros: f64| format!("{:.4}", micros / 1e6));
    pages.add_filter("lasted", |ms: f64| lasted(ms));
    pages.add_filter("bytes", |count: u64| size(count));
    pages.add_filter("word", move |text: &str| console::translated(text, language).to_owned());
    for (name, template) in TEMPLATES {
        // Once for each template and language of a process.
        let localized: &'static str = Box::leak(localized(template, language).into_boxed_str());
        pages.add_template(name, localized).expect("a test renders every template");
    }
    pages
}

/// HTML of Markdown. The texts of a page share a budget for highlighted code.
fn markdown(state: &mut State<'_, '_>, text: &str) -> Shown {
    let budget = state.get_or_insert_extension_with(CodeBudget::default);
    Shown::from_safe_string(markdown_html::from_markdown(text, budget))
}

/// A point in time, to the second.
fn instant(text: &str) -> Shown {
    let Ok(at) = text.parse::<DateTime<Utc>>() else { return Shown::from(text) };
    let (exact, shown) = (at.to_rfc3339(), at.format("%Y-%m-%d %H:%M:%S"));
    Shown::from_safe_string(format!("<time datetime=\"{exact}\">{shown}</time>"))
}

/// The text of an approval without its first line, which is the heading of the page. A line that
/// also names a sub-agent is kept.
fn without_title(text: &str) -> &str {
    text.split_once('\n').filter(|(title, _)| !title.contains(": ")).map_or(text, |(_, rest)| rest)
}

/// The exact text, with invisible characters made visible.
fn exact(value: &Shown) -> String {
    if let Some(text) = value.as_str() {
        return reveal(text);
    }
    let pretty = serde_json::to_value(value).map(|value| format!("{value:#}"));
    reveal(&pretty.unwrap_or_default())
}

fn lasted(ms: f64) -> String {
    if ms < 1_000.0 { format!("{ms:.0} ms") } else { format!("{:.1} s", ms / 1_000.0) }
}

fn size(bytes: u64) -> String {
    let count = bytes as f64;
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{:.1} kB", count / 1e3),
        _ => format!("{:.1} MB", count / 1e6),
    }
}

/// The person who views a page or performs an action, and the request's context.
pub struct PageContext {
    pub admin: Arc<Admin>,
    pub caller: Caller,
    path: String,
    /// The filters of the page, for the link to its next part.
    filters: String,
    done: Option<&'static str>,
    pub language: Language,
}

#[derive(Deserialize)]
struct FlashQuery {
    #[serde(default)]
    done: String,
}

impl FromRequestParts<Arc<Admin>> for PageContext {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, admin: &Arc<Admin>) -> Result<Self, Problem> {
        let caller = Caller::from_request_parts(parts, admin).await?;
        let said = Query::<FlashQuery>::try_from_uri(&parts.uri).ok();
        let done = said.and_then(|Query(said)| {
            DONE.iter().find(|(word, _)| *word == said.done).map(|(_, sentence)| *sentence)
        });
        let (path, query) = (parts.uri.path().to_owned(), parts.uri.query().unwrap_or_default());
        let language = language::of(&parts.headers);
        Ok(Self { admin: admin.clone(), caller, path, filters: filters(query), done, language })
    }
}

impl PageContext {
    /// Renders a page within the common frame, on a thread for work that blocks.
    pub async fn page(&self, template: &'static str, values: Value) -> Result<Response, Problem> {
        let halt = halt::state(&self.admin).await?;
        let role = self.caller.role;
        let places = NAV.iter().filter(|(_, _, required)| role >= *required);
        let nav: Vec<_> = places
            .map(|(path, title, _)| {
                let title = console::translated(title, self.language);
                json!({ "path": path, "title": title, "here": self.path.starts_with(path) })
            })
            .collect();
        let mut all = json!({
            "bot": self.admin.bot,
            "me": self.caller.name,
            "role": role,
            "decides": role >= Role::Approver,
            "operates": role >= Role::Operator,
            "owns": role >= Role::Owner,
            "nav": nav,
            "filters": self.filters,
            "done": self.done.map(|done| console::translated(done, self.language)),
            "lang": self.language.words().page.lang,
            "halt": halt,
            "now": self.admin.gateway.clock.now(),
            "live": null,
        });
        extend(&mut all, values);
        let language = self.language;
        let page = tokio::task::spawn_blocking(move || render(template, language, all)).await;
        Ok(Html(page.context("rendering a page")??).into_response())
    }
}

/// The parameters of a query that a page keeps from one part to the next, each with `&` before it.
fn filters(query: &str) -> String {
    let pairs = form_urlencoded::parse(query.as_bytes());
    let kept = pairs.filter(|(key, value)| {
        !value.is_empty() && !["cursor", "done", "verify"].contains(&key.as_ref())
    });
    let kept = form_urlencoded::Serializer::new(String::new()).extend_pairs(kept).finish();
    if kept.is_empty() { kept } else { format!("&{kept}") }
}

fn render(template: &str, language: Language, values: Value) -> Result<String> {
    let pages = PAGES.get(language.tag()).context("the templates of a language")?;
    let page = pages.get_template(template).with_context(|| format!("the page {template}"))?;
    page.render(Shown::from(Serde(values))).with_context(|| format!("rendering {template}"))
}

/// Renders an error as a page.
pub fn problem(admin: &Admin, problem: &Problem, language: Language) -> Response {
    let status = problem.status();
    let title = console::translated(status.canonical_reason().unwrap_or_default(), language);
    let detail = problem.detail(language);
    let chat = console::translated("Chat", language);
    let values = json!({ "bot": admin.bot, "title": title, "detail": detail, "chat": chat });
    let page = templates::page("problem.html", &language.words().page, values);
    (status, Html(page)).into_response()
}

/// What is wrong with a form, to be shown above it. Other errors are pages of their own.
pub fn form_error(problem: Problem, language: Language) -> Result<String, Problem> {
    if problem.status().is_client_error() { Ok(problem.detail(language)) } else { Err(problem) }
}

/// Redirects to a page, which shows the notice for the action.
pub fn back(page: &str, done: &str) -> Redirect {
    Redirect::to(&format!("/console/{page}?done={done}"))
}

/// The part of a form that belongs to this type; further fields are ignored.
pub fn parsed<T: DeserializeOwned>(sent: &BTreeMap<String, String>) -> Result<T, Problem> {
    let pairs = form_urlencoded::Serializer::new(String::new()).extend_pairs(sent).finish();
    let uri: Uri = format!("/?{pairs}").parse().map_err(|_| Problem::unfit(INVALID_FORM))?;
    Ok(Query::<T>::try_from_uri(&uri)?.0)
}

/// The fields of a submitted form.
#[derive(FromRequest)]
#[from_request(via(axum::Form), rejection(Problem))]
pub struct Sent<T>(pub T);

#[cfg(test)]
mod tests {
    use super::{super::localize, *};
    use std::{collections::BTreeSet, fs, path::Path};

    #[test]
    fn every_template_can_be_read_and_is_there() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/admin/console/pages");
        let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        let templates = files.filter(|path| path.extension().is_some_and(|end| end == "html"));
        let files: BTreeSet<_> = templates
            .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
            .collect();
        let known: BTreeSet<_> = PAGES["en"].templates().map(|(name, _)| name.to_owned()).collect();
        assert_eq!(files, known);
    }

    /// Templates, navigation and notices have no text without a translation, and no translation is
    /// left over.
    #[test]
    fn every_text_of_the_console_is_translated() {
        let titles =
            NAV.iter().map(|(_, title, _)| *title).chain(DONE.iter().map(|(_, text)| *text));
        let mut used: BTreeSet<String> = titles.map(str::to_owned).collect();
        used.extend(TEMPLATES.iter().flat_map(|(_, template)| localize::texts(template)));
        let missing: Vec<_> = used.iter().filter(|text| !console::is_translated(text)).collect();
        assert!(missing.is_empty(), "{}", serde_json::to_string_pretty(&missing).unwrap());
        let sources = TEMPLATES.iter().map(|(_, template)| *template).collect::<String>();
        let left: Vec<_> = console::texts()
            .filter(|text| !used.contains(*text) && !sources.contains(text))
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }

    /// A translation shows the same values as the text.
    #[test]
    fn translations_contain_the_same_values() {
        for text in console::texts() {
            let values = |text: &str| {
                let parts = text.split("{{").skip(1).filter_map(|part| part.split_once("}}"));
                parts.map(|(value, _)| value.trim().to_owned()).collect::<BTreeSet<_>>()
            };
            for language in Language::ALL {
                let translated = console::translated(text, language);
                assert_eq!(values(text), values(translated), "{translated}");
            }
        }
    }

    #[test]
    fn missing_template_values_are_errors_and_given_ones_are_escaped() {
        let page = PAGES["en"].template_from_named_str("x.html", "<p>{{ a }}{{ b }}</p>").unwrap();
        let fault = page.render(Shown::from(Serde(json!({ "a": "x" })))).unwrap_err();
        assert!(format!("{fault:#}").contains("undefined"), "{fault:#}");
        let values = json!({ "a": "<b>", "b": "\"><script>" });
        let page = page.render(Shown::from(Serde(values))).unwrap();
        assert!(!page.contains("<b>") && !page.contains("<script>"), "{page}");
    }

    #[test]
    fn the_filters_of_a_page_are_kept() {
        let query = "cursor=abc&chat=a%26b+c&channel=&failed=true&done=set";
        assert_eq!(filters(query), "&chat=a%26b+c&failed=true");
        assert_eq!(filters("cursor=abc"), "");
    }

    #[test]
    fn sizes_and_times_have_few_digits() {
        assert_eq!([size(999), size(1_500), size(2_340_000)], ["999 bytes", "1.5 kB", "2.3 MB"]);
        assert_eq!(without_title("Allow **a**?\nDoes."), "Does.");
        assert_eq!(without_title("cleaner: Allow **a**?\nDoes."), "cleaner: Allow **a**?\nDoes.");
        assert_eq!([lasted(12.0), lasted(1_234.0)], ["12 ms", "1.2 s"]);
        assert_eq!(exact(&Shown::from("a\u{202e}b")), "a‹U+202E›b");
    }
}
