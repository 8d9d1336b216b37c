//! Fuzz targets: pool specifications, the kernel's lists and its choices in brackets.

use std::collections::BTreeMap;

use hugetools_admin::request::spec::{Amount, Operation, Spec, divide};
use hugetools_model::PageCount;
use hugetools_model::choice::{chosen, offered};
use hugetools_model::units::list::{format_list, parse_list};
use hugetools_model::units::size::Quantity;

use crate::engine::{fuzz, kept_lines, recorded};

/// Parses a size as a reference for the tested parser. Returns its value and whether it has a unit.
fn value_of(text: &str) -> Option<(u128, bool)> {
    let lower = text.to_ascii_lowercase();
    let (radix, digits) = match lower.strip_prefix("0x") {
        Some(digits) => (16, digits),
        None if lower.len() > 1
            && lower.starts_with('0')
            && lower.as_bytes()[1].is_ascii_digit() =>
        {
            (8, &lower[1..])
        }
        None => (10, lower.as_str()),
    };
    let end = digits
        .find(|c: char| !c.is_digit(radix))
        .unwrap_or(digits.len());
    let number = u128::from_str_radix(&digits[..end], radix).ok()?;
    let factor = match &digits[end..] {
        "" => return Some((number, false)),
        "k" | "kb" | "ki" | "kib" => 1u128 << 10,
        "m" | "mb" | "mi" | "mib" => 1 << 20,
        "g" | "gb" | "gi" | "gib" => 1 << 30,
        "t" | "tb" | "ti" | "tib" => 1 << 40,
        _ => return None,
    };
    Some((number.checked_mul(factor)?, true))
}

fn check_amount(text: &str, amount: Amount) {
    match amount {
        Amount::Pages(pages) => assert_eq!(value_of(text), Some((u128::from(pages.get()), false))),
        Amount::Memory(bytes) => assert_eq!(value_of(text), Some((u128::from(bytes.get()), true))),
        Amount::Percent(percent) => {
            let (number, unit) = value_of(text.trim_end_matches('%')).unwrap();
            assert!(number == u128::from(percent) && percent <= 100 && !unit);
        }
    }
}

#[test]
fn specs() {
    let words = [
        "DEFAULT", "@0-3", ":", "+", "-", "%", "MiB", "0x", "*3", ",", "2MB", "1G", "16384kB", "T",
    ];
    fuzz("specs", kept_lines("specs"), &words, |text| {
        let text = String::from_utf8_lossy(text);
        let quantity = text
            .parse::<Quantity>()
            .map(|quantity| (quantity.plain(), quantity.bytes()));
        if let Ok((_, Ok(bytes))) = quantity {
            assert_eq!(
                value_of(&text).map(|(bytes, _)| bytes),
                Some(u128::from(bytes.get()))
            );
        }
        let spec = text.parse::<Spec>();
        if let Ok(spec) = &spec {
            let amount = text.rsplit_once(':').unwrap().1;
            let signed = spec.operation != Operation::Set;
            check_amount(&amount[usize::from(signed)..], spec.amount);
            let size = text.split(['@', ':']).next().unwrap();
            match spec.size {
                None => assert_eq!(size, "DEFAULT"),
                Some(found) => assert_eq!(value_of(size).unwrap().0, u128::from(found.get())),
            }
        }
        if let Ok(Spec {
            nodes: Some(weights),
            amount: Amount::Pages(total),
            ..
        }) = &spec
        {
            let shares = divide(*total, weights);
            let sum: u128 = shares
                .iter()
                .map(|(_, pages)| u128::from(pages.get()))
                .sum();
            assert_eq!(sum, u128::from(total.get()));
            assert!(
                shares
                    .iter()
                    .all(|(_, pages)| *pages <= PageCount::new(total.get()))
            );
        }
        let nodes = spec
            .as_ref()
            .ok()
            .and_then(|spec| spec.nodes.as_ref().map(BTreeMap::len));
        (
            spec.map(|spec| (spec.operation as u8, spec.size)).ok(),
            nodes,
            quantity.is_ok(),
        )
    });
}

#[test]
fn lists() {
    let words = [
        "0-3",
        ",",
        "-",
        ":1/2",
        "65535",
        "\n",
        "always",
        "[madvise]",
        " ",
        "[",
        "]",
    ];
    let mut corpus = kept_lines("lists");
    corpus.extend(recorded(&[
        "/online",
        "/possible",
        "/has_cpu",
        "/cpulist",
        "/enabled",
        "/defrag",
    ]));
    fuzz("lists", corpus, &words, |text| {
        let text = String::from_utf8_lossy(text);
        let line = text.as_bytes();
        if let (Some(word), Some(words)) = (chosen(line), offered(line)) {
            let word = std::str::from_utf8(word).unwrap();
            assert!(text.contains(word) && words.count() > 0);
        }
        let Some(members) = parse_list(&text) else {
            return (
                None,
                chosen(line).map(<[u8]>::len),
                offered(line).map(Iterator::count),
            );
        };
        assert!(members.iter().all(|member| *member <= 65535));
        assert_eq!(parse_list(&format_list(&members)), Some(members.clone()));
        // Without a stride, every number of a range is a member.
        let parts: Vec<&str> = text
            .trim()
            .split(',')
            .filter(|part| !part.is_empty())
            .collect();
        if !text.contains(':') {
            for part in parts {
                let ends: Vec<u32> = part.split('-').map(|end| end.parse().unwrap()).collect();
                assert!((ends[0]..=*ends.last().unwrap()).all(|member| members.contains(&member)));
            }
        }
        (Some((members.len(), members.last().copied())), None, None)
    });
}
