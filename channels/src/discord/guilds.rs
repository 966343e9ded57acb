//! Guilds: their owners, the permissions of roles, upload limits.

use std::collections::HashMap;

use serde_json::Value;

use super::ids::id;

/// The limit of a guild without boosts, and of private chats.
/// <https://discord.com/developers/docs/reference#uploading-files>
pub(super) const USUAL_BYTES: u64 = 10 * 1024 * 1024;
/// The limit of a guild with all boosts.
pub(super) const MAX_BYTES: u64 = 100 * 1024 * 1024;
/// ADMINISTRATOR, MANAGE_GUILD.
const ADMIN: u64 = 1 << 3 | 1 << 5;

#[derive(Default)]
pub(super) struct Guilds {
    /// The bot's id.
    pub(super) me: u64,
    known: HashMap<u64, Guild>,
    /// The number of events about each guild.
    changes: HashMap<u64, u64>,
    rooms: HashMap<u64, ChannelLocation>,
}

#[derive(Default)]
struct Guild {
    owner: u64,
    tier: u64,
    roles: HashMap<u64, Role>,
}

struct Role {
    permissions: u64,
    /// Whether the platform created it for this bot.
    ours: bool,
}

/// The guild and the parent of a channel.
#[derive(Clone, Copy)]
struct ChannelLocation {
    guild: u64,
    /// The parent channel of a thread.
    parent: Option<u64>,
}

impl Guilds {
    /// Updates the state from an event of the gateway. Returns the channels of a guild that the bot
    /// was just added to.
    pub(super) fn apply(&mut self, name: &str, content: &Value) -> Vec<u64> {
        if name.starts_with("GUILD_") {
            let guild = id(&content["guild_id"]).or_else(|| id(&content["id"]));
            *self.changes.entry(guild.unwrap_or(0)).or_default() += 1;
        }
        match name {
            "READY" => {
                self.me = id(&content["user"]["id"]).unwrap_or(0);
                // The guilds that follow are not new.
                for guild in content["guilds"].as_array().into_iter().flatten() {
                    self.known.entry(id(&guild["id"]).unwrap_or(0)).or_default();
                }
            }
            "GUILD_CREATE" => return self.arrive(content),
            "GUILD_UPDATE" => drop(self.learn(content)),
            "GUILD_ROLE_CREATE" | "GUILD_ROLE_UPDATE" => {
                let role = self.role(&content["role"]);
                if let (Some(guild), Some((id, role))) = (self.guild(content), role) {
                    guild.roles.insert(id, role);
                }
            }
            "GUILD_ROLE_DELETE" => {
                if let (Some(guild), Some(role)) = (self.guild(content), id(&content["role_id"])) {
                    guild.roles.remove(&role);
                }
            }
            "CHANNEL_CREATE" | "CHANNEL_UPDATE" | "THREAD_CREATE" | "THREAD_UPDATE" => {
                self.stand(content, &content["guild_id"]);
            }
            _ => {}
        }
        Vec::new()
    }

    /// The channels that an event removes.
    pub(super) fn lose(&mut self, name: &str, content: &Value) -> Vec<u64> {
        let Some(gone) = id(&content["id"]) else { return Vec::new() };
        let guild = match name {
            // A guild that is only unavailable will come back.
            "GUILD_DELETE" if content["unavailable"] != true => true,
            "CHANNEL_DELETE" | "THREAD_DELETE" => false,
            _ => return Vec::new(),
        };
        let mut lost: Vec<u64> = if guild { Vec::new() } else { vec![gone] };
        self.rooms.retain(|room, stands| {
            let stays = if guild { stands.guild != gone } else { stands.parent != Some(gone) };
            lost.extend((!stays).then_some(*room));
            stays && *room != gone
        });
        self.known.remove(&gone);
        lost.sort_unstable();
        lost.dedup();
        lost
    }

    /// The guild of a channel; none for a private chat.
    pub(super) fn of(&self, room: u64) -> Option<u64> {
        self.rooms.get(&room).map(|stands| stands.guild)
    }

    /// How often the platform has reported a change of a guild.
    pub(super) fn changes(&self, guild: u64) -> u64 {
        self.changes.get(&guild).copied().unwrap_or(0)
    }

    /// The upload limit of a channel.
    pub(super) fn upload_bytes(&self, room: u64) -> u64 {
        let guild = self.rooms.get(&room).and_then(|stands| self.known.get(&stands.guild));
        match guild.map(|guild| guild.tier) {
            Some(2) => 50 * 1024 * 1024,
            Some(3..) => MAX_BYTES,
            _ => USUAL_BYTES,
        }
    }

    /// The guild of a channel.
    pub(super) fn of_room(&self, room: u64) -> Option<u64> {
        self.rooms.get(&room).map(|stands| stands.guild)
    }

    /// A person's roles in a guild: the ids of their roles, `admin`, `owner`.
    pub(super) fn roles(&self, guild: &Value, member: &Value, person: u64) -> Vec<String> {
        let ids = member["roles"].as_array().into_iter().flatten();
        let mut roles: Vec<String> = ids.filter_map(|id| Some(id.as_str()?.to_owned())).collect();
        let Some(here) = id(guild) else { return Vec::new() };
        let known = self.known.get(&here);
        let owns = known.is_some_and(|guild| guild.owner == person);
        let may = |role: u64| known.and_then(|g| g.roles.get(&role)).map_or(0, |r| r.permissions);
        // An interaction contains the person's permissions. The id of the `@everyone` role is that
        // of the guild.
        let permissions = id(&member["permissions"]).unwrap_or_else(|| {
            let of_roles = roles.iter().filter_map(|role| role.parse().ok()).map(may);
            of_roles.fold(may(here), |all, more| all | more)
        });
        if owns || permissions & ADMIN != 0 {
            roles.push("admin".to_owned());
        }
        roles.extend(owns.then(|| "owner".to_owned()));
        roles
    }

    /// Whether this is the bot's own managed role.
    pub(super) fn is_our_role(&self, role: u64) -> bool {
        self.known.values().any(|guild| guild.roles.get(&role).is_some_and(|role| role.ours))
    }

    fn arrive(&mut self, content: &Value) -> Vec<u64> {
        let joined = id(&content["id"]).is_some_and(|guild| !self.known.contains_key(&guild));
        self.learn(content);
        let lists = [&content["channels"], &content["threads"]];
        let rooms = lists.into_iter().filter_map(Value::as_array).flatten();
        let rooms = rooms.filter_map(|room| self.stand(room, &content["id"])).collect();
        if joined { rooms } else { Vec::new() }
    }

    /// Records where a channel is. Returns its guild.
    pub(super) fn learn_room(&mut self, room: &Value) -> Option<u64> {
        let room = self.stand(room, &room["guild_id"])?;
        self.of_room(room)
    }

    pub(super) fn learn(&mut self, content: &Value) -> Option<()> {
        let roles = content["roles"].as_array()?.iter().filter_map(|role| self.role(role));
        let guild = Guild {
            owner: id(&content["owner_id"]).unwrap_or(0),
            tier: content["premium_tier"].as_u64().unwrap_or(0),
            roles: roles.collect(),
        };
        self.known.insert(id(&content["id"])?, guild);
        Some(())
    }

    fn role(&self, role: &Value) -> Option<(u64, Role)> {
        let permissions = id(&role["permissions"]).unwrap_or(0);
        let ours = id(&role["tags"]["bot_id"]).is_some_and(|bot| bot == self.me);
        Some((id(&role["id"])?, Role { permissions, ours }))
    }

    fn guild(&mut self, content: &Value) -> Option<&mut Guild> {
        self.known.get_mut(&id(&content["guild_id"])?)
    }

    fn stand(&mut self, room: &Value, guild: &Value) -> Option<u64> {
        let (room_id, guild) = (id(&room["id"])?, id(guild)?);
        // Otherwise the parent is the category that contains the channel.
        let is_thread = matches!(room["type"].as_u64(), Some(10..=12));
        let parent = id(&room["parent_id"]).filter(|_| is_thread);
        self.rooms.insert(room_id, ChannelLocation { guild, parent });
        Some(room_id)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn known(tier: u8) -> Guilds {
        let mut guilds = Guilds::default();
        guilds.apply("READY", &json!({ "user": { "id": "7" }, "guilds": [{ "id": "1" }] }));
        let came = guilds.apply(
            "GUILD_CREATE",
            &json!({
                "id": "1", "owner_id": "70", "premium_tier": tier,
                "roles": [
                    { "id": "1", "permissions": "0" },
                    { "id": "30", "permissions": "32" },
                    { "id": "31", "permissions": "0", "tags": { "bot_id": "7" } },
                ],
                "channels": [{ "id": "10", "type": 0, "parent_id": "9" }],
                "threads": [{ "id": "11", "type": 11, "parent_id": "10" }],
            }),
        );
        assert!(came.is_empty(), "it was there before");
        guilds
    }

    #[test]
    fn the_upload_limit_of_a_guild_depends_on_its_boosts() {
        assert_eq!(known(1).upload_bytes(10), USUAL_BYTES);
        assert_eq!(known(2).upload_bytes(11), 50 * 1024 * 1024);
        assert_eq!(known(3).upload_bytes(10), MAX_BYTES);
        assert_eq!(known(3).upload_bytes(99), USUAL_BYTES, "a private chat");
    }

    #[test]
    fn roles_are_those_of_the_member_and_what_they_amount_to() {
        let mut guilds = known(0);
        let roles = |member: &Value, person| guilds.roles(&json!("1"), member, person);
        assert_eq!(roles(&json!({ "roles": ["31"] }), 8), ["31"]);
        assert_eq!(roles(&json!({ "roles": ["30"] }), 8), ["30", "admin"]);
        assert_eq!(roles(&json!({ "roles": [] }), 70), ["admin", "owner"]);
        assert_eq!(roles(&json!({ "roles": [], "permissions": "8" }), 8), ["admin"]);
        assert_eq!(roles(&json!({ "roles": ["30"], "permissions": "0" }), 8), ["30"]);
        assert!(guilds.roles(&Value::Null, &json!({ "roles": ["30"] }), 8).is_empty());
        assert!(guilds.is_our_role(31) && !guilds.is_our_role(30));
        guilds.apply("GUILD_ROLE_DELETE", &json!({ "guild_id": "1", "role_id": "31" }));
        assert!(!guilds.is_our_role(31));
    }

    #[test]
    fn with_a_guild_go_its_channels_and_with_a_channel_its_threads() {
        assert_eq!(known(0).lose("GUILD_DELETE", &json!({ "id": "1" })), [10, 11]);
        assert_eq!(known(0).lose("CHANNEL_DELETE", &json!({ "id": "10" })), [10, 11]);
        assert_eq!(known(0).lose("THREAD_DELETE", &json!({ "id": "11" })), [11]);
        let away = json!({ "id": "1", "unavailable": true });
        assert!(known(0).lose("GUILD_DELETE", &away).is_empty());
        let guild = json!({ "id": "2", "roles": [], "channels": [{ "id": "20", "type": 0 }] });
        assert_eq!(known(0).apply("GUILD_CREATE", &guild), [20]);
        assert!(known(0).apply("GUILD_ROLE_CREATE", &guild).is_empty());
    }
}
