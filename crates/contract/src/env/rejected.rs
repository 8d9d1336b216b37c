//! Variables whose values were rejected, as a whole or in part.

/// A set of such variables. A rejected variable counts as unset, or its valid part is
/// used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rejected {
    variables: &'static [&'static str],
    which: u64,
}

impl Rejected {
    /// Returns an empty set of these variables, at most 64.
    pub const fn none_of(variables: &'static [&'static str]) -> Rejected {
        Rejected {
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

    /// Returns the names of the rejected variables.
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
    fn every_variable_can_be_rejected() {
        assert!(VARIABLES.len() <= 64);
        let mut rejected = Rejected::none_of(&VARIABLES);
        assert_eq!(rejected.names().count(), 0);
        VARIABLES.iter().for_each(|name| rejected.add(name));
        assert_eq!(rejected.names().collect::<Vec<_>>(), VARIABLES);
    }
}
