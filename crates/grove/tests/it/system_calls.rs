//! The bill of a whole run, counted by the kernel's own tracer rather than by us.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use grove_testkit::home::place;
use grove_testkit::process::{self, Finished};

const N: usize = 40;

/// What opens and reads, with the path of every open file.
const FILE_CALLS: [&str; 3] = ["-y", "-e", "trace=open,openat,openat2,read,pread64,readv"];

/// How often a run opened skill files, read them, and opened skill folders.
#[derive(Debug, PartialEq, Eq)]
struct Bill {
    file_opens: usize,
    file_reads: usize,
    skill_folder_opens: usize,
}

/// Runs the program in a folder with a home, and gives the lines of its trace.
///
/// Every thread has a file of its own: in a common one a call that another thread interrupts has two lines, of which
/// the first does not say whether it failed.
fn trace(home: &Path, folder: &Path, options: &[&str], words: &[&OsStr]) -> (Finished, String) {
    let traces = home.join("traces");
    let _ = std::fs::remove_dir_all(&traces);
    std::fs::create_dir(&traces).unwrap();
    let mut strace = Command::new("strace");
    strace
        .args(["-ff", "-qq"])
        .args(options)
        .arg("-o")
        .arg(traces.join("thread"))
        .arg(env!("CARGO_BIN_EXE_grove"))
        .args(words)
        .env_clear()
        .env("HOME", home)
        .env("PATH", "/usr/bin:/bin")
        .env("npm_config_prefix", home.join("npm"))
        .current_dir(folder);
    let finished = process::capture(&mut strace, process::HANGING)
        .unwrap_or_else(|error| panic!("strace: {error}; `cargo xtask test` installs it"));
    assert!(finished.success(), "{}", finished.stderr_text());
    let threads = std::fs::read_dir(&traces).unwrap();
    let text = threads
        .map(|thread| std::fs::read_to_string(thread.unwrap().path()).unwrap())
        .collect();
    (finished, text)
}

fn traced(home: &Path, root: &Path, flags: &[&str]) -> Bill {
    let words = ["skills", "list", "--json", "--root"].map(OsStr::new);
    let flags = flags.iter().map(OsStr::new);
    let words: Vec<&OsStr> = words
        .into_iter()
        .chain([root.as_os_str()])
        .chain(flags)
        .collect();
    let (finished, trace) = trace(home, home, &FILE_CALLS, &words);
    assert_eq!(
        finished.stdout_text().matches("\"state\": \"ok\"").count(),
        N
    );
    let opened = |line: &&str| line.contains("open") && !line.contains(" = -1 ");
    Bill {
        file_opens: trace
            .lines()
            .filter(opened)
            .filter(|line| line.contains("SKILL.md\""))
            .count(),
        file_reads: trace
            .lines()
            .filter(|line| line.contains("read") && line.contains("SKILL.md>"))
            .count(),
        skill_folder_opens: trace
            .lines()
            .filter(opened)
            .filter(|line| line.contains("O_DIRECTORY") && line.contains("/skill-"))
            .count(),
    }
}

#[test]
fn one_open_and_one_read_cold_and_none_warm() {
    let home = tempfile::tempdir_in(place()).unwrap();
    let root = home.path().join("root");
    for n in 0..N {
        let folder = root.join(format!("group-{}/skill-{n}", n % 3));
        std::fs::create_dir_all(folder.join("references")).unwrap();
        std::fs::write(
            folder.join("SKILL.md"),
            format!("---\nname: skill-{n}\ndescription: d\n---\n"),
        )
        .unwrap();
    }
    // File times within 20 ms of a read prove nothing, so the files are left alone that long.
    std::thread::sleep(Duration::from_millis(45));
    for flags in [&["--all"][..], &[]] {
        let _ = std::fs::remove_dir_all(home.path().join(".cache"));
        let cold = traced(home.path(), &root, flags);
        assert_eq!(
            cold,
            Bill {
                file_opens: N,
                file_reads: N,
                skill_folder_opens: 0
            },
            "{flags:?}"
        );
        let warm = traced(home.path(), &root, flags);
        assert_eq!(
            warm,
            Bill {
                file_opens: 0,
                file_reads: 0,
                skill_folder_opens: 0
            },
            "{flags:?}"
        );
    }
}

/// The calls in a run's trace that concern agents.
fn traced_agents(home: &Path, words: &[&str]) -> Vec<String> {
    let words: Vec<&OsStr> = words.iter().map(OsStr::new).collect();
    let (_, trace) = trace(home, home, &FILE_CALLS, &words);
    let of_agents = trace
        .lines()
        .filter(|line| line.contains("/agents/") || line.contains("one-of-"));
    of_agents.map(str::to_owned).collect()
}

#[test]
fn one_open_and_one_read_for_each_agent_and_none_for_who_wants_skills() {
    let home = tempfile::tempdir_in(place()).unwrap();
    let folder = home.path().join(".claude/agents/team");
    std::fs::create_dir_all(&folder).unwrap();
    for n in 0..N {
        let text = format!("---\nname: one-of-{n}\ndescription: d\n---\nText\n");
        std::fs::write(folder.join(format!("one-of-{n}.md")), text).unwrap();
    }
    let listed = traced_agents(home.path(), &["agents", "list"]);
    let count = |what: fn(&str) -> bool| listed.iter().filter(|line| what(line)).count();
    assert_eq!(
        count(|line| line.contains("open") && line.contains("one-of-")),
        N
    );
    assert_eq!(
        count(|line| line.contains("read(") && line.contains("one-of-")),
        N
    );

    // The agent that is asked for is read once more, as it was judged.
    let prompted = traced_agents(home.path(), &["prompt", "one-of-7"]);
    let opens = prompted
        .iter()
        .filter(|line| line.contains("open") && line.contains("one-of-"));
    assert_eq!(opens.count(), N + 1);

    for words in [&["skills", "list"][..], &["catalog"], &["config"], &["mcp"]] {
        assert_eq!(traced_agents(home.path(), words), [""; 0], "{words:?}");
    }
}

/// How often a run in a project opened something on the way to packages, successfully or not.
fn package_opens(home: &Path, project: &Path, words: &[&str]) -> usize {
    let list = ["skills", "list"].map(OsStr::new);
    let (_, trace) = trace(home, project, &["-e", "trace=open,openat,openat2"], &list);
    trace
        .lines()
        .filter(|line| words.iter().any(|word| line.contains(word)))
        .count()
}

#[test]
fn packages_cost_nothing_to_speak_of_where_there_are_none_and_one_open_each_where_they_say_nothing()
{
    let home = tempfile::tempdir_in(place()).unwrap();
    let project = home.path().join("project");
    std::fs::create_dir_all(project.join(".git")).unwrap();
    let places = [
        "package.json",
        "node_modules",
        "settings.json",
        ".pi/agent\"",
    ];
    assert_eq!(package_opens(home.path(), &project, &places), 6);
    for n in 0..N {
        let folder = project.join(format!("node_modules/dependency-{n}"));
        std::fs::create_dir_all(folder.join("lib")).unwrap();
        std::fs::write(folder.join("package.json"), "{\"name\": \"d\"}").unwrap();
    }
    assert_eq!(package_opens(home.path(), &project, &["dependency-"]), N);
}
