//! Variables whose values cannot be used in full.

/// Which of some variables have such a value: they count as unset, or what of
/// them makes sense is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Odd {
    variables: &'static [&'static str],
    which: u64,
}

impl Odd {
    /// None of these, 64 at most.
    pub const fn none_of(variables: &'static [&'static str]) -> Odd {
        Odd {
            variables,
            which: 0,
        }
    }

    /// Adds a variable.
    pub fn add(&mut self, name: &str) {
        if let Some(place) = self.variables.iter().position(|known| *known == name) {
            self.which |= 1 << place;
        }
    }

    /// Their names.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let places = self.variables.iter().enumerate();
        places.filter_map(move |(place, name)| (self.which >> place & 1 == 1).then_some(*name))
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::super::table::VARIABLES;
    use super::*;
    use std::vec::Vec;

    #[test]
    fn each_variable_has_a_place_of_its_own() {
        assert!(VARIABLES.len() <= 64);
        let mut odd = Odd::none_of(&VARIABLES);
        assert_eq!(odd.names().count(), 0);
        VARIABLES.iter().for_each(|name| odd.add(name));
        assert_eq!(odd.names().collect::<Vec<_>>(), VARIABLES);
    }
}
