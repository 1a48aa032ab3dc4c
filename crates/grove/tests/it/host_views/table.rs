//! The table of hosts, as far as it can be seen in a list.

/// What one host does.
pub(crate) struct Host {
    pub(crate) name: &'static str,
    /// Of the skills that [`HOME_FOLDERS`] and [`PROJECT_FOLDERS`] place, those it has.
    pub(crate) places: &'static str,
    /// A folder below home that it reads.
    pub(crate) shared_folder: &'static str,
    /// Of the shapes in one folder, those it has.
    pub(crate) shapes: &'static str,
    /// Shapes about which the table says nothing.
    pub(crate) unsettled: &'static str,
    /// Folders from the strongest to the weakest.
    pub(crate) strongest_first: &'static [&'static str],
    /// Equal names all stay.
    pub(crate) keeps_all: bool,
}

/// Folders below home by a short name, including some that belong to nobody here.
pub(crate) const HOME_FOLDERS: [(&str, &str); 12] = [
    ("agents", ".agents/skills"),
    ("claude", ".claude/skills"),
    ("codex", ".codex/skills"),
    ("copilot", ".copilot/skills"),
    ("cursor", ".cursor/skills"),
    ("gemini", ".gemini/skills"),
    ("github", ".github/skills"),
    ("grove", ".grove/skills"),
    ("openclaw", ".openclaw/skills"),
    ("opencode", ".config/opencode/skills"),
    ("opencode-one", ".config/opencode/skill"),
    ("pi", ".pi/agent/skills"),
];

/// Folders below the repository's root (`repo`) and the working folder (`work`).
pub(crate) const PROJECT_FOLDERS: [(&str, &str); 12] = [
    ("agents", ".agents/skills"),
    ("claude", ".claude/skills"),
    ("codex", ".codex/skills"),
    ("copilot", ".copilot/skills"),
    ("cursor", ".cursor/skills"),
    ("gemini", ".gemini/skills"),
    ("github", ".github/skills"),
    ("grove", ".grove/skills"),
    ("opencode", ".opencode/skills"),
    ("opencode-one", ".opencode/skill"),
    ("pi", ".pi/skills"),
    ("plain", "skills"),
];

pub(crate) const HOSTS: &[Host] = &[
    Host {
        name: "claude",
        places: "home-claude repo-claude work-claude",
        shared_folder: ".claude/skills",
        // One level, named by folder; without a description the first line of the body is shown.
        shapes: "one renamed ignored undescribed unnamed",
        unsettled: "",
        strongest_first: &[
            "home/.claude/skills",
            "project/.claude/skills",
            "project/pkg/.claude/skills",
        ],
        keeps_all: true,
    },
    Host {
        name: "codex",
        places: "home-agents home-codex repo-agents repo-codex work-agents work-codex",
        shared_folder: ".agents/skills",
        // Six levels, not ended by a skill; named by folder if need be, never undescribed.
        shapes: "one module inner two three other-name ignored unnamed",
        unsettled: "",
        strongest_first: &["home/.agents/skills", "project/pkg/.agents/skills"],
        keeps_all: true,
    },
    Host {
        name: "copilot",
        places: "home-agents home-copilot repo-agents repo-claude repo-github work-agents work-claude work-github",
        shared_folder: ".agents/skills",
        shapes: "one module two three deep other-name ignored undescribed unnamed",
        unsettled: "",
        strongest_first: &["project/pkg/.agents/skills", "home/.agents/skills"],
        keeps_all: false,
    },
    Host {
        name: "gemini",
        places: "home-agents home-gemini work-agents work-gemini",
        shared_folder: ".agents/skills",
        // One level; a name and a description are required.
        shapes: "one other-name ignored",
        unsettled: "",
        strongest_first: &[
            "project/pkg/.agents/skills",
            "project/pkg/.gemini/skills",
            "home/.agents/skills",
            "home/.gemini/skills",
        ],
        keeps_all: false,
    },
    Host {
        name: "openclaw",
        places: "home-agents home-openclaw work-agents work-plain",
        shared_folder: ".agents/skills",
        shapes: "one two three other-name ignored unnamed",
        unsettled: "",
        strongest_first: &[
            "project/pkg/skills",
            "project/pkg/.agents/skills",
            "home/.agents/skills",
            "home/.openclaw/skills",
        ],
        keeps_all: false,
    },
    Host {
        name: "opencode",
        places: "home-agents home-claude home-opencode home-opencode-one repo-agents repo-claude repo-opencode repo-opencode-one work-agents work-claude work-opencode work-opencode-one",
        shared_folder: ".agents/skills",
        shapes: "one module inner two three deep other-name ignored",
        // The table does not say what it does without a name or a description.
        unsettled: "undescribed unnamed",
        strongest_first: &["home/.agents/skills"],
        keeps_all: false,
    },
    Host {
        name: "pi",
        places: "home-agents home-pi repo-agents work-agents work-pi",
        shared_folder: ".agents/skills",
        // Ends at a skill and honours .gitignore.
        shapes: "one two three deep other-name",
        unsettled: "undescribed unnamed flat",
        strongest_first: &["home/.agents/skills"],
        keeps_all: false,
    },
];

pub(crate) fn by_name(name: &str) -> &'static Host {
    let host = HOSTS.iter().find(|host| host.name == name);
    host.unwrap_or_else(|| panic!("no host {name}"))
}
