//! The skills of a child's work folder, looked for when the child first asks.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use grove_catalog::disclosure::DisclosureNode;
use grove_model::Secret;
use grove_skills::disclosure::{Disclosure, SkillCall};
use grove_skills::{Discovery, DiscoveryRequest, Environment, Library};

use crate::skill_values::variables_of;
use crate::tools::ToolError;

pub(crate) struct FolderSkills {
    library: Mutex<Library>,
}

pub(crate) struct GivenSkill {
    pub(crate) text: String,
    /// The folder that the child may read from now on; none for a group.
    pub(crate) folder: Option<PathBuf>,
    /// The variables that the child's commands have from now on.
    pub(crate) environment: Vec<(String, Secret)>,
}

impl FolderSkills {
    pub(crate) fn new(environment: &Environment, folder: &Path) -> Self {
        let environment = Environment {
            working: folder.to_path_buf(),
            ..environment.clone()
        };
        Self {
            library: Mutex::new(Library::new(environment, DiscoveryRequest::default())),
        }
    }

    fn discover(&self) -> Discovery {
        let library = self.library.lock();
        library.unwrap_or_else(PoisonError::into_inner).discover()
    }

    /// Returns a skill for a model, or the reason why there is none.
    pub(crate) fn activate(&self, name: &str) -> Result<GivenSkill, ToolError> {
        let look = self.discover();
        let call = SkillCall {
            typed: name,
            words: &[],
            again: true,
        };
        let activated = Disclosure::new(&look, None).activate(&call);
        let activated = activated.map_err(|error| ToolError::Failed(error.to_string()))?;
        let environment = match activated.node {
            DisclosureNode::Skill(at) => variables_of(&look, at),
            DisclosureNode::Group(_) => Vec::new(),
        };
        Ok(GivenSkill {
            text: activated.text,
            folder: activated.boundary.map(|_| activated.folder),
            environment,
        })
    }

    /// Returns the variables that a skill which the child has from the beginning sets for its commands.
    pub(crate) fn environment(&self, address: &str) -> Vec<(String, Secret)> {
        let look = self.discover();
        let snapshot = &look.snapshot;
        let mut skills = snapshot.skills.iter();
        let at = skills.position(|skill| snapshot.address(skill) == address);
        at.map_or_else(Vec::new, |at| variables_of(&look, at))
    }
}
