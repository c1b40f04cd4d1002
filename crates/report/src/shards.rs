//! The line of a merged record: how many runs are in it, and how nearly they began together.

use crate::layout::{Sheet, labelled};
use crate::number::{counted, time};
use memtide_schema::Record;
use memtide_schema::record::ShardRecord;

/// One line when the record was merged, else nothing.
pub(crate) fn shards(out: &mut Sheet, record: &Record) {
    let count = record.shards.len() as u64;
    if count == 0 {
        return;
    }
    let mut text = format!("{} merged", counted(count, "run"));
    if !ShardRecord::are_one_load(&record.shards) {
        text.push_str(
            "; they did not run at the same time: rates are means over the time in which any of \
             them measured",
        );
    } else if let Some(skew_ns) = record.start_skew_ns {
        let skew = time(skew_ns as f64);
        text.push_str(&format!("; their windows started {skew} apart (start skew)"));
    }
    labelled(out, "shards", &text);
}

#[cfg(test)]
mod tests;
