//! Discord's ids: parsing, and the time that they contain.

use chrono::{DateTime, Utc};
use serde_json::Value;

/// The first millisecond of Discord's ids.
const EPOCH: u64 = 1_420_070_400_000;

/// Discord writes its ids as text.
pub(super) fn id(value: &Value) -> Option<u64> {
    value.as_str()?.parse().ok()
}

/// The id in a key.
pub(super) fn snowflake(key: &str) -> Option<u64> {
    key.strip_prefix(['m', 'i'])?.parse().ok()
}

/// When an id was created.
pub(super) fn time(snowflake: u64) -> DateTime<Utc> {
    let millis = i64::try_from((snowflake >> 22) + EPOCH).unwrap_or(0);
    DateTime::from_timestamp_millis(millis).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_tells_its_time() {
        assert_eq!(time(175_928_847_299_117_063).to_rfc3339(), "2016-04-30T11:18:25.796+00:00");
    }
}
