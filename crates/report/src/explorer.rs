//! Where the explorer has a scenario.

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine};
use queuewright_scenario::Scenario;
use std::path::Path;

/// The port at which `queuewright explore` serves the page, if it is free.
pub const EXPLORER_PORT: u16 = 9422;
/// Longest scenario that goes into an address, bytes.
const MOST_TEXT: usize = 64 << 10;

/// What stands behind the page's address for this scenario.
///
/// # Errors
/// Why a page cannot have it, in words that go on after a file's name.
pub fn explorer_fragment(scenario: &Scenario) -> Result<String, String> {
    if let Some(file) = scenario.files().first() {
        return Err(format!("it names {}, and a page reads no files", file.given));
    }
    let text = scenario.to_toml();
    match text.len() > MOST_TEXT {
        true => Err(format!("longer than {} kB, which an address may have", MOST_TEXT >> 10)),
        false => Ok(format!("#text={}", BASE64_URL_SAFE_NO_PAD.encode(text))),
    }
}

/// The page's address with the scenario of this text; none: a page cannot have it.
pub(crate) fn address(toml: &str) -> Option<String> {
    let scenario = Scenario::parse(toml, "scenario.toml", Path::new("")).ok()?;
    let fragment = explorer_fragment(&scenario).ok()?;
    Some(format!("http://127.0.0.1:{EXPLORER_PORT}/index.html{fragment}"))
}
