//! Sets the command menus if they differ from the current ones.

use serde::Serialize;
use serde_json::Value;
use teloxide::{
    payloads::{GetMyCommands, SetMyCommands},
    requests::Payload,
    types::BotCommand,
};
use tracing::{info, warn};

use super::{
    Menu, Telegram,
    api::{Failure, USUAL},
};

impl Telegram {
    /// A failure is only logged, because the next start sets the menus.
    pub(super) async fn offer_menus(&self) {
        for menu in &self.menus {
            let language = menu.language.as_deref().unwrap_or("default");
            match self.offer(menu).await {
                Ok(false) => {}
                Ok(true) => info!(channel.id = self.id, language, "Telegram: command menu set"),
                Err(failure) => {
                    let reason = failure.to_string();
                    warn!(
                        channel.id = self.id,
                        language, reason, "Telegram: could not set the command menu"
                    );
                }
            }
        }
    }

    /// Returns whether it had to be set.
    async fn offer(&self, menu: &Menu) -> Result<bool, Failure> {
        let command = |(name, what): &(String, String)| BotCommand::new(name, what);
        let wanted: Vec<BotCommand> = menu.commands.iter().map(command).collect();
        let ask = GetMyCommands { scope: None, language_code: menu.language.clone() };
        let set = serde_json::from_value::<Vec<BotCommand>>(self.say(&ask).await?);
        if set.is_ok_and(|set| set == wanted) {
            return Ok(false);
        }
        let language_code = menu.language.clone();
        self.say(&SetMyCommands { commands: wanted, scope: None, language_code }).await?;
        Ok(true)
    }

    async fn say<P: Payload + Serialize + Sync>(&self, payload: &P) -> Result<Value, Failure> {
        self.api.call(payload, USUAL).await
    }
}
