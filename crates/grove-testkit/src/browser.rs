//! A browser for tests: Chromium without a window, driven through a small script for Node.
//!
//! Waiting is the browser's: a click waits for the element, and a text for the page that shows it.
#![expect(
    clippy::missing_panics_doc,
    clippy::panic,
    reason = "a test that cannot go on should fail with the reason"
)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use crate::need::Need;

const DRIVER: &str = include_str!("browser.mjs");

/// A browser. It ends when this and all of its pages are dropped.
#[derive(Debug, Clone)]
pub struct Browser(Arc<Mutex<Driver>>);

#[derive(Debug)]
struct Driver {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    _folder: tempfile::TempDir,
}

/// How a browser shows pages.
#[derive(Debug, Clone, Copy)]
pub struct BrowserLook {
    /// Whether the person prefers dark pages.
    pub dark: bool,
    /// The width of the window.
    pub width: u32,
    /// Whether scripts of pages run.
    pub script: bool,
}

impl Default for BrowserLook {
    fn default() -> Self {
        Self {
            dark: false,
            width: 1_400,
            script: true,
        }
    }
}

/// The pages of one person: they share cookies.
#[derive(Debug, Clone)]
pub struct BrowserPerson {
    browser: Browser,
    number: Value,
}

/// A page.
#[derive(Debug)]
pub struct BrowserPage {
    browser: Browser,
    number: Value,
}

impl Browser {
    /// Starts a browser. The test has to need `Chromium`, `Node`, `Playwright` and `Axe`.
    #[track_caller]
    pub fn start() -> Self {
        let folder = done(tempfile::tempdir());
        let driver = folder.path().join("browser.mjs");
        done(std::fs::write(&driver, DRIVER));
        let mut command = Command::new(Need::Node.path());
        command
            .arg(driver)
            .args([
                Need::Playwright.path(),
                Need::Axe.path(),
                Need::Chromium.path(),
            ])
            .env("HOME", folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut process = done(command.spawn());
        let (input, output) = (process.stdin.take(), process.stdout.take());
        let output = output.unwrap_or_else(|| panic!("the driver has no output"));
        Self(Arc::new(Mutex::new(Driver {
            process,
            input,
            output: BufReader::new(output),
            _folder: folder,
        })))
    }

    /// A person with no cookies.
    #[track_caller]
    pub fn person(&self, look: BrowserLook) -> BrowserPerson {
        let scheme = if look.dark { "dark" } else { "light" };
        let number = self.ask(&json!({
            "do": "context", "scheme": scheme, "width": look.width, "height": 900, "script": look.script,
        }));
        BrowserPerson {
            browser: self.clone(),
            number,
        }
    }

    #[track_caller]
    fn ask(&self, command: &Value) -> Value {
        match self.try_ask(command) {
            Ok(value) => value,
            Err(why) => panic!("{command}: {why}"),
        }
    }

    fn try_ask(&self, command: &Value) -> Result<Value, String> {
        let mut driver = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let input = driver.input.as_mut().ok_or("the driver has ended")?;
        writeln!(input, "{command}").map_err(|error| error.to_string())?;
        let mut line = String::new();
        let read = driver.output.read_line(&mut line);
        read.map_err(|error| error.to_string())?;
        let mut answer: Value = serde_json::from_str(&line).map_err(|error| error.to_string())?;
        match answer["error"].as_str() {
            Some(error) => Err(error.to_owned()),
            None => Ok(answer["value"].take()),
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.input = None;
        let _ = self.process.wait();
    }
}

#[track_caller]
fn done<T>(result: std::io::Result<T>) -> T {
    result.unwrap_or_else(|error| panic!("the browser cannot be driven: {error}"))
}

impl BrowserPerson {
    /// A new page.
    #[track_caller]
    pub fn page(&self) -> BrowserPage {
        let number = self
            .browser
            .ask(&json!({ "do": "page", "context": self.number }));
        BrowserPage {
            browser: self.browser.clone(),
            number,
        }
    }
}

impl BrowserPage {
    #[track_caller]
    fn ask(&self, mut command: Value) -> Value {
        command["page"] = self.number.clone();
        match self.browser.try_ask(&command) {
            Ok(value) => value,
            Err(why) => {
                let shown = json!({ "do": "evaluate", "script": "document.body.innerText", "page": self.number });
                let shown = self.browser.try_ask(&shown).unwrap_or_default();
                let shown = shown.as_str().unwrap_or_default().to_owned();
                panic!("{command}: {why}\nthe page:\n{shown}");
            }
        }
    }

    /// Opens an address, and returns the status of the answer.
    #[track_caller]
    pub fn open(&self, url: &str) -> u64 {
        self.ask(json!({ "do": "open", "url": url }))
            .as_u64()
            .unwrap_or(0)
    }

    /// Opens an address that may not answer; the error says how it failed.
    pub fn try_open(&self, url: &str) -> Result<u64, String> {
        let command = json!({ "do": "open", "url": url, "page": self.number });
        let status = self.browser.try_ask(&command)?;
        Ok(status.as_u64().unwrap_or(0))
    }

    /// Loads the page again.
    #[track_caller]
    pub fn reload(&self) {
        self.ask(json!({ "do": "reload" }));
    }

    /// The address of the page.
    #[track_caller]
    pub fn address(&self) -> String {
        let address = self.ask(json!({ "do": "address" }));
        address.as_str().unwrap_or_default().to_owned()
    }

    /// Clicks the first element of a selector, once it is there.
    #[track_caller]
    pub fn click(&self, selector: &str) {
        self.ask(json!({ "do": "click", "selector": selector }));
    }

    /// Writes into the first field of a selector.
    #[track_caller]
    pub fn fill(&self, selector: &str, text: &str) {
        self.ask(json!({ "do": "fill", "selector": selector, "text": text }));
    }

    /// Chooses an option of a list.
    #[track_caller]
    pub fn select(&self, selector: &str, option: &str) {
        self.ask(json!({ "do": "select", "selector": selector, "text": option }));
    }

    /// Presses a key.
    #[track_caller]
    pub fn press(&self, key: &str) {
        self.ask(json!({ "do": "press", "key": key }));
    }

    /// Types a text where the keyboard is.
    #[track_caller]
    pub fn type_text(&self, text: &str) {
        self.ask(json!({ "do": "type", "text": text }));
    }

    /// Waits until an element of a selector has a text; any text if none is given.
    #[track_caller]
    pub fn wait(&self, selector: &str, text: &str) {
        self.ask(json!({ "do": "wait", "selector": selector, "text": text }));
    }

    /// Waits until there is no element of a selector.
    #[track_caller]
    pub fn gone(&self, selector: &str) {
        self.ask(json!({ "do": "gone", "selector": selector }));
    }

    /// The text of the first element of a selector, as a person sees it.
    #[track_caller]
    pub fn text(&self, selector: &str) -> String {
        let text = self.ask(json!({ "do": "text", "selector": selector }));
        text.as_str().unwrap_or_default().to_owned()
    }

    /// What an expression of the page's own language comes to.
    #[track_caller]
    pub fn evaluate(&self, script: &str) -> Value {
        self.ask(json!({ "do": "evaluate", "script": script }))
    }

    /// Writes a picture of the whole page.
    #[track_caller]
    pub fn picture(&self, path: &Path) {
        self.ask(json!({ "do": "picture", "path": path }));
    }

    /// What the page wrote to its console: also every violation of its policy.
    #[track_caller]
    pub fn said(&self) -> Vec<String> {
        let said = self.ask(json!({ "do": "said" }));
        let lines = said.as_array().into_iter().flatten();
        lines
            .filter_map(|line| line.as_str().map(str::to_owned))
            .collect()
    }

    /// The findings of axe-core about the page that are serious.
    #[track_caller]
    pub fn serious_findings(&self) -> Vec<Value> {
        let found = self.ask(json!({ "do": "axe" }));
        let found = found.as_array().into_iter().flatten();
        let is_serious =
            |one: &&Value| matches!(one["impact"].as_str(), Some("serious" | "critical"));
        found.filter(is_serious).cloned().collect()
    }
}

impl Drop for BrowserPage {
    fn drop(&mut self) {
        let _ = self
            .browser
            .try_ask(&json!({ "do": "close", "page": self.number }));
    }
}
