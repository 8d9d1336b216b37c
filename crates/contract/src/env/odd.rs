//! Variables whose values cannot be used in full.

use super::names::VARIABLES;

/// Which of [`VARIABLES`] have such a value: they count as unset, or what of
/// them makes sense is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Odd(u32);

impl Odd {
    /// None.
    pub const NONE: Odd = Odd(0);

    /// Adds a variable.
    pub fn add(&mut self, name: &str) {
        if let Some(place) = VARIABLES.iter().position(|variable| *variable == name) {
            self.0 |= 1 << place;
        }
    }

    /// Their names.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let places = VARIABLES.into_iter().enumerate();
        places.filter_map(move |(place, name)| (self.0 >> place & 1 == 1).then_some(name))
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    #[test]
    fn each_variable_has_a_place_of_its_own() {
        assert!(VARIABLES.len() <= 32);
        let mut odd = Odd::NONE;
        assert_eq!(odd.names().count(), 0);
        VARIABLES.iter().for_each(|name| odd.add(name));
        assert_eq!(odd.names().collect::<Vec<_>>(), VARIABLES);
    }
}
