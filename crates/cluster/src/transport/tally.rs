//! Limits the number of reports about refused peers, so that a flood of peers is no flood of text.
//!
//! Pure: the time is an argument.

/// The most reports in a second; further ones are counted.
const SENTENCES_MAX: u32 = 10;

/// Counts the reports that were made and those that were not.
#[derive(Debug, Default)]
pub(super) struct Tally {
    second: u64,
    said: u32,
    unsaid: u64,
    pushed_out: u64,
    pushed_out_lately: bool,
}

impl Tally {
    /// True if a report may be made in this second; otherwise it is counted.
    pub(super) fn admit(&mut self, second: u64) -> bool {
        if second != self.second {
            (self.second, self.said) = (second, 0);
        }
        let admitted = self.said < SENTENCES_MAX;
        if admitted {
            self.said += 1;
        } else {
            self.unsaid += 1;
        }
        assert!(self.said <= SENTENCES_MAX, "further sentences are counted");
        admitted
    }

    /// Counts a report that was admitted and found no room after all.
    pub(super) fn lost(&mut self) {
        self.unsaid += 1;
    }

    /// Counts a peer that was closed to make room for another. True for the first of a flood.
    pub(super) fn push_out(&mut self) -> bool {
        self.pushed_out += 1;
        self.pushed_out_lately = true;
        self.pushed_out == 1
    }

    /// Sentences about the reports that were only counted; to be called once a second.
    pub(super) fn summary(&mut self) -> Vec<String> {
        let mut sentences = Vec::new();
        if self.unsaid > 0 {
            sentences.push(format!("{} more peers were turned away", self.unsaid));
            self.unsaid = 0;
        }
        let over = !std::mem::take(&mut self.pushed_out_lately);
        if over && self.pushed_out > 1 {
            let count = self.pushed_out;
            sentences.push(format!(
                "the flood of connections is over; {count} were closed before they \
                               authenticated"
            ));
        }
        if over {
            self.pushed_out = 0;
        }
        sentences
    }
}

#[cfg(test)]
mod tests;
