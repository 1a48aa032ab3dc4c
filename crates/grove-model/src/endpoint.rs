//! The address at which a provider is asked, and the key for it.

use http::header::HeaderName;
use http::{HeaderValue, Uri};

use crate::network::ServerOrigin;
use crate::secret::Secret;
use crate::wire::{ModelApi, WireFormat};

/// The start of the paths of these interfaces.
const VERSION: &str = "/v1";

/// A provider's address, its interface and the key.
#[derive(Clone)]
pub struct Endpoint {
    api: ModelApi,
    format: &'static WireFormat,
    base_url: String,
    origin: ServerOrigin,
    target: Uri,
    host_header: HeaderValue,
    key: Option<(Secret, HeaderName, HeaderValue)>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    #[error("`{url}` is not an address of the form https://host[:port][/path]")]
    NotAnAddress { url: String },
    #[error("`{url}` is neither https nor on this machine: the key would be sent unencrypted")]
    KeyInTheOpen { url: String },
    #[error("the key has characters that cannot be sent")]
    BadKey,
}

impl Endpoint {
    /// Returns an endpoint. Without TLS a key is sent only to this machine.
    pub fn new(api: ModelApi, base_url: &str, key: Option<Secret>) -> Result<Self, EndpointError> {
        let format = api.format();
        let shown = crate::error::bounded_line(base_url);
        let base = base_url.trim_end_matches('/');
        let parsed = parts(base, format.path);
        let Some((origin, target, host_header)) = parsed else {
            return Err(EndpointError::NotAnAddress { url: shown });
        };
        if key.is_some() && !origin.is_secure && !is_this_machine(&origin.host) {
            return Err(EndpointError::KeyInTheOpen { url: shown });
        }
        let key = key.map(|key| {
            let (name, before) = format.key_header;
            let mut value = HeaderValue::from_str(&format!("{before}{}", key.reveal()))
                .map_err(|_| EndpointError::BadKey)?;
            value.set_sensitive(true);
            Ok((key, HeaderName::from_static(name), value))
        });
        Ok(Self {
            api,
            format,
            base_url: shown,
            origin,
            target,
            host_header,
            key: key.transpose()?,
        })
    }

    pub const fn api(&self) -> ModelApi {
        self.api
    }

    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    pub(crate) fn format(&self) -> &'static WireFormat {
        self.format
    }

    pub(crate) fn origin(&self) -> &ServerOrigin {
        &self.origin
    }

    pub(crate) fn target(&self) -> &Uri {
        &self.target
    }

    /// Returns the address of a path of this interface: `/v1` at its beginning is already a part of some base addresses.
    pub(crate) fn target_of(&self, asked: &str) -> Option<Uri> {
        let path = self.format.path;
        let before = self.target.path().strip_suffix(path)?;
        let asked = if path.starts_with(VERSION) {
            asked
        } else {
            asked.strip_prefix(VERSION).unwrap_or(asked)
        };
        format!("{before}{asked}").parse().ok()
    }

    pub(crate) fn host_header(&self) -> &HeaderValue {
        &self.host_header
    }

    pub(crate) fn key(&self) -> Option<&Secret> {
        self.key.as_ref().map(|(key, ..)| key)
    }

    pub(crate) fn key_header(&self) -> Option<(&HeaderName, &HeaderValue)> {
        self.key.as_ref().map(|(_, name, value)| (name, value))
    }
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoint")
            .field("base_url", &self.base_url)
            .field("key", &self.key())
            .finish_non_exhaustive()
    }
}

fn parts(base: &str, path: &str) -> Option<(ServerOrigin, Uri, HeaderValue)> {
    let uri: Uri = base.parse().ok()?;
    let is_secure = match uri.scheme_str()? {
        "https" => true,
        "http" => false,
        _ => return None,
    };
    let authority = uri.authority()?;
    // Addresses are shown in too many places to hold names and passwords.
    if authority.as_str().contains('@') || uri.query().is_some() || base.contains('#') {
        return None;
    }
    let host = uri.host().filter(|host| !host.is_empty())?.to_owned();
    let port = uri.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
    let before = uri.path().trim_end_matches('/');
    let target: Uri = format!("{before}{path}").parse().ok()?;
    let host_header = HeaderValue::from_str(authority.as_str()).ok()?;
    let origin = ServerOrigin {
        is_secure,
        host,
        port,
    };
    Some((origin, target, host_header))
}

fn is_this_machine(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let is_loopback = address
        .parse::<std::net::IpAddr>()
        .is_ok_and(|address| address.is_loopback());
    is_loopback || host.eq_ignore_ascii_case("localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_taken_apart_or_refused() {
        for (url, has_key, expected) in [
            (
                "https://api.anthropic.com",
                true,
                Ok(("api.anthropic.com", 443, "/v1/messages")),
            ),
            (
                "http://127.0.0.1:80/",
                true,
                Ok(("127.0.0.1", 80, "/v1/messages")),
            ),
            (
                "http://[::1]:9/a/b/",
                true,
                Ok(("[::1]", 9, "/a/b/v1/messages")),
            ),
            (
                "http://localhost",
                true,
                Ok(("localhost", 80, "/v1/messages")),
            ),
            (
                "http://models.lan",
                false,
                Ok(("models.lan", 80, "/v1/messages")),
            ),
            ("http://models.lan", true, Err("neither https")),
            ("http://127.0.0.1.evil.example", true, Err("neither https")),
            ("https://me:pass@host", true, Err("not an address")),
            ("https://host?x=1", true, Err("not an address")),
            ("ftp://host", true, Err("not an address")),
            ("host", true, Err("not an address")),
            ("", true, Err("not an address")),
        ] {
            let key = has_key.then(|| Secret::new("sk-marker-key"));
            let made = Endpoint::new(ModelApi::Anthropic, url, key);
            match (made, expected) {
                (Ok(made), Ok((host, port, path))) => {
                    assert_eq!((made.origin.host.as_str(), made.origin.port), (host, port));
                    assert_eq!(made.target.path(), path);
                    assert!(!format!("{made:?}").contains("marker"));
                }
                (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
                (made, expected) => panic!("{url}: {made:?} is not {expected:?}"),
            }
        }
        for (api, url, asked, target) in [
            (
                ModelApi::Anthropic,
                "https://host",
                "/v1/messages?beta=true",
                "/v1/messages?beta=true",
            ),
            (
                ModelApi::Anthropic,
                "https://host/a",
                "/v1/messages/count_tokens",
                "/a/v1/messages/count_tokens",
            ),
            (
                ModelApi::OpenaiChat,
                "https://host/v1",
                "/v1/chat/completions",
                "/v1/chat/completions",
            ),
            (
                ModelApi::OpenaiResponses,
                "https://host/openai",
                "/v1/responses",
                "/openai/responses",
            ),
        ] {
            let made = Endpoint::new(api, url, None).unwrap();
            let found = made.target_of(asked).unwrap();
            assert_eq!(found.to_string(), target, "{url}");
        }
        let bad = Endpoint::new(
            ModelApi::Anthropic,
            "https://host",
            Some(Secret::new("a\nb")),
        );
        assert_eq!(bad.err(), Some(EndpointError::BadKey));
    }
}
