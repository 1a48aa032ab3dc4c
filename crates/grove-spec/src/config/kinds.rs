//! The kinds of values that configuration keys have: how each is read, and how a project may narrow it.

use serde::Serialize;
use toml::de::DeValue;

use crate::money::millionths;

pub(super) trait ConfigKind {
    type Value: Serialize;
    /// The values that it takes, for the reference page.
    const TAKES: &'static str;
    /// The values that it must have, for findings.
    const MUST_BE: &'static str;
    const MAY_NARROW: bool;
    /// True if it limits runs, so that no run is started while its value cannot be read.
    const LIMITS_RUNS: bool = false;
    /// The words for no value on the reference page.
    const WITHOUT: &'static str = "(all)";

    /// Reads a value; nothing if it is of the wrong kind.
    fn read(value: &DeValue<'_>) -> Option<Self::Value>;

    /// The value in place of one of the wrong kind, for a key that restricts; nothing for other keys.
    fn strictest() -> Option<Self::Value> {
        None
    }

    /// The value in force after a project's value; nothing if that would not narrow it.
    fn narrowed(in_force: &Self::Value, value: Self::Value) -> Option<Self::Value>;
}

/// A switch that a project may switch off.
pub(super) type Switch = SwitchOf<false>;

/// A switch that allows something to be used, which counts as off if its value cannot be read.
pub(super) type UseSwitch = SwitchOf<true>;

/// A switch; with `FAILS_OFF` it is off if its value cannot be read.
pub(super) struct SwitchOf<const FAILS_OFF: bool>;

impl<const FAILS_OFF: bool> ConfigKind for SwitchOf<FAILS_OFF> {
    type Value = bool;
    const TAKES: &'static str = "true or false";
    const MUST_BE: &'static str = Self::TAKES;
    const MAY_NARROW: bool = true;

    fn read(value: &DeValue<'_>) -> Option<bool> {
        value.as_bool()
    }

    fn strictest() -> Option<bool> {
        FAILS_OFF.then_some(false)
    }

    fn narrowed(_: &bool, value: bool) -> Option<bool> {
        (!value).then_some(value)
    }
}

/// A limit that a project may lower.
pub(super) struct Limit;

impl ConfigKind for Limit {
    type Value = u64;
    const TAKES: &'static str = "number";
    const MUST_BE: &'static str = "a whole number from zero";
    const MAY_NARROW: bool = true;

    fn read(value: &DeValue<'_>) -> Option<u64> {
        let number = value.as_integer()?;
        u64::from_str_radix(number.as_str(), number.radix()).ok()
    }

    fn narrowed(in_force: &u64, value: u64) -> Option<u64> {
        (value <= *in_force).then_some(value)
    }
}

/// The allowed names; without the key, all are allowed. A project may only remove names from the list.
pub(super) struct AllowList;

impl ConfigKind for AllowList {
    type Value = Option<Vec<String>>;
    const TAKES: &'static str = "list of names";
    const MUST_BE: &'static str = Texts::MUST_BE;
    const MAY_NARROW: bool = true;

    fn read(value: &DeValue<'_>) -> Option<Self::Value> {
        Texts::read(value).map(Some)
    }

    fn strictest() -> Option<Self::Value> {
        Some(Some(Vec::new()))
    }

    fn narrowed(in_force: &Self::Value, mut value: Self::Value) -> Option<Self::Value> {
        if let (Some(names), Some(already)) = (&mut value, in_force) {
            names.retain(|name| already.contains(name));
        }
        Some(value)
    }
}

/// Texts that only the user sets.
pub(super) struct Texts;

impl ConfigKind for Texts {
    type Value = Vec<String>;
    const TAKES: &'static str = "list of texts";
    const MUST_BE: &'static str = "a list of texts";
    const MAY_NARROW: bool = false;

    fn read(value: &DeValue<'_>) -> Option<Vec<String>> {
        let items = value.as_array()?.iter();
        items
            .map(|item| item.get_ref().as_str().map(str::to_owned))
            .collect()
    }

    fn narrowed(_: &Vec<String>, _: Vec<String>) -> Option<Vec<String>> {
        None
    }
}

/// Packages that only the user sets: their names, alone or as the `source` of a table.
pub(super) struct PackageList;

impl ConfigKind for PackageList {
    type Value = Vec<String>;
    const TAKES: &'static str = "list of packages";
    const MUST_BE: &'static str = "a list of texts, or of tables with a `source`";
    const MAY_NARROW: bool = false;

    fn read(value: &DeValue<'_>) -> Option<Vec<String>> {
        let source = |item: &DeValue<'_>| {
            let source = match item {
                DeValue::Table(fields) => fields.get("source")?.get_ref().as_str(),
                other => other.as_str(),
            };
            source.map(str::to_owned)
        };
        let items = value.as_array()?.iter();
        items.map(|item| source(item.get_ref())).collect()
    }

    fn narrowed(_: &Vec<String>, _: Vec<String>) -> Option<Vec<String>> {
        None
    }
}

/// A text that only the user sets; there is none without the key.
pub(super) struct OptionalText;

impl ConfigKind for OptionalText {
    type Value = Option<String>;
    const TAKES: &'static str = "text";
    const MUST_BE: &'static str = Self::TAKES;
    const MAY_NARROW: bool = false;
    const WITHOUT: &'static str = "(none)";

    fn read(value: &DeValue<'_>) -> Option<Self::Value> {
        let text = value.as_str()?.trim();
        (!text.is_empty()).then(|| Some(text.to_owned()))
    }

    fn narrowed(_: &Self::Value, _: Self::Value) -> Option<Self::Value> {
        None
    }
}

/// The order of skills in the catalogs of children.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CatalogOrder {
    /// What a search for the child's task finds comes first.
    Task,
    /// The same order for all tasks.
    Usual,
}

/// The order of skills in the catalogs of children, which only the user sets.
pub(super) struct OrderKind;

impl ConfigKind for OrderKind {
    type Value = CatalogOrder;
    const TAKES: &'static str = "`task` or `usual`";
    const MUST_BE: &'static str = Self::TAKES;
    const MAY_NARROW: bool = false;

    fn read(value: &DeValue<'_>) -> Option<CatalogOrder> {
        match value.as_str()? {
            "task" => Some(CatalogOrder::Task),
            "usual" => Some(CatalogOrder::Usual),
            _ => None,
        }
    }

    fn narrowed(_: &CatalogOrder, _: CatalogOrder) -> Option<CatalogOrder> {
        None
    }
}

/// A program that a setting names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookSetting {
    /// The path of the program, as it is written.
    pub file: String,
    /// True if a project named it.
    pub is_of_project: bool,
}

impl Serialize for HookSetting {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.file)
    }
}

/// A program that a project may name if the user names none. Narrowing does not limit it, so the code that runs it has
/// to make sure that the user agreed.
pub(super) struct HookFile;

impl ConfigKind for HookFile {
    type Value = Option<HookSetting>;
    const TAKES: &'static str = "path";
    const MUST_BE: &'static str = "a path with a slash";
    const MAY_NARROW: bool = true;
    const WITHOUT: &'static str = "(none)";

    fn read(value: &DeValue<'_>) -> Option<Self::Value> {
        let file = value.as_str()?.trim();
        file.contains('/').then(|| {
            Some(HookSetting {
                file: file.to_owned(),
                is_of_project: false,
            })
        })
    }

    fn narrowed(in_force: &Self::Value, value: Self::Value) -> Option<Self::Value> {
        let is_free = in_force.as_ref().is_none_or(|it| it.is_of_project);
        let value = value.map(|hook| HookSetting {
            is_of_project: true,
            ..hook
        });
        is_free.then_some(value)
    }
}

/// A limit that is absent without the key. A project may set or lower it.
pub(super) struct OptionalLimit;

impl ConfigKind for OptionalLimit {
    type Value = Option<u64>;
    const TAKES: &'static str = Limit::TAKES;
    const MUST_BE: &'static str = "a whole number from one";
    const MAY_NARROW: bool = true;
    const LIMITS_RUNS: bool = true;
    const WITHOUT: &'static str = "(none)";

    fn read(value: &DeValue<'_>) -> Option<Self::Value> {
        Limit::read(value).filter(|number| *number > 0).map(Some)
    }

    fn narrowed(in_force: &Self::Value, value: Self::Value) -> Option<Self::Value> {
        let is_lower = in_force.is_none_or(|in_force| value.is_some_and(|it| it <= in_force));
        is_lower.then_some(value)
    }
}

/// A limit on money, in millionths, that is absent without the key. A project may set or lower it.
pub(super) struct Money;

impl ConfigKind for Money {
    type Value = Option<u64>;
    const TAKES: &'static str = "amount";
    const MUST_BE: &'static str = "an amount above zero";
    const MAY_NARROW: bool = true;
    const LIMITS_RUNS: bool = true;
    const WITHOUT: &'static str = "(none)";

    fn read(value: &DeValue<'_>) -> Option<Self::Value> {
        let amount: f64 = match value {
            DeValue::Integer(number) => number.as_str().parse().ok()?,
            DeValue::Float(number) => number.as_str().parse().ok()?,
            _ => return None,
        };
        millionths(amount).map(Some)
    }

    fn narrowed(in_force: &Self::Value, value: Self::Value) -> Option<Self::Value> {
        OptionalLimit::narrowed(in_force, value)
    }
}

/// A number above zero that only the user sets.
pub(super) struct UserCount;

impl ConfigKind for UserCount {
    type Value = u64;
    const TAKES: &'static str = Limit::TAKES;
    const MUST_BE: &'static str = OptionalLimit::MUST_BE;
    const MAY_NARROW: bool = false;
    const LIMITS_RUNS: bool = true;

    fn read(value: &DeValue<'_>) -> Option<u64> {
        Limit::read(value).filter(|number| *number > 0)
    }

    fn narrowed(_: &u64, _: u64) -> Option<u64> {
        None
    }
}

/// A number that only the user sets.
pub(super) struct UserNumber;

impl ConfigKind for UserNumber {
    type Value = u64;
    const TAKES: &'static str = Limit::TAKES;
    const MUST_BE: &'static str = Limit::MUST_BE;
    const MAY_NARROW: bool = false;
    const LIMITS_RUNS: bool = true;

    fn read(value: &DeValue<'_>) -> Option<u64> {
        Limit::read(value)
    }

    fn narrowed(_: &u64, _: u64) -> Option<u64> {
        None
    }
}
