//! Any bytes are what a client says to `grove mcp`: every line is answered or passed over, nothing panics, and what is
//! answered is one JSON-RPC message a line.
//!
//! What is said comes after a handshake, unless it begins with `!`: then it is the first that the server hears.

use std::sync::LazyLock;
use std::time::Duration;

use grove_server::Server;
use grove_skills::live::LiveLibrary;
use grove_skills::{DiscoveryRequest, DiscoveryView, Environment};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::runtime::Runtime;

const HANDSHAKE: &str = r#"{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"fuzz","version":"0"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
"#;

/// How long an answer is waited for: some requests never get one, such as those that were cancelled.
const PATIENCE: Duration = Duration::from_millis(20);

/// More than is asked and answered at once, so that neither side waits for the other to read.
const BUFFER: usize = 8 << 20;

/// A group, a branch, a skill with arguments and files, and one that is for people alone.
const LIBRARY: [(&str, &str); 9] = [
    (
        "pdf/SKILL.md",
        "---\nname: pdf\ndescription: Fills forms.\narguments: [file]\n---\nFill $file with $ARGUMENTS in {baseDir}.\n",
    ),
    ("pdf/scripts/fill.py", "print()\n"),
    (
        "web/fetch/SKILL.md",
        "---\nname: fetch\ndescription: Fetches pages.\n---\nFetch.\n",
    ),
    (
        "web/post/SKILL.md",
        "---\nname: post\ndescription: Posts pages.\ndisable-model-invocation: true\n---\nPost.\n",
    ),
    (
        "web/crawl/SKILL.md",
        "---\nname: crawl\ndescription: Follows links.\n---\nCrawl.\n",
    ),
    (
        "web/parse/SKILL.md",
        "---\nname: parse\ndescription: Parses pages.\n---\nParse.\n",
    ),
    (
        "docs/SKILL.md",
        "---\nname: docs\ndescription: Writes.\nmetadata:\n  children: \"*\"\n---\nWrite.\n",
    ),
    (
        "docs/word/SKILL.md",
        "---\nname: word\ndescription: Writes letters.\n---\nWrite a letter.\n",
    ),
    (
        "docs/slides/SKILL.md",
        "---\nname: slides\ndescription: Writes slides.\n---\nWrite slides.\n",
    ),
];

static SERVER: LazyLock<Server> = LazyLock::new(|| {
    let home = super::home();
    let root = home.join("skills");
    for (path, text) in LIBRARY {
        super::write(&root.join(path), text);
    }
    let request = DiscoveryRequest {
        view: DiscoveryView::Folders(vec![root]),
        ..DiscoveryRequest::default()
    };
    let environment = Environment::for_home(home.clone(), home);
    Server::new(LiveLibrary::start(environment, request).into())
});

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder
        .max_blocking_threads(2)
        .enable_time()
        .build()
        .unwrap()
});

pub(crate) fn check(bytes: &[u8]) {
    let said = match bytes.strip_prefix(b"!") {
        Some(raw) => raw.to_vec(),
        None => [HANDSHAKE.as_bytes(), bytes, b"\n"].concat(),
    };
    RUNTIME.block_on(converse(&said));
}

async fn converse(said: &[u8]) {
    let (ours, theirs) = tokio::io::duplex(BUFFER);
    let (from, to) = tokio::io::split(theirs);
    let talking = tokio::spawn(SERVER.talk(from, to));
    let (heard, mut say) = tokio::io::split(ours);
    // A server that hung up does not hear the rest.
    let _ = say.write_all(said).await;
    let mut open = said
        .split(|byte| *byte == b'\n')
        .filter(|line| is_request(line))
        .count();
    let mut lines = BufReader::new(heard).lines();
    while open > 0 {
        let Ok(Ok(Some(line))) = tokio::time::timeout(PATIENCE, lines.next_line()).await else {
            break;
        };
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["jsonrpc"], "2.0", "{line}");
        let is_answer = answer.get("result").is_some() != answer.get("error").is_some();
        assert!(is_answer || answer.get("method").is_some(), "{line}");
        open -= usize::from(is_answer);
    }
    let _ = say.shutdown().await;
    let _ = talking.await.unwrap();
}

fn is_request(line: &[u8]) -> bool {
    let message: Value = serde_json::from_slice(line).unwrap_or_default();
    message["method"].is_string() && (message["id"].is_string() || message["id"].is_u64())
}
