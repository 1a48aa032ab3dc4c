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

            /// The stable name.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The usual severity.
            pub const fn severity(self) -> Severity {
                match self { $(Self::$variant => Severity::$severity,)* }
            }

            /// What the code means.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)* }
            }

            /// What to do about it.
            pub const fn help(self) -> &'static str {
                match self { $(Self::$variant => $help,)* }
            }
        }
    };
}

codes! {
    // The file itself.
    FileTooLarge = "file-too-large", Error, "The file is larger than the limit for a skill file, not counting what is dropped of its description.", "move long material to files beside SKILL.md, or raise `limits.file_bytes`";
    EmptyFile = "empty-file", Error, "The file has no content.", "write frontmatter with a name and a description, then the instructions";
    NotUtf8 = "not-utf8", Error, "The file is not valid UTF-8.", "save the file as UTF-8";
    NotRegularFile = "not-regular-file", Error, "A folder, pipe, socket or device is where the skill file should be.", "replace it with a plain file";
    PseudoFile = "pseudo-file", Error, "The path leads into a file system of the kernel, whose files are not documents.", "replace the link with a plain file";
    Unreadable = "unreadable", Error, "The file or folder could not be read.", "check its permissions";
    PathEscape = "path-escape", Error, "A link inside a project or package leads out of its root and was not followed.", "copy the target into the root, or add its folder as a user root";
    BrokenLink = "broken-link", Warning, "A link leads nowhere.", "remove the link or restore its target";
    LinkLoop = "link-loop", Warning, "A folder was reached a second time through a link and was not walked again.", "remove one of the links";
    HardLink = "hard-link", Warning, "A skill file in a project or package has more than one hard link, so it may be a file from elsewhere.", "replace the hard link with a copy";
    FileNameCase = "file-name-case", Warning, "A file differs from `SKILL.md` only in case and was not read.", "rename it to SKILL.md, or remove it where there is one";
    UnprintablePath = "unprintable-path", Error, "A folder or file name has control characters or characters that people do not see, or is not UTF-8, so it cannot be shown to a model.", "rename it with plain characters";
    PortableName = "portable-name", Warning, "The folder name cannot be used on every platform.", "rename the folder with lower-case letters, digits and hyphens";

    // The frontmatter block.
    FrontmatterMissing = "frontmatter-missing", Error, "SKILL.md does not start with a frontmatter block.", "start the file with a line `---`, then `name:` and `description:`, then a line `---`";
    FrontmatterUnclosed = "frontmatter-unclosed", Error, "The frontmatter block has no closing line `---`.", "add a line `---` after the last key";
    FrontmatterMisplaced = "frontmatter-misplaced", Error, "The frontmatter of an agent does not begin with a line `---` that is the first of the file.", "begin the file with a line `---`, then the keys, then a line `---`";
    FrontmatterTooLarge = "frontmatter-too-large", Warning, "The frontmatter is larger than what is given to a YAML parser; only plain keys were read.", "shorten the frontmatter to at most 16 KiB; move text to the body";
    FrontmatterUnreadable = "frontmatter-unreadable", Error, "The frontmatter is larger than what is given to a YAML parser and is not plain keys and text.", "shorten the frontmatter to at most 16 KiB";
    UnsupportedFrontmatter = "unsupported-frontmatter", Error, "The frontmatter is TOML or JSON; skills have YAML.", "write the keys as YAML between two lines `---`";
    YamlSyntax = "yaml-syntax", Error, "The frontmatter is not valid YAML and could not be repaired.", "put the value in double quotes";
    YamlRepaired = "yaml-repaired", Warning, "A part of the frontmatter is not valid YAML and was read as its author meant it: a value as text, a line in brackets or quotes as if it were indented, a known key in spite of its blanks.", "put the value in double quotes";
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
    DescriptionMissing = "description-missing", Warning, "The skill or agent has no description, so no model is told of it.", "add `description:` that says what it does and when to use it";
    DescriptionTooLong = "description-too-long", Warning, "The description is longer than the standard's 1,024 characters; of a file over the size limit 16,384 are kept.", "shorten it; put details in the body";
    CompatibilityTooLong = "compatibility-too-long", Warning, "`compatibility` is longer than the standard's 500 characters.", "shorten it";
    FieldRequiredType = "field-required-type", Error, "A field that must be text is something else.", "write the value as text";
    FieldType = "field-type", Warning, "A field has a value of the wrong kind and was left out.", "see the format reference for the kinds of values";
    UnknownField = "unknown-field", Warning, "The key is not part of the standard.", "move it under `metadata`";
    RequirementsUnreadable = "requirements-unreadable", Error, "The requirements could not be read, so the skill is not offered.", "write `requires` with lists of names";
    RestrictionUnreadable = "restriction-unreadable", Error, "The value of a key that restricts a skill cannot be read, or it is not clear where it ends; its strictest reading counts.", "write the key in the first column, with a value of the kind that it takes";
    ControlCharacters = "control-characters", Warning, "Control or escape characters were found and are never shown or passed on as they are.", "remove them from the file";
    HiddenUnicode = "hidden-unicode", Warning, "The text has characters that people cannot see and models can read.", "remove them, or show what they say in plain text";
    BidiControl = "bidi-control", Warning, "The text has direction controls that make people read another text than a model.", "remove the direction controls";
    StructureBreakout = "structure-breakout", Warning, "The text has a tag of the catalog or prompt structure; it is escaped wherever it is shown to a model.", "remove the tag";
    RoleMarker = "role-marker", Warning, "The text has a marker with which chat templates begin another speaker's words.", "remove the marker";
    OverbroadTrigger = "overbroad-trigger", Warning, "The description claims every task for its skill, so that others are not chosen.", "say for which tasks it is";
    DynamicCommand = "dynamic-command", Warning, "The body has a command that some hosts run when they load it; Grove runs nothing and gives the text as it is.", "write it as an instruction to run the command";
    ExfilUrl = "exfil-url", Warning, "The address of an image has a place for data, which would be sent out when the image is shown.", "remove the image, or give it a fixed address";

    // Discovery and limits.
    CandidateLimit = "candidate-limit", Warning, "A root has more skill folders than the limit; the rest were not read.", "raise `limits.candidates_per_root`, or look with --all";
    SourceLimit = "source-limit", Warning, "A root or a source has more skills than may be entries of their own; the rest are capped: named in their group's entry.", "raise `limits.loaded_per_root` and `limits.loaded_per_source`, or look with --all";
    DepthLimit = "depth-limit", Warning, "Folders are nested deeper than the limit of group levels and were not walked.", "move the skills up, or raise `limits.group_depth`";
    FolderLimit = "folder-limit", Warning, "A root has more folders without skills than are opened; the rest were only probed for SKILL.md.", "point the root at the folder that holds the skills";
    EntryLimit = "entry-limit", Warning, "A folder has more entries than are looked at.", "split the folder";
    RootUnreadable = "root-unreadable", Warning, "A root could not be opened.", "check the path and its permissions";
    SkillFolderValue = "skill-folder-value", Warning, "`skills` of pi's settings is not a list of paths, or an entry of it is not the path of a folder; every other entry was used.", "write a list of folders";
    SkillFolderLimit = "skill-folder-limit", Warning, "`skills` of pi's settings names more folders than are looked at.", "name a folder above them";
    RootInvalid = "root-invalid", Warning, "A root is not a folder.", "give the path of a folder";

    // Trees.
    ChildName = "child-name", Warning, "A name under `metadata.children` or `metadata.parent` cannot be the name of a skill's folder and was left out.", "write the folder's name alone, without a path";
    ChildLimit = "child-limit", Warning, "A skill names more children than are looked for.", "put some of them under a child of its own";
    ChildMissing = "child-missing", Warning, "A declared child is not there.", "create it as `skills/<child>/SKILL.md` in the skill's folder, or remove its name from `metadata.children`";
    ChildDuplicate = "child-duplicate", Warning, "A child is declared twice, by two parents, or is in both places; the first one counts.", "keep one of them";
    ParentMissing = "parent-missing", Warning, "No single skill of the root is the one that `metadata.parent` names; the skill stands on its own.", "write the name or id of a skill in the same root";
    TreeCycle = "tree-cycle", Warning, "A skill would be above itself; it stands on its own instead.", "remove one of the declarations";
    TreeDepth = "tree-depth", Warning, "A tree is deeper than its limit of levels; anything deeper is not part of it.", "move the children up";
    BranchSmall = "branch-small", Warning, "A branch with fewer than three children costs more than it saves.", "list the children beside their parent, or merge them into it";
    BranchVague = "branch-vague", Warning, "The description of a branch shares no word with some of its children, so a model would not look for them there.", "say in the parent's description what these children are for";

    // Agents and their prompts.
    AgentName = "agent-name", Error, "The name of an agent or chain has a line end, a control character or a slash, or begins with a dot or a hyphen, so it could become something else where names are written.", "use letters, digits and single hyphens";
    AgentPackage = "agent-package", Error, "The `package` of an agent or chain has nothing left that a name can have, so it has no name to be called by.", "write `package` with letters, digits, hyphens and dots, or remove it";
    AgentCollision = "agent-collision", Warning, "Several agents of one root have the same name; the first in order is used.", "rename one of them";
    AgentSyntax = "agent-syntax", Error, "An agent file in TOML or JSON cannot be read, or has no text for the agent.", "correct the file at the line";
    AgentElsewhere = "agent-elsewhere", Error, "What the agent is told is not in this file.", "put its text into the file";
    AgentVariable = "agent-variable", Warning, "A value of an agent in settings names a variable of the environment, or a file where none is read; it stays as it is written.", "write the value itself";
    AgentNote = "agent-note", Info, "A file among agents has no frontmatter, so it was taken for a note, not for an agent.", "nothing to do, unless it is meant to be an agent: then begin it with a line `---`, keys, and a line `---`";
    AgentUnmapped = "agent-unmapped", Info, "A key of an agent file has no counterpart here; it is kept and not used. Where it restricts the agent this is a warning.", "nothing to do, unless the agent depends on it";
    StandIn = "stand-in", Warning, "An agent or a skill that comes before all others of its name cannot be used; another one stands in for it.", "see the message for what it needs, or name the one that is meant as `id@root`";
    PreloadUnknown = "preload-unknown", Warning, "An agent names a skill that is not there; the agent works without it.", "correct the name in `skills`, or add the skill";
    PreloadUnusable = "preload-unusable", Warning, "An agent names a skill that cannot be used; the agent works without it.", "see `grove skills show` for what the skill needs";
    PreloadBudget = "preload-budget", Warning, "A skill does not fit into what an agent's prompt may take for its skills and was left out whole.", "shorten the skill, name fewer skills, or write `skillInjection: light`";
    OverrideValue = "override-value", Warning, "A value in settings that override agents has the wrong kind and was not used; every other value was.", "correct the value";
    OverrideUnknownField = "override-unknown-field", Info, "Settings override a field of an agent that cannot be overridden; it was not used.", "see the configuration reference for the fields that can be";
    OverrideUnknown = "override-unknown", Warning, "Settings override an agent that is not there.", "correct the name, or remove the override";
    SettingsUnreadable = "settings-unreadable", Warning, "A host's settings file cannot be read or is not JSON; nothing in it was used.", "correct the file";
    AgentContract = "agent-contract", Error, "The value of a key that restricts an agent, or of `engine`, cannot be read, or it is not clear where it ends; the agent would run without the restriction.", "write the value as the reference page of agent fields says";
    AgentUnknownField = "agent-unknown-field", Info, "A key of an agent is not known here and is nearly one that is, or was asked for; it is kept as written.", "check the spelling";
    ModelUnknown = "model-unknown", Warning, "No model of this name is known here; the program that runs the agent may know it.", "check the spelling";
    ExportUnmapped = "export-unmapped", Warning, "Something that an agent says cannot be said to the host that it is exported for.", "change the agent, or accept that the host does without it";
    ExportBudget = "export-budget", Warning, "An agent's text with its skills is longer than what the host takes.", "name fewer skills, shorten them, or write `skillInjection: light`";
    ExportName = "export-name", Warning, "Two agents or two skills would have one name at the host; the first one is exported.", "rename one of them";
    ExportNotOurs = "export-not-ours", Warning, "A file that Grove did not write, or that was changed since, is where one would be written; it was left alone.", "move it away, or remove it, and export again";
    ExportPowers = "export-powers", Warning, "Something of a package would let an agent or a skill do more once it is in a host's own folders.", "read it; if you want it, write it into a file of your own";
    ExportLeftOut = "export-left-out", Warning, "An agent cannot be used as it is, so it was not exported; what was exported of it before stays.", "see `grove agents show` for what it needs";
    ExportPartial = "export-partial", Warning, "A file of a skill was not copied.", "put a plain file with another name in its place, or accept that the host does without it";
    SkillPathUnused = "skill-path-unused", Warning, "A folder in an agent's `skillPath` was not looked in.", "put the skills into a folder that is looked in anyway, such as `.agents/skills`";
    InstructionsUntrusted = "instructions-untrusted", Warning, "A project's instructions are not in the prompt: nobody has reviewed them as they are now.", "review the file, then run `grove trust`";
    InstructionsUnread = "instructions-unread", Warning, "A project's instructions could not be read, or may not be, and are not in the prompt.", "replace the file with a plain text file in the project";
    InstructionsBudget = "instructions-budget", Warning, "A project's instructions do not fit into what a prompt may take for them and were left out whole.", "shorten the file, or raise `limits.instruction_chars`";
    InstructionsSecond = "instructions-second", Info, "A folder has two files with instructions, and one of them counts.", "keep one file, or let one lead to the other";
    PromptBase = "prompt-base", Info, "What happened to the prompt of the program that runs the agent.", "see `systemPromptMode`, `inheritProjectContext` and `inheritSkills` of the agent";
    ContextFresh = "context-fresh", Info, "An agent that prefers a copy of the conversation runs without one, because there is none.", "run it from a session, or write `defaultContext: fresh`";
    ContextNoParent = "context-no-parent", Error, "A copy of the conversation was asked for and there is none.", "ask for a fresh context, or run it from a session";
    PromptPartial = "prompt-partial", Info, "The printed prompt is not all that the agent is told.", "see the message for what comes from elsewhere";

    // Chains.
    ChainIncomplete = "chain-incomplete", Error, "A chain has no name, no description or no list of steps.", "write `name`, `description` and the steps";
    ChainStep = "chain-step", Error, "A step says something that cannot be run as it is written.", "correct the step; see the format reference";
    ChainStepText = "chain-step-text", Warning, "The text of a step begins without a blank line after the heading and its settings; it was taken as the step's task.", "put an empty line before the text";
    ChainSchemaInline = "chain-schema-inline", Error, "A `.chain.md` has an inline schema; only the path of a file is allowed there.", "write the schema to a file and name the file, or write the chain as `.chain.json`";
    ChainOutputName = "chain-output-name", Error, "`as` is not a name, or two steps give their output the same one.", "use letters, digits and underscores, and each name once";
    ChainReference = "chain-reference", Error, "A step refers to an output that no earlier step gives.", "name the output of an earlier step with `as`, or correct the reference";
    ChainUnknownKey = "chain-unknown-key", Warning, "A step has a key that is not known; it is kept and means nothing.", "correct the key or remove it";
    ChainLimit = "chain-limit", Error, "A chain has more steps, tasks or items than are ever run.", "split the chain, or lower the number";
    ChainCollision = "chain-collision", Warning, "Several chains of one root have the same name; `.chain.json` goes before `.chain.md`, then the first in order.", "rename or remove one of them";
    ChainAgentUnknown = "chain-agent-unknown", Warning, "A step names an agent that is not there or cannot be used.", "correct the name, or add the agent";
    ChainSkillUnknown = "chain-skill-unknown", Warning, "A step names a skill that is not there or cannot be used.", "correct the name, or add the skill";
    JsonSyntax = "json-syntax", Error, "The file is not valid JSON.", "correct the line";
    JsonDuplicateKey = "json-duplicate-key", Warning, "A key appears twice in one object; the last one counts.", "remove one of them";

    // Packages.
    PackageManifest = "package-manifest", Warning, "The manifest of a package cannot be read, or a part of it has the wrong kind or is not known; the rest of the package is used, unless the finding refuses it.", "correct the manifest, or tell the package's author";
    PackageSource = "package-source", Warning, "A package is named in a way that cannot be followed or is not allowed here.", "name it as `npm:NAME`, `git:HOST/PATH`, `file:PATH` or a path; a project can only name what is inside it";
    PackageMissing = "package-missing", Warning, "A package that is named, or a folder that a package names, is not there.", "install the package, or remove its name";
    PackageLimit = "package-limit", Warning, "There are more packages, or more entries in a manifest, than are looked at.", "name the packages you need in the settings";
    PackageSettings = "package-settings", Warning, "A settings file that names packages or folders with skills cannot be read; what it names is not used.", "correct the file";

    // Trust and configuration.
    ProjectUntrusted = "project-untrusted", Info, "The project has content that is not used until the project is trusted.", "review it, then run `grove trust`";
    TrustDamaged = "trust-damaged", Warning, "A trust grant is damaged and counts as absent.", "run `grove trust` again";
    TrustNotOwn = "trust-not-own", Warning, "Somebody else may write a trust grant or a folder that it is in, so it counts as absent.", "make the file and its folders yours alone (`chmod go-w`), then run `grove trust` again";
    TrustNewer = "trust-newer", Warning, "A later version of grove wrote a trust grant: it is left alone and counts as absent.", "update grove";
    TrustMoved = "trust-moved", Warning, "The trusted folder is not the one that was granted: its device, inode or birth time differs.", "review it, then run `grove trust` again";
    ConfigSyntax = "config-syntax", Error, "A line of the configuration is not valid TOML, or the file cannot be read; what it sets is not used.", "correct the line";
    ConfigValue = "config-value", Warning, "A configuration value has the wrong kind and was not used.", "correct the value";
    ConfigUnknownKey = "config-unknown-key", Warning, "A configuration key is not known.", "see the configuration reference";
    ConfigForbidden = "config-forbidden", Warning, "A project's configuration may not set this key; it was not used.", "set it in the user's configuration";
    ConfigUntrusted = "config-untrusted", Info, "The project's configuration is not used until the project is trusted.", "review it, then run `grove trust`";
    SettingsChanged = "settings-changed", Warning, "The settings of a trusted project are not as they were when it was trusted; nothing that they name is used.", "review them, then run `grove trust` again";
    KeptLastGood = "kept-last-good", Warning, "The file is invalid at present, so its last good version is used as long as it is watched.", "correct the file";
    WatchPolling = "watch-polling", Warning, "Some changes cannot be noticed as they happen, so Grove looks for changes from time to time.", "nothing to do, unless changes should be seen sooner";
    CacheDamaged = "cache-damaged", Info, "A cache file was damaged or of another version and was rebuilt.", "nothing to do";
    CacheUnwritable = "cache-unwritable", Info, "The cache could not be written; the next start will read all files again.", "check the permissions of the cache folder";
    ArgumentsUnused = "arguments-unused", Warning, "Arguments were given to something that uses none of them: a group, or a skill of which only the start is shown.", "give them to one of its skills";
    UsageDamaged = "usage-damaged", Info, "The record of which skills are used was damaged and has been started again.", "nothing to do";
    UsageNewer = "usage-newer", Info, "The record of which skills are used was written by a later version of grove: it is left alone and nothing is remembered.", "update grove";
    UsageUnwritable = "usage-unwritable", Info, "The record of which skills are used could not be written.", "check the permissions of the state folder";
    HostFrontmatter = "host-frontmatter", Warning, "The host that is asked about cannot read the frontmatter, which Grove can.", "put values in double quotes, and begin the file with `---`";
    HostUnknownRule = "host-unknown-rule", Info, "What this host does here is not known, so its view may differ.", "check the host itself";

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
