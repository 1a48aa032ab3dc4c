//! Ways out of a sandbox: each is held where the kernel can, and comes through without one.

use std::io::Read as _;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use grove_exec::{
    EndReason, EnforcedRestriction, Keeper, KeeperOrder, ProgramExit, Sandbox, Seclusion,
    StopTokens,
};
use grove_testkit::escapes::{ESCAPES, Escape};
use grove_testkit::need::Need;
use grove_testkit::needs;

pub(crate) fn python() -> PathBuf {
    Need::Python.path()
}

fn printed_by(script: &str) -> String {
    let said = Command::new(python()).args(["-c", script]).output();
    String::from_utf8(said.unwrap().stdout)
        .unwrap()
        .trim()
        .to_owned()
}

/// The version of the kernel's rules, asked without our own code; none on a kernel that has none.
pub(crate) fn rules_version() -> i64 {
    let script = "import ctypes; print(ctypes.CDLL(None).syscall(444, 0, 0, 1))";
    printed_by(script).parse().unwrap()
}

pub(crate) fn is_root() -> bool {
    printed_by("import os; print(os.geteuid())") == "0"
}

/// A process that lets everybody look into it, and files and listeners that are nobody's business.
pub(crate) struct Outside {
    python: PathBuf,
    folder: tempfile::TempDir,
    process: Child,
    tcp: TcpListener,
    udp: UdpSocket,
    _socket: UnixListener,
    _datagrams: UnixDatagram,
    _abstract: UnixListener,
}

impl Drop for Outside {
    fn drop(&mut self) {
        // It removes what it shares when nothing more comes.
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

impl Outside {
    pub(crate) fn new() -> Self {
        Self::with_python(python())
    }

    pub(crate) fn with_python(python_of_commands: PathBuf) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for (file, text) in [
            ("outside/file", "before"),
            ("outside/program", "#!/bin/sh\n"),
            ("home/.ssh/id", "a key"),
            ("home/.cargo/credentials.toml", "a token"),
            ("home/.cargo/config.toml", "settings"),
            (
                "home/.rustup/config.toml",
                "[registries.own]\ntoken = \"x\"\n",
            ),
            ("home/.julia/servers/host/auth.toml", "a token"),
            ("home/.claude/.credentials.json", "a token"),
            ("inside/own", "own"),
        ] {
            std::fs::create_dir_all(at(file).parent().unwrap()).unwrap();
            std::fs::write(at(file), text).unwrap();
        }
        let program = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(at("outside/program"), program).unwrap();
        // Where only children may be traced, it says that everybody may.
        let script = "import ctypes, os, sys; libc = ctypes.CDLL(None); libc.prctl(0x59616d61, ctypes.c_long(-1), 0, 0, 0); \
                      shared = libc.shmget(os.getpid(), 4096, 0o1600); print('ready', flush=True); sys.stdin.read(); libc.shmctl(shared, 0, None)";
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
            python: python_of_commands,
            process,
            tcp: TcpListener::bind("127.0.0.1:0").unwrap(),
            udp: UdpSocket::bind("127.0.0.1:0").unwrap(),
            _socket: UnixListener::bind(at("outside/socket")).unwrap(),
            _datagrams: UnixDatagram::bind(at("outside/datagrams")).unwrap(),
            _abstract: UnixListener::bind_addr(&name).unwrap(),
            folder,
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn arguments(&self) -> Vec<String> {
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

    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        let home = self.path("home").display().to_string();
        [("HOME", home), ("PATH", "/usr/bin:/bin".to_owned())]
            .map(|(name, value)| (name.to_owned(), value))
            .to_vec()
    }

    pub(crate) fn sandbox(&self, network: bool) -> Sandbox {
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
    async fn run(
        &self,
        program: &str,
        sandbox: Option<Sandbox>,
    ) -> (String, Vec<EnforcedRestriction>) {
        let keeper = Keeper::new(env!("CARGO_BIN_EXE_grove-test-keeper").into(), &[]).unwrap();
        self.run_with(&keeper, program, sandbox).await
    }

    /// What runs a program in Python.
    fn order(&self, program: &str, sandbox: Option<Sandbox>) -> KeeperOrder {
        let mut command = vec![self.python.display().to_string()];
        command.extend(["-IBc".to_owned(), program.to_owned()]);
        command.extend(self.arguments());
        let mark = format!("{}/1/1", self.arguments()[6]);
        KeeperOrder {
            command,
            environment: self.environment(),
            limit_ms: 60_000,
            sandbox,
            ..KeeperOrder::shell("", self.path("inside"), &mark)
        }
    }

    /// The same with another keeper.
    pub(crate) async fn run_with(
        &self,
        keeper: &Keeper,
        program: &str,
        sandbox: Option<Sandbox>,
    ) -> (String, Vec<EnforcedRestriction>) {
        let order = self.order(program, sandbox);
        let never = StopTokens::default();
        let end = keeper.run(&order, &never, |_| {}).await.unwrap();
        let text = end.output.text();
        assert_eq!(end.report.exit, ProgramExit::Code(0), "{text}");
        (text.trim().to_owned(), end.report.held)
    }
}

async fn is_held(escape: &Escape, network: bool) -> Result<(), String> {
    let outside = Outside::new();
    let sandbox = outside.sandbox(network);
    let (said, held) = outside.run(&escape.program(), Some(sandbox)).await;
    let expected: Vec<EnforcedRestriction> = EnforcedRestriction::ALL
        .into_iter()
        .filter(|it| !network || *it != EnforcedRestriction::Network)
        .collect();
    assert_eq!(held, expected, "{}", escape.name);
    match said.strip_prefix("HELD") {
        Some(_) => Ok(()),
        None => Err(format!("{}: {said}", escape.name)),
    }
}

#[tokio::test]
async fn every_way_out_is_held_and_leads_out_without_the_sandbox() {
    needs![Python];
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
    assert!(ESCAPES.len() >= 65 && compared >= 50);
    println!("{} held, {compared} lead out without it", ESCAPES.len());
}

#[tokio::test]
async fn with_the_network_only_the_network_is_open() {
    needs![Python];
    if rules_version() < 6 {
        println!("this kernel is older than what is shown here");
        return;
    }
    for (name, is_open) in [
        ("connect over TCP", true),
        ("listen on TCP", true),
        ("send over UDP", true),
        ("talk to the kernel over netlink", true),
        ("shared memory", true),
        ("the shared memory of a process", false),
        ("send to a socket with a path by a pair", false),
        ("connect to a socket with a path", false),
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
    needs![Python];
    let outside = Outside::new();
    let program = r"
import os, resource, signal, socket, subprocess, sys, tempfile, threading
HOME = sys.argv[2]
open('own').read(); open('new', 'w').write('x'); os.rename('new', 'renamed'); os.mkdir('folder')
open('/dev/null', 'w').write('x'); open('/dev/urandom', 'rb').read(1)
open(HOME + '/.cargo/config.toml').read()
os.chmod('renamed', 0o755); os.utime('renamed', (1, 1)); os.chown('renamed', os.geteuid(), os.getegid())
assert os.stat('renamed').st_mode & 0o777 == 0o755 and os.stat('renamed').st_mtime == 1
os.setxattr('renamed', 'user.grove', b'x'); os.link('renamed', 'other'); os.fchmod(os.open('other', os.O_RDONLY), 0o600)
one, other = socket.socketpair(); one.send(b'x'); other.recv(1)
child = subprocess.Popen(['sleep', '100']); os.kill(child.pid, signal.SIGKILL); child.wait()
open('/proc/%d/environ' % os.getpid()).read()
thread = threading.Thread(target=lambda: None); thread.start(); thread.join()
assert subprocess.run(['git', '--version'], stdout=subprocess.PIPE).returncode == 0
assert resource.getrlimit(resource.RLIMIT_CORE) == (0, 0)
assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == 8 << 30
assert 4096 <= resource.getrlimit(resource.RLIMIT_NPROC)[1] < 1 << 20
assert int(open('/proc/self/oom_score_adj').read()) == 800
print('FINE')
";
    let (said, _) = outside.run(program, Some(outside.sandbox(false))).await;
    assert_eq!(said, "FINE");
}

#[tokio::test]
async fn a_bound_tree_that_uses_too_much_is_ended() {
    needs![Python];
    let outside = Outside::new();
    let program = r"
import threading, time
threading.stack_size(65536)
try:
    for _ in range(4200):
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
except RuntimeError:
    print('refused', flush=True)
    import os; os._exit(0)
time.sleep(60)
";
    let order = outside.order(program, Some(outside.sandbox(false)));
    let keeper = Keeper::new(env!("CARGO_BIN_EXE_grove-test-keeper").into(), &[]).unwrap();
    let never = StopTokens::default();
    let end = keeper.run(&order, &never, |_| {}).await.unwrap();
    // Where the kernel counts for this user, it refuses first.
    let was_refused = end.output.text() == "refused\n";
    assert!(
        was_refused || end.report.why == EndReason::UsedTooMuch,
        "{end:?}"
    );
    assert!(
        was_refused || end.report.exit == ProgramExit::Signal(9),
        "{end:?}"
    );
}

#[tokio::test]
async fn with_the_home_as_its_folder_a_command_writes_nothing_that_others_run() {
    needs![Python];
    let outside = Outside::new();
    let read_at_start = [
        ".bashrc",
        ".zsh/own",
        ".gdbinit",
        ".cargo/env",
        ".config/Code/User/tasks.json",
        ".local/lib/python/site-packages/usercustomize.py",
        ".a-later-tool/settings",
    ];
    for file in read_at_start.iter().chain(&["project/own", ".gitignore"]) {
        let file = outside.path("home").join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "x").unwrap();
    }
    let state = outside.path("home/.local/state/grove");
    std::fs::create_dir_all(state.join("temporary")).unwrap();
    let home = outside.path("home");
    let seclusion = Seclusion::about(
        &[home.clone(), python().parent().unwrap().join("..")],
        std::slice::from_ref(&state),
        &outside.environment(),
    );
    let mut seclusion = seclusion;
    let prefix = printed_by("import sys; print(sys.base_prefix)");
    seclusion.reads.push(prefix.into());
    let sandbox = Sandbox {
        writes: vec![home, state.join("temporary")],
        seclusion: Some(seclusion),
    };
    let names = read_at_start.map(|name| format!("'{name}', ")).concat();
    let program = r"
import os, sys
HOME = sys.argv[2]
def tried(what, act):
    try:
        act(); print(what, 'done')
    except OSError:
        print(what, 'held')
def write(name):
    os.makedirs(os.path.dirname(HOME + '/' + name), exist_ok=True)
    open(HOME + '/' + name, 'a').write('x')
for name in ['project/own', 'project/new', '.gitignore', '.local/state/grove/temporary/x']:
    tried(name, lambda: write(name))
tried('mode', lambda: os.chmod(HOME + '/project/own', 0o600))
for name in [NAMES '.zshrc', '.ssh/authorized_keys', '.config/grove/config.toml', '.local/state/grove/ledger.key', '.claude/settings.json', '.local/bin/ls', '.gitconfig', '.cargo/config.toml']:
    tried(name, lambda: write(name))
tried('mode', lambda: os.chmod(HOME + '/.bashrc', 0o600))
tried('move', lambda: os.rename(HOME + '/.bashrc', HOME + '/project/x'))
tried('folder', lambda: os.rename(HOME + '/.local', HOME + '/project/y'))
";
    let program = program.replace("NAMES", &names);
    let (said, held) = outside.run(&program, Some(sandbox)).await;
    assert_eq!(held, EnforcedRestriction::ALL);
    let (open, closed) = said.split_at(said.find(".bashrc").unwrap());
    assert!(
        !open.contains("held") && open.lines().count() == 5,
        "{said}"
    );
    assert!(
        !closed.contains("done") && closed.lines().count() == 18,
        "{said}"
    );
}

#[tokio::test]
async fn a_link_that_was_put_in_the_place_of_a_folder_opens_nothing() {
    needs![Python];
    let outside = Outside::new();
    let place = outside.path("place");
    std::fs::create_dir(&place).unwrap();
    std::fs::write(place.join("file"), "x").unwrap();
    let program = r"
for act in [lambda: open('../place/file').read(), lambda: open('../place/new', 'w')]:
    try:
        act(); print('OUT')
    except OSError:
        print('HELD')
";
    for expected in ["OUT\nOUT", "HELD\nHELD"] {
        let mut sandbox = outside.sandbox(false);
        sandbox.writes.push(place.clone());
        sandbox.seclusion.as_mut().unwrap().work.push(place.clone());
        let (said, _) = outside.run(program, Some(sandbox)).await;
        assert_eq!(said, expected);
        if !place.is_symlink() {
            std::fs::rename(&place, outside.path("moved")).unwrap();
            std::os::unix::fs::symlink("outside", &place).unwrap();
        }
    }
}

#[tokio::test]
async fn a_folder_with_secrets_in_it_is_open_but_for_them() {
    needs![Python];
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
