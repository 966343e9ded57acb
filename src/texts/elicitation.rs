//! What people read when a server asks one of them something in the midst of a call.

use channels::Choice;
use std::fmt::Write as _;

use super::{Fmt1, Fmt2, Messages, button, plain};

pub struct Asking {
    /// The server's name.
    pub wants: Fmt1,
    /// Under every such question.
    pub no_secrets: &'static str,
    /// The question's code.
    pub type_it: Fmt1,
    pub several: &'static str,
    /// What is sent where nothing is chosen.
    pub usually: Fmt1,
    /// In front of an address, which nobody opens but the person.
    pub go_there: &'static str,
    pub yes: &'static str,
    pub no: &'static str,
    pub leave_out: &'static str,
    pub confirm: &'static str,
    pub done_there: &'static str,
    pub no_answer: &'static str,
    /// Name, what they answered.
    pub answered: Fmt2,
    /// To whoever answered.
    pub taken: &'static str,
    /// What is wrong with an answer.
    pub unfit: Fmt1,
}

/// One thing that a server wants to know; all of it is its own word.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    pub message: String,
    /// What the one thing is called, and what it is, where several are asked for.
    pub field: String,
    pub description: String,
    /// What there is to choose from, where there are too many for buttons.
    pub listed: Vec<String>,
    pub several: bool,
    pub usually: Option<String>,
    pub address: Option<String>,
    /// What was wrong with the answer before.
    pub unfit: Option<String>,
}

const MESSAGE_CHARS: usize = 1_000;
const LINE_CHARS: usize = 200;

impl Messages {
    /// The title is in front of it. What a server says acts as nothing.
    pub fn asked(&self, asked: &Asked, typed: Option<&str>) -> String {
        let words = &self.asking;
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
            let _ = write!(markdown, "\n\n{}\n```\n{address}\n```", words.go_there);
        }
        let several = asked.several.then(|| words.several.to_owned());
        let usually =
            asked.usually.as_deref().map(|usual| (words.usually)(&cut(usual, LINE_CHARS)));
        let unfit = asked.unfit.as_deref().map(|why| (words.unfit)(&cut(why, LINE_CHARS)));
        let typed = typed.map(|code| (words.type_it)(code));
        let hints: Vec<_> = [unfit, several, usually, typed].into_iter().flatten().collect();
        for hint in hints.iter().map(String::as_str).chain([words.no_secrets]) {
            let _ = write!(markdown, "\n\n{hint}");
        }
        markdown
    }

    /// Buttons for these, and the one for no answer.
    pub fn answers(&self, options: &[String]) -> Vec<Choice> {
        let own = options.iter().zip('A'..='Z').map(|(label, key)| button(label, key));
        own.chain([button(self.asking.no_answer, 'd')]).collect()
    }

    /// What remains of the question.
    pub fn answered(&self, title: &str, by: &str, answer: &str) -> String {
        let end = (self.asking.answered)(&plain(by), &cut(answer, LINE_CHARS));
        format!("{title}\n\n✅ {end}")
    }
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", plain(&text[..at])),
        None => plain(text),
    }
}

pub(super) const ENGLISH: Asking = Asking {
    wants: |server| format!("The tool server **{server}** asks you:"),
    no_secrets: "What you answer goes to that server. Never tell it a password or a key.",
    type_it: |code| {
        format!(
            "Reply to this message, or type `/answer {code} …`; in a private chat your next \
             message is the answer."
        )
    },
    several: "Several are possible: their numbers, with commas between them.",
    usually: |usual| format!("Usually: {usual}"),
    go_there: "It wants you to open this address yourself. Look closely at where it leads:",
    yes: "Yes",
    no: "No",
    leave_out: "Leave out",
    confirm: "Confirm",
    done_there: "I will open it",
    no_answer: "No answer",
    answered: |by, answer| format!("{by} answered: {answer}"),
    taken: "Your answer is on its way.",
    unfit: |why| format!("⚠️ That did not fit: {why}"),
};

pub(super) const GERMAN: Asking = Asking {
    wants: |server| format!("Der Werkzeugserver **{server}** fragt dich:"),
    no_secrets: "Deine Antwort geht an diesen Server. Nenne ihm nie ein Passwort oder einen \
                 Schlüssel.",
    type_it: |code| {
        format!(
            "Antworte auf diese Nachricht, oder tippe `/answer {code} …`; in einem privaten \
             Chat ist deine nächste Nachricht die Antwort."
        )
    },
    several: "Mehrere sind möglich: ihre Nummern, mit Kommas dazwischen.",
    usually: |usual| format!("Üblich: {usual}"),
    go_there: "Er möchte, dass du selbst diese Adresse öffnest. Sieh genau hin, wohin sie führt:",
    yes: "Ja",
    no: "Nein",
    leave_out: "Weglassen",
    confirm: "Bestätigen",
    done_there: "Ich öffne sie",
    no_answer: "Keine Antwort",
    answered: |by, answer| format!("{by} hat geantwortet: {answer}"),
    taken: "Deine Antwort ist unterwegs.",
    unfit: |why| format!("⚠️ Das passte nicht: {why}"),
};

pub(super) const SPANISH: Asking = Asking {
    wants: |server| format!("El servidor de herramientas **{server}** te pregunta:"),
    no_secrets: "Tu respuesta va a ese servidor. Nunca le digas una contraseña ni una clave.",
    type_it: |code| {
        format!(
            "Responde a este mensaje o escribe `/answer {code} …`; en un chat privado tu próximo \
             mensaje es la respuesta."
        )
    },
    several: "Puedes elegir varios: sus números, separados por comas.",
    usually: |usual| format!("Lo habitual: {usual}"),
    go_there: "Quiere que abras tú esta dirección. Mira bien adónde lleva:",
    yes: "Sí",
    no: "No",
    leave_out: "Omitir",
    confirm: "Confirmar",
    done_there: "La abriré",
    no_answer: "Sin respuesta",
    answered: |by, answer| format!("{by} respondió: {answer}"),
    taken: "Tu respuesta está en camino.",
    unfit: |why| format!("⚠️ Eso no encajaba: {why}"),
};

pub(super) const CHINESE: Asking = Asking {
    wants: |server| format!("工具服务器 **{server}** 向你提问："),
    no_secrets: "你的回答会发给该服务器。切勿告诉它密码或密钥。",
    type_it: |code| {
        format!("请回复此消息，或输入 `/answer {code} …`；在私聊中，你的下一条消息就是回答。")
    },
    several: "可以选多个：输入编号，用逗号分隔。",
    usually: |usual| format!("通常：{usual}"),
    go_there: "它希望你自己打开这个地址。请仔细看清它指向哪里：",
    yes: "是",
    no: "否",
    leave_out: "略过",
    confirm: "确认",
    done_there: "我会打开",
    no_answer: "不回答",
    answered: |by, answer| format!("{by} 回答：{answer}"),
    taken: "你的回答正在送达。",
    unfit: |why| format!("⚠️ 回答不合要求：{why}"),
};
