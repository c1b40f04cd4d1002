//! Small programs that sleep, end or fail.

use super::*;
use crate::bench::server::Cpus;

fn start(program: &str, word: &str) -> Process {
    let cpu = Cpus::inherited().expect("there is a CPU").client;
    let quiet = (Stdio::null(), Stdio::null());
    Process::spawn(Path::new(program), &[word.to_owned()], cpu, quiet).expect("it can be started")
}

#[test]
fn time_on_a_cpu_is_the_first_of_three_numbers() {
    assert_eq!(on_cpu_of("1500 20 3\n"), Some(Duration::from_nanos(1_500)));
    assert_eq!(on_cpu_of(""), None);
    let own = cpu_of(Path::new("/proc/self/task")).expect("this process is there");
    assert!(own > Duration::ZERO);
}

#[test]
fn memory_is_told_in_bytes() {
    assert_eq!(rss_max_of("VmPeak:\t9 kB\nVmHWM:\t    2 kB\n"), Some(2048.0));
    assert_eq!(rss_max_of("Name:\tcat\n"), None);
}

#[test]
fn a_program_that_ends_is_told_apart() {
    let why = loop {
        let mut killed = start("sleep", "1000");
        killed.signal(Signal::KILL).expect("it is ours");
        std::thread::sleep(LOOK_EVERY);
        if let Err(why) = killed.is_there() {
            break why;
        }
    };
    assert!(why.starts_with("`sleep 1000` ended before its time"), "{why}");
    let patience = Duration::from_secs(10);
    assert_eq!(start("sleep", "0").finish(patience), Ok(()));
    let why = start("ls", "/there/is/no/such/file").finish(patience);
    assert!(why.is_err_and(|why| why.contains("failed")));
}

#[test]
fn a_program_ends_with_its_value() {
    let place = start("sleep", "1000").proc_folder();
    assert!(!place.exists());
}
