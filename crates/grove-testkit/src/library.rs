//! Generated skill libraries of any size, the same bytes every time.
//!
//! The shape is the one of the reference measurements: two levels of groups, then skill folders
//! with nothing but a `SKILL.md`. Hostile or odd files are the business of the corpora.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::skill_text;

/// Part of the marker: raise it when the layout or the text changes, and stored libraries are
/// made anew.
const VERSION: u32 = 1;

/// Groups this wide or narrower; beyond it more groups are made.
const WIDEST_GROUP: usize = 1_000;

/// A library of generated skills on disk.
#[derive(Debug, Clone)]
pub struct GeneratedLibrary {
    root: PathBuf,
    n_skills: usize,
    shape: Shape,
}

impl GeneratedLibrary {
    /// Makes a library of `n_skills` skills in `root`, or takes the one that is there.
    ///
    /// A marker beside `root` says what `root` holds. A folder with content but without a marker
    /// was not made here and is an error, never deleted.
    pub fn create(root: impl Into<PathBuf>, n_skills: usize) -> Result<Self, String> {
        let library = Self {
            root: root.into(),
            n_skills,
            shape: Shape::of(n_skills),
        };
        let made = library.marker().and_then(|marker| library.make(&marker));
        match made {
            Ok(()) => Ok(library),
            Err(error) => {
                let root = library.root.display();
                Err(format!(
                    "cannot make a library of {n_skills} skills in {root}: {error}"
                ))
            }
        }
    }

    /// The folder that holds the groups.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// How many skills there are.
    pub fn n_skills(&self) -> usize {
        self.n_skills
    }

    /// The name of the skill number `index`, counted from 0.
    pub fn skill_name(&self, index: usize) -> String {
        skill_text::name(index)
    }

    /// The `SKILL.md` of the skill number `index`, counted from 0.
    pub fn skill_file(&self, index: usize) -> PathBuf {
        self.group(index)
            .join(skill_text::name(index))
            .join("SKILL.md")
    }

    fn group(&self, index: usize) -> PathBuf {
        let (area, topic) = self.shape.place(index);
        self.root
            .join(format!("area-{area:02}"))
            .join(format!("topic-{topic:02}"))
    }

    fn marker(&self) -> io::Result<PathBuf> {
        let name = self
            .root
            .file_name()
            .ok_or(io::ErrorKind::InvalidFilename)?;
        let mut marker_name = name.to_owned();
        marker_name.push(".library");
        Ok(self.root.with_file_name(marker_name))
    }

    fn make(&self, marker: &Path) -> io::Result<()> {
        let complete = format!("version {VERSION}, {} skills\n", self.n_skills);
        match fs::read_to_string(marker) {
            Ok(found) if found == complete && self.root.is_dir() => return Ok(()),
            Ok(_) => remove_if_there(&self.root)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => refuse_content(&self.root)?,
            Err(error) => return Err(error),
        }
        fs::create_dir_all(&self.root)?;
        // Written before the first skill, so that what an interrupted run leaves is known as ours.
        fs::write(marker, "incomplete\n")?;
        self.write_skills()?;
        fs::write(marker, complete)
    }

    fn write_skills(&self) -> io::Result<()> {
        for index in 0..self.n_skills {
            let file = self.skill_file(index);
            if let Some(folder) = file.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::write(&file, skill_text::skill_md(index))?;
        }
        Ok(())
    }
}

fn remove_if_there(root: &Path) -> io::Result<()> {
    match fs::remove_dir_all(root) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn refuse_content(root: &Path) -> io::Result<()> {
    match fs::read_dir(root).map(|mut entries| entries.next().is_some()) {
        Ok(true) => Err(io::Error::other(
            "the folder has content that was not generated",
        )),
        Ok(false) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// How many groups there are on each of the two levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shape {
    n_areas: usize,
    n_topics: usize,
}

impl Shape {
    fn of(n_skills: usize) -> Self {
        let (n_areas, n_topics) = match n_skills {
            // 10 × 10 would leave one skill in a group, which no one has.
            0..500 => (2, 5),
            _ => (10, 10.max(n_skills.div_ceil(10 * WIDEST_GROUP))),
        };
        Self { n_areas, n_topics }
    }

    fn place(self, index: usize) -> (usize, usize) {
        (index % self.n_areas, index / self.n_areas % self.n_topics)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_full_and_never_too_wide() {
        for n_skills in [100, 1_000, 10_000, 100_000, 250_000] {
            let shape = Shape::of(n_skills);
            let mut widths = vec![0; shape.n_areas * shape.n_topics];
            for index in 0..n_skills {
                let (area, topic) = shape.place(index);
                widths[area * shape.n_topics + topic] += 1;
            }
            assert!(
                widths
                    .iter()
                    .all(|width| (1..=WIDEST_GROUP).contains(width))
            );
        }
    }

    #[test]
    fn a_complete_library_is_taken_and_an_incomplete_one_is_made_anew() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("skills");
        let library = GeneratedLibrary::create(&root, 30).unwrap();
        let file = library.skill_file(11);
        let original = fs::read(&file).unwrap();

        fs::write(&file, "edited").unwrap();
        GeneratedLibrary::create(&root, 30).unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"edited");

        fs::write(dir.path().join("skills.library"), "incomplete\n").unwrap();
        GeneratedLibrary::create(&root, 30).unwrap();
        assert_eq!(fs::read(&file).unwrap(), original);
    }

    #[test]
    fn a_folder_of_somebody_else_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("skills");
        fs::create_dir(&root).unwrap();
        fs::write(root.join("mine.txt"), "mine").unwrap();
        let error = GeneratedLibrary::create(&root, 3).unwrap_err();
        assert!(error.contains("not generated"), "{error}");
        assert_eq!(fs::read(root.join("mine.txt")).unwrap(), b"mine");
    }

    #[test]
    fn the_library_holds_the_skills_it_names_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let library = GeneratedLibrary::create(dir.path().join("skills"), 100).unwrap();
        for index in 0..100 {
            let text = fs::read_to_string(library.skill_file(index)).unwrap();
            let name = library.skill_name(index);
            assert!(text.starts_with(&format!("---\nname: {name}\n")), "{text}");
        }
        let at_the_root: Vec<_> = fs::read_dir(library.root()).unwrap().flatten().collect();
        assert_eq!(at_the_root.len(), 2);
    }
}
