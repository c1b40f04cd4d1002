//! A chart as SVG: lines, a heat map, limits, and what the page's script needs to read values out.
//!
//! The drawing stretches with the page, so that words are as large on a phone as elsewhere; colours
//! are those of the style sheet.

use super::axis::Axis;
use maud::{Markup, html};
use std::fmt::Write;

/// The width and height of the drawing, in units of its own.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 400.0;
/// Charts whose lines have this many points or fewer show each of them.
const DOTS_MAX: usize = 40;
/// The width of a mark's name, as a share of the drawing's on a phone.
const MARK_WIDTH: f64 = 0.25;
/// Colours of lines; further lines have them again, dashed.
const COLOURS: usize = 8;
/// Strengths of a cell of a heat map.
const LEVELS: usize = 8;

/// A chart with lines, cells and limits.
#[derive(Debug)]
pub(super) struct Chart {
    /// What it shows, in a few words.
    pub(super) title: &'static str,
    /// What a reader must know of it, in a sentence or two.
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
    /// Where there is no value the line is broken.
    pub(super) points: Vec<(f64, Option<f64>)>,
}

/// A cell of a heat map: two edges in x, two in y, and its strength from 0 to 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    pub(super) x: [f64; 2],
    pub(super) y: [f64; 2],
    pub(super) strength: f64,
}

/// A value to keep, drawn across the chart.
#[derive(Clone, Debug)]
pub(super) struct Limit {
    pub(super) name: String,
    pub(super) at: f64,
    /// True if it is a value of x.
    pub(super) is_upright: bool,
}

impl Line {
    /// A line through known values.
    pub(super) fn new(name: impl Into<String>, points: Vec<(f64, Option<f64>)>) -> Self {
        Self { name: name.into(), points }
    }

    /// True if there is nothing to draw.
    pub(super) fn is_empty(&self) -> bool {
        self.points.iter().all(|(_, value)| value.is_none())
    }
}

impl Chart {
    /// The chart, or nothing if it would be empty.
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
                        // A narrow page shows every other tick.
                        span class=(if number % 2 == 0 { "x" } else { "x second" })
                            style=(place("left", self.x.place(value))) { (word) }
                    }
                }
                p.readout aria-live="polite" {}
            }
        }
    }

    /// What the limits are called, each name once.
    fn limit_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for limit in &self.limits {
            if !names.contains(&limit.name.as_str()) {
                names.push(&limit.name);
            }
        }
        names
    }

    /// Upright limits from left to right with their names, without those whose names would cover
    /// each other.
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
                // A string takes all that is written.
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

    /// A point of the drawing.
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

    /// The cells of each strength as one path.
    fn levels(&self) -> [String; LEVELS] {
        let mut levels: [String; LEVELS] = Default::default();
        for Cell { x, y, strength } in &self.cells {
            let [left, bottom] = self.at(x[0], y[0]);
            let [right, top] = self.at(x[1], y[1]);
            // Half the range of strengths is where there is little.
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

/// How far from `edge` something is, as a style.
fn place(edge: &str, share: f64) -> String {
    format!("{edge}:{:.2}%", 100.0 * share)
}

/// True if a mark has more room for its name behind it.
fn is_left(share: f64) -> bool {
    share < 0.5
}

/// Where the name of a mark is: on the side of its line that has more room.
fn mark_place(share: f64) -> String {
    match is_left(share) {
        true => place("left", share),
        false => place("right", 1.0 - share),
    }
}

/// The class of a line's colour.
fn style(number: usize) -> String {
    let dashed = if number >= COLOURS { " dashed" } else { "" };
    format!("s{}{dashed}", number % COLOURS)
}
