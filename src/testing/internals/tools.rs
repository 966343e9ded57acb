//! Re-exports of the tools.

pub use crate::tools::{Context, Output, Tool, ToolError};
pub mod browser {
    pub use crate::tools::browser::BrowserSettings;
    pub mod browser_open {
        pub use crate::tools::browser::browser_open::BrowserOpen;
    }
    pub mod browser_use {
        pub use crate::tools::browser::browser_use::BrowserUse;
    }
    pub mod browsers {
        pub use crate::tools::browser::browsers::Browsers;
    }
}
pub mod builder {
    pub use crate::tools::builder::{
        BuildError, BuildLimits, BuildRequirement, BuildResult, BuilderConfig, LlmSoftwareBuilder,
        SoftwareBuilder,
    };
    pub mod llm_builder {
        pub use crate::tools::builder::llm_builder::BuildLimits;
    }
    pub mod requirement {
        pub use crate::tools::builder::requirement::{ProgrammingLanguage, SoftwareType};
    }
    pub mod result {
        pub use crate::tools::builder::result::{StopReason, ValidationKind};
    }
    pub mod toolchain {
        pub use crate::tools::builder::toolchain::Toolchains;
    }
}
pub mod contract {
    pub mod elicit {
        pub use crate::tools::contract::elicit::ElicitationPrompt;
    }
}
pub mod documents {
    pub use crate::tools::documents::{Branding, tools};
    pub mod confined_jobs {
        pub use crate::tools::documents::confined_jobs::{ConfinedJob, reader_input};
    }
    pub mod extract {
        pub use crate::tools::documents::extract::ExtractDocument;
    }
    pub mod office {
        pub use crate::tools::documents::office::{ConversionError, Office};
    }
    pub mod pool {
        pub use crate::tools::documents::pool::{RenderPool, RenderedDocument};
    }
    pub mod protocol {
        pub use crate::tools::documents::protocol::{Breakdown, RenderOptions, RenderRequest};
    }
}
pub mod manual {
    pub use crate::tools::manual::PAGES;
}
pub mod mcp {
    pub use crate::tools::mcp::{ConnectionMode, McpConfig, Protocol, Server};
}
pub mod schedule_planner {
    pub use crate::tools::schedule_planner::ScheduleLimits;
}
pub mod shell {
    pub use crate::tools::shell::Shell;
}
pub mod skills {
    pub mod folder {
        pub use crate::tools::skills::folder::{lock, put, trust};
    }
    pub mod package {
        pub use crate::tools::skills::package::Package;
    }
    pub mod scan {
        pub use crate::tools::skills::scan::{Finding, scan};
    }
}
pub mod wasm {
    pub mod manifest {
        pub use crate::tools::wasm::manifest::Manifest;
    }
    pub mod modules {
        pub use crate::tools::wasm::modules::ModuleState;
    }
}
pub mod web {
    pub mod client {
        pub use crate::tools::web::client::{WebClient, WebRequest};
    }
    pub mod fetch {
        pub use crate::tools::web::fetch::WebFetch;
    }
    pub mod providers {
        pub use crate::tools::web::providers::{SearchEngine, SearchProvider};
    }
    pub mod search {
        pub use crate::tools::web::search::WebSearch;
    }
}
pub mod workspace {
    pub use crate::tools::workspace::Workspace;
}
