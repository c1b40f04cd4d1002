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
use std::ops::Range;

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

/// A plot without its lines.
pub(super) struct Plot<'a> {
    pub(super) title: &'a str,
    /// Formats a figure of the upright axis.
    pub(super) word: fn(f64) -> String,
    /// The least that the upright axis reaches.
    pub(super) least: f64,
    /// True if the upright axis shows `log10` of the figures.
    pub(super) is_log: bool,
}

/// The lower axis of a plot.
struct Across {
    ends: [f64; 2],
    word: fn(f64) -> String,
}

/// A line to be drawn.
struct Drawn<'a> {
    name: &'a str,
    colour: Color,
    points: Vec<(f64, f64)>,
}

/// Percentiles of the steps that are over against their rates, and what is known of the answer.
pub(super) fn against_rate(live: &Live, view: &View, area: Rect, out: &mut Buffer) {
    let mut points: Vec<Point> = live.steps.iter().map(|step| step.point).collect();
    points.retain(|point| point.target.is_some());
    points.sort_by(|a, b| a.achieved.per_s.total_cmp(&b.achieved.per_s));
    let p99 = by_rate(&points, |point| point.response_p99_ns);
    let p50 = by_rate(&points, |point| point.response_p50_ns);
    let lines = [
        Drawn { name: "p99", colour: Color::Yellow, points: p99 },
        Drawn { name: "p50", colour: Color::Green, points: p50 },
    ];
    let ends = [points.first(), points.last()].map(|end| end.map_or(0.0, |it| it.achieved.per_s));
    let across = Across { ends: [ends[0], ends[1].max(ends[0] + 1.0)], word: rate };
    let [low, high] = live.bracket().map(|end| or_none(end.map(rate)));
    let title = format!("response by achieved rate; the answer is between {low} and {high}");
    let plot = Plot { title: &title, word: time, least: 1e4, is_log: true };
    plot.draw(&across, lines.into(), view, area, out);
}

/// A time of each point against its achieved rate.
fn by_rate(points: &[Point], ns: fn(&Point) -> Option<u64>) -> Vec<(f64, f64)> {
    points.iter().filter_map(|point| Some((point.achieved.per_s, ns(point)? as f64))).collect()
}

impl Plot<'_> {
    /// Draws curves over the seconds that are shown.
    pub(super) fn curves(
        &self,
        live: &Live,
        all: &[Curve<'_>],
        view: &View,
        area: Rect,
        out: &mut Buffer,
    ) {
        let shown = last(live, usize::from(area.width.saturating_sub(SCALE)).saturating_mul(2));
        let lines = all.iter().map(|Curve { name, colour, value }| {
            let points = shown.iter().filter_map(|second| Some((second.end_s(), value(second)?)));
            Drawn { name, colour: *colour, points: points.collect() }
        });
        let from = shown.first().map_or(0.0, |second| second.start_s);
        let until = shown.last().map_or(1.0, |second| second.end_s()).max(from + 1.0);
        let across = Across { ends: [from, until], word: |s| format!("{s:.0} s") };
        self.draw(&across, lines.collect(), view, area, out);
    }

    fn draw(
        &self,
        across: &Across,
        mut lines: Vec<Drawn<'_>>,
        view: &View,
        area: Rect,
        out: &mut Buffer,
    ) {
        lines.iter_mut().flat_map(|it| &mut it.points).for_each(|(_, y)| *y = self.scaled(*y));
        let values: Vec<f64> =
            lines.iter().flat_map(|line| &line.points).map(|(_, value)| *value).collect();
        let high = values.iter().copied().fold(self.scaled(self.least), f64::max);
        let (low, high) = match self.is_log {
            true => {
                let low = values.iter().copied().fold(high, f64::min).floor();
                (low, high.ceil().max(low + 1.0))
            }
            false => (0.0, high * 1.05),
        };
        let datasets = lines.iter().map(|line| {
            Dataset::default()
                .name(line.name)
                .marker(Marker::Braille)
                .graph_type(GraphType::Line)
                .style(view.colour(line.colour))
                .data(&line.points)
        });
        let x = Axis::default().bounds(across.ends);
        let y = Axis::default().bounds([low, high]);
        let middle = f64::midpoint(low, high);
        Chart::new(datasets.collect())
            .block(Block::bordered().title(self.title))
            .x_axis(x.labels(across.ends.map(|at| Line::raw((across.word)(at)))))
            .y_axis(y.labels([low, middle, high].map(|at| Line::raw(self.label(at)))))
            .render(area, out);
    }

    /// Where `value` is on the upright axis.
    fn scaled(&self, value: f64) -> f64 {
        if self.is_log { value.max(1.0).log10() } else { value }
    }

    /// The label at a place of the upright axis.
    fn label(&self, at: f64) -> String {
        (self.word)(if self.is_log { 10f64.powf(at) } else { at })
    }
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
            let (here, all) = (held(second, cells.clone()), held(second, 0..HEAT_CELLS));
            let (character, colour) = strength(here, all);
            let x = inside.x + SCALE + u16::try_from(column).unwrap_or(u16::MAX);
            out.set_string(x, y, character, view.colour(colour));
        }
    }
}

/// Operations in these cells of a second.
fn held(second: &LiveSecond, cells: Range<usize>) -> u64 {
    second.heat.get(cells).into_iter().flatten().map(|count| u64::from(*count)).sum()
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
