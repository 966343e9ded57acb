//! The one binary.

use clap::Parser as _;
use countersign::cli::{self, Cli};

fn main() -> anyhow::Result<()> {
    // Two providers of cryptography are compiled in by dependencies; one is named, here.
    rustls::crypto::ring::default_provider().install_default().ok();
    let cli = Cli::parse();
    let variables = std::env::vars().collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let ran = runtime.block_on(cli::run(cli, variables));
    // A document that is still being drawn on a thread of its own is not waited for: the call is
    // written down as open, and made again.
    runtime.shutdown_background();
    ran
}
