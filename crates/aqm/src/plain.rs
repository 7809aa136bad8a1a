//! Disciplines as plain data, which another process can read: what is a name there is here an entry of the registry.

use crate::params::{self, ParamKind};
use crate::{info, network::Weights};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// [`params::Value`] as it is read.
#[derive(Deserialize)]
enum Value {
    Int(u64),
    Real(f64),
    Flag(bool),
    Choice(String),
}

impl<'de> Deserialize<'de> for params::Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<params::Value, D::Error> {
        Ok(match Value::deserialize(deserializer)? {
            Value::Int(n) => params::Value::Int(n),
            Value::Real(x) => params::Value::Real(x),
            Value::Flag(on) => params::Value::Flag(on),
            Value::Choice(word) => {
                let words = |param: &'static params::Param| match param.kind {
                    ParamKind::Choice(words) => words,
                    _ => &[],
                };
                let mut all = crate::registry().iter().flat_map(|info| info.params).flat_map(words);
                let known = all.find(|known| **known == word);
                let unknown = || D::Error::custom(format!("\"{word}\" is no parameter's choice"));
                params::Value::Choice(known.ok_or_else(unknown)?)
            }
        })
    }
}

/// A discipline: one that the program has by its name, or a file.
#[derive(Deserialize)]
#[serde(untagged)]
enum Known {
    Name(String),
    File(info::OfFile),
}

/// [`info::Spec`] as it is read.
#[derive(Deserialize)]
struct Spec {
    info: Known,
    label: String,
    values: Vec<params::Value>,
    weights: Option<Weights>,
}

impl<'de> Deserialize<'de> for info::Spec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<info::Spec, D::Error> {
        let read = Spec::deserialize(deserializer)?;
        let info = match &read.info {
            Known::Name(name) => {
                crate::find(name).ok_or_else(|| D::Error::custom(format!("\"{name}\" is no discipline")))?
            }
            Known::File(file) => {
                crate::own::load(&format!("./{}.h", file.name), &file.text).map_err(D::Error::custom)?
            }
        };
        if read.values.len() != info.params.len() {
            let (values, params) = (read.values.len(), info.params.len());
            return Err(D::Error::custom(format!("{values} values for {params} parameters")));
        }
        let mut spec = info::Spec::new(info);
        spec.label = read.label;
        for (param, value) in info.params.iter().zip(read.values) {
            spec.set(param.name, value).map_err(D::Error::custom)?;
        }
        if let Some(weights) = read.weights {
            spec.set_weights(weights).map_err(D::Error::custom)?;
        }
        Ok(spec)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Spec, Value, registry};

    #[test]
    fn every_discipline_is_read_as_it_was_written() {
        for info in registry() {
            let mut spec = Spec::new(info);
            spec.label = "mine".into();
            for param in info.params {
                for value in [param.min, param.max, param.default] {
                    spec.set(param.name, value).unwrap();
                    let written = rmp_serde::to_vec(&spec).unwrap();
                    assert_eq!(rmp_serde::from_slice::<Spec>(&written).unwrap(), spec, "{}", info.name);
                }
            }
        }
    }

    #[test]
    fn what_is_unknown_here_is_refused() {
        let read = |of: &str, values: &[Value]| {
            let written = rmp_serde::to_vec(&(of, "label", values, None::<()>)).unwrap();
            rmp_serde::from_slice::<Spec>(&written).map_err(|e| e.to_string())
        };
        let refused = |of: &str, values: &[Value], why: &str| {
            let said = read(of, values).expect_err(why);
            assert!(said.contains(why), "{said}");
        };
        let statics = [Value::Int(150_000)];
        assert!(read("static", &statics).is_ok());
        refused("statics", &statics, "\"statics\" is no discipline");
        refused("static", &[], "0 values for 1 parameters");
        refused("static", &[Value::Flag(true)], "threshold");
        refused("static", &[Value::Choice("neither")], "\"neither\" is no parameter's choice");
    }
}
