//! Whole screens compared with files, from hand-made seconds in virtual time.

use super::*;
use crate::fixture::expect;
use crate::live::tests::second;
use memtide_base::Span as Time;
use memtide_record::{AgentSecond, Event, Interval, Phase, Progress};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

/// A load of 40 seconds whose server stands still each 10 seconds.
fn stalling() -> Live {
    let mut live = Live::new(&["all.p99<1ms".parse().unwrap()]);
    for number in 0..40 {
        let slow = if number % 10 == 9 { 60 } else { 1 };
        let ns = (200_000 + 7_919 * (number % 5)) * slow;
        live.on(&Event::Interval(Box::new(second(number, 20_000, ns, 6_000))));
    }
    live.on(&Event::Progress(progress(40.0)));
    live
}

fn progress(elapsed_s: f64) -> Progress {
    Progress {
        phase: Phase::Measure,
        elapsed_s,
        length_s: Some(60.0),
        done: 800_000,
        rate_per_s: Some(20_000.0),
        ..Progress::default()
    }
}

/// The last seconds have errors and a backlog.
fn failing() -> Live {
    let mut live = stalling();
    let mut bad = second(40, 12_000, 900_000, 500_000);
    bad.counts.timed_out = 3_000;
    bad.counts.settled += 3_000;
    bad.under_way.oldest_due_s = Some(1.25);
    live.on(&Event::Interval(Box::new(bad)));
    live.on(&Event::Note("the server at 127.0.0.1:11211 refused a connection".to_owned()));
    live.on(&Event::Progress(progress(41.0)));
    live
}

fn screen(live: &Live, view: &View, (width, height): (u16, u16)) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(live, view, frame.area(), frame.buffer_mut())).unwrap();
    let cells = terminal.backend().buffer();
    let line = |y: u16| -> String {
        let cells: String = (0..width).map(|x| cells[(x, y)].symbol()).collect();
        cells.trim_end().to_owned() + "\n"
    };
    (0..height).map(line).collect()
}

const SMALL: (u16, u16) = (80, 24);
const LARGE: (u16, u16) = (200, 60);

#[test]
fn screens_are_as_in_the_files() {
    let view = |panel| View { panel, ..View::default() };
    for (name, live, panel, size) in [
        ("screens/80x24.txt", stalling(), Panel::Overview, SMALL),
        ("screens/200x60.txt", stalling(), Panel::Overview, LARGE),
        ("screens/errors.txt", failing(), Panel::Overview, SMALL),
        ("screens/heat.txt", stalling(), Panel::Heat, SMALL),
        ("screens/machine.txt", stalling(), Panel::Machine, SMALL),
        ("screens/parts.txt", stalling(), Panel::Parts, SMALL),
        ("screens/search.txt", searching(), Panel::Steps, SMALL),
        ("screens/agents.txt", by_agents(), Panel::Agents, SMALL),
    ] {
        let shown = screen(&live, &view(panel), size);
        assert_eq!(shown, screen(&live, &view(panel), size), "{name}: drawn twice");
        expect(name, &shown);
    }
}

/// A calm load of three agents, one of which says nothing in the last second.
fn by_agents() -> Live {
    let mut live = Live::new(&["all.p99<1ms".parse().unwrap()]);
    for number in 0..20 {
        let names = ["ankara", "berlin", "cairo"].iter().take(if number < 19 { 3 } else { 2 });
        let part = |(at, name): (u64, &&str)| {
            AgentSecond::of(name, &second(number, 4_000, 200_000 + 40_000 * at, 6_000))
        };
        let agents = (0..).zip(names).map(part).collect();
        let second = second(number, 12_000, 210_000, 6_000);
        live.on(&Event::Interval(Box::new(Interval { agents, ..second })));
    }
    live.on(&Event::Progress(progress(20.0)));
    live
}

/// A search in its third step.
fn searching() -> Live {
    let mut live = stalling();
    let role = memtide_record::steps::StepRole::Narrow;
    for (number, per_s) in [(1, 10_000.0), (2, 40_000.0)] {
        let rate = Some(memtide_base::Rate::new(per_s, Default::default()));
        live.on(&Event::StepBegun(memtide_record::StepBegun { number, rate, role }));
        let step = memtide_record::steps::Step {
            role,
            rate_per_s: Some(per_s),
            achieved_per_s: per_s,
            low_per_s: (number > 1).then_some(10_000.0),
            ..crate::fixture::step(number, crate::fixture::open())
        };
        live.on(&Event::StepDone(Box::new(step)));
    }
    live
}

#[test]
fn every_size_can_be_drawn() {
    let live = failing();
    for panel in Panel::ALL {
        for size in [(1, 1), (10, 3), (20, 10), (79, 23), (300, 100)] {
            let view = View { panel, has_help: true, is_paused: true, ..View::default() };
            screen(&live, &view, size);
            screen(&Live::new(&[]), &view, size);
        }
    }
}

#[test]
fn without_colours_no_cell_has_one() {
    let count = |has_colours: bool| {
        let view = View { has_colours, ..View::default() };
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
        let live = failing();
        terminal.draw(|frame| draw(&live, &view, frame.area(), frame.buffer_mut())).unwrap();
        terminal.backend().buffer().content.iter().filter(|cell| cell.fg != Color::Reset).count()
    };
    assert_eq!(count(false), 0);
    assert!(count(true) > 100);
}

#[test]
fn a_load_of_counted_operations_has_an_estimate() {
    let mut live = Live::new(&[]);
    let total = Some(100_000);
    let load = Progress { phase: Phase::Load, done: 25_000, total, ..progress(5.0) };
    live.on(&Event::Progress(load));
    let shown = screen(&live, &View::default(), SMALL);
    assert!(shown.starts_with("memtide load 25 000 of 100 000, about 15.0 s left"), "{shown}");
}

#[test]
fn an_unpaced_load_has_no_asked_rate() {
    let mut live = Live::new(&[]);
    let closed = Interval { start: Time::ZERO, ..second(0, 10, 1_000, 0) };
    let under_way = memtide_record::UnderWay::default();
    live.on(&Event::Interval(Box::new(Interval { under_way, ..closed })));
    assert!(screen(&live, &View::default(), SMALL).contains("asked —"));
}
