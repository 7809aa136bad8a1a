//! `explore`: the explorer, a folder of static files, in a browser.

use crate::args::Explore;
use crate::docs::{Pages, open};
use crate::{Failure, print};
use http_body_util::Full;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, LOCATION, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::http::response::Builder;
use hyper::{Method, Request, Response, StatusCode};
use queuewright_linux::http::{self, Answer, Limits};
use queuewright_report::{EXPLORER_PORT, explorer_fragment};
use queuewright_scenario::Scenario;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::{pending, ready};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

const PAGES: Pages = Pages { installed: "explorer", built: "web" };
/// Most bytes of all files.
const MOST_BYTES: u64 = 64 << 20;
/// Of a browser.
pub const LIMITS: Limits = Limits {
    request_within: Duration::from_secs(10),
    done_within: Duration::from_secs(120),
    request: 16 << 10,
    connections: 128,
    keep_alive: true,
};
/// This machine in an address of the page.
const NAMES: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];
/// The page asks nobody for anything; its simulator is WebAssembly in a worker that it has itself.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval' blob:; worker-src blob: data:; \
    style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; connect-src 'self' data: blob:; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'none'";

/// What is served: all files of the folder, as they were when it was read, and nothing else.
pub struct Site {
    files: BTreeMap<String, (&'static str, Bytes)>,
    /// Where `/` leads.
    first: String,
    /// Where it is served.
    pub port: u16,
}

/// Serves the page on this machine alone, and opens it.
pub fn explore(e: &Explore) -> Result<(), Failure> {
    let scenario = e.scenario.as_deref().map(fragment_of).transpose()?;
    let mut site = Site::read(&Site::installed()?)?;
    site.first += scenario.as_deref().unwrap_or_default();
    // Reports lead there.
    let (listener, at) = match e.port {
        Some(port) => listen(port)?,
        None => listen(EXPLORER_PORT).or_else(|_| listen(0))?,
    };
    site.port = at.port();
    let address = format!("http://{at}/");
    print(&format!("{address}\n"))?;
    if !e.no_open
        && let Err(why) = open(address.as_ref())
    {
        eprintln!("note: {why}");
    }
    match http::serve(listener, LIMITS, move |request| ready(site.answer(&request)), pending::<Infallible>())
    {
        Ok(never) => match never {},
        Err(e) => Err(Failure::Run(format!("the page's server: {e}"))),
    }
}

/// A port of this machine, for this machine alone; 0: any that is free.
pub fn listen(port: u16) -> Result<(TcpListener, SocketAddr), Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|error| {
        Failure::Input(format!("--port {port}: {error}; write one that is free, or leave it out"))
    })?;
    let at = listener.local_addr().map_err(|e| Failure::Run(format!("the address to serve at: {e}")))?;
    Ok((listener, at))
}

/// The part of an address that holds a scenario, if it is right and a page can have it.
fn fragment_of(path: &Path) -> Result<String, Failure> {
    let wrong = |what: String| Failure::Input(format!("{}: {what}", path.display()));
    let scenario = Scenario::read(path)?;
    explorer_fragment(&scenario).map_err(wrong)
}

impl Site {
    /// Where the page lies that belongs to the program.
    pub fn installed() -> Result<PathBuf, Failure> {
        let none = "there is no explorer: in Queuewright's sources, make web and make install";
        PAGES.first()?.ok_or_else(|| Failure::Input(none.into()))
    }

    /// All that lies beside this page.
    pub fn read(page: &Path) -> Result<Site, Failure> {
        let mut site = Site { files: BTreeMap::new(), first: "/index.html".into(), port: 0 };
        let read = site.add(page.parent().unwrap_or(Path::new("/")), "/", &mut 0);
        read.map_err(|e| Failure::Run(format!("{}: {e}", page.display())))?;
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

    /// How every answer begins.
    pub fn headed() -> Builder {
        Response::builder()
            .header(CONTENT_SECURITY_POLICY, POLICY)
            .header(X_CONTENT_TYPE_OPTIONS, "nosniff")
            .header(REFERRER_POLICY, "no-referrer")
            // No page of elsewhere has any of it as a picture or a script of its own.
            .header("cross-origin-resource-policy", "same-origin")
            // Another version may be served at the same address tomorrow.
            .header(CACHE_CONTROL, "no-store")
    }

    /// Does a request name this machine, and this port? A page of elsewhere may have a name that leads here (DNS rebinding): the browser lets it
    /// read what is answered, and asks by that name.
    pub fn is_asked(&self, request: &Request<Incoming>) -> bool {
        let mut hosts = request.headers().get_all(HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
        let Ok(host) = host.to_str() else { return false };
        // Where a request has the whole address that counts, and not what is in `Host`.
        if request.uri().authority().is_some_and(|whole| !whole.as_str().eq_ignore_ascii_case(host)) {
            return false;
        }
        NAMES.iter().any(|name| {
            // Nobody writes the port that HTTP has by itself.
            host.eq_ignore_ascii_case(&format!("{name}:{}", self.port))
                || (self.port == 80 && host.eq_ignore_ascii_case(name))
        })
    }

    pub fn answer(&self, request: &Request<Incoming>) -> Answer {
        let of = Site::headed();
        if !self.is_asked(request) {
            let there = format!("the explorer is at http://{}:{}/", NAMES[0], self.port);
            return said(of.status(StatusCode::MISDIRECTED_REQUEST), &there);
        }
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return said(of.status(StatusCode::METHOD_NOT_ALLOWED).header(ALLOW, "GET, HEAD"), "GET only");
        }
        let path = request.uri().path();
        if path == "/" {
            return whole(of.status(StatusCode::FOUND).header(LOCATION, &self.first), Bytes::new());
        }
        match self.files.get(path) {
            Some((content, bytes)) => whole(of.header(CONTENT_TYPE, *content), bytes.clone()),
            None => said(of.status(StatusCode::NOT_FOUND), "no such page"),
        }
    }
}

/// An answer in one piece.
pub fn whole(of: Builder, bytes: Bytes) -> Answer {
    of.body(UnsyncBoxBody::new(Full::new(bytes)))
}

/// An answer that is a line of text.
pub fn said(of: Builder, line: &str) -> Answer {
    whole(of.header(CONTENT_TYPE, "text/plain; charset=utf-8"), format!("{line}\n").into())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::CommandFactory;

    #[test]
    fn the_help_names_the_port_that_reports_lead_to() {
        let mut cli = Cli::command();
        let help =
            cli.find_subcommand_mut("explore").map(|c| c.render_help().to_string()).unwrap_or_default();
        assert!(help.contains(&format!("default: {EXPLORER_PORT} if it is free")), "{help}");
    }
}
