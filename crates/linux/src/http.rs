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
use std::sync::atomic::{AtomicU8, Ordering};
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
    /// Connections at a time that have shown the token, and as many that have not, in all well below the 1024 files that a
    /// process may have. One more ends the oldest of its kind, of those without the token one that has not asked yet, if one is there.
    pub connections: usize,
    /// May a connection have several requests?
    pub keep_alive: bool,
}

/// What is known of who has a connection. [`has_token`] finds it in a request, and says so there.
#[derive(Debug, Clone, Default)]
pub(crate) struct Standing(Arc<AtomicU8>);

impl Standing {
    const SILENT: u8 = 0;
    const ASKED: u8 = 1;
    const HAS_TOKEN: u8 = 2;

    fn is(&self) -> u8 {
        self.0.load(Ordering::Relaxed)
    }

    /// It is that, or more than that.
    fn at_least(&self, standing: u8) {
        self.0.fetch_max(standing, Ordering::Relaxed);
    }
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
    let mut open: VecDeque<(JoinHandle<()>, Standing)> = VecDeque::new();
    loop {
        let Ok((client, _)) = listener.accept().await else {
            sleep(BREATH).await;
            continue;
        };
        open.retain(|(client, _)| !client.is_finished());
        // Nobody without the token ends the connection of one who has it.
        for kind in [&[Standing::SILENT, Standing::ASKED][..], &[Standing::HAS_TOKEN]] {
            let those = open.iter().filter(|(_, standing)| kind.contains(&standing.is())).count();
            if those >= limits.connections {
                let oldest = |of: &u8| open.iter().position(|(_, standing)| standing.is() == *of);
                let at = kind.iter().find_map(oldest);
                at.and_then(|at| open.remove(at)).inspect(|(client, _)| client.abort());
            }
        }
        let standing = Standing::default();
        let answer = Arc::clone(answer);
        open.push_back((tokio::spawn(converse(client, limits, answer, standing.clone())), standing));
    }
}

/// One connection.
pub(crate) async fn converse<A, F, C>(client: C, limits: Limits, answer: Arc<A>, standing: Standing)
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
            service_fn(|mut request| {
                standing.at_least(Standing::ASKED);
                request.extensions_mut().insert(standing.clone());
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
    let has = given.len() == token.len() && differ == 0;
    if has && let Some(standing) = request.extensions().get::<Standing>() {
        standing.at_least(Standing::HAS_TOKEN);
    }
    has
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::{BodyExt, Empty};
    use hyper::StatusCode;
    use std::future::{pending, ready};
    use std::io::{Read, Write};
    use std::net::TcpStream;

    const LIMITS: Limits = Limits {
        request_within: Duration::from_secs(60),
        done_within: Duration::from_secs(60),
        request: 8192,
        connections: 4,
        keep_alive: true,
    };

    /// Sends a request on a connection that stays, and reads the answer's status; none: it has been ended.
    fn ask(client: &mut TcpStream, token: &str) -> Option<String> {
        write!(client, "GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n").ok()?;
        let mut got = Vec::new();
        while !got.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            client.read_exact(&mut byte).ok()?;
            got.push(byte[0]);
        }
        Some(String::from_utf8_lossy(&got[9..12]).into_owned())
    }

    #[test]
    fn nobody_without_the_token_ends_the_connection_of_one_who_has_it() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let answer = |request: Request<Incoming>| {
            let status = if has_token(&request, "right") { StatusCode::OK } else { StatusCode::UNAUTHORIZED };
            ready(Response::builder().status(status).body(UnsyncBoxBody::new(Empty::new().boxed_unsync())))
        };
        std::thread::spawn(move || serve(listener, LIMITS, answer, pending::<Infallible>()));
        let come = |token: &str| {
            let mut client = TcpStream::connect(at).unwrap();
            let status = ask(&mut client, token);
            (client, status)
        };
        let (mut first, status) = come("right");
        assert_eq!(status.as_deref(), Some("200"));
        let mut others: Vec<TcpStream> = Vec::new();
        for _ in 0..3 * LIMITS.connections {
            let (other, status) = come("wrong");
            assert_eq!(status.as_deref(), Some("401"));
            others.push(other);
        }
        others.extend((0..3 * LIMITS.connections).map(|_| TcpStream::connect(at).unwrap()));
        // Those before it have been let in, and the first of them has been let go.
        let (last, status) = come("right");
        assert_eq!((status.as_deref(), ask(&mut others[0], "wrong")), (Some("200"), None));
        assert_eq!(ask(&mut first, "right").as_deref(), Some("200"));
        // Of those that have it the oldest goes: who does not come to an end is in nobody's way.
        let more: Vec<TcpStream> = (0..LIMITS.connections).map(|_| come("right").0).collect();
        assert_eq!(ask(&mut first, "right"), None);
        drop((last, more));
    }
}
