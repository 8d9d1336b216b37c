use std::ffi::OsStr;

use super::*;

fn end(text: &str) -> Option<String> {
    let script = Script {
        text: text.as_bytes().to_vec(),
        arguments: vec!["-a".into(), "b c".into()],
    };
    let words = script.end()?;
    Some(words.join(OsStr::new("|")).into_string().unwrap())
}

#[test]
fn a_plain_end_is_found() {
    for (text, expected) in [
        ("#!/bin/sh\nexec php \"$@\"\n", "php|-a|b c"),
        ("exec php -f '/x y' # as it is\n\n# end\n", "php|-f|/x y"),
        ("cd /x\nphp $*", "php|-a|b c"),
        (
            "exec >>/log 2>&1\nexec 3> /x\nexec nice -n 5 /opt/php x 2>/dev/null",
            "nice|-n|5|/opt/php|x",
        ),
        (
            "A=1 B=2 exec java \\\n  -jar x ${1+\"$@\"}",
            "java|-jar|x|-a|b c",
        ),
        ("A=1 java x=y", "java|x=y"),
        ("if [ -z \"$1\" ]; then\nexec other\nfi\nexec php", "php"),
        (
            "f() {\nexec other\n}\ncase $1 in\nx) exit 1 ;;\nesac\nphp",
            "php",
        ),
        ("cat <<EOF\nexec other\nEOF\nphp", "php"),
        ("cat <<EOF\nphp", "cat"),
        ("exec php \"$@\"\nwhat is behind 'it", "php|-a|b c"),
    ] {
        assert_eq!(end(text).as_deref(), Some(expected), "{text}");
    }
}

#[test]
fn what_is_not_plain_is_nothing() {
    for text in [
        "",
        "exec \"$PHP\" x",
        "$PHP x",
        "exec ./php",
        "bin/php",
        "exec -a name php",
        "php x | cat",
        "php x; true",
        "php x &",
        "php `x`\"",
        "echo 'a\nphp x'",
        "exit 0\nphp",
        "php\nexit 0",
        "if true; then\nexec php\nfi",
        "[ -x /php ] && exec php",
        "php() {\nexec php\n}",
    ] {
        assert_eq!(end(text), None, "{text}");
    }
}
