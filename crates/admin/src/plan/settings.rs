//! Plans numbers and words for kernel files.

use super::Task;
use super::limits::write;
use crate::request::{Setting, SettingValue};
use crate::step::{Choose, Impossible, Step, Value};

pub(super) fn plan(setting: &Setting) -> Task {
    let path = setting.path.clone();
    let step = match (&setting.impossible, &setting.value) {
        (Some((why, hint)), _) => Step::Impossible(Impossible {
            subject: path.to_string(),
            why: why.clone(),
            hint: hint.clone(),
        }),
        (None, SettingValue::Number(number)) => write(path, Value::Plain(*number)),
        (None, SettingValue::Word(word)) => Step::Choose(Choose {
            path,
            word: word.clone(),
        }),
    };
    Task::new(&setting.option, vec![step])
}
