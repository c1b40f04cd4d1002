//! Reports follow the counters of a server, also after a restart or a reset.

use super::*;

fn figures(all: &[(&str, &str)]) -> Figures {
    all.iter().map(|(name, word)| ((*name).to_owned(), Figure::from_word(word))).collect()
}

#[test]
fn what_two_answers_say_is_their_difference() {
    let first = figures(&[("pid", "7"), ("cmd_get", "100"), ("rusage_user", "1.250000")]);
    let last = figures(&[
        ("pid", "7"),
        ("cmd_get", "350"),
        ("cmd_set", "50"),
        ("rusage_user", "1.250400"),
        ("rusage_system", "0.000200"),
        ("curr_items", "12"),
    ]);
    let report = ServerReport::between(&first, &last, Span::from_s(1));
    assert_eq!((report.gets, report.sets, report.operations), (Some(250), Some(50), Some(300)));
    assert_eq!((report.cpu_user_us, report.cpu_system_us), (Some(400), Some(200)));
    assert_eq!((report.items, report.evictions, report.hit_ratio()), (Some(12), None, None));
    assert_eq!((report.restarts, report.resets), (0, 0));
    assert_eq!(report.cpu_s_per_mops(), Some(2.0));
}

#[test]
fn a_restart_is_one_and_a_reset_is_one() {
    let before = figures(&[("pid", "7"), ("uptime", "90"), ("cmd_get", "100")]);
    let anew = figures(&[("pid", "8"), ("uptime", "1"), ("cmd_get", "3")]);
    let later = figures(&[("pid", "8"), ("uptime", "2"), ("cmd_get", "5")]);
    let second = Span::from_s(1);
    let first = ServerReport::between(&before, &anew, second);
    assert_eq!((first.restarts, first.resets, first.gets), (1, 0, Some(3)));
    let all = first.then(&ServerReport::between(&anew, &later, second));
    assert_eq!((all.restarts, all.gets, all.answers), (1, Some(5), 2));
    let reset = figures(&[("pid", "7"), ("uptime", "91"), ("cmd_get", "4")]);
    let report = ServerReport::between(&before, &reset, second);
    assert_eq!((report.restarts, report.resets, report.gets), (0, 1, Some(4)));
}

#[test]
fn one_of_several_processes_tells_of_a_server() {
    let told = |gets| ServerReport { answers: 1, gets: Some(gets), ..ServerReport::default() };
    let of = |gets| BTreeMap::from([("a".to_owned(), told(gets))]);
    let mut one = of(3);
    ServerReport::unite(&mut one, &of(4));
    let mut other = of(4);
    ServerReport::unite(&mut other, &of(3));
    assert_eq!((one.clone(), one), (other, of(4)));
}
