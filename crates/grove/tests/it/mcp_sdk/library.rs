//! A library with one of everything that can be served.

use grove_testkit::session::Session;

pub(crate) const SKILLS: &str = "home/.agents/skills";

/// What `grove prompt` prints for the agent of the library.
const EXPECTED: &str = "home/critic.txt";

/// A workflow that comes with Grove, as a person's own.
const WORKFLOW: &str =
    include_str!("../../../../grove-skills/bundled/chains/parallel-review.chain.json");

pub(crate) fn make() -> Session {
    let home = crate::session().without_bundled();
    home.dir("home/work");
    home.file("home/.agents/chains/review.chain.json", WORKFLOW);
    let put = |id: &str, lines: &str, body: &str| {
        let name = id.rsplit('/').next().unwrap_or(id);
        let text = format!("---\nname: {name}\n{lines}---\n{body}");
        home.file(format!("{SKILLS}/{id}/SKILL.md"), text);
    };
    put(
        "office",
        "description: Office work.\nmetadata:\n  children: sheets\n",
        "Choose.\n",
    );
    put(
        "office/skills/sheets",
        "description: Tables.\nmetadata:\n  children: pivot\n",
        "Choose.\n",
    );
    put(
        "office/skills/sheets/skills/pivot",
        "description: Pivot tables.\n",
        "Pivot with care.\n",
    );
    put(
        "greet",
        "description: Greets.\narguments: [who]\nmetadata:\n  version: 1.5\n",
        "Say hello to $who.\n",
    );
    home.file(format!("{SKILLS}/greet/references/names.md"), "Ann, Bob\n")
        .file(format!("{SKILLS}/greet/assets/dot.png"), b"\x89PNG\x00\xff")
        .file(format!("{SKILLS}/greet/.hidden"), "hidden\n")
        .file("home/secret", "secret\n")
        .link(format!("{SKILLS}/greet/out"), home.path("home/secret"));
    put("big", "description: Has a large file.\n", "x\n");
    home.file(format!("{SKILLS}/big/large.bin"), vec![0; (4 << 20) + 1]);
    put(
        "deploy",
        "description: Deploys.\ndisable-model-invocation: true\narguments: [where]\n",
        "To $where now.\n",
    );
    put(
        "quiet",
        "description: For models.\nuser-invocable: false\n",
        "x\n",
    );
    put(
        "note",
        "description: Notes.\nargument-hint: \"[what to note]\"\n",
        "First $1, second $2.\n",
    );
    home.file(
        "home/.claude/agents/critic.md",
        "---\nname: critic\ndescription: Finds faults.\nskills: note, nothing-like-it\n---\nYou find faults.\n",
    )
    .file("home/.claude/agents/broken.md", "---\nname: [x]\n---\nx\n")
    .file(
        "home/work/.claude/agents/local.md",
        "---\nname: local\ndescription: Came with the folder.\n---\nx\n",
    );
    // A skill that bears the name of an agent's prompt.
    home.file(
        format!("{SKILLS}/odd/SKILL.md"),
        "---\nname: agent:critic\ndescription: Odd.\ndisable-model-invocation: true\n---\nOdd indeed.\n",
    );
    let told = home.grove_in("home/work", "prompt critic").ok();
    home.file(EXPECTED, told.stdout);
    for number in 0..130 {
        put(
            &format!("filler-{number:03}"),
            "description: Fills.\n",
            "x\n",
        );
    }
    home
}
