//! The blocks of statistics: a pair of rows periodically, a list at the end. A block without
//! operations is not printed.

use super::figures::{Kinds, Period, TimeFigures, per_second_mib};
use std::fmt::Write;

/// Buckets in one line of the distribution.
const BUCKETS: usize = 4;

/// The three blocks of a period; each operation counts `object_bytes` bytes.
pub(super) fn now(period: &Period, object_bytes: u64) -> String {
    let (since, whole) = (&period.period, &period.whole);
    let pairs = [
        ("Get", &since.gets, &whole.gets),
        ("Set", &since.sets, &whole.sets),
        ("Total", &since.total, &whole.total),
    ];
    let mut text = String::new();
    for (name, since, whole) in pairs.into_iter().filter(|(_, _, whole)| whole.count > 0) {
        text += &format!("{name} Statistics\n");
        text += "Type     Time(s)  Ops          TPS(ops/s)   Net(M/s)   Get_miss   \
                 Min(us)  Max(us)    Avg(us)    Std_dev    Geo_dist  \n";
        text += &row("Period", period.length_s, since, object_bytes);
        text += &row("Global", period.elapsed_s, whole, object_bytes);
        text += "\n";
    }
    text
}

fn row(name: &str, length_s: u64, figures: &TimeFigures, object_bytes: u64) -> String {
    let count = figures.count;
    let net = per_second_mib(u128::from(count) * u128::from(object_bytes), length_s as f64);
    format!(
        "{name:<8} {length_s:<8} {count:<12} {:<12} {net:<10.1} {:<10} {:<8} {:<10} {:<10} \
         {:<10.2} {:.2}\n",
        count.checked_div(length_s).unwrap_or(0),
        figures.misses,
        figures.min_us,
        figures.max_us,
        figures.mean_us_whole(),
        figures.deviation_us,
        figures.geometric_mean_us,
    )
}

/// The three blocks at the end.
pub(super) fn last(kinds: &Kinds) -> String {
    let named = [("Get", &kinds.gets), ("Set", &kinds.sets), ("Total", &kinds.total)];
    let named = named.into_iter().filter(|(_, figures)| figures.count > 0);
    named.map(|(name, figures)| list(name, figures)).collect()
}

fn list(name: &str, figures: &TimeFigures) -> String {
    let mut text = format!("{name} Statistics ({} events)\n", figures.count);
    text += &format!("   Min:  {:8}\n", figures.min_us);
    text += &format!("   Max:  {:8}\n", figures.max_us);
    text += &format!("   Avg:  {:8}\n", figures.mean_us_whole());
    text += &format!("   Geo:  {:8.2}\n", figures.geometric_mean_us);
    if figures.count > 1 {
        text += &format!("   Std:  {:8.2}\n", figures.deviation_us);
    }
    text + "   Log2 Dist:" + &distribution(&figures.log2_counts) + "\n\n"
}

/// The buckets, four per line, up to the last non-empty one. The first line is the first non-empty
/// one among those that begin at least four buckets before that last bucket; if all of these are
/// empty, all lines from 0 on are printed.
fn distribution(counts: &[u64]) -> String {
    let last = counts.iter().rposition(|count| *count > 0).unwrap_or(0);
    let mut groups = (0..(last + 1).saturating_sub(BUCKETS)).step_by(BUCKETS);
    let first = groups.find(|from| counts[*from..].iter().take(BUCKETS).any(|count| *count > 0));
    let mut text = String::new();
    for (place, count) in counts.iter().enumerate().take(last + 1).skip(first.unwrap_or(0)) {
        if place % BUCKETS == 0 {
            write!(text, "\n      {place:2}:").expect("writing to a string succeeds");
        }
        write!(text, "   {count:6}").expect("writing to a string succeeds");
    }
    text
}
