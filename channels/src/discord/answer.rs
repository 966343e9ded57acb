//! Responses to an interaction after the initial one: an ephemeral reply to a press, and the answer
//! to a command.

use serde_json::{Value, json};

use super::{
    Discord,
    acknowledge::{EPHEMERAL, callback},
    api::{Body, Failure, Route},
    call::Call,
    outcome::{NO_PREVIEW, TEXT, message_id, once, repeatable},
};
use crate::{Receipt, SendError, Unit, error::rejected, text};

/// How long to wait for an initial response that is being sent.
const SOON: std::time::Duration = std::time::Duration::from_millis(250);

impl Discord {
    /// Replaces "is thinking" with the answer by an edit, which can be repeated. Further parts are
    /// sent as followups with the same visibility. `None` if the token has expired, which happens
    /// after 15 minutes: the answer then has to be an ordinary message.
    pub(super) async fn answer(
        &self,
        call: &Call<'_>,
        fields: Value,
    ) -> Result<Option<Receipt>, SendError> {
        let pending_acknowledgements = self.pending_acknowledgements.holds(call.id);
        let Call { application, token, .. } = call;
        if call.goes_on {
            return self.go_on(call, fields).await;
        }
        let path = format!("webhooks/{application}/{token}/messages/@original");
        match self.api.call(Route::patch(path).unsigned(), Body::Json(fields)).await {
            Ok(shown) => message_id(&shown).map(Some).map_err(repeatable),
            Err(
                Failure::Refused { status: 401 | 404, .. } | Failure::Refused { code: 50027, .. },
            ) => {
                if pending_acknowledgements {
                    let reason = "the command is still being acknowledged".to_owned();
                    return Err(SendError::Retry { after: Some(SOON), reason });
                }
                Ok(None)
            }
            Err(failure) => Err(repeatable(failure)),
        }
    }

    async fn go_on(
        &self,
        call: &Call<'_>,
        mut fields: Value,
    ) -> Result<Option<Receipt>, SendError> {
        if call.private {
            fields["flags"] = (EPHEMERAL | NO_PREVIEW).into();
        }
        let route = Route::post(format!("webhooks/{}/{}", call.application, call.token)).unsigned();
        match self.api.call(route, Body::Json(fields)).await {
            Ok(shown) => message_id(&shown).map(Some).map_err(repeatable),
            Err(
                Failure::Refused { status: 401 | 404, .. } | Failure::Refused { code: 50027, .. },
            ) => Ok(None),
            Err(failure) => Err(once(failure)),
        }
    }

    /// A reply that only the presser sees. It is sent after the acknowledgement, or as the
    /// acknowledgement if that failed. A reply that is too late cannot be delivered.
    pub(super) async fn toast(&self, press: &str, text: &str) -> Result<Receipt, SendError> {
        if text.is_empty() {
            return Ok(Receipt::nowhere());
        }
        let mut parts = press.split(':');
        let (Some(id), Some(token), Some(application)) = (parts.next(), parts.next(), parts.next())
        else {
            return Err(rejected("the press does not belong to Discord"));
        };
        let content = text::cut(&text::discord(&text::escape(text)), TEXT, Unit::Chars);
        let message = json!({
            "content": content, "flags": EPHEMERAL | NO_PREVIEW, "allowed_mentions": { "parse": [] },
        });
        let route = Route::post(format!("webhooks/{application}/{token}")).unsigned();
        match self.api.call(route, Body::Json(message.clone())).await {
            Ok(_) => Ok(Receipt::nowhere()),
            // Not acknowledged, or expired after 15 minutes.
            Err(
                Failure::Refused { status: 401 | 404, .. } | Failure::Refused { code: 50027, .. },
            ) => {
                let answer = json!({ "type": 4, "data": message });
                match self.api.call(callback(id, token), Body::Json(answer)).await {
                    Ok(_) | Err(Failure::Refused { status: 400..429, .. }) => {
                        Ok(Receipt::nowhere())
                    }
                    Err(failure) => Err(repeatable(failure)),
                }
            }
            // Not repeated, because that would send a second message.
            Err(failure) => Err(once(failure)),
        }
    }
}
