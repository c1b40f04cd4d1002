//! Command lines that name only `mcperf`, and the programs to which they belong.

use super::*;

fn of(line: &str) -> Mcperf {
    Mcperf::of_words(&crate::tests::words(line))
}

#[test]
fn letters_and_names_of_twemperf_alone_are_its() {
    for line in [
        "-s h -p 11212 -n 10 -N 5",
        "-n 10",
        "-N 10",
        "-z d100",
        "-H",
        "-o log",
        "-b 4096",
        "-s h -m set",
        "-m get -s h",
        "--server h --port 11212",
        "--port=11212",
        "--prefix x:",
        "--client=0/2",
        "-c 0/4",
        "--expiry 10",
        "--timeout=5",
        "--timeout 5",
        "--linger=0 --timeout=5 --conn-rate=1000 --call-rate=1000 --num-calls=10",
        "--sizes=u1,16",
        "--num-co=1",
        "--use-noreply",
        "--print-histogram",
        "--send-buffer 1 --recv-buffer 2",
        "--disable-nodelay",
        "--verbosity=5",
        "--output log",
        "--own-keys",
        "--report-stdout",
        "-r e0.5",
        "-s h -t 0.5",
        "-s h -r 1000 -R e0.1 -q",
        // To the other program the server's port is a port of agents, and there are none here.
        "-s h -p 11212",
        "-p 11212",
        "-s h -p 11212 -r 1000",
        "-s h -p 11212 -R 1000 -t 5",
    ] {
        assert_eq!(of(line), Mcperf::Twemperf, "{line}");
    }
}

#[test]
fn all_others_are_those_of_memcache_perf() {
    for line in [
        "",
        "-h",
        "--version",
        "-s h",
        "--server=h -t 5",
        "-s h -q 1000 -t 5",
        "-s h -p 5556 -a other",
        "-A -p 5556",
        "-s h -p 5556 -T 4 -c 8",
        "-s h -p 11212 -q 1000 -t 5",
        "-s h -m 2 -a b",
        "-s h -r 1000 stray",
        "-s h --connections=3",
        "-s h --num 3",
        "-s h --time 5",
        "-s h --binary",
        "-s h -u 0.1 -n 5",
        "-s h -T 4 --num-conns 10",
        "-s h --nothing",
        "-s h -q 10k",
        "-- --sizes=d1",
        "-s --sizes=d1",
        "--scan 1000:2000:0 -s h",
        "-s h -K fb_key -V fb_value -i fb_ia --noload -B -T 16 -Q 1000 -D 4 -C 4 -c 4 -w 2",
    ] {
        assert_eq!(of(line), Mcperf::Perf, "{line}");
    }
    for line in ["-s h --qps_interval 1", "-s h --qps_target=5 -t 5"] {
        assert_eq!(of(line), Mcperf::Dynamic, "{line}");
    }
}

#[test]
fn words_folders_and_links_choose() {
    for (word, which) in Mcperf::WORDS {
        assert_eq!(word.parse(), Ok(which));
        assert_eq!(which.to_string(), word);
        assert_eq!(Mcperf::of_link(which.link()), Some(which));
    }
    let wrong = "perf".parse::<Mcperf>().unwrap_err();
    assert!(["perf", "dynamic", "0.3", "twemperf"].iter().all(|word| wrong.contains(word)));
    assert_eq!(Mcperf::of_folder("memcache-perf-dynamic"), Some(Mcperf::Dynamic));
    assert_eq!(Mcperf::of_folder("memcache-perf"), Some(Mcperf::Perf));
    assert_eq!(Mcperf::of_folder("bin"), None);
    assert_eq!(Mcperf::of_link("mcperf"), None);
}
