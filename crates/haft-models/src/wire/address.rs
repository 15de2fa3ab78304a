//! Where requests go, with which key, over which client. Nothing is sent here.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::Wire;
use crate::build::BuildError;
use crate::entry::ModelEntry;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The server's address without what does not count, and that of `path` below it.
pub(super) fn address(entry: &ModelEntry, path: &str) -> Result<(String, Url), BuildError> {
    let fail = |why: String| BuildError::Address { model: entry.name.clone(), why };
    let plain = entry.url.trim().trim_end_matches('/');
    let plain = plain.strip_suffix(path).unwrap_or(plain);
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
    let endpoint = parse(&format!("{plain}{path}"))?;
    Ok((plain.to_owned(), endpoint))
}

/// The headers of every request, the key among them.
pub(super) fn headers(entry: &ModelEntry, wire: &Wire) -> Result<HeaderMap, BuildError> {
    let mut headers = HeaderMap::new();
    for (name, value) in wire.headers {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    if let Some(key) = &entry.key {
        let value = HeaderValue::from_str(&format!("{}{}", wire.key_prefix, key.reveal()));
        let mut value = value.map_err(|_| BuildError::Key { model: entry.name.clone() })?;
        value.set_sensitive(true);
        headers.insert(HeaderName::from_static(wire.key_header), value);
    }
    Ok(headers)
}

pub(super) fn client(entry: &ModelEntry, encrypted: bool) -> Result<reqwest::Client, BuildError> {
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
