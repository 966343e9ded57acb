//! Traces by OTLP over HTTP: turns, with the duration of model requests, tools and sends. Names
//! follow OpenTelemetry's conventions for generative AI. They contain no text of messages.

use anyhow::{Context as _, Result};
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::{Resource, trace::SdkTracerProvider};
use tracing::{Level, Subscriber};
use tracing_subscriber::{Layer, filter::Targets, registry::LookupSpan};
use url::Url;

/// Sends in the background; pending traces are sent when dropped.
pub struct Traces(SdkTracerProvider);

impl Traces {
    pub fn to(url: &Url) -> Result<Self> {
        let exporter = SpanExporter::builder().with_http().with_endpoint(url.as_str());
        let exporter = exporter.build().context("admin.otlp_url")?;
        let resource = Resource::builder().with_service_name("countersign").build();
        let provider = SdkTracerProvider::builder().with_resource(resource);
        Ok(Self(provider.with_batch_exporter(exporter).build()))
    }

    pub fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        let ours = Targets::new().with_target("countersign", Level::INFO);
        let layer = tracing_opentelemetry::layer().with_tracer(self.0.tracer("countersign"));
        layer.with_filter(ours)
    }
}

impl Drop for Traces {
    fn drop(&mut self) {
        if let Err(problem) = self.0.shutdown() {
            tracing::warn!(%problem, "could not send the last traces");
        }
    }
}
