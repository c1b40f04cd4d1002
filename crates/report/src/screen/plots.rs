//! Lines over time and the heat map, as characters.

use super::View;
use crate::live::{HEAT_CELLS, Live, LiveSecond, heat_edge};
use crate::number::{or_none, rate, time};
use memtide_record::steps::Point;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::symbols::Marker;
use ratatui::text::Line;
use ratatui::widgets::{Axis, Block, Chart, Dataset, GraphType, Widget};

/// Characters of the heat map, the strongest last.
const STRENGTHS: [&str; 5] = [" ", "·", "░", "▒", "█"];
/// Columns of the heat map's scale.
const SCALE: u16 = 9;

/// A line of a plot: its name, its colour, and its figure of a second.
pub(super) struct Curve<'a> {
    pub(super) name: &'a str,
    pub(super) colour: Color,
    pub(super) value: &'a dyn Fn(&LiveSecond) -> Option<f64>,
}

/// Draws curves over the seconds that are shown. `word` words a figure; `least` is the least that
/// the upright axis reaches. A logarithmic axis shows `log10` of the figures.
pub(super) fn curves(
    live: &Live,
    (view, title): (&View, &str),
    (word, least, is_log): (fn(f64) -> String, f64, bool),
    all: &[Curve<'_>],
    (area, out): (Rect, &mut Buffer),
) {
    let shown = last(live, usize::from(area.width.saturating_sub(SCALE)).saturating_mul(2));
    let points = |curve: &Curve<'_>| -> Vec<(f64, f64)> {
        let point = |second: &&LiveSecond| Some((second.end_s(), (curve.value)(second)?));
        shown.iter().filter_map(point).collect()
    };
    let each = all.iter().map(|curve| (curve.name, curve.colour, points(curve)));
    let from = shown.first().map_or(0.0, |second| second.start_s);
    let until = shown.last().map_or(1.0, |second| second.end_s()).max(from + 1.0);
    let x = ([from, until], (|s| format!("{s:.0} s")) as fn(f64) -> String);
    plot((view, title), x, (word, least, is_log), &each.collect::<Vec<_>>(), (area, out));
}

/// Percentiles of the steps that are over against their rates, and what is known of the answer.
pub(super) fn against_rate(live: &Live, view: &View, area: Rect, out: &mut Buffer) {
    let mut points: Vec<Point> = live.steps.iter().map(|step| step.point).collect();
    points.retain(|point| point.target.is_some());
    points.sort_by(|a, b| a.achieved.per_s.total_cmp(&b.achieved.per_s));
    let line = |value: fn(&Point) -> Option<u64>| -> Vec<(f64, f64)> {
        let place = |point: &Point| Some((point.achieved.per_s, value(point)? as f64));
        points.iter().filter_map(place).collect()
    };
    let each = [
        ("p99", Color::Yellow, line(|point| point.response_p99_ns)),
        ("p50", Color::Green, line(|point| point.response_p50_ns)),
    ];
    let ends = [points.first(), points.last()].map(|end| end.map_or(0.0, |it| it.achieved.per_s));
    let x = ([ends[0], ends[1].max(ends[0] + 1.0)], rate as fn(f64) -> String);
    let [low, high] = live.bracket().map(|end| or_none(end.map(rate)));
    let title = format!("response by achieved rate; the answer is between {low} and {high}");
    plot((view, &title), x, (time, 1e4, true), &each, (area, out));
}

/// A line to be drawn: its name, its colour and its points.
type Drawn<'a> = (&'a str, Color, Vec<(f64, f64)>);

/// Draws lines of points over `x`, each with a name and a colour. A logarithmic axis shows `log10`
/// of the figures.
fn plot(
    (view, title): (&View, &str),
    ([from, until], x_word): ([f64; 2], fn(f64) -> String),
    (word, least, is_log): (fn(f64) -> String, f64, bool),
    all: &[Drawn<'_>],
    (area, out): (Rect, &mut Buffer),
) {
    let scaled = |value: f64| if is_log { value.max(1.0).log10() } else { value };
    let each: Vec<Vec<(f64, f64)>> =
        all.iter().map(|(.., line)| line.iter().map(|(x, y)| (*x, scaled(*y))).collect()).collect();
    let values = || each.iter().flatten().map(|(_, value)| *value);
    let high = values().fold(scaled(least), f64::max);
    let low = if is_log { values().fold(high, f64::min).floor() } else { 0.0 };
    let high = if is_log { high.ceil().max(low + 1.0) } else { high * 1.05 };
    let unscaled = |value: f64| word(if is_log { 10f64.powf(value) } else { value });
    let datasets = all.iter().zip(&each).map(|((name, colour, _), points)| {
        Dataset::default()
            .name(*name)
            .marker(Marker::Braille)
            .graph_type(GraphType::Line)
            .style(view.colour(*colour))
            .data(points)
    });
    let end = |at: f64| Line::raw(x_word(at));
    Chart::new(datasets.collect())
        .block(Block::bordered().title(title))
        .x_axis(Axis::default().bounds([from, until]).labels([end(from), end(until)]))
        .y_axis(
            Axis::default()
                .bounds([low, high])
                .labels([low, f64::midpoint(low, high), high].map(|at| Line::raw(unscaled(at)))),
        )
        .render(area, out);
}

/// The last `most` seconds.
fn last(live: &Live, most: usize) -> Vec<&LiveSecond> {
    let skipped = live.seconds.len().saturating_sub(most);
    live.seconds.iter().skip(skipped).collect()
}

/// The heat map of response times: a column for each second, the longest times on top.
pub(super) fn heat(live: &Live, view: &View, area: Rect, out: &mut Buffer) {
    let block = Block::bordered().title("response times, a column per second; denser: more");
    let inside = block.inner(area);
    block.render(area, out);
    if inside.width <= SCALE || inside.height < 3 {
        return;
    }
    let shown = last(live, usize::from(inside.width - SCALE));
    let used: Vec<usize> = (0..HEAT_CELLS)
        .filter(|cell| shown.iter().any(|second| second.heat.get(*cell).is_some_and(|n| *n > 0)))
        .collect();
    let (Some(first), Some(end)) = (used.first(), used.last()) else { return };
    let (first, count) = (*first, end - first + 1);
    // Each line of the screen holds as many cells as it takes for all lines to hold them all.
    let per_line = count.div_ceil(usize::from(inside.height)).max(1);
    let lines = count.div_ceil(per_line);
    for line in 0..lines {
        let cells = first + line * per_line..(first + (line + 1) * per_line).min(HEAT_CELLS);
        let y = inside.bottom() - 1 - u16::try_from(line).unwrap_or(u16::MAX);
        if line % 2 == 0 {
            out.set_string(inside.x, y, time(heat_edge(cells.start)), Style::new());
        }
        for (column, second) in shown.iter().enumerate() {
            let sum = |cells: std::ops::Range<usize>| -> u64 {
                second.heat.get(cells).into_iter().flatten().map(|n| u64::from(*n)).sum()
            };
            let (here, all) = (sum(cells.clone()), sum(0..HEAT_CELLS));
            let (character, colour) = strength(here, all);
            let x = inside.x + SCALE + u16::try_from(column).unwrap_or(u16::MAX);
            out.set_string(x, y, character, view.colour(colour));
        }
    }
}

/// The character and the colour of a cell that holds `here` of a second's `all` operations.
fn strength(here: u64, all: u64) -> (&'static str, Color) {
    let share = here as f64 / all.max(1) as f64;
    let level = match share {
        _ if here == 0 => 0,
        ..0.01 => 1,
        ..0.05 => 2,
        ..0.2 => 3,
        _ => 4,
    };
    let colours = [Color::Reset, Color::Red, Color::Yellow, Color::Green, Color::Cyan];
    (STRENGTHS[level], colours[level])
}
