//! The limits on a child's turns and calls of tools.

use serde::Serialize;
use serde_json::Value;

use crate::agent::Structured;

/// The turns of a model that a child may take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnBudget {
    /// Turns that it may take.
    pub max_turns: u64,
    /// Turns beyond these in which it may finish.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace_turns: Option<u64>,
}

/// The calls of tools that a child may make.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ToolBudget {
    /// Number of calls after which the child is told that few are left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub soft: Option<u64>,
    /// Number of calls that it may make.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hard: Option<u64>,
    /// The tools that are counted, and kept from the child beyond the budget; if absent, those that only read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<Vec<String>>,
}

impl Structured for TurnBudget {
    const TAKES: &'static str = "whole number from 1, or `maxTurns` and `graceTurns`";
    const HELP: &'static str =
        "write a whole number, or a mapping with `maxTurns` and perhaps `graceTurns`";

    fn read(value: &Value) -> Result<Self, Vec<String>> {
        let mut fields = BudgetFields::of("turnBudget", value, "maxTurns", &["graceTurns"])?;
        let max_turns = fields.number("maxTurns", 1);
        let grace_turns = fields.number("graceTurns", 0);
        if max_turns.is_none() && fields.faults.is_empty() {
            fields
                .faults
                .push("`turnBudget` has no `maxTurns`".to_owned());
        }
        let budget = Self {
            max_turns: max_turns.unwrap_or_default(),
            grace_turns,
        };
        fields.checked(budget)
    }
}

impl Structured for ToolBudget {
    const TAKES: &'static str = "whole number from 1, or `soft`, `hard` and `block`";
    const HELP: &'static str =
        "write a whole number, or a mapping with `hard`, and perhaps `soft` and `block`";

    fn read(value: &Value) -> Result<Self, Vec<String>> {
        let mut fields = BudgetFields::of("toolBudget", value, "hard", &["soft", "block"])?;
        let budget = Self {
            soft: fields.number("soft", 1),
            hard: fields.number("hard", 1),
            block: fields.texts("block"),
        };
        if budget.soft.is_none() && budget.hard.is_none() && fields.faults.is_empty() {
            let message = "`toolBudget` has neither `soft` nor `hard`";
            fields.faults.push(message.to_owned());
        }
        if budget
            .soft
            .zip(budget.hard)
            .is_some_and(|(soft, hard)| soft > hard)
        {
            let message = "`toolBudget.soft` is more than `toolBudget.hard`";
            fields.faults.push(message.to_owned());
        }
        fields.checked(budget)
    }
}

/// The fields of a budget and their faults. A number alone stands for the main field.
struct BudgetFields<'a> {
    name: &'static str,
    value: &'a Value,
    main: &'static str,
    faults: Vec<String>,
}

impl<'a> BudgetFields<'a> {
    fn of(
        name: &'static str,
        value: &'a Value,
        main: &'static str,
        others: &[&str],
    ) -> Result<Self, Vec<String>> {
        let mut faults = Vec::new();
        match value {
            Value::Object(fields) => {
                let unknown = fields.keys().filter(|key| {
                    let key = key.as_str();
                    key != main && !others.contains(&key)
                });
                let unknown = unknown.map(|key| format!("`{name}.{key}` is not known"));
                faults.extend(unknown);
            }
            Value::Number(_) | Value::String(_) => {}
            _ => return Err(vec![format!("`{name}` is neither a number nor a mapping")]),
        }
        Ok(Self {
            name,
            value,
            main,
            faults,
        })
    }

    fn field(&self, key: &str) -> Option<&'a Value> {
        let value = match self.value {
            Value::Object(fields) => fields.get(key),
            number => (key == self.main).then_some(number),
        };
        value.filter(|value| !value.is_null())
    }

    fn number(&mut self, key: &str, least: u64) -> Option<u64> {
        // A number in quotes is text in YAML, but the author means a number.
        let number = match self.field(key)? {
            Value::String(text) => text.trim().parse().ok(),
            value => value.as_u64(),
        };
        let number = number.filter(|it| *it >= least);
        if number.is_none() {
            let name = self.name;
            let message = format!("`{name}.{key}` is not a whole number from {least}");
            self.faults.push(message);
        }
        number
    }

    fn texts(&mut self, key: &str) -> Option<Vec<String>> {
        let value = self.field(key)?;
        let texts = match value {
            Value::String(text) => Some(crate::agent::split_items(text)),
            Value::Array(items) => {
                let texts = items.iter().map(|item| item.as_str().map(str::to_owned));
                texts.collect()
            }
            _ => None,
        };
        if texts.is_none() {
            let name = self.name;
            self.faults
                .push(format!("`{name}.{key}` is not a list of texts"));
        }
        texts
    }

    fn checked<T>(self, budget: T) -> Result<T, Vec<String>> {
        if self.faults.is_empty() {
            Ok(budget)
        } else {
            Err(self.faults)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read<T: Structured>(value: &Value) -> Result<Value, usize> {
        let read = T::read(value).map_err(|faults| faults.len())?;
        Ok(serde_json::to_value(read).unwrap())
    }

    #[test]
    fn a_budget_is_a_number_or_its_fields() {
        for (value, expected) in [
            (json!(5), Ok(json!({"maxTurns": 5}))),
            (
                json!({"maxTurns": 5, "graceTurns": 0}),
                Ok(json!({"maxTurns": 5, "graceTurns": 0})),
            ),
            (json!(0), Err(1)),
            (json!("many"), Err(1)),
            (json!({}), Err(1)),
            (json!({"maxTurns": -1, "hard": 2}), Err(2)),
        ] {
            assert_eq!(read::<TurnBudget>(&value), expected, "{value}");
        }
        for (value, expected) in [
            (json!(9), Ok(json!({"hard": 9}))),
            (
                json!({"soft": 1, "hard": 2, "block": "read, bash"}),
                Ok(json!({"soft": 1, "hard": 2, "block": ["read", "bash"]})),
            ),
            (json!({"soft": 3, "hard": 2}), Err(1)),
            (json!({"block": [1]}), Err(1)),
            (json!([]), Err(1)),
        ] {
            assert_eq!(read::<ToolBudget>(&value), expected, "{value}");
        }
    }
}
