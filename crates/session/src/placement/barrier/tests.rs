//! Times of day and launchers that cannot start a run, with their messages.

use super::*;
use memtide_run::Share;

fn division(number: u32, of: u32) -> Division {
    Division { share: Share::one(number, of), restarts: 0, key: None }
}

fn at(word: &str) -> Placement {
    Placement { start_at: Some(word.parse().unwrap()), ..Placement::default() }
}

#[test]
fn a_time_of_day_lies_ahead_and_not_too_far() {
    let open = |word: &str| {
        barrier(&at(word), &division(0, 2), Clock::start(), Span::from_s(1_000), &|_| None)
    };
    let Ok(Some(mut by_time)) = open("@1010") else { panic!("it lies ahead") };
    let (now, s) = (Instant::from_ns(7), Span::from_s);
    assert_eq!(by_time.look(now, s(1_000)), Ok(None));
    assert_eq!(
        by_time.look(now, s(1_009) + Span::from_ms(500)).unwrap(),
        Some(now + Span::from_ms(500))
    );
    assert!(by_time.look(now, s(1_012)).unwrap_err().0.contains("2 s after --start-at"));
    assert!(matches!(open("@999"), Err(Refused::NotRun(_))));
    let Err(Refused::Stop(stop)) = open("@1000000") else { panic!("milliseconds") };
    assert!(stop.message.contains("11 days ahead"), "{}", stop.message);
}

#[test]
fn a_launcher_without_pmi_or_of_another_size_is_an_error() {
    let placement = Placement { barrier: Some(BarrierWord::Pmi), ..Placement::default() };
    let refused = |words: &'static [(&str, &str)]| {
        let find = |name: &str| words.iter().find(|(key, _)| *key == name);
        let variable = |name: &str| find(name).map(|(_, word)| (*word).to_owned());
        match barrier(&placement, &division(0, 2), Clock::start(), Span::ZERO, &variable) {
            Err(Refused::Stop(stop)) => stop.message,
            _ => panic!("it cannot be"),
        }
    };
    assert!(refused(&[]).contains("PMI_SIZE is not set"), "{}", refused(&[]));
    let other = refused(&[("PMI_FD", "900"), ("PMI_RANK", "0"), ("PMI_SIZE", "4")]);
    assert!(other.contains("4 processes") && other.contains("2 shares"), "{other}");
    let closed = refused(&[("PMI_FD", "900"), ("PMI_RANK", "0"), ("PMI_SIZE", "2")]);
    assert!(closed.contains("descriptor 900"), "{closed}");
}
