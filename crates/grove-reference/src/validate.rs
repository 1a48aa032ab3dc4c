//! The checks of `validate`, after the file is read.

use std::collections::BTreeSet;

use super::python_text::{lower, nfkc, shown, strip};
use super::{Data, messages, unicode14};

const MAX_NAME: usize = 64;
const MAX_DESCRIPTION: usize = 1024;
const MAX_COMPATIBILITY: usize = 500;

const ALLOWED: [&str; 6] = [
    "allowed-tools",
    "compatibility",
    "description",
    "license",
    "metadata",
    "name",
];

/// Every complaint about the metadata, in the library's order; none when the skill is valid.
///
/// `dir_name` is the last component of the path as it was given, see [`super::paths::name`].
pub fn validate_metadata(metadata: &[(String, Data)], dir_name: &str) -> Vec<String> {
    let mut errors = Vec::new();
    let extra: BTreeSet<&str> = metadata
        .iter()
        .map(|(key, _)| key.as_str())
        .filter(|key| !ALLOWED.contains(key))
        .collect();
    if !extra.is_empty() {
        let extra: Vec<&str> = extra.into_iter().collect();
        errors.push(format!(
            "Unexpected fields in frontmatter: {}. Only ['{}'] are allowed.",
            extra.join(", "),
            ALLOWED.join("', '")
        ));
    }
    match field(metadata, "name") {
        None => errors.push(messages::missing_field("name")),
        Some(name) => check_name(name, dir_name, &mut errors),
    }
    match field(metadata, "description") {
        None => errors.push(messages::missing_field("description")),
        Some(description) => check_description(description, &mut errors),
    }
    if let Some(compatibility) = field(metadata, "compatibility") {
        check_compatibility(compatibility, &mut errors);
    }
    errors
}

/// A field's value.
pub(super) fn field<'a>(metadata: &'a [(String, Data)], name: &str) -> Option<&'a Data> {
    metadata
        .iter()
        .find(|(key, _)| key == name)
        .map(|(_, value)| value)
}

fn check_name(name: &Data, dir_name: &str, errors: &mut Vec<String>) {
    let points = name.code_points().unwrap_or_default();
    let stripped = strip(&points);
    if stripped.is_empty() {
        errors.push(messages::empty_field("name"));
        return;
    }
    let name = nfkc(stripped);
    let quoted = shown(&name);
    if name.len() > MAX_NAME {
        errors.push(format!(
            "Skill name '{quoted}' exceeds {MAX_NAME} character limit ({} chars)",
            name.len()
        ));
    }
    if name != lower(&name) {
        errors.push(format!("Skill name '{quoted}' must be lowercase"));
    }
    let hyphen = u32::from('-');
    if name.first() == Some(&hyphen) || name.last() == Some(&hyphen) {
        errors.push("Skill name cannot start or end with a hyphen".to_owned());
    }
    if name.windows(2).any(|pair| pair == [hyphen, hyphen]) {
        errors.push("Skill name cannot contain consecutive hyphens".to_owned());
    }
    let allowed = |point: &u32| {
        *point == hyphen || char::from_u32(*point).is_some_and(unicode14::is_alphanumeric)
    };
    if !name.iter().all(allowed) {
        errors.push(format!(
            "Skill name '{quoted}' contains invalid characters. \
             Only letters, digits, and hyphens are allowed."
        ));
    }
    let dir_points: Vec<u32> = dir_name.chars().map(u32::from).collect();
    if nfkc(&dir_points) != name {
        errors.push(format!(
            "Directory name '{dir_name}' must match skill name '{quoted}'"
        ));
    }
}

fn check_description(description: &Data, errors: &mut Vec<String>) {
    let points = description.code_points().unwrap_or_default();
    if strip(&points).is_empty() {
        errors.push(messages::empty_field("description"));
    } else if points.len() > MAX_DESCRIPTION {
        errors.push(format!(
            "Description exceeds {MAX_DESCRIPTION} character limit ({} chars)",
            points.len()
        ));
    }
}

fn check_compatibility(compatibility: &Data, errors: &mut Vec<String>) {
    match compatibility.code_points() {
        None => errors.push("Field 'compatibility' must be a string".to_owned()),
        Some(points) if points.len() > MAX_COMPATIBILITY => errors.push(format!(
            "Compatibility exceeds {MAX_COMPATIBILITY} character limit ({} chars)",
            points.len()
        )),
        Some(_) => {}
    }
}
