use std::ffi::OsStr;

use super::*;

fn end_with(text: &str, env: &[(&str, &str)]) -> End {
    let script = Script {
        text: text.as_bytes().to_vec(),
        arguments: vec!["-a".into(), "b c".into()],
    };
    let env = env.iter().map(|(name, value)| (name.into(), value.into()));
    script.end(&Caller::this(env))
}

fn end(text: &str) -> Option<String> {
    match end_with(text, &[]) {
        End::Commands(commands) => {
            assert_eq!(commands.len(), 1, "{text}");
            Some(commands[0].join(OsStr::new("|")).into_string().unwrap())
        }
        End::Nothing => None,
        End::Unread(word) => panic!("{word}"),
    }
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
        ("exec redis-server x", "redis-server|x"),
    ] {
        assert_eq!(end(text).as_deref(), Some(expected), "{text}");
    }
}

#[test]
fn what_is_not_plain_is_nothing() {
    for text in [
        "",
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

#[test]
fn a_program_in_a_variable_is_each_that_is_assigned() {
    let programs = |text: &str, env: &[(&str, &str)]| match end_with(text, env) {
        End::Commands(commands) => {
            let first = commands.iter().map(|command| command[0].clone());
            let first: Vec<String> = first.map(|name| name.into_string().unwrap()).collect();
            first.join(" ")
        }
        End::Nothing => "nothing".to_owned(),
        End::Unread(word) => format!("? {word}"),
    };
    let gradle = "if [ -n \"$JAVA_HOME\" ] ; then\n\
        JAVACMD=$JAVA_HOME/bin/java\nelse\nJAVACMD=java\n\
        which java >/dev/null\nfi\nexec \"$JAVACMD\" \"$@\"";
    for (text, env, expected) in [
        (gradle, &[][..], "java"),
        (gradle, &[("JAVA_HOME", "/opt/j")], "/opt/j/bin/java java"),
        ("P=/x/php; Q=$P\nexec \"$Q\"", &[], "/x/php"),
        ("export P='/x/php'\n${P} x", &[], "/x/php"),
        (
            ": ${P:=php}\nexec \"${P:-php}\" x",
            &[("P", "/y/php")],
            "/y/php php",
        ),
        ("P=`which php`\nexec $P", &[], "php"),
        ("P=$(command -v php 2>/dev/null)\nexec $P", &[], "php"),
        ("[ -n \"$P\" ] || P=php\nexec $P", &[], "php"),
        ("d=$(dirname \"$0\")\nexec \"$d/bin/php\"", &[], "php"),
        ("exec \"$JAVA_HOME/bin/java\"", &[], "java"),
        ("exec \"$JAVA\"", &[("JAVA", "/z/java")], "/z/java"),
        ("exec \"$PHP\" x", &[], "? $PHP"),
        ("$1 x", &[], "? $1"),
        ("P=$(cat /x)\nexec \"$P\"", &[], "? $P"),
        ("P=$P\nexec \"$P\"", &[], "? $P"),
        ("NOTP=php\nexec \"$P\"", &[], "? $P"),
        ("P='nice php'\nexec $P", &[], "? $P"),
        ("d=$(pwd)\nexec \"$d-php\"", &[], "? $d-php"),
        ("P=php${\nexec \"$P\"", &[], "? $P"),
    ] {
        assert_eq!(programs(text, env), expected, "{text}");
    }
}
