//! `get_current_datetime`: the current time.

use async_trait::async_trait;
use chrono::{DateTime, SecondsFormat, Utc};
use chrono_tz::{OffsetName as _, TZ_VARIANTS, Tz};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{
    Context, Output, Tool, ToolError,
    contract::arguments::{parse, schema},
};
use crate::{agent::catalog::ToolSpec, texts::UnknownZone};

/// `get_current_datetime`
pub struct CurrentDatetime;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// IANA name of the time zone, such as Europe/Berlin; default UTC.
    #[serde(default)]
    timezone: Option<String>,
}

#[async_trait]
impl Tool for CurrentDatetime {
    fn spec(&self) -> ToolSpec {
        ToolSpec::read_only(
            "get_current_datetime",
            "Tells the current date and time of a time zone, with the weekday.",
            schema::<Arguments>(),
        )
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let Arguments { timezone } = parse(arguments)?;
        let zone = zone(timezone.as_deref().unwrap_or("UTC"))?;
        Ok(Output::text(format_time(context.now, zone)))
    }
}

/// `2026-04-11T14:30:22 (Saturday, Europe/Berlin, CEST, 2026-04-11T14:30:22+02:00)`
fn format_time(now: DateTime<Utc>, zone: Tz) -> String {
    let local = now.with_timezone(&zone);
    let name = local.offset().abbreviation().filter(|name| name.starts_with(char::is_alphabetic));
    let name = name.filter(|name| *name != zone.name());
    let name = name.map(|name| format!(", {name}")).unwrap_or_default();
    let zone = zone.name();
    format!(
        "{} ({}, {zone}{name}, {})",
        local.format("%FT%T"),
        local.format("%A"),
        local.to_rfc3339_opts(SecondsFormat::Secs, false)
    )
}

/// The maximum length of a name that an error quotes.
const NAME_CHARS: usize = 60;

impl From<UnknownZone> for ToolError {
    fn from(unknown: UnknownZone) -> Self {
        Self::InvalidParameters(unknown.to_string())
    }
}

pub(super) fn zone(name: &str) -> Result<Tz, UnknownZone> {
    let name = name.trim();
    let exact = TZ_VARIANTS.iter().find(|zone| zone.name().eq_ignore_ascii_case(name));
    exact.copied().ok_or_else(|| {
        // A truncated name could contain part of a secret, which the redactor only recognises as a
        // whole.
        let is_short = name.chars().count() <= NAME_CHARS;
        let shown: String = name.chars().filter(|c| !c.is_control()).take(NAME_CHARS).collect();
        let near = near(&shown);
        UnknownZone { name: is_short.then_some(shown), near }
    })
}

/// At most three similar zones, compared by the whole name or by the city in it.
fn near(wanted: &str) -> Vec<&'static str> {
    let plain = |name: &str| name.to_lowercase().replace([' ', '-'], "_");
    let wanted = plain(wanted);
    let mut scored: Vec<(f64, &'static str)> = TZ_VARIANTS
        .iter()
        .map(|zone| {
            let whole = plain(zone.name());
            let place = whole.rsplit('/').next().unwrap_or(&whole);
            let likeness = |other: &str| strsim::jaro_winkler(&wanted, other);
            (likeness(&whole).max(likeness(place)), zone.name())
        })
        .filter(|(score, _)| *score > 0.8)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored.into_iter().take(3).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::ToolFixture;
    use serde_json::json;

    async fn at(arguments: Value) -> Result<String, ToolError> {
        let place = ToolFixture::new();
        CurrentDatetime.run(arguments, &place.context).await.map(|output| output.text)
    }

    /// The current time, also in RFC 3339.
    /// Proves MC-21, IC-46.
    #[tokio::test]
    async fn the_time_of_a_zone_is_given_in_its_exact_form() {
        assert_eq!(
            at(json!({ "timezone": "Europe/Berlin" })).await.unwrap(),
            "2026-04-11T14:30:22 (Saturday, Europe/Berlin, CEST, 2026-04-11T14:30:22+02:00)"
        );
        assert_eq!(
            at(json!({})).await.unwrap(),
            "2026-04-11T12:30:22 (Saturday, UTC, 2026-04-11T12:30:22+00:00)"
        );
        assert_eq!(
            at(json!({ "timezone": "asia/kathmandu" })).await.unwrap(),
            "2026-04-11T18:15:22 (Saturday, Asia/Kathmandu, 2026-04-11T18:15:22+05:45)"
        );
    }

    /// An unknown zone is an error that suggests similar names.
    /// Proves MC-21.
    #[tokio::test]
    async fn a_zone_that_is_not_there_is_refused_with_near_names() {
        let error = at(json!({ "timezone": "Europe/Berln" })).await.unwrap_err();
        assert!(matches!(error, ToolError::InvalidParameters(_)));
        assert!(error.to_string().contains("Europe/Berlin"), "{error}");
        let error = at(json!({ "timezone": "New York" })).await.unwrap_err();
        assert!(error.to_string().contains("America/New_York"), "{error}");
        let error = at(json!({ "timezone": "zzzz\n" })).await.unwrap_err();
        assert!(!error.to_string().contains("Similar names"), "{error}");
    }
}
