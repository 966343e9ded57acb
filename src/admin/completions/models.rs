//! The agents that OpenAI clients can use, as models.

use axum::http::StatusCode;
use channels::web::Web;
use serde_json::{Value, json};
use std::sync::Arc;

use super::error::CompletionError;
use crate::admin::Admin;

/// An agent that answers on a web channel for people who are signed in.
pub struct AgentModel {
    /// The id of the agent.
    pub id: String,
    pub channel: String,
    pub web: Arc<Web>,
}

impl AgentModel {
    /// As OpenAI's API describes a model.
    pub fn view(&self) -> Value {
        json!({ "id": self.id, "object": "model", "created": 0, "owned_by": "countersign" })
    }
}

/// All agents that can be used, in the order of their channels.
pub fn all(admin: &Admin) -> Vec<AgentModel> {
    let mut models: Vec<AgentModel> = Vec::new();
    for (channel, web) in admin.webs.iter().filter(|(_, web)| web.origins().is_empty()) {
        let Some(connected) = admin.gateway.channels.get(channel) else { continue };
        let id = connected.agent.clone();
        if models.iter().all(|known| known.id != id) {
            models.push(AgentModel { id, channel: channel.clone(), web: web.clone() });
        }
    }
    models
}

pub fn find(admin: &Admin, id: &str) -> Result<AgentModel, CompletionError> {
    let known = all(admin);
    let ids: Vec<_> = known.iter().map(|model| format!("`{}`", model.id)).collect();
    let ids = if ids.is_empty() { "none".to_owned() } else { ids.join(", ") };
    known.into_iter().find(|model| model.id == id).ok_or_else(|| {
        let message = format!(
            "There is no such model. A model is an agent with a web channel of its own: {ids}."
        );
        CompletionError::new(StatusCode::NOT_FOUND, "model_not_found", message).about("model")
    })
}
