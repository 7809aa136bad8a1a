//! A file as the schema sees it.

use serde_json::Value;
use toml::de::{DeTable, DeValue};

/// What a TOML text says, as JSON; null where it is no TOML.
pub fn json_of(text: &str) -> Value {
    DeTable::parse(text).map_or(Value::Null, |table| of_value(DeValue::Table(table.into_inner())))
}

fn of_value(value: DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => text.into_owned().into(),
        DeValue::Integer(n) => serde_json::from_str(&n.to_string()).unwrap_or_default(),
        DeValue::Float(n) => serde_json::from_str(n.as_str()).unwrap_or_default(),
        DeValue::Boolean(b) => b.into(),
        DeValue::Datetime(d) => d.to_string().into(),
        DeValue::Array(items) => items.into_iter().map(|item| of_value(item.into_inner())).collect(),
        DeValue::Table(table) => {
            let entries = table.into_iter();
            entries
                .map(|(key, value)| (key.into_inner().into_owned(), of_value(value.into_inner())))
                .collect()
        }
    }
}

/// The schema of scenarios.
pub fn schema() -> jsonschema::Validator {
    let schema = serde_json::from_str(&queuewright_scenario::json_schema()).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

/// What the schema has against a file.
pub fn complaints(schema: &jsonschema::Validator, text: &str) -> Vec<String> {
    schema.iter_errors(&json_of(text)).map(|e| format!("{} {e}", e.instance_path())).collect()
}
