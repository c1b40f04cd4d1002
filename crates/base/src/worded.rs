//! Enums whose variants have a word each, as rows: declaration, word and list are one thing. What
//! a user writes with such a word is a `choice`.

/// Declares an enum from rows of a variant and its word; a `const fn` that returns the word; and,
/// if it is asked for, `ALL`: every variant, in the order of the rows.
#[macro_export]
macro_rules! worded {
    (
        $(#[$about:meta])*
        $seen:vis enum $name:ident {
            $($(#[$doc:meta])* $variant:ident = $word:expr,)*
        }
        $(#[$word_doc:meta])*
        $word_seen:vis const fn $of:ident;
    ) => {
        $(#[$about])*
        $seen enum $name {
            $($(#[$doc])* $variant,)*
        }

        impl $name {
            $(#[$word_doc])*
            $word_seen const fn $of(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }
        }
    };
    (
        $(#[$about:meta])*
        $seen:vis enum $name:ident {
            $($(#[$doc:meta])* $variant:ident = $word:expr,)*
        }
        $(#[$word_doc:meta])*
        $word_seen:vis const fn $of:ident;
        $(#[$all_doc:meta])*
        $all_seen:vis const ALL;
    ) => {
        $crate::worded! {
            $(#[$about])*
            $seen enum $name {
                $($(#[$doc])* $variant = $word,)*
            }
            $(#[$word_doc])*
            $word_seen const fn $of;
        }

        impl $name {
            $(#[$all_doc])*
            $all_seen const ALL: [Self; [$(Self::$variant),*].len()] = [$(Self::$variant),*];
        }
    };
}
