//! A chart as SVG: lines, bands, a heat map, limits, and the data from which the page's script
//! shows values. A chart whose figures never change is folded away.
//!
//! The drawing stretches with the page, and its words keep their size, on a phone as elsewhere;
//! colours come from the style sheet.

use super::figures::unbroken;
use crate::axis::{Axis, Scale};
use maud::{Markup, html};
use std::fmt::Write;

/// Width and height of the drawing, in its own units.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 400.0;
/// Height of the strip above the drawing.
const STRIP: f64 = 14.0;
/// Largest number of points at which a line shows each point as a dot.
const DOTS_MAX: usize = 40;
/// Width of a mark's name on a phone, as a fraction of the drawing's.
const MARK_WIDTH: f64 = 0.25;
/// Number of line colours; further lines repeat them, dashed.
const COLOURS: usize = 8;
/// Number of strengths of a cell of a heat map.
const LEVELS: usize = 8;
/// Largest change of a line, as a fraction of its largest value, that is none to a reader.
const CHANGE_MAX: f64 = 0.01;
/// Fewest points of a line that can be said not to change.
const UNCHANGED_MIN: usize = 3;
/// Most labels of an upright axis that a phone has room for.
const LABELS_MAX: usize = 6;

/// A chart with lines, cells and limits.
#[derive(Debug)]
pub(super) struct Chart {
    /// Title, in a few words.
    pub(super) title: &'static str,
    /// Explanation for the reader, in a sentence or two.
    pub(super) about: String,
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) lines: Vec<Line>,
    pub(super) cells: Vec<Cell>,
    pub(super) limits: Vec<Limit>,
    /// Name of the strip above the axis that shows what has no value; empty without one.
    pub(super) strip: &'static str,
    /// What has no value.
    pub(super) stripes: Vec<Stripe>,
}

/// A stretch of x with what has no value, and its strength from 0 to 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stripe {
    pub(super) x: [f64; 2],
    pub(super) strength: f64,
}

/// A line of a chart.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    pub(super) name: String,
    /// Points by x; a missing value breaks the line.
    pub(super) points: Vec<(f64, Option<f64>)>,
    /// The interval of a value, by x: a lower and an upper end. Drawn as a band of the line's
    /// colour.
    pub(super) band: Vec<(f64, [f64; 2])>,
    /// Places of points that cannot be believed; their dots are hollow.
    pub(super) doubtful: Vec<f64>,
}

/// A cell of a heat map: two edges in x, two in y, and a strength from 0 to 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    pub(super) x: [f64; 2],
    pub(super) y: [f64; 2],
    pub(super) strength: f64,
}

/// A limit, drawn across the chart.
#[derive(Clone, Debug)]
pub(super) struct Limit {
    pub(super) name: String,
    pub(super) at: f64,
    /// True if the limit is a value of x.
    pub(super) is_upright: bool,
}

impl Limit {
    /// A limit of x.
    pub(super) fn upright(name: impl Into<String>, at: f64) -> Self {
        Self { name: name.into(), at, is_upright: true }
    }
}

/// A value of a stretch of time.
pub(super) struct TimedValue {
    pub(super) start_s: f64,
    pub(super) length_s: f64,
    pub(super) value: Option<f64>,
}

impl TimedValue {
    pub(super) fn middle_s(&self) -> f64 {
        self.start_s + self.length_s / 2.0
    }

    pub(super) fn end_s(&self) -> f64 {
        self.start_s + self.length_s
    }
}

/// The upright axis of a chart of lines: from zero to the largest value, or to `least` if that is
/// more.
pub(super) struct FromZero {
    pub(super) word: fn(f64) -> String,
    pub(super) least: f64,
}

impl Line {
    /// A line through known values.
    pub(super) fn new(name: impl Into<String>, points: Vec<(f64, Option<f64>)>) -> Self {
        Self { name: name.into(), points, ..Self::default() }
    }

    /// A line through values of stretches of time, each drawn at its `place`. It breaks where
    /// nothing was measured for half a stretch or longer.
    pub(super) fn over_time(
        name: impl Into<String>,
        place: fn(&TimedValue) -> f64,
        values: impl IntoIterator<Item = TimedValue>,
    ) -> Self {
        let mut points = Vec::new();
        let mut before: Option<TimedValue> = None;
        for now in values {
            if let Some(before) = before
                && now.start_s - before.end_s() >= now.length_s.min(before.length_s) / 2.0
            {
                points.push((before.end_s(), None));
            }
            points.push((place(&now), now.value));
            before = Some(now);
        }
        Self::new(name, points)
    }

    /// This line with the same interval from the beginning of `x` to its end.
    pub(super) fn within(self, x: [f64; 2], interval: Option<[f64; 2]>) -> Self {
        let band = interval.map(|ends| x.map(|x| (x, ends)).to_vec()).unwrap_or_default();
        Self { band, ..self }
    }

    /// True if the values never change, as far as a reader could see.
    fn is_flat(&self) -> bool {
        let known: Vec<f64> = self.known().map(|(_, value)| value).collect();
        let (low, high) =
            known.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), it| {
                (low.min(*it), high.max(*it))
            });
        known.len() >= UNCHANGED_MIN
            && known.len() == self.points.len()
            && high - low <= CHANGE_MAX * high.abs()
    }

    /// The points with a value.
    fn known(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.points.iter().filter_map(|(x, value)| Some((*x, (*value)?)))
    }

    /// A word about each point with a value.
    fn words(&self, word: impl Fn(f64, f64) -> String) -> String {
        self.known().map(|(x, y)| word(x, y)).collect::<Vec<_>>().join("|")
    }

    /// True if there is nothing to draw.
    pub(super) fn is_empty(&self) -> bool {
        self.points.iter().all(|(_, value)| value.is_none())
    }
}

/// The known values of all `lines`, and the ends of their intervals.
pub(super) fn values(lines: &[Line]) -> impl Iterator<Item = f64> + '_ {
    lines.iter().flat_map(|line| {
        let ends = line.band.iter().flat_map(|(_, ends)| *ends);
        line.known().map(|(_, value)| value).chain(ends)
    })
}

impl Chart {
    /// An empty chart.
    pub(super) fn new(title: &'static str, x: Axis, y: Axis) -> Self {
        let (about, lines, cells, limits) = (String::new(), Vec::new(), Vec::new(), Vec::new());
        Self { title, about, x, y, lines, cells, limits, strip: "", stripes: Vec::new() }
    }

    /// A chart of lines from zero.
    pub(super) fn of_lines(
        title: &'static str,
        about: &str,
        lines: Vec<Line>,
        x: Axis,
        y: FromZero,
    ) -> Self {
        let y = Axis::over(Scale::Linear, values(&lines).chain([y.least]), y.word);
        Self { about: about.to_owned(), lines, ..Self::new(title, x, y) }
    }

    /// The chart as markup, folded if nothing changes in it; nothing if it would be empty.
    pub(super) fn markup(&self) -> Markup {
        let lines: Vec<&Line> = self.lines.iter().filter(|line| !line.is_empty()).collect();
        if lines.is_empty() && self.cells.is_empty() && self.stripes.is_empty() {
            return html! {};
        }
        let is_bare = self.cells.is_empty() && self.stripes.is_empty() && self.limits.is_empty();
        if !is_bare || !lines.iter().all(|line| line.is_flat()) {
            return self.figure(&lines);
        }
        let values = lines.iter().map(|line| {
            let value = line.known().next().map_or(0.0, |(_, value)| value);
            format!("{} {}", line.name, self.y.word(value))
        });
        let values: Vec<String> = values.collect();
        html! {
            details {
                summary {
                    strong { (self.title) } " did not change: " (unbroken(&values.join(", ")))
                }
                (self.figure(&lines))
            }
        }
    }

    fn figure(&self, lines: &[&Line]) -> Markup {
        let label = format!(
            "{}. Left and right arrow keys read the values; plus and minus zoom, 0 shows all.",
            self.title
        );
        html! {
            figure.chart {
                figcaption { strong { (self.title) } " " span { (unbroken(&self.about)) } }
                div.legend {
                    @for (number, line) in lines.iter().enumerate() {
                        button type="button" class=(style(number)) aria-pressed="true" {
                            i aria-hidden="true" {} (line.name)
                        }
                    }
                    @for name in self.limit_names() {
                        span.limit { i aria-hidden="true" {} (name) }
                    }
                    @if !self.stripes.is_empty() {
                        span.stripes { i aria-hidden="true" {} (self.strip) }
                    }
                }
                div.plot tabindex="0" role="group" aria-label=(label) {
                    (self.drawing(lines))
                    @for (share, name) in self.marks() {
                        span.mark style=(mark_place(share)) { (name) }
                    }
                    @for (value, word) in self.y.ticks() {
                        span.y style=(place("bottom", self.y.place(value))) { (word) }
                    }
                    @let ticks = self.x.ticks();
                    @for (number, (value, word)) in ticks.iter().enumerate() {
                        // On a narrow page, every other one of many ticks is hidden.
                        @let is_second = ticks.len() > LABELS_MAX && number % 2 == 1;
                        span class=(if is_second { "x second" } else { "x" })
                            style=(place("left", self.x.place(*value))) { (word) }
                    }
                }
                p.readout aria-live="polite" {}
            }
        }
    }

    /// Names of the limits, each once.
    fn limit_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for limit in &self.limits {
            if !names.contains(&limit.name.as_str()) {
                names.push(&limit.name);
            }
        }
        names
    }

    /// Upright limits from left to right with their names, except those whose names would overlap.
    fn marks(&self) -> Vec<(f64, &str)> {
        let upright = self.limits.iter().filter(|limit| limit.is_upright);
        let mut marks: Vec<(f64, &str)> =
            upright.map(|limit| (self.x.place(limit.at), limit.name.as_str())).collect();
        marks.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        let mut taken = f64::NEG_INFINITY;
        marks.retain(|(share, _)| {
            let left = if is_left(*share) { *share } else { share - MARK_WIDTH };
            let is_free = left >= taken;
            if is_free {
                taken = left + MARK_WIDTH;
            }
            is_free
        });
        marks
    }

    fn drawing(&self, lines: &[&Line]) -> Markup {
        let is_dotted = lines.iter().all(|line| line.points.len() <= DOTS_MAX);
        html! {
            svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) preserveAspectRatio="none"
                aria-hidden="true" {
                path.grid d=(self.grid()) {}
                @for (level, cells) in self.levels().iter().enumerate() {
                    @if !cells.is_empty() { path class=(format!("h{level}")) d=(cells) {} }
                }
                @for (level, stripes) in self.stripe_levels().iter().enumerate() {
                    @if !stripes.is_empty() { path class=(format!("u{level}")) d=(stripes) {} }
                }
                @for (number, line) in lines.iter().enumerate() {
                    (self.line(number, line, is_dotted))
                }
                @for limit in &self.limits { path.limit d=(self.limit(limit)) {} }
                path.cursor d="" {}
            }
        }
    }

    fn line(&self, number: usize, line: &Line, is_dotted: bool) -> Markup {
        html! {
            g class=(style(number)) data-name=(line.name)
                data-x=(line.words(|x, _| format!("{:.1}", WIDTH * self.x.place(x))))
                data-t=(line.words(|x, _| self.x.word(x)))
                data-v=(line.words(|_, y| self.y.word(y))) {
                @if !line.band.is_empty() { path.band d=(self.band(line)) {} }
                path.line d=(self.path(line)) {}
                @if is_dotted { path.dots d=(self.dots(line, false)) {} }
                @let doubtful = self.dots(line, true);
                @if !doubtful.is_empty() {
                    path.dots d=(doubtful) {}
                    path.hollow d=(doubtful) {}
                }
            }
        }
    }

    /// The points of a line that are doubtful, or those that are not, as dots.
    fn dots(&self, line: &Line, is_doubtful: bool) -> String {
        let mut path = String::new();
        for (x, y) in line.known().filter(|(x, _)| line.doubtful.contains(x) == is_doubtful) {
            let [x, y] = self.at(x, y);
            // Writing to a `String` cannot fail.
            let _ = write!(path, "M{x:.1} {y:.1}h0");
        }
        path
    }

    /// Position of a point in the drawing.
    fn at(&self, x: f64, y: f64) -> [f64; 2] {
        [WIDTH * self.x.place(x), HEIGHT * (1.0 - self.y.place(y))]
    }

    /// The band of a line's intervals: along its upper ends, and back along the lower ones.
    fn band(&self, line: &Line) -> String {
        let upper = line.band.iter().map(|(x, [_, high])| (*x, *high));
        let lower = line.band.iter().rev().map(|(x, [low, _])| (*x, *low));
        let mut path = String::new();
        for (x, y) in upper.chain(lower) {
            let [x, y] = self.at(x, y);
            let sign = if path.is_empty() { 'M' } else { 'L' };
            let _ = write!(path, "{sign}{x:.1} {y:.1}");
        }
        path + "z"
    }

    fn path(&self, line: &Line) -> String {
        let mut path = String::new();
        let mut is_drawn = false;
        for (x, y) in &line.points {
            if let Some(y) = y {
                let [x, y] = self.at(*x, *y);
                // A point between two gaps is a dot.
                let _ = match is_drawn {
                    true => write!(path, "L{x:.1} {y:.1}"),
                    false => write!(path, "M{x:.1} {y:.1}h0"),
                };
            }
            is_drawn = y.is_some();
        }
        path
    }

    fn grid(&self) -> String {
        let mut path = String::new();
        for (value, _) in self.y.ticks() {
            let _ = write!(path, "M0 {:.1}H{WIDTH}", HEIGHT * (1.0 - self.y.place(value)));
        }
        for (value, _) in self.x.ticks() {
            let _ = write!(path, "M{:.1} 0V{HEIGHT}", WIDTH * self.x.place(value));
        }
        path
    }

    fn limit(&self, limit: &Limit) -> String {
        match limit.is_upright {
            true => format!("M{:.1} 0V{HEIGHT}", WIDTH * self.x.place(limit.at)),
            false => format!("M0 {:.1}H{WIDTH}", HEIGHT * (1.0 - self.y.place(limit.at))),
        }
    }

    /// The cells of each strength, joined to one path.
    fn levels(&self) -> [String; LEVELS] {
        by_level(self.cells.iter().map(|Cell { x, y, strength }| {
            let ([left, bottom], [right, top]) = (self.at(x[0], y[0]), self.at(x[1], y[1]));
            Rectangle { left, top, right, bottom, strength: *strength }
        }))
    }

    /// The stripes of each strength, joined to one path: above the drawing.
    fn stripe_levels(&self) -> [String; LEVELS] {
        by_level(self.stripes.iter().map(|Stripe { x, strength }| {
            let [left, right] = x.map(|x| WIDTH * self.x.place(x));
            Rectangle { left, top: -STRIP, right, bottom: 0.0, strength: *strength }
        }))
    }
}

/// A rectangle of the drawing, and its strength from 0 to 1.
struct Rectangle {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
    strength: f64,
}

/// Rectangles, those of each strength joined to one path.
fn by_level(rectangles: impl Iterator<Item = Rectangle>) -> [String; LEVELS] {
    let mut levels: [String; LEVELS] = Default::default();
    for Rectangle { left, top, right, bottom, strength } in rectangles {
        // The square root gives half of the levels to strengths below a quarter.
        let level = (strength.clamp(0.0, 1.0).sqrt() * (LEVELS - 1) as f64).round() as usize;
        let (width, height) = (right - left, bottom - top);
        let _ = write!(
            levels[level.min(LEVELS - 1)],
            "M{left:.1} {top:.1}h{width:.1}v{height:.1}h-{width:.1}z"
        );
    }
    levels
}

/// Distance from `edge` as a CSS style.
fn place(edge: &str, share: f64) -> String {
    format!("{edge}:{:.2}%", 100.0 * share)
}

/// True if there is more room for a mark's name behind its line.
fn is_left(share: f64) -> bool {
    share < 0.5
}

/// Position of a mark's name: on the side of its line with more room.
fn mark_place(share: f64) -> String {
    match is_left(share) {
        true => place("left", share),
        false => place("right", 1.0 - share),
    }
}

/// CSS class of a line's colour.
fn style(number: usize) -> String {
    let dashed = if number >= COLOURS { " dashed" } else { "" };
    format!("s{}{dashed}", number % COLOURS)
}
