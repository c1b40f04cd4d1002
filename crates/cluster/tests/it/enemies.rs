//! Agents that answer pings and then hold their master up, lie or flood it, and masters that stand
//! still: each stage ends by its deadline, in bounded memory, and the others lose nothing.

use crate::conductor::{Conductor, VERSION, round, rules};
use crate::fleets::check;
use crate::network::{Fault, Tamper, When, World};
use crate::node::S;
use memtide_base::{Instant, Span};
use memtide_cluster::agent::{self, Agent};
use memtide_cluster::master::{Action, Gathered, LostMember, Master};
use memtide_cluster::message::from_agent::What as FromWhat;
use memtide_cluster::message::to_agent::What as ToWhat;
use memtide_cluster::message::{
    Alone, Failed, FromAgent, Hello, KeptRecord, Note, Pong, Prepared, Preparing, RecordPart,
    Refused, Second, ToAgent,
};
use memtide_cluster::{MASTER_AWAY_MAX, PROTOCOL};

/// Three agents, of which one may be lost.
fn world() -> World {
    World::new(11, 3, Conductor::new(3, 1, (1, false), 11))
}

fn from(what: FromWhat) -> FromAgent {
    FromAgent { what: Some(what) }
}

/// Runs a world whose first agent says other things.
fn tampered(
    mut world: World,
    tamper: impl FnMut(&FromWhat) -> Option<Vec<FromAgent>> + 'static,
) -> World {
    let mut tamper = tamper;
    let tamper: Tamper<FromAgent> =
        Box::new(move |message| message.what.as_ref().and_then(&mut tamper));
    world.tamper_to_master = Some(tamper);
    world.run();
    check(&world);
    world
}

/// The reason why the first agent was lost, and the length of the round in seconds; the others are
/// whole.
fn lost(world: &World) -> (String, u64) {
    let [found] = &world.conductor.rounds[..] else { panic!("one round") };
    let end = found.end.as_ref().expect("it ended");
    let [LostMember { label, lost, .. }] = &end.lost[..] else { panic!("{:?}", end.lost) };
    assert!(label.starts_with("node0"), "{label}");
    assert_eq!(found.records.len(), 2, "{:?}", world.conductor.notes);
    (lost.why.clone(), (found.time[1] - found.time[0]) / S)
}

fn is_told(world: &World, words: &[&str]) {
    let notes = &world.conductor.notes;
    assert!(notes.iter().any(|note| words.iter().all(|word| note.contains(word))), "{notes:?}");
}

#[test]
fn an_agent_that_never_prepares_is_lost_after_the_time_for_progress() {
    let mut world = world();
    world.nodes[0].prepares = 10_000 * S;
    world.run();
    check(&world);
    let (why, seconds) = lost(&world);
    assert!(why.contains("no progress for 60 s (--prepare-timeout)"), "{why}");
    assert!((60..80).contains(&seconds), "{seconds}");
    is_told(&world, &["waiting for agent node0", "it has just begun"]);
}

#[test]
fn a_long_fill_that_makes_progress_is_awaited() {
    let mut world = world();
    (world.nodes[0].prepares, world.nodes[0].fills) = (150 * S, true);
    world.run();
    check(&world);
    let found = &world.conductor.rounds[0];
    assert_eq!(found.records.len(), 3, "{:?}", world.conductor.notes);
    is_told(&world, &["waiting for agent node0", "filling server a with 99 keys (", "done)"]);
}

#[test]
fn an_agent_that_reports_no_preparation_is_lost_after_ten_seconds() {
    let mut silent = world();
    silent.nodes[0].prepares = 10_000 * S;
    let silent = tampered(silent, |what| matches!(what, FromWhat::Preparing(_)).then(Vec::new));
    let (why, seconds) = lost(&silent);
    assert!(why.contains("not reported its preparation for 10 s"), "{why}");
    assert!((10..25).contains(&seconds), "{seconds}");
}

/// A byte every second of a record that is said to be long.
#[test]
fn a_record_that_drips_is_given_up() {
    let mut drips = world();
    drips.nodes[0].padding = 60;
    let dripping = tampered(drips, |what| {
        let FromWhat::Record(part) = what else { return None };
        let part = RecordPart { bytes_total: 512 << 20, data: vec![1], ..part.clone() };
        Some(vec![from(FromWhat::Record(part))])
    });
    let (why, _) = lost(&dripping);
    assert!(why.contains("did not hand over its record in time: 1 bytes in 30 s"), "{why}");
}

/// Drives a master alone, with one agent that sends what it likes.
struct Solo {
    master: Master,
    now: Instant,
    said: Vec<Action>,
}

const PEER: u64 = 7;

fn kept(run: &[u8]) -> Vec<KeptRecord> {
    vec![KeptRecord { run: run.to_vec(), bytes: 5, share: 0 }]
}

impl Solo {
    /// A master with one agent at peer 7 and its round of one share, or a fill.
    fn new(load_only: bool) -> Self {
        let now = Instant::from_ns(1_000);
        let mut master = Master::new(rules(2, 1, 5), now);
        for (peer, name) in [(PEER, "liar"), (PEER + 1, "other")] {
            master.opened(peer, "10.0.0.1:1", &hello(name), now);
        }
        assert_eq!(master.gathered(now), Gathered::All);
        let members = master.agents().iter().map(|agent| (agent.number, 1)).collect();
        master.begin(&round(members, load_only, Span::from_s(10)), now);
        let mut solo = Self { master, now, said: Vec::new() };
        solo.take();
        solo
    }

    fn take(&mut self) {
        while let Some(action) = self.master.poll() {
            self.said.push(action);
        }
    }

    fn hear(&mut self, what: FromWhat) {
        self.master.handle(PEER, from(what), self.now);
        self.take();
    }

    /// Time passes; the other agent is well.
    fn pass(&mut self, seconds: u64) {
        for _ in 0..seconds * 10 {
            self.now += Span::from_ms(100);
            let report = Preparing { done: self.now.ns(), what: "filling".to_owned() };
            self.master.handle(PEER + 1, from(FromWhat::Preparing(report)), self.now);
            self.master.tick(self.now);
            self.take();
        }
    }

    /// The reason of the liar's loss, if it is lost.
    fn lost(&mut self) -> Option<String> {
        let mut notes = self.said.iter().filter_map(|action| match action {
            Action::Note(text) => Some(text.clone()),
            _ => None,
        });
        notes.rfind(|text| text.starts_with("agent liar (10.0.0.1:1) is lost"))
    }

    fn run(&self) -> Vec<u8> {
        let share = |action: &Action| match action {
            Action::Send(PEER, ToAgent { what: Some(ToWhat::Share(share)) }) => {
                Some(share.run.clone())
            }
            _ => None,
        };
        self.said.iter().find_map(share).expect("a share")
    }
}

fn hello(name: &str) -> Hello {
    let (name, version) = (name.to_owned(), VERSION.to_owned());
    Hello { protocol: PROTOCOL, name, version, ..Hello::default() }
}

fn part(run: &[u8], total: u64, data: &[u8], digest: &[u8]) -> FromWhat {
    let (run, data, digest) = (run.to_vec(), data.to_vec(), digest.to_vec());
    FromWhat::Record(RecordPart { run, data, bytes_total: total, digest })
}

/// The sentences about waiting while both agents answer, with their instants in tenths of a second
/// from now on.
fn waits(solo: &mut Solo, seconds: u64, mut each: impl FnMut(&mut Solo)) -> Vec<(u64, String)> {
    let mut all = Vec::new();
    for tenth in 1..=seconds * 10 {
        for peer in [PEER, PEER + 1] {
            let pong = Pong { number: 0, clock_ns: solo.now.ns() };
            solo.master.handle(peer, from(FromWhat::Pong(pong)), solo.now);
        }
        each(solo);
        let before = solo.said.len();
        solo.now += Span::from_ms(100);
        solo.master.tick(solo.now);
        solo.take();
        all.extend(solo.said[before..].iter().filter_map(|action| match action {
            Action::Waiting(text) => Some((tenth, text.clone())),
            _ => None,
        }));
    }
    all
}

/// After two seconds, and then every ten, the user learns whom the run waits for, what that agent
/// does, and for how long it has been doing that.
#[test]
fn after_two_seconds_the_user_learns_whom_the_run_waits_for() {
    let waiting = |done, what: &str| {
        FromWhat::Preparing(Preparing { done, what: format!("{what} server s:1") })
    };
    let mut solo = Solo::new(false);
    solo.master.handle(PEER + 1, from(FromWhat::Prepared(Prepared {})), solo.now);
    let said = waits(&mut solo, 13, |solo| solo.hear(waiting(0, "waiting for")));
    let of = |what: &str| format!("waiting for agent liar (10.0.0.1:1): {what}");
    let expected = [
        (20, of("waiting for server s:1, for 2 s")),
        (120, of("waiting for server s:1, for 12 s")),
    ];
    assert_eq!(said, expected);
    // One that makes progress is waited for just now.
    let mut done = 0;
    let said = waits(&mut solo, 10, |solo| {
        done += 1;
        solo.hear(waiting(done, "filling"));
    });
    assert_eq!(said, [(90, of("filling server s:1 (90 done)"))]);
    // The end of a load is awaited, too.
    let mut solo = Solo::new(false);
    for peer in [PEER, PEER + 1] {
        solo.master.handle(peer, from(FromWhat::Prepared(Prepared {})), solo.now);
    }
    solo.master.stop(None, "a test", solo.now);
    let said = waits(&mut solo, 9, |_| {});
    let both = "waiting for agent liar (10.0.0.1:1); agent other (10.0.0.1:1)";
    assert_eq!(said, [(20, both.to_owned())]);
}

/// Whatever a liar says while it prepares: it is lost for a reason that names the lie, at once.
#[test]
fn lies_are_named_at_once() {
    let of = Solo::new(false).run();
    let second = || FromWhat::Second(Second { interval: vec![0; 8] });
    let lies: Vec<(&str, Vec<FromWhat>, &str)> = vec![
        ("a load before the beginning", vec![second()], "was not running"),
        ("ready twice", vec![FromWhat::Prepared(Prepared {}); 2], "ready without a share"),
        ("a hello again", vec![FromWhat::Hello(hello("liar"))], "unknown message"),
        ("a record of another run", vec![part(&[9; 16], 3, b"abc", b"")], "of another run"),
        ("a record of no run", vec![part(&[], 3, b"abc", b"")], "of another run"),
        ("a digest that differs", vec![part(&of, 3, b"abc", &[0; 32])], "digest differs"),
        ("no digest", vec![part(&of, 3, b"abc", b"")], "digest differs"),
        ("more than it said", vec![part(&of, 2, b"abc", b"")], "longer than it said"),
        ("an empty record", vec![part(&of, 0, b"", b"")], "digest differs"),
        ("more bytes than allowed", vec![part(&of, u64::MAX, b"a", b"")], "are allowed"),
        (
            "a shorter record later",
            vec![part(&of, 9, b"abc", b""), part(&of, 1, b"", b"")],
            "longer",
        ),
        (
            "a failure without a reason",
            vec![FromWhat::Failed(Failed { exit: 9, why: String::new() })],
            "lost",
        ),
        ("a refusal", vec![FromWhat::Refused(Refused { why: "\x1b[2Jno".to_owned() })], "no"),
    ];
    for (lie, messages, reason) in lies {
        let mut solo = Solo::new(false);
        messages.into_iter().for_each(|what| solo.hear(what));
        let why = solo.lost().unwrap_or_else(|| panic!("{lie}: {:?}", solo.said));
        assert!(why.contains(reason) && !why.contains('\x1b'), "{lie}: {why}");
        // Nothing that it says later is heard.
        let before = solo.said.len();
        solo.hear(second());
        assert_eq!(solo.said.len(), before, "{lie}");
    }
}

/// Floods of messages that are allowed cost no memory and no lines, and end by a deadline.
#[test]
fn floods_end_by_their_deadline_in_bounded_memory() {
    let long = "x".repeat(1 << 16);
    let empty = part(&Solo::new(false).run(), 9, b"", b"");
    let floods: Vec<(&str, FromWhat)> = vec![
        ("notes", FromWhat::Note(Note { text: long.clone(), is_trouble: false })),
        ("troubles", FromWhat::Note(Note { text: long.clone(), is_trouble: true })),
        ("pongs", FromWhat::Pong(Pong { number: 3, clock_ns: u64::MAX })),
        ("empty parts", empty),
        ("the same progress", FromWhat::Preparing(Preparing { done: 1, what: long })),
    ];
    for (flood, what) in floods {
        let mut solo = Solo::new(false);
        for _ in 0..100 {
            for _ in 0..1_000 {
                solo.hear(what.clone());
            }
            solo.pass(1);
        }
        assert!(solo.lost().is_some(), "{flood}: {:?}", solo.said.len());
        let bytes: usize = solo
            .said
            .iter()
            .map(|action| match action {
                Action::Note(text) | Action::Trouble(text) | Action::Waiting(text) => text.len(),
                _ => 0,
            })
            .sum();
        assert!(solo.said.len() < 1_000 && bytes < 100_000, "{flood}: {bytes} bytes");
    }
}

/// After Ctrl-C an agent that does not hand over is given up within 2 s, at each stage.
#[test]
fn an_interrupted_run_ends_within_two_seconds() {
    let begun = |what: &[FromWhat]| {
        let mut solo = Solo::new(false);
        what.iter().for_each(|what| solo.hear(what.clone()));
        solo
    };
    let of = Solo::new(false).run();
    for stage in [vec![], vec![FromWhat::Prepared(Prepared {})], vec![part(&of, 99, b"a", b"")]] {
        let mut solo = begun(&stage);
        solo.master.interrupt(solo.now);
        for _ in 0..21 {
            assert_eq!(solo.master.round_end(), None, "{stage:?}");
            solo.now += Span::from_ms(100);
            solo.master.tick(solo.now);
            if solo.master.round_end().is_some() {
                break;
            }
        }
        let end = solo.master.round_end().expect("it ended");
        assert!(end.lost.iter().all(|agent| agent.lost.why.contains("agent records")), "{end:?}");
    }
    // The run may be ending already, for another reason.
    let mut solo = begun(&[]);
    solo.master.stop(None, "agents were lost", solo.now);
    solo.master.interrupt(solo.now);
    solo.now += Span::from_s(2);
    solo.master.tick(solo.now);
    assert!(solo.master.round_end().is_some());
}

/// A master that stood still hears its agents first, and says that it stood still.
#[test]
fn a_master_that_stood_still_gets_the_records_and_says_so() {
    let mut world = world();
    (0..3).for_each(|of| world.nodes[of].length = 9 * S);
    world.faults.push((When::At(11 * S), 0, Fault::MasterStop(12 * S)));
    world.run();
    check(&world);
    let found = &world.conductor.rounds[0];
    assert_eq!(found.records.len(), 3, "{:?}", world.conductor.notes);
    is_told(&world, &["this machine stood still for 12", "memtide agent records"]);
    is_told(&world, &["ended its load, because it heard nothing from this master for 5 s"]);
    // What was merged is acknowledged, late as it came.
    assert!(world.nodes.iter().all(|node| node.kept.is_empty() && !node.forgotten.is_empty()));
}

/// Its record was merged, and its connection then lost: it learns that the record is written.
#[test]
fn a_merged_record_is_acknowledged_after_a_new_connection() {
    let mut solo = Solo::new(true);
    let of = solo.run();
    let digest = ring::digest::digest(&ring::digest::SHA256, b"abc");
    solo.hear(part(&of, 3, b"abc", digest.as_ref()));
    assert!(matches!(solo.said.last(), Some(Action::Record(0, _))), "{:?}", solo.said);
    solo.master.fit(0);
    solo.master.closed(PEER, "it was reset", solo.now);
    let again = PEER + 9;
    // A stranger's records are no reason to stay.
    let strange = Hello { kept: kept(&[3; 16]), ..hello("liar") };
    solo.master.opened(PEER + 8, "10.0.0.1:2", &strange, solo.now);
    solo.take();
    assert!(solo.said.contains(&Action::Close(PEER + 8)));
    let hello = Hello { kept: kept(&of), ..hello("liar") };
    solo.master.opened(again, "10.0.0.1:3", &hello, solo.now);
    solo.take();
    assert!(!solo.said.contains(&Action::Close(again)), "{:?}", solo.said);
    solo.master.acknowledge();
    solo.take();
    let is_told = |action: &Action| match action {
        Action::Send(peer, ToAgent { what: Some(ToWhat::Acknowledged(to)) }) => {
            *peer == again && to.run == of && to.share == 0
        }
        _ => false,
    };
    assert!(solo.said.iter().any(is_told), "{:?}", solo.said);
}

/// Hundreds of agents may wait on one machine, so few messages wake them.
#[test]
fn an_agent_that_waits_is_woken_every_five_seconds_and_leaves_a_silent_master() {
    let mut rules = rules(2, 1, 5);
    rules.expect = Span::from_s(600);
    let mut now = Instant::from_ns(1_000);
    let (mut master, mut agent, mut pings) = (Master::new(rules, now), Agent::default(), 0);
    master.opened(PEER, "10.0.0.1:1", &hello("first"), now);
    agent.opened();
    for _ in 0..600 {
        now += Span::from_ms(100);
        master.tick(now);
        while let Some(action) = master.poll() {
            if let Action::Send(_, ToAgent { what: Some(ToWhat::Ping(ping)) }) = action {
                pings += 1;
                let pong = Pong { number: ping.number, clock_ns: now.ns() };
                master.handle(PEER, from(FromWhat::Pong(pong)), now);
            }
        }
    }
    assert!((10..=13).contains(&pings), "{pings} pings in a minute");
    assert_eq!(master.agents().len(), 1);
    agent.tick(now + Span::from_ms(14_900), now);
    assert_eq!((agent.poll(), agent.has_master()), (None, true));
    agent.tick(now + MASTER_AWAY_MAX, now);
    assert!(matches!(agent.poll(), Some(agent::Action::Close(_))) && !agent.has_master());
}

/// A message that only an agent at work may send.
#[test]
fn loneliness_without_a_share_is_no_more_than_a_line() {
    let mut solo = Solo::new(false);
    for _ in 0..100_000 {
        solo.hear(FromWhat::Alone(Alone {}));
    }
    assert!(solo.said.len() < 100, "{}", solo.said.len());
}
