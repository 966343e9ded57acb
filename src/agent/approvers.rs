//! Who may decide an approval, as data. Checked for every vote, against the roles that the platform
//! reports.

use anyhow::{Result, bail};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::{
    journal::{event::Speaker, ids::ApprovalId, role::Role},
    texts::{Language, Messages},
};

/// Whose votes count, and how many are needed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "RawApprovers", into = "RawApprovers")]
pub struct Approvers {
    /// Any of these.
    pub who: Vec<ApproverSelector>,
    /// The number of different people who have to allow it. One denial is enough to deny.
    pub needed: usize,
    /// Excludes the requester, whatever other roles they have.
    pub except_requester: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApproverSelector {
    /// The person on whose behalf the agent acts, unless it is a visitor, who is not authenticated.
    Requester,
    /// Anyone who may talk to the bot in that place.
    Members,
    /// Administrators of the chat, according to the platform.
    Admins,
    /// A numeric platform id on any channel, or on the channel before a slash.
    Id(String),
    /// A role in this gateway, or a higher one.
    Role(Role),
    /// A role of the platform, by its id.
    PlatformRole(String),
}

/// A person who votes. People can choose none of these values themselves, except their name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Voter {
    pub speaker: Speaker,
    pub channel: String,
    /// Their role in this gateway.
    pub role: Option<Role>,
    /// Their roles on the platform in that place: `owner`, `admin`, ids of roles.
    pub platform_roles: Vec<String>,
    /// What was looked up on the platform before this decision.
    pub lookups: RoleLookups,
    /// The language of replies to them.
    pub language: Language,
}

/// What was looked up for each of the approvals that a person may be deciding.
pub type RoleLookups = BTreeMap<ApprovalId, RoleLookup>;

/// What was looked up for an approval.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RoleLookup {
    pub voter: VoterRoles,
    /// The earlier votes that may not count any more.
    pub doubts: Vec<DoubtfulVote>,
}

/// The voter's roles in the place where the approval was requested.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum VoterRoles {
    /// Those that came with the update are all that matter.
    #[default]
    Known,
    /// These were looked up, and the role in this gateway that they give.
    LookedUp { platform_roles: Vec<String>, role: Option<Role> },
    /// The platform did not report them.
    Unknown,
}

/// An earlier vote that would not be accepted now, or may not be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoubtfulVote {
    pub channel: String,
    pub person: String,
    pub doubt: VoteDoubt,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VoteDoubt {
    /// The voter may no longer decide.
    Lost,
    /// The platform did not report the voter's roles.
    Unknown,
}

impl Default for Approvers {
    fn default() -> Self {
        Self { who: vec![ApproverSelector::Requester], needed: 1, except_requester: false }
    }
}

impl Approvers {
    /// Whether this person may decide.
    pub fn admit(&self, voter: &Voter, is_requester: bool) -> bool {
        !(self.except_requester && is_requester)
            && self.who.iter().any(|who| match who {
                ApproverSelector::Requester => is_requester && !voter.speaker.is_visitor(),
                other => other.is(voter),
            })
    }

    /// Whether the rule depends on counting people rather than accounts: several people have to
    /// agree, or the requester may not decide.
    pub fn counts_people(&self) -> bool {
        self.needed > 1 || self.except_requester
    }

    /// Whether the decision depends on roles that only the platform knows. `maps_roles`: the
    /// configuration derives roles of the gateway from those of the platform.
    pub fn ask_the_platform(&self, maps_roles: bool) -> bool {
        self.who.iter().any(|who| match who {
            ApproverSelector::Admins | ApproverSelector::PlatformRole(_) => true,
            ApproverSelector::Role(_) => maps_roles,
            _ => false,
        })
    }

    /// Whether this person may decide for every requester. Required for grants to everyone:
    /// otherwise an approver could use one to skip approvals that somebody else has to decide.
    pub fn admit_for_all(&self, voter: &Voter) -> bool {
        !self.except_requester && self.who.iter().any(|who| who.is(voter))
    }
}

impl Voter {
    pub fn words(&self) -> &'static Messages {
        self.language.words()
    }

    /// The voter with the roles that were looked up for this approval. They count for no other.
    pub fn on(&self, approval: &ApprovalId) -> Self {
        let mut voter = self.clone();
        let found = self.lookups.get(approval).map(|lookup| &lookup.voter);
        if let Some(VoterRoles::LookedUp { platform_roles, role }) = found {
            voter.platform_roles.extend_from_slice(platform_roles);
            voter.role = voter.role.max(*role);
        }
        voter
    }

    /// Whether the platform did not report the voter's roles, which this approval depends on.
    pub fn has_unknown_roles(&self, approval: &ApprovalId) -> bool {
        self.lookups.get(approval).is_some_and(|lookup| lookup.voter == VoterRoles::Unknown)
    }

    /// Why an earlier vote on this approval may not count any more.
    pub fn doubt(&self, approval: &ApprovalId, channel: &str, person: &str) -> Option<VoteDoubt> {
        let doubts = &self.lookups.get(approval)?.doubts;
        let vote = doubts.iter().find(|vote| vote.channel == channel && vote.person == person)?;
        Some(vote.doubt)
    }

    pub fn is_owner(&self) -> bool {
        self.role == Some(Role::Owner)
    }

    /// Whether they administer the chat.
    pub fn administers(&self) -> bool {
        self.platform_roles.iter().any(|role| role == "owner" || role == "admin")
    }
}

impl ApproverSelector {
    fn is(&self, voter: &Voter) -> bool {
        match self {
            Self::Requester => false,
            Self::Members => true,
            Self::Admins => voter.administers(),
            Self::Id(id) => match id.split_once('/') {
                Some((channel, id)) => channel == voter.channel && id == voter.speaker.id,
                None => *id == voter.speaker.id,
            },
            Self::Role(role) => voter.role.is_some_and(|own| own >= *role),
            Self::PlatformRole(role) => voter.platform_roles.contains(role),
        }
    }

    fn parse(text: &str) -> Result<Self> {
        Ok(match text {
            "requester" => Self::Requester,
            "members" => Self::Members,
            "admins" => Self::Admins,
            _ => match text.split_once([':', '/']) {
                Some(("role", name)) => match Role::parse(name) {
                    Some(role) => Self::Role(role),
                    None => bail!(
                        "`{name}` is not a role; use viewer, member, approver, operator or owner"
                    ),
                },
                Some(("platform_role", id)) if !id.is_empty() => Self::PlatformRole(id.into()),
                Some((channel, id)) if is_word(channel) && is_word(id) && text.contains('/') => {
                    Self::Id(text.into())
                }
                None if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) => {
                    Self::Id(text.into())
                }
                _ => bail!(
                    "`{text}` is not an approver; use requester, members, admins, others, a \
                        numeric id, <channel>/<id>, role:<name> or platform_role:<id>"
                ),
            },
        })
    }

    fn written(&self) -> String {
        match self {
            Self::Requester => "requester".into(),
            Self::Members => "members".into(),
            Self::Admins => "admins".into(),
            Self::Id(id) => id.clone(),
            Self::Role(role) => format!("role:{}", role.as_str()),
            Self::PlatformRole(id) => format!("platform_role:{id}"),
        }
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && !text.contains(char::is_whitespace)
}

/// As written in the configuration: a word, a list of words, or a table.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "use a word, a list of words, or { who = [\"admins\"], needed = 2, except_requester = true }"
)]
enum RawApprovers {
    Word(String),
    List(Vec<String>),
    Table(Table),
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Table {
    who: Vec<String>,
    #[serde(default = "one")]
    needed: usize,
    /// Written by its former name, which nodes of earlier releases read from the database.
    #[serde(default, rename = "but_requester", alias = "except_requester")]
    #[schemars(rename = "except_requester")]
    except_requester: bool,
}

fn one() -> usize {
    1
}

const OTHERS: &str = "others";

impl TryFrom<RawApprovers> for Approvers {
    type Error = anyhow::Error;

    fn try_from(written: RawApprovers) -> Result<Self> {
        let Table { who, needed, except_requester } = match written {
            RawApprovers::Word(word) if word == OTHERS => {
                Table { who: vec!["members".into()], needed: 1, except_requester: true }
            }
            RawApprovers::Word(word) => {
                Table { who: vec![word], needed: 1, except_requester: false }
            }
            RawApprovers::List(who) => Table { who, needed: 1, except_requester: false },
            RawApprovers::Table(table) => table,
        };
        let who =
            who.iter().map(|word| ApproverSelector::parse(word)).collect::<Result<Vec<_>>>()?;
        if who.is_empty() || needed == 0 {
            bail!("nobody could decide: `who` is empty, or `needed` is 0");
        }
        let named = who
            .iter()
            .all(|who| matches!(who, ApproverSelector::Id(_) | ApproverSelector::Requester));
        if named && needed > who.len() {
            bail!("nobody could decide: {needed} have to agree, but only {} are named", who.len());
        }
        Ok(Self { who, needed, except_requester })
    }
}

impl From<Approvers> for RawApprovers {
    fn from(approvers: Approvers) -> Self {
        let Approvers { who, needed, except_requester } = approvers;
        if who == [ApproverSelector::Members] && needed == 1 && except_requester {
            return Self::Word(OTHERS.into());
        }
        let mut words: Vec<_> = who.iter().map(ApproverSelector::written).collect();
        match (words.len(), needed, except_requester) {
            (1, 1, false) => Self::Word(words.remove(0)),
            (_, 1, false) => Self::List(words),
            _ => Self::Table(Table { who: words, needed, except_requester }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn voter(id: &str, role: Option<&str>, platform_roles: &[&str]) -> Voter {
        Voter {
            speaker: Speaker { id: id.into(), name: "Requester".into() },
            channel: "telegram".into(),
            role: role.and_then(Role::parse),
            platform_roles: platform_roles.iter().map(|&r| r.to_owned()).collect(),
            lookups: RoleLookups::new(),
            language: Language::default(),
        }
    }

    /// Approvers are recognised by ids and roles, never by name.
    /// Proves A13.
    #[test]
    fn approvers_are_matched_by_id_and_role() {
        let ann = voter("1", None, &[]);
        let bob = voter("2", None, &[]);
        let chief = voter("3", Some("owner"), &[]);
        let admin = voter("4", None, &["admin"]);
        let creator = voter("5", None, &["owner"]);
        let ops = voter("6", None, &["777"]);
        for (written, expected) in [
            (json!("requester"), "1"),
            (json!("members"), "123456"),
            (json!("others"), "23456"),
            (json!("2"), "2"),
            (json!(["telegram/2", "discord/3"]), "2"),
            (json!("role:owner"), "3"),
            (json!("admins"), "45"),
            (json!("platform_role:777"), "6"),
            (json!(["requester", "role:owner"]), "13"),
            (json!({ "who": ["members"], "needed": 2 }), "123456"),
            (json!({ "who": ["1", "2"], "except_requester": true }), "2"),
            (json!({ "who": ["1", "2"], "but_requester": true }), "2"),
        ] {
            let approvers: Approvers = serde_json::from_value(written.clone()).unwrap();
            let may: String = [&ann, &bob, &chief, &admin, &creator, &ops]
                .into_iter()
                .filter(|voter| approvers.admit(voter, voter.speaker.id == "1"))
                .map(|voter| voter.speaker.id.as_str())
                .collect();
            assert_eq!(may, expected, "{written}");
            let again: Approvers =
                serde_json::from_value(serde_json::to_value(&approvers).unwrap()).unwrap();
            assert_eq!(again, approvers);
        }
    }

    /// A visitor cannot decide an approval for their own request, unless members may decide.
    /// Proves A13.
    #[test]
    fn a_visitor_does_not_decide_as_the_requester() {
        let visitor = voter("visitor:1", Some("member"), &[]);
        let admits = |written: Value| {
            let approvers: Approvers = serde_json::from_value(written).unwrap();
            approvers.admit(&visitor, true)
        };
        assert!(!admits(json!("requester")) && !admits(json!("others")));
        assert!(admits(json!("members")) && admits(json!(["requester", "role:member"])));
    }

    #[test]
    fn approvers_that_nobody_can_satisfy_are_rejected_with_a_reason() {
        let refused =
            |written: Value| serde_json::from_value::<Approvers>(written).unwrap_err().to_string();
        assert!(refused(json!("ann")).contains("`ann` is not an approver"));
        assert!(refused(json!("role:king")).contains("is not a role"));
        assert!(refused(json!([])).contains("nobody could decide"));
        assert!(refused(json!({ "who": ["1"], "needed": 2 })).contains("only 1 are named"));
        assert!(refused(json!({ "who": ["1"], "needs": 2 })).contains("a list of words"));
    }
}
