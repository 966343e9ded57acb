//! Roles of people in a guild that the platform is asked for: an update does not contain those of
//! other people, and a node without the connection of the bot hears of no changes.

use parking_lot::Mutex;
use std::{collections::HashMap, sync::Arc, time::Duration};

use serde_json::Value;
use tokio::time::Instant;

use super::{
    Discord,
    api::{Body, Failure, Route},
};
use crate::{Place, PlaceKind};

/// How long an answer is cached, as that for a person on Telegram.
const KNOWN_FOR: Duration = Duration::from_mins(1);
/// The maximum number of cached members.
const AT_MOST: usize = 10_000;

#[derive(Default)]
pub(super) struct Lookups {
    /// When each guild was last asked for. Its entry is locked while it is, so that lookups for
    /// several people ask once, and those in other guilds do not wait.
    guilds: Mutex<HashMap<u64, Arc<AskedAt>>>,
    members: Mutex<HashMap<MemberOf, CachedMember>>,
}

type AskedAt = tokio::sync::Mutex<Option<Instant>>;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct MemberOf {
    guild: u64,
    person: u64,
}

struct CachedMember {
    asked_at: Instant,
    /// `null` if the person is not in the guild.
    member: Value,
}

impl Lookups {
    fn guild(&self, guild: u64) -> Arc<AskedAt> {
        self.guilds.lock().entry(guild).or_default().clone()
    }

    fn member(&self, of: MemberOf) -> Option<Value> {
        let members = self.members.lock();
        let cached = members.get(&of)?;
        (cached.asked_at.elapsed() < KNOWN_FOR).then(|| cached.member.clone())
    }

    fn keep(&self, of: MemberOf, cached: CachedMember) {
        let mut members = self.members.lock();
        if members.len() >= AT_MOST {
            members.clear();
        }
        members.insert(of, cached);
    }
}

impl Discord {
    /// A person's roles in a place, at most a minute old.
    pub(super) async fn roles_in(
        &self,
        place: &Place,
        person: &str,
    ) -> Result<Vec<String>, Failure> {
        let room = place.thread.as_ref().unwrap_or(&place.chat);
        let (Ok(room), Ok(id)) = (room.parse(), person.parse()) else { return Ok(Vec::new()) };
        if place.kind == PlaceKind::Private {
            return Ok(Vec::new());
        }
        let guild = self.guild_of(room).await?;
        let member = self.member(MemberOf { guild, person: id }).await?;
        if member.is_null() {
            return Ok(Vec::new());
        }
        Ok(self.guilds().roles(&Value::from(guild.to_string()), &member, id))
    }

    /// A member of a guild; `null` if the person is not in it.
    async fn member(&self, of: MemberOf) -> Result<Value, Failure> {
        if let Some(cached) = self.lookups.member(of) {
            return Ok(cached);
        }
        let asked_at = Instant::now();
        let route = Route::get(format!("guilds/{}/members/{}", of.guild, of.person));
        let member = match self.api.call(route, Body::Empty).await {
            Ok(member) => member,
            // An unknown member or user.
            Err(Failure::Refused { code: 10007 | 10013, .. }) => Value::Null,
            Err(failure) => return Err(failure),
        };
        self.lookups.keep(of, CachedMember { asked_at, member: member.clone() });
        Ok(member)
    }

    /// The guild of a channel, whose roles are at most a minute old.
    async fn guild_of(&self, room: u64) -> Result<u64, Failure> {
        let known = self.guilds().of_room(room);
        let guild = if let Some(guild) = known {
            guild
        } else {
            let route = Route::get(format!("channels/{room}"));
            let channel = self.api.call(route, Body::Empty).await?;
            let unknown = || Failure::Unsent("the channel is in no guild".to_owned());
            self.guilds().learn_room(&channel).ok_or_else(unknown)?
        };
        let entry = self.lookups.guild(guild);
        let mut asked_at = entry.lock().await;
        if asked_at.is_none_or(|at| at.elapsed() >= KNOWN_FOR) {
            let now = Instant::now();
            let changes = self.guilds().changes(guild);
            let content = self.api.call(Route::get(format!("guilds/{guild}")), Body::Empty).await?;
            let mut guilds = self.guilds();
            // An event of the meantime is newer than the answer.
            if guilds.changes(guild) == changes {
                guilds.learn(&content);
            }
            *asked_at = Some(now);
        }
        Ok(guild)
    }
}
