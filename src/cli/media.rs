//! Checks the services for media.

use std::collections::BTreeMap;

use super::report::Report;
use crate::{admin::reload::CheckStatus, config::Config};

/// Reports the services for media that are configured. They are not contacted, because every request
/// costs money.
pub(super) fn report(report: &mut Report, config: &Config, variables: &BTreeMap<String, String>) {
    for service in config.media.used(variables) {
        let (found, says) = match service.missing {
            None => (CheckStatus::Fine, format!("is done by {}, with a key", service.provider)),
            Some(variable) => (
                CheckStatus::Warning,
                format!("has no key: set the environment variable {variable}"),
            ),
        };
        report.add(found, &format!("media.{}", service.section), says);
    }
}
