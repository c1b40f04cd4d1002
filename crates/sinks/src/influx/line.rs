//! InfluxDB's line protocol: measurement, tags, fields, time.
//!
//! Source: InfluxDB 1.8 documentation, "Line protocol reference". Names and values of tags escape
//! commas, equals signs and blanks; a measurement commas and blanks. Line ends cannot be escaped
//! and become blanks, as does a backslash before one of these at the end of a name.

/// A name or value of a tag, or the name of a field.
pub(super) fn tag(text: &str) -> String {
    escaped(text, &[',', '=', ' '])
}

/// The name of a measurement.
pub(super) fn measurement(text: &str) -> String {
    escaped(text, &[',', ' '])
}

fn escaped(text: &str, special: &[char]) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        // A backslash would escape the next character, even the separator behind the word.
        let letter = match letter {
            '\\' => '/',
            control if control.is_control() => ' ',
            plain => plain,
        };
        if special.contains(&letter) {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}

/// `measurement,tag=value,…`: the beginning that all points of one series share. Tags without a
/// value are left out, because the protocol has no empty ones.
pub(super) fn series(name: &str, tags: &[(&str, &str)]) -> String {
    let mut text = measurement(name);
    for (name, value) in tags.iter().filter(|(_, value)| !value.is_empty()) {
        text += &format!(",{}={}", tag(name), tag(value));
    }
    text
}

/// Writes a whole number.
pub(super) fn number(out: &mut Vec<u8>, number: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut left = number;
    loop {
        at -= 1;
        digits[at] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests;
