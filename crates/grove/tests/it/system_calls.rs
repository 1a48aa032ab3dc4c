//! The bill of a whole run, counted by the kernel's own tracer rather than by us.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use grove_testkit::home::place;
use grove_testkit::need::Need;
use grove_testkit::needs;
use grove_testkit::process::{self, Ending, Finished};

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
    let mut strace = Command::new(Need::Strace.path());
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
    let finished = process::capture(&mut strace, process::HANGING).unwrap();
    // Commands that check end with 1 when there is something to say.
    let has_ended = matches!(finished.ending, Ending::Exited(0 | 1));
    assert!(has_ended, "{}", finished.stderr_text());
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
    needs![Strace];
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
    needs![Strace];
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
    needs![Strace];
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

/// How often a run opened each of these files to read it, whatever folder it was opened from.
fn opens_of(home: &Path, project: &Path, words: &[&str], files: &[PathBuf]) -> Vec<usize> {
    let words: Vec<&OsStr> = words.iter().map(OsStr::new).collect();
    let options = ["-y", "-e", "trace=open,openat,openat2"];
    let (_, trace) = trace(home, project, &options, &words);
    let opened = |file: &PathBuf| {
        let result = format!("<{}>", file.display());
        let lines = trace.lines().filter(|line| !line.contains("O_PATH"));
        lines.filter(|line| line.ends_with(&result)).count()
    };
    files.iter().map(opened).collect()
}

/// What surrounds a look is found once, so a file of it that is opened once says that there was one look.
#[test]
fn each_command_makes_one_look_that_opens_each_file_around_it_once() {
    needs![Strace];
    let home = tempfile::tempdir_in(place()).unwrap();
    let home = home.path().canonicalize().unwrap();
    let project = home.join("project");
    let put = |path: &str, text: &str| {
        let file = home.join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    };
    let skill = |name: &str| format!("---\nname: {name}\ndescription: Does {name}\n---\n{name}\n");
    std::fs::create_dir_all(project.join(".git")).unwrap();
    put(
        ".config/grove/config.toml",
        "[limits]\nprompt_skills = 100\n",
    );
    put(".pi/agent/settings.json", "{\"packages\": [\"~/named\"]}");
    put(
        "named/package.json",
        "{\"name\": \"named\", \"pi\": {\"skills\": [\"s\"]}}",
    );
    put("named/s/of-named/SKILL.md", &skill("of-named"));
    put(
        "project/.grove/config.toml",
        "[limits]\nprompt_skills = 50\n",
    );
    put("project/.pi/settings.json", "{\"skills\": [\"more\"]}");
    put("project/.pi/more/more/SKILL.md", &skill("more"));
    let manifest = "{\"name\": \"own\", \"dependencies\": {\"used\": \"1\"}}";
    put("project/package.json", manifest);
    let manifest = "{\"name\": \"used\", \"pi\": {\"skills\": [\"s\"]}}";
    put("project/node_modules/used/package.json", manifest);
    put(
        "project/node_modules/used/s/of-used/SKILL.md",
        &skill("of-used"),
    );
    put("project/.grove/skills/thing/SKILL.md", &skill("thing"));
    let agent = "---\nname: helper\ndescription: Helps\nskills: thing\n---\nHelp.\n";
    put("project/.grove/agents/helper.md", agent);
    let chain = "---\nname: both\ndescription: Both\n---\n\n## helper\n\nDo it.\n";
    put("project/.grove/chains/both.chain.md", chain);
    trace(&home, &project, &[], &["trust", "--yes"].map(OsStr::new));

    let grants = std::fs::read_dir(home.join(".local/state/grove/trust")).unwrap();
    let grants: Vec<PathBuf> = grants.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(grants.len(), 1);
    let of_settings = [".config/grove/config.toml", "project/.grove/config.toml"];
    let of_packages = [
        ".pi/agent/settings.json",
        "project/.pi/settings.json",
        "named/package.json",
        "project/package.json",
        "project/node_modules/used/package.json",
    ];
    let mut files = grants;
    files.extend(
        of_settings
            .iter()
            .chain(&of_packages)
            .map(|file| home.join(file)),
    );
    for words in [
        &["skills", "list"][..],
        &["skills", "search", "thing"],
        &["skills", "activate", "thing"],
        &["catalog"],
        &["prompt", "helper"],
        &["agents", "list"],
        &["agents", "export", "--host", "claude", "--check"],
        &["chains", "list"],
        &["chains", "check"],
        &["doctor"],
    ] {
        let opens = opens_of(&home, &project, words, &files);
        assert_eq!(opens, vec![1; files.len()], "{words:?}: {files:?}");
    }
    // One look for Grove and one for pi, which is here, and which reads its own settings alone.
    let opens = opens_of(&home, &project, &[], &files);
    assert_eq!(opens, [1, 2, 1, 2, 2, 1, 1, 1], "{files:?}");
    let create = ["agents", "create", "other", "--description", "Helps too"];
    for words in [&["init"][..], &create] {
        let opens = opens_of(&home, &project, words, &files);
        assert_eq!(opens[1..3], [1, 1], "{words:?}: settings");
    }
    // What is written in a trusted project keeps its trust: a review reads what the grant pins.
    let edit = [
        "agents",
        "edit",
        "helper",
        "--set",
        "description=Helps more",
    ];
    let opens = opens_of(&home, &project, &edit, &files);
    assert_eq!(opens[1..3], [2, 2], "settings, and their review");
    let opens = opens_of(&home, &project, &["config"], &files);
    assert_eq!(opens, [1, 1, 1, 0, 0, 0, 0, 0], "settings need no packages");
}
