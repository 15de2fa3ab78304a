//! Hosts, read as a browser reads them: the host of `http://good.example@evil.example/` is `evil.example`.

use url::Url;

/// A host as a rule names it: one name, or `*.NAME` for all below a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HostPattern {
    name: String,
    below: bool,
}

/// The host of a call; none if its text has none that can be read.
#[derive(Debug)]
pub(crate) struct CallHost(Option<String>);

impl HostPattern {
    /// Reads the host of a rule; says what is wrong with one that could never be compared.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        let (name, below) = match text.strip_prefix("*.") {
            Some(name) => (name, true),
            None => (text, false),
        };
        if name.contains(['*', '/', '@', '?', '#']) || name.contains(char::is_whitespace) {
            return Err("write a host's name alone, such as `docs.example`, or `*.example` for all below it");
        }
        let bare = name.strip_prefix('[').map_or(name, |inner| inner.trim_end_matches(']'));
        let has_port = bare.matches(':').count() == 1;
        match host_of(name) {
            Some(_) if has_port => Err("it holds a port; a rule is about the host on every port"),
            Some(name) => Ok(Self { name, below }),
            None => Err("it is no name of a host"),
        }
    }

    /// True if all hosts of `other` are hosts of `self` too.
    pub(crate) fn holds(&self, other: &Self) -> bool {
        if self.below { self.is_below(&other.name) || self == other } else { self == other }
    }

    /// True if the host is surely meant.
    pub(crate) fn surely_holds(&self, host: &CallHost) -> bool {
        host.0.as_deref().is_some_and(|host| self.is(host))
    }

    /// True unless the host is surely another.
    pub(crate) fn perhaps_holds(&self, host: &CallHost) -> bool {
        host.0.as_deref().is_none_or(|host| self.is(host))
    }

    fn is(&self, host: &str) -> bool {
        if self.below { self.is_below(host) } else { self.name == host }
    }

    fn is_below(&self, host: &str) -> bool {
        host.strip_suffix(self.name.as_str()).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
    }
}

impl CallHost {
    /// Reads an address or a bare host.
    pub(crate) fn read(text: &str) -> Self {
        Self(host_of(text))
    }
}

fn host_of(text: &str) -> Option<String> {
    let text = text.trim();
    let url = match Url::parse(text) {
        Ok(url) if url.host_str().is_some() => url,
        // `example.org:8080/x` reads as an address with the scheme `example.org`.
        Ok(_) | Err(_) if text.contains("://") => return None,
        Ok(_) | Err(_) => Url::parse(&format!("http://{}", text.trim_start_matches(['/', '\\']))).ok()?,
    };
    let host = url.host_str()?.trim_end_matches('.').to_lowercase();
    (!host.is_empty()).then_some(host)
}
