//! A run on the screen of a terminal: the model drawn into a buffer of cells.
//!
//! Pure: which terminal it is, and which key was pressed, the caller knows. Only the terminal's own
//! 16 colours are used, and everything can be read without them.

mod panels;
mod plots;

use crate::live::{Live, Suspect, time_word, unanswered};
use crate::number::{or_none, rate, time, whole};
use memtide_base::worded;
use memtide_record::Grade;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph, Widget};

worded! {
    /// A part of the run that fills the screen below the summary.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Panel {
        /// Rates, percentiles and the heat map together.
        #[default]
        Overview = "overview",
        /// The heat map of response times.
        Heat = "heat map",
        /// Kinds of operation, servers, and what the servers say of themselves.
        Parts = "kinds and servers",
        /// memtide's workers and their machine.
        Machine = "memtide's machine",
        /// Steps of a search or scan, or pairs of a trial.
        Steps = "steps",
        /// The agents that make the load.
        Agents = "agents",
    }
    const fn name;
    /// All panels, in the order of their keys, from 1.
    pub const ALL;
}

impl Panel {
    /// The panel of a key from 1 to 6.
    pub fn of_key(key: char) -> Option<Self> {
        let number = usize::try_from(key.to_digit(10)?).ok()?;
        Self::ALL.get(number.checked_sub(1)?).copied()
    }

    /// The next panel; the first after the last.
    #[must_use]
    pub fn next(self) -> Self {
        let at = Self::ALL.iter().position(|panel| *panel == self).unwrap_or(0);
        Self::ALL[(at + 1) % Self::ALL.len()]
    }
}

/// How a run is looked at.
#[derive(Clone, Copy, Debug, Default)]
pub struct View {
    /// The panel that is shown.
    pub panel: Panel,
    /// True if the picture stands still while the run goes on.
    pub is_paused: bool,
    /// True if the keys are explained.
    pub has_help: bool,
    /// True if colours may be used.
    pub has_colours: bool,
    /// True once the user has asked the run to stop.
    pub is_stopping: bool,
}

impl View {
    /// `colour`, if colours may be used.
    fn colour(self, colour: Color) -> Style {
        if self.has_colours { Style::new().fg(colour) } else { Style::new() }
    }

    /// A heading.
    fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// What must be seen.
    fn alarm(self) -> Style {
        self.colour(Color::Red).add_modifier(Modifier::BOLD)
    }
}

/// The keys, for the line at the bottom.
const KEYS: &str = "1-6, Tab panel  p pause  s stop  q line  ? help";
/// The keys, each with what it does.
const HELP: [&str; 9] = [
    "1 to 6, Tab   choose a panel",
    "p, space      let the picture stand still; the run goes on",
    "s, Ctrl-C     stop the run; its results are kept",
    "q, u          back to the progress line; u shows the screen again",
    "?, h          this help",
    "",
    "lag: sent later than due. service: from sent to received.",
    "response: from due to received, the sum of both.",
    "The first line in colour says whose share the times are.",
];

/// Draws `live` into `area`.
pub fn draw(live: &Live, view: &View, area: Rect, out: &mut Buffer) {
    let head = head(live, view, usize::from(area.width));
    let height = u16::try_from(head.len()).unwrap_or(u16::MAX);
    let [top, middle, bottom] =
        Layout::vertical([Constraint::Length(height), Constraint::Min(0), Constraint::Length(1)])
            .areas(area);
    Paragraph::new(head).render(top, out);
    match view.panel {
        Panel::Overview => panels::overview(live, view, middle, out),
        Panel::Heat => plots::heat(live, view, middle, out),
        Panel::Parts => panels::parts(live, view, middle, out),
        Panel::Machine => panels::machine(live, view, middle, out),
        Panel::Steps => panels::steps(live, view, middle, out),
        Panel::Agents => panels::agents(live, view, middle, out),
    }
    foot(view, bottom, out);
    if view.has_help {
        help(view, area, out);
    }
}

/// The lines that every panel has above it.
fn head(live: &Live, view: &View, width: usize) -> Vec<Line<'static>> {
    let mut lines = vec![where_it_is(live, view), figures(live, view)];
    if let Some(suspect) = live.suspect() {
        let style = match &suspect {
            Suspect::Calm(_) => view.colour(Color::Green),
            Suspect::Server(_) => view.colour(Color::Yellow).add_modifier(Modifier::BOLD),
            Suspect::Own(_) => view.alarm(),
        };
        lines.extend(wrapped(suspect.sentence(), width).map(|line| Line::styled(line, style)));
    }
    let aims = live.aims();
    if !aims.is_empty() {
        let mut spans = vec![Span::styled("goals ", view.strong())];
        for aim in aims {
            let style = match aim.is_met {
                Some(true) => view.colour(Color::Green),
                Some(false) => view.alarm(),
                None => Style::new(),
            };
            let words = format!("{} {} ({})  ", aim.goal, aim.word(), aim.figure);
            spans.push(Span::styled(words, style));
        }
        lines.push(Line::from(spans));
    }
    let grades = live.grades();
    if !grades.is_empty() {
        let mut spans = vec![Span::styled("grades ", view.strong())];
        for (name, grade) in grades {
            let style = match grade {
                Grade::Yes => view.colour(Color::Green),
                Grade::Within(_) => view.colour(Color::Yellow),
                Grade::No => view.alarm(),
            };
            spans.push(Span::styled(format!("{name} {grade}  "), style));
        }
        lines.push(Line::from(spans));
    }
    if let Some(words) = live.words.back() {
        lines.push(Line::styled(format!("! {words}"), view.colour(Color::Yellow)));
    }
    lines
}

/// The words in lines of at most `width` characters.
fn wrapped(words: &str, width: usize) -> impl Iterator<Item = String> {
    let mut lines = vec![String::new()];
    for word in words.split(' ') {
        let line = lines.last_mut().expect("there is one from the beginning");
        let length = line.chars().count();
        match length {
            0 => line.push_str(word),
            _ if length + 1 + word.chars().count() > width => lines.push(word.to_owned()),
            _ => *line += &format!(" {word}"),
        }
    }
    lines.into_iter()
}

fn where_it_is(live: &Live, view: &View) -> Line<'static> {
    let mut spans = vec![Span::styled("memtide ", view.strong())];
    spans.push(Span::raw(live.whereabouts()));
    spans.extend(undone(live, view));
    if view.is_stopping {
        spans.push(Span::styled("  stopping", view.alarm()));
    }
    if view.is_paused {
        spans.push(Span::styled("  picture paused, the run goes on", view.alarm()));
    }
    Line::from(spans)
}

fn figures(live: &Live, view: &View) -> Line<'static> {
    let Some(now) = live.last() else { return Line::raw("no second of the load is over yet") };
    let [p50, p99, p999] = now.response.map(time_word);
    let asked = or_none(now.due_per_s.map(rate));
    Line::from(vec![
        Span::raw(format!("asked {asked}  answered ")),
        Span::styled(rate(now.answered_per_s), view.strong()),
        Span::raw(format!("  p50 {p50}  p99 ")),
        Span::styled(p99, view.strong()),
        Span::raw(format!("  p99.9 {p999}")),
    ])
}

/// What the latest second leaves undone: the backlog, and operations that were not answered.
fn undone(live: &Live, view: &View) -> Vec<Span<'static>> {
    let mut spans = Vec::new();
    let age = live.last().and_then(|now| now.under_way.oldest_due_s).filter(|age| *age >= 0.1);
    if let Some(age) = age {
        spans.push(Span::styled(format!("  backlog {}", time(age * 1e9)), view.alarm()));
    }
    let errors = unanswered(&live.counts);
    if errors > 0 {
        spans.push(Span::styled(format!("  {} not answered", whole(errors)), view.alarm()));
    }
    spans
}

fn foot(view: &View, area: Rect, out: &mut Buffer) {
    let name = format!("[{}] ", view.panel.name());
    let style = Style::new().add_modifier(Modifier::REVERSED);
    let line = Line::from(vec![Span::styled(name, view.strong()), Span::raw(KEYS)]);
    Paragraph::new(line).style(style).render(area, out);
}

fn help(view: &View, area: Rect, out: &mut Buffer) {
    let (width, height) = (66.min(area.width), (HELP.len() as u16 + 2).min(area.height));
    let x = area.x + (area.width - width) / 2;
    let y = area.y + (area.height - height) / 2;
    let inside = Rect { x, y, width, height };
    Clear.render(inside, out);
    let lines: Vec<Line<'_>> = HELP.iter().map(|line| Line::raw(*line)).collect();
    let block = Block::bordered().title("keys").border_style(view.strong());
    Paragraph::new(lines).block(block).render(inside, out);
}

#[cfg(test)]
mod tests;
