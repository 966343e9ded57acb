//! A model whose requests are charged to a person, each as soon as it is answered, so that nothing is
//! left out when the call that makes them is stopped or interrupted.

use async_trait::async_trait;
use std::sync::Arc;

use crate::{
    agent::{
        limits::{self, DailyLimits},
        prompt::Prompt,
    },
    clock::Clock,
    journal::ids::ConversationId,
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
        if let Some(what) = self.used_up().await.map_err(failed)? {
            let wait = limits::until_tomorrow(self.account.clock.now());
            return Err(ModelError::Rejected(texts::build_budget_used_up(what, wait)));
        }
        let reply = self.model.reply(prompt, on_text).await?;
        self.charge(&reply).await.map_err(failed)?;
        Ok(reply)
    }
}

impl ChargedModel {
    /// The part of the day's budget that is used up.
    async fn used_up(&self) -> anyhow::Result<Option<UsedUp>> {
        let UsageAccount { store, clock, limits } = &self.account;
        let Payer { person, conversation, reserved_by, .. } = &self.payer;
        let now = clock.now();
        for (daily, scope) in UsageScope::limited(limits, person.clone(), conversation) {
            let spent = match &scope {
                UsageScope::Person(person) => {
                    let request = Request {
                        person: person.clone(),
                        conversation: reserved_by.clone(),
                        expected: <_>::default(),
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
