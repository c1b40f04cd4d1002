//! A trial of two arms as text and as Markdown: a row for each pair as it ends, then what both arms
//! measured, by how much they differ, and what that means.

use super::{rule_line, table, trust_sentence};
use crate::figure::in_unit;
use crate::files::{escaped, table as markdown_table};
use crate::judgement::floor_words;
use crate::layout::{TextLayout, labelled, unbroken, wrapped};
use crate::number::{NONE, counted, or_none};
use memtide_base::units::format_points;
use memtide_record::FloorRecord;
use memtide_record::compare::{PAIRS_MIN, Pair, Trial, TrialEnd, TrialFigure, TrialFinding, Unit};

/// The lines before the first pair: what sets the arms apart, and what the trial looks for.
pub fn trial_heading(trial: &Trial, columns: Option<usize>) -> String {
    let mut out = TextLayout::new(columns);
    for (letter, arm) in ["A", "B"].into_iter().zip(&trial.arms) {
        labelled(&mut out, letter, arm);
    }
    let goal = format!("a difference of {}", percent(trial.difference));
    labelled(&mut out, "find", &goal);
    out.into_text()
}

/// The line of the last pair, with what is known so far. The first that is left out for a cause in
/// the machine has a second line: what to do about it.
pub fn pair_line(trial: &Trial) -> String {
    let Some(pair) = trial.pairs.last() else { return String::new() };
    let number = trial.pairs.len();
    if let Some(why) = &pair.left_out {
        let before = &trial.pairs[..number - 1];
        let remedy = pair.remedy.as_ref();
        let remedy = remedy.filter(|_| before.iter().all(|it| it.remedy.as_ref() != remedy));
        let remedy = remedy.map_or_else(String::new, |remedy| format!("  to do: {remedy}\n"));
        return format!("pair {number}: left out ({why})\n{remedy}");
    }
    let figures = trial.figures.iter().enumerate().map(|(at, figure)| {
        let [a, b] = both_arms(pair, figure, at);
        let so_far = figure.range.map(|range| format!(" ({} so far)", span(figure, range)));
        format!("{} {a} and {b}{}", figure.name, so_far.unwrap_or_default())
    });
    format!("pair {number}: {}\n", figures.collect::<Vec<_>>().join("; "))
}

/// The result for a terminal of `columns` columns, or for none.
pub fn trial_text(trial: &Trial, columns: Option<usize>) -> String {
    let mut out = TextLayout::new(columns);
    table(&rows(&trial.figures)).render(&mut out);
    for sentence in sentences(trial) {
        wrapped(&mut out, "", "", &sentence);
    }
    for rule in &trial.rules {
        unbroken(&mut out, "fail-on: ", "         ", &rule_line(rule));
    }
    out.into_text()
}

/// The result as Markdown, ending in a line break.
pub fn trial_markdown(trial: &Trial) -> String {
    let mut out = "### memtide: A against B\n\n".to_owned();
    for (letter, arm) in ["A", "B"].into_iter().zip(&trial.arms) {
        out += &format!("- **{letter}:** {}\n", escaped(arm));
    }
    out += &format!("\n{}\n", markdown_table(&rows(&trial.figures)));
    let rules = trial.rules.iter().map(rule_line);
    for sentence in sentences(trial).into_iter().chain(rules) {
        out += &format!("- {}\n", escaped(&sentence));
    }
    let pairs = markdown_table(&pair_rows(trial));
    out + &format!("\n<details><summary>pairs</summary>\n\n{pairs}</details>\n")
}

/// What each pair measured, heading first.
pub(crate) fn pair_rows(trial: &Trial) -> Vec<Vec<String>> {
    let names = trial.figures.iter().flat_map(|figure| ["A", "B"].map(|arm| (figure, arm)));
    let names = names.map(|(figure, arm)| format!("{} {arm}", figure.name));
    let heading = ["first".to_owned()].into_iter().chain(names).chain(["left out".to_owned()]);
    let rows = trial.pairs.iter().map(|pair| pair_row(&trial.figures, pair));
    [heading.collect()].into_iter().chain(rows).collect()
}

fn pair_row(figures: &[TrialFigure], pair: &Pair) -> Vec<String> {
    let cells = figures.iter().enumerate().flat_map(|(at, figure)| both_arms(pair, figure, at));
    let note = pair.left_out.clone().unwrap_or_default();
    [pair.first.to_string()].into_iter().chain(cells).chain([note]).collect()
}

/// What a pair measured of the figure at `at`, in A and in B.
fn both_arms(pair: &Pair, figure: &TrialFigure, at: usize) -> [String; 2] {
    [0, 1].map(|arm: usize| shown(figure, pair.values[arm][at]))
}

/// The rows of the result, heading first.
pub(crate) fn rows(figures: &[TrialFigure]) -> Vec<Vec<String>> {
    let heading = ["figure", "A", "B", "change", "95 % range", "B is"].map(str::to_owned);
    [heading.to_vec()].into_iter().chain(figures.iter().map(row)).collect()
}

fn row(figure: &TrialFigure) -> Vec<String> {
    let [a, b] = figure.medians.map(|median| shown(figure, median));
    let change = or_none(figure.change.map(|change| change_words(figure, change)));
    let range = or_none(figure.range.map(|range| span(figure, range)));
    vec![figure.name.clone(), a, b, change, range, answer(figure).to_owned()]
}

const fn answer(figure: &TrialFigure) -> &'static str {
    match figure.finding {
        TrialFinding::Better => "better",
        TrialFinding::Worse => "worse",
        TrialFinding::Equal => "equal",
        TrialFinding::Undecided => "undecided",
    }
}

/// What the answers mean, and what limits them.
pub(crate) fn sentences(trial: &Trial) -> Vec<String> {
    let counts = trial.pairs.len() - trial.left_out();
    let end = match trial.ended_by {
        Some(TrialEnd::Exact) => "more are not needed".to_owned(),
        Some(TrialEnd::Time) | None => "then the time was over (--at-most)".to_owned(),
        Some(TrialEnd::Interrupted) => "then it was interrupted".to_owned(),
        Some(TrialEnd::NotCarried) => "then it ended, because no pair carried the load".to_owned(),
        Some(TrialEnd::Lost) => {
            "then it ended, because one cause spoilt pair after pair".to_owned()
        }
        Some(TrialEnd::Failed) => {
            format!("then {} failed", trial.failed.as_deref().unwrap_or("a run"))
        }
    };
    let mut sentences: Vec<String> = trust_sentence(trial.unchecked).into_iter().collect();
    sentences.push(format!(
        "{} counted; {end}. The ranges are by pairs, and hold together in 95 % of trials.",
        counted(counts as u64, "pair"),
    ));
    sentences.extend(trial.unlike.iter().map(|unlike| {
        format!(
            "memtide itself was not the same: {unlike}. Times may differ by that: say what it is \
             for both (--threads, --wait, --pin)."
        )
    }));
    sentences.extend(equal(&trial.figures, trial.difference));
    let [a_short, b_short] = trial.short();
    if a_short + b_short > 0 {
        sentences.push(format!(
            "A did not carry the load in {a_short} of {}, and B in {b_short}: their rates and \
             errors count, and other figures are of the pairs that both carried.",
            counted(trial.pairs.len() as u64, "pair")
        ));
    }
    let undecided = trial.figures.iter().filter(|it| it.finding == TrialFinding::Undecided);
    sentences.extend(
        undecided.map(|figure| {
            format!("{} is undecided: {}.", figure.name, why_undecided(trial, figure))
        }),
    );
    sentences.extend(trial.figures.iter().filter_map(|figure| own(figure, trial.difference)));
    sentences.extend(floors(trial));
    if trial.left_out() > 0 {
        let last = trial.pairs.iter().rfind(|pair| pair.left_out.is_some());
        let why = last.and_then(|pair| pair.left_out.as_deref());
        sentences.push(format!(
            "{} left out, because a run was not the load that was asked for; the last: {}.",
            counted(trial.left_out() as u64, "pair"),
            why.unwrap_or_default()
        ));
        let remedy = last.and_then(|pair| pair.remedy.as_deref());
        sentences.extend(remedy.map(|remedy| format!("To have pairs that count, {remedy}.")));
    }
    sentences
}

/// Why a figure is undecided, as a clause.
fn why_undecided(trial: &Trial, figure: &TrialFigure) -> String {
    match (figure.visible, &figure.missing) {
        (_, Some(missing)) => format!("no pair has it: {missing}"),
        (None, _) if figure.pairs < 2 => "fewer than two pairs measured it in both arms".to_owned(),
        (None, _) => "in a pair, the operations of an arm were not answered, and no ratio says \
                      how much that is"
            .to_owned(),
        _ if figure.pairs < PAIRS_MIN as u64 => {
            let pairs = counted(figure.pairs, "pair");
            format!("{pairs} of at least {PAIRS_MIN} measured it in both arms")
        }
        (Some(_), _) if figure.picked => {
            "the pairs that both carried are the best of the arm that often did not".to_owned()
        }
        (Some(visible), _) => {
            let more = match trial.ended_by {
                _ if figure.is_finest() && figure.unit != Unit::Ns => {
                    "no number of pairs is enough, because the ends of the window leave 0.1 % open"
                }
                _ if figure.is_finest() => {
                    "compare a mean (--figures all.mean), because a percentile is known to 0.8 % \
                     alone"
                }
                Some(TrialEnd::Exact) => "ask for a smaller --difference",
                Some(TrialEnd::NotCarried) => "use a load that both can carry",
                _ => "allow more time with --at-most, or a longer --duration",
            };
            let visible = visible_words(figure, visible);
            format!("these pairs find a change of {visible} or more; for less, {more}")
        }
    }
}

/// How much of a figure may be memtide's own delay; none if that is less than the asked difference.
fn own(figure: &TrialFigure, difference: f64) -> Option<String> {
    let is_much = figure.own.iter().flatten().any(|own| *own > difference);
    let [a, b] = figure.own.map(|own| or_none(own.map(percent)));
    is_much.then(|| {
        format!(
            "{}: up to {a} of A's and {b} of B's may be memtide's own delay, so the servers may \
             differ otherwise than it does.",
            figure.name
        )
    })
}

/// The floors of both arms, and which figures are near them.
fn floors(trial: &Trial) -> Vec<String> {
    let Some([a, b]) = &trial.floors else { return Vec::new() };
    // The figures of a trial are compared, not those of its last pair.
    let [a, b] = [a, b].map(|floor| floor_words(&FloorRecord { below: vec![], ..floor.clone() }));
    let mut sentences = vec![format!("floor of A: {a}; of B: {b}.")];
    let near = trial.near_floor();
    if !near.is_empty() {
        sentences.push(format!(
            "below 3 × the floor: {}. Most of that may be memtide, the kernel and the way to the \
             server, so the servers may differ by more than it does.",
            near.join(", ")
        ));
    }
    sentences
}

/// What equal means; none if no figure is.
pub(super) fn equal(figures: &[TrialFigure], difference: f64) -> Option<String> {
    let mut equal = figures.iter().filter(|figure| figure.finding == TrialFinding::Equal);
    let (share, other): (Vec<_>, Vec<_>) = equal.by_ref().partition(|figure| is_share(figure));
    let difference = percent(difference);
    let points = difference.replace('%', "percentage points");
    match (other.is_empty(), share.is_empty()) {
        (true, true) => None,
        (false, true) => Some(format!("equal: A and B differ by less than {difference}.")),
        (true, false) => Some(format!("equal: A and B differ by less than {points}.")),
        (false, false) => Some(format!(
            "equal: A and B differ by less than {difference}, and shares by less than {points}."
        )),
    }
}

/// True if its changes are differences of fractions.
fn is_share(figure: &TrialFigure) -> bool {
    figure.in_unit && figure.unit == Unit::Fraction
}

/// A change of a figure with its sign: in percent, of shares in percentage points, and of what is 0
/// in some runs in its unit.
fn change_words(figure: &TrialFigure, change: f64) -> String {
    match figure.in_unit {
        false => signed_percent(change),
        true if is_share(figure) => format_points(change),
        true => {
            let sign = if change < 0.0 { "−" } else { "+" };
            format!("{sign}{}", in_unit(figure.unit, change.abs()))
        }
    }
}

/// The smallest change that is found.
pub(super) fn visible_words(figure: &TrialFigure, visible: f64) -> String {
    let words = match is_share(figure) {
        true => format_points(visible),
        false => signed_percent(visible),
    };
    words.trim_start_matches('+').to_owned()
}

fn shown(figure: &TrialFigure, value: Option<f64>) -> String {
    match value {
        None => NONE.to_owned(),
        Some(value) if value.is_infinite() => "not answered".to_owned(),
        Some(value) => in_unit(figure.unit, value),
    }
}

/// A fraction above 0 in percent, with two significant digits.
pub(super) fn percent(fraction: f64) -> String {
    let percent = fraction * 100.0;
    match percent {
        ..10.0 => format!("{} %", (percent * 10.0).round() / 10.0),
        _ => format!("{percent:.0} %"),
    }
}

/// A change in percent with its sign; beyond tenfold, no figure is of use.
pub(super) fn signed_percent(fraction: f64) -> String {
    if fraction > 9.0 {
        return "> +900 %".to_owned();
    }
    let tenths = (fraction * 1000.0).round() as i64;
    let sign = if tenths < 0 { "−" } else { "+" };
    format!("{sign}{:.1} %", tenths.unsigned_abs() as f64 / 10.0)
}

/// A range of changes: `−1.2 to +3.4 %`.
fn span(figure: &TrialFigure, range: [f64; 2]) -> String {
    let [low, high] = range.map(|end| change_words(figure, end));
    let unit = high.rsplit_once(' ').map_or("", |(_, unit)| unit);
    let low = low.strip_suffix(unit).map_or(&*low, str::trim_end);
    format!("{low} to {high}")
}
