//! Who may speak to the server: whoever knows the token, by its own address, from its own page.

use axum::http::{HeaderMap, Uri, header};
use std::io;

/// Random bytes of a token: far beyond guessing.
const TOKEN_BYTES: usize = 16;

/// Random letters for a token or a nonce.
pub fn random() -> io::Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(format!("no random numbers for a token: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The host is not this server: a name that somebody made point here.
    Host,
    /// The token is missing or wrong.
    Token,
    /// The page that asks is not ours.
    Origin,
}

impl Refusal {
    /// For whoever sent the request.
    pub fn words(self) -> &'static str {
        match self {
            Refusal::Host => "refused: this server answers to its own address only",
            Refusal::Token => "refused: open the address that `carom view` printed, token included",
            Refusal::Origin => "refused: only the viewer's own page may connect",
        }
    }
}

/// Port and token of a server.
#[derive(Clone, Debug)]
pub struct Guard {
    port: u16,
    token: String,
}

impl Guard {
    /// A guard with a new token.
    pub fn new(port: u16) -> io::Result<Self> {
        Ok(Guard { port, token: random()? })
    }
    /// Address of the page.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/?token={}", self.port, self.token)
    }
    /// Origin of the websocket, for a policy.
    pub fn socket_origin(&self) -> String {
        format!("ws://127.0.0.1:{0} ws://localhost:{0}", self.port)
    }
    fn hosts(&self) -> [String; 2] {
        ["127.0.0.1", "localhost"].map(|host| format!("{host}:{}", self.port))
    }
    /// Host and token of a request.
    pub fn check(&self, headers: &HeaderMap, uri: &Uri) -> Result<(), Refusal> {
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        if !host.is_some_and(|host| self.hosts().iter().any(|own| own == host)) {
            return Err(Refusal::Host);
        }
        let given = uri.query().unwrap_or("").split('&').find_map(|pair| pair.strip_prefix("token="));
        if given.is_some_and(|given| same(given.as_bytes(), self.token.as_bytes())) { Ok(()) } else { Err(Refusal::Token) }
    }
    /// Origin of a websocket: a browser always says it, and other pages cannot lie about it.
    pub fn check_origin(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let origin = headers.get(header::ORIGIN).and_then(|origin| origin.to_str().ok());
        let own = origin.and_then(|origin| origin.strip_prefix("http://")).is_some_and(|host| self.hosts().iter().any(|own| own == host));
        if own { Ok(()) } else { Err(Refusal::Origin) }
    }
}

/// Whether two texts are equal, in a time that does not tell where they differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differ, (x, y)| differ | (x ^ y)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(host: &str, origin: Option<&str>) -> HeaderMap {
        let mut map = HeaderMap::new();
        map.insert(header::HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            map.insert(header::ORIGIN, origin.parse().unwrap());
        }
        map
    }

    #[test]
    fn only_the_own_host_with_the_token_gets_in() {
        let guard = Guard { port: 4000, token: "abc".to_string() };
        let with = |host: &str, path: &str| guard.check(&headers(host, None), &path.parse().unwrap());
        assert_eq!(with("127.0.0.1:4000", "/?token=abc"), Ok(()));
        assert_eq!(with("localhost:4000", "/ws?x=1&token=abc"), Ok(()));
        for path in ["/", "/?token=", "/?token=abd", "/?token=abcd", "/?mytoken=abc"] {
            assert_eq!(with("127.0.0.1:4000", path), Err(Refusal::Token), "{path}");
        }
        for host in ["evil.example:4000", "127.0.0.1:4001", "127.0.0.1", "localhost"] {
            assert_eq!(with(host, "/?token=abc"), Err(Refusal::Host), "{host}");
        }
    }

    #[test]
    fn a_socket_must_come_from_the_own_page() {
        let guard = Guard { port: 4000, token: "abc".to_string() };
        let with = |origin| guard.check_origin(&headers("127.0.0.1:4000", origin));
        assert_eq!(with(Some("http://127.0.0.1:4000")), Ok(()));
        for origin in
            [None, Some("http://evil.example"), Some("null"), Some("https://127.0.0.1:4000"), Some("http://127.0.0.1:4000.evil.example")]
        {
            assert_eq!(with(origin), Err(Refusal::Origin), "{origin:?}");
        }
    }

    #[test]
    fn tokens_differ() {
        assert_ne!(random().unwrap(), random().unwrap());
        assert_eq!(random().unwrap().len(), 2 * TOKEN_BYTES);
    }
}
