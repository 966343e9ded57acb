//! Parses interactions: button presses, submitted reasons and commands.

use serde_json::Value;

use super::{
    Discord,
    call::Call,
    config::Command,
    ids::{id, time},
    receive::{here, unparsed},
};
use crate::{Button, Incoming, Person, incoming::IncomingContent};

/// What a person did.
#[derive(Debug)]
pub(super) enum Act<'a> {
    /// A press of a button with this data.
    Press(&'a str),
    /// A press of the button that asks for a reason first, with its data without the key.
    AskReason(&'a str),
    /// A submitted reason, and the data of the modal.
    Reason {
        data: &'a str,
        reason: String,
    },
    Command {
        command: &'a Command,
        text: String,
    },
}

/// The id of the field for a reason.
pub(super) const REASON: &str = "reason";

/// `None` for unknown interactions.
pub(super) fn read<'a>(interaction: &'a Value, commands: &'a [Command]) -> Option<Act<'a>> {
    let data = &interaction["data"];
    // Without these there is no author and nobody to reply to.
    id(&interaction["id"]).and(interaction["token"].as_str()).and(user(interaction))?;
    match interaction["type"].as_u64()? {
        2 if data["type"].as_u64().unwrap_or(1) == 1 => {
            let command = commands.iter().find(|command| data["name"] == command.name)?;
            let argument = data["options"][0]["value"].as_str().unwrap_or_default();
            let text = format!("/{} {argument}", command.name).trim_end().to_owned();
            Some(Act::Command { command, text })
        }
        3 if data["component_type"] == 2 => {
            id(&interaction["message"]["id"])?;
            let carried = data["custom_id"].as_str()?;
            let asks = carried.strip_suffix(Button::DenyWithReason.key());
            Some(asks.map_or(Act::Press(carried), Act::AskReason))
        }
        5 => {
            id(&interaction["message"]["id"])?;
            let reason = typed(&data["components"])?.trim().to_owned();
            Some(Act::Reason { data: data["custom_id"].as_str()?, reason })
        }
        _ => None,
    }
}

/// The value of the reason field, in the old format (a row) or the new one (a label).
fn typed(components: &Value) -> Option<&str> {
    let rows = components.as_array()?.iter();
    let mut fields = rows.flat_map(|row| {
        let inner = row["components"].as_array().into_iter().flatten();
        inner.chain([&row["component"]])
    });
    fields.find(|field| field["custom_id"] == REASON)?["value"].as_str()
}

fn user(interaction: &Value) -> Option<&Value> {
    let users = [&interaction["member"]["user"], &interaction["user"]];
    users.into_iter().find(|user| id(&user["id"]).is_some())
}

impl Discord {
    /// `None` if the person has to be asked for more first.
    pub(super) fn interaction(&self, content: &Value) -> Option<Incoming> {
        let act = read(content, &self.commands);
        let text = |field: &str| content[field].as_str().unwrap_or_default();
        let (own, token, application) = (text("id"), text("token"), text("application_id"));
        let message = || content["message"]["id"].as_str().unwrap_or_default().to_owned();
        let press = || format!("{own}:{token}:{application}");
        let what = match act {
            None => return Some(unparsed('i', content, here(content))),
            Some(Act::AskReason(_)) => return None,
            Some(Act::Press(data)) => IncomingContent::Press {
                press: press(),
                message: message(),
                data: data.to_owned(),
                reason: None,
            },
            Some(Act::Reason { data, reason }) => IncomingContent::Press {
                press: press(),
                message: message(),
                data: data.to_owned(),
                reason: Some(reason).filter(|reason| !reason.is_empty()),
            },
            Some(Act::Command { text, command }) => IncomingContent::Text {
                message: Call {
                    id: own,
                    application,
                    token,
                    private: command.private,
                    goes_on: false,
                }
                .message_id(),
                text,
                reply_to: None,
                addressed: true,
                files: Vec::new(),
                album: None,
                quoted_author: None,
            },
        };
        Some(Incoming {
            key: format!("i{own}"),
            at: id(&content["id"]).map(time).unwrap_or_default(),
            place: here(content),
            person: self.presser(content),
            what,
        })
    }

    pub(super) fn presser(&self, content: &Value) -> Option<Person> {
        let user = user(content)?;
        let person = id(&user["id"])?;
        let (member, text) =
            (&content["member"], |value: &Value| value.as_str().map(str::to_owned));
        let names = [&member["nick"], &user["global_name"], &user["username"]];
        Some(Person {
            id: person.to_string(),
            name: names.into_iter().find_map(text).unwrap_or_default(),
            language: text(&content["locale"]),
            is_bot: user["bot"] == true,
            roles: self.guilds().roles(&content["guild_id"], member, person),
            roles_unknown: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn interaction(kind: u8, data: &Value) -> Value {
        json!({
            "id": "5", "token": "t", "type": kind, "data": data, "message": { "id": "9" },
            "user": { "id": "8", "username": "ann" },
        })
    }

    #[test]
    fn buttons_reasons_and_commands_are_distinguished() {
        let command = Command {
            name: "model".to_owned(),
            description: "".into(),
            argument: None,
            private: true,
        };
        let commands = [command];
        let of = |kind, data: Value| {
            let interaction = interaction(kind, &data);
            read(&interaction, &commands).map(|act| format!("{act:?}"))
        };
        let press = |data: &str| json!({ "component_type": 2, "custom_id": data });
        assert_eq!(of(3, press("1ata")), Some(r#"Press("1ata")"#.to_owned()));
        assert_eq!(of(3, press("1atw")), Some(r#"AskReason("1at")"#.to_owned()));
        let field = json!({ "custom_id": "reason", "value": " no " });
        for row in [json!({ "components": [field] }), json!({ "component": field })] {
            let said = of(5, json!({ "custom_id": "1atd", "components": [row] }));
            assert_eq!(said, Some(r#"Reason { data: "1atd", reason: "no" }"#.to_owned()));
        }
        let called = of(2, json!({ "name": "model", "options": [{ "value": "big" }] }));
        assert!(called.is_some_and(|called| called.ends_with(r#"text: "/model big" }"#)));
        for (kind, data) in [
            (2, json!({ "name": "other" })),
            (2, json!({ "name": "model", "type": 3 })),
            (3, json!({ "component_type": 3, "custom_id": "x" })),
            (4, json!({ "name": "model" })),
            (5, json!({ "custom_id": "x", "components": [] })),
        ] {
            assert_eq!(of(kind, data), None);
        }
    }
}
