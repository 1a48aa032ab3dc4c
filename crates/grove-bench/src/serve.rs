//! `cargo xtask bench serve`: how long a small request over MCP takes alone, and while `skills/list` of a thousand
//! skills is answered for another client; and what the server takes when no client asks, with agents watched.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use grove_testkit::library::GeneratedLibrary;
use serde_json::{Value, json};

use crate::samples::Samples;
use crate::start::{build_grove, isolated};
use crate::table::{self, number};
use grove_testkit::task::arguments::Arguments;
use grove_testkit::task::workspace;

const N_SKILLS: usize = 1_000;
const N_AGENTS: usize = 100;
/// The size of the file beside each skill, so that a whole list hashes 64 MiB.
const FILE_BYTES: usize = 64 << 10;
/// The time for which the idle server is watched.
const IDLE: Duration = Duration::from_secs(10);
/// The longest time that anything may take.
const LIMIT: Duration = Duration::from_mins(1);

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let n_runs: u32 = arguments.value("--runs")?.unwrap_or(100);
    arguments.finish()?;
    build_grove()?;
    let home = workspace::target().join("bench/serve-home");
    prepare(&home).map_err(|error| error.to_string())??;
    let server = Served::start(&home)?;
    let (client, other) = (Client::open(&server)?, Client::open(&server)?);
    let uri = client.first_skill()?;
    let small = || client.time("resources/read", &json!({ "uri": uri }));
    require_agents(&client)?;
    small()?;
    let ticks = server.ticks()?;
    std::thread::sleep(IDLE);
    let ticks = server.ticks()?.saturating_sub(ticks);

    let mut alone = Samples::default();
    for _ in 0..n_runs {
        alone.add(small()?);
    }
    let (mut beside, mut list) = (Samples::default(), Samples::default());
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let listing = scope.spawn(|| {
            let listed = other.list_all();
            is_over.store(true, Ordering::Relaxed);
            listed
        });
        while !is_over.load(Ordering::Relaxed) {
            beside.add(small()?);
        }
        let listed = listing.join().map_err(|_| "the listing failed")??;
        list.add(listed);
        Ok::<(), String>(())
    })?;
    println!("{N_SKILLS} skills with {FILE_BYTES} bytes beside each, {N_AGENTS} agents");
    let row = |name: &str, samples: &Samples| {
        vec![
            name.to_owned(),
            samples.len().to_string(),
            number(samples.minimum_ms()),
            number(samples.median_ms()),
        ]
    };
    let rows = [
        row("small request alone", &alone),
        row("small request during skills/list", &beside),
        row("skills/list, all pages", &list),
    ];
    table::print(&["", "runs", "min ms", "median ms"], &rows);
    println!(
        "idle: {ticks} ticks of processor time in {} s",
        IDLE.as_secs()
    );
    Ok(())
}

/// A home with skills that have files, and with agents.
fn prepare(home: &Path) -> std::io::Result<Result<(), String>> {
    fs::create_dir_all(home.join(".agents/agents"))?;
    let configuration = home.join(".config/grove");
    fs::create_dir_all(&configuration)?;
    // All of them, and not what a default offers.
    let limits = format!(
        "[limits]\ncandidates_per_root = {N_SKILLS}\nloaded_per_source = {}\n",
        N_SKILLS + 1
    );
    fs::write(configuration.join("config.toml"), limits)?;
    let library = match GeneratedLibrary::create(home.join(".agents/skills"), N_SKILLS) {
        Ok(library) => library,
        Err(error) => return Ok(Err(error)),
    };
    for index in 0..N_SKILLS {
        let file = library.skill_file(index).with_file_name("data.txt");
        if !file.exists() {
            fs::write(file, format!("{index:08}").repeat(FILE_BYTES / 8))?;
        }
    }
    for index in 0..N_AGENTS {
        let text = format!("---\nname: agent-{index}\ndescription: Agent {index}\n---\nText.\n");
        fs::write(home.join(format!(".agents/agents/agent-{index}.md")), text)?;
    }
    Ok(Ok(()))
}

/// A server that ends with this.
struct Served {
    process: Child,
    address: String,
    token: String,
}

impl Served {
    fn start(home: &Path) -> Result<Self, String> {
        let grove = workspace::target().join("release/grove");
        let mut command = isolated(&grove, home);
        command.args(["mcp", "--http"]).stderr(Stdio::piped());
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let mut process = command.spawn().map_err(|error| error.to_string())?;
        let said = process.stderr.take().ok_or("no stderr")?;
        let mut lines = BufReader::new(said).lines();
        let mut after = |start: &str| loop {
            let line = lines.next().ok_or("the server said nothing")?;
            let line = line.map_err(|error| error.to_string())?;
            if let Some((_, rest)) = line.split_once(start) {
                return Ok::<String, String>(rest.to_owned());
            }
        };
        let address = after("http://")?;
        let token = after("Bearer ")?;
        let address = address.trim_end_matches("/mcp").to_owned();
        Ok(Self {
            process,
            address,
            token,
        })
    }

    /// Processor time so far, in the kernel's ticks.
    fn ticks(&self) -> Result<u64, String> {
        let file = format!("/proc/{}/stat", self.process.id());
        let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
        let fields = text.rsplit_once(')').map_or("", |(_, fields)| fields);
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let number = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok());
        let times = number(11).zip(number(12));
        times
            .map(|(user, system)| user + system)
            .ok_or_else(|| format!("not a line of times: {text}"))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// One conversation, a connection for each message.
struct Client<'a> {
    server: &'a Served,
    session: String,
}

impl<'a> Client<'a> {
    fn open(server: &'a Served) -> Result<Self, String> {
        let hello = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": { "name": "bench", "version": "1" },
        });
        let mut client = Self {
            server,
            session: String::new(),
        };
        let answer = client.post(&request("initialize", &hello))?;
        let session = answer.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            let is_session = name.eq_ignore_ascii_case("mcp-session-id");
            is_session.then(|| value.trim().to_owned())
        });
        client.session = session.ok_or_else(|| format!("no session: {answer}"))?;
        client.post(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(client)
    }

    /// Sends a message; gives everything that comes back.
    fn post(&self, message: &Value) -> Result<String, String> {
        let body = message.to_string();
        let (address, token) = (&self.server.address, &self.server.token);
        let mut head = format!(
            "POST /mcp HTTP/1.0\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
             MCP-Protocol-Version: 2025-06-18\r\nContent-Length: {}\r\n",
            body.len()
        );
        if !self.session.is_empty() {
            head = format!("{head}Mcp-Session-Id: {}\r\n", self.session);
        }
        let talk = || {
            let mut stream = TcpStream::connect(address)?;
            stream.set_read_timeout(Some(LIMIT))?;
            stream.write_all(format!("{head}\r\n{body}").as_bytes())?;
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer)?;
            Ok::<_, std::io::Error>(String::from_utf8_lossy(&answer).into_owned())
        };
        talk().map_err(|error| format!("the server does not answer: {error}"))
    }

    fn ask(&self, method: &str, params: &Value) -> Result<Value, String> {
        let answer = self.post(&request(method, params))?;
        let mut results = answer.lines().rev().filter_map(|line| {
            let data = line.strip_prefix("data:").unwrap_or(line);
            let message: Value = serde_json::from_str(data.trim()).ok()?;
            message.get("result").cloned()
        });
        let result = results.next();
        result.ok_or_else(|| format!("{method} gave no result: {answer}"))
    }

    fn time(&self, method: &str, params: &Value) -> Result<Duration, String> {
        let start = Instant::now();
        self.ask(method, params)?;
        Ok(start.elapsed())
    }

    /// The address of a skill's text, as the server gives it.
    fn first_skill(&self) -> Result<Value, String> {
        let page = self.ask("resources/list", &json!({}))?;
        let resources = page["resources"].as_array().ok_or("no resources")?;
        let mut uris = resources.iter().map(|resource| resource["uri"].clone());
        let is_text = |uri: &Value| uri.as_str().is_some_and(|uri| uri.ends_with("/SKILL.md"));
        uris.find(is_text)
            .ok_or_else(|| "no skill is served".to_owned())
    }

    /// Every page of `skills/list`.
    fn list_all(&self) -> Result<Duration, String> {
        let start = Instant::now();
        let (mut cursor, mut found) = (Value::Null, 0);
        loop {
            let page = self.ask("skills/list", &json!({ "cursor": cursor }))?;
            found += page["skills"].as_array().map_or(0, Vec::len);
            cursor = page["nextCursor"].clone();
            if cursor.is_null() {
                break;
            }
        }
        // And those that come with the program.
        if found >= N_SKILLS {
            Ok(start.elapsed())
        } else {
            Err(format!("{found} skills instead of {N_SKILLS}"))
        }
    }
}

/// Fails if no agent is served, since such a server would be idle.
fn require_agents(client: &Client<'_>) -> Result<(), String> {
    let page = client.ask("prompts/list", &json!({}))?;
    let prompts = page["prompts"].as_array().ok_or("no prompts")?;
    let is_agent = |prompt: &&Value| {
        let name = prompt["name"].as_str();
        name.is_some_and(|name| name.starts_with("agent:"))
    };
    match prompts.iter().filter(is_agent).count() {
        0 => Err("no agent is served".to_owned()),
        _ => Ok(()),
    }
}

fn request(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}
