//! Numbers that have keys, and choices that have words: named once, where they are declared, for the scene, checks, gradients, fits and messages.

/// Declares a struct of fields of one type. Its `KEYS` are the names of the fields in order; everything that treats all of them alike goes through
/// them, so that a new number is a new line here and in the keys of the scene.
macro_rules! keyed {
    ($(#[$meta:meta])* $name:ident of $number:ty { $($(#[$about:meta])* $key:ident,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name<T = $number> {
            $($(#[$about])* pub $key: T,)*
        }

        impl<T> $name<T> {
            /// The numbers in order.
            pub fn list(self) -> [T; $name::<()>::KEYS.len()] {
                [$(self.$key),*]
            }
            /// The numbers in order, to change.
            pub fn list_mut(&mut self) -> [&mut T; $name::<()>::KEYS.len()] {
                [$(&mut self.$key),*]
            }
            /// What a function makes of every key.
            pub fn by_key(mut make: impl FnMut(&'static str) -> T) -> Self {
                $name { $($key: make(stringify!($key))),* }
            }
            /// The numbers with their keys, in order.
            pub fn pairs(self) -> impl Iterator<Item = (&'static str, T)> {
                $name::<()>::KEYS.iter().copied().zip(self.list())
            }
            /// What a function makes of every number and its key.
            pub fn map_keys<U>(self, mut make: impl FnMut(&'static str, T) -> U) -> $name<U> {
                $name { $($key: make(stringify!($key), self.$key)),* }
            }
            /// What a function makes of every number.
            pub fn map<U>(self, mut make: impl FnMut(T) -> U) -> $name<U> {
                $name { $($key: make(self.$key)),* }
            }
        }

        impl $name<()> {
            /// The names of the numbers in order.
            pub const KEYS: &'static [&'static str] = &[$(stringify!($key)),*];
            /// The place of a key.
            pub fn place(key: &str) -> Option<usize> {
                Self::KEYS.iter().position(|known| *known == key)
            }
        }
    };
}

/// A choice whose variants have words in a scene.
pub trait Worded: Sized {
    /// The words, in the order of the variants.
    const WORDS: &'static [&'static str];
    /// The one of a word; `None` for any other word.
    fn of_word(word: &str) -> Option<Self>;
}

/// Declares such a choice.
macro_rules! worded {
    ($(#[$meta:meta])* $name:ident { $($(#[$about:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$about])* $variant,)*
        }

        impl $name {
            /// Every one of them in order.
            pub const ALL: [$name; [$($word),*].len()] = [$($name::$variant),*];
            /// Their words in the same order.
            pub const NAMES: [&'static str; $name::ALL.len()] = [$($word),*];
            /// Its word in a scene.
            pub const fn name(self) -> &'static str {
                $name::NAMES[self as usize]
            }
            /// The one of a word; `None` for any other word.
            pub fn named(word: &str) -> Option<Self> {
                $name::ALL.into_iter().find(|known| known.name() == word)
            }
        }

        impl $crate::keyed::Worded for $name {
            const WORDS: &'static [&'static str] = &$name::NAMES;
            fn of_word(word: &str) -> Option<Self> {
                $name::named(word)
            }
        }
    };
}

pub(crate) use {keyed, worded};
