//! One line, read by the format by which C's printf wrote it.
//!
//! A number that is wider or narrower than its format makes it is an error, and so is nan.

/// The values of a line, in its order.
#[derive(Debug, Default)]
pub(super) struct Scanned<'a> {
    pub(super) numbers: Vec<f64>,
    /// The numbers as they are written.
    pub(super) digits: Vec<&'a str>,
    pub(super) words: Vec<&'a str>,
}

/// Reads `text` by a format of fixed words, `%d`, `%8d`, `% 8d`, `%.1f`, `%7.1f`, `%%`, and `%s`
/// for any text before the words that follow it, at the end of the line before their last place.
pub(super) fn scanned<'a>(format: &str, text: &'a str) -> Result<Scanned<'a>, String> {
    let (mut format, mut rest, mut values) = (format, text, Scanned::default());
    while let Some((words, behind)) = format.split_once('%') {
        rest = skipped(rest, words)?;
        let end = behind.find(|c: char| c.is_ascii_alphabetic() || c == '%').expect("a format");
        let (kind, more) = behind.split_at(end + 1);
        format = more;
        match kind {
            "%" => rest = skipped(rest, "%")?,
            "s" => {
                let next = more.split('%').next().unwrap_or_default();
                let is_last = next == more;
                let length = if is_last { rest.rfind(next) } else { rest.find(next) };
                let length = length.ok_or_else(|| format!("'{next}' is missing"))?;
                values.words.push(&rest[..length]);
                rest = &rest[length..];
            }
            _ => {
                let (digits, behind) = number(rest, kind)?;
                let number = digits.parse().map_err(|_| format!("'{digits}' is not a number"))?;
                values.numbers.push(number);
                values.digits.push(digits);
                rest = behind;
            }
        }
    }
    match skipped(rest, format)? {
        "" => Ok(values),
        rest => Err(format!("'{rest}' is too much")),
    }
}

fn skipped<'a>(text: &'a str, words: &str) -> Result<&'a str, String> {
    text.strip_prefix(words).ok_or_else(|| format!("'{words}' is missing before '{text}'"))
}

/// The digits at the beginning of `text`, aligned as their format says, and the rest.
fn number<'a>(text: &'a str, format: &str) -> Result<(&'a str, &'a str), String> {
    // A blank in the format leaves room for a sign.
    let (sign, format) = format.strip_prefix(' ').map_or(("", format), |format| (" ", format));
    let (is_left, format) = format.strip_prefix('-').map_or((false, format), |it| (true, it));
    let text = skipped(text, sign)?;
    let is_whole = format.ends_with('d');
    let sizes = format.trim_end_matches(['d', 'f']);
    let (width, decimals) =
        sizes.split_once('.').unwrap_or((sizes, if is_whole { "0" } else { "6" }));
    let [width, decimals] = [width, decimals].map(|size| size.parse::<usize>().unwrap_or(0));
    let digits = text.trim_start_matches(' ');
    let spaces = sign.len() + text.len() - digits.len();
    let is_of = |c: char| c.is_ascii_digit() || c == '.' && !is_whole;
    let length = digits.find(|c| !is_of(c)).unwrap_or(digits.len());
    let (digits, rest) = digits.split_at(length);
    if digits.is_empty() {
        return Err(format!("a number is missing before '{text}'"));
    }
    let room = width.saturating_sub(length);
    if spaces != if is_left { 0 } else { room.max(sign.len()) } {
        return Err(format!("'{digits}' is not in a field of {width}"));
    }
    if digits.split_once('.').map_or(0, |(_, digits)| digits.len()) != decimals {
        return Err(format!("'{digits}' does not have {decimals} decimals"));
    }
    let behind = if is_left { " ".repeat(room) } else { String::new() };
    Ok((digits, skipped(rest, &behind)?))
}
