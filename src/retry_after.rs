//! Parses how long a server asks to wait before the next request.

use chrono::{DateTime, Utc};
use reqwest::header::HeaderMap;
use std::time::Duration;

/// The delay in seconds or milliseconds, or the time until a date. The date is compared with the
/// server's own `Date` header or, without one, with `now`.
pub fn retry_after(headers: &HeaderMap, now: Option<DateTime<Utc>>) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|v| v.to_str().ok()).map(str::trim);
    let number = |name: &str| text(name).and_then(|t| t.parse::<f64>().ok());
    if let Some(ms) = number("retry-after-ms") {
        return Duration::try_from_secs_f64(ms / 1000.0).ok();
    }
    if let Some(seconds) = number("retry-after") {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = |name: &str| DateTime::parse_from_rfc2822(text(name)?).ok().map(|at| at.to_utc());
    let until = date("retry-after")?;
    Some((until - date("date").or(now)?).to_std().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(all: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in all {
            headers.insert(*name, value.parse().expect("a header value"));
        }
        headers
    }

    #[test]
    fn retry_after_is_seconds_milliseconds_or_a_date() {
        let after = |all: &[(&'static str, &'static str)]| retry_after(&headers(all), None);
        assert_eq!(after(&[("retry-after", "7")]), Some(Duration::from_secs(7)));
        assert_eq!(after(&[("retry-after", "1.5")]), Some(Duration::from_millis(1500)));
        assert_eq!(after(&[("retry-after-ms", "250")]), Some(Duration::from_millis(250)));
        let date = ("date", "Sat, 21 Nov 2026 10:00:00 GMT");
        let until = ("retry-after", "Sat, 21 Nov 2026 10:01:30 GMT");
        assert_eq!(after(&[date, until]), Some(Duration::from_secs(90)));
        let past = ("retry-after", "Sat, 21 Nov 2026 09:00:00 GMT");
        assert_eq!(after(&[date, past]), Some(Duration::ZERO));
        assert_eq!(after(&[until]), None);
        assert_eq!(after(&[("retry-after", "-3")]), None);
        assert_eq!(after(&[]), None);

        let now = "2026-11-21T10:01:00Z".parse().ok();
        assert_eq!(retry_after(&headers(&[until]), now), Some(Duration::from_secs(30)));
        assert_eq!(retry_after(&headers(&[date, until]), now), Some(Duration::from_secs(90)));
    }
}
