//! Chat completions as OpenAI defined them and many servers speak them: streaming, native tools, retries of requests.
//!
//! Start with [`OpenAi`]; `request` writes, `exchange` sends and reads, `answer` and `calls` put an answer together.
//! Nothing outside this module sees the wire format (PRV-03).

mod answer;
mod calls;
mod exchange;
mod metadata;
mod request;
mod retry;
mod sse;

use std::sync::Arc;
use std::time::Duration;

use haft_core::BoxFuture;
use haft_core::ports::{Cancel, Model, ModelError, ModelRequest, ModelTraits, ModelTurn, TurnSink};
use reqwest::Url;
use reqwest::header::HeaderValue;

use crate::build::BuildError;
use crate::call_ids;
use crate::entry::{CallIds, ModelEntry, NATIVE};
use exchange::Exchange;
use retry::wait;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A model behind an OpenAI-compatible address, spoken to in its own JSON.
///
/// ```
/// use haft_core::Model;
/// use haft_models::{ModelEntry, OpenAi, Secret};
///
/// let model = OpenAi::new(ModelEntry::openai("gpt-5", Secret::new("sk-123")))?;
/// assert_eq!(model.traits().name, "openai:gpt-5");
/// assert_eq!(model.traits().dialect, "native");
/// # Ok::<(), haft_models::BuildError>(())
/// ```
#[derive(Debug)]
pub struct OpenAi {
    entry: ModelEntry,
    exchange: Exchange,
    traits: ModelTraits,
}

impl OpenAi {
    /// Makes the model of `entry`, whose dialect is not looked at. Nothing is sent.
    ///
    /// # Errors
    /// The address, the key or the proxy cannot be used, or the machine has no certificates.
    pub fn new(entry: ModelEntry) -> Result<Self, BuildError> {
        let (server, endpoint) = address(&entry)?;
        let authorization = authorization(&entry)?;
        let client = client(&entry, endpoint.scheme() == "https")?;
        let traits = ModelTraits {
            name: entry.name.clone(),
            dialect: NATIVE.to_owned(),
            images: entry.images,
            wraps_results: false,
            provider_call_ids: entry.call_ids == CallIds::Provider,
        };
        let exchange = Exchange {
            name: entry.name.clone(),
            server,
            endpoint,
            client,
            authorization,
            idle_timeout: entry.idle_timeout,
        };
        Ok(Self { entry, exchange, traits })
    }

    async fn tries(&self, request: &ModelRequest, sink: &mut dyn TurnSink) -> Result<ModelTurn, ModelError> {
        let body = request::body(&self.entry, &self.exchange.server, request).to_string().into_bytes();
        let mut tries = 1;
        loop {
            let failure = match self.exchange.once(&body, &request.tools, sink).await {
                Ok(turn) => {
                    if self.traits.provider_call_ids {
                        call_ids::check(&self.traits.name, &turn.calls, request)?;
                    }
                    return Ok(turn);
                }
                Err(failure) => failure,
            };
            let Some(pause) = wait(tries, failure.again, self.entry.retry_wait, &body) else {
                return Err(failure.error);
            };
            sink.restarted(&failure.error.to_string());
            tokio::time::sleep(pause).await;
            tries += 1;
        }
    }
}

impl Model for OpenAi {
    fn traits(&self) -> &ModelTraits {
        &self.traits
    }

    fn turn<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: &'a mut dyn TurnSink,
        cancel: &'a dyn Cancel,
    ) -> BoxFuture<'a, Result<ModelTurn, ModelError>> {
        Box::pin(async move {
            tokio::select! {
                biased;
                () = cancel.cancelled() => Err(ModelError::Cancelled),
                turn = self.tries(request, sink) => turn,
            }
        })
    }
}

/// The server's address without what does not count, and that of its chat completions.
fn address(entry: &ModelEntry) -> Result<(String, Url), BuildError> {
    let fail = |why: String| BuildError::Address { model: entry.name.clone(), why };
    let plain = entry.url.trim().trim_end_matches('/');
    let plain = plain.strip_suffix("/chat/completions").unwrap_or(plain);
    let parse = |text: &str| Url::parse(text).map_err(|error| fail(error.to_string()));
    let url = parse(plain)?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(fail("it must begin with http:// or https://".into()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(fail("it must hold no name and no password; a key is named by `key_env`".into()));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(fail("it must hold nothing behind `?` or `#`; the model is named by `model`".into()));
    }
    let endpoint = parse(&format!("{plain}/chat/completions"))?;
    Ok((plain.to_owned(), endpoint))
}

fn authorization(entry: &ModelEntry) -> Result<Option<HeaderValue>, BuildError> {
    let Some(key) = &entry.key else { return Ok(None) };
    let value = HeaderValue::from_str(&format!("Bearer {}", key.reveal()));
    let mut value = value.map_err(|_| BuildError::Key { model: entry.name.clone() })?;
    value.set_sensitive(true);
    Ok(Some(value))
}

fn client(entry: &ModelEntry, encrypted: bool) -> Result<reqwest::Client, BuildError> {
    let builder = reqwest::Client::builder()
        .user_agent(concat!("haft/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        // A key goes to the address that was named, and nowhere else.
        .redirect(reqwest::redirect::Policy::none())
        .tls_backend_preconfigured(tls(entry, encrypted)?)
        .no_proxy();
    let builder = match &entry.proxy {
        Some(proxy) => builder.proxy(reqwest::Proxy::all(proxy).map_err(|error| BuildError::Proxy {
            model: entry.name.clone(),
            why: error.without_url().to_string(),
        })?),
        None => builder,
    };
    builder.build().map_err(|error| BuildError::Client { model: entry.name.clone(), why: error.to_string() })
}

/// TLS on ring and the machine's own certificates, which are loaded only where they are needed.
fn tls(entry: &ModelEntry, encrypted: bool) -> Result<rustls::ClientConfig, BuildError> {
    use rustls_platform_verifier::BuilderVerifierExt as _;

    let fail =
        |error: rustls::Error| BuildError::Certificates { model: entry.name.clone(), why: error.to_string() };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(fail)?;
    let encrypted_proxy = entry.proxy.as_deref().is_some_and(|proxy| proxy.starts_with("https:"));
    let builder = if encrypted || encrypted_proxy {
        builder.with_platform_verifier().map_err(fail)?
    } else {
        builder.with_root_certificates(rustls::RootCertStore::empty())
    };
    Ok(builder.with_no_client_auth())
}
