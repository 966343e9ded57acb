//! Error responses as problem details (RFC 9457): a status and a sentence that says what to do.

use axum::{
    body::Body,
    extract::{
        Request,
        rejection::{FormRejection, JsonRejection, PathRejection, QueryRejection},
    },
    http::{
        HeaderValue, StatusCode,
        header::{CONTENT_TYPE, RETRY_AFTER},
    },
    middleware::Next,
    response::{IntoResponse, Response},
};
use serde_json::json;
use std::any::Any;

use super::language;
use crate::texts::{Language, PageTexts, ScheduleError, SettingsError};

/// Selects a text of the page.
pub type PageText = fn(&PageTexts) -> &'static str;

pub const TOO_LONG: PageText = |page| page.too_long;
pub const EMPTY: PageText = |page| page.empty;
pub const BAD_ID: PageText = |page| page.bad_id;
pub const BAD_REQUEST: PageText = |page| page.bad_request;
pub const NOT_SAVED: PageText = |page| page.not_saved;
pub const NO_WEB_CHAT: PageText = |page| page.no_web_chat;
pub const NO_SUCH_PAGE: PageText = |page| page.no_such_page;
pub const NO_SUCH_FILE: PageText = |page| page.no_such_file;
pub const FILE_GONE: PageText = |page| page.file_gone;
pub const TOO_FAST: PageText = |page| page.too_fast;
pub const FILE_TOO_LARGE: PageText = |page| page.file_too_large;
pub const TOO_MANY_CONVERSATIONS: PageText = |page| page.too_many_conversations;
pub const CROSS_SITE: PageText = |page| page.cross_site;
pub const TOO_MANY_MESSAGES: PageText = |page| page.problems.refusals.too_many_messages;
pub const OTHER_PERSON: PageText = |page| page.problems.refusals.other_person;
pub const NOT_THE_LAST_MESSAGE: PageText = |page| page.problems.refusals.not_the_last_message;
pub const NOT_A_MEMBER: PageText = |page| page.problems.refusals.not_a_member;
pub const UPLOAD_LIMIT: PageText = |page| page.problems.refusals.upload_limit;
pub const UPLOAD_TOO_SLOW: PageText = |page| page.problems.refusals.upload_too_slow;
pub const FILE_NOT_STORED: PageText = |page| page.problems.refusals.file_not_stored;
pub const SELECT_PERSON: PageText = |page| page.problems.schedules.select_person;
pub const NOT_A_PARTICIPANT: PageText = |page| page.problems.schedules.not_a_participant;
pub const NO_ACCESS: PageText = |page| page.problems.schedules.no_access;
pub const SCHEDULE_EXISTS: PageText = |page| page.problems.schedules.exists;
pub const TOO_MANY_SCHEDULES: PageText = |page| page.problems.schedules.too_many;
pub const SCHEDULE_CHANGED: PageText = |page| page.problems.schedules.changed_meanwhile;
pub const NO_SUCH_SCHEDULE: PageText = |page| page.problems.schedules.no_such_schedule;
pub const INVALID_FORM: PageText = |page| page.problems.forms.invalid_form;
pub const INVALID_CURSOR: PageText = |page| page.problems.forms.invalid_cursor;
pub const INVALID_LIMIT: PageText = |page| page.problems.forms.invalid_limit;
pub const REQUIRES_ROLE: PageText = |page| page.problems.forms.requires_role;
pub const REASON_TOO_LONG: PageText = |page| page.problems.forms.reason_too_long;
pub const NO_SUCH_STATE: PageText = |page| page.problems.forms.no_such_state;
pub const NO_TOOL_CHANGE: PageText = |page| page.problems.forms.no_tool_change;
pub const TOOL_OF_SERVER: PageText = |page| page.problems.forms.tool_of_server;
pub const TOOL_CHANGED: PageText = |page| page.problems.forms.tool_changed;
pub const NO_CONNECTION: PageText = |page| page.problems.forms.no_connection;
pub const TOKEN_NAME: PageText = |page| page.problems.forms.token_name;
pub const TOKEN_DAYS: PageText = |page| page.problems.forms.token_days;
pub const TOKEN_NAME_TAKEN: PageText = |page| page.problems.forms.token_name_taken;
pub const PERSON_ID: PageText = |page| page.problems.forms.person_id;
pub const VISITOR_ROLE: PageText = |page| page.problems.forms.visitor_role;
pub const CODE_HOURS: PageText = |page| page.problems.forms.code_hours;
pub const UNKNOWN_CHANNEL: PageText = |page| page.problems.forms.unknown_channel;
pub const OWN_ACCOUNT: PageText = |page| page.problems.forms.own_account;
pub const RULE_EXISTS: PageText = |page| page.problems.forms.rule_exists;
pub const RULE_NAME: PageText = |page| page.problems.forms.rule_name;
pub const INVALID_RULE: PageText = |page| page.problems.forms.invalid_rule;
pub const UNKNOWN_AGENT: PageText = |page| page.problems.forms.unknown_agent;
pub const INVALID_ARGUMENTS: PageText = |page| page.problems.forms.invalid_arguments;
pub const INVALID_PRIORITY: PageText = |page| page.problems.forms.invalid_priority;
pub const INVALID_APPROVERS: PageText = |page| page.problems.forms.invalid_approvers;
pub const INVALID_PATTERN_LINE: PageText = |page| page.problems.forms.invalid_pattern_line;
pub const SKILL_CHANGED: PageText = |page| page.problems.forms.skill_changed;
pub const NO_SUCH_LIST: PageText = |page| page.problems.forms.no_such_list;
pub const NO_SUCH_PROVIDER: PageText = |page| page.problems.forms.no_such_provider;
pub const NO_SUCH_PLATFORM: PageText = |page| page.problems.forms.no_such_platform;
pub const NO_BOT_TOKEN: PageText = |page| page.problems.forms.no_bot_token;
const UNREADABLE: PageText = |page| page.problems.forms.unreadable;
const NOT_APPLIED: PageText = |page| page.problems.forms.not_applied;
const NOT_AVAILABLE: PageText = |page| page.problems.forms.not_available;

/// When a request can be sent again, in seconds.
const RETRY_SECONDS: HeaderValue = HeaderValue::from_static("2");

/// The media type of problem details.
pub const PROBLEM: &str = "application/problem+json";

/// An error response.
#[derive(Debug, Clone)]
pub struct Problem {
    status: StatusCode,
    text: ProblemText,
    /// Whether the same request can be sent again in a moment.
    can_be_repeated: bool,
}

/// The text of an error.
#[derive(Debug, Clone)]
pub enum ProblemText {
    Says(PageText),
    /// `{value}` is replaced.
    With {
        says: PageText,
        value: String,
    },
    Schedule(ScheduleError),
    Settings(SettingsError),
    /// In English, for programs.
    Messages(String),
    SignedOut,
    /// An internal error, with the reference of its log entry.
    Broken(String),
}

impl ProblemText {
    pub fn with(says: PageText, value: impl Into<String>) -> Self {
        Self::With { says, value: value.into() }
    }

    /// Why a change of the configuration was not applied.
    pub fn not_applied(problem: &anyhow::Error) -> Self {
        Self::of_settings(problem, NOT_APPLIED)
    }

    /// Why the configuration or its checks cannot be shown.
    pub fn not_available(problem: &anyhow::Error) -> Self {
        Self::of_settings(problem, NOT_AVAILABLE)
    }

    fn of_settings(problem: &anyhow::Error, otherwise: PageText) -> Self {
        match problem.downcast_ref::<SettingsError>() {
            Some(error) => Self::Settings(error.clone()),
            None => Self::with(otherwise, format!("{problem:#}")),
        }
    }

    /// The text in a language.
    pub fn text(&self, language: Language) -> String {
        let page = &language.words().page;
        match self {
            Self::Says(says) => says(page).to_owned(),
            Self::With { says, value } => says(page).replace("{value}", value),
            Self::Schedule(error) => page.problems.schedules.error(error),
            Self::Settings(error) => page.problems.settings_error(error),
            Self::Messages(words) => words.clone(),
            Self::SignedOut => format!("{} {}", page.signed_out, page.new_link),
            Self::Broken(reference) => format!("{} {reference}", page.broken),
        }
    }
}

impl From<PageText> for ProblemText {
    fn from(says: PageText) -> Self {
        Self::Says(says)
    }
}

impl From<ScheduleError> for ProblemText {
    fn from(error: ScheduleError) -> Self {
        Self::Schedule(error)
    }
}

impl From<String> for ProblemText {
    fn from(words: String) -> Self {
        Self::Messages(words)
    }
}

impl From<&str> for ProblemText {
    fn from(words: &str) -> Self {
        Self::Messages(words.to_owned())
    }
}

impl Problem {
    pub fn new(status: StatusCode, text: impl Into<ProblemText>) -> Self {
        Self { status, text: text.into(), can_be_repeated: false }
    }

    pub fn signed_out() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, ProblemText::SignedOut)
    }

    /// The request is well-formed but cannot be carried out.
    pub fn unfit(text: impl Into<ProblemText>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, text)
    }

    /// The request conflicts with the current state.
    pub fn conflict(text: impl Into<ProblemText>) -> Self {
        Self::new(StatusCode::CONFLICT, text)
    }

    /// Something did not answer: the same request can be sent again.
    pub fn try_again(text: impl Into<ProblemText>) -> Self {
        Self { can_be_repeated: true, ..Self::new(StatusCode::SERVICE_UNAVAILABLE, text) }
    }

    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The JSON body, in English.
    pub fn body(&self) -> String {
        self.body_in(Language::default())
    }

    /// What to do about it, in one sentence.
    pub fn detail(&self, language: Language) -> String {
        self.text.text(language)
    }

    fn body_in(&self, language: Language) -> String {
        json!({
            "type": "about:blank",
            "title": self.status.canonical_reason(),
            "status": self.status.as_u16(),
            "detail": self.detail(language),
        })
        .to_string()
    }

    fn response_in(&self, language: Language) -> Response {
        let kind = HeaderValue::from_static(PROBLEM);
        let content = (self.status, [(CONTENT_TYPE, kind)], self.body_in(language));
        let mut response = content.into_response();
        if self.can_be_repeated {
            response.headers_mut().insert(RETRY_AFTER, RETRY_SECONDS);
        }
        response
    }
}

/// Logged here, once; the person gets a reference to the log entry.
impl From<anyhow::Error> for Problem {
    fn from(problem: anyhow::Error) -> Self {
        let reference = uuid::Uuid::new_v4().simple().to_string()[..8].to_owned();
        tracing::error!(reference, problem = format!("{problem:#}"), "request failed");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, ProblemText::Broken(reference))
    }
}

impl From<JsonRejection> for Problem {
    fn from(rejection: JsonRejection) -> Self {
        Self::new(rejection.status(), ProblemText::with(UNREADABLE, rejection.body_text()))
    }
}

impl From<QueryRejection> for Problem {
    fn from(rejection: QueryRejection) -> Self {
        Self::new(rejection.status(), ProblemText::with(UNREADABLE, rejection.body_text()))
    }
}

impl From<PathRejection> for Problem {
    fn from(rejection: PathRejection) -> Self {
        Self::new(rejection.status(), ProblemText::with(UNREADABLE, rejection.body_text()))
    }
}

impl From<FormRejection> for Problem {
    fn from(rejection: FormRejection) -> Self {
        Self::new(rejection.status(), ProblemText::with(UNREADABLE, rejection.body_text()))
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = self.response_in(Language::default());
        response.extensions_mut().insert(self);
        response
    }
}

/// Translates errors into the language that the browser accepts.
pub async fn localize_problem(request: Request, next: Next) -> Response {
    let language = language::of(request.headers());
    let mut response = next.run(request).await;
    if let Some(problem) = response.extensions().get::<Problem>().cloned() {
        *response.body_mut() = Body::from(problem.body_in(language));
    }
    response
}

pub async fn no_such_page() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, NO_SUCH_PAGE)
}

/// A panic is an internal error and ends only its request.
pub fn panicked(panic: Box<dyn Any + Send>) -> Response {
    let words = panic.downcast_ref::<String>().map(String::as_str);
    let words = words.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
    Problem::from(anyhow::anyhow!("panicked: {words}")).into_response()
}
