//! `watch --web`: attached disciplines over time, in the explorer's page.

use crate::args::{Set, Watch};
use crate::explore::{LIMITS, Site, listen, said, whole};
use crate::jobs::{self, Job};
use crate::linux::{changed_now, now};
use crate::since::Since;
use crate::{Failure, print};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Limited, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::header::{ALLOW, CONTENT_TYPE, HOST, ORIGIN, WWW_AUTHENTICATE};
use hyper::{Method, Request, StatusCode};
use queuewright_linux::http::{Answer, Limits, has_token, serve};
use queuewright_linux::{self as linux, Stats, Status};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Notify, watch};
use tokio::time::timeout_at;

/// A page is told for so long, and asks again.
const TOLD_FOR: Duration = Duration::from_secs(3600);
/// Bytes of the token, and of the longest request to change something.
const TOKEN: usize = 16;
const CHANGE: usize = 4096;

/// A look at all devices, as the page gets it.
#[derive(Serialize)]
struct Look {
    /// Since the program began to look, s.
    t: f64,
    /// May the page change something?
    set: bool,
    devices: Vec<Seen>,
    /// What this user has under way.
    jobs: Vec<Job>,
    /// Why nothing, or some of it, could be read.
    wrong: Vec<String>,
}

#[derive(Serialize)]
struct Seen {
    status: Status,
    /// Since the look before.
    since: Option<Since>,
    /// 99 % of all that was sent waited less, ms.
    p99_ms: f64,
    /// The device's name as it is printed.
    name: String,
}

/// What was seen of devices the time before.
#[derive(Default)]
struct Looks(BTreeMap<String, (Instant, Stats)>);

impl Looks {
    fn take(
        &mut self,
        begun: Instant,
        set: bool,
        read: Result<(Vec<Status>, Vec<linux::Error>), linux::Error>,
        jobs: Vec<Job>,
    ) -> Look {
        let at = Instant::now();
        let (all, unread) = read.unwrap_or_else(|e| (Vec::new(), vec![e]));
        let before = std::mem::take(&mut self.0);
        let mut seen = |status: Status| {
            let since = before
                .get(&status.dev)
                .and_then(|(then, stats)| Since::of(stats, &status.stats, at.duration_since(*then)));
            self.0.insert(status.dev.clone(), (at, status.stats.clone()));
            Seen {
                since,
                p99_ms: status.stats.sojourn_below_ns(0.99) as f64 / 1e6,
                name: linux::with_name(&status.dev),
                status,
            }
        };
        Look {
            t: at.duration_since(begun).as_secs_f64(),
            set,
            devices: all.into_iter().map(&mut seen).collect(),
            jobs,
            wrong: unread.iter().map(ToString::to_string).collect(),
        }
    }
}

/// What the page asks to be changed, in the words of `queuewright set`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    dev: String,
    changes: Vec<String>,
}

/// What is served.
struct Live {
    site: Site,
    token: String,
    /// The one device that is watched; none: all.
    dev: Option<String>,
    allow_set: bool,
    /// Held by what changes something.
    changes: Arc<tokio::sync::Mutex<()>>,
    /// The last look, as an event. Who is slow gets the next one that there is when it can take it.
    events: watch::Sender<Bytes>,
    /// Somebody new wants to know.
    came: Notify,
}

impl Live {
    /// May the page ask for this? If not, why.
    fn allows(&self, asked: &Change) -> Result<(), String> {
        if self.dev.as_ref().is_some_and(|dev| *dev != asked.dev) {
            return Err(format!("{}: it is not the device that is watched", linux::with_name(&asked.dev)));
        }
        if asked.changes.is_empty() {
            return Err("write what to change, such as rate=50mbit".into());
        }
        // Root would read it.
        if asked.changes.iter().any(|change| change.starts_with("weights=")) {
            return Err("weights: a file is named on the command line alone".into());
        }
        Ok(())
    }
}

/// Serves the page on this machine alone, to whom has the token.
pub fn live(w: &Watch, every: Duration) -> Result<(), Failure> {
    // Who may not look at devices sees what he has under way none the less. A device that was named is there, and is called as the
    // page calls it, which may be another name than its number.
    let dev = match &w.dev {
        Some(dev) => {
            let (seen, _) = now(Some(dev))?;
            Some(seen.first().map_or(dev, |status| &status.dev).clone())
        }
        None => None,
    };
    // Its scripts may ask for changes.
    let page = Site::installed()?;
    let folder = page.parent().unwrap_or(&page);
    let folder =
        linux::trusted(folder, "install the explorer as root: make install").map_err(Failure::Input)?;
    let mut site = Site::read(&folder.join("index.html"))?;
    let (listener, at) = listen(w.port)?;
    site.port = at.port();
    let mut random = [0; TOKEN];
    let filled = rustix::rand::getrandom(&mut random[..], rustix::rand::GetRandomFlags::empty());
    if filled != Ok(TOKEN) {
        return Err(Failure::Run("the system gives no random numbers for a token".into()));
    }
    let live = Arc::new(Live {
        site,
        token: URL_SAFE_NO_PAD.encode(random),
        dev,
        allow_set: w.allow_set,
        changes: Arc::default(),
        events: watch::Sender::default(),
        came: Notify::new(),
    });
    // What stands behind the # is sent to nobody.
    print(&format!("http://{at}/index.html#live={}\n", live.token))?;
    // From here on it only reads, unless it is to change something.
    if !w.allow_set {
        linux::confine()?;
    }
    let limits = Limits { done_within: TOLD_FOR, ..LIMITS };
    let looks = look_on(live.clone(), every);
    let answered = serve(listener, limits, move |request| answer(request, live.clone()), looks);
    match answered.map_err(|e| Failure::Run(format!("the page's server: {e}")))? {
        Err(e) => Err(Failure::Run(format!("reading what is attached came to no end: {e}"))),
        Ok(never) => match never {},
    }
}

/// Looks again and again, while somebody wants to know.
async fn look_on(live: Arc<Live>, every: Duration) -> Result<Infallible, tokio::task::JoinError> {
    let (begun, mut looks) = (Instant::now(), Looks::default());
    let mut due = tokio::time::Instant::now();
    loop {
        // Who comes is told at once.
        let _ = timeout_at(due, live.came.notified()).await;
        due = tokio::time::Instant::now() + every;
        if live.events.receiver_count() == 0 {
            continue;
        }
        let dev = live.dev.clone();
        let read = tokio::task::spawn_blocking(move || (read(dev.as_deref()), jobs::all()));
        let (read, jobs) = read.await?;
        let look = looks.take(begun, live.allow_set, read, jobs);
        if let Ok(text) = serde_json::to_string(&look) {
            live.events.send_replace(format!("data: {text}\n\n").into());
        }
    }
}

/// What is attached to a device or to all, and why others cannot be read.
fn read(dev: Option<&str>) -> Result<(Vec<Status>, Vec<linux::Error>), linux::Error> {
    if dev.is_some() {
        return now(dev);
    }
    let (mut all, mut unread) = (Vec::new(), Vec::new());
    for (_, found) in linux::read_each()? {
        match found {
            Ok(status) => all.push(status),
            Err(e) => unread.push(e),
        }
    }
    Ok((all, unread))
}

async fn answer(request: Request<Incoming>, live: Arc<Live>) -> Answer {
    if !request.uri().path().starts_with("/live/") || !live.site.is_asked(&request) {
        return live.site.answer(&request);
    }
    let of = Site::headed();
    // A page of elsewhere says so; it has no token either.
    let host = request.headers().get(HOST).map_or(&b""[..], |value| value.as_bytes());
    let own = [b"http://", host].concat();
    if request.headers().get_all(ORIGIN).iter().any(|origin| origin.as_bytes() != own) {
        return said(of.status(StatusCode::FORBIDDEN), "this is for a page of this program alone");
    }
    if !has_token(&request, &live.token) {
        let of = of.status(StatusCode::UNAUTHORIZED).header(WWW_AUTHENTICATE, "Bearer");
        return said(of, "this needs the token, which queuewright watch --web has printed");
    }
    match (request.method(), request.uri().path()) {
        (&Method::GET | &Method::HEAD, "/live/events") => {
            let of = of.header(CONTENT_TYPE, "text/event-stream");
            // What it would be told has no end, and it wants none of it.
            if request.method() == Method::HEAD {
                return whole(of, Bytes::new());
            }
            let events = live.events.subscribe();
            live.came.notify_one();
            of.body(UnsyncBoxBody::new(StreamBody::new(stream::unfold(events, async |mut events| {
                events.changed().await.ok()?;
                let event = events.borrow_and_update().clone();
                Some((Ok(Frame::data(event)), events))
            }))))
        }
        (&Method::POST, "/live/set") => match change(request, &live).await {
            Ok(text) => said(of, text.trim_end()),
            Err((status, why)) => said(of.status(status), &why),
        },
        (_, "/live/events") => {
            said(of.status(StatusCode::METHOD_NOT_ALLOWED).header(ALLOW, "GET, HEAD"), "GET only")
        }
        (_, "/live/set") => {
            said(of.status(StatusCode::METHOD_NOT_ALLOWED).header(ALLOW, "POST"), "POST only")
        }
        _ => said(of.status(StatusCode::NOT_FOUND), "no such page"),
    }
}

/// Changes what the page asks for, and says so here.
async fn change(request: Request<Incoming>, live: &Live) -> Result<String, (StatusCode, String)> {
    let wrong = |why: String| (StatusCode::UNPROCESSABLE_ENTITY, why);
    if !live.allow_set {
        let why = "nothing can be changed from here: queuewright watch --web --allow-set lets it";
        return Err((StatusCode::FORBIDDEN, why.into()));
    }
    let body = Limited::new(request.into_body(), CHANGE).collect();
    let Ok(Ok(body)) = tokio::time::timeout(LIMITS.request_within, body).await else {
        return Err((
            StatusCode::BAD_REQUEST,
            format!("the request did not come whole, or has more than {CHANGE} bytes"),
        ));
    };
    let asked: Change = serde_json::from_slice(&body.to_bytes())
        .map_err(|e| wrong(format!("not what the page asks: {e}")))?;
    let allowed = live.allows(&asked);
    let changes: Vec<String> = asked.changes.iter().map(|change| linux::quoted(change)).collect();
    let words = format!("{}: set {}, asked by the page", linux::with_name(&asked.dev), changes.join(" "));
    let set = Set { dev: asked.dev, changes: asked.changes };
    // One after the other. It may have to wait for another command: looks go on meanwhile.
    let turn = live.changes.clone().lock_owned().await;
    let done = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        let done = allowed.and_then(|()| changed_now(&set).map_err(|e| e.to_string()));
        // Here, as who has asked may be gone by now; and who reads this, too, which is no reason to end.
        let outcome = done.as_ref().map_or_else(String::as_str, |_| "done");
        let _ = writeln!(io::stderr(), "{}", linux::safe(&format!("{words}: {outcome}")));
        done
    });
    done.await.unwrap_or_else(|_| Err("it came to no end".into())).map_err(wrong)
}
