//! What this program's servers share: every connection has an end, and who is silent is in nobody's way.

use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::{Bytes, Incoming};
use hyper::header::AUTHORIZATION;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::net::sockopt::set_socket_send_buffer_size;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// Out of descriptors, say: it passes.
const BREATH: Duration = Duration::from_millis(100);

/// Bytes of an answer that the kernel holds for who does not take them. It takes twice that, with what it keeps itself; left to
/// itself it would take megabytes.
const HELD: usize = 64 << 10;

/// How long a server waits for a client, and for how many.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// A client whose request is not there by then is let go.
    pub request_within: Duration,
    /// So is one that has not taken its answer by then.
    pub done_within: Duration,
    /// Longest head of a request that is read, bytes; 8,192 at least.
    pub request: usize,
    /// Connections at a time, well below the 1024 files that a process may have. One more ends the oldest that has not asked
    /// yet, or else the oldest.
    pub connections: usize,
    /// May a connection have several requests?
    pub keep_alive: bool,
}

/// An answer: in one piece, or in pieces as they come.
pub type Answer = Result<Response<UnsyncBoxBody<Bytes, Infallible>>, hyper::http::Error>;

/// Answers requests until `beside`, which runs with it, ends.
///
/// # Errors
/// If the system has no way to wait for clients, and what `beside` ends with.
pub fn serve<A, F, E>(
    listener: TcpListener,
    limits: Limits,
    answer: A,
    beside: impl Future<Output = E>,
) -> io::Result<E>
where
    A: Fn(Request<Incoming>) -> F + Send + Sync + 'static,
    F: Future<Output = Answer> + Send + 'static,
{
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    // One that reads what is attached, one that changes it.
    let runtime = runtime.enable_io().enable_time().max_blocking_threads(2).build()?;
    // Each connection has that from it.
    set_socket_send_buffer_size(&listener, HELD)?;
    listener.set_nonblocking(true)?;
    let answer = Arc::new(answer);
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        tokio::select! {
            end = beside => Ok(end),
            never = accept(&listener, limits, &answer) => match never {},
        }
    })
}

async fn accept<A, F>(listener: &tokio::net::TcpListener, limits: Limits, answer: &Arc<A>) -> Infallible
where
    A: Fn(Request<Incoming>) -> F + Send + Sync + 'static,
    F: Future<Output = Answer> + Send + 'static,
{
    let mut open: VecDeque<(JoinHandle<()>, Arc<AtomicBool>)> = VecDeque::new();
    loop {
        let Ok((client, _)) = listener.accept().await else {
            sleep(BREATH).await;
            continue;
        };
        open.retain(|(client, _)| !client.is_finished());
        if open.len() >= limits.connections {
            let silent = open.iter().position(|(_, asked)| !asked.load(Ordering::Relaxed));
            open.remove(silent.unwrap_or(0)).inspect(|(client, _)| client.abort());
        }
        let asked = Arc::new(AtomicBool::new(false));
        let answer = Arc::clone(answer);
        open.push_back((tokio::spawn(converse(client, limits, answer, asked.clone())), asked));
    }
}

/// One connection. `asked`: a request has come.
pub(crate) async fn converse<A, F, C>(client: C, limits: Limits, answer: Arc<A>, asked: Arc<AtomicBool>)
where
    A: Fn(Request<Incoming>) -> F + Send + Sync + 'static,
    F: Future<Output = Answer> + Send + 'static,
    C: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.request_within)
        .max_buf_size(limits.request)
        .max_headers(64)
        .keep_alive(limits.keep_alive)
        .half_close(true)
        .serve_connection(
            TokioIo::new(client),
            service_fn(|request| {
                asked.store(true, Ordering::Relaxed);
                answer(request)
            }),
        );
    // Whoever hangs up early has no use for an answer.
    let _ = timeout(limits.done_within, served).await;
}

/// Has it the token ("Authorization: Bearer TOKEN")? Told in a time that does not say how much of it is right.
pub fn has_token<B>(request: &Request<B>, token: &str) -> bool {
    let given = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let given =
        given.and_then(|value| value.split_once(' ')).filter(|(how, _)| how.eq_ignore_ascii_case("bearer"));
    let Some((_, given)) = given else { return false };
    let differ = given.bytes().zip(token.bytes()).fold(0, |differ, (a, b)| differ | (a ^ b));
    given.len() == token.len() && differ == 0
}
