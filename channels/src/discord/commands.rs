//! Registers the slash commands if they differ from the registered ones.

use std::{convert::Infallible, future::pending, time::Duration};

use serde_json::{Value, json};
use tracing::{error, info, warn};

use super::{
    Discord,
    api::{Body, Failure, Route},
    config::Command,
    listen::{Wait, idle},
};

impl Discord {
    /// Registers the commands, and never returns. Waits while the platform is unavailable. If it
    /// rejects the commands, gives up, because people can also type them.
    pub(super) async fn offer_commands(&self) -> Infallible {
        let mut wait = Wait::new();
        while !self.commands.is_empty() {
            match self.register().await {
                Ok(()) => break,
                Err(Failure::Refused { after: Some(after), .. }) => {
                    idle(after + Duration::from_millis(50)).await;
                }
                Err(Failure::Refused { status: 400..500, message, .. }) => {
                    error!(
                        channel.id = self.id,
                        reason = message,
                        "Discord: could not register the commands; they can still be typed after a \
                            mention"
                    );
                    break;
                }
                Err(
                    Failure::Refused { message: reason, .. }
                    | Failure::Unsent(reason)
                    | Failure::Lost(reason),
                ) => {
                    warn!(
                        channel.id = self.id,
                        reason, "Discord: retrying to register the commands"
                    );
                    wait.once().await;
                }
            }
        }
        pending().await
    }

    async fn register(&self) -> Result<(), Failure> {
        let me =
            self.api.call(Route::get("oauth2/applications/@me".to_owned()), Body::Empty).await?;
        let application = me["id"].as_str().unwrap_or_default();
        let path = format!("applications/{application}/commands");
        let all = Route::get(path.clone()).query("with_localizations=true".to_owned());
        let there = self.api.call(all, Body::Empty).await?;
        let ours: Vec<Value> = self.commands.iter().map(written).collect();
        if same(&there, &ours) {
            return Ok(());
        }
        self.api.call(Route::put(path), Body::Json(ours.into())).await?;
        info!(channel.id = self.id, "Discord: commands registered");
        Ok(())
    }
}

/// <https://discord.com/developers/docs/interactions/application-commands#application-command-object>
fn written(command: &Command) -> Value {
    let option = command.argument.iter().map(|(name, description)| {
        json!({
            "type": 3, "name": name, "description": description.english,
            "description_localizations": description.by_locale(), "required": false,
        })
    });
    json!({
        "type": 1, "name": command.name, "description": command.description.english,
        "description_localizations": command.description.by_locale(),
        "options": option.collect::<Vec<_>>(),
    })
}

/// Whether exactly these commands are registered, in any order.
fn same(there: &Value, ours: &[Value]) -> bool {
    let there: Vec<Value> = there.as_array().into_iter().flatten().map(essence).collect();
    there.len() == ours.len() && ours.iter().all(|our| there.contains(&essence(our)))
}

/// The fields that `written` sets. The platform omits empty and default values, and adds fields of
/// its own.
fn essence(written: &Value) -> Value {
    json!({
        "type": written["type"],
        "name": written["name"],
        "description": written["description"],
        "localized": written["description_localizations"].as_object().cloned().unwrap_or_default(),
        "required": written["required"] == true,
        "options": written["options"].as_array().into_iter().flatten().map(essence).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discord::LocalizedText;

    #[test]
    fn only_what_differs_is_written_again() {
        let others = [("de".to_owned(), "Hilfe".to_owned())].into();
        let help = Command {
            name: "help".to_owned(),
            description: LocalizedText { english: "Help".to_owned(), others },
            argument: None,
            private: true,
        };
        let model = Command {
            name: "model".to_owned(),
            description: "Model".into(),
            argument: Some(("name".to_owned(), "Which".into())),
            private: true,
        };
        let ours = [written(&help), written(&model)];
        let there = json!([
            {
                "id": "2", "version": "3", "type": 1, "name": "model", "description": "Model",
                "description_localizations": null, "nsfw": false,
                "options": [{ "type": 3, "name": "name", "description": "Which" }],
            },
            {
                "id": "1", "type": 1, "name": "help", "description": "Help",
                "description_localizations": { "de": "Hilfe" },
            },
        ]);
        assert!(same(&there, &ours));
        let mut other = there.clone();
        other[1]["description_localizations"]["de"] = "Beistand".into();
        assert!(!same(&other, &ours));
        let mut other = there.clone();
        other[0]["options"] = json!([]);
        assert!(!same(&other, &ours));
        assert!(!same(&there, &ours[..1]));
        assert!(!same(&json!([]), &ours));
    }
}
