//! Asynchronous services: a job is submitted, polled until it has ended, and its files are
//! fetched.
//!
//! - Replicate: <https://replicate.com/docs/reference/http>
//! - fal: <https://fal.ai/docs/documentation/model-apis/inference/queue>

use reqwest::{
    Method,
    header::{HeaderName, HeaderValue},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Duration;
use url::Url;

use super::service::{JSON_BYTES, MediaEndpoint, MediaProvider, quoted};
use crate::tools::{ToolError, web::client::WebResponse};

/// The depth at which files are looked for in a result, and their maximum number.
const DEEPEST: usize = 6;
const MAX_FILES: usize = 16;
/// The maximum size of a result that contains its file.
const RESULT_BYTES: usize = JSON_BYTES;

/// The service's reference to a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobReference {
    /// Where its state is.
    status: Url,
    /// Where its result is, if that is another address.
    result: Option<Url>,
    cancel: Option<Url>,
}

/// The state of a job.
#[derive(Debug, PartialEq, Eq)]
pub enum JobProgress {
    /// It waits or runs, in the service's words.
    Running(String),
    /// It has ended, with these files.
    Done(Vec<Url>),
}

/// Why a job was not submitted.
#[derive(Debug)]
pub enum SubmitError {
    /// The service has certainly not accepted it.
    Refused(ToolError),
    /// The service may have accepted it.
    Unknown(String),
}

impl MediaEndpoint {
    /// Submits a job with this input. The service ends it after that time, if it can.
    pub async fn submit(
        &self,
        input: &Value,
        give_up_after: Duration,
    ) -> Result<JobReference, SubmitError> {
        let refused = SubmitError::Refused;
        let (url, body) = match self.provider {
            MediaProvider::Replicate => self.prediction(input),
            _ => (self.address(&self.model.split('/').collect::<Vec<_>>()), input.clone()),
        };
        let mut ask = self.json_request(Method::POST, url, &body, JSON_BYTES).map_err(refused)?;
        if self.provider == MediaProvider::Replicate {
            let seconds = format!("{}s", give_up_after.as_secs());
            let value = HeaderValue::from_str(&seconds).expect("digits");
            ask.headers.insert(HeaderName::from_static("cancel-after"), value);
        }
        let answer = self.send(ask).await.map_err(|error| match error {
            ToolError::Timeout(_) | ToolError::ExternalService(_) => {
                SubmitError::Unknown(error.to_string())
            }
            error => SubmitError::Refused(error),
        })?;
        self.reference(&answer).ok_or_else(|| {
            SubmitError::Unknown(format!("{} sent no reference to the job", self.shown()))
        })
    }

    /// A model of Replicate is `owner/name`, or a version of one.
    fn prediction(&self, input: &Value) -> (Url, Value) {
        match self.model.split_once('/') {
            Some((owner, name)) if !name.contains(':') => {
                (self.address(&["models", owner, name, "predictions"]), json!({ "input": input }))
            }
            _ => {
                let version = self.model.rsplit(':').next().unwrap_or_default();
                let body = json!({ "version": version, "input": input });
                (self.address(&["predictions"]), body)
            }
        }
    }

    fn reference(&self, answer: &WebResponse) -> Option<JobReference> {
        let body = self.json(answer).ok()?;
        // The key is sent only to the service itself.
        let own = |text: &Value| {
            let url: Url = text.as_str()?.parse().ok()?;
            (url.origin() == self.base_url.origin()).then_some(url)
        };
        match self.provider {
            MediaProvider::Replicate => {
                let id = body["id"].as_str().filter(|id| is_id(id))?;
                let cancel = Some(self.address(&["predictions", id, "cancel"]));
                let status = self.address(&["predictions", id]);
                Some(JobReference { status, result: None, cancel })
            }
            _ => Some(JobReference {
                status: own(&body["status_url"])?,
                result: Some(own(&body["response_url"])?),
                cancel: own(&body["cancel_url"]),
            }),
        }
    }

    /// Asks for the state of a job. An error that is not temporary ends it.
    pub async fn progress(&self, job: &JobReference) -> Result<JobProgress, ToolError> {
        let answer = self.get(job.status.clone(), RESULT_BYTES).await?;
        let body = self.json(&answer)?;
        let status = body["status"].as_str().unwrap_or_default();
        match status {
            "starting" | "processing" | "queued" => Ok(JobProgress::Running(status.to_owned())),
            "IN_QUEUE" => {
                let place = body["queue_position"].as_u64().filter(|place| *place > 0);
                let place = place.map(|place| format!(", {place} before it")).unwrap_or_default();
                Ok(JobProgress::Running(format!("queued{place}")))
            }
            "IN_PROGRESS" => Ok(JobProgress::Running("processing".to_owned())),
            "succeeded" => self.done(&body["output"]),
            "COMPLETED" => {
                let result = job.result.clone().ok_or_else(|| self.failed("has no result"))?;
                let answer = self.get(result, RESULT_BYTES).await?;
                self.done(&self.json(&answer)?)
            }
            "failed" => {
                let why = body["error"].as_str().unwrap_or("no reason given");
                let is_policy = ["nsfw", "safety", "sensitive", "moderat", "policy"];
                let lower = why.to_lowercase();
                if is_policy.iter().any(|word| lower.contains(word)) {
                    return Err(self.against_policy(&quoted(why)));
                }
                Err(self.failed(&format!("the job failed: {}", quoted(why))))
            }
            "canceled" | "aborted" => Err(self.failed("the job was cancelled, or took too long")),
            other => Err(self.failed(&format!("the job has an unknown state: {}", quoted(other)))),
        }
    }

    fn done(&self, output: &Value) -> Result<JobProgress, ToolError> {
        let mut files = Vec::new();
        collect(output, DEEPEST, &mut files);
        if files.is_empty() {
            return Err(self.failed("the job has ended without a file"));
        }
        Ok(JobProgress::Done(files))
    }

    /// Cancels a job, as far as the service can. What happens then does not matter to the caller.
    pub async fn cancel(&self, job: &JobReference) {
        let Some(url) = job.cancel.clone() else { return };
        let method = match self.provider {
            MediaProvider::Replicate => Method::POST,
            _ => Method::PUT,
        };
        if let Ok(ask) = self.json_request(method, url, &json!({}), JSON_BYTES)
            && let Err(problem) = self.send(ask).await
        {
            tracing::debug!(%problem, "could not cancel a job");
        }
    }
}

fn is_id(id: &str) -> bool {
    (1..=100).contains(&id.len()) && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

/// The URLs in a result, which models arrange in many ways.
fn collect(output: &Value, depth: usize, files: &mut Vec<Url>) {
    if files.len() == MAX_FILES || depth == 0 {
        return;
    }
    match output {
        Value::String(text) => files.extend(text.parse().ok().filter(is_web)),
        Value::Array(items) => items.iter().for_each(|item| collect(item, depth - 1, files)),
        Value::Object(fields) => fields.values().for_each(|item| collect(item, depth - 1, files)),
        _ => {}
    }
}

fn is_web(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https")
}
