//! A chart as SVG: lines, a heat map, limits, and the data from which the page's script shows
//! values.
//!
//! The drawing stretches with the page, and its words keep their size, on a phone as elsewhere;
//! colours come from the style sheet.

use crate::axis::Axis;
use maud::{Markup, html};
use std::fmt::Write;

/// Width and height of the drawing, in its own units.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 400.0;
/// Largest number of points at which a line shows each point as a dot.
const DOTS_MAX: usize = 40;
/// Width of a mark's name on a phone, as a fraction of the drawing's.
const MARK_WIDTH: f64 = 0.25;
/// Number of line colours; further lines repeat them, dashed.
const COLOURS: usize = 8;
/// Number of strengths of a cell of a heat map.
const LEVELS: usize = 8;

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
}

/// A line of a chart.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) name: String,
    /// Points by x; a missing value breaks the line.
    pub(super) points: Vec<(f64, Option<f64>)>,
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

impl Line {
    /// A line through known values.
    pub(super) fn new(name: impl Into<String>, points: Vec<(f64, Option<f64>)>) -> Self {
        Self { name: name.into(), points }
    }

    /// A line through stretches of time, each with its beginning, its length and a value, and drawn
    /// at `place` of both. It breaks where nothing was measured for longer than a stretch.
    pub(super) fn over_time(
        name: impl Into<String>,
        place: fn(f64, f64) -> f64,
        stretches: impl IntoIterator<Item = (f64, f64, Option<f64>)>,
    ) -> Self {
        let mut points = Vec::new();
        let mut before: Option<(f64, f64)> = None;
        for (start_s, length_s, value) in stretches {
            let is_apart = |(end_s, length_before_s): &(f64, f64)| {
                start_s - end_s > length_s.max(*length_before_s)
            };
            if let Some((end_s, _)) = before.filter(is_apart) {
                points.push((end_s, None));
            }
            before = Some((start_s + length_s, length_s));
            points.push((place(start_s, length_s), value));
        }
        Self { name: name.into(), points }
    }

    /// True if there is nothing to draw.
    pub(super) fn is_empty(&self) -> bool {
        self.points.iter().all(|(_, value)| value.is_none())
    }
}

/// The known values of all `lines`.
pub(super) fn values(lines: &[Line]) -> impl Iterator<Item = f64> + '_ {
    lines.iter().flat_map(|line| &line.points).filter_map(|(_, value)| *value)
}

impl Chart {
    /// An empty chart.
    pub(super) fn new(title: &'static str, x: Axis, y: Axis) -> Self {
        let (about, lines, cells, limits) = (String::new(), Vec::new(), Vec::new(), Vec::new());
        Self { title, about, x, y, lines, cells, limits }
    }

    /// The chart as markup; nothing if it would be empty.
    pub(super) fn markup(&self) -> Markup {
        let lines: Vec<&Line> = self.lines.iter().filter(|line| !line.is_empty()).collect();
        if lines.is_empty() && self.cells.is_empty() {
            return html! {};
        }
        let label = format!("{}. Left and right arrow keys read the values.", self.title);
        html! {
            figure.chart {
                figcaption { strong { (self.title) } " " span { (self.about) } }
                div.legend {
                    @for (number, line) in lines.iter().enumerate() {
                        button type="button" class=(style(number)) aria-pressed="true" {
                            i aria-hidden="true" {} (line.name)
                        }
                    }
                    @for name in self.limit_names() {
                        span.limit { i aria-hidden="true" {} (name) }
                    }
                }
                div.plot tabindex="0" role="group" aria-label=(label) {
                    (self.drawing(&lines))
                    @for (share, name) in self.marks() {
                        span.mark style=(mark_place(share)) { (name) }
                    }
                    @for (value, word) in self.y.ticks() {
                        span.y style=(place("bottom", self.y.place(value))) { (word) }
                    }
                    @for (number, (value, word)) in self.x.ticks().into_iter().enumerate() {
                        // On a narrow page, every other tick is hidden.
                        span class=(if number % 2 == 0 { "x" } else { "x second" })
                            style=(place("left", self.x.place(value))) { (word) }
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
                @for (number, line) in lines.iter().enumerate() {
                    (self.line(number, line, is_dotted))
                }
                @for limit in &self.limits { path.limit d=(self.limit(limit)) {} }
                path.cursor d="" {}
            }
        }
    }

    fn line(&self, number: usize, line: &Line, is_dotted: bool) -> Markup {
        let known: Vec<(f64, f64)> =
            line.points.iter().filter_map(|(x, y)| Some((*x, (*y)?))).collect();
        let list = |word: &dyn Fn(&(f64, f64)) -> String| -> String {
            known.iter().map(word).collect::<Vec<_>>().join("|")
        };
        let dots = is_dotted.then(|| {
            known.iter().fold(String::new(), |mut path, (x, y)| {
                let [x, y] = self.at(*x, *y);
                // Writing to a `String` cannot fail.
                let _ = write!(path, "M{x:.1} {y:.1}h0");
                path
            })
        });
        html! {
            g class=(style(number)) data-name=(line.name)
                data-x=(list(&|(x, _)| format!("{:.1}", WIDTH * self.x.place(*x))))
                data-t=(list(&|(x, _)| self.x.word(*x)))
                data-v=(list(&|(_, y)| self.y.word(*y))) {
                path d=(self.path(line)) {}
                @if let Some(dots) = dots { path.dots d=(dots) {} }
            }
        }
    }

    /// Position of a point in the drawing.
    fn at(&self, x: f64, y: f64) -> [f64; 2] {
        [WIDTH * self.x.place(x), HEIGHT * (1.0 - self.y.place(y))]
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
        let mut levels: [String; LEVELS] = Default::default();
        for Cell { x, y, strength } in &self.cells {
            let [left, bottom] = self.at(x[0], y[0]);
            let [right, top] = self.at(x[1], y[1]);
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
