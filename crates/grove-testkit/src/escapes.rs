//! Ways out of a sandbox, each a small program that says whether it came through.
//!
//! A program prints `OUT` when it reached what it must not reach and `HELD` with the error when the kernel refused; each is
//! also run without a sandbox, where it has to come through.

/// One way out.
#[derive(Debug, Clone, Copy)]
pub struct Escape {
    /// What it is.
    pub name: &'static str,
    /// Whether only root comes through without a sandbox.
    pub needs_root: bool,
    /// The program, in Python, after [`PRELUDE`].
    pub script: &'static str,
}

const fn user(name: &'static str, script: &'static str) -> Escape {
    Escape {
        name,
        needs_root: false,
        script,
    }
}

const fn root(name: &'static str, script: &'static str) -> Escape {
    Escape {
        name,
        needs_root: true,
        script,
    }
}

/// What every program begins with. `OUTSIDE` and `HOME` are folders, `PID` a process whose number names memory that it shares,
/// `TCP` and `UDP` ports, `SOCKET`, `DATAGRAMS` and `ABSTRACT` listeners that are nobody's business here; the folder that it runs
/// in is its own.
pub const PRELUDE: &str = r"
import ctypes, os, signal, socket, struct, sys
OUTSIDE, HOME, PID, TCP, UDP, SOCKET, ABSTRACT = sys.argv[1:8]
PID, TCP, UDP = int(PID), int(TCP), int(UDP)
FILE, DATAGRAMS = OUTSIDE + '/file', OUTSIDE + '/datagrams'
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def call(number, *arguments):
    wide = [ctypes.c_long(it) if isinstance(it, int) else it for it in arguments]
    result = libc.syscall(ctypes.c_long(number), *wide)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
X86 = os.uname().machine == 'x86_64'
def number(x86, others):
    return x86 if X86 else others
NEWUSER = 0x10000000
def made(name, act, bits=0):
    os.umask(0)
    act()
    if os.stat(name).st_mode & bits != bits:
        raise OSError('without the bits')
def attempt():
";

/// What every program ends with.
pub const POSTLUDE: &str = r"
try:
    attempt()
    print('OUT')
except OSError as error:
    print('HELD', error)
";

impl Escape {
    /// The whole program.
    pub fn program(&self) -> String {
        let body = self.script.trim_matches('\n').lines();
        let body: Vec<String> = body.map(|line| format!("    {line}")).collect();
        format!("{PRELUDE}{}\n{POSTLUDE}", body.join("\n"))
    }
}

/// Programs that need nothing but the kernel's leave.
pub const ESCAPES: &[Escape] = &[
    // Writing.
    user(
        "write a new file outside",
        "open(OUTSIDE + '/new', 'w').close()",
    ),
    user("write to a file outside", "open(FILE, 'a').write('x')"),
    user("empty a file outside", "os.truncate(FILE, 0)"),
    user(
        "write through a link",
        "os.symlink(FILE, 'link'); open('link', 'a').write('x')",
    ),
    user(
        "write through a descriptor of a path",
        "held = os.open(FILE, os.O_PATH); open('/proc/self/fd/%d' % held, 'a').write('x')",
    ),
    user(
        "write through the root of another process",
        "open('/proc/%d/root%s' % (PID, FILE), 'a').write('x')",
    ),
    user(
        "rename a file to the outside",
        "open('mine', 'w').close(); os.rename('mine', OUTSIDE + '/mine')",
    ),
    user("rename a file from the outside", "os.rename(FILE, 'taken')"),
    user(
        "hard link to a file outside",
        "os.link(FILE, 'hard'); open('hard', 'a').write('x')",
    ),
    user("remove a file outside", "os.unlink(FILE)"),
    user("make a folder outside", "os.mkdir(OUTSIDE + '/folder')"),
    user("make a pipe outside", "os.mkfifo(OUTSIDE + '/pipe')"),
    root(
        "make a device",
        "os.mknod('device', 0o600 | 0o020000, os.makedev(1, 1))",
    ),
    // Modes, owners, times and attributes.
    user("change the mode of a file outside", "os.chmod(FILE, 0o644)"),
    user(
        "change the mode of a folder outside",
        "os.chmod(OUTSIDE, 0o777)",
    ),
    user(
        "change a mode through a link",
        "os.symlink(FILE, 'link'); os.chmod('link', 0o644)",
    ),
    user(
        "change a mode through a descriptor of a path",
        "os.chmod('/proc/self/fd/%d' % os.open(FILE, os.O_PATH), 0o644)",
    ),
    user(
        "change a mode by the newest call",
        "call(452, -100, ctypes.c_char_p(FILE.encode()), 0o644, 0)",
    ),
    user(
        "change the group of a file outside",
        "os.chown(FILE, -1, os.getegid())",
    ),
    root("change the owner of a file outside", "os.chown(FILE, 1, 1)"),
    user(
        "change the times of a file outside",
        "os.utime(FILE, (1, 1))",
    ),
    user("change the times of a folder outside", "os.utime(OUTSIDE)"),
    user(
        "give a file outside an attribute",
        "os.setxattr(FILE, 'user.grove', b'x')",
    ),
    user(
        "make an own file set-user-ID",
        "made('own', lambda: open('own', 'w').close()); made('own', lambda: os.chmod('own', 0o4755), 0o4000)",
    ),
    user(
        "make an own file set-group-ID",
        "made('own', lambda: open('own', 'w').close()); made('own', lambda: os.chmod('own', 0o2755), 0o2000)",
    ),
    user(
        "make an own file set-user-ID through a descriptor",
        "held = os.open('own', os.O_CREAT | os.O_WRONLY); made('own', lambda: os.fchmod(held, 0o4755), 0o4000)",
    ),
    user(
        "make an own file set-user-ID by the newest call",
        "made('own', lambda: open('own', 'w').close())\nmade('own', lambda: call(452, -100, ctypes.c_char_p(b'own'), 0o4755, 0), 0o4000)",
    ),
    user(
        "make a new file that is set-user-ID",
        "made('new', lambda: os.open('new', os.O_CREAT | os.O_WRONLY, 0o4755), 0o4000)",
    ),
    user(
        "make a new file that is set-user-ID by another call",
        "made('new', lambda: os.mknod('new', 0o104755), 0o4000)",
    ),
    user(
        "make a new file that is set-user-ID by the newer call",
        "how = ctypes.create_string_buffer(struct.pack('QQQ', os.O_CREAT | os.O_WRONLY, 0o4755, 0))\nmade('new', lambda: call(437, -100, ctypes.c_char_p(b'new'), how, 24), 0o4000)",
    ),
    root(
        "give an own program capabilities",
        "made('own', lambda: open('own', 'w').close())\nos.setxattr('own', 'security.capability', struct.pack('<IIIII', 0x02000001, 0x400, 0, 0, 0))",
    ),
    // Reading.
    user("read a file of another work", "open(FILE).read()"),
    user("list a folder of another work", "os.listdir(OUTSIDE)"),
    user("read a key", "open(HOME + '/.ssh/id').read()"),
    user(
        "read a key through a link",
        "os.symlink(HOME + '/.ssh/id', 'id'); open('id').read()",
    ),
    user(
        "read what a tool chain signs in with",
        "open(HOME + '/.cargo/credentials.toml').read()",
    ),
    user(
        "read settings with a token",
        "open(HOME + '/.rustup/config.toml').read()",
    ),
    user(
        "read what a registry of packages signs in with",
        "open(HOME + '/.julia/servers/host/auth.toml').read()",
    ),
    user(
        "read what an agent program signs in with",
        "open(HOME + '/.claude/.credentials.json').read()",
    ),
    user(
        "run a program outside",
        "os.posix_spawn(OUTSIDE + '/program', ['program'], {})",
    ),
    root(
        "read the passwords of the system",
        "open('/etc/shadow').read()",
    ),
    root(
        "open a file by its number",
        r"
handle = ctypes.create_string_buffer(struct.pack('Ii', 128, 0) + bytes(128))
mount = ctypes.c_int()
call(number(303, 264), -100, ctypes.c_char_p(FILE.encode()), handle, ctypes.byref(mount), 0)
folder = os.open(OUTSIDE, os.O_PATH | os.O_DIRECTORY)
root = os.open('/proc/self/root' + OUTSIDE, os.O_RDONLY)
os.read(call(number(304, 265), root, handle, os.O_RDONLY), 1)
",
    ),
    // Other processes.
    user("signal a process", "os.kill(PID, signal.SIGCONT)"),
    user(
        "signal a process by a descriptor",
        "signal.pidfd_send_signal(os.pidfd_open(PID), signal.SIGCONT)",
    ),
    user(
        "trace a process",
        "call(number(101, 117), 0x4206, PID, 0, 0)",
    ),
    user(
        "open the memory of a process",
        "open('/proc/%d/mem' % PID, 'rb')",
    ),
    user(
        "read the environment of a process",
        "open('/proc/%d/environ' % PID, 'rb').read()",
    ),
    user(
        "copy the memory of a process",
        r"
maps = open('/proc/%d/maps' % PID).readline()
begin = int(maps.split('-')[0], 16)
buffer = ctypes.create_string_buffer(8)
vector = lambda at: ctypes.create_string_buffer(struct.pack('QQ', at, 8))
call(number(310, 270), PID, vector(ctypes.addressof(buffer)), 1, vector(begin), 1, 0)
",
    ),
    user(
        "take a file that a process has open",
        "call(438, os.pidfd_open(PID), 0, 0)",
    ),
    user(
        "set the limits of a process",
        r"
limit = ctypes.create_string_buffer(struct.pack('QQ', 64, 64))
call(number(302, 261), PID, 7, limit, 0)
",
    ),
    // The network, and other ways to talk.
    user(
        "connect over TCP",
        "socket.create_connection(('127.0.0.1', TCP), 5)",
    ),
    user(
        "listen on TCP",
        "it = socket.socket(); it.bind(('127.0.0.1', 0)); it.listen()",
    ),
    user(
        "send over UDP",
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', UDP))",
    ),
    user(
        "connect to a socket with a path",
        "socket.socket(socket.AF_UNIX).connect(SOCKET)",
    ),
    user(
        "connect to an abstract socket",
        "socket.socket(socket.AF_UNIX).connect('\\0' + ABSTRACT)",
    ),
    user(
        "send to a socket with a path by a pair",
        "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b'x', DATAGRAMS)",
    ),
    user(
        "send to a socket with a path by a pair of another type",
        "socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW)[0].sendto(b'x', DATAGRAMS)",
    ),
    user(
        "connect one of a pair to a socket with a path",
        "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)[0].connect(DATAGRAMS)",
    ),
    user(
        "talk to the kernel over netlink",
        "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)",
    ),
    root(
        "raw sockets",
        "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)",
    ),
    root(
        "packets",
        "socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)",
    ),
    user("shared memory", "call(number(29, 194), 0, 4096, 0o1600)"),
    user(
        "the shared memory of a process",
        "call(number(30, 196), call(number(29, 194), PID, 4096, 0), 0, 0)",
    ),
    // Round the rules.
    user("io_uring", "call(425, 8, ctypes.create_string_buffer(120))"),
    user("a namespace by unshare", "call(number(272, 97), NEWUSER)"),
    user(
        "a namespace by clone",
        r"
child = call(number(56, 220), NEWUSER | signal.SIGCHLD, 0, 0, 0, 0)
if child == 0:
    os._exit(0)
",
    ),
    user(
        "a namespace by clone3",
        r"
flags = ctypes.create_string_buffer(struct.pack('11Q', NEWUSER, 0, 0, 0, signal.SIGCHLD, *[0] * 6))
child = call(435, flags, 88)
if child == 0:
    os._exit(0)
",
    ),
    root(
        "enter the namespace of a process",
        "call(number(308, 268), os.open('/proc/self/ns/net', os.O_RDONLY), 0)",
    ),
    root(
        "mount",
        r"
os.mkdir('mounted')
text = ctypes.c_char_p
call(number(165, 40), text(b'none'), text(b'mounted'), text(b'tmpfs'), 0, 0)
call(number(166, 39), text(b'mounted'), 2)
",
    ),
    root(
        "mount by the newer calls",
        "call(430, ctypes.c_char_p(b'tmpfs'), 0)",
    ),
    root("change the root", "os.chroot('.')"),
    user(
        "leave a key with the kernel",
        r"
text = ctypes.c_char_p
call(number(248, 217), text(b'user'), text(b'grove-test'), text(b'x'), 1, -1)
",
    ),
    root(
        "load a program into the kernel",
        r"
attributes = ctypes.create_string_buffer(struct.pack('IIII', 2, 4, 4, 1) + bytes(112))
call(number(321, 280), 0, attributes, 128)
",
    ),
    root(
        "set the clock",
        r"
import time
at = time.clock_gettime(time.CLOCK_REALTIME)
time.clock_settime(time.CLOCK_REALTIME, at)
",
    ),
    root(
        "name the machine",
        "socket.sethostname(socket.gethostname())",
    ),
];
