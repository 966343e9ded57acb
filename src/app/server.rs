//! The HTTP server, and what sends webhooks and notifications.

use ::channels::web::Web;
use anyhow::{Context as _, Result};
use std::{collections::BTreeMap, sync::Arc};

use super::{shown, tools};
use crate::{
    admin::{Admin, push::Push},
    config::{Config, ProviderName, oidc, webhooks},
    gateway::{Gateway, webhooks::outgoing::WebhookSender},
    tools::web::client::WebClient,
    worker::Worker,
};

/// Builds the HTTP server.
pub(super) fn admin_server(
    config: &Config,
    variables: &BTreeMap<String, String>,
    worker: &Arc<Worker>,
    webs: BTreeMap<String, Arc<Web>>,
    webhook_sender: &WebhookSender,
) -> Result<Admin> {
    let demo = config.models.iter().any(|m| m.provider == ProviderName::Demo);
    Ok(Admin::new(worker.clone(), webs, demo)
        .with_completions(config.admin.completions.build(config.web_url()))
        .with_config(worker.redactor.own_value(&shown(config)?))
        .with_incoming_webhooks(webhooks::incoming(config, variables)?, webhook_sender)
        .with_metrics_token(metrics_token(config, variables)?)
        .with_trusted_proxies(config.admin.proxies()?)
        .with_hosts(config.admin.hosts())
        .with_schedule_limits(config.schedules.build()?)
        .with_push(push(config)?)
        .with_skill_folders(tools::folders(config).into_iter().collect())
        .with_oidc_provider(oidc::issuer(config, variables)?))
}

/// What sends notifications to browsers.
fn push(config: &Config) -> Result<Push> {
    // The subscriber chooses the address, so private hosts that agents may reach are not included.
    let hosts = config.admin.private_push_hosts.iter().map(|host| host.to_lowercase()).collect();
    let web_client = WebClient::new(hosts).context("the HTTP client for Web Push")?;
    Ok(Push::new(web_client, config.admin.public_url.as_ref()))
}

fn metrics_token(
    config: &Config,
    variables: &BTreeMap<String, String>,
) -> Result<Option<secrecy::SecretString>> {
    config.admin.metrics_token.as_ref().map(|token| token.reveal(variables)).transpose()
}

/// Builds the sender of webhook deliveries.
pub(super) fn webhook_sender(
    config: &Config,
    variables: &BTreeMap<String, String>,
    gateway: &Arc<Gateway>,
) -> Result<Arc<WebhookSender>> {
    let subscriptions = webhooks::subscriptions(config, variables)?;
    let web_client = WebClient::new(config.web.inside()).context("the HTTP client for webhooks")?;
    let (gateway, base) = (gateway.clone(), config.web_url());
    Ok(Arc::new(WebhookSender { gateway, subscriptions, web_client, base }))
}
