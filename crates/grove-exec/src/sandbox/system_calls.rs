//! A filter (seccomp) that refuses system calls that lead round the other restrictions.
//!
//! A filter sees numbers and not what pointers lead to, so calls are refused by their number and their plain arguments.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter,
};

/// Rules by call; a call without rules is refused with any arguments.
type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// The calls that are always refused, by what they would lead to.
const REFUSED: &[(&str, &[i64])] = &[
    (
        "the memory and the open files of other processes",
        &[
            libc::SYS_ptrace,
            libc::SYS_process_vm_readv,
            libc::SYS_process_vm_writev,
            libc::SYS_process_madvise,
            libc::SYS_pidfd_getfd,
            libc::SYS_kcmp,
        ],
    ),
    (
        "work that the kernel does for a process without asking this filter",
        &[
            libc::SYS_io_uring_setup,
            libc::SYS_io_uring_enter,
            libc::SYS_io_uring_register,
        ],
    ),
    (
        "another view of the file system",
        &[
            libc::SYS_mount,
            libc::SYS_umount2,
            libc::SYS_pivot_root,
            libc::SYS_chroot,
            libc::SYS_move_mount,
            libc::SYS_open_tree,
            libc::SYS_fsopen,
            libc::SYS_fsconfig,
            libc::SYS_fsmount,
            libc::SYS_fspick,
            libc::SYS_mount_setattr,
        ],
    ),
    (
        "files by number instead of by path",
        &[libc::SYS_open_by_handle_at, libc::SYS_name_to_handle_at],
    ),
    ("namespaces", &[libc::SYS_unshare, libc::SYS_setns]),
    (
        "keys that the kernel keeps for its user",
        &[libc::SYS_keyctl, libc::SYS_add_key, libc::SYS_request_key],
    ),
    (
        "parts of the kernel that have been the way to the rest of it",
        &[
            libc::SYS_bpf,
            libc::SYS_perf_event_open,
            libc::SYS_userfaultfd,
            libc::SYS_fanotify_init,
            libc::SYS_init_module,
            libc::SYS_finit_module,
            libc::SYS_delete_module,
            libc::SYS_kexec_load,
            libc::SYS_kexec_file_load,
        ],
    ),
    (
        "the machine itself",
        &[
            libc::SYS_reboot,
            libc::SYS_settimeofday,
            libc::SYS_clock_settime,
            libc::SYS_clock_adjtime,
            libc::SYS_adjtimex,
            libc::SYS_swapon,
            libc::SYS_swapoff,
            libc::SYS_acct,
            libc::SYS_quotactl,
            libc::SYS_syslog,
            libc::SYS_sethostname,
            libc::SYS_setdomainname,
            libc::SYS_vhangup,
            #[cfg(target_arch = "x86_64")]
            libc::SYS_iopl,
            #[cfg(target_arch = "x86_64")]
            libc::SYS_ioperm,
        ],
    ),
];

/// The calls for memory, queues and semaphores that processes share by a number or a name; no rule on files covers them.
const SHARED: [i64; 4] = [
    libc::SYS_shmget,
    libc::SYS_msgget,
    libc::SYS_semget,
    libc::SYS_mq_open,
];

/// The types of pairs of local sockets that can also send to any socket with a path. The kernel takes the second for the
/// first.
const PAIRS_THAT_SEND: [i32; 2] = [libc::SOCK_DGRAM, libc::SOCK_RAW];
/// The bits of a socket's type that are no flags.
const TYPE: u64 = 0xf;

/// The families of sockets that a tree with the network may use; addresses are looked up through netlink.
const FAMILIES: [i32; 3] = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// The calls that give a file a mode, with the position of the mode among their arguments.
const MODES: &[(i64, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (FCHMODAT2, 2),
    (libc::SYS_mknodat, 2),
];

/// The calls that may make a file, with the positions of their flags and of the mode, which means nothing without one of
/// the flags in [`MAKING`].
const OPENING: &[(i64, u8, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1, 2),
    (libc::SYS_openat, 2, 3),
];

/// The flags with which an opened file is a new one. The second is without the bit of `O_DIRECTORY`, which it includes.
const MAKING: [i32; 2] = [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY];

/// The newer form of `fchmodat`, which has one number on every architecture.
const FCHMODAT2: i64 = 452;

/// The modes with which a program runs as its owner or group, no matter which user starts it.
const POWERFUL_MODES: [i32; 2] = [0o4000, 0o2000];

/// The calls that send a signal to a process by its id, with the position of the id.
const SIGNALS: &[(i64, u8)] = &[
    (libc::SYS_kill, 0),
    (libc::SYS_tkill, 0),
    (libc::SYS_tgkill, 0),
    (libc::SYS_rt_sigqueueinfo, 0),
    (libc::SYS_rt_tgsigqueueinfo, 0),
    (libc::SYS_pidfd_open, 0),
];

/// The parts of a sandbox that decide which calls are refused.
pub(super) struct CallRestrictions {
    pub(super) network: bool,
    /// Set if what processes share by a number or a name is the tree's own.
    pub(super) shares_with_nobody: bool,
    /// Set if the kernel restricts sockets with a path by rules on files; otherwise all of them are refused.
    pub(super) holds_sockets: bool,
    /// Set if the kernel restricts signals; otherwise those to the keeper are refused by its id.
    pub(super) holds_signals: bool,
    /// The process id of the tree's keeper.
    pub(super) keeper: u32,
}

const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// The first number of the third calling convention of x86-64, in which the same calls have other numbers.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;
/// The calls with other numbers there: `ptrace`, `kexec_load`, `process_vm_readv`, `process_vm_writev`, `ioctl`.
#[cfg(target_arch = "x86_64")]
const X32_ALONE: [i64; 5] = [521, 528, 539, 540, 514];

pub(super) fn refuse(refused: &CallRestrictions) -> Result<(), Box<dyn std::error::Error>> {
    // Where the flags of a new process or the mode of a new file are behind a pointer, programs are told that the call does
    // not exist: they use the older one, whose arguments the filter can see.
    let mut hidden = Rules::from([
        (libc::SYS_clone3, Vec::new()),
        (libc::SYS_openat2, Vec::new()),
    ]);
    if !refused.holds_signals {
        // A process descriptor does not show to which process it belongs.
        hidden.insert(libc::SYS_pidfd_send_signal, Vec::new());
    }
    let programs = [
        program(rules(refused)?, libc::EPERM)?,
        program(hidden, libc::ENOSYS)?,
    ];
    for program in programs {
        apply_filter(&program)?;
    }
    Ok(())
}

fn program(rules: Rules, error: i32) -> Result<BpfProgram, Box<dyn std::error::Error>> {
    let error = SeccompAction::Errno(error.unsigned_abs());
    let machine = std::env::consts::ARCH.try_into()?;
    let filter = SeccompFilter::new(
        with_other_numbers(rules),
        SeccompAction::Allow,
        error,
        machine,
    )?;
    Ok(filter.try_into()?)
}

fn rules(refused_here: &CallRestrictions) -> Result<Rules, seccompiler::BackendError> {
    let refused = REFUSED.iter().flat_map(|(_, calls)| calls.iter());
    let mut rules: Rules = refused.map(|call| (*call, Vec::new())).collect();
    let is_not = |family: &i32| condition(0, SeccompCmpOp::Ne, *family);
    if refused_here.network {
        let with_paths = refused_here.holds_sockets.then_some(&libc::AF_UNIX);
        let families = FAMILIES.iter().chain(with_paths);
        let is_other: Result<_, _> = families.map(is_not).collect();
        let mut sockets = vec![SeccompRule::new(is_other?)?];
        for family in [libc::AF_INET, libc::AF_INET6] {
            sockets.push(SeccompRule::new(of_type(family, libc::SOCK_RAW)?)?);
        }
        rules.insert(libc::SYS_socket, sockets);
    } else {
        rules.insert(libc::SYS_socket, Vec::new());
    }
    if !refused_here.network || !refused_here.shares_with_nobody {
        rules.extend(SHARED.map(|call| (call, Vec::new())));
    }
    // A pair of local sockets connects a process with itself only, if its type knows nothing but connections.
    let mut pairs = vec![SeccompRule::new(vec![is_not(&libc::AF_UNIX)?])?];
    if !refused_here.holds_sockets {
        for kind in PAIRS_THAT_SEND {
            pairs.push(SeccompRule::new(of_type(libc::AF_UNIX, kind)?)?);
        }
    }
    rules.insert(libc::SYS_socketpair, pairs);
    let namespaces = NAMESPACES.iter().map(|flag| {
        let has = SeccompCmpOp::MaskedEq(u64::from(flag.unsigned_abs()));
        SeccompRule::new(vec![condition(0, has, *flag)?])
    });
    let namespaces: Result<Vec<SeccompRule>, _> = namespaces.collect();
    rules.insert(libc::SYS_clone, namespaces?);
    // Changes to the limits of other processes.
    let others = SeccompRule::new(vec![condition(0, SeccompCmpOp::Ne, 0)?])?;
    rules.insert(libc::SYS_prlimit64, vec![others]);
    // Input to a terminal as if a person typed it.
    let typing = [libc::TIOCSTI, libc::TIOCLINUX].map(|request| {
        let request = i32::try_from(request).unwrap_or_default();
        SeccompRule::new(vec![condition(1, SeccompCmpOp::Eq, request)?])
    });
    let typing: Result<Vec<SeccompRule>, _> = typing.into_iter().collect();
    rules.insert(libc::SYS_ioctl, typing?);
    let has = |position: u8, bit: i32| {
        let is_set = SeccompCmpOp::MaskedEq(u64::from(bit.unsigned_abs()));
        condition(position, is_set, bit)
    };
    for (call, position) in MODES {
        let modes = POWERFUL_MODES.map(|mode| SeccompRule::new(vec![has(*position, mode)?]));
        let modes: Result<Vec<SeccompRule>, _> = modes.into_iter().collect();
        rules.insert(*call, modes?);
    }
    for (call, flags, mode) in OPENING {
        let pairs = MAKING
            .iter()
            .flat_map(|it| POWERFUL_MODES.map(|powerful| (*it, powerful)));
        let pairs = pairs.map(|(making, powerful)| {
            SeccompRule::new(vec![has(*flags, making)?, has(*mode, powerful)?])
        });
        let pairs: Result<Vec<SeccompRule>, _> = pairs.collect();
        rules.insert(*call, pairs?);
    }
    if !refused_here.holds_signals {
        rules.extend(signals_to(refused_here.keeper)?);
    }
    Ok(rules)
}

/// The conditions on a socket of a family and a type, whatever flags are with the type.
fn of_type(family: i32, kind: i32) -> Result<Vec<SeccompCondition>, seccompiler::BackendError> {
    let is_kind = SeccompCmpOp::MaskedEq(TYPE);
    Ok(vec![
        condition(0, SeccompCmpOp::Eq, family)?,
        condition(1, is_kind, kind)?,
    ])
}

/// Rules against signals to a process, to its group and to all processes, also those that a descriptor sends.
fn signals_to(process: u32) -> Result<Rules, seccompiler::BackendError> {
    let process = i32::try_from(process).unwrap_or(i32::MAX);
    let is = |position: u8, value: i32| {
        let value = u64::from(value.cast_unsigned());
        let (length, operator) = (SeccompCmpArgLen::Dword, SeccompCmpOp::Eq);
        SeccompRule::new(vec![SeccompCondition::new(
            position, length, operator, value,
        )?])
    };
    let mut rules = Rules::new();
    for (call, position) in SIGNALS {
        let mut targets = vec![is(*position, process)?];
        if *call == libc::SYS_kill {
            targets.extend([is(0, -process)?, is(0, -1)?]);
        }
        rules.insert(*call, targets);
    }
    let owners = [libc::F_SETOWN, F_SETOWN_EX].map(|command| is(1, command));
    let owners: Result<Vec<SeccompRule>, _> = owners.into_iter().collect();
    rules.insert(libc::SYS_fcntl, owners?);
    Ok(rules)
}

/// The command of `fcntl` that sets the process or group that gets a signal when a descriptor is ready.
const F_SETOWN_EX: i32 = 15;

fn condition(
    argument: u8,
    operator: SeccompCmpOp,
    value: i32,
) -> Result<SeccompCondition, seccompiler::BackendError> {
    let value = u64::from(value.unsigned_abs());
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
}

/// Adds the same rules for the same calls under their other numbers. A 32-bit program is ended at its first call.
fn with_other_numbers(rules: Rules) -> Rules {
    #[cfg(target_arch = "x86_64")]
    {
        let mut all = rules.clone();
        let others = rules.into_iter().map(|(call, rules)| (call | X32, rules));
        all.extend(others);
        all.extend(X32_ALONE.map(|call| (call | X32, Vec::new())));
        all
    }
    #[cfg(not(target_arch = "x86_64"))]
    rules
}
