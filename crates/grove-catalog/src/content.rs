//! The content of a skill file: the part that every listing needs at hand, the rest on demand.
//!
//! A library that has not changed is verified and listed from its cache; unpacking ten thousand frontmatters of which
//! only name and description are used would cost more than looking at the files.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use grove_spec::skill::{ParsedSkill, Requirements, SkillFile, TreeKeys};

use grove_spec::{Code, Diagnostic, Digest};

/// The facts about a skill file that decide without unpacking it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SkillFlags {
    /// Set if no finding is an error.
    pub valid: bool,
    /// Set if there is a frontmatter block.
    pub has_frontmatter: bool,
    /// Set if a model may see it.
    pub model_invocable: bool,
    /// Set if a person may call it.
    pub user_invocable: bool,
    /// Set if it has requirements.
    pub has_requirements: bool,
    /// Set if it has findings.
    pub has_findings: bool,
    /// Set if it declares children or a parent.
    pub has_tree_keys: bool,
    /// Set if it is only for work with some files.
    pub has_paths: bool,
}

/// A skill file's content, shared by all snapshots it is in.
#[derive(Debug)]
pub struct SkillContent {
    /// A hash of its bytes for telling versions apart; not for trust.
    pub fingerprint: u128,
    /// The digest of its bytes, in roots whose content is pinned.
    pub digest: Option<Digest>,
    /// Its size in bytes.
    pub size: u64,
    flags: SkillFlags,
    whole: UnpackedOrPacked,
}

#[derive(Debug)]
enum UnpackedOrPacked {
    Parsed(ParsedSkill),
    Packed(PackedSkill, OnceLock<Box<ParsedSkill>>),
}

/// A skill that was parsed before: its parts in the bytes of many files, and a function that unpacks the whole.
#[derive(Debug, Clone)]
pub struct PackedSkill {
    /// The bytes of many files.
    pub bytes: Arc<Vec<u8>>,
    /// The range of the name, if it has one.
    pub name: Option<Range<u32>>,
    /// The range of the description, if it has one.
    pub description: Option<Range<u32>>,
    /// The range of everything else.
    pub rest: Range<u32>,
    /// The function that reads everything else.
    pub unpack: fn(&[u8]) -> Option<ParsedSkill>,
    /// The facts that need no unpacking.
    pub flags: SkillFlags,
}

impl SkillContent {
    /// Makes content of a file that was just parsed.
    pub fn new(fingerprint: u128, digest: Option<Digest>, size: u64, parsed: ParsedSkill) -> Self {
        let flags = SkillFlags::of(&parsed);
        Self {
            fingerprint,
            digest,
            size,
            flags,
            whole: UnpackedOrPacked::Parsed(parsed),
        }
    }

    /// Makes content of a file that was parsed before, to be unpacked when it is used.
    pub fn packed(
        fingerprint: u128,
        digest: Option<Digest>,
        size: u64,
        packed: PackedSkill,
    ) -> Self {
        Self {
            fingerprint,
            digest,
            size,
            flags: packed.flags,
            whole: UnpackedOrPacked::Packed(packed, OnceLock::new()),
        }
    }

    /// Returns true if there is nothing but the reason why the file is not used.
    pub fn is_refused(&self) -> bool {
        self.fingerprint == 0 && self.digest.is_none() && !self.flags.valid
    }

    /// Returns true if the file is text without frontmatter, which some hosts take for a body.
    pub fn is_bare(&self) -> bool {
        let is_fence = |finding: &Diagnostic| {
            matches!(
                finding.code,
                Code::FrontmatterMissing | Code::FrontmatterUnclosed | Code::UnsupportedFrontmatter
            )
        };
        let has_block = self.flags.has_frontmatter || self.is_refused();
        let mut errors = self.parsed().diagnostics.iter().filter(|it| it.is_error());
        !has_block && errors.all(is_fence)
    }

    /// Returns the facts that decide without unpacking.
    pub fn flags(&self) -> SkillFlags {
        self.flags
    }

    /// Returns the name in the frontmatter.
    pub fn name(&self) -> Option<&str> {
        match &self.whole {
            UnpackedOrPacked::Parsed(parsed) => parsed.skill.name.as_deref(),
            UnpackedOrPacked::Packed(packed, _) => packed.text(packed.name.as_ref()?),
        }
    }

    /// Returns the description in the frontmatter: what the skill does and when to use it.
    pub fn description(&self) -> Option<&str> {
        match &self.whole {
            UnpackedOrPacked::Parsed(parsed) => parsed.skill.description.as_deref(),
            UnpackedOrPacked::Packed(packed, _) => packed.text(packed.description.as_ref()?),
        }
    }

    /// Returns the keys about its place in a tree; a file without any is not unpacked for them.
    pub fn tree_keys(&self) -> Option<&TreeKeys> {
        let has = self.flags.has_tree_keys;
        has.then(|| self.parsed().skill.tree_keys()).flatten()
    }

    /// Returns everything that the file says.
    pub fn parsed(&self) -> &ParsedSkill {
        match &self.whole {
            UnpackedOrPacked::Parsed(parsed) => parsed,
            UnpackedOrPacked::Packed(packed, unpacked) => {
                unpacked.get_or_init(|| Box::new(packed.unpack()))
            }
        }
    }
}

impl PackedSkill {
    fn text(&self, range: &Range<u32>) -> Option<&str> {
        std::str::from_utf8(self.bytes.get(range.start as usize..range.end as usize)?).ok()
    }

    fn unpack(&self) -> ParsedSkill {
        let rest = self
            .bytes
            .get(self.rest.start as usize..self.rest.end as usize);
        // Packed bytes are checked as a whole when they are loaded, so a failure here is a fault of Grove. What the
        // skill requires is then unknown, and unknown requirements are not met.
        let mut parsed = rest.and_then(self.unpack).unwrap_or_else(|| ParsedSkill {
            skill: SkillFile {
                requirements: Some(Box::new(Requirements {
                    unreadable: Some("the cache is damaged".to_owned()),
                    ..Requirements::default()
                })),
                ..SkillFile::default()
            },
            body_offset: 0,
            diagnostics: Vec::new(),
        });
        let text = |range: &Option<Range<u32>>| {
            range
                .as_ref()
                .and_then(|range| self.text(range))
                .map(str::to_owned)
        };
        parsed.skill.name = text(&self.name);
        parsed.skill.description = text(&self.description);
        parsed
    }
}

impl SkillFlags {
    /// The facts about a parsed file.
    pub fn of(parsed: &ParsedSkill) -> Self {
        Self {
            valid: parsed.is_valid(),
            has_frontmatter: parsed.has_frontmatter(),
            model_invocable: parsed.skill.model_invocable,
            user_invocable: parsed.skill.user_invocable,
            has_requirements: parsed.skill.requirements.is_some(),
            has_findings: !parsed.diagnostics.is_empty(),
            has_tree_keys: parsed.skill.tree_keys().is_some(),
            has_paths: parsed.skill.is_for_some_files(),
        }
    }
}

impl SkillFlags {
    /// The flags as one byte.
    pub fn to_byte(self) -> u8 {
        [
            self.valid,
            self.has_frontmatter,
            self.model_invocable,
            self.user_invocable,
            self.has_requirements,
            self.has_findings,
            self.has_tree_keys,
            self.has_paths,
        ]
        .iter()
        .enumerate()
        .fold(0, |byte, (bit, set)| byte | (u8::from(*set) << bit))
    }

    /// The flags from one byte.
    pub fn from_byte(byte: u8) -> Self {
        let bit = |index: u8| byte & (1 << index) != 0;
        Self {
            valid: bit(0),
            has_frontmatter: bit(1),
            model_invocable: bit(2),
            user_invocable: bit(3),
            has_requirements: bit(4),
            has_findings: bit(5),
            has_tree_keys: bit(6),
            has_paths: bit(7),
        }
    }
}

impl PartialEq for SkillContent {
    fn eq(&self, other: &Self) -> bool {
        self.fingerprint == other.fingerprint
            && self.digest == other.digest
            && self.size == other.size
            && self.parsed() == other.parsed()
    }
}

impl Eq for SkillContent {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_survive_their_byte() {
        for byte in 0..128 {
            assert_eq!(SkillFlags::from_byte(byte).to_byte(), byte);
        }
    }

    fn unpack(_: &[u8]) -> Option<ParsedSkill> {
        Some(grove_spec::skill::parse(
            "---\nname: a\ndescription: d\n---\n",
        ))
    }

    #[test]
    fn packed_content_is_unpacked_once_and_equal() {
        let parsed = grove_spec::skill::parse("---\nname: a\ndescription: d\n---\n");
        let plain = SkillContent::new(7, None, 3, parsed.clone());
        let packed = SkillContent::packed(
            7,
            None,
            3,
            PackedSkill {
                bytes: Arc::new(b"adxyz".to_vec()),
                name: Some(0..1),
                description: Some(1..2),
                rest: 2..5,
                unpack,
                flags: SkillFlags::of(&parsed),
            },
        );
        assert_eq!(
            (packed.name(), packed.description(), packed.flags()),
            (plain.name(), plain.description(), plain.flags())
        );
        assert_eq!(packed, plain);
        assert!(std::ptr::eq(packed.parsed(), packed.parsed()));
    }
}
