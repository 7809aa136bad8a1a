//! A JSON Schema of the scenario file, for editors: made of [`crate::keys`] and of the registry of disciplines.

use crate::form::{Form, Key, Keys, MAX_TEXT, Without};
use crate::keys::{TOP, WEIGHT};
use crate::preset;
use crate::units::{Unit, show_millionths};
use queuewright_aqm::{self as aqm, Info, Param, ParamKind};
use queuewright_cca::Kind;
use serde_json::{Map, Value, json};

/// A number without a unit, as [`crate::units`] reads it.
const NUMBER: &str = r"[0-9]+(\.[0-9]+)?";

/// The schema (draft 7), as kept in `docs/scenario.schema.json`. It accepts every file that the reader accepts; of what goes together,
/// and of bounds of quantities with units, it says nothing but in words.
pub fn json_schema() -> String {
    let mut schema = table(&TOP);
    schema["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    schema["title"] = json!("A scenario of Queuewright");
    let names: Vec<&str> = aqm::registry().iter().map(|info| info.name).collect();
    let mut forms = vec![json!({ "enum": names })];
    forms.extend(aqm::registry().iter().map(discipline));
    forms.extend(own());
    schema["definitions"] = json!({ "discipline": { "anyOf": forms } });
    schema.sort_all_objects();
    format!("{schema:#}\n")
}

fn table(keys: &Keys) -> Value {
    let present = keys.iter().map(|key| (key.name.into(), property(key)));
    // An old name that is another key's now is that key's alone.
    let old = keys.iter().flat_map(|key| key.was.iter().map(move |was| (*was, key)));
    let old =
        old.filter(|(was, _)| keys.get(was).is_none()).map(|(was, key)| (was.into(), old_property(key)));
    let properties: Map<String, Value> = present.chain(old).collect();
    let needed = keys.iter().filter(|key| matches!(key.default, Without::Needed(_)) && key.was.is_empty());
    object(properties, needed.map(|key| key.name).collect())
}

fn object(properties: Map<String, Value>, required: Vec<&str>) -> Value {
    let mut object = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !required.is_empty() {
        object["required"] = json!(required);
    }
    object
}

fn property(key: &Key) -> Value {
    let mut value = form(&key.form);
    value["description"] = json!(key.line());
    if let Without::Is(text) = key.default {
        let bare = key.form.is_bare(text).then(|| serde_json::from_str(text).ok()).flatten();
        value["default"] = bare.unwrap_or_else(|| json!(text));
    }
    value
}

/// A key by an old name.
fn old_property(key: &Key) -> Value {
    let mut value = form(&key.form);
    value["description"] = json!(format!("The old name of `{}`.", key.name));
    value["deprecated"] = json!(true);
    value
}

fn form(form: &Form) -> Value {
    match *form {
        Form::Quantity { unit, range: false, .. } => pattern(&quantity(unit)),
        Form::Quantity { unit, range: true, .. } => {
            pattern(&format!("({NUMBER}({})?\\.\\.)?{}", unit.names().join("|"), quantity(unit)))
        }
        Form::Whole { min, max: u64::MAX, .. } => whole(json!({ "type": "integer", "minimum": min })),
        Form::Whole { min, max, .. } => whole(json!({ "type": "integer", "minimum": min, "maximum": max })),
        Form::Real { min, max } => {
            let bound = |m: u64| serde_json::from_str::<Value>(&show_millionths(m)).unwrap_or_default();
            json!({ "type": "number", "minimum": bound(min), "maximum": bound(max) })
        }
        Form::Share => {
            any(vec![json!({ "type": "number", "minimum": 0, "maximum": 1 }), pattern(&format!("{NUMBER}%"))])
        }
        Form::Bool => json!({ "type": "boolean" }),
        Form::Word(words) => json!({ "enum": words }),
        Form::Name => json!({ "type": "string", "minLength": 1, "maxLength": 64 }),
        Form::Text => json!({ "type": "string", "maxLength": MAX_TEXT }),
        Form::Path => json!({ "type": "string" }),
        Form::Buffer => pattern(&length()),
        Form::Window => pattern(&format!("{NUMBER}p|all")),
        Form::Arrivals => pattern(&format!("{NUMBER}(/s|%|{})", Unit::Rate.names().join("|"))),
        Form::Control => any(vec![
            json!({ "enum": preset::names() }),
            json!({ "type": "string", "pattern": OWN, "description": "a congestion control of your own (docs/own-control.md)" }),
        ]),
        Form::Weights => {
            let weights = Kind::ALL.iter().map(|kind| (kind.name().into(), self::form(&WEIGHT)));
            let mut object = object(weights.collect(), Vec::new());
            object["patternProperties"] = json!({ OWN: self::form(&WEIGHT) });
            object
        }
        Form::Discipline => json!({ "$ref": "#/definitions/discipline" }),
        Form::Pair(first, second) => {
            let items = [self::form(first), self::form(second)];
            json!({ "type": "array", "items": items, "minItems": 2, "maxItems": 2 })
        }
        Form::List(of, _) => json!({ "type": "array", "items": self::form(of) }),
        Form::OneOrMore(of, _) => {
            let one = self::form(of);
            any(vec![one.clone(), json!({ "type": "array", "items": one })])
        }
        Form::Table(keys) => table(keys),
        Form::Or(forms) => any(forms.iter().map(self::form).collect()),
    }
}

/// A file of a user's own.
const OWN: &str = "/[^/]*\\.h$";

fn any(forms: Vec<Value>) -> Value {
    json!({ "anyOf": forms })
}

fn pattern(pattern: &str) -> Value {
    json!({ "type": "string", "pattern": format!("^({pattern})$") })
}

fn quantity(unit: Unit) -> String {
    format!("{NUMBER}({})", unit.names().join("|"))
}

/// Bytes, packets or bandwidth-delay products.
fn length() -> String {
    format!("{NUMBER}(p|bdp|{})", Unit::Bytes.names().join("|"))
}

/// A whole number, which may stand in quotes, too, and may be a range there.
fn whole(number: Value) -> Value {
    any(vec![number, pattern(r"[0-9]+(\.\.[0-9]+)?")])
}

/// A file of a user's own, which says itself what its parameters are: bare, and as a table.
fn own() -> [Value; 2] {
    let path =
        json!({ "type": "string", "pattern": OWN, "description": "a discipline of your own (docs/own.md)" });
    let table = json!({
        "type": "object",
        "properties": { "name": path, "label": form(&Form::Name) },
        "required": ["name"],
    });
    [path, table]
}

/// A discipline's table.
fn discipline(info: &Info) -> Value {
    let mut properties = Map::new();
    properties.insert("name".into(), json!({ "const": info.name, "description": info.about }));
    properties.insert("label".into(), form(&Form::Name));
    properties.extend(info.params.iter().map(|param| (param.name.into(), parameter(param))));
    let tunable = info.params.iter().filter(|param| param.tunable);
    let mut change: Map<String, Value> = tunable.map(|param| (param.name.into(), parameter(param))).collect();
    if !change.is_empty() {
        change.insert("at".into(), pattern(&quantity(Unit::Time)));
        properties.insert("set".into(), json!({ "type": "array", "items": object(change, vec!["at"]) }));
    }
    object(properties, vec!["name"])
}

fn parameter(param: &Param) -> Value {
    let mut value = match param.kind {
        ParamKind::Time => pattern(&quantity(Unit::Time)),
        ParamKind::Size => pattern(&length()),
        ParamKind::Rate => pattern(&quantity(Unit::Rate)),
        ParamKind::Count => whole(json!({ "type": "integer", "minimum": 0 })),
        ParamKind::Ratio | ParamKind::Probability => {
            any(vec![json!({ "type": "number", "minimum": 0 }), pattern(&format!("{NUMBER}%?"))])
        }
        ParamKind::Flag => form(&Form::Bool),
        ParamKind::Choice(words) => form(&Form::Word(words)),
        ParamKind::File => form(&Form::Path),
    };
    if let Some(word) = param.zero.filter(|_| param.kind != ParamKind::File) {
        value = any(vec![json!({ "const": word }), value]);
    }
    let allowed = match param.kind {
        ParamKind::File | ParamKind::Flag => String::new(),
        _ => format!(", {}", param.allowed().replace(" .. ", " to ")),
    };
    let default = param.display(param.default);
    value["description"] = json!(format!("{}{allowed} (without it: {default})", param.about));
    value
}
