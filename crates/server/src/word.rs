//! Parsers for the parts of words of behaviours or faults. Knows no particular word.

pub(crate) use memtide_base::WordError;

use memtide_base::Span;
use memtide_base::units::parse_span;

/// The word that is being parsed.
#[derive(Clone, Copy)]
pub(crate) struct Word {
    /// Its name for messages, with its article.
    pub what: &'static str,
    /// Every allowed form, for messages.
    pub forms: &'static str,
}

impl Word {
    /// The error for `given`.
    pub fn wrong(self, given: &str, reason: impl Into<String>) -> WordError {
        let Self { what, forms } = self;
        WordError { given: given.to_owned(), what, reason: reason.into(), forms }
    }

    /// A span above zero and at most `max`.
    pub fn span(self, given: &str, text: &str, max: Span) -> Result<Span, WordError> {
        let span = parse_span(text).map_err(|error| self.wrong(given, error.to_string()))?;
        if span.is_zero() || span > max {
            let reason = format!("'{}' must be above 0 and at most {max}", text.trim());
            return Err(self.wrong(given, reason));
        }
        Ok(span)
    }

    /// A number above zero and at most `max`.
    pub fn number(self, given: &str, text: &str, max: f64) -> Result<f64, WordError> {
        match text.trim().parse::<f64>() {
            Ok(number) if number > 0.0 && number <= max => Ok(number),
            _ => {
                let reason = format!("'{}' must be a number above 0 up to {max}", text.trim());
                Err(self.wrong(given, reason))
            }
        }
    }
}
