//! The texts of elicitations: questions of a tool server to a person during a call.

use channels::{Button, Choice};
use std::fmt::Write as _;

use super::{Fmt1, Fmt2, Messages, choice, plain};

pub struct ElicitationTexts {
    /// The server's name.
    pub wants: Fmt1,
    /// Shown below every elicitation.
    pub no_secrets: &'static str,
    /// The code of the elicitation.
    pub type_it: Fmt1,
    pub several: &'static str,
    /// The default value, which is used if the person chooses nothing.
    pub default_value: Fmt1,
    /// Precedes a URL, which only the person opens.
    pub open_url: &'static str,
    pub yes: &'static str,
    pub no: &'static str,
    pub skip: &'static str,
    pub confirm: &'static str,
    pub opened_url: &'static str,
    pub no_answer: &'static str,
    /// Name, answer.
    pub answered: Fmt2,
    /// To the person who answered.
    pub answer_sent: &'static str,
    /// The reply to a decision that is no answer.
    pub needs_answer: &'static str,
    /// The reason why an answer is not valid.
    pub invalid_answer: Fmt1,
    /// The names of the optional fields that are not asked for.
    pub omitted: Fmt1,
    /// The server's name, and the reason why its elicitation was declined.
    pub declined: Fmt2,
    /// The server's name, and the scopes that a call requires, which may be empty.
    pub requires_scopes: Fmt2,
    pub wants_secret: &'static str,
    pub wants_too_much: &'static str,
    pub wants_other_address: &'static str,
    pub wants_unknown: &'static str,
}

/// The reason why an elicitation is declined without asking the person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AutoDecline {
    Secret,
    /// Too many fields or options.
    TooMuch,
    /// Not a web address.
    Address,
    /// A kind of elicitation that is not supported.
    Unknown,
}

/// One elicitation. All of its text comes from the server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ElicitationText {
    pub message: String,
    /// The name and description of the field, if several are asked for.
    pub field: String,
    pub description: String,
    /// The options, if there are too many for buttons.
    pub listed: Vec<String>,
    pub several: bool,
    pub default_value: Option<String>,
    pub address: Option<String>,
    /// The optional fields that are not asked for, if there are too many.
    pub omitted: Vec<String>,
    /// The reason why the previous answer was not valid.
    pub invalid_answer: Option<String>,
}

const MESSAGE_CHARS: usize = 1_000;
const LINE_CHARS: usize = 200;
/// The maximum number of omitted fields that are named, and the length of their names.
const MAX_OMITTED: usize = 20;
const OMITTED_CHARS: usize = 40;

impl Messages {
    /// The text without its title. Nothing in the server's text acts as Markdown.
    pub fn asked(&self, asked: &ElicitationText, typed: Option<&str>) -> String {
        let words = &self.elicitation;
        let mut markdown = cut(&asked.message, MESSAGE_CHARS);
        let field = [&asked.field, &asked.description].map(|text| cut(text, LINE_CHARS));
        match field.each_ref().map(String::as_str) {
            ["", ""] => {}
            [name, ""] => {
                let _ = write!(markdown, "\n\n**{name}**");
            }
            [name, what] => {
                let _ = write!(markdown, "\n\n**{name}**: {what}");
            }
        }
        if !asked.listed.is_empty() {
            markdown += "\n";
        }
        for (label, n) in asked.listed.iter().zip(1..) {
            let _ = write!(markdown, "\n{n}. {}", cut(label, LINE_CHARS));
        }
        if let Some(address) = &asked.address {
            let _ = write!(markdown, "\n\n{}\n```\n{address}\n```", words.open_url);
        }
        let omitted = asked.omitted.iter().map(|name| cut(name, OMITTED_CHARS));
        let omitted = omitted.take(MAX_OMITTED).collect::<Vec<_>>().join(", ");
        let omitted = (!asked.omitted.is_empty()).then(|| (words.omitted)(&omitted));
        let several = asked.several.then(|| words.several.to_owned());
        let default_value = asked
            .default_value
            .as_deref()
            .map(|usual| (words.default_value)(&cut(usual, LINE_CHARS)));
        let invalid_answer = asked
            .invalid_answer
            .as_deref()
            .map(|why| (words.invalid_answer)(&cut(why, LINE_CHARS)));
        let typed = typed.map(|code| (words.type_it)(code));
        let hints: Vec<_> = [invalid_answer, several, default_value, omitted, typed]
            .into_iter()
            .flatten()
            .collect();
        for hint in hints.iter().map(String::as_str).chain([words.no_secrets]) {
            let _ = write!(markdown, "\n\n{hint}");
        }
        markdown
    }

    /// Tells a person that an elicitation was declined on their behalf.
    pub fn auto_declined(&self, server: &str, why: AutoDecline) -> String {
        let words = &self.elicitation;
        let why = match why {
            AutoDecline::Secret => words.wants_secret,
            AutoDecline::TooMuch => words.wants_too_much,
            AutoDecline::Address => words.wants_other_address,
            AutoDecline::Unknown => words.wants_unknown,
        };
        (words.declined)(&plain(server), why)
    }

    /// Buttons for the options, and one to decline.
    pub fn answers(&self, options: &[String]) -> Vec<Choice> {
        let own =
            options.iter().zip(Button::options()).map(|(label, button)| choice(label, button));
        own.chain([choice(self.elicitation.no_answer, Button::Deny)]).collect()
    }

    /// The settled elicitation.
    pub fn answered(&self, title: &str, by: &str, answer: &str) -> String {
        let end = (self.elicitation.answered)(&plain(by), &cut(answer, LINE_CHARS));
        format!("{title}\n\n✅ {end}")
    }
}

fn cut(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((at, _)) => format!("{}…", plain(&text[..at])),
        None => plain(text),
    }
}

pub(super) const ENGLISH: ElicitationTexts = ElicitationTexts {
    wants: |server| format!("The tool server **{server}** asks you:"),
    no_secrets: "Your answer is sent to that server. Never enter a password or key.",
    type_it: |code| {
        format!(
            "Reply to this message, or type `/answer {code} …`; in a private chat your next \
             message is the answer."
        )
    },
    several: "You can choose several: enter their numbers, separated by commas.",
    default_value: |usual| format!("Default: {usual}"),
    open_url: "It asks you to open this address yourself. Check carefully where it leads:",
    yes: "Yes",
    no: "No",
    skip: "Skip",
    confirm: "Confirm",
    opened_url: "I'll open it",
    no_answer: "No answer",
    answered: |by, answer| format!("{by} answered: {answer}"),
    answer_sent: "Your answer was sent.",
    needs_answer: "Answer this question with a button, or with `/answer` and your text.",
    invalid_answer: |why| format!("⚠️ That answer isn't valid: {why}"),
    omitted: |names| {
        format!("Not asked, because it's optional and there are too many fields: {names}")
    },
    declined: |server, why| {
        format!("The tool server **{server}** asked you something. I declined for you: {why}")
    },
    requires_scopes: |server, scopes| {
        let scopes = if scopes.is_empty() { String::new() } else { format!(" (`{scopes}`)") };
        format!(
            "The tool server **{server}** requires further permissions{scopes}, so the call didn't \
                run. The operator has to sign in again with `countersign mcp login {server}`; then \
                ask me again."
        )
    },
    wants_secret: "it wants a password, key or another secret.",
    wants_too_much: "there are too many fields or options.",
    wants_other_address: "the address that it wants you to open isn't a web address.",
    wants_unknown: "I don't know this kind of question.",
};

pub(super) const GERMAN: ElicitationTexts = ElicitationTexts {
    wants: |server| format!("Der Werkzeugserver **{server}** fragt dich:"),
    no_secrets: "Deine Antwort wird an diesen Server gesendet. Gib nie ein Passwort oder einen \
        Schlüssel ein.",
    type_it: |code| {
        format!(
            "Antworte auf diese Nachricht, oder tippe `/answer {code} …`; in einem privaten \
             Chat ist deine nächste Nachricht die Antwort."
        )
    },
    several: "Du kannst mehrere auswählen: Gib ihre Nummern ein, durch Kommas getrennt.",
    default_value: |usual| format!("Standard: {usual}"),
    open_url: "Er bittet dich, diese Adresse selbst zu öffnen. Prüfe genau, wohin sie führt:",
    yes: "Ja",
    no: "Nein",
    skip: "Überspringen",
    confirm: "Bestätigen",
    opened_url: "Ich öffne sie",
    no_answer: "Keine Antwort",
    answered: |by, answer| format!("{by} hat geantwortet: {answer}"),
    answer_sent: "Deine Antwort wurde gesendet.",
    needs_answer: "Beantworte diese Frage mit einer Schaltfläche oder mit `/answer` und deinem Text.",
    invalid_answer: |why| format!("⚠️ Diese Antwort ist ungültig: {why}"),
    omitted: |names| format!("Nicht abgefragt (optional, zu viele Felder): {names}"),
    declined: |server, why| {
        format!(
            "Der Werkzeugserver **{server}** hat dich etwas gefragt. Ich habe für dich abgelehnt: {why}"
        )
    },
    requires_scopes: |server, scopes| {
        let scopes = if scopes.is_empty() { String::new() } else { format!(" (`{scopes}`)") };
        format!(
            "Der Werkzeugserver **{server}** verlangt weitere Berechtigungen{scopes}; der Aufruf \
                wurde deshalb nicht ausgeführt. Die Person, die den Bot betreibt, muss sich mit \
                `countersign mcp login {server}` neu anmelden; bitte mich danach noch einmal darum."
        )
    },
    wants_secret: "Er will ein Passwort, einen Schlüssel oder ein anderes Geheimnis.",
    wants_too_much: "Es sind zu viele Felder oder Auswahlmöglichkeiten.",
    wants_other_address: "Die Adresse, die du öffnen sollst, ist keine Webadresse.",
    wants_unknown: "Diese Art von Frage kenne ich nicht.",
};

pub(super) const SPANISH: ElicitationTexts = ElicitationTexts {
    wants: |server| format!("El servidor de herramientas **{server}** te pregunta:"),
    no_secrets: "Tu respuesta se envía a ese servidor. No introduzcas nunca una contraseña ni una clave.",
    type_it: |code| {
        format!(
            "Responde a este mensaje o escribe `/answer {code} …`; en un chat privado tu próximo \
             mensaje es la respuesta."
        )
    },
    several: "Puedes elegir varias opciones: escribe sus números separados por comas.",
    default_value: |usual| format!("Valor predeterminado: {usual}"),
    open_url: "Te pide que abras esta dirección. Comprueba bien adónde lleva:",
    yes: "Sí",
    no: "No",
    skip: "Omitir",
    confirm: "Confirmar",
    opened_url: "La abriré",
    no_answer: "Sin respuesta",
    answered: |by, answer| format!("{by} respondió: {answer}"),
    answer_sent: "Tu respuesta se ha enviado.",
    needs_answer: "Responde a esta pregunta con un botón o con `/answer` y tu texto.",
    invalid_answer: |why| format!("⚠️ Esa respuesta no es válida: {why}"),
    omitted: |names| format!("No se pregunta, porque es opcional y hay demasiados campos: {names}"),
    declined: |server, why| {
        format!(
            "El servidor de herramientas **{server}** te preguntó algo. Lo rechacé por ti: {why}"
        )
    },
    requires_scopes: |server, scopes| {
        let scopes = if scopes.is_empty() { String::new() } else { format!(" (`{scopes}`)") };
        format!(
            "El servidor de herramientas **{server}** exige más permisos{scopes}, así que la llamada \
                no se ejecutó. La persona que gestiona el bot tiene que volver a iniciar sesión con \
                `countersign mcp login {server}`; después, pídemelo otra vez."
        )
    },
    wants_secret: "quiere una contraseña, una clave u otro secreto.",
    wants_too_much: "hay demasiados campos u opciones.",
    wants_other_address: "la dirección que quiere que abras no es una dirección web.",
    wants_unknown: "no conozco este tipo de pregunta.",
};

pub(super) const CHINESE: ElicitationTexts = ElicitationTexts {
    wants: |server| format!("工具服务器 **{server}** 向你提问："),
    no_secrets: "你的回答会发送给该服务器。切勿输入密码或密钥。",
    type_it: |code| {
        format!("请回复此消息，或输入 `/answer {code} …`；在私聊中，你的下一条消息就是回答。")
    },
    several: "可以选择多个：输入编号，用逗号分隔。",
    default_value: |usual| format!("默认值：{usual}"),
    open_url: "它请你自己打开此地址。请仔细确认它指向哪里：",
    yes: "是",
    no: "否",
    skip: "跳过",
    confirm: "确认",
    opened_url: "我会打开",
    no_answer: "不回答",
    answered: |by, answer| format!("{by} 回答：{answer}"),
    answer_sent: "你的回答已发送。",
    needs_answer: "请用按钮回答此问题，或输入 `/answer` 加上你的回答。",
    invalid_answer: |why| format!("⚠️ 回答无效：{why}"),
    omitted: |names| format!("字段太多，以下可选字段未询问：{names}"),
    declined: |server, why| format!("工具服务器 **{server}** 向你提问。我已代你拒绝：{why}"),
    requires_scopes: |server, scopes| {
        let scopes = if scopes.is_empty() { String::new() } else { format!("（`{scopes}`）") };
        format!(
            "工具服务器 **{server}** 需要更多权限{scopes}，因此这次调用没有执行。管理员需要用 \
                `countersign mcp login {server}` 重新登录，之后请再让我做一次。"
        )
    },
    wants_secret: "它要求密码、密钥或其他机密信息。",
    wants_too_much: "字段或选项太多。",
    wants_other_address: "它要你打开的地址不是网址。",
    wants_unknown: "不支持这类问题。",
};
