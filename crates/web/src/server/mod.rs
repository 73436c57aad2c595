//! The server behind `carom view`: one page and one websocket, for this machine alone.
//!
//! It listens on the loopback address, and every request must carry the token of the address it printed, name it as host and, for the
//! websocket, come from its own page. Each page has its own simulation, on a thread of its own.

mod act;
mod ahead;
mod dials;
mod guard;
mod hand;
mod message;
mod runner;
mod session;
mod slope;
mod thumbnail;

use crate::bundle::{blank_page, live_page};
use axum::Router;
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use guard::{Guard, Refusal};
use session::Session;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use thumbnail::Thumbnails;

/// Pages open at once: each has a simulation.
const MOST_PAGES: usize = 16;
/// Bytes of one message from a page: a scene text.
const MOST_BYTES: usize = 4 << 20;

/// What a page shows when it opens.
#[derive(Clone, Debug, Default)]
pub struct Show {
    /// Name of the scene.
    pub name: String,
    /// Its text.
    pub text: String,
    /// Where its mesh files are.
    pub folder: Option<PathBuf>,
}

/// A server that listens already.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    guard: Guard,
    show: Show,
}

struct Shared {
    guard: Guard,
    show: Show,
    open: AtomicUsize,
    thumbnails: Thumbnails,
}

impl Server {
    /// Listens on the loopback address, at a port or, for 0, at any that is free.
    ///
    /// # Errors
    /// The port is taken, or the machine has no random numbers for the token.
    pub fn bind(port: u16, show: Show) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let guard = Guard::new(listener.local_addr()?.port())?;
        Ok(Server { listener, guard, show })
    }
    /// The address of the page, token included.
    pub fn address(&self) -> String {
        self.guard.address()
    }
    /// Serves until the process ends.
    ///
    /// # Errors
    /// The socket fails.
    pub fn serve(self) -> io::Result<()> {
        let Server { listener, guard, show } = self;
        listener.set_nonblocking(true)?;
        let shared = Arc::new(Shared { guard, show, open: AtomicUsize::new(0), thumbnails: Thumbnails::default() });
        // One thread carries the messages; simulations have their own.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            let routes = Router::new()
                .route("/", get(page))
                .route("/ws", get(socket))
                .route("/blank", get(blank))
                .route("/thumbnail", get(thumbnail))
                .fallback(nothing)
                .with_state(shared);
            axum::serve(listener, routes).await
        })
    }
}

fn refuse(refusal: Refusal) -> Response {
    (StatusCode::FORBIDDEN, refusal.words()).into_response()
}

async fn page(State(shared): State<Arc<Shared>>, headers: HeaderMap, uri: Uri) -> Response {
    if let Err(refusal) = shared.guard.check(&headers, &uri) {
        return refuse(refusal);
    }
    let Ok(nonce) = guard::random() else { return StatusCode::INTERNAL_SERVER_ERROR.into_response() };
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'unsafe-inline'; img-src 'self' data: blob:; connect-src 'self' {}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        shared.guard.socket_origin()
    );
    let Ok(policy) = HeaderValue::from_str(&policy) else { return StatusCode::INTERNAL_SERVER_ERROR.into_response() };
    let fixed = HeaderValue::from_static;
    let headers = [
        (header::CONTENT_TYPE, fixed("text/html; charset=utf-8")),
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::CACHE_CONTROL, fixed("no-store")),
        (header::REFERRER_POLICY, fixed("no-referrer")),
        (header::X_CONTENT_TYPE_OPTIONS, fixed("nosniff")),
    ];
    (headers, live_page(&nonce)).into_response()
}

/// The page without a run, into which the live one writes its own for a replay.
async fn blank(State(shared): State<Arc<Shared>>, headers: HeaderMap, uri: Uri) -> Response {
    if let Err(refusal) = shared.guard.check(&headers, &uri) {
        return refuse(refusal);
    }
    // As text: nothing of it runs here.
    let fixed = HeaderValue::from_static;
    ([(header::CONTENT_TYPE, fixed("text/plain; charset=utf-8")), (header::X_CONTENT_TYPE_OPTIONS, fixed("nosniff"))], blank_page())
        .into_response()
}

/// A small picture of an embedded scene: `/thumbnail?scene=bowling&theme=dark`.
async fn thumbnail(State(shared): State<Arc<Shared>>, headers: HeaderMap, uri: Uri) -> Response {
    if let Err(refusal) = shared.guard.check(&headers, &uri) {
        return refuse(refusal);
    }
    let query = uri.query().unwrap_or("");
    let value = |key: &str| query.split('&').find_map(|pair| pair.strip_prefix(key)).unwrap_or("").to_string();
    let (name, dark) = (value("scene="), value("theme=") == "dark");
    // Drawing takes some milliseconds, which messages need not wait for.
    let drawn = tokio::task::spawn_blocking(move || shared.thumbnails.draw(&name, dark)).await;
    match drawn {
        Ok(Some(png)) => {
            let fixed = HeaderValue::from_static;
            ([(header::CONTENT_TYPE, fixed("image/png")), (header::CACHE_CONTROL, fixed("max-age=3600"))], png.to_vec()).into_response()
        }
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn nothing(State(shared): State<Arc<Shared>>, headers: HeaderMap, uri: Uri) -> Response {
    match shared.guard.check(&headers, &uri) {
        Err(refusal) => refuse(refusal),
        Ok(()) => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn socket(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    uri: Uri,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    if let Err(refusal) = shared.guard.check(&headers, &uri).and_then(|()| shared.guard.check_origin(&headers)) {
        return refuse(refusal);
    }
    let upgrade = match upgrade {
        Ok(upgrade) => upgrade,
        Err(rejection) => return rejection.into_response(),
    };
    upgrade.max_message_size(MOST_BYTES).on_upgrade(move |socket| async move {
        if shared.open.fetch_add(1, Ordering::SeqCst) < MOST_PAGES {
            talk(socket, shared.show.clone()).await;
        }
        shared.open.fetch_sub(1, Ordering::SeqCst);
    })
}

/// Carries messages between a page and its simulation until either is gone.
async fn talk(mut socket: WebSocket, show: Show) {
    let (to_page, mut from_session) = tokio::sync::mpsc::unbounded_channel();
    let (to_session, wishes) = std::sync::mpsc::channel();
    std::thread::spawn(move || Session::new(show, to_page).run(&wishes));
    loop {
        tokio::select! {
            heard = socket.recv() => match heard {
                Some(Ok(Message::Text(text))) => {
                    // What is no wish is not answered: only our own page speaks here.
                    if let Ok(wish) = serde_json::from_str(&text) && to_session.send(wish).is_err() {
                        return;
                    }
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => {}
            },
            report = from_session.recv() => {
                let message = match report {
                    Some(message::Report::Text(text)) => Message::Text(text.into()),
                    Some(message::Report::Shot(bytes)) => Message::Binary(bytes.into()),
                    None => return,
                };
                if socket.send(message).await.is_err() {
                    return;
                }
            }
        }
    }
}
