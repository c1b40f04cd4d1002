//! A user at a terminal: all output fits it.

use crate::hostile::terminal::terminal;
use crate::prelude::*;

/// Time limit of these tests' runs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs `command` with a terminal of `columns` columns as its stdout; returns its output.
fn shown(command: &mut Command, columns: u16) -> String {
    let (mut ours, theirs) = terminal((columns, 24));
    let mut child = command.stdout(theirs).stderr(Stdio::piped()).spawn().unwrap();
    // The command keeps the terminal's other side open until its stdout is replaced.
    command.stdout(Stdio::null());
    let reader = thread::spawn(move || {
        let mut text = Vec::new();
        // The read ends with an error once the other side is closed.
        drop(ours.read_to_end(&mut text));
        String::from_utf8(text).unwrap()
    });
    let deadline = Instant::now() + PATIENCE;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > deadline {
            drop(child.kill());
        }
        thread::sleep(Duration::from_millis(5));
    }
    reader.join().unwrap().replace("\r\n", "\n")
}

#[test]
fn a_report_fits_the_terminal_and_is_whole_in_a_pipe() {
    let _turn = shared();
    for line in [
        "run --quiet --full --ops-max 2k --keys 100 --rate 0 --goal all.p99<1h",
        "scan --quiet --rates 500,1k --duration 200ms --keys 100 --goal all.p99<1h",
        "run --plan --keys 100",
    ] {
        let of = || {
            let mut command = program();
            command.args(line.split(' '));
            command
        };
        let narrow = shown(&mut of(), 80);
        assert!(!narrow.is_empty());
        let long = narrow.lines().find(|line| line.chars().count() > 80);
        assert_eq!(long, None, "wider than the terminal:\n{narrow}");
        let heading =
            |text: &str| text.lines().find(|line| line.contains(" p99 ")).map(str::to_owned);
        let has = |text: &str, column| heading(text).is_some_and(|line| line.contains(column));
        assert!(!has(&narrow, "p99.99") && !has(&narrow, "lag p99"), "{narrow}");
        let wide = String::from_utf8(of().output().unwrap().stdout).unwrap();
        if line.starts_with("run --quiet") {
            assert!(narrow.contains("\nbelievable: ") && has(&wide, "p99.99"), "{wide}");
        }
        if line.starts_with("scan") {
            assert!(has(&wide, "lag p99"), "{wide}");
        }
    }
}
