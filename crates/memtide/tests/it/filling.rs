//! When servers are filled, how often and with what; and what happens if they refuse.

use crate::prelude::*;
use memtide_run::PlanSizes;
use memtide_scenario::{Settings, from_toml};

/// Number of sets that filling sent.
fn filled(record: &Record) -> u64 {
    record.phases.load.ops.get(&Kind::Set).copied().unwrap_or(0)
}

/// A run of a thousand gets.
fn gets(peer: &Peer, flags: &str) -> Finished {
    let name = &peer.name;
    memtide(&format!("run -s {name} --mix get=1 --ops-max 1k --json - {flags}")).exits(0)
}

#[test]
fn auto_fills_once_always_each_time_and_never_not_at_all() {
    for peer in [Peer::memcached("-t 2"), Peer::embedded("")] {
        let record = gets(&peer, "--keys 500 --load never").record();
        assert_eq!((filled(&record), record.totals.misses), (0, 1_000), "{}", peer.name);
        assert_eq!(peer.figure("curr_items"), 0);
        for (load, stored) in [("auto", 500), ("auto", 0), ("always", 500), ("never", 0)] {
            let before = peer.figure("cmd_set");
            let record = gets(&peer, &format!("--keys 500 --load {load}")).record();
            assert_eq!(filled(&record), stored, "--load {load}");
            assert_eq!(peer.figure("cmd_set") - before, stored, "--load {load}");
            assert_eq!(record.totals.hits, 1_000, "--load {load}");
            assert_counters_equal(&record);
        }
        assert_eq!(peer.figure("curr_items"), 500);
    }
}

#[test]
fn a_part_that_is_missing_is_filled_again() {
    let peer = Peer::memcached("");
    gets(&peer, "--keys 500");
    // Twice as many keys, of which half are new.
    let record = gets(&peer, "--keys 1000").record();
    assert_eq!((filled(&record), record.totals.misses), (1_000, 0));
}

#[test]
fn nothing_is_filled_for_a_mix_that_does_not_read() {
    let peer = Peer::memcached("");
    let line = format!("run -s {} --mix set=1 --keys 500 --ops-max 100 --json -", peer.name);
    let record = memtide(&line).exits(0).record();
    assert_eq!(record.phases.load.totals.intended, 0);
    assert_eq!(peer.figure("cmd_set"), 100);
}

#[test]
fn load_fills_and_reports_and_the_next_run_finds_everything() {
    for peer in [Peer::memcached("-t 2"), Peer::embedded("")] {
        let line = format!("load -s {} --keys 3000 --threads 2", peer.name);
        let load = memtide(&line).exits(0);
        assert!(load.out.contains("3000") || load.out.contains("3 000"), "{load}");
        assert_eq!(peer.figure("curr_items"), 3_000);
        assert_eq!(peer.figure("cmd_set"), 3_000, "each key is stored once, by one worker");
        let line = format!("run -s {} --keys 3000 --ops-max 1k --mix get=1 --json -", peer.name);
        let record = memtide(&line).exits(0).record();
        assert_eq!((filled(&record), record.totals.misses), (0, 0));
        assert_eq!(peer.figure("cmd_set"), 3_000);
    }
}

#[test]
fn several_servers_are_each_filled_with_all_keys() {
    let (first, second) = (Peer::memcached(""), Peer::embedded(""));
    memtide(&format!("load -s {} -s {} --keys 700", first.name, second.name)).exits(0);
    assert_eq!((first.figure("curr_items"), second.figure("curr_items")), (700, 700));
}

#[test]
fn expiry_and_flags_are_stored_with_every_value() {
    let peer = Peer::memcached("");
    let law = "--key-size uniform:20,40 --value-size uniform:10,400";
    let line = format!("load -s {} --keys 50 --flags 4294967295 --expiry 1000 {law}", peer.name);
    memtide(&line).exits(0);
    let now: u64 = peer.figure("time");
    let dump = peer.ask("lru_crawler metadump all");
    assert_eq!(dump.len(), 51, "{dump:?}");
    for item in &dump[..50] {
        let field = |name: &str| {
            item.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('=')).unwrap()
        };
        let expires: u64 = field("exp").parse().unwrap();
        assert!((now + 900..=now + 1_000).contains(&expires), "{item} at {now}");
        let key = field("key");
        assert!((20..=40).contains(&key.len()), "{item}");
        let answer = peer.ask(&format!("get {key}"));
        let head = answer[0].split(' ').collect::<Vec<_>>();
        assert_eq!(head[2], "4294967295", "{answer:?}");
        assert!((10..=400).contains(&head[3].parse::<u64>().unwrap()), "{answer:?}");
    }
}

#[test]
fn a_refused_store_ends_the_run_with_the_servers_answer() {
    let peer = Peer::memcached("-I 2k -o slab_chunk_max=1");
    for load in ["auto", "always"] {
        let flags = format!("--keys 1k --value-size fixed:5000 --load {load}");
        let words = [peer.name.as_str(), "SERVER_ERROR object too large for cache"];
        memtide(&format!("run -s {} {flags}", peer.name)).complains(3, &words);
    }
    let peer = Peer::embedded("--item-max 1KiB");
    let line = format!("load -s {} --keys 1k --value-size fixed:5000", peer.name);
    memtide(&line).complains(3, &[&peer.name, "SERVER_ERROR"]);
}

#[test]
fn a_server_that_is_too_small_is_told_the_memory_it_needs() {
    for peer in [Peer::memcached("-m 2"), Peer::embedded("--memory 2MiB")] {
        let line = format!(
            "run -s {} --keys 10k --value-size fixed:2000 --ops-max 2k --mix get=1",
            peer.name
        );
        memtide(&line).complains(1, &[&peer.name, "-m ", "--load-partial", "evicted"]);
        let run = memtide(&format!("{line} --load-partial --json -")).exits(0);
        let record = run.record();
        assert!(record.totals.misses > 0, "{run}");
        let warned = record.warnings.iter().find(|warning| warning.code == "load_partial");
        assert!(warned.is_some_and(|warning| !warning.remedy.is_empty()), "{run}");
    }
}

#[test]
fn values_of_another_length_are_found_and_filled_again() {
    // Such values were once read as they were, and reported with the requested length.
    for peer in [Peer::memcached(""), Peer::embedded("")] {
        let first = gets(&peer, "--keys 500 --value-size 200").record();
        assert_eq!((first.totals.values_read, first.totals.value_bytes_read), (1_000, 200_000));
        let record = gets(&peer, "--keys 500 --value-size 2k").record();
        assert_eq!((filled(&record), record.totals.hits), (500, 1_000), "{}", peer.name);
        assert_eq!(record.totals.value_bytes_read, 2_048_000);
        assert_counters_equal(&record);
        let again = gets(&peer, "--keys 500 --value-size 2k").record();
        assert_eq!(filled(&again), 0, "nothing was changed");
        let law = gets(&peer, "--keys 500 --value-size uniform:100,3900").record();
        assert_eq!(filled(&law), 500, "the mean of all is nearly the same");
    }
}

#[test]
fn values_of_another_length_are_refused_where_nothing_may_be_filled() {
    let peer = Peer::memcached("");
    gets(&peer, "--keys 500 --value-size 200");
    let line = format!("run -s {} --mix get=1 --ops-max 1k --keys 500", peer.name);
    let words = [&peer.name, "200 bytes", "fixed:2048", "--load auto", "--value-size"];
    memtide(&format!("{line} --value-size 2k --load never")).complains(2, &words);
    let accepted = format!("{line} --value-size 2k --load never --load-partial --json -");
    let record = memtide(&accepted).exits(0).record();
    assert_eq!(record.totals.value_bytes_read, 200 * record.totals.values_read);
    assert!(record.warnings.iter().any(|warning| warning.code == "values_resized"));
    // Lengths that the user says are refused, even if they are those of a run without the flag.
    let longer = Peer::memcached("");
    gets(&longer, "--keys 500 --value-size 2k");
    let line_of_longer = line.replace(&peer.name, &longer.name);
    let words = [&longer.name, "2048 bytes", "fixed:200", "--value-size"];
    for flags in ["--value-size 200", "--value-size fixed:200 --repeat 2 --fresh process"] {
        memtide(&format!("{line_of_longer} {flags} --load never")).complains(2, &words);
    }
    for flags in ["", "--repeat 2 --fresh process"] {
        memtide(&format!("{line_of_longer} {flags} --load never")).exits(0);
    }
    let same = format!("{line} --full --load never");
    let run = memtide(&same).exits(0);
    assert!(run.out.contains("values of 200 B"), "{run}");
}

#[test]
fn numbers_and_values_that_grow_have_no_length_to_compare() {
    let peer = Peer::memcached("");
    let line = format!("run -s {} --keys 200 --ops-max 1k --json -", peer.name);
    for mix in ["get=9,append=1", "get=9,incr=1"] {
        memtide(&format!("{line} --mix {mix}")).exits(0);
        let record = memtide(&format!("{line} --mix {mix} --load never")).exits(0).record();
        assert_eq!(filled(&record), 0);
        let record = memtide(&format!("{line} --mix {mix}")).exits(0).record();
        assert_eq!(filled(&record), 0, "{mix}");
        assert_eq!(record.plan.why.contains_key("value-size"), mix.contains("append"), "{mix}");
    }
}

#[test]
fn items_of_another_seed_may_be_evicted_for_this_one() {
    // A default memcached, and seeds that vary as the documentation advises.
    for peer in [Peer::memcached("-m 8"), Peer::embedded("--memory 8MiB")] {
        for seed in 1..=3 {
            let flags = format!("--keys 1500 --value-size fixed:2000 --seed {seed}");
            let record = gets(&peer, &flags).record();
            assert_eq!(record.totals.misses, 0, "seed {seed}");
            let evictions = record.warnings.iter().find(|warning| warning.code == "evictions");
            if let Some(warning) = evictions {
                assert!(warning.message.contains("these were other items"), "{}", warning.message);
                assert!(!warning.remedy.contains("--keys"), "{}", warning.remedy);
            }
        }
        assert!(peer.figure("evictions") > 0, "the first seed's items had to go");
    }
}

#[test]
fn a_fill_that_does_not_fit_is_stopped_early_and_told_what_it_takes() {
    let peer = Peer::memcached("-m 64");
    gets(&peer, "--keys 10k --value-size fixed:1000 --seed 7");
    let line = format!("run -s {} --keys 300k --value-size fixed:1000 --mix get=1", peer.name);
    let run = memtide(&format!("{line} --ops-max 1k"));
    run.complains(1, &[&peer.name, "-m ", "--load-partial", "evicted", "was stopped"]);
    assert!(peer.figure("cmd_set") < 250_000, "it went on: {} sets", peer.figure("cmd_set"));
    let advised = run.err.split("-m ").nth(1).and_then(|rest| rest.split([' ', ',']).next());
    let advised: u64 = advised.unwrap().parse().unwrap();
    assert!((312..600).contains(&advised), "300 000 items of a little more than 1 kB: {run}");
}

#[test]
fn a_data_set_that_does_not_fit_in_memory_is_refused_before_anything_is_filled() {
    // Such a run once took all memory, and the machine with it.
    let said = ["of memory", "--keys", "--value-size"];
    memtide("run --value-size 1023KiB --keys 100M --duration 1s").complains(2, &said);
    memtide("sim --value-size 1023KiB --keys 100M --duration 1s").complains(2, &said);
    memtide("scan --value-size 1023KiB --keys 100M --rates 1k,2k").complains(2, &said);
    let line = "run --value-size 1023KiB --keys 5k --duration 1s";
    let run = start_after("ulimit -v 2000000", line).finish();
    run.complains(2, &["ulimit -v", "--keys"]);
    assert!(run.err.contains("5248 MB"), "{run}");
}

/// A memcached without options takes every length that memtide sends by default, and one that it
/// would refuse ends the run before the load.
#[test]
fn lengths_that_a_server_refuses_are_not_sent() {
    let peer = Peer::memcached("");
    let line = format!("run -s {} --mix set=1 --keys 20 --ops-max 50 --json -", peer.name);
    let cut = memtide(&format!("{line} --value-size exponential:1G")).exits(0).record();
    assert_eq!((cut.totals.answered, cut.totals.failed), (50, 0));
    let line = format!("{line} --value-max 4MiB");
    for protocol in ["text", "binary", "meta"] {
        let long = memtide(&format!("{line} --value-size 2MiB --protocol {protocol}"));
        long.complains(3, &["2097152 bytes", "1048487 bytes", "--value-size", "-I 3m"]);
        assert!(long.out.is_empty(), "{long}");
    }
    let fits = memtide(&format!("{line} --value-size 1048487")).exits(0).record();
    assert_eq!((fits.totals.answered, fits.totals.failed), (50, 0));
    assert_counters_equal(&fits);
    let larger = Peer::memcached("-I 3m");
    let line = line.replace(&peer.name, &larger.name);
    let fits = memtide(&format!("{line} --value-size 2MiB")).exits(0).record();
    assert_eq!((fits.totals.answered, fits.totals.failed), (50, 0));
}

/// The memory that a run takes beyond that of a small one is the estimate's, within the bounds of
/// both: refusals by the estimate are neither late nor for nothing.
#[test]
fn a_run_takes_about_the_memory_that_was_computed_for_it() {
    let peer = Peer::embedded("--memory 1GiB --item-max 64MiB");
    let peak = |words: &[(&str, &str)]| {
        let flags: Vec<String> =
            words.iter().map(|(key, word)| format!("--{key} {word}")).collect();
        let line = format!("run -s {} --load never --ops-max 20 --json -", peer.name);
        let record = memtide(&format!("{line} {}", flags.join(" "))).exits(0).record();
        record.client.rss_max_bytes.expect("it is known")
    };
    let base = peak(&[("rate", "100")]);
    let cases: [&[(&str, &str)]; 6] = [
        &[("mix", "set=1"), ("value-size", "30M"), ("value-max", "64M"), ("depth", "64")],
        &[("mix", "set=1"), ("value-size", "exponential:1k"), ("value-max", "40M")],
        &[("verify", "1"), ("verify-keys", "5M"), ("keys", "10M")],
        &[("interval", "10ms"), ("timeout", "5s"), ("threads", "3"), ("rate", "100")],
        &[("connections", "200"), ("depth", "1000"), ("rate", "100")],
        &[("clients", "100"), ("window", "50k"), ("rate", "100")],
    ];
    for words in cases {
        let toml: String = words.iter().map(|(key, word)| format!("{key} = '{word}'\n")).collect();
        let mut settings = Settings::default();
        let layer = from_toml(&toml, "a test").expect("it is a scenario");
        settings.apply(&layer).expect("its words are allowed");
        let sizes = PlanSizes::of(&settings.scenario, 1).expect("it has a plan");
        let needed = sizes.plan.bytes();
        let took = peak(words).saturating_sub(base);
        assert!(took as f64 <= 1.1 * needed as f64 + 8e6, "{words:?}: {took}, not {needed}");
        assert!(needed <= 2 * took + 32_000_000, "{words:?}: {took}, not {needed}");
    }
}

/// What a run has of its own, in the kernel's books, beyond a program that waits for its scenario,
/// is no more than was computed. Pages of the program's files are not its own.
#[test]
fn a_runs_own_memory_is_no_more_than_was_computed_for_it() {
    let peer = Peer::embedded("");
    let _turn = shared();
    let waiting = Running::of(program().args(["run", "-"]).stdin(Stdio::piped()));
    let Some(idle) = settled_bytes(waiting.id()) else {
        drop(writeln!(std::io::stderr(), "skipped: /proc does not say what a process has"));
        return;
    };
    for words in ["--connections 16", "--connections 256", "--connections 16 --depth 16"] {
        let words = format!("{words} --threads 1 --rate 0 --keys 1000 --duration 2s");
        let toml = words.replace("--", "\n").replace("2s", "'2s'");
        let toml: String =
            toml.lines().map(|line| line.trim().replacen(' ', " = ", 1) + "\n").collect();
        let mut settings = Settings::default();
        settings.apply(&from_toml(&toml, "a test").unwrap()).unwrap();
        let needed = PlanSizes::of(&settings.scenario, 1).unwrap().plan.bytes();
        let line = format!("run -s {} --quiet --json - {words}", peer.name);
        let running = Running::start(&line);
        let mut most = 0;
        while let Some(bytes) = own_bytes(running.id()) {
            most = most.max(bytes);
            thread::sleep(Duration::from_millis(1));
        }
        running.finish().exits(0);
        let took = most.saturating_sub(idle);
        assert!(took <= needed + 1_000_000, "{words}: {took} bytes beyond {idle}, not {needed}");
        assert!(took > 1_000_000, "{words}: {took} bytes were seen: its run was not");
    }
}

/// The memory of a process that waits for something: it sleeps, and has as much for half a second.
fn settled_bytes(process: u32) -> Option<u64> {
    let (mut before, mut looks) = (own_bytes(process)?, 0);
    until("its memory does not settle", || {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
        let is_asleep = stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('S'));
        let now = own_bytes(process).unwrap_or_default();
        looks = if is_asleep && now == before { looks + 1 } else { 0 };
        before = now;
        looks >= 100
    });
    Some(before)
}

/// The memory of a process that belongs to no file, in bytes; none once it has ended.
fn own_bytes(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kib| kib * 1024)
}
