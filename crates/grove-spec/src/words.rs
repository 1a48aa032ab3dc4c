//! Enums whose values are words that people and programs read.

/// An enum of words: each value is one row, and `as_str` returns the word that is shown to people and in JSON.
#[macro_export]
macro_rules! words {
    ($(#[$of_enum:meta])* $vis:vis enum $name:ident {
        $($(#[$of_value:meta])* $value:ident = $word:literal,)+
    }) => {
        $(#[$of_enum])*
        $vis enum $name {
            $($(#[$of_value])* $value,)+
        }

        impl $name {
            /// The word shown to people and in JSON.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $word,)+
                }
            }
        }
    };
}
