//! Ways out of a sandbox: each is held where the kernel can, and comes through without one.

use std::io::Read as _;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use grove_exec::{Exit, Held, Keeper, Order, Sandbox, Seclusion, StopTokens};
use grove_testkit::escapes::{ESCAPES, Escape};
use grove_testkit::need::Need;
use grove_testkit::needs;

const ALL: [Held; 5] = [
    Held::Writes,
    Held::Reads,
    Held::Network,
    Held::Signals,
    Held::SystemCalls,
];

fn python() -> PathBuf {
    Need::OraclePython.path()
}

fn printed_by(script: &str) -> String {
    let said = Command::new(python()).args(["-c", script]).output();
    String::from_utf8(said.unwrap().stdout)
        .unwrap()
        .trim()
        .to_owned()
}

/// The version of the kernel's rules, asked without our own code; none on a kernel that has none.
fn rules_version() -> i64 {
    let script = "import ctypes; print(ctypes.CDLL(None).syscall(444, 0, 0, 1))";
    printed_by(script).parse().unwrap()
}

fn is_root() -> bool {
    printed_by("import os; print(os.geteuid())") == "0"
}

/// A process that lets everybody look into it, and files and listeners that are nobody's business.
struct Outside {
    folder: tempfile::TempDir,
    process: Child,
    tcp: TcpListener,
    udp: UdpSocket,
    _socket: UnixListener,
    _abstract: UnixListener,
}

impl Drop for Outside {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Outside {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for (file, text) in [
            ("outside/file", "before"),
            ("outside/program", "#!/bin/sh\n"),
            ("home/.ssh/id", "a key"),
            ("home/.cargo/credentials.toml", "a token"),
            ("home/.cargo/config.toml", "settings"),
            ("home/.claude/.credentials.json", "a token"),
            ("inside/own", "own"),
        ] {
            std::fs::create_dir_all(at(file).parent().unwrap()).unwrap();
            std::fs::write(at(file), text).unwrap();
        }
        let program = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(at("outside/program"), program).unwrap();
        // Where only children may be traced, it says that everybody may.
        let script = "import ctypes; ctypes.CDLL(None).prctl(0x59616d61, ctypes.c_long(-1), 0, 0, 0); print('ready', flush=True); input()";
        let mut process = Command::new(python())
            .args(["-c", script])
            .env("SECRET", "of another process")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut ready = [0; 6];
        let said = process.stdout.as_mut().unwrap();
        said.read_exact(&mut ready).unwrap();
        let name = folder.path().file_name().unwrap().as_encoded_bytes();
        let name = SocketAddr::from_abstract_name(name).unwrap();
        Self {
            process,
            tcp: TcpListener::bind("127.0.0.1:0").unwrap(),
            udp: UdpSocket::bind("127.0.0.1:0").unwrap(),
            _socket: UnixListener::bind(at("outside/socket")).unwrap(),
            _abstract: UnixListener::bind_addr(&name).unwrap(),
            folder,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn arguments(&self) -> Vec<String> {
        let path = |name: &str| self.path(name).display().to_string();
        vec![
            path("outside"),
            path("home"),
            self.process.id().to_string(),
            self.tcp.local_addr().unwrap().port().to_string(),
            self.udp.local_addr().unwrap().port().to_string(),
            path("outside/socket"),
            self.folder
                .path()
                .file_name()
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned(),
        ]
    }

    fn environment(&self) -> Vec<(String, String)> {
        let home = self.path("home").display().to_string();
        [("HOME", home), ("PATH", "/usr/bin:/bin".to_owned())]
            .map(|(name, value)| (name.to_owned(), value))
            .to_vec()
    }

    fn sandbox(&self, network: bool) -> Sandbox {
        let inside = self.path("inside");
        let mut folders = vec![inside.clone(), python().parent().unwrap().join("..")];
        folders.push(printed_by("import sys; print(sys.base_prefix)").into());
        let seclusion = Seclusion::about(&folders, &[self.path("state")], &self.environment());
        Sandbox {
            writes: vec![inside],
            seclusion: Some(Seclusion {
                network,
                ..seclusion
            }),
        }
    }

    /// What a program in Python said, and what was held.
    async fn run(&self, program: &str, sandbox: Option<Sandbox>) -> (String, Vec<Held>) {
        let mut command = vec![python().display().to_string()];
        command.extend(["-IBc".to_owned(), program.to_owned()]);
        command.extend(self.arguments());
        let mark = format!("{}/1/1", self.arguments()[6]);
        let order = Order {
            command,
            environment: self.environment(),
            limit_ms: 60_000,
            sandbox,
            ..Order::shell("", self.path("inside"), &mark)
        };
        let keeper = Keeper::new(env!("CARGO_BIN_EXE_grove-test-keeper").into(), &[]).unwrap();
        let never = StopTokens::default();
        let end = keeper.run(&order, &never, |_| {}).await.unwrap();
        let text = end.output.text();
        assert_eq!(end.report.exit, Exit::Code(0), "{text}");
        (text.trim().to_owned(), end.report.held)
    }
}

async fn is_held(escape: &Escape, network: bool) -> Result<(), String> {
    let outside = Outside::new();
    let sandbox = outside.sandbox(network);
    let (said, held) = outside.run(&escape.program(), Some(sandbox)).await;
    let expected: Vec<Held> = ALL
        .into_iter()
        .filter(|it| !network || *it != Held::Network)
        .collect();
    assert_eq!(held, expected, "{}", escape.name);
    match said.strip_prefix("HELD") {
        Some(_) => Ok(()),
        None => Err(format!("{}: {said}", escape.name)),
    }
}

#[tokio::test]
async fn every_way_out_is_held_and_leads_out_without_the_sandbox() {
    needs![OraclePython];
    let version = rules_version();
    if version < 6 {
        println!("this kernel has rules of version {version}: signals are not held before 6");
        return;
    }
    let is_root = is_root();
    let (mut faults, mut compared) = (Vec::new(), 0);
    for escape in ESCAPES {
        faults.extend(is_held(escape, false).await.err());
        if escape.needs_root && !is_root {
            continue;
        }
        compared += 1;
        let (said, held) = Outside::new().run(&escape.program(), None).await;
        if said != "OUT" || !held.is_empty() {
            faults.push(format!("{} without a sandbox: {said}", escape.name));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
    assert!(ESCAPES.len() >= 25 && compared >= 25);
    println!("{} held, {compared} lead out without it", ESCAPES.len());
}

#[tokio::test]
async fn with_the_network_only_the_network_is_open() {
    needs![OraclePython];
    if rules_version() < 6 {
        println!("this kernel is older than what is shown here");
        return;
    }
    // A socket with a path is held where the kernel has rules on it.
    let path = rules_version() < 9;
    for (name, is_open) in [
        ("connect over TCP", true),
        ("listen on TCP", true),
        ("send over UDP", true),
        ("talk to the kernel over netlink", true),
        ("shared memory", true),
        ("connect to a socket with a path", path),
        ("connect to an abstract socket", false),
        ("raw sockets", false),
        ("packets", false),
        ("signal a process", false),
        ("trace a process", false),
        ("write to a file outside", false),
        ("read a key", false),
        ("io_uring", false),
    ] {
        let mut named = ESCAPES.iter().filter(|escape| escape.name == name);
        let result = is_held(named.next().unwrap(), true).await;
        assert_eq!(result.is_err(), is_open, "{name}: {result:?}");
    }
}

#[tokio::test]
async fn what_a_command_needs_is_left_to_it() {
    needs![OraclePython];
    let outside = Outside::new();
    let program = r"
import os, resource, signal, socket, subprocess, sys, tempfile, threading
HOME = sys.argv[2]
open('own').read(); open('new', 'w').write('x'); os.rename('new', 'renamed'); os.mkdir('folder')
open('/dev/null', 'w').write('x'); open('/dev/urandom', 'rb').read(1)
open(HOME + '/.cargo/config.toml').read()
one, other = socket.socketpair(); one.send(b'x'); other.recv(1)
child = subprocess.Popen(['sleep', '100']); os.kill(child.pid, signal.SIGKILL); child.wait()
open('/proc/%d/environ' % os.getpid()).read()
thread = threading.Thread(target=lambda: None); thread.start(); thread.join()
assert subprocess.run(['git', '--version'], stdout=subprocess.PIPE).returncode == 0
assert resource.getrlimit(resource.RLIMIT_CORE) == (0, 0)
assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == 8 << 30
print('FINE')
";
    let (said, _) = outside.run(program, Some(outside.sandbox(false))).await;
    assert_eq!(said, "FINE");
}

#[tokio::test]
async fn a_folder_with_secrets_in_it_is_open_but_for_them() {
    needs![OraclePython];
    let outside = Outside::new();
    std::fs::write(outside.path("home/plain"), "x").unwrap();
    std::fs::create_dir_all(outside.path("home/.config/gh")).unwrap();
    std::fs::write(outside.path("home/.config/gh/hosts"), "x").unwrap();
    std::fs::write(outside.path("home/.config/other"), "x").unwrap();
    std::os::unix::fs::symlink(outside.path("home/.ssh/id"), outside.path("home/link")).unwrap();
    let seclude = |hidden: &Path| {
        let mut sandbox = outside.sandbox(false);
        let seclusion = sandbox.seclusion.as_mut().unwrap();
        seclusion.reads.push(outside.path("home"));
        seclusion.hidden.push(hidden.to_path_buf());
        sandbox
    };
    let program = r"
import sys
for name in ['plain', '.config/other', '.config/gh/hosts', '.ssh/id', 'link', '.claude/.credentials.json']:
    try:
        open(sys.argv[2] + '/' + name).read(); print(name, 'read')
    except OSError:
        print(name, 'held')
";
    let hidden = outside.path("home/.config/other");
    let nothing = outside.path("nothing");
    for (hidden, other) in [(&nothing, "read"), (&hidden, "held")] {
        let (said, _) = outside.run(program, Some(seclude(hidden))).await;
        let expected = format!(
            "plain read\n.config/other {other}\n.config/gh/hosts held\n.ssh/id held\nlink held\n.claude/.credentials.json held"
        );
        assert_eq!(said, expected);
    }
}
