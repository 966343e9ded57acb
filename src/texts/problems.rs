//! The texts of requests that are refused or name something that does not exist.

use serde::Serialize;
use thiserror::Error;

use super::{
    form_errors::{self, FormTexts},
    refusals::{self, RefusalTexts},
    schedule_errors::{self, ScheduleTexts},
};

/// A part of [`super::PageTexts`].
#[derive(Debug)]
pub struct ProblemTexts {
    pub missing: MissingTexts,
    pub forms: FormTexts,
    pub refusals: RefusalTexts,
    pub schedules: ScheduleTexts,
}

impl ProblemTexts {
    /// The text of an error for people, as plain text.
    pub fn settings_error(&self, error: &SettingsError) -> String {
        match error {
            SettingsError::FileChanged => self.forms.file_changed.to_owned(),
            SettingsError::NoEntryId => self.forms.no_entry_id.to_owned(),
            SettingsError::NoAnswer => self.forms.no_answer.to_owned(),
            SettingsError::NotWritable { folder } => {
                self.forms.not_writable.replace("{value}", folder)
            }
            SettingsError::NoFileAccess => self.forms.no_file_access.to_owned(),
        }
    }
}

/// Why the configuration cannot be read or changed, in English. [`ProblemTexts::settings_error`] has
/// the text for people.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SettingsError {
    #[error("the file has changed in the meantime: reload this page and make the change again")]
    FileChanged,
    #[error("an entry needs an id")]
    NoEntryId,
    #[error("there was no answer within 30 seconds")]
    NoAnswer,
    #[error("the gateway may not write to {folder}: change the file by hand")]
    NotWritable { folder: String },
    #[error("this process cannot read its configuration file again")]
    NoFileAccess,
}

/// What does not exist.
#[derive(Debug, Serialize)]
pub struct MissingTexts {
    pub approval: &'static str,
    pub channel: &'static str,
    pub component: &'static str,
    pub conversation: &'static str,
    pub dead_delivery: &'static str,
    pub dead_letter: &'static str,
    pub delivery: &'static str,
    pub file: &'static str,
    pub grant: &'static str,
    pub link: &'static str,
    pub mcp_server: &'static str,
    pub page: &'static str,
    pub person: &'static str,
    pub rule: &'static str,
    pub server_tool: &'static str,
    pub session: &'static str,
    pub skill: &'static str,
    pub subscription: &'static str,
    pub token: &'static str,
    pub tool: &'static str,
    pub unsent_delivery: &'static str,
}

pub(super) const ENGLISH: ProblemTexts = ProblemTexts {
    missing: MissingTexts {
        approval: "There is no such approval.",
        channel: "There is no such channel.",
        component: "There is no such component.",
        conversation: "There is no such conversation.",
        dead_delivery: "There is no such dead delivery.",
        dead_letter: "There is no such dead letter.",
        delivery: "There is no such delivery.",
        file: "There is no such file.",
        grant: "There is no such grant.",
        link: "There is no such link.",
        mcp_server: "There is no such MCP server.",
        page: "There is no such page.",
        person: "There is no such person.",
        rule: "There is no such rule.",
        server_tool: "There is no such tool of that server.",
        session: "There is no such session.",
        skill: "There is no such skill.",
        subscription: "There is no such subscription.",
        token: "There is no such token.",
        tool: "There is no such tool.",
        unsent_delivery: "There is no such waiting or dead delivery.",
    },
    forms: form_errors::ENGLISH,
    refusals: refusals::ENGLISH,
    schedules: schedule_errors::ENGLISH,
};

pub(super) const GERMAN: ProblemTexts = ProblemTexts {
    missing: MissingTexts {
        approval: "Diese Genehmigung gibt es nicht.",
        channel: "Diesen Kanal gibt es nicht.",
        component: "Diese Komponente gibt es nicht.",
        conversation: "Diese Unterhaltung gibt es nicht.",
        dead_delivery: "Diese gescheiterte Zustellung gibt es nicht.",
        dead_letter: "Diese unzustellbare Nachricht gibt es nicht.",
        delivery: "Diese Zustellung gibt es nicht.",
        file: "Diese Datei gibt es nicht.",
        grant: "Diese Berechtigung gibt es nicht.",
        link: "Diese Verknüpfung gibt es nicht.",
        mcp_server: "Diesen MCP-Server gibt es nicht.",
        page: "Diese Seite gibt es nicht.",
        person: "Diese Person gibt es nicht.",
        rule: "Diese Regel gibt es nicht.",
        server_tool: "Dieses Werkzeug hat der Server nicht.",
        session: "Diese Sitzung gibt es nicht.",
        skill: "Diesen Skill gibt es nicht.",
        subscription: "Dieses Abonnement gibt es nicht.",
        token: "Dieses Token gibt es nicht.",
        tool: "Dieses Werkzeug gibt es nicht.",
        unsent_delivery: "Diese wartende oder gescheiterte Zustellung gibt es nicht.",
    },
    forms: form_errors::GERMAN,
    refusals: refusals::GERMAN,
    schedules: schedule_errors::GERMAN,
};

pub(super) const SPANISH: ProblemTexts = ProblemTexts {
    missing: MissingTexts {
        approval: "No existe esa aprobación.",
        channel: "No existe ese canal.",
        component: "No existe ese componente.",
        conversation: "No existe esa conversación.",
        dead_delivery: "No existe esa entrega fallida.",
        dead_letter: "No existe ese mensaje no entregado.",
        delivery: "No existe esa entrega.",
        file: "No existe ese archivo.",
        grant: "No existe ese permiso.",
        link: "No existe ese vínculo.",
        mcp_server: "No existe ese servidor MCP.",
        page: "No existe esa página.",
        person: "No existe esa persona.",
        rule: "No existe esa regla.",
        server_tool: "Ese servidor no tiene esa herramienta.",
        session: "No existe esa sesión.",
        skill: "No existe ese skill.",
        subscription: "No existe esa suscripción.",
        token: "No existe ese token.",
        tool: "No existe esa herramienta.",
        unsent_delivery: "No existe esa entrega en espera o fallida.",
    },
    forms: form_errors::SPANISH,
    refusals: refusals::SPANISH,
    schedules: schedule_errors::SPANISH,
};

pub(super) const CHINESE: ProblemTexts = ProblemTexts {
    missing: MissingTexts {
        approval: "没有此审批。",
        channel: "没有此渠道。",
        component: "没有此组件。",
        conversation: "没有此对话。",
        dead_delivery: "没有此失败的投递。",
        dead_letter: "没有此无法投递的消息。",
        delivery: "没有此投递。",
        file: "没有此文件。",
        grant: "没有此许可。",
        link: "没有此关联。",
        mcp_server: "没有此 MCP 服务器。",
        page: "没有此页面。",
        person: "没有此人。",
        rule: "没有此规则。",
        server_tool: "该服务器没有此工具。",
        session: "没有此会话。",
        skill: "没有此技能。",
        subscription: "没有此订阅。",
        token: "没有此令牌。",
        tool: "没有此工具。",
        unsent_delivery: "没有此等待中或失败的投递。",
    },
    forms: form_errors::CHINESE,
    refusals: refusals::CHINESE,
    schedules: schedule_errors::CHINESE,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::texts::Language;
    use serde_json::Value;
    use std::collections::BTreeSet;

    fn texts(language: Language) -> Vec<Value> {
        let problems = &language.words().page.problems;
        let all = [serde_json::to_value(&problems.missing), serde_json::to_value(&problems.forms)];
        all.into_iter().map(Result::unwrap).collect()
    }

    /// A text differs between the languages, and contains the value that the English one contains.
    #[test]
    fn every_language_says_why_a_request_is_refused() {
        let english = texts(Language::English);
        for (group, texts_in_english) in english.iter().enumerate() {
            for (name, text) in texts_in_english.as_object().unwrap() {
                let all = Language::ALL
                    .map(|language| texts(language)[group][name].as_str().unwrap().to_owned());
                let different: BTreeSet<_> = all.iter().collect();
                assert_eq!(different.len(), all.len(), "{name}: {all:?}");
                let count = text.as_str().unwrap().matches("{value}").count();
                for text in &all {
                    assert_eq!(text.matches("{value}").count(), count, "{text}");
                    let left = text.replace("{value}", "x");
                    assert!(!left.contains(['{', '}']) && !left.contains("  "), "{text}");
                }
            }
        }
    }

    /// The texts for people in English are those of the errors.
    #[test]
    fn errors_of_the_configuration_have_a_text_in_every_language() {
        let folder = "/etc/countersign".to_owned();
        for error in [
            SettingsError::FileChanged,
            SettingsError::NoEntryId,
            SettingsError::NoAnswer,
            SettingsError::NotWritable { folder },
            SettingsError::NoFileAccess,
        ] {
            let texts =
                Language::ALL.map(|language| language.words().page.problems.settings_error(&error));
            let different: BTreeSet<_> = texts.iter().collect();
            assert_eq!(different.len(), texts.len(), "{texts:?}");
            let english = Language::English.words().page.problems.settings_error(&error);
            assert_eq!(english, error.to_string());
        }
    }
}
