//! The section `audit`: how long audit records are kept.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AuditConfig {
    /// How long sealed audit records and daily usage totals are kept, for example `400d`.
    #[schemars(extend("x-default" = "kept forever"))]
    pub retention: Option<String>,
}
