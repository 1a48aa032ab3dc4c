//! Every diagnostic code, once: its stable name, usual severity, meaning and help.
//!
//! The reference page of codes is generated from this table.

use serde::{Deserialize, Serialize};

use crate::diagnostic::Severity;

macro_rules! codes {
    ($($variant:ident = $name:literal, $severity:ident, $meaning:literal, $help:literal;)*) => {
        /// A stable name for a kind of finding.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Code {
            $(#[doc = $meaning] #[serde(rename = $name)] $variant,)*
        }

        impl Code {
            /// All codes in the order of the reference page.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the stable name of the code.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Returns the usual severity of the code.
            pub const fn severity(self) -> Severity {
                match self { $(Self::$variant => Severity::$severity,)* }
            }

            /// Returns the meaning of the code.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)* }
            }

            /// Returns the usual advice for the code.
            pub const fn help(self) -> &'static str {
                match self { $(Self::$variant => $help,)* }
            }
        }
    };
}

codes! {
    // The file itself.
    FileTooLarge = "file-too-large", Error, "The file is larger than the limit for a skill file, not counting the part of its description that is dropped.", "move long material to files beside SKILL.md, or raise `limits.file_bytes`";
    EmptyFile = "empty-file", Error, "The file has no content.", "write frontmatter with a name and a description, then the instructions";
    NotUtf8 = "not-utf8", Error, "The file is not valid UTF-8.", "save the file as UTF-8";
    NotRegularFile = "not-regular-file", Error, "A folder, pipe, socket or device is where the skill file should be.", "replace it with a plain file";
    PseudoFile = "pseudo-file", Error, "The path leads into a kernel file system, whose files are not documents.", "replace the link with a plain file";
    Unreadable = "unreadable", Error, "The file or folder could not be read.", "check its permissions";
    PathEscape = "path-escape", Error, "A link inside a project or package leads out of its root and was not followed.", "copy the target into the root, or add its folder as a user root";
    BrokenLink = "broken-link", Warning, "A link leads nowhere.", "remove the link or restore its target";
    LinkLoop = "link-loop", Warning, "A folder was reached a second time through a link and was not walked again.", "remove one of the links";
    HardLink = "hard-link", Warning, "A skill file in a project or package has more than one hard link, so it may be a file from elsewhere.", "replace the hard link with a copy";
    FileNameCase = "file-name-case", Warning, "A file differs from `SKILL.md` only in case and was not read.", "rename it to SKILL.md, or remove it if there is one already";
    UnprintablePath = "unprintable-path", Error, "A folder or file name has control characters or invisible characters, or is not UTF-8, so it cannot be shown to a model.", "rename it with plain characters";
    PortableName = "portable-name", Warning, "The folder name cannot be used on every platform.", "rename the folder with lower-case letters, digits and hyphens";

    // The frontmatter block.
    FrontmatterMissing = "frontmatter-missing", Error, "SKILL.md does not start with a frontmatter block.", "start the file with a line `---`, then `name:` and `description:`, then a line `---`";
    FrontmatterUnclosed = "frontmatter-unclosed", Error, "The frontmatter block has no closing line `---`.", "add a line `---` after the last key";
    FrontmatterMisplaced = "frontmatter-misplaced", Error, "The frontmatter of an agent does not begin with `---` on the first line of the file.", "begin the file with a line `---`, then the keys, then a line `---`";
    FrontmatterTooLarge = "frontmatter-too-large", Warning, "The frontmatter is too large for the YAML parser; only plain keys were read.", "shorten the frontmatter to at most 16 KiB; move text to the body";
    FrontmatterUnreadable = "frontmatter-unreadable", Error, "The frontmatter is too large for the YAML parser and is not plain keys and text.", "shorten the frontmatter to at most 16 KiB";
    UnsupportedFrontmatter = "unsupported-frontmatter", Error, "The frontmatter is TOML or JSON; skills use YAML.", "write the keys as YAML between two lines `---`";
    YamlSyntax = "yaml-syntax", Error, "The frontmatter is not valid YAML and could not be repaired.", "put the value in double quotes";
    YamlRepaired = "yaml-repaired", Warning, "Part of the frontmatter is not valid YAML and was read as the author probably meant it: a value as text, a line in brackets or quotes as if it were indented, or a known key despite the blanks before it.", "put the value in double quotes";
    YamlAnchor = "yaml-anchor", Error, "Anchors are not accepted in frontmatter.", "write the value out, or put it in double quotes";
    YamlAlias = "yaml-alias", Error, "Aliases are not accepted in frontmatter.", "write the value out, or put it in double quotes";
    YamlTag = "yaml-tag", Error, "Tags are not accepted in frontmatter.", "remove the tag, or put the value in double quotes";
    YamlMergeKey = "yaml-merge-key", Error, "Merge keys are not accepted in frontmatter.", "write the keys out";
    DuplicateKey = "duplicate-key", Error, "A key appears twice in one mapping.", "remove one of the two";
    YamlDepth = "yaml-depth", Error, "The frontmatter is nested too deeply.", "flatten the value";
    YamlNotMapping = "yaml-not-mapping", Error, "The frontmatter is not a mapping of keys to values.", "write `key: value` lines";

    // Fields.
    NameMissing = "name-missing", Info, "The skill or agent has no name of its own; the folder's or the file's is used.", "add `name:` with the folder's name";
    NameInvalid = "name-invalid", Warning, "The name has characters outside the standard's grammar.", "use lower-case letters, digits and single hyphens";
    NameTooLong = "name-too-long", Warning, "The name is longer than the standard's 64 characters.", "shorten the name";
    NameMismatch = "name-mismatch", Warning, "The name differs from the folder's name.", "rename the folder or the skill so that both agree";
    NameCollision = "name-collision", Warning, "Several skills in one root have the same name, or names that differ only in case or form.", "rename one, or address them by id";
    DescriptionMissing = "description-missing", Warning, "The skill or agent has no description, so no model is told about it.", "add `description:` that says what it does and when to use it";
    DescriptionTooLong = "description-too-long", Warning, "The description is longer than the standard's 1,024 characters; if the file is over the size limit, 16,384 are kept.", "shorten it; put details in the body";
    CompatibilityTooLong = "compatibility-too-long", Warning, "`compatibility` is longer than the standard's 500 characters.", "shorten it";
    FieldRequiredType = "field-required-type", Error, "A field that must be text has another kind of value.", "write the value as text";
    FieldType = "field-type", Warning, "A field has a value of the wrong kind and was left out.", "see the format reference for the kinds of values";
    UnknownField = "unknown-field", Warning, "The key is not part of the standard.", "move it under `metadata`";
    RequirementsUnreadable = "requirements-unreadable", Error, "The requirements could not be read, so the skill is not offered.", "write `requires` with lists of names";
    RestrictionUnreadable = "restriction-unreadable", Error, "The value of a key that restricts a skill cannot be read, or it is not clear where it ends; the strictest reading is used.", "write the key in the first column, with a value of the kind that it takes";
    ControlCharacters = "control-characters", Warning, "Control or escape characters were found; they are never shown or passed on as they are.", "remove them from the file";
    HiddenUnicode = "hidden-unicode", Warning, "The text has characters that people cannot see but models can read.", "remove them, or write what they say in plain text";
    BidiControl = "bidi-control", Warning, "The text has direction controls that make a person read different text than a model does.", "remove the direction controls";
    StructureBreakout = "structure-breakout", Warning, "The text has a tag of the catalog or prompt structure; it is escaped wherever it is shown to a model.", "remove the tag";
    RoleMarker = "role-marker", Warning, "The text has a marker that chat templates use to begin another speaker's words.", "remove the marker";
    OverbroadTrigger = "overbroad-trigger", Warning, "The description claims every task for its skill, so other skills are not chosen.", "say which tasks it is for";
    DynamicCommand = "dynamic-command", Warning, "The body has a command that some hosts run when they load it; Grove runs nothing and passes the text on as it is.", "write it as an instruction to run the command";
    ExfilUrl = "exfil-url", Warning, "The address of an image has a placeholder for data, which would be sent out when the image is shown.", "remove the image, or give it a fixed address";

    // Discovery and limits.
    CandidateLimit = "candidate-limit", Warning, "A root has more skill folders than the limit; the rest were not read.", "raise `limits.candidates_per_root`, or look with --all";
    SourceLimit = "source-limit", Warning, "A root or a source has more skills than may have entries of their own; the rest are capped and named in their group's entry.", "raise `limits.loaded_per_root` and `limits.loaded_per_source`, or look with --all";
    DepthLimit = "depth-limit", Warning, "Folders are nested deeper than the limit of group levels and were not walked.", "move the skills up, or raise `limits.group_depth`";
    FolderLimit = "folder-limit", Warning, "A root has more folders without skills than are opened; the rest were only probed for SKILL.md.", "point the root at the folder that holds the skills";
    EntryLimit = "entry-limit", Warning, "A folder has more entries than Grove reads.", "split the folder";
    RootUnreadable = "root-unreadable", Warning, "A root could not be opened.", "check the path and its permissions";
    SkillFolderValue = "skill-folder-value", Warning, "`skills` of pi's settings is not a list of paths, or one of its entries is not the path of a folder; all other entries were used.", "write a list of folders";
    SkillFolderLimit = "skill-folder-limit", Warning, "`skills` of pi's settings names more folders than Grove reads.", "name a folder that contains them";
    RootInvalid = "root-invalid", Warning, "A root is not a folder.", "give the path of a folder";

    // Trees.
    ChildName = "child-name", Warning, "A name under `metadata.children` or `metadata.parent` cannot be the name of a skill's folder and was left out.", "write the folder's name alone, without a path";
    ChildLimit = "child-limit", Warning, "A skill names more children than Grove looks for.", "put some of them under a child of its own";
    ChildMissing = "child-missing", Warning, "A declared child does not exist.", "create it as `skills/<child>/SKILL.md` in the skill's folder, or remove its name from `metadata.children`";
    ChildDuplicate = "child-duplicate", Warning, "A child is declared twice, by two parents, or exists in both places; the first one is used.", "keep one of them";
    ParentMissing = "parent-missing", Warning, "`metadata.parent` does not name exactly one skill in the root; the skill has no parent.", "write the name or id of a skill in the same root";
    TreeCycle = "tree-cycle", Warning, "A skill would be its own ancestor; it has no parent instead.", "remove one of the declarations";
    TreeDepth = "tree-depth", Warning, "A tree has more levels than the limit; anything deeper is not part of it.", "move the children up";
    BranchSmall = "branch-small", Warning, "A branch with fewer than three children costs more than it saves.", "list the children beside their parent, or merge them into it";
    BranchVague = "branch-vague", Warning, "The description of a branch shares no word with some of its children, so a model would not look for them there.", "say in the parent's description what these children are for";

    // Agents and their prompts.
    AgentName = "agent-name", Error, "The name of an agent or chain has a line end, a control character or a slash, or begins with a dot or a hyphen, so it could be mistaken for something else where names are written.", "use letters, digits and single hyphens";
    AgentPackage = "agent-package", Error, "The `package` of an agent or chain has no characters that a name can have, so it cannot be called by name.", "write `package` with letters, digits, hyphens and dots, or remove it";
    AgentCollision = "agent-collision", Warning, "Several agents of one root have the same name; the first in order is used.", "rename one of them";
    AgentAlias = "agent-alias", Warning, "An alias of an agent leads to another agent, which has the same name or alias.", "remove it from one of them";
    AgentSyntax = "agent-syntax", Error, "An agent file in TOML or JSON cannot be read, or has no text for the agent.", "correct the file at the line";
    AgentElsewhere = "agent-elsewhere", Error, "What the agent is told is not in this file.", "put its text into the file";
    AgentVariable = "agent-variable", Warning, "A value of an agent in settings names an environment variable, or a file where files are not read; it is used as written.", "write the value itself";
    AgentNote = "agent-note", Info, "A file in an agents folder has no frontmatter, so it was taken for a note, not for an agent.", "nothing to do, unless it is meant to be an agent: then begin it with a line `---`, the keys, and a line `---`";
    AgentUnmapped = "agent-unmapped", Info, "A key of an agent file has no counterpart in Grove; it is kept but not used. If it restricts the agent, this is a warning.", "nothing to do, unless the agent depends on it";
    AgentThinking = "agent-thinking", Warning, "The `thinking` of an agent is not a level that Grove knows; a run goes on without thinking.", "write `off`, `minimal`, `low`, `medium`, `high` or `xhigh`";
    StandIn = "stand-in", Warning, "The agent or skill with the highest precedence for a name cannot be used; another one stands in for it.", "see the message for what it needs, or name the one you mean as `id@root`";
    PreloadUnknown = "preload-unknown", Warning, "An agent names a skill that does not exist; the agent works without it.", "correct the name in `skills`, or add the skill";
    PreloadUnusable = "preload-unusable", Warning, "An agent names a skill that cannot be used; the agent works without it.", "see `grove skills show` for what the skill needs";
    PreloadBudget = "preload-budget", Warning, "A skill does not fit into the budget for skills in an agent's prompt and was left out entirely.", "shorten the skill, name fewer skills, or write `skillInjection: light`";
    OverrideValue = "override-value", Warning, "A value in settings that override agents has the wrong kind and was not used; all other values were.", "correct the value";
    OverrideUnknownField = "override-unknown-field", Info, "Settings override a field of an agent that cannot be overridden; it was not used.", "see the configuration reference for the fields that can be overridden";
    OverrideUnknown = "override-unknown", Warning, "Settings override an agent that does not exist.", "correct the name, or remove the override";
    SettingsUnreadable = "settings-unreadable", Warning, "A host's settings file cannot be read or is not JSON; nothing in it was used.", "correct the file";
    AgentContract = "agent-contract", Error, "The value of a key that restricts an agent, or of `engine`, cannot be read, or it is not clear where it ends; the agent would run without the restriction.", "write the value as the reference page of agent fields says";
    AgentUnknownField = "agent-unknown-field", Info, "A key of an agent is unknown and is either close to a known one or was asked for; it is kept as written.", "check the spelling";
    ModelUnknown = "model-unknown", Warning, "Grove knows no model with this name; the program that runs the agent may.", "check the spelling";
    ExportUnmapped = "export-unmapped", Warning, "Something in an agent cannot be expressed for the host that it is exported to.", "change the agent, or accept that the host does without it";
    ExportBudget = "export-budget", Warning, "An agent's text with its skills is longer than the host accepts.", "name fewer skills, shorten them, or write `skillInjection: light`";
    ExportName = "export-name", Warning, "Two agents or two skills would have the same name in the host; the first one is exported.", "rename one of them";
    ExportNotOurs = "export-not-ours", Warning, "A file that Grove did not write, or that has changed since, is in the way; it was left alone.", "move it away, or remove it, and export again";
    ExportPowers = "export-powers", Warning, "Something in a package would let an agent or a skill do more once it is in a host's own folders.", "read it; if you want it, write it into a file of your own";
    ExportLeftOut = "export-left-out", Warning, "An agent cannot be used as it is, so it was not exported; its earlier export was kept.", "see `grove agents show` for what it needs";
    ExportPartial = "export-partial", Warning, "A file of a skill was not copied.", "replace it with a plain file of another name, or accept that the host does without it";
    SkillPathUnused = "skill-path-unused", Warning, "A folder in an agent's `skillPath` was not searched.", "put the skills into a folder that is searched anyway, such as `.agents/skills`";
    InstructionsUntrusted = "instructions-untrusted", Warning, "A project's instructions are not in the prompt: they were not reviewed as they are now.", "review the file, then run `grove trust`";
    InstructionsUnread = "instructions-unread", Warning, "A project's instructions could not be read, or must not be, and are not in the prompt.", "replace the file with a plain text file in the project";
    InstructionsBudget = "instructions-budget", Warning, "A project's instructions do not fit into the prompt's budget for them and were left out entirely.", "shorten the file, or raise `limits.instruction_chars`";
    InstructionsSecond = "instructions-second", Info, "A folder has two files with instructions; only one of them is used.", "keep one file, or make one a link to the other";
    PromptBase = "prompt-base", Info, "What happened to the prompt of the program that runs the agent.", "see `systemPromptMode`, `inheritProjectContext` and `inheritSkills` of the agent";
    ContextFresh = "context-fresh", Info, "An agent that prefers a copy of the conversation runs without one, because there is none.", "run it from a session, or write `defaultContext: fresh`";
    ContextNoParent = "context-no-parent", Error, "A copy of the conversation was asked for, but there is no conversation.", "ask for a fresh context, or run it from a session";
    PromptPartial = "prompt-partial", Info, "The printed prompt is not everything that the agent is told.", "see the message for what comes from elsewhere";

    // Chains.
    ChainIncomplete = "chain-incomplete", Error, "A chain has no name, no description or no list of steps.", "write `name`, `description` and the steps";
    ChainStep = "chain-step", Error, "A step cannot be run as it is written.", "correct the step; see the format reference";
    ChainStepText = "chain-step-text", Warning, "The text of a step begins without a blank line after the heading and its settings; it was taken as the step's task.", "put an empty line before the text";
    ChainSchemaInline = "chain-schema-inline", Error, "A `.chain.md` has an inline schema; only the path of a file is allowed there.", "write the schema to a file and name the file, or write the chain as `.chain.json`";
    ChainOutputName = "chain-output-name", Error, "`as` is not a name, or two steps use the same name for their output.", "use letters, digits and underscores, and use each name once";
    ChainReference = "chain-reference", Error, "A step refers to an output that no earlier step produces.", "name the output of an earlier step with `as`, or correct the reference";
    ChainUnknownKey = "chain-unknown-key", Warning, "A step has an unknown key; it is kept but has no effect.", "correct the key or remove it";
    ChainLimit = "chain-limit", Error, "A chain has more steps, tasks or items than Grove will run.", "split the chain, or lower the number";
    ChainCollision = "chain-collision", Warning, "Several chains of one root have the same name; `.chain.json` takes precedence over `.chain.md`, then the first in order is used.", "rename or remove one of them";
    ChainAgentUnknown = "chain-agent-unknown", Warning, "A step names an agent that does not exist or cannot be used.", "correct the name, or add the agent";
    ChainSkillUnknown = "chain-skill-unknown", Warning, "A step names a skill that does not exist or cannot be used.", "correct the name, or add the skill";
    JsonSyntax = "json-syntax", Error, "The file is not valid JSON.", "correct the line";
    JsonDuplicateKey = "json-duplicate-key", Warning, "A key appears twice in one object; the last one is used.", "remove one of them";

    // Packages.
    PackageManifest = "package-manifest", Warning, "The manifest of a package cannot be read, or part of it has the wrong kind or is unknown; the rest of the package is used unless the finding says otherwise.", "correct the manifest, or tell the package's author";
    PackageSource = "package-source", Warning, "A package is named in a way that cannot be resolved or is not allowed here.", "name it as `npm:NAME`, `git:HOST/PATH`, `file:PATH` or a path; a project can only name packages inside it";
    PackageMissing = "package-missing", Warning, "A named package, or a folder that a package names, does not exist.", "install the package, or remove its name";
    PackageLimit = "package-limit", Warning, "There are more packages, or more entries in a manifest, than Grove reads.", "name the packages you need in the settings";
    PackageSettings = "package-settings", Warning, "A settings file that names packages or folders with skills cannot be read; what it names is not used.", "correct the file";

    // Trust and configuration.
    ProjectUntrusted = "project-untrusted", Info, "The project has content that is not used until the project is trusted.", "review it, then run `grove trust`";
    TrustDamaged = "trust-damaged", Warning, "A trust grant is damaged and counts as absent.", "run `grove trust` again";
    TrustNotOwn = "trust-not-own", Warning, "Other users can write to a trust grant or to a folder that contains it, so it counts as absent.", "make the file and its folders writable only by you (`chmod go-w`), then run `grove trust` again";
    TrustNewer = "trust-newer", Warning, "A later version of Grove wrote a trust grant: it is left alone and counts as absent.", "update Grove";
    TrustMoved = "trust-moved", Warning, "The trusted folder is not the one that was granted: its device, inode or birth time differs.", "review it, then run `grove trust` again";
    ConfigSyntax = "config-syntax", Error, "A line of the configuration is not valid TOML, or the file cannot be read; what it sets is not used.", "correct the line";
    ConfigValue = "config-value", Warning, "A configuration value has the wrong kind and was not used.", "correct the value";
    ConfigUnknownKey = "config-unknown-key", Warning, "A configuration key is unknown.", "see the configuration reference";
    SettingsRestriction = "settings-restriction", Error, "A limit or another restriction in the configuration or in pi's settings cannot be read; a run that it may hold is refused.", "correct the key or its value";
    ConfigForbidden = "config-forbidden", Warning, "A project's configuration may not set this key; it was not used.", "set it in the user's configuration";
    ConfigUntrusted = "config-untrusted", Info, "The project's configuration is not used until the project is trusted.", "review it, then run `grove trust`";
    SettingsChanged = "settings-changed", Warning, "The settings of a trusted project have changed since it was trusted; nothing that they name is used.", "review them, then run `grove trust` again";
    KeptLastGood = "kept-last-good", Warning, "The file is currently invalid, so its last good version is used while it is being watched.", "correct the file";
    WatchPolling = "watch-polling", Warning, "Some changes cannot be noticed as they happen, so Grove checks for changes from time to time.", "nothing to do, unless changes should be seen sooner";
    CacheDamaged = "cache-damaged", Info, "A cache file was damaged or from another version and was rebuilt.", "nothing to do";
    CacheUnwritable = "cache-unwritable", Info, "The cache could not be written; the next start will read all files again.", "check the permissions of the cache folder";
    ArgumentsUnused = "arguments-unused", Warning, "Arguments were given to something that uses none of them: a group, or a skill whose beginning alone is shown.", "give them to one of its skills";
    UsageDamaged = "usage-damaged", Info, "The record of which skills are used was damaged and has been started afresh.", "nothing to do";
    UsageNewer = "usage-newer", Info, "The record of which skills are used was written by a later version of Grove: it is left alone and nothing is recorded.", "update Grove";
    UsageUnwritable = "usage-unwritable", Info, "The record of which skills are used could not be written.", "check the permissions of the state folder";
    HostFrontmatter = "host-frontmatter", Warning, "Grove can read the frontmatter, but the host you asked about cannot.", "put values in double quotes, and begin the file with `---`";
    HostUnknownRule = "host-unknown-rule", Info, "It is not known what this host does here, so its view may differ.", "check the host itself";

    // Requests and runs.
    RequestInvalid = "request-invalid", Error, "A request for a run has a field that is missing, unknown or of the wrong form.", "correct the field";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_kebab_case() {
        let mut seen = std::collections::BTreeSet::new();
        for code in Code::ALL {
            let name = code.as_str();
            assert!(seen.insert(name), "{name} appears twice");
            assert!(
                name.chars()
                    .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'),
                "{name}"
            );
            assert!(
                !code.help().is_empty() && !code.help().ends_with('.'),
                "{name}"
            );
            assert!(code.meaning().ends_with('.'), "{name}");
        }
    }
}
