//! Kernels and people without some powers: what is not held is not said to be.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use grove_exec::{EnforcedRestriction, Keeper};
use grove_testkit::escapes::ESCAPES;
use grove_testkit::needs;

use crate::escapes::{Outside, is_root, python, rules_version};

/// Starts a keeper as an ordinary user, or with some calls that the kernel is to have no answer for.
const BEFORE: &str = r"
import ctypes, os, struct, sys
keeper, user, calls = sys.argv[1], sys.argv[2] == 'user', [int(it) for it in sys.argv[3].split(',') if it]
libc = ctypes.CDLL(None)
if user and os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
if calls:
    code = [(0x20, 0, 0, 0)] + [step for it in calls for step in [(0x15, 0, 1, it), (0x06, 0, 0, 0x00050000 | 38)]] + [(0x06, 0, 0, 0x7fff0000)]
    held = ctypes.create_string_buffer(b''.join(struct.pack('HBBI', *it) for it in code))
    program = ctypes.create_string_buffer(struct.pack('HxxxxxxQ', len(code), ctypes.addressof(held)))
    assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program) == 0
os.execv(keeper, [keeper])
";

/// The calls for rules on files, and for namespaces.
const LANDLOCK: &str = "444";
const UNSHARE: &str = if cfg!(target_arch = "x86_64") {
    "272"
} else {
    "97"
};

fn keeper(user: bool, calls: &str) -> Keeper {
    let user = if user { "user" } else { "" };
    let own = env!("CARGO_BIN_EXE_grove-test-keeper");
    Keeper::new(python(), &["-IBc", BEFORE, own, user, calls]).unwrap()
}

/// A place that an ordinary user can work in.
fn open_to_all(python: PathBuf) -> Outside {
    let outside = Outside::with_python(python);
    let all = std::fs::Permissions::from_mode(0o777);
    for name in ["", "inside", "outside", "home"] {
        std::fs::set_permissions(outside.path(name), all.clone()).unwrap();
    }
    outside
}

/// Whether an ordinary user can start a program.
fn is_open_to_others(program: &Path) -> bool {
    let Ok(real) = program.canonicalize() else {
        return false;
    };
    let mode = |path: &Path| path.metadata().map_or(0, |it| it.permissions().mode());
    !is_root() || real.ancestors().all(|path| mode(path) & 1 == 1)
}

#[tokio::test]
async fn an_ordinary_user_is_held_as_root_is() {
    needs![Python];
    let own = Path::new(env!("CARGO_BIN_EXE_grove-test-keeper"));
    // That of the tests may lie in the home folder of root.
    let mut pythons = [python(), "/usr/bin/python3".into()].into_iter();
    let python = pythons.find(|it| is_open_to_others(it));
    let (Some(python), true, true) = (python, is_open_to_others(own), rules_version() >= 6) else {
        println!("not shown here: another user cannot run the programs, or the kernel is old");
        return;
    };
    let keeper = keeper(true, "");
    let mut faults = Vec::new();
    for escape in ESCAPES.iter().filter(|escape| !escape.needs_root) {
        let outside = open_to_all(python.clone());
        let sandbox = outside.sandbox(false);
        let program = escape.program();
        let (said, held) = outside.run_with(&keeper, &program, Some(sandbox)).await;
        if !said.starts_with("HELD") || held != EnforcedRestriction::ALL {
            faults.push(format!("{}: {said} {held:?}", escape.name));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[tokio::test]
async fn what_a_kernel_cannot_hold_is_not_said_to_be_held() {
    use EnforcedRestriction::{Attributes, Network, Reads, Signals, SystemCalls, Writes};
    needs![Python];
    if rules_version() < 6 {
        println!("this kernel is older than what is shown here");
        return;
    }
    let without_view = vec![Writes, Reads, Network, Signals, SystemCalls];
    let without_rules = vec![Network, SystemCalls, Attributes];
    let neither = format!("{LANDLOCK},{UNSHARE}");
    for (calls, expected) in [
        ("", EnforcedRestriction::ALL.to_vec()),
        (UNSHARE, without_view),
        (LANDLOCK, without_rules),
        (neither.as_str(), vec![Network, SystemCalls]),
    ] {
        let outside = Outside::new();
        let keeper = keeper(false, calls);
        let sandbox = outside.sandbox(false);
        let program =
            "import os; open('own', 'a').write('x'); os.chmod('own', 0o700); print('FINE')";
        let (said, held) = outside.run_with(&keeper, program, Some(sandbox)).await;
        assert_eq!((said.as_str(), held), ("FINE", expected), "{calls}");
        // Its keeper is out of reach all the same.
        let signals = "import os, signal\ntry:\n  os.kill(os.getppid(), signal.SIGKILL)\nexcept OSError:\n  print('HELD')\ntry:\n  open('/proc/%d/fd/2' % os.getppid(), 'w')\nexcept OSError:\n  print('HELD')";
        let sandbox = outside.sandbox(false);
        let (said, _) = outside.run_with(&keeper, signals, Some(sandbox)).await;
        assert_eq!(said, "HELD\nHELD", "{calls}");
    }
}
