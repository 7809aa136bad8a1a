//! What many parts of runs have in common, such as the table of a file: written once, and in common again when it is read.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

/// As it is written.
#[derive(Serialize, Deserialize)]
enum Place<T> {
    /// The value itself, where it stands for the first time.
    Here(T),
    /// The one that was written as so many-th, from 0.
    Before(u32),
}

/// What has been written or read by this thread. The written ones are borrowed meanwhile, so that no other comes to lie there.
#[derive(Default)]
struct Known {
    written: HashMap<*const (), u32>,
    /// Each an `Arc`.
    read: Vec<Box<dyn Any>>,
}

thread_local! {
    static KNOWN: RefCell<Option<Known>> = const { RefCell::new(None) };
}

/// Has all that is serialised in it, or deserialised, have what it shares once. What was written so is to be read so.
pub fn once<R>(job: impl FnOnce() -> R) -> R {
    /// Puts back what was known before, whatever becomes of the job.
    struct Back(Option<Known>);
    impl Drop for Back {
        fn drop(&mut self) {
            KNOWN.replace(self.0.take());
        }
    }
    let _back = Back(KNOWN.replace(Some(Known::default())));
    job()
}

/// For `serde(with)`.
///
/// # Errors
/// What the serializer says.
pub fn serialize<T: Serialize + ?Sized, S: Serializer>(
    all: &Arc<T>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let at = Arc::as_ptr(all).cast();
    let before = KNOWN.with_borrow(|known| known.as_ref().and_then(|k| k.written.get(&at).copied()));
    if let Some(before) = before {
        return Place::<&T>::Before(before).serialize(serializer);
    }
    let done = Place::Here(&**all).serialize(serializer)?;
    // After what is in it, as when it is read.
    KNOWN.with_borrow_mut(|known| {
        if let Some(known) = known {
            known.written.insert(at, known.written.len() as u32);
        }
    });
    Ok(done)
}

/// For `serde(with)`.
///
/// # Errors
/// What the deserializer says, and where it names one that has not come before.
pub fn deserialize<'de, T, D>(deserializer: D) -> Result<Arc<T>, D::Error>
where
    T: ?Sized + 'static,
    Box<T>: Deserialize<'de>,
    D: Deserializer<'de>,
{
    match Place::<Box<T>>::deserialize(deserializer)? {
        Place::Here(one) => {
            let one: Arc<T> = one.into();
            KNOWN.with_borrow_mut(|known| {
                if let Some(known) = known {
                    known.read.push(Box::new(one.clone()));
                }
            });
            Ok(one)
        }
        Place::Before(nth) => {
            let found =
                KNOWN.with_borrow(|known| known.as_ref()?.read.get(nth as usize)?.downcast_ref().cloned());
            found.ok_or_else(|| D::Error::custom(format!("number {nth} of what is shared is not there")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Two {
        #[serde(with = "super")]
        list: Arc<Vec<u64>>,
        #[serde(with = "super")]
        text: Arc<str>,
    }

    #[test]
    fn what_is_shared_is_written_once_and_shared_again() {
        let (list, text) = (Arc::new(vec![7; 100]), Arc::<str>::from("words"));
        let all: Vec<Two> = (0..50).map(|_| Two { list: list.clone(), text: text.clone() }).collect();
        let plain = serde_json::to_string(&all).expect("plain data");
        assert!(plain.len() > 50 * 200);
        assert_eq!(serde_json::from_str::<Vec<Two>>(&plain).expect("the same"), all);
        let packed = once(|| serde_json::to_string(&all)).expect("plain data");
        assert!(packed.len() < 50 * 50, "{}", packed.len());
        let read: Vec<Two> = once(|| serde_json::from_str(&packed)).expect("the same");
        assert_eq!(read, all);
        assert!(Arc::ptr_eq(&read[3].list, &read[49].list) && Arc::ptr_eq(&read[0].text, &read[9].text));
    }

    #[test]
    fn what_is_not_there_is_an_error() {
        let packed = r#"[{"list":{"Here":[1]},"text":{"Before":0}}]"#;
        let read = || serde_json::from_str::<Vec<Two>>(packed).map_err(|e| e.to_string());
        // A list is no text; and nothing is known of what was read without.
        for said in [once(read), read()] {
            assert!(said.expect_err("refused").starts_with("number 0 of what is shared is not there"));
        }
    }
}
