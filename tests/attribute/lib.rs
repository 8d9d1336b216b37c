//! `#[test]` for tests/main.rs. The standard one cannot skip a test once it runs.

use proc_macro::{TokenStream, TokenTree};

/// Lists a function without arguments as a test of this binary.
#[proc_macro_attribute]
pub fn test(_: TokenStream, function: TokenStream) -> TokenStream {
    let mut words = function.clone().into_iter();
    let is_fn =
        |token: &TokenTree| matches!(token, TokenTree::Ident(word) if word.to_string() == "fn");
    let name = words.find(is_fn).and_then(|_| words.next());
    let Some(TokenTree::Ident(name)) = name else {
        return function;
    };
    let entry = format!(
        "::inventory::submit! {{ crate::harness::Test {{
            name: concat!(module_path!(), \"::\", stringify!({name})), run: {name},
        }} }}"
    );
    let entry = entry.parse::<TokenStream>().unwrap_or_default();
    function.into_iter().chain(entry).collect()
}
