//! A model whose requests are charged to a person, each as soon as it is answered, so that nothing is
//! left out when the call that makes them is stopped or interrupted.

use async_trait::async_trait;
use std::sync::Arc;

use crate::{
    agent::{
        limits::{self, DailyLimits, UsageTotals},
        prompt::Prompt,
    },
    clock::Clock,
    journal::{event::Usage, ids::ConversationId},
    llm::{Model, ModelError, OnText, Reply},
    store::{
        Store,
        usage::{
            UsageRecord, UsageSource,
            charge::Charge,
            spent::{Request, UsageScope},
        },
    },
    texts::{self, UsedUp},
};

/// Where usage is recorded, and the budgets.
#[derive(Clone)]
pub struct UsageAccount {
    pub store: Store,
    pub clock: Arc<dyn Clock>,
    pub limits: DailyLimits,
}

/// Who pays for the requests of a call.
#[derive(Debug, Clone)]
pub(super) struct Payer {
    pub agent: String,
    /// As in the account: with the channel.
    pub person: String,
    pub conversation: ConversationId,
    /// Reserves usage apart from other requests of the conversation.
    pub reserved_by: ConversationId,
}

pub(super) struct ChargedModel {
    pub model: Arc<dyn Model>,
    pub account: UsageAccount,
    pub payer: Payer,
}

#[async_trait]
impl Model for ChargedModel {
    fn id(&self) -> &str {
        self.model.id()
    }

    async fn reply(&self, prompt: &Prompt, on_text: &OnText<'_>) -> Result<Reply, ModelError> {
        let failed = |problem: anyhow::Error| {
            tracing::error!(problem = format!("{problem:#}"), "the account is unavailable");
            ModelError::Failed("the account of usage is unavailable".to_owned())
        };
        if let Some(what) = self.used_up(prompt).await.map_err(failed)? {
            let wait = limits::until_tomorrow(self.account.clock.now());
            return Err(ModelError::OverBudget(texts::build_budget_used_up(what, wait)));
        }
        let reply = self.model.reply(prompt, on_text).await?;
        self.charge(&reply).await.map_err(failed)?;
        Ok(reply)
    }
}

impl ChargedModel {
    /// The part of the day's budget that is used up. Otherwise the request is reserved, so that builds
    /// at the same time count each other.
    async fn used_up(&self, prompt: &Prompt) -> anyhow::Result<Option<UsedUp>> {
        let UsageAccount { store, clock, limits } = &self.account;
        let Payer { person, conversation, reserved_by, .. } = &self.payer;
        let now = clock.now();
        for (daily, scope) in UsageScope::limited(limits, person.clone(), conversation) {
            let spent = match &scope {
                UsageScope::Person(person) => {
                    let request = Request {
                        person: person.clone(),
                        conversation: reserved_by.clone(),
                        expected: self.expected(prompt),
                        daily,
                    };
                    store.reserve(request, now).await?
                }
                _ => store.spent(scope, now).await?,
            };
            if let Some(what) = daily.used_up(&spent) {
                return Ok(Some(what));
            }
        }
        Ok(None)
    }

    /// The part of the usage that is known in advance.
    fn expected(&self, prompt: &Prompt) -> UsageTotals {
        let usage = Usage { input_tokens: prompt.estimated_tokens(), ..Usage::default() };
        let price = self.account.limits.prices.get(self.model.id()).copied().unwrap_or_default();
        UsageTotals {
            tokens: usage.input_tokens,
            cost_micros: price.of(&usage),
            ..UsageTotals::default()
        }
    }

    async fn charge(&self, reply: &Reply) -> anyhow::Result<()> {
        let UsageAccount { store, clock, limits } = &self.account;
        let Payer { agent, person, conversation, reserved_by } = self.payer.clone();
        let id = reply.by.clone().unwrap_or_else(|| self.model.id().to_owned());
        let price = limits.prices.get(&id).copied().unwrap_or_default();
        let (usage, cost_micros) = (reply.usage, price.of(&reply.usage));
        let what = UsageSource::Model { id, messages: 0, usage, cost_micros };
        let used = UsageRecord { agent, person, what, took_ms: 0 };
        store.charge(Charge { conversation, reserved_by, used }, clock.now()).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        agent::limits::Daily,
        clock::SystemClock,
        store::StoreOptions,
        testing::scripted::{Gate, ScriptedModel, say},
    };

    /// Requests of two builds at the same time count each other, before either is answered.
    #[tokio::test]
    async fn a_request_under_way_counts_for_the_budget() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}?mode=rwc", folder.path().join("x.db").display());
        let store = Store::open(&url, StoreOptions::default()).await.unwrap();
        let person = Daily { tokens: Some(100), ..Daily::default() };
        let limits = DailyLimits { person, ..DailyLimits::default() };
        let account = UsageAccount { store, clock: Arc::new(SystemClock), limits };
        let (model, gate) = (Arc::new(ScriptedModel::new("coder")), Gate::new());
        model.will(say("the first").pausing(&gate)).will(say("the second"));
        let charged = |build: &str| ChargedModel {
            model: model.clone(),
            account: account.clone(),
            payer: Payer {
                agent: "main".into(),
                person: "room/1".into(),
                conversation: "c1".into(),
                reserved_by: build.into(),
            },
        };
        let prompt = Prompt {
            system: "x".repeat(1_000),
            tools: Vec::new(),
            messages: Vec::new(),
            max_output_tokens: 100,
        };
        let (first, second) = (charged("one"), charged("two"));
        let meanwhile = async {
            gate.reached().await;
            let refused = second.reply(&prompt, &|_| ()).await;
            gate.open();
            refused
        };
        let (answered, refused) = tokio::join!(first.reply(&prompt, &|_| ()), meanwhile);
        assert_eq!(answered.unwrap().text, "the first");
        let Err(ModelError::OverBudget(why)) = refused else { panic!("{refused:?}") };
        assert!(why.contains("today's limit (tokens) is used up"), "{why}");
        assert_eq!(model.prompts().len(), 1, "the provider was not asked");
    }
}
