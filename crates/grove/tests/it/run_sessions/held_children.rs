//! What children are kept from: their commands as those that verify work, the home folder as a place, and values that were
//! written for somebody else.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixDatagram, UnixListener};

use grove_testkit::model_server::Reply;
use grove_testkit::needs;
use grove_testkit::session::{Session, USER_CONFIG};
use serde_json::{Value, json};

use super::acceptance::{last_run, worker};
use super::mcp_tools::with_server;
use super::{AGENT, KEY, bash, run, scene, server};

const OPEN: &str = "[runs]\nmodel = 'anthropic/m'\nsandbox = 'off'\n";
/// The parent of the keeper of a command.
const SUPERVISOR: &str = "$(sed 's/.*) . //; s/ .*//' /proc/$PPID/stat)";
const OTHER_KEY: &str = "sk-marker-of-another-provider";

#[test]
fn a_childs_commands_are_kept_from_what_verify_commands_are_kept_from() {
    needs![Python];
    let (_server, session) = worker();
    session.file("home/.ssh/id", "a key");
    session.file("home/other/file", "other work");
    let listener = UnixListener::bind(session.path("home/other/socket")).unwrap();
    let at = |name: &str| session.path(name).display().to_string();
    let connect = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])";
    let supervisor = SUPERVISOR;
    let send = "import socket, sys; socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b\"x\", sys.argv[1])";
    let pair = "import socket, sys; socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b\"x\", sys.argv[1])";
    let datagrams = UnixDatagram::bind(session.path("home/other/datagrams")).unwrap();
    session.grove(["run", "worker", "true"]).ok();
    let names = session.entries("state/grove");
    let log = names
        .iter()
        .find_map(|name| name.strip_prefix("supervisor-")?.strip_suffix(".log"));
    let supervisors_socket = format!("state/grove/supervisor-{}.socket", log.unwrap());
    let supervisors_socket = at(&supervisors_socket);
    let ways = [
        (
            "the supervisor's socket",
            format!("python3 -c '{send}' {supervisors_socket}"),
        ),
        ("a key", format!("cat {}", at("home/.ssh/id"))),
        (
            "the journal",
            format!("head -c 1 {}", at("state/grove/runs.db")),
        ),
        (
            "a file outside",
            format!("echo x >> {}", at("home/other/file")),
        ),
        (
            "a mode outside",
            format!("chmod 644 {}", at("home/other/file")),
        ),
        (
            "a time outside",
            format!("touch -d 2001-01-01 {}", at("home/other/file")),
        ),
        ("another process", format!("kill -CONT {supervisor}")),
        (
            "its environment",
            format!("tr '\\0' '\\n' < /proc/{supervisor}/environ | grep -q PATH"),
        ),
        (
            "a socket",
            format!("python3 -c '{connect}' {}", at("home/other/socket")),
        ),
        (
            "a socket by a pair",
            format!("python3 -c '{pair}' {}", at("home/other/datagrams")),
        ),
    ];
    for is_open in [false, true] {
        if is_open {
            session.file(USER_CONFIG, OPEN);
        }
        for (name, line) in &ways {
            let task = format!("rm -f out; {line} && echo yes > out");
            session.grove(["run", "worker", &task]).ok();
            assert_eq!(session.has("project/out"), is_open, "{name}");
        }
    }
    drop((listener, datagrams));
    // What its work needs is left to it.
    session.file(USER_CONFIG, "[runs]\nmodel = 'anthropic/m'\n");
    let task = "mkdir -p a && echo x > a/b && chmod 755 a/b && touch -d 2001-01-01 a/b && mv a/b out && test -w $TMPDIR && echo x > $TMPDIR/x && echo fine > fine";
    session.grove(["run", "worker", task]).ok();
    assert!(session.has("project/fine"));
}

#[test]
fn no_key_is_in_the_environment_of_a_supervisor() {
    let (_server, session) = worker();
    session.file(USER_CONFIG, OPEN);
    let task = format!("tr '\\0' '\\n' < /proc/{SUPERVISOR}/environ > seen; true");
    session.grove(["run", "worker", &task]).ok();
    let seen = session.read("project/seen");
    assert!(seen.contains("PATH=") && !seen.contains(KEY), "{seen}");
}

#[test]
fn the_home_folder_and_what_is_above_it_are_no_work_folders_without_a_word() {
    let (_server, session) = worker();
    let session = session.working_in("home");
    for cwd in [".", "..", "/", "../home/../.."] {
        let chain = json!([{ "agent": "worker", "cwd": cwd }]);
        let request = json!({ "task": "true", "chain": chain });
        session.file("home/request.json", request.to_string());
        let outcome = session.grove("run --request request.json").fails(2);
        outcome.says(["too broad", "allowHome"]);
    }
    session.dir("home/below");
    session
        .grove_in("home/below", ["run", "worker", "true"])
        .ok();
    let config = "[runs]\nmodel = 'anthropic/m'\nallowHome = true\n";
    session.file(USER_CONFIG, config);
    // Its own folders are out of reach all the same.
    let config = session
        .path("config/grove/config.toml")
        .display()
        .to_string();
    let task = format!("echo x >> {config}; echo x >> .bashrc; mkdir -p .ssh; true");
    session.grove(["run", "worker", &task]).ok();
    assert!(!session.has("home/.bashrc") && !session.has("home/.ssh"));
    assert!(!session.read(USER_CONFIG).contains('x'));
}

/// What other users may do with something in a folder, however deep.
fn open_to_others(folder: &std::path::Path) -> Vec<String> {
    let mut open = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let (path, metadata) = (entry.path(), entry.metadata().unwrap());
        let mode = metadata.permissions().mode() & 0o777;
        if mode & 0o077 != 0 && !metadata.is_symlink() {
            open.push(format!("{} {mode:o}", path.display()));
        }
        if metadata.is_dir() {
            open.extend(open_to_others(&path));
        }
    }
    open
}

fn mode(session: &Session, name: &str) -> u32 {
    let metadata = session.path(name).metadata().unwrap();
    metadata.permissions().mode() & 0o777
}

#[test]
fn the_journal_is_the_users_alone_also_one_that_was_made_for_all() {
    let (_server, session) = worker();
    session
        .grove(["run", "worker", "true", "--verify", "true"])
        .ok();
    assert_eq!(
        open_to_others(&session.path("state/grove")),
        Vec::<String>::new()
    );
    let files = ["runs.db", "runs.db-wal", "runs.db-shm"];
    let at = |name: &str| format!("state/grove/{name}");
    for made_open in [false, true] {
        if made_open {
            let set = |name: &str, mode: u32| {
                let mode = std::fs::Permissions::from_mode(mode);
                std::fs::set_permissions(session.path(name), mode).unwrap();
            };
            set("state/grove", 0o755);
            let there = files.map(at).into_iter().filter(|name| session.has(name));
            there.for_each(|name| set(&name, 0o644));
            session.grove("runs list").ok();
        }
        assert_eq!(mode(&session, "state/grove"), 0o700);
        for name in files.map(at).iter().filter(|name| session.has(name)) {
            assert_eq!(mode(&session, name), 0o600, "{name}");
        }
    }
}

#[test]
fn a_projects_skill_gets_the_values_of_an_entry_only_where_the_entry_says_so() {
    let skill = |name: &str, key: &str| {
        format!(
            "---\nname: {name}\ndescription: Pays.\nmetadata:\n  grove:\n    skillKey: {key}\n    primaryEnv: PAY_KEY\n---\nPay.\n"
        )
    };
    let entry = "[skills.entries.payments]\napi_key = 'marker-key-9876543210'\nenv = { PAY_TOKEN = 'marker-value-0123456789' }\n";
    for (place, name, may, has) in [
        ("project/.grove/skills/stolen", "stolen", false, false),
        ("project/.grove/skills/payments", "payments", false, false),
        ("project/.grove/skills/stolen", "stolen", true, true),
        ("home/.grove/skills/own", "own", false, true),
    ] {
        let server = server(vec![bash("env > seen"), Reply::text("Done.")]);
        let session = scene(&server).with_repository();
        session.file(format!("{place}/SKILL.md"), skill(name, "payments"));
        let word = if may { "project = true\n" } else { "" };
        session.file(USER_CONFIG, format!("{entry}{word}"));
        let fields = format!("tools: bash, write, read\nskills: {name}\n");
        session.definition(AGENT, &fields, "You work.");
        session.trust();
        session.grove(run("Pay", &[])).ok();
        let seen = session.read("project/seen");
        assert_eq!(seen.contains("PAY_TOKEN"), has, "{place} {may}: {seen}");
        assert_eq!(seen.contains("PAY_KEY"), has, "{place} {may}: {seen}");
    }
}

#[test]
fn keys_of_other_providers_are_masked() {
    let server = server(vec![
        Reply::call("read", json!({ "path": "keys.txt" })),
        Reply::text("Done."),
    ]);
    let session = scene(&server).with_env("OPENAI_API_KEY", OTHER_KEY);
    session.file("home/key", "marker-in-a-file-0123456789\n");
    let home = session.path("home/key").display().to_string();
    session.file(
        USER_CONFIG,
        format!("[providers.own]\napi = 'openai-chat'\nbase_url = 'http://127.0.0.1:1/v1'\nkey = {{ file = '{home}' }}\nmodels = ['x']\n"),
    );
    session.file(
        "project/keys.txt",
        format!("a {OTHER_KEY} b marker-in-a-file-0123456789 c"),
    );
    session.grove(run("Read", &[])).ok();
    let body = String::from_utf8(server.requests()[1].body.clone()).unwrap();
    assert!(
        body.contains("a *** b *** c") && !body.contains("marker-in"),
        "{body}"
    );
}

#[test]
fn what_a_server_says_of_its_tools_is_masked() {
    needs![Python];
    let server = server(vec![Reply::text("Done.")]);
    let session = with_server(&server, &["python3", "bad.py", "tells"], "mcp:it", 60_000);
    session.grove(run("Look", &[])).ok();
    let body: Value = server.requests()[0].json();
    let tools = body["tools"].to_string();
    assert!(
        tools.contains("token ***") && !tools.contains("marker-of-the-server"),
        "{tools}"
    );
}

#[test]
fn a_run_that_requires_a_sandbox_is_refused_where_something_would_not_be_held() {
    let (_server, session) = worker();
    session
        .grove(["run", "worker", "true", "--require-sandbox"])
        .ok();
    assert_eq!(last_run(&session)["state"], "complete");
    session.file(USER_CONFIG, OPEN);
    let outcome = session
        .grove(["run", "worker", "true", "--require-sandbox"])
        .fails(1);
    outcome.says(["runs.sandbox"]);
}

/// Becomes an ordinary user, or takes away some calls, and then becomes the program.
const BEFORE: &str = r"
import ctypes, os, struct, sys
user, calls, words = sys.argv[1] == 'user', [int(it) for it in sys.argv[2].split(',') if it], sys.argv[3:]
libc = ctypes.CDLL(None)
if user and os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
if calls:
    code = [(0x20, 0, 0, 0)] + [step for it in calls for step in [(0x15, 0, 1, it), (0x06, 0, 0, 0x00050000 | 38)]] + [(0x06, 0, 0, 0x7fff0000)]
    held = ctypes.create_string_buffer(b''.join(struct.pack('HBBI', *it) for it in code))
    program = ctypes.create_string_buffer(struct.pack('HxxxxxxQ', len(code), ctypes.addressof(held)))
    assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program) == 0
os.execv(words[0], words)
";

/// The call for rules on files.
const LANDLOCK: &str = "444";
const UNSHARE: &str = if cfg!(target_arch = "x86_64") {
    "272"
} else {
    "97"
};

/// Whether every user can start a program.
fn is_open_to_others(program: &std::path::Path) -> bool {
    let mode = |path: &std::path::Path| path.metadata().map_or(0, |it| it.permissions().mode());
    program.ancestors().all(|path| mode(path) & 1 == 1)
}

#[test]
fn on_a_lesser_kernel_a_ledger_says_what_was_not_held_and_a_required_sandbox_refuses() {
    needs![Python];
    let neither = format!("{LANDLOCK},{UNSHARE}");
    let is_root = rustix::process::geteuid().is_root();
    for (user, calls, missing) in [
        ("", LANDLOCK, &["writes", "reads", "signals"][..]),
        ("", UNSHARE, &["attributes"]),
        (
            "",
            neither.as_str(),
            &["writes", "reads", "signals", "attributes"],
        ),
        ("user", LANDLOCK, &["writes", "reads", "signals"]),
        (
            "user",
            neither.as_str(),
            &["writes", "reads", "signals", "attributes"],
        ),
    ] {
        let (_server, session) = worker();
        if is_root && user == "user" {
            if !is_open_to_others(session.program()) || !is_open_to_others(&session.path("")) {
                println!("not shown here: another user cannot run the program");
                continue;
            }
            let own = std::process::Command::new("chown")
                .args(["-R", "65534:65534"])
                .arg(session.path(""))
                .status();
            assert!(own.unwrap().success());
        }
        let grove = |words: &[&str]| {
            let mut command = std::process::Command::new("/usr/bin/env");
            command.env_clear().current_dir(session.path("project"));
            for (name, value) in session.command("project").get_envs() {
                command.envs(value.map(|value| (name, value)));
            }
            command.args(["python3", "-IBc", BEFORE, user, calls]);
            command.arg(session.program()).args(words);
            grove_testkit::process::capture(&mut command, grove_testkit::process::HANGING).unwrap()
        };
        let refused = grove(&["run", "worker", "true", "--require-sandbox"]);
        let said = refused.stderr_text();
        assert!(!refused.success(), "{user} {calls}: {said}");
        let expected = format!("this system cannot hold: {}", missing.join(", "));
        let has_all = missing.iter().all(|word| said.contains(word));
        assert!(
            said.contains("this system cannot hold") && has_all,
            "{expected}: {said}"
        );
        let done = grove(&["run", "worker", "true", "--verify", "true"]);
        assert!(done.success(), "{user} {calls}: {}", done.stderr_text());
        let listed = grove(&["runs", "list", "--json"]).stdout_text();
        let listed: Value = serde_json::from_str(&listed).unwrap();
        let id = listed["runs"][0]["id"].as_str().unwrap();
        let ledger = grove(&["runs", "ledger", id, "--json"]);
        let ledger: Value = serde_json::from_str(&ledger.stdout_text())
            .unwrap_or_else(|error| panic!("{error}: {user} {calls}: {}", ledger.stderr_text()));
        let held = ledger["nodes"][0]["checks"][0]["sandbox"].to_string();
        for word in missing {
            assert!(!held.contains(word), "{user} {calls}: {held}");
        }
        assert!(held.contains("network"), "{user} {calls}: {held}");
    }
}
