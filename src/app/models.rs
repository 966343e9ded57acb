//! Builds the configured models, with retries and fallbacks.

use anyhow::{Context as _, Result};
use std::{collections::BTreeMap, sync::Arc};

use crate::{
    agent::prompt::{Message, Prompt},
    config::{Config, ModelEntry, ProviderName, ToolCallStyle},
    llm::{
        Model,
        demo::DemoModel,
        failover::Failover,
        remote::RemoteModel,
        retry::{RetryLimits, Retrying},
        vendor::{ModelConfig, Provider, Timeouts, ToolCalls},
    },
};

type Models = BTreeMap<String, Arc<dyn Model>>;

/// Builds all models except those in `given`, each with its fallbacks.
pub fn build(
    config: &Config,
    variables: &BTreeMap<String, String>,
    given: &Models,
) -> Result<Models> {
    let mut single = given.clone();
    for entry in config.models.iter().filter(|entry| !given.contains_key(&entry.id)) {
        let built = model(entry, variables, RetryLimits::default())
            .with_context(|| format!("models.{}", entry.id))?;
        single.insert(entry.id.clone(), built);
    }
    let with_fallbacks = config.models.iter().filter(|entry| !entry.fallback.is_empty());
    let mut models = single.clone();
    for entry in with_fallbacks {
        let others = entry.fallback.iter().filter_map(|id| single.get(id).cloned()).collect();
        let failover = Failover::new(single[&entry.id].clone(), others);
        models.insert(entry.id.clone(), Arc::new(failover));
    }
    Ok(models)
}

/// Builds each model without retries or fallbacks, to check whether it answers now.
pub fn alone(config: &Config, variables: &BTreeMap<String, String>) -> Result<Models> {
    let once = RetryLimits { attempts: 1, ..RetryLimits::default() };
    let alone = |entry: &ModelEntry| {
        let built = model(entry, variables, once);
        Ok((entry.id.clone(), built.with_context(|| format!("models.{}", entry.id))?))
    };
    config.models.iter().map(alone).collect()
}

/// Sends a small request to a model. Fails with its cause if it does not answer.
pub async fn test(model: &dyn Model) -> Result<()> {
    let prompt = Prompt {
        system: "Answer with one word.".into(),
        tools: vec![],
        messages: vec![Message::User { text: "Say yes.".into() }],
        max_output_tokens: 16,
    };
    model.reply(&prompt, &|_| ()).await?;
    Ok(())
}

/// The embedding model, if one is configured, and the name under which its vectors are stored.
pub fn embeddings(
    config: &Config,
    variables: &BTreeMap<String, String>,
) -> Result<Option<(String, RemoteModel)>> {
    let Some(name) = &config.memory.embeddings else { return Ok(None) };
    let found = name.split_once('/').and_then(|(id, model)| {
        let entry = config.models.iter().find(|entry| entry.id == id)?;
        Some((entry.provider, ModelEntry { model: model.to_owned(), ..entry.clone() }))
    });
    let remote = match &found {
        Some((ProviderName::Openai | ProviderName::Gemini | ProviderName::Ollama, entry)) => {
            remote(entry, variables)?
        }
        _ => None,
    };
    let remote = remote.context(
        "memory.embeddings: give the id of a model of OpenAI, Gemini or Ollama and the provider's \
            name of an embedding model: main/text-embedding-3-small",
    )?;
    Ok(Some((name.clone(), remote)))
}

fn model(
    entry: &ModelEntry,
    variables: &BTreeMap<String, String>,
    limits: RetryLimits,
) -> Result<Arc<dyn Model>> {
    Ok(match remote(entry, variables)? {
        Some(remote) => Arc::new(Retrying::new(Arc::new(remote), limits)),
        None => Arc::new(DemoModel::new(&entry.id)),
    })
}

/// `None` for a model without a provider.
fn remote(entry: &ModelEntry, variables: &BTreeMap<String, String>) -> Result<Option<RemoteModel>> {
    let provider = match entry.provider {
        ProviderName::Demo => return Ok(None),
        ProviderName::Openai => Provider::OpenAi,
        ProviderName::Anthropic => Provider::Anthropic,
        ProviderName::Gemini => Provider::Gemini,
        ProviderName::Ollama => Provider::Ollama,
    };
    let key = entry.api_key.as_ref().map(|key| key.reveal(variables).context("api_key"));
    let remote = RemoteModel::new(ModelConfig {
        id: entry.id.clone(),
        provider,
        base_url: entry.base_url.clone(),
        api_key: key.transpose()?,
        model: entry.model.clone(),
        tools: match entry.tools {
            ToolCallStyle::Native => ToolCalls::Native,
            ToolCallStyle::Prompted => ToolCalls::Prompted,
        },
        vision: entry.sees(),
        temperature: entry.temperature,
        max_output_tokens: None,
        timeouts: Timeouts::default(),
    })?;
    Ok(Some(remote))
}
