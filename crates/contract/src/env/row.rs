//! The macro that expands the table of settings.

/// Defines the constant for each row's variable. A row with a field also defines the
/// field, its default and its part of [`Settings::read`](super::Settings::read).
macro_rules! settings {
    (
        in any program { $(
            $name1:ident = $variable1:literal, $value1:literal, $effect1:literal
                $(=> $field1:ident: $type1:ty = $default1:expr, $read1:expr)?;
        )* }
        in a process allowed by $process:ident and $names:ident { $(
            $name2:ident = $variable2:literal, $value2:literal, $effect2:literal
                $(=> $field2:ident: $type2:ty = $default2:expr, $read2:expr)?;
        )* }
    ) => {
        $( #[doc = concat!("`", $variable1, "`: ", $effect1)]
        pub const $name1: &str = $variable1; )*
        $( #[doc = concat!("`", $variable2, "`: ", $effect2)]
        pub const $name2: &str = $variable2; )*

        /// The names of all variables.
        pub const VARIABLES: [&str; [$($variable1,)* $($variable2,)*].len()] =
            [$($name1,)* $($name2,)*];

        /// The settings of a process, read once from its environment.
        ///
        /// | variable | value | effect |
        /// |---|---|---|
        $( #[doc = concat!("| `", $variable1, "` | ", $value1, " | ", $effect1, " |")] )*
        $( #[doc = concat!("| `", $variable2, "` | ", $value2, " | ", $effect2, " |")] )*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct Settings<'a> {
            $($( #[doc = $effect1] pub $field1: $type1, )?)*
            $($( #[doc = $effect2] pub $field2: $type2, )?)*
            /// The variables whose values could not be used in full.
            pub rejected: Rejected,
        }

        impl Settings<'_> {
            /// The settings of an environment without any of the variables.
            pub const NOTHING: Settings<'static> = Settings {
                $($( $field1: $default1, )?)*
                $($( $field2: $default2, )?)*
                rejected: Rejected::NONE,
            };
        }

        impl<'a> Settings<'a> {
            /// Reads all settings from an environment.
            pub fn of(mut source: Source<'_, 'a>) -> Settings<'a> {
                let mut settings = Settings::NOTHING;
                $($( settings.$field1 = ($read1)(&mut source, $name1); )?)*
                if source.applies($process, $names) {
                    $($( settings.$field2 = ($read2)(&mut source, $name2); )?)*
                }
                settings.rejected = source.rejected;
                settings
            }
        }
    };
}
