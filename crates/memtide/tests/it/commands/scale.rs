//! A command's words as they can be run here: names and ports of this machine, and figures small
//! enough for a test. What a rule does not name stays as the page has it.

use super::pages::Command;
use super::world::World;
use memtide_base::units::{parse_count, parse_rate, parse_span};

/// How long anything lasts at most: a load, its warm-up, a step of a wave.
const SPAN: &str = "0.2s";
const SPAN_NS: u64 = 200_000_000;
/// The highest rate.
const RATE_MAX: f64 = 2_000.0;
/// By what the rates of a range, a list or a wave are divided, so that their shape stays.
const RATES_BY: f64 = 50.0;
/// Steps of a scan.
const STEPS: f64 = 3.0;

/// How large a command is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    /// Small enough to be run here.
    Small,
    /// As the page has it; names and places are those of this machine all the same.
    AsTyped,
}

/// What becomes of a flag's value.
#[derive(Clone, Copy)]
enum Rule {
    /// Names of servers become servers of this test.
    Servers,
    /// A name of one server and its port in a flag of its own.
    Host,
    Span,
    /// A time in whole seconds, with the letter that the page gives it.
    Seconds,
    Rate,
    /// A rate that is divided among its steps.
    Wave,
    Rates,
    /// At most this number.
    Count(u64),
    /// Where agents and their master meet.
    Meeting,
    /// Which servers agents may load.
    Targets,
    /// An instant that all shares of the block agree on.
    Instant,
    /// A free port.
    Port,
    /// Fields of a set-up, of which a server becomes one of this test.
    Fields,
    /// A command for another machine: here it does nothing.
    Shell,
}

/// Flags of memtide's own commands.
const NATIVE: &[(&[&str], Rule)] = &[
    (&["-s", "--server"], Rule::Servers),
    (&["--duration", "--warmup"], Rule::Span),
    (&["--rate", "--connection-rate", "--call-rate", "--master-rate"], Rule::Rate),
    (&["--rate-min", "--rate-max"], Rule::Rate),
    (&["--wave"], Rule::Wave),
    (&["--rates"], Rule::Rates),
    (&["--keys", "--ops-max"], Rule::Count(1_000)),
    (&["--connections", "--clients"], Rule::Count(16)),
    (&["--connections-total"], Rule::Count(50)),
    (&["--connections-per-client"], Rule::Count(4)),
    (&["--address", "--bind", "--listen"], Rule::Meeting),
    (&["--allow-target"], Rule::Targets),
    (&["--start-at"], Rule::Instant),
    (&["--port"], Rule::Port),
    (&["--at-most"], Rule::Span),
    (&["--a", "--b"], Rule::Fields),
    (&["--a-before", "--b-before"], Rule::Shell),
];
/// Flags of mutilate and the mcperfs that came of it.
const MUTILATE: &[(&[&str], Rule)] = &[
    (&["-s", "--server"], Rule::Servers),
    (&["-t", "--time"], Rule::Seconds),
    (&["-q", "--qps", "-Q", "--measure_qps"], Rule::Rate),
    (&["-r", "--records"], Rule::Count(1_000)),
];
const TWEMPERF: &[(&[&str], Rule)] =
    &[(&["-s", "--server"], Rule::Host), (&["--num-conns"], Rule::Count(100))];
const MEMASLAP: &[(&[&str], Rule)] = &[
    (&["-s", "--servers"], Rule::Servers),
    (&["-t", "--time", "-S", "--stat_freq"], Rule::Seconds),
    (&["-x", "--execute_number"], Rule::Count(1_000)),
    (&["-c", "--concurrency"], Rule::Count(16)),
];

fn rules(verb: &str) -> &'static [(&'static [&'static str], Rule)] {
    match verb {
        "mutilate" | "mcperf" | "mcperf-dynamic" => MUTILATE,
        "twemperf" => TWEMPERF,
        "memaslap" => MEMASLAP,
        _ => NATIVE,
    }
}

fn rule(verb: &str, flag: &str, size: Size) -> Option<Rule> {
    let (_, rule) = rules(verb).iter().find(|(flags, _)| flags.contains(&flag))?;
    let is_place = matches!(rule, Rule::Servers | Rule::Host | Rule::Meeting);
    let is_place = is_place || matches!(rule, Rule::Targets | Rule::Instant | Rule::Port);
    (size == Size::Small || is_place).then_some(*rule)
}

/// The words of `command` for this machine, with what it needs besides if it is to be small.
pub(super) fn words(command: &Command, size: Size, world: &mut World) -> Vec<String> {
    let verb = command.verb();
    let mut words = Vec::new();
    let mut next = None;
    for word in &command.words {
        let (flag, value) = match word.split_once('=') {
            Some((flag, value)) if word.starts_with("--") => (flag, Some(value)),
            _ => (word.as_str(), None),
        };
        words.push(match (next.take(), value) {
            (Some(rule), _) => scaled(rule, word, world),
            (None, Some(value)) => match rule(verb, flag, size) {
                Some(rule) => format!("{flag}={}", scaled(rule, value, world)),
                None => world.placed(word),
            },
            (None, None) => {
                next = rule(verb, flag, size);
                world.placed(word)
            }
        });
    }
    if size == Size::Small {
        let more = more(command, world);
        words.extend(more.split_whitespace().map(str::to_owned));
    }
    words
}

/// The text of a scenario file for this machine.
pub(super) fn file(text: &str, world: &mut World) -> String {
    let line = |line: &str| {
        let (name, value) = line.split_once('=')?;
        let rule = rule("run", &format!("--{}", name.trim()), Size::Small)?;
        let is_list = value.contains('[');
        let bare = |it: char| "[]\" ".contains(it);
        let words = value.split(',').map(|word| word.trim_matches(bare));
        let words: Vec<String> =
            words.map(|word| format!("\"{}\"", scaled(rule, word, world))).collect();
        let value = words.join(", ");
        Some(if is_list { format!("{name}= [{value}]") } else { format!("{name}= {value}") })
    };
    let mut line = line;
    text.lines().map(|it| line(it).unwrap_or_else(|| it.to_owned()) + "\n").collect()
}

/// What a command needs where the page leaves out what is too large, or another machine's.
fn more(command: &Command, world: &mut World) -> String {
    let lacks = |flags: &[&str]| !flags.iter().any(|flag| command.has(flag));
    match command.verb() {
        "search" if lacks(&["--rate-max"]) => {
            "--rate-max 400 --rate-min 100 --resolution 50%".to_owned()
        }
        "ab" if lacks(&["--at-most"]) => format!("--at-most {SPAN}"),
        "twemperf" if lacks(&["-s", "--server"]) => {
            let address = world.server("localhost").parse::<std::net::SocketAddr>().unwrap();
            format!("--server={} --port={}", address.ip(), address.port())
        }
        "serve" if lacks(&["--port"]) => format!("--port {}", crate::peer::free_port()),
        "mutilate" | "mcperf" | "mcperf-dynamic" if lacks(&["-t", "--time"]) => "-t 1".to_owned(),
        _ => String::new(),
    }
}

/// Values of fields that a page leaves to their defaults.
pub(super) fn defaults(command: &Command) -> Vec<(&'static str, &'static str)> {
    match command.verb() {
        "run" | "search" | "scan" | "ab" | "load" | "sim" => {
            let keys = ("MEMTIDE_KEYS", "1000");
            match command.has("--precision") {
                true => vec![keys],
                false => vec![("MEMTIDE_DURATION", SPAN), keys],
            }
        }
        _ => Vec::new(),
    }
}

fn scaled(rule: Rule, word: &str, world: &mut World) -> String {
    let is_longer = |word: &str| parse_span(word).is_ok_and(|span| span.ns() > SPAN_NS);
    match rule {
        Rule::Servers => {
            let names: Vec<String> = word.split(',').map(|name| world.server(name)).collect();
            names.join(",")
        }
        Rule::Host => "127.0.0.1".to_owned(),
        Rule::Span => if is_longer(word) { SPAN } else { word }.to_owned(),
        Rule::Seconds => {
            let unit: String = word.chars().filter(|letter| letter.is_ascii_alphabetic()).collect();
            format!("1{unit}")
        }
        Rule::Rate => match parse_rate(word) {
            Ok(rate) if rate > RATE_MAX => format!("{RATE_MAX}"),
            _ => word.to_owned(),
        },
        Rule::Wave => pieces(word, &[':', ',', '@'], |piece| match parse_rate(piece) {
            Ok(rate) => format!("{}", (rate / RATES_BY).max(1.0)),
            Err(_) if is_longer(piece) => SPAN.to_owned(),
            Err(_) => piece.to_owned(),
        }),
        Rule::Rates => match word.split_once("..").and_then(|(from, behind)| {
            let (to, step) = behind.split_once('+')?;
            let [from, to, step] = [from, to, step].map(|it| Some(parse_rate(it).ok()? / RATES_BY));
            Some((from?, to?, step?))
        }) {
            Some((from, to, step)) => {
                format!("{from}..{}+{step}", to.min(from + (STEPS - 1.0) * step))
            }
            None => pieces(word, &[','], |rate| {
                parse_rate(rate).map_or(rate.to_owned(), |rate| format!("{}", rate / RATES_BY))
            }),
        },
        Rule::Count(most) => match parse_count(word) {
            Ok(count) if count > most => most.to_string(),
            _ => word.to_owned(),
        },
        Rule::Meeting => format!("127.0.0.1:{}", world.meeting),
        Rule::Targets => "127.0.0.0/8:*".to_owned(),
        Rule::Instant => world.instant(),
        Rule::Port => crate::peer::free_port().to_string(),
        Rule::Fields => match word.split_once("server=") {
            Some((before, server)) => format!("{before}server={}", world.server(server)),
            None => word.to_owned(),
        },
        Rule::Shell => "true".to_owned(),
    }
}

/// `word` with each of its pieces between separators changed.
fn pieces(word: &str, separators: &[char], change: impl Fn(&str) -> String) -> String {
    let piece = |part: &str| {
        let bare = part.trim_end_matches(separators);
        change(bare) + &part[bare.len()..]
    };
    word.split_inclusive(separators).map(piece).collect()
}
