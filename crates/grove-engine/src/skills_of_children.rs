//! Skills that children ask for.

use grove_model::Secret;

/// Activates skills for children.
pub trait Skills: Send + Sync {
    /// Returns a skill for a model, or the reason why there is none.
    fn activate(&self, name: &str) -> Result<GivenSkill, String>;

    /// Returns the variables that a skill which the child has from the beginning sets for its commands.
    fn environment(&self, address: &str) -> Vec<(String, Secret)>;
}

/// A skill that a child was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenSkill {
    /// The text for the model.
    pub text: String,
    /// The folder that the child may read from now on; none for a group.
    pub folder: Option<std::path::PathBuf>,
    /// The variables that the child's commands have from now on.
    pub environment: Vec<(String, Secret)>,
}
