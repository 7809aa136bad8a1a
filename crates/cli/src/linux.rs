//! `attach`, `set`, `status`, `detach`, `doctor`: a discipline on a device of this machine.

use crate::Failure;
use crate::args::{Agent, Attach, Export, Set, Settings, Status};
use queuewright_aqm::{FRAME_BYTES, Info, Spec};
use queuewright_linux::own::{self, ENDING};
use queuewright_linux::{self as linux, ActionSource, Error, Plan, Port, Record};
use queuewright_scenario::units::Unit;
use queuewright_scenario::{Draft, Flags, Policy, read_file, read_text, unreadable};
use std::fmt::Write;
use std::fs::File;
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

impl From<Error> for Failure {
    fn from(e: Error) -> Self {
        match e {
            Error::Input(text) => Failure::Input(text),
            Error::System(text) => Failure::Run(text),
        }
    }
}

/// Bits a second of which 200 ms are less than a full frame.
const BELOW_A_PACKET: u64 = FRAME_BYTES * 8 * 5;

/// A discipline with its parameters, as everywhere on this command line: `titrate:interval=500ms`. What depends on
/// the link's rate, bits a second, is for 100 Mbit/s where that is not known (0); what depends on the round-trip time
/// is for 100 ms.
fn spec(text: &str, rate: u64) -> Result<Spec, Failure> {
    let weights = text.split(':').find_map(|part| part.strip_prefix("weights="));
    spec_of(text, rate, weights.is_some_and(|file| file != "none"), None)
}

/// The same of a file of a user's own, which `info` is of.
fn spec_of_own(text: &str, rate: u64, info: &'static Info) -> Result<Spec, Failure> {
    let options = text.split_once(':').map_or(String::new(), |(_, options)| format!(":{options}"));
    spec_of(&format!("{}{options}", info.name), rate, false, Some(info))
}

/// [`spec`], of what has a policy's weights, or none, or is `also` a discipline.
fn spec_of(text: &str, rate: u64, learned: bool, also: Option<&'static Info>) -> Result<Spec, Failure> {
    if text.contains(',') {
        return Err(Failure::Input(format!("{text:?}: one discipline is needed here, not a list")));
    }
    // Else it would be compiled, and loaded, for the simulator, as root.
    if also.is_none() && is_own(text) {
        return Err(Failure::Input(format!(
            "{text:?}: a file of your own has no agent, which queuepilot alone has"
        )));
    }
    // A policy in the kernel counts by the link, if that is known. What an agent finds attached has no policy, and stays as it is when the
    // rate is set.
    let counts =
        text.split(':').next().and_then(queuewright_aqm::find).is_some_and(|info| info.network.is_some());
    let told = text.contains(":rate=") || (learned && rate > 0);
    let aqm = if counts && !told { format!("{text}:rate=auto") } else { text.into() };
    let flags = Flags {
        rate: Some(if rate > 0 { format!("{rate}bit") } else { "100mbit".into() }),
        rtt: Some("100ms".into()),
        flows: Some("1xcubic".into()),
        aqm: Some(aqm),
        // A scenario's own buffer, two bandwidth-delay products, would hold no packet there; here the limit is another thing.
        buffer: (1..=BELOW_A_PACKET).contains(&rate).then(|| "1p".into()),
        ..Flags::default()
    };
    // What else a scenario's may have.
    let beside = ["name", "label", "set"];
    let keys = text.split(':').skip(1).filter_map(|part| part.split_once('=')).map(|(key, _)| key);
    if let Some(key) = keys.into_iter().find(|key| beside.contains(key)) {
        return Err(Failure::Input(format!("{key}: no parameter of a discipline on a device")));
    }
    let plain = |e: queuewright_scenario::Error| {
        let text = e.to_string();
        // It was no flag here.
        let text = text.replace("--aqm[0].", "").replace("--aqm[0] = ", "");
        Failure::Input(text.replace(", name, label, set", "").replace(", name, label", ""))
    };
    let draft = Draft::from_flags(&flags).map_err(plain)?;
    let draft = also.map_or_else(|| draft.clone(), |info| draft.clone().knowing(info));
    let mut runs = draft.scenario().and_then(|scenario| scenario.runs()).map_err(plain)?;
    match runs.pop().and_then(|mut run| run.ports.pop()) {
        Some(port) => Ok(port.discipline),
        None => Err(Failure::Input(format!("{text:?} is no discipline"))),
    }
}

/// One of the port's own settings; false: it is a parameter of the discipline.
fn port_setting(port: &mut Port, name: &str, value: &str) -> Result<bool, Failure> {
    let wrong = |what: &str| Failure::Input(format!("{name} = {value:?}: {what}"));
    match name {
        "rate" if value == "none" => port.rate = 0,
        "rate" => {
            port.rate = Unit::Rate.parse(value).map_err(|e| wrong(&e.0))?;
            // Before the discipline's parameters are looked at, which may depend on it.
            if (1..linux::LEAST_RATE).contains(&port.rate) {
                return Err(wrong("out of range; allowed: 8kbit or more"));
            }
        }
        "limit" => {
            let count = value.strip_suffix('p').unwrap_or(value);
            match (count.parse(), Unit::Bytes.parse(value)) {
                (Ok(packets), _) => port.limit_packets = packets,
                (_, Ok(bytes)) => port.limit_bytes = bytes,
                _ => return Err(wrong("neither packets, such as 1000p, nor bytes, such as 100kb")),
            }
        }
        "overhead" => {
            port.overhead = value.parse().map_err(|_| wrong("not a number of bytes, such as 18 or -14"))?
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// A variable of a discipline: a millionth is enough of a probability, and of bytes there are whole ones.
pub fn number(value: f64) -> String {
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// The same with its unit, which not every one has.
pub fn with_unit(value: f64, unit: &str) -> String {
    format!("{} {unit}", number(value)).trim_end().to_string()
}

pub fn attach(a: &Attach) -> Result<(), Failure> {
    let police = a.police.is_some();
    let mut port = Port { mq: a.mq, front: a.front, split_gso: !a.no_split_gso, police, ..Port::default() };
    for (name, value) in [
        ("rate", a.police.as_ref().map_or(&a.rate, |_| &a.police)),
        ("limit", &a.limit),
        ("overhead", &a.overhead),
    ] {
        if let Some(value) = value {
            port_setting(&mut port, name, value)?;
        }
    }
    if police && a.limit.is_none() {
        port.limit_bytes = policed(port.rate);
    }
    let mut text = a.discipline.clone();
    for (name, value) in &a.settings.0 {
        let _ = write!(text, ":{name}={value}");
    }
    let text = from_anywhere(&text)?;
    if let Some(to) = &a.compile {
        return compile(&text, &port, to);
    }
    let spec = match is_own(&text) {
        true => spec_of_own(&text, port.rate, own_info(&text, &port)?)?,
        false => spec(&text, port.rate)?,
    };
    let plans = match a.ingress.as_deref() {
        // At the rate that was given, and nothing else.
        Some("") if police => vec![linux::plan_ingress(&a.dev, &text, spec, port)?],
        Some("") => {
            return Err(Failure::Input("--ingress needs a rate, such as --ingress 480mbit".into()));
        }
        Some(asked) => {
            let out = linux::plan(&a.dev, &text, spec, port)?;
            vec![out, incoming(asked, &text, port, &a.dev)?]
        }
        None => vec![linux::plan(&a.dev, &text, spec, port)?],
    };
    if a.dry_run {
        let steps: Vec<String> = plans.iter().flat_map(Plan::steps).collect();
        return crate::print(&(steps.join("\n") + "\n"));
    }
    for (dev, lock) in linux::attach_all(&plans)? {
        leave_keeper(&dev, lock)?;
    }
    let mut said = String::new();
    for plan in &plans {
        let of = match plan.record.ingress {
            Some(_) => format!(" for what comes in on {}", linux::quoted(&a.dev)),
            None => String::new(),
        };
        let rate = plan.port.rate;
        let _ = writeln!(
            said,
            "{}: {} ({}){}{of}",
            linux::quoted(&plan.record.dev),
            plan.record.kind,
            linux::safe(&plan.record.text),
            if rate > 0 { format!(" at {}", Unit::Rate.show(rate)) } else { String::new() }
        );
    }
    crate::print(&said)
}

/// Bytes that a policer counts at most where nothing else is said: what is above has to go at some time without a queue that spreads it.
fn policed(rate: u64) -> u64 {
    const A_SECOND: u64 = 10;
    const FRAMES: u64 = 10;
    (rate / 8 / A_SECOND).max(FRAMES * FRAME_BYTES)
}

/// What is to manage the packets that come in: `480mbit`, with the discipline of the other direction, or `480mbit:codel:target=10ms`.
fn incoming(asked: &str, outgoing: &str, port: Port, dev: &str) -> Result<Plan, Failure> {
    let (rate, text) = asked.split_once(':').unwrap_or((asked, outgoing));
    let outgoing_rate = port.rate;
    let mut port = Port { mq: false, ..port };
    port_setting(&mut port, "rate", rate).map_err(|e| match e {
        Failure::Input(why) => Failure::Input(format!("--ingress {asked:?}: {why}")),
        other => other,
    })?;
    if port.police && port.limit_bytes == policed(outgoing_rate) {
        port.limit_bytes = policed(port.rate);
    }
    let spec = || {
        let text = from_anywhere(text)?;
        let spec = match is_own(&text) {
            true => spec_of_own(&text, port.rate, own_info(&text, &port)?)?,
            false => spec(&text, port.rate)?,
        };
        Ok((text, spec))
    };
    let (text, spec) = spec().map_err(|e| match e {
        Failure::Input(why) if text != outgoing => Failure::Input(format!("--ingress {asked:?}: {why}")),
        other => other,
    })?;
    Ok(linux::plan_ingress(dev, &text, spec, port)?)
}

/// Is it a file of a user's own, or what one was compiled to?
fn is_own(text: &str) -> bool {
    let name = text.split(':').next().unwrap_or_default();
    queuewright_aqm::own::is_file(name) || is_compiled(name)
}

fn is_compiled(name: &str) -> bool {
    name.contains('/') && name.ends_with(ENDING)
}

/// What a file of a user's own declares, compiled for the host that this port needs. What root loads nobody else could have written.
fn own_info(text: &str, port: &Port) -> Result<&'static Info, Failure> {
    let name = text.split(':').next().unwrap_or_default();
    if port.police {
        return Err(Failure::Input(format!("{name}: --police: a file of your own cannot police yet")));
    }
    let wrong = |why: String| match why.starts_with(name) {
        true => Failure::Input(why),
        false => Failure::Input(format!("{name}: {why}")),
    };
    // A folder would be looked at with all that is below it.
    if !std::fs::metadata(name).map_err(|e| wrong(unreadable(&e)))?.is_file() {
        return Err(wrong("not a file".into()));
    }
    let path = linux::trusted(Path::new(name), "name another file").map_err(Failure::Input)?;
    let info = |object| {
        let info = own::info(object)?;
        own::attachable(info).map(|()| info)
    };
    if is_compiled(name) {
        return info(read_file(&path, MAX_OBJECT).map_err(|e| wrong(unreadable(&e)))?).map_err(wrong);
    }
    let bytes = read_file(&path, queuewright_aqm::own::MAX_BYTES).map_err(|e| wrong(unreadable(&e)))?;
    let text = String::from_utf8(bytes).map_err(|_| wrong("not UTF-8 text".into()))?;
    let work = linux::scratch("queuewright-own").map_err(Failure::Run)?;
    let object = own::compile(name, &text, port.host(), work.path()).map_err(Failure::Input)?;
    info(object).map_err(wrong)
}

/// Writes what a file of a user's own is compiled to.
fn compile(text: &str, port: &Port, to: &Path) -> Result<(), Failure> {
    let shown = to.display().to_string();
    if !is_own(text) || !to.to_string_lossy().ends_with(ENDING) {
        let why = format!("it is for a file of your own, ./late.h, and a name that ends with {ENDING}");
        return Err(Failure::Input(format!("--compile {shown}: {why}")));
    }
    let info = own_info(text, port)?;
    let object = info.own.and_then(|own| own.object.as_ref()).map_or(&[][..], |declared| &declared.object);
    // A link of that name is replaced and not followed, and there is never half of it.
    let wrong = |e: std::io::Error| Failure::Run(format!("{shown}: {e}"));
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut new = tempfile::NamedTempFile::new_in(folder).map_err(wrong)?;
    std::io::Write::write_all(&mut new, object).map_err(wrong)?;
    new.persist(to).map_err(|e| wrong(e.error))?;
    crate::print(&format!("{}: {}, {} bytes\n", linux::safe(&shown), info.name, object.len()))
}

/// Largest compiled file, bytes.
const MAX_OBJECT: u64 = 64 << 20;

/// The same text with its files, of weights or the discipline's own, named from the root: another command may come from another folder.
fn from_anywhere(text: &str) -> Result<String, Failure> {
    let absolute = |what: &str, name: &str| {
        let wrong = |why: &dyn std::fmt::Display| Failure::Input(format!("{what}{name:?}: {why}"));
        let path = std::path::absolute(name).map_err(|e| wrong(&e))?;
        match path.to_str() {
            Some(path) if !path.contains([':', ',']) => Ok(path.to_string()),
            _ => Err(wrong(&format!("{path:?} has a comma or a colon in it, or is not UTF-8: rename it"))),
        }
    };
    // Behind a name there are parameters alone.
    let part = |(place, part): (usize, &str)| match part.strip_prefix("weights=") {
        _ if place == 0 && is_own(part) => absolute("", part),
        Some(name) if !Policy::is_brought(name) => Ok(format!("weights={}", absolute("weights = ", name)?)),
        _ => Ok(part.to_string()),
    };
    Ok(text.split(':').enumerate().map(part).collect::<Result<Vec<_>, _>>()?.join(":"))
}

/// Leaves a process that tells htb what is each class's share. It ends when the discipline is taken off; until then the lock
/// is its own, by which it is known to be there.
fn leave_keeper(dev: &str, lock: File) -> Result<(), Error> {
    // This very file, whatever has its name now; of Python, whose arguments before the command say how it came to be this
    // program, the interpreter.
    let mut words = std::env::args_os();
    let mut again = Command::new("/proc/self/exe");
    again.arg0(words.next().unwrap_or_default());
    again.args(words.take_while(|word| word != "attach" && word != "doctor"));
    let begun = linux::apart(&mut again)
        .args(["keep", "--", dev])
        .stdin(lock)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // Ctrl-C is not meant for it.
        .process_group(0)
        .spawn();
    match begun {
        Ok(_) => Ok(()),
        Err(e) => {
            let dev = linux::quoted(dev);
            Err(Error::System(format!("{dev}: attached, but queuewright keep {dev} does not begin: {e}")))
        }
    }
}

/// How long an agent's program may take for an answer after its first: the action before holds on meanwhile.
const PATIENCE: Duration = Duration::from_secs(1);

pub fn agent(a: &Agent) -> Result<(), Failure> {
    let record = linux::attached(&a.dev)?;
    let rate = linux::status(&record)?.rate;
    let attached = spec(&record.text, rate)?;
    let learned = match &a.policy {
        Some(policy) => Some(learned(&record, &attached, policy, rate)?),
        None => None,
    };
    let agent = match (&learned, a.command.split_first()) {
        (Some(learned), _) => ActionSource::Policy(learned),
        (None, Some((name, args))) => {
            let mut command = Command::new(name);
            command.args(args);
            ActionSource::Program { command, patience: PATIENCE }
        }
        (None, None) => return Err(Failure::Input("an agent is a POLICY, or -- COMMAND".into())),
    };
    // However often: it ends within a step, and what was attached holds again.
    let stop = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&stop);
    ctrlc::set_handler(move || set.store(true, Ordering::Relaxed))
        .map_err(|e| Failure::Run(format!("Ctrl-C cannot be caught: {e}")))?;
    let done = linux::agent(&record, &attached, agent, &stop)?;
    let us = |time: Duration| time.as_secs_f64() * 1e6 / done.steps.max(1) as f64;
    crate::print(&format!(
        "{}: {} steps in {:.1} s, {} missed; a step took {:.1} us from its end to the action, {:.1} us of a processor\n",
        linux::with_name(&a.dev),
        done.steps,
        done.lasted.as_secs_f64(),
        done.missed,
        us(done.delay),
        us(done.processor)
    ))
}

/// What is attached, with a policy's weights in place of its script.
fn learned(record: &Record, attached: &Spec, policy: &str, rate: u64) -> Result<Spec, Failure> {
    // Of anything else it is said what it lacks.
    if attached.info.network.is_none() || attached.weights().is_some() {
        return Ok(attached.clone());
    }
    let script = |part: &&str| !["threshold=", "action="].iter().any(|name| part.starts_with(name));
    let parts: Vec<&str> = record.text.split(':').filter(script).collect();
    let learned = spec(&format!("{}:weights={policy}", parts.join(":")), rate)?;
    let [has, needs] = [attached, &learned].map(|spec| spec.shown().find(|(p, _)| p.name == "actions"));
    match (has, needs) {
        (Some((_, has)), Some((_, needs))) if has != needs => Err(Failure::Input(format!(
            "{policy}: its actions are {needs:?}, and {} has {} with actions = {has:?}: queuewright set {} actions={needs}",
            linux::quoted(&record.dev),
            record.text,
            linux::quoted(&record.dev)
        ))),
        _ => Ok(learned),
    }
}

pub fn keep(dev: &str) -> Result<(), Failure> {
    Ok(linux::keep(dev)?)
}

pub fn detach(dev: &str) -> Result<(), Failure> {
    let back = linux::detach(dev)?;
    crate::print(&format!("{}: {back}\n", linux::with_name(dev)))
}

pub fn set(s: &Set) -> Result<(), Failure> {
    crate::print(&changed_now(s)?)
}

/// The same, and what is in force now, in a line.
pub fn changed_now(s: &Set) -> Result<String, Failure> {
    // From here on nobody else changes it.
    let held = linux::hold(&s.dev)?;
    let mut text = held.record.text.clone();
    let (mut ports, mut fresh) = (Vec::new(), false);
    let mut rate = held.port.rate;
    let mut named = Vec::new();
    for change in &s.changes {
        let Some((name, value)) = change.split_once('=') else {
            return Err(Failure::Input(format!("{change:?} is no NAME=VALUE, such as rate=50mbit")));
        };
        // What follows it would be another parameter, which nobody has looked at: the page's may name no file.
        if change.contains(':') {
            return Err(Failure::Input(format!(
                "{change:?} has a colon in it: write each NAME=VALUE as a word of its own"
            )));
        }
        let mut port = Port { rate, ..Port::default() };
        if port_setting(&mut port, name, value)? {
            rate = port.rate;
            ports.push((name, value));
            continue;
        }
        // The same parameter once only: the new value instead of the old one.
        let kept = without(&text, name);
        text = from_anywhere(&format!("{kept}:{name}={value}"))?;
        named.push(name);
    }
    let spec = changed(&held, &text, &named, rate)?;
    for name in named {
        fresh |= spec.info.param(name).is_some_and(|p| !p.tunable);
    }
    // What of the port was asked for stands in no discipline's text.
    let asked: String = ports.iter().map(|(name, value)| format!(", {name}={value}")).collect();
    held.set(&spec, &text, fresh, |port| {
        for (name, value) in ports {
            // They have been read once without complaint.
            let _ = port_setting(port, name, value);
        }
    })?;
    Ok(format!(
        "{}: {}{asked}{}\n",
        linux::quoted(&s.dev),
        linux::safe(&text),
        if fresh { ", its state begun anew" } else { "" }
    ))
}

fn without(text: &str, name: &str) -> String {
    let kept = text.split(':').filter(|part| part.split_once('=').is_none_or(|(n, _)| n != name));
    kept.collect::<Vec<_>>().join(":")
}

/// The discipline that `text` is. Its weights, where none are named, are those that it has: their file may be another by now.
fn changed(held: &linux::LockedPort, text: &str, named: &[&str], rate: u64) -> Result<Spec, Failure> {
    let learned = held.record.learned.as_ref().filter(|_| !named.contains(&"weights"));
    let info = held.info()?;
    if info.own.is_some() {
        return spec_of_own(text, rate, info);
    }
    let (Some(learned), Some(weights)) = (learned, held.weights()?) else { return spec(text, rate) };
    let mut plain = without(text, "weights");
    match text.split(':').find_map(|part| part.strip_prefix("actions=")) {
        Some(told) if told != learned.actions => {
            return Err(Failure::Input(format!(
                "actions = {told:?}: its weights are of a policy with actions = {:?}; name others: weights=FILE",
                learned.actions
            )));
        }
        Some(_) => {}
        None => plain += &format!(":actions={}", learned.actions),
    }
    let mut spec = spec_of(&plain, rate, true, None)?;
    spec.set_weights(weights).map_err(|e| Failure::Run(e.to_string()))?;
    Ok(spec)
}

/// What is attached: to one device, which must have something, or to any; and why others cannot be read, which do not hide
/// these. If none can, that is an error.
pub fn now(dev: Option<&str>) -> Result<(Vec<linux::Status>, Vec<Error>), Error> {
    let records = match dev {
        Some(dev) => match (linux::attached(dev), linux::ingress_of(dev)?) {
            (Ok(outgoing), incoming) => [outgoing].into_iter().chain(incoming).collect(),
            (Err(_), Some(incoming)) => vec![incoming],
            (Err(e), None) => return Err(e),
        },
        None => linux::records()?,
    };
    let (mut all, mut unread) = (Vec::new(), Vec::new());
    for found in linux::statuses(&records) {
        match found {
            Ok(status) => all.push(status),
            Err(e) => unread.push(e),
        }
    }
    match all.is_empty() && !unread.is_empty() {
        true => Err(unread.swap_remove(0)),
        false => Ok((all, unread)),
    }
}

pub fn export(e: &Export) -> Result<(), Failure> {
    // Who may not read says so now, not to each scraper.
    linux::read_each()?;
    let token = e.token_file.as_deref().map(token).transpose()?;
    let listener = TcpListener::bind(&e.listen).map_err(|error| {
        Failure::Input(format!(
            "--listen {:?}: {error}; write ADDRESS:PORT, such as 127.0.0.1:9421",
            e.listen
        ))
    })?;
    let at = listener.local_addr().map_or_else(|_| e.listen.clone(), |at| at.to_string());
    crate::print(&format!("metrics at http://{at}/metrics\n"))?;
    linux::confine()?;
    match linux::serve(listener, token, linux::read_each)? {}
}

/// The token in a file: one word.
fn token(path: &Path) -> Result<String, Failure> {
    let wrong = |why: &str| Failure::Input(format!("--token-file {}: {why}", path.display()));
    let text =
        read_text(path, queuewright_scenario::limits::TOKEN.bytes).map_err(|e| wrong(&e.to_string()))?;
    let token = text.trim();
    match token.is_empty() || !token.bytes().all(|b| b.is_ascii_graphic()) {
        true => Err(wrong(
            "not a token: one word of letters, digits and signs, such as 'openssl rand -hex 32' prints",
        )),
        false => Ok(token.into()),
    }
}

pub fn status(s: &Status) -> Result<(), Failure> {
    let (all, unread) = now(s.dev.as_deref())?;
    let broken = linux::broken()?.into_iter().map(|(_, why)| why);
    for why in broken.chain(unread) {
        eprintln!("warning: {}", linux::safe(&why.to_string()));
    }
    if s.json {
        let text = serde_json::to_string_pretty(&all).map_err(|e| Failure::Run(e.to_string()))?;
        return crate::print(&(text + "\n"));
    }
    match all.is_empty() {
        true => crate::print("nothing is attached in this network namespace\n"),
        false => crate::print(&all.iter().map(shown).collect::<Vec<_>>().join("\n")),
    }
}

/// Counts by reason, in words.
pub fn reasons(counts: &[u64]) -> String {
    queuewright_aqm::counters::reasons(counts, ", ")
}

/// Of a discipline that somebody else has taken off.
pub const GONE: &str = ", no longer there: what follows is from before";

fn shown(s: &linux::Status) -> String {
    let t = &s.stats;
    let ms = |ns: u64| ns as f64 / 1e6;
    let rate = if s.rate > 0 { Unit::Rate.show(s.rate) } else { "the device's pace".into() };
    let gone = if s.there { "" } else { GONE };
    let mut limit = format!("limit {}p", s.limit_packets);
    if s.limit_bytes > 0 {
        let _ = write!(limit, " or {}b", s.limit_bytes);
    }
    if s.overhead != 0 {
        let _ = write!(limit, ", overhead {}b", s.overhead);
    }
    let dev = linux::with_name(&s.dev);
    let of = s.ingress_of.as_ref().map(|of| format!(", for what comes in on {}", linux::with_name(of)));
    let of = of.unwrap_or_default();
    let mut out = format!("{dev}: {} ({}), {rate}, {limit}{of}{gone}\n", s.kind, linux::safe(&s.discipline));
    if let Some(mend) = &s.mend {
        let _ = writeln!(out, "  missing  {}: {mend}", s.missing.join("; "));
    }
    if let Some(file) = &s.file {
        let _ = writeln!(out, "  file     {file}");
    }
    let _ = writeln!(out, "  arrived  {} packets, {} bytes", t.arrived_packets, t.arrived_bytes);
    if t.gso_packets > 0 {
        let _ = writeln!(
            out,
            "  offload  {} of them were several segments in one, which count as one: queuewright doctor {}",
            t.gso_packets,
            s.ingress_of.as_ref().map_or(dev.clone(), |of| linux::quoted(of))
        );
    }
    let _ = writeln!(out, "  sent     {} packets, {} bytes", t.sent_packets, t.sent_bytes);
    let purged =
        if t.purged > 0 { format!("; {} purged with the whole queue", t.purged) } else { String::new() };
    let _ = writeln!(out, "  dropped  {}{purged}", reasons(&t.drops));
    let marks = reasons(&t.marks);
    let how = match t.marking {
        // The first packet tells.
        0 if t.arrived_packets > 0 => "; CE cannot be set here, drops take its place".into(),
        2 => format!("; CE set on {} packets, each the flow's next one", t.ce_set),
        3 if t.asked > 0 => format!(
            "; {} drops and marks were of packets that had left: the flow's next one is in their place",
            t.asked
        ),
        _ => String::new(),
    };
    let _ = writeln!(out, "  marked   {marks}{how}");
    let waits = if s.police { "counted " } else { "waiting " };
    let when = if s.police { ", when the last packet came" } else { "" };
    let _ = writeln!(out, "  {waits} {} packets, {} bytes{when}", t.backlog_packets, t.backlog_bytes);
    let _ = writeln!(
        out,
        "  sojourn  mean {:.3} ms, last {:.3} ms, 99 % below {:.3} ms",
        ms(t.mean_sojourn_ns()),
        ms(t.sojourn_ns),
        ms(t.sojourn_below_ns(0.99))
    );
    if t.unseen > 0 && s.police {
        let _ = writeln!(out, "  unseen   {} packets passed while another processor looked at one", t.unseen);
    } else if t.unseen > 0 {
        let _ = writeln!(out, "  unseen   {} of the packets sent: when they left is estimated", t.unseen);
    }
    for (name, unit, value) in &s.variables {
        let _ = writeln!(out, "  {name:<8} {}", with_unit(*value, unit));
    }
    for (i, q) in s.queues.iter().enumerate() {
        let (sent, mean) = (q.stats.sent_packets, ms(q.stats.mean_sojourn_ns()));
        let _ = writeln!(
            out,
            "  queue {i:<2} sent {sent} packets, sojourn mean {mean:.3} ms, dropped {}",
            reasons(&q.stats.drops)
        );
    }
    for c in &s.classes {
        let share = c.share.map_or(String::new(), |share| format!(", share {:.1} %", share * 100.0));
        let (name, mean) = (format!("{} ({})", c.name, c.class), ms(c.mean_sojourn_ns()));
        let _ = writeln!(
            out,
            "  {name:<14} sent {} packets, sojourn mean {mean:.3} ms, dropped {}, waiting {}{share}",
            c.sent_packets, c.dropped, c.backlog_packets
        );
    }
    out
}

pub fn doctor(dev: Option<&str>) -> Result<(), Failure> {
    let mut out = String::new();
    let mut good = true;
    for finding in linux::doctor(dev)? {
        good &= finding.good;
        let _ =
            writeln!(out, "{} {:<9} {}", if finding.good { "ok" } else { "NO" }, finding.what, finding.found);
    }
    if good {
        out += "attach will work\n";
    }
    crate::print(&out)?;
    match good {
        true => Ok(()),
        false => Err(Failure::Run("attach will not work until the lines with NO are dealt with".into())),
    }
}

/// Says what was left behind, asks, and mends it.
pub fn repair(yes: bool) -> Result<(), Failure> {
    let faults = linux::faults()?;
    let out: String = faults.iter().map(|fault| fault.line("repair") + "\n").collect();
    if faults.iter().all(|fault| fault.mend.is_err()) {
        let end = if faults.is_empty() { "nothing is left behind" } else { "nothing to repair" };
        return crate::print(&format!("{out}{end}\n"));
    }
    crate::print(&out)?;
    if !yes {
        crate::print("repair it? [y/N] ")?;
        let mut answer = String::new();
        // At its end nobody has said yes.
        let _ = std::io::stdin().read_line(&mut answer);
        if !matches!(answer.trim(), "y" | "Y" | "yes") {
            return Err(Failure::Run("nothing was changed; --yes does not ask".into()));
        }
    }
    match linux::repair(&faults, yes, leave_keeper)? {
        left if left.is_empty() => crate::print("repaired\n"),
        left => Err(Failure::Run(left.join("; "))),
    }
}

/// Every parameter that the registry knows as an option of `attach`, but for the names that the port itself has.
impl clap::Args for Settings {
    fn augment_args(mut command: clap::Command) -> clap::Command {
        for (name, flag) in parameters() {
            let mut option = clap::Arg::new(name).long(name).hide(true).value_name("VALUE");
            if flag {
                option = option.num_args(0..=1).require_equals(true).default_missing_value("true");
            }
            command = command.arg(option);
        }
        command
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for Settings {
    fn from_arg_matches(matches: &clap::ArgMatches) -> Result<Self, clap::Error> {
        let given = parameters().into_iter().filter_map(|(name, _)| {
            matches.get_one::<String>(name).map(|value| (name.to_string(), value.clone()))
        });
        Ok(Settings(given.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &clap::ArgMatches) -> Result<(), clap::Error> {
        *self = clap::FromArgMatches::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Names of parameters, each once, and whether it is on or off.
fn parameters() -> Vec<(&'static str, bool)> {
    let all = queuewright_aqm::registry().iter().flat_map(|info| info.params);
    let mut names: Vec<_> =
        all.map(|p| (p.name, matches!(p.kind, queuewright_aqm::ParamKind::Flag))).collect();
    names.sort_unstable();
    names.dedup_by_key(|(name, _)| *name);
    names.retain(|(name, _)| !["rate", "limit", "overhead", "ingress", "police", "dry-run"].contains(name));
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use queuewright_aqm::Discipline;
    use queuewright_scenario::Scenario;

    /// What the lab gives to `attach` in words is what the run has, whatever it took from its link.
    #[test]
    fn variables_are_as_short_as_they_are_exact() {
        let said = [15_140_000.0, 0.0, 0.5, 0.000_001_4, 12.25].map(number);
        assert_eq!(said, ["15140000", "0", "0.5", "0.000001", "12.25"]);
    }

    #[test]
    fn every_parameter_survives_its_way_into_the_lab() {
        let flags = |aqm: &str| Flags {
            rate: Some("9999992bit".into()),
            rtt: Some("17.3ms".into()),
            flows: Some("3xcubic".into()),
            buffer: Some("45kb".into()),
            aqm: Some(aqm.into()),
            ..Flags::default()
        };
        let mut texts: Vec<String> = linux::names();
        texts
            .extend(["pie:alpha=0.3:target=1234567ns", "red:max=0.4bdp", "cobalt:ecn=false"].map(Into::into));
        for text in texts {
            let runs = Scenario::from_flags(&flags(&text)).and_then(|s| s.runs());
            let runs = runs.unwrap_or_else(|e| panic!("{e}"));
            let there = &runs[0].ports[0].discipline;
            let words = queuewright_lab::attach_words(there);
            let Ok(back) = spec(&words, 0) else { panic!("{words} is not understood") };
            let bytes = |spec: &Spec| Discipline::new(spec).params_bytes();
            assert_eq!(bytes(&back), bytes(there), "{words}");
        }
    }
}
