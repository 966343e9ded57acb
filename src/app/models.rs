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

/// Builds all models except those in `given`, each with its fallbacks. A model that another one
/// follows gives up earlier.
pub fn build(
    config: &Config,
    variables: &BTreeMap<String, String>,
    given: &Models,
) -> Result<Models> {
    let (mut last, mut followed) = (given.clone(), given.clone());
    for entry in config.models.iter().filter(|entry| !given.contains_key(&entry.id)) {
        let remote = remote(entry, variables).with_context(|| format!("models.{}", entry.id))?;
        let (remote, limits) = (remote.map(Arc::new), RetryLimits::default());
        last.insert(entry.id.clone(), retrying(entry, remote.clone(), limits));
        let limits = RetryLimits { has_fallback: true, ..limits };
        followed.insert(entry.id.clone(), retrying(entry, remote, limits));
    }
    let mut models = last.clone();
    for entry in &config.models {
        let Some((end, middle)) = entry.fallback.split_last() else { continue };
        let middle = middle.iter().filter_map(|id| followed.get(id));
        let others = middle.chain(last.get(end)).cloned().collect();
        let failover = Failover::new(followed[&entry.id].clone(), others);
        models.insert(entry.id.clone(), Arc::new(failover));
    }
    Ok(models)
}

/// Builds each model without retries or fallbacks, to check whether it answers now.
pub fn alone(config: &Config, variables: &BTreeMap<String, String>) -> Result<Models> {
    let once = RetryLimits { attempts: 1, ..RetryLimits::default() };
    let alone = |entry: &ModelEntry| {
        let remote = remote(entry, variables).with_context(|| format!("models.{}", entry.id))?;
        Ok((entry.id.clone(), retrying(entry, remote.map(Arc::new), once)))
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

/// The remote model with retries, or the demo model.
fn retrying(
    entry: &ModelEntry,
    remote: Option<Arc<RemoteModel>>,
    limits: RetryLimits,
) -> Arc<dyn Model> {
    match remote {
        Some(remote) => Arc::new(Retrying::new(remote, limits)),
        None => Arc::new(DemoModel::new(&entry.id)),
    }
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
