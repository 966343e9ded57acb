//! Why something cannot be scheduled: in English for the model, and in each language for people.

use chrono::{DateTime, NaiveDateTime, Utc};
use chrono_tz::Tz;
use std::fmt;
use thiserror::Error;

use super::filled;

/// Why something cannot be scheduled, in English for the model. [`ScheduleTexts::error`] has the
/// text for people.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ScheduleError {
    #[error("the text has {count} characters; 1 to {limit} are allowed")]
    TextLength { count: usize, limit: usize },
    #[error("give one of at, in, every and cron (every may have at, for its first time)")]
    NotOneTime,
    #[error("{} is in the past: it is {}", exact(*.due, *.zone), exact(*.now, *.zone))]
    Past { due: DateTime<Utc>, now: DateTime<Utc>, zone: Tz },
    #[error("that is more than ten years away")]
    TooFar,
    #[error("that is too often: the shortest interval is {shortest}")]
    TooOften { shortest: String },
    #[error("`{0}` is not a duration: use 90s, 20m, 2h or 1day 12h")]
    NotADuration(String),
    #[error("`{0}` is not a time: use 2026-05-04T18:00, in the time zone")]
    NotATime(String),
    #[error("`{pattern}` is not a cron pattern (minute hour day month weekday): {why}")]
    NotACronPattern { pattern: String, why: String },
    #[error("`{0}` never occurs")]
    NeverOccurs(String),
    /// The clocks go forward at that time.
    #[error(
        "{time} does not exist in {zone}, because the clocks go forward then. Use another time"
    )]
    Skipped { time: NaiveDateTime, zone: Tz },
    #[error(transparent)]
    UnknownZone(#[from] UnknownZone),
    #[error("The schedules are unavailable: try again later")]
    Unavailable,
}

/// A name that is not the name of a time zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownZone {
    /// `None` for a long name, which is not quoted.
    pub name: Option<String>,
    /// Similar names.
    pub near: Vec<&'static str>,
}

impl fmt::Display for UnknownZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "there is no time zone '{name}': use an IANA name")?,
            None => write!(f, "there is no time zone of this name: use an IANA name")?,
        }
        if self.near.is_empty() {
            return Ok(());
        }
        write!(f, ". Similar names: {}", self.near.join(", "))
    }
}

impl std::error::Error for UnknownZone {}

fn exact(at: DateTime<Utc>, zone: Tz) -> String {
    at.with_timezone(&zone).to_rfc3339()
}

/// A part of [`super::ProblemTexts`]. Words in braces are replaced.
#[derive(Debug)]
pub struct ScheduleTexts {
    text_length: &'static str,
    not_one_time: &'static str,
    past: &'static str,
    too_far: &'static str,
    too_often: &'static str,
    not_a_duration: &'static str,
    not_a_time: &'static str,
    not_a_cron_expression: &'static str,
    never_occurs: &'static str,
    skipped: &'static str,
    unknown_zone: &'static str,
    /// The name is too long to be quoted.
    unknown_long_zone: &'static str,
    similar_zones: &'static str,
    unavailable: &'static str,
    pub select_person: &'static str,
    pub not_a_participant: &'static str,
    pub no_access: &'static str,
    pub exists: &'static str,
    /// `{value}` is the maximum.
    pub too_many: &'static str,
    pub changed_meanwhile: &'static str,
    pub no_such_schedule: &'static str,
    // How a schedule recurs.
    once: &'static str,
    every: &'static str,
    by_cron: &'static str,
}

impl ScheduleTexts {
    /// The text of an error for people, as plain text.
    pub fn error(&self, error: &ScheduleError) -> String {
        match error {
            ScheduleError::TextLength { count, limit } => filled(
                self.text_length,
                &[("count", &count.to_string()), ("limit", &limit.to_string())],
            ),
            ScheduleError::NotOneTime => self.not_one_time.to_owned(),
            ScheduleError::Past { due, now, zone } => {
                filled(self.past, &[("due", &local(*due, *zone)), ("now", &local(*now, *zone))])
            }
            ScheduleError::TooFar => self.too_far.to_owned(),
            ScheduleError::TooOften { shortest } => {
                filled(self.too_often, &[("shortest", shortest)])
            }
            ScheduleError::NotADuration(typed) => filled(self.not_a_duration, &[("typed", typed)]),
            ScheduleError::NotATime(typed) => filled(self.not_a_time, &[("typed", typed)]),
            // The reason of the parser is in English.
            ScheduleError::NotACronPattern { pattern, .. } => {
                filled(self.not_a_cron_expression, &[("typed", pattern)])
            }
            ScheduleError::NeverOccurs(pattern) => filled(self.never_occurs, &[("typed", pattern)]),
            ScheduleError::Skipped { time, zone } => {
                let time = time.format("%Y-%m-%d %H:%M:%S").to_string();
                filled(self.skipped, &[("time", &time), ("zone", zone.name())])
            }
            ScheduleError::UnknownZone(zone) => self.zone(zone),
            ScheduleError::Unavailable => self.unavailable.to_owned(),
        }
    }

    pub fn once(&self) -> String {
        self.once.to_owned()
    }

    /// A schedule that repeats with this interval, such as `1h`.
    pub fn every(&self, interval: &str) -> String {
        filled(self.every, &[("interval", interval)])
    }

    /// A schedule that repeats by a cron pattern in a time zone.
    pub fn by_cron(&self, pattern: &str, zone: &str) -> String {
        filled(self.by_cron, &[("zone", zone), ("pattern", pattern)])
    }

    fn zone(&self, zone: &UnknownZone) -> String {
        let mut text = match &zone.name {
            Some(name) => filled(self.unknown_zone, &[("typed", name)]),
            None => self.unknown_long_zone.to_owned(),
        };
        if !zone.near.is_empty() {
            text += &filled(self.similar_zones, &[("near", &zone.near.join(", "))]);
        }
        text
    }
}

/// A time as people read it.
fn local(at: DateTime<Utc>, zone: Tz) -> String {
    let time = at.with_timezone(&zone).format("%Y-%m-%d %H:%M:%S").to_string();
    format!("{time} ({})", zone.name())
}

pub(super) const ENGLISH: ScheduleTexts = ScheduleTexts {
    text_length: "The text has {count} characters. It must have 1 to {limit}.",
    not_one_time: "Give exactly one time: a date and time, a delay, an interval or a cron \
        expression. An interval may also have a date and time, at which it begins.",
    past: "{due} is in the past. It is {now} now.",
    too_far: "This is more than ten years away. Choose an earlier time.",
    too_often: "This is too often. The shortest interval is {shortest}.",
    not_a_duration: "“{typed}” is not a duration. Write it like 90s, 20m, 2h or 1day 12h.",
    not_a_time: "“{typed}” is not a time. Write it like 2026-05-04T18:00.",
    not_a_cron_expression: "“{typed}” is not a cron expression. Write minute, hour, day, month \
        and weekday, such as 0 9 * * MON-FRI.",
    never_occurs: "“{typed}” never occurs. Check the day and the month.",
    skipped: "{time} does not exist in {zone}, because the clocks go forward then. Choose another \
        time.",
    unknown_zone: "There is no time zone “{typed}”. Use an IANA name such as Europe/Berlin.",
    unknown_long_zone: "There is no time zone with this name. Use an IANA name such as \
        Europe/Berlin.",
    similar_zones: " Similar names: {near}.",
    unavailable: "The schedules are not available right now. Try again in a moment.",
    select_person: "Select a person.",
    not_a_participant: "This person does not take part in this conversation any more.",
    no_access: "This person has no access to this channel any more.",
    exists: "The same schedule already exists.",
    too_many: "The maximum of {value} schedules in this conversation is reached. Delete one first.",
    changed_meanwhile: "The schedule has ended, or it was run or changed meanwhile. Load the page \
        again.",
    no_such_schedule: "There is no such schedule.",
    once: "once",
    every: "every {interval}",
    by_cron: "cron {pattern} in {zone}",
};

pub(super) const GERMAN: ScheduleTexts = ScheduleTexts {
    text_length: "Der Text hat {count} Zeichen. Erlaubt sind 1 bis {limit}.",
    not_one_time: "Gib genau eine Zeit an: Datum und Uhrzeit, eine Frist, einen Abstand oder einen \
        Cron-Ausdruck. Zu einem Abstand gehört wahlweise der Zeitpunkt, an dem er beginnt.",
    past: "{due} liegt in der Vergangenheit. Jetzt ist {now}.",
    too_far: "Das ist mehr als zehn Jahre entfernt. Wähle einen früheren Zeitpunkt.",
    too_often: "Das ist zu häufig. Der kürzeste Abstand ist {shortest}.",
    not_a_duration: "„{typed}“ ist keine Dauer. Schreib sie zum Beispiel als 90s, 20m, 2h oder \
        1day 12h.",
    not_a_time: "„{typed}“ ist kein Zeitpunkt. Schreib ihn in der Form 2026-05-04T18:00.",
    not_a_cron_expression: "„{typed}“ ist kein Cron-Ausdruck. Schreib Minute, Stunde, Tag, Monat \
        und Wochentag, zum Beispiel 0 9 * * MON-FRI.",
    never_occurs: "„{typed}“ tritt nie ein. Prüfe Tag und Monat.",
    skipped: "{time} gibt es in {zone} nicht, weil die Uhren dann vorgestellt werden. Wähle eine \
        andere Zeit.",
    unknown_zone: "Die Zeitzone „{typed}“ gibt es nicht. Verwende einen IANA-Namen wie \
        Europe/Berlin.",
    unknown_long_zone: "Eine Zeitzone mit diesem Namen gibt es nicht. Verwende einen IANA-Namen \
        wie Europe/Berlin.",
    similar_zones: " Ähnliche Namen: {near}.",
    unavailable: "Die Zeitpläne sind gerade nicht verfügbar. Versuch es gleich noch einmal.",
    select_person: "Wähle eine Person aus.",
    not_a_participant: "Diese Person nimmt an dieser Unterhaltung nicht mehr teil.",
    no_access: "Diese Person hat keinen Zugriff auf diesen Kanal mehr.",
    exists: "Denselben Zeitplan gibt es schon.",
    too_many: "Das Maximum von {value} Zeitplänen in dieser Unterhaltung ist erreicht. Lösche \
        zuerst einen.",
    changed_meanwhile: "Der Zeitplan ist beendet, oder er wurde inzwischen ausgeführt oder \
        geändert. Lade die Seite neu.",
    no_such_schedule: "Diesen Zeitplan gibt es nicht.",
    once: "einmal",
    every: "im Abstand von {interval}",
    by_cron: "Cron-Ausdruck {pattern} in {zone}",
};

pub(super) const SPANISH: ScheduleTexts = ScheduleTexts {
    text_length: "El texto tiene {count} caracteres. Debe tener entre 1 y {limit}.",
    not_one_time: "Indica una sola forma de tiempo: fecha y hora, un plazo, un intervalo o una \
        expresión cron. Un intervalo puede llevar además la fecha y hora en que empieza.",
    past: "{due} ya ha pasado. Ahora son las {now}.",
    too_far: "Faltan más de diez años. Elige una fecha anterior.",
    too_often: "Es demasiado frecuente. El intervalo más corto es {shortest}.",
    not_a_duration: "«{typed}» no es una duración. Escríbela como 90s, 20m, 2h o 1day 12h.",
    not_a_time: "«{typed}» no es una fecha y hora. Escríbela como 2026-05-04T18:00.",
    not_a_cron_expression: "«{typed}» no es una expresión cron. Escribe minuto, hora, día, mes y \
        día de la semana, por ejemplo 0 9 * * MON-FRI.",
    never_occurs: "«{typed}» no ocurre nunca. Revisa el día y el mes.",
    skipped: "{time} no existe en {zone}, porque entonces se adelantan los relojes. Elige otra \
        hora.",
    unknown_zone: "No existe la zona horaria «{typed}». Usa un nombre IANA como Europe/Berlin.",
    unknown_long_zone: "No existe ninguna zona horaria con ese nombre. Usa un nombre IANA como \
        Europe/Berlin.",
    similar_zones: " Nombres parecidos: {near}.",
    unavailable: "Las programaciones no están disponibles ahora. Inténtalo de nuevo en un momento.",
    select_person: "Elige una persona.",
    not_a_participant: "Esta persona ya no participa en esta conversación.",
    no_access: "Esta persona ya no tiene acceso a este canal.",
    exists: "Ya existe la misma programación.",
    too_many: "Se ha alcanzado el máximo de {value} programaciones en esta conversación. Elimina \
        una primero.",
    changed_meanwhile: "La programación ha terminado, o se ha ejecutado o cambiado entretanto. \
        Vuelve a cargar la página.",
    no_such_schedule: "No existe esa programación.",
    once: "una vez",
    every: "cada {interval}",
    by_cron: "expresión cron {pattern} en {zone}",
};

pub(super) const CHINESE: ScheduleTexts = ScheduleTexts {
    text_length: "文本有 {count} 个字符。允许 1 到 {limit} 个字符。",
    not_one_time: "请只提供一种时间：日期和时间、延迟、间隔或 cron 表达式。间隔还可以指定首次运行的日期和时间。",
    past: "{due} 已经过去。现在是 {now}。",
    too_far: "该时间在十年之后。请选择更早的时间。",
    too_often: "过于频繁。最短间隔为 {shortest}。",
    not_a_duration: "“{typed}”不是时长。请按 90s、20m、2h 或 1day 12h 的格式填写。",
    not_a_time: "“{typed}”不是时间。请按 2026-05-04T18:00 的格式填写。",
    not_a_cron_expression: "“{typed}”不是 cron 表达式。请填写分钟、小时、日、月和星期，例如 0 9 * * MON-FRI。",
    never_occurs: "“{typed}”永远不会发生。请检查日和月。",
    skipped: "{time} 在 {zone} 不存在，因为那时时钟拨快。请选择其他时间。",
    unknown_zone: "没有名为“{typed}”的时区。请使用 IANA 名称，例如 Europe/Berlin。",
    unknown_long_zone: "没有此名称的时区。请使用 IANA 名称，例如 Europe/Berlin。",
    similar_zones: " 相似的名称：{near}。",
    unavailable: "定时任务暂时不可用。请稍后再试。",
    select_person: "请选择一个人。",
    not_a_participant: "此人已不再参与该对话。",
    no_access: "此人已无权访问该渠道。",
    exists: "相同的定时任务已存在。",
    too_many: "此对话的定时任务已达上限 {value} 个。请先删除一个。",
    changed_meanwhile: "该定时任务已结束，或在此期间已运行或被修改。请重新加载页面。",
    no_such_schedule: "没有此定时任务。",
    once: "一次",
    every: "每隔 {interval}",
    by_cron: "cron 表达式 {pattern}（{zone}）",
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::texts::Language;
    use std::collections::BTreeSet;

    /// One error of each kind, and the values that its texts contain.
    fn errors() -> Vec<(ScheduleError, Vec<&'static str>)> {
        let at = |text: &str| text.parse::<DateTime<Utc>>().unwrap();
        let (due, now) = (at("2026-05-04T01:00:00Z"), at("2026-05-04T10:00:00Z"));
        let skipped = NaiveDateTime::parse_from_str("2026-03-29 02:30", "%Y-%m-%d %H:%M").unwrap();
        let near = vec!["Europe/Berlin", "Europe/Bern"];
        let named = UnknownZone { name: Some("Berln".into()), near: near.clone() };
        let (pattern, why) = ("a {x} b".to_owned(), "illegal".to_owned());
        vec![
            (ScheduleError::TextLength { count: 5_000, limit: 4_000 }, vec!["5000", "4000"]),
            (ScheduleError::NotOneTime, vec![]),
            (ScheduleError::Past { due, now, zone: Tz::Asia__Tokyo }, vec!["2026-05-04", "10:00"]),
            (ScheduleError::TooFar, vec![]),
            (ScheduleError::TooOften { shortest: "1m".into() }, vec!["1m"]),
            (ScheduleError::NotADuration("soon".into()), vec!["soon", "1day 12h"]),
            (ScheduleError::NotATime("soon".into()), vec!["soon", "2026-05-04T18:00"]),
            (ScheduleError::NotACronPattern { pattern, why }, vec!["a {x} b"]),
            (ScheduleError::NeverOccurs("0 0 30 2 *".into()), vec!["0 0 30 2 *"]),
            (
                ScheduleError::Skipped { time: skipped, zone: Tz::Europe__Berlin },
                vec!["2026-03-29 02:30:00", "Europe/Berlin"],
            ),
            (named.into(), vec!["Berln", "Europe/Berlin, Europe/Bern"]),
            (UnknownZone { name: None, near }.into(), vec!["Europe/Berlin, Europe/Bern"]),
            (ScheduleError::Unavailable, vec![]),
        ]
    }

    /// The text of each error differs between the languages and contains its values.
    #[test]
    fn every_language_says_why_something_cannot_be_scheduled() {
        for (error, values) in errors() {
            let texts = Language::ALL
                .map(|language| language.words().page.problems.schedules.error(&error));
            for text in &texts {
                let missing: Vec<_> =
                    values.iter().filter(|value| !text.contains(**value)).collect();
                assert!(missing.is_empty(), "{text} lacks {missing:?}");
                let left = values.iter().fold(text.clone(), |text, value| text.replace(*value, ""));
                assert!(!left.contains(['{', '}', '`']), "{text}");
            }
            let different: BTreeSet<_> = texts.iter().collect();
            assert_eq!(different.len(), texts.len(), "{texts:?}");
        }
    }

    #[test]
    fn every_language_says_how_a_schedule_recurs() {
        let texts = Language::ALL.map(|language| {
            let texts = &language.words().page.problems.schedules;
            [texts.once(), texts.every("1h"), texts.by_cron("0 9 * * {zone}", "Asia/Tokyo")]
        });
        for [_, every, by_cron] in &texts {
            assert!(every.contains("1h"), "{every}");
            assert!(
                by_cron.contains("0 9 * * {zone}") && by_cron.contains("Asia/Tokyo"),
                "{by_cron}"
            );
        }
        let different: BTreeSet<_> = texts.iter().flatten().collect();
        assert_eq!(different.len(), 3 * texts.len(), "{texts:?}");
    }

    #[test]
    fn the_model_is_told_in_english() {
        let texts: Vec<_> = errors().into_iter().map(|(error, _)| error.to_string()).collect();
        for expected in [
            "give one of at, in, every and cron (every may have at, for its first time)",
            "the text has 5000 characters; 1 to 4000 are allowed",
            "2026-05-04T10:00:00+09:00 is in the past: it is 2026-05-04T19:00:00+09:00",
            "`a {x} b` is not a cron pattern (minute hour day month weekday): illegal",
            "2026-03-29 02:30:00 does not exist in Europe/Berlin, because the clocks go forward \
                then. Use another time",
            "there is no time zone 'Berln': use an IANA name. Similar names: Europe/Berlin, \
                Europe/Bern",
        ] {
            assert!(texts.iter().any(|text| text == expected), "{expected}: {texts:?}");
        }
    }
}
