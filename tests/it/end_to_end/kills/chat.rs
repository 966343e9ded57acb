//! A person who talks to a gateway in Telegram, for deaths outside of the main job.

use fakes::{
    llm::{Answer, FakeLlm, Request},
    telegram::{FakeTelegram, TOKEN},
};

use crate::support::process::{Site, eventually};

pub struct Chat {
    pub telegram: FakeTelegram,
    pub model: FakeLlm,
    pub id: i64,
}

impl Chat {
    /// The model answers by this function.
    pub async fn new(answer: fn(&Request) -> Answer) -> Self {
        let (telegram, model) = (FakeTelegram::start().await, FakeLlm::start().await);
        let id = telegram.private("Ann");
        model.answers(answer);
        Self { telegram, model, id }
    }

    /// Configures a gateway that allows one tool, with further sections.
    pub fn configures(&self, site: &mut Site, allowed: &str, sections: &str) {
        site.variable("TELEGRAM_BOT_TOKEN", TOKEN);
        site.variable("OPENAI_API_KEY", "sk-test");
        let (model_url, platform) = (self.model.base_url(), self.telegram.url());
        let chat = self.id;
        site.configure(
            "127.0.0.1:0",
            &format!(
                "{sections}\n\
                 [[models]]\nid = \"main\"\nprovider = \"openai\"\nbase_url = \"{model_url}\"\n\
                 api_key = {{ env = \"OPENAI_API_KEY\" }}\nmodel = \"gpt-5\"\n\
                 [[channels]]\nid = \"tg\"\nkind = \"telegram\"\n\
                 token = {{ env = \"TELEGRAM_BOT_TOKEN\" }}\napi_url = \"{platform}\"\n\
                 allow = [\"{chat}\"]\n\
                 [[guard.rules]]\nname = \"allowed\"\ntool = \"{allowed}\"\naction = \"allow\""
            ),
        );
    }

    pub fn says(&self, text: &str) {
        self.telegram.user_says(self.id, "Ann", text);
    }

    /// Ann decides not to run the interrupted call again.
    pub async fn skips(&self) {
        let approval = eventually("the approval", async || {
            let messages = self.telegram.messages(self.id);
            let found =
                messages.iter().find(|m| m.buttons.iter().any(|(label, _)| label == "Skip"));
            found.map(|message| message.id)
        });
        self.telegram.user_presses(self.id, "Ann", approval.await, "Skip");
    }

    pub async fn hears(&self, text: &str) {
        eventually(text, async || {
            let messages = self.telegram.messages(self.id);
            messages.iter().any(|message| message.text == text).then_some(())
        })
        .await;
    }
}
