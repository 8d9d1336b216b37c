//! The macro that expands the table of settings.

/// Defines the constant for each row's variable. A row with a field also adds the field to
/// [`Settings`](super::Settings), with its default and its parser.
macro_rules! settings {
    ($(
        $name:ident = $variable:literal, $value:literal, $effect:literal
            $(=> $field:ident: $type:ty = $default:expr, $read:expr)?;
    )*) => {
        $( #[doc = concat!("`", $variable, "`: ", $effect)]
        pub const $name: &str = $variable; )*

        /// The names of all variables.
        pub const VARIABLES: [&str; [$($variable,)*].len()] = [$($name,)*];

        /// The settings of a process, read once from its environment.
        ///
        /// | variable | value | effect |
        /// |---|---|---|
        $( #[doc = concat!("| `", $variable, "` | ", $value, " | ", $effect, " |")] )*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct Settings<'a> {
            $($( #[doc = $effect] pub $field: $type, )?)*
            /// The variables whose values could not be used in full.
            pub rejected: Rejected,
        }

        impl<'a> Settings<'a> {
            /// The settings of an environment without any of the variables.
            pub const NOTHING: Settings<'static> = Settings {
                $($( $field: $default, )?)*
                rejected: Rejected::NONE,
            };

            /// Reads all settings, whether they apply to this process or not.
            fn all(source: &mut Source<'_, 'a>) -> Settings<'a> {
                Settings {
                    $($( $field: ($read)(&mut *source, $name), )?)*
                    rejected: source.rejected,
                }
            }
        }
    };
}
