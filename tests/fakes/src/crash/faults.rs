//! What goes wrong between the gateway and the platform.

use std::{sync::Arc, time::Duration};

use super::{random::Random, record::Record};
use crate::telegram::Trouble;

/// Decides for each request to the platform what goes wrong with it.
pub fn author(
    record: Arc<Record>,
    mut random: Random,
) -> impl FnMut(&str) -> Option<Trouble> + Send {
    move |method| {
        let percent = match method {
            "sendMessage" | "editMessageText" => {
                record.sent.add();
                6
            }
            "answerCallbackQuery" => 5,
            "getUpdates" => 3,
            _ => 0,
        };
        if record.is_closing() || !random.percent(percent) {
            return None;
        }
        let trouble = trouble(method, &mut random);
        let lost = matches!(trouble, Trouble::LoseAnswer | Trouble::PageAfter { .. });
        if lost && method == "sendMessage" {
            record.unconfirmed.add();
        }
        Some(trouble)
    }
}

fn trouble(method: &str, random: &mut Random) -> Trouble {
    // A poll that is answered late would only wait.
    if method == "getUpdates" {
        return match random.below(3) {
            0 => Trouble::Page { code: 502 },
            1 => Trouble::TooMany { retry_after: 1 },
            _ => Trouble::Cut,
        };
    }
    match random.below(100) {
        0..30 => Trouble::LoseAnswer,
        30..50 => Trouble::PageAfter { code: 502 },
        50..70 => Trouble::Page { code: 502 },
        70..80 => Trouble::TooMany { retry_after: 1 },
        80..90 => Trouble::Cut,
        _ => Trouble::Delay(Duration::from_secs(1)),
    }
}
