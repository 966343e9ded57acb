//! Builds the configured models, each patient with what passes.

use anyhow::{Context as _, Result};
use std::{collections::BTreeMap, sync::Arc};

use crate::{
    config::{Config, ModelEntry, ProviderName, ToolCallStyle},
    llm::{
        Model,
        demo::DemoModel,
        remote::{ModelConfig, Provider, RemoteModel, Timeouts, ToolCalls},
        retry::{Patience, Retrying},
    },
};

type Models = BTreeMap<String, Arc<dyn Model>>;

/// Those in `given` are not built.
pub fn build(
    config: &Config,
    variables: &BTreeMap<String, String>,
    given: &Models,
) -> Result<Models> {
    config
        .models
        .iter()
        .filter(|entry| !given.contains_key(&entry.id))
        .map(|entry| {
            let built = model(entry, variables);
            Ok((entry.id.clone(), built.with_context(|| format!("models.{}", entry.id))?))
        })
        .collect()
}

fn model(entry: &ModelEntry, variables: &BTreeMap<String, String>) -> Result<Arc<dyn Model>> {
    let provider = match entry.provider {
        ProviderName::Demo => return Ok(Arc::new(DemoModel::new(&entry.id))),
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
        temperature: entry.temperature,
        max_output_tokens: None,
        timeouts: Timeouts::default(),
    })?;
    Ok(Arc::new(Retrying::new(Arc::new(remote), Patience::default())))
}
