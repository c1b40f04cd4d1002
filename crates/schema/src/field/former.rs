//! Former names of fields: an error names the present one.
//!
//! A former name is never accepted where a user writes it; old records are read by it.

/// Each former name and the present one.
pub(crate) const NAMES: [(&str, &str); 2] =
    [("pick", "window-pick"), ("trailing-blank", "trailing-space")];

/// The present name of the field that was called `name` before; `_` may stand for `-`.
pub(super) fn present_name(name: &str) -> Option<&'static str> {
    let name = name.replace('_', "-");
    NAMES.iter().find(|(former, _)| *former == name).map(|(_, present)| *present)
}

#[cfg(test)]
mod tests;
