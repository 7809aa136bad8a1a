//! `explore`: the explorer, a folder of static files, in a browser.

use crate::args::Explore;
use crate::docs::{Pages, open};
use crate::{Failure, print};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, LOCATION, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use queuewright_scenario::Scenario;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

const PAGES: Pages = Pages { installed: "explorer", built: "web" };
/// Longest scenario that goes into an address, bytes.
const MOST_TEXT: usize = 64 << 10;
/// Most bytes of all files.
const MOST_BYTES: u64 = 64 << 20;
/// A client whose request is not there by then is no browser; nor is one that has not taken its answer by then.
const REQUEST_WITHIN: Duration = Duration::from_secs(10);
const DONE_WITHIN: Duration = Duration::from_secs(120);
/// Connections at a time.
const CONNECTIONS: usize = 128;
/// This machine in an address of the page.
const NAMES: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];
/// The page asks nobody for anything; its simulator is WebAssembly in a worker that it has itself.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval' blob:; worker-src blob: data:; \
    style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; connect-src 'self' data: blob:; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'none'";

/// What is served: all files of the folder, as they were when it was read, and nothing else.
struct Site {
    files: BTreeMap<String, (&'static str, Bytes)>,
    /// Where `/` leads.
    first: String,
}

/// Serves the page on this machine alone, and opens it.
pub fn explore(e: &Explore) -> Result<(), Failure> {
    let scenario = e.scenario.as_deref().map(text_of).transpose()?;
    let Some(page) = PAGES.first()? else {
        return Err(Failure::Input(
            "there is no explorer: in Queuewright's sources, make web and make install".into(),
        ));
    };
    let site = Site::read(page.parent().unwrap_or(Path::new("/")), scenario.as_deref());
    let site = site.map_err(|e| Failure::Run(format!("{}: {e}", page.display())))?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, e.port)).map_err(|error| {
        Failure::Input(format!("--port {}: {error}; write one that is free, or leave it out", e.port))
    })?;
    let at = listener.local_addr().map_err(|e| Failure::Run(format!("the address to serve at: {e}")))?;
    let address = format!("http://{at}/");
    print(&format!("{address}\n"))?;
    if !e.no_open
        && let Err(why) = open(address.as_ref())
    {
        eprintln!("note: {why}");
    }
    match serve(listener, site).map_err(|e| Failure::Run(format!("the page's server: {e}")))? {}
}

/// The text of a scenario that is right, and that a page can run.
fn text_of(path: &Path) -> Result<String, Failure> {
    let wrong = |what: String| Failure::Input(format!("{}: {what}", path.display()));
    let scenario = Scenario::read(path)?;
    if let Some(file) = scenario.files().first() {
        return Err(wrong(format!("it names {}, and a page reads no files", file.given)));
    }
    let text = scenario.to_toml();
    match text.len() > MOST_TEXT {
        true => Err(wrong(format!("longer than {} kB, which an address may have", MOST_TEXT >> 10))),
        false => Ok(text),
    }
}

impl Site {
    fn read(folder: &Path, scenario: Option<&str>) -> io::Result<Site> {
        let mut site = Site { files: BTreeMap::new(), first: "/index.html".into() };
        if let Some(text) = scenario {
            site.first += &format!("#text={}", URL_SAFE_NO_PAD.encode(text));
        }
        let mut bytes = 0;
        site.add(folder, "/", &mut bytes)?;
        Ok(site)
    }

    /// Takes a folder's files and those of the folders in it. Links lead out of it: they are not followed.
    fn add(&mut self, folder: &Path, at: &str, bytes: &mut u64) -> io::Result<()> {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let (kind, meta) = (entry.file_type()?, entry.metadata()?);
            let Ok(name) = entry.file_name().into_string() else { continue };
            let at = format!("{at}{name}");
            if kind.is_dir() {
                self.add(&entry.path(), &format!("{at}/"), bytes)?;
            } else if kind.is_file()
                && let Some(content) = content_type(&name)
            {
                *bytes += meta.len();
                if *bytes > MOST_BYTES {
                    return Err(io::Error::other(format!("more than {} MB", MOST_BYTES >> 20)));
                }
                self.files.insert(at, (content, std::fs::read(entry.path())?.into()));
            }
        }
        Ok(())
    }

    fn answer(
        &self,
        port: u16,
        request: &Request<Incoming>,
    ) -> Result<Response<Full<Bytes>>, hyper::http::Error> {
        let of = Response::builder()
            .header(CONTENT_SECURITY_POLICY, POLICY)
            .header(X_CONTENT_TYPE_OPTIONS, "nosniff")
            .header(REFERRER_POLICY, "no-referrer")
            // Another version may be served at the same address tomorrow.
            .header(CACHE_CONTROL, "no-store");
        let plain = "text/plain; charset=utf-8";
        if !is_for(port, request) {
            let of = of.status(StatusCode::MISDIRECTED_REQUEST).header(CONTENT_TYPE, plain);
            return of.body(format!("the explorer is at http://{}:{port}/\n", NAMES[0]).into());
        }
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let of = of.status(StatusCode::METHOD_NOT_ALLOWED).header(ALLOW, "GET, HEAD");
            return of.header(CONTENT_TYPE, plain).body("GET only\n".into());
        }
        let path = request.uri().path();
        if path == "/" {
            return of.status(StatusCode::FOUND).header(LOCATION, &self.first).body(Full::default());
        }
        match self.files.get(path) {
            Some((content, bytes)) => of.header(CONTENT_TYPE, *content).body(Full::new(bytes.clone())),
            None => {
                of.status(StatusCode::NOT_FOUND).header(CONTENT_TYPE, plain).body("no such page\n".into())
            }
        }
    }
}

/// Does it name this machine, and this port? A page of elsewhere may have a name that leads here (DNS rebinding): the browser lets it
/// read what is answered, and asks by that name.
fn is_for(port: u16, request: &Request<Incoming>) -> bool {
    let mut hosts = request.headers().get_all(HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
    let Ok(host) = host.to_str() else { return false };
    NAMES.iter().any(|name| {
        // Nobody writes the port that HTTP has by itself.
        host.eq_ignore_ascii_case(&format!("{name}:{port}"))
            || (port == 80 && host.eq_ignore_ascii_case(name))
    })
}

/// Of files that the page is made of; none: it is none of them.
fn content_type(name: &str) -> Option<&'static str> {
    Some(match name.rsplit_once('.')?.1 {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "txt" => "text/plain; charset=utf-8",
        _ => return None,
    })
}

/// Answers until the process ends.
fn serve(listener: TcpListener, site: Site) -> io::Result<Infallible> {
    listener.set_nonblocking(true)?;
    let port = listener.local_addr()?.port();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    let site = Arc::new(site);
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let mut open = JoinSet::new();
        loop {
            let Ok((client, _)) = listener.accept().await else {
                // Out of descriptors, say: it passes.
                sleep(Duration::from_millis(100)).await;
                continue;
            };
            while open.try_join_next().is_some() {}
            if open.len() >= CONNECTIONS {
                continue;
            }
            let site = site.clone();
            open.spawn(async move {
                let served = http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(REQUEST_WITHIN)
                    .max_buf_size(16 << 10)
                    .serve_connection(
                        TokioIo::new(client),
                        service_fn(|request| std::future::ready(site.answer(port, &request))),
                    );
                // Whoever hangs up early has no use for an answer.
                let _ = timeout(DONE_WITHIN, served).await;
            });
        }
    })
}
