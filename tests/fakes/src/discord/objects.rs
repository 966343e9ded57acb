//! How the platform writes what there is.

use serde_json::{Value, json};

use super::{APPLICATION_ID, GUILD_ID};

pub(super) const JOINED: &str = "2024-01-01T00:00:00.000000+00:00";

pub(super) fn user(id: u64, name: &str, bot: bool) -> Value {
    json!({
        "id": id.to_string(), "username": name.to_lowercase(), "discriminator": "0",
        "global_name": if bot { Value::Null } else { name.into() },
        "avatar": null, "bot": bot, "public_flags": 0,
    })
}

pub(super) fn member(user: &Value, roles: &[String]) -> Value {
    json!({
        "user": user, "nick": null, "avatar": null, "roles": roles, "joined_at": JOINED,
        "premium_since": null, "deaf": false, "mute": false, "flags": 0, "pending": false,
        "communication_disabled_until": null,
    })
}

pub(super) fn channel(id: u64, kind: u8, name: &str) -> Value {
    if kind == 1 {
        return json!({ "id": id.to_string(), "type": 1, "last_message_id": null, "flags": 0 });
    }
    json!({
        "id": id.to_string(), "type": kind, "guild_id": GUILD_ID.to_string(), "name": name,
        "position": 0, "permission_overwrites": [], "topic": null, "nsfw": false,
        "last_message_id": null, "parent_id": null, "rate_limit_per_user": 0, "flags": 0,
    })
}

pub(super) fn thread(parent: u64, owner: u64) -> Value {
    json!({
        "parent_id": parent.to_string(), "owner_id": owner.to_string(), "message_count": 0,
        "member_count": 1, "total_message_sent": 0,
        "thread_metadata": {
            "archived": false, "auto_archive_duration": 1440, "archive_timestamp": JOINED,
            "locked": false, "create_timestamp": JOINED,
        },
    })
}

pub(super) fn message(id: u64, channel: u64, author: &Value, content: &str) -> Value {
    json!({
        "id": id.to_string(), "channel_id": channel.to_string(), "author": author,
        "content": content, "timestamp": time(id), "edited_timestamp": null, "tts": false,
        "mention_everyone": false, "mentions": [], "mention_roles": [], "attachments": [],
        "embeds": [], "pinned": false, "type": 0, "flags": 0, "components": [],
    })
}

pub(super) fn attachment(id: u64, (name, size): (&str, usize), url: &str) -> Value {
    let picture = std::path::Path::new(name).extension().is_some_and(|e| e == "png");
    json!({
        "id": id.to_string(), "filename": name, "size": size, "url": url, "proxy_url": url,
        "content_type": if picture { "image/png" } else { "application/octet-stream" },
    })
}

pub(super) fn role(id: u64, name: &str, permissions: u64) -> Value {
    json!({
        "id": id.to_string(), "name": name, "color": 0, "hoist": false, "icon": null,
        "unicode_emoji": null, "position": 0, "permissions": permissions.to_string(),
        "managed": false, "mentionable": false, "flags": 0,
    })
}

/// The caller adds the members of the guild.
pub(super) fn guild() -> Value {
    json!({
        "id": GUILD_ID.to_string(), "name": "Lab", "icon": null, "splash": null,
        "discovery_splash": null, "afk_channel_id": null,
        "afk_timeout": 300, "verification_level": 0, "default_message_notifications": 0,
        "explicit_content_filter": 0, "emojis": [], "stickers": [],
        "features": [], "mfa_level": 0, "application_id": null, "system_channel_id": null,
        "system_channel_flags": 0, "rules_channel_id": null, "vanity_url_code": null,
        "description": null, "banner": null, "premium_subscription_count": 0,
        "preferred_locale": "en-US", "public_updates_channel_id": null, "nsfw_level": 0,
        "premium_progress_bar_enabled": false, "safety_alerts_channel_id": null,
        "joined_at": JOINED, "large": false, "unavailable": false, "voice_states": [],
        "presences": [], "stage_instances": [], "guild_scheduled_events": [],
    })
}

pub(super) fn application() -> Value {
    json!({
        "id": APPLICATION_ID.to_string(), "name": "counter_bot", "icon": null, "description": "",
        "rpc_origins": [], "bot_public": true, "bot_require_code_grant": false,
        "verify_key": "0".repeat(64), "flags": 1 << 19, "owner": user(1, "Owner", false),
        "team": null, "summary": "",
    })
}

/// When an id was given out, as the platform writes times.
pub(super) fn time(id: u64) -> String {
    let millis = (id >> 22) + 1_420_070_400_000;
    let (days, rest) = (millis / 86_400_000, millis % 86_400_000);
    let (year, month, day) = date(days);
    let (hours, minutes) = (rest / 3_600_000, rest / 60_000 % 60);
    let (seconds, fraction) = (rest / 1000 % 60, rest % 1000);
    format!(
        "{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.{fraction:03}000+00:00"
    )
}

/// The date that is this many days after 1970-01-01.
fn date(mut days: u64) -> (u64, usize, u64) {
    let leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let lengths = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    (year, month + 1, days + 1)
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_id_has_its_time() {
        assert_eq!(super::time(175_928_847_299_117_063), "2016-04-30T11:18:25.796000+00:00");
    }
}
