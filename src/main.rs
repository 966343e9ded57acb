//! The one binary.

use clap::Parser as _;
use countersign::{
    cli::{self, Cli},
    tools::sandbox::confine,
};

fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    // Alone in its process: what it takes from itself, later threads would not have lost.
    if let Some(job) = cli.confined() {
        std::process::exit(confine::run(job));
    }
    // Two providers of cryptography are compiled in by dependencies; one is named, here.
    rustls::crypto::ring::default_provider().install_default().ok();
    let variables = std::env::vars().collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let ran = runtime.block_on(cli::run(cli, variables));
    // A file that is still being read or written is not waited for: the call is written down as
    // open, and made again.
    runtime.shutdown_background();
    ran
}
