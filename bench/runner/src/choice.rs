//! Lists of builds, ciphers and engines on the command line.

use clap::ValueEnum;

/// Implements `Display` by the name that the command line takes.
macro_rules! display_by_value {
    ($($type:ty),*) => {$(
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(clap::ValueEnum::to_possible_value(self).as_ref().map_or("", |value| value.get_name()))
            }
        }
    )*};
}
pub(crate) use display_by_value;

/// The list without what it says twice, in its own order; all there is if it is empty.
pub(crate) fn chosen<T: ValueEnum + PartialEq + Copy>(list: &[T]) -> Vec<T> {
    let mut chosen = Vec::new();
    for &item in if list.is_empty() { T::value_variants() } else { list } {
        if !chosen.contains(&item) {
            chosen.push(item);
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transfer::Build::{self, NativeQuinn, WasmBase};

    #[test]
    fn a_list_keeps_its_order_and_loses_repetitions() {
        assert_eq!(chosen(&[NativeQuinn, WasmBase, NativeQuinn]), [NativeQuinn, WasmBase]);
        assert_eq!(chosen::<Build>(&[]), Build::value_variants());
    }
}
