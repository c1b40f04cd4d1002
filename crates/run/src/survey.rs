//! What the servers say of themselves, before and after, and how that compares with our counts.

mod orders;

pub(crate) use orders::Orders;

use memtide_base::Span;
use memtide_engine::fleet::Fleet;
use memtide_engine::probe::{Answer, AskError, Question};
use memtide_engine::{Plan, ServerPlan};
use memtide_metrics::{Counters, ErrorClass, ReplyClass};
use memtide_schema::record::Figure;
use memtide_workload::OpKind;
use std::collections::BTreeMap;

/// One server's statistics.
pub(crate) type Figures = BTreeMap<String, Figure>;

/// Asks a server for its statistics.
pub(crate) fn figures<F: Fleet>(
    fleet: &mut F,
    plan: &Plan,
    server: &ServerPlan,
) -> Result<Figures, AskError> {
    match fleet.ask(plan, server, Question::Statistics)? {
        Answer::Statistics(rows) => {
            Ok(rows.into_iter().map(|(name, word)| (name, Figure::from_word(&word))).collect())
        }
        Answer::Version(line) | Answer::Line(line) => Err(AskError::Refused(line)),
    }
}

/// The whole number under `name`, or 0.
pub(crate) fn whole(figures: &Figures, name: &str) -> i64 {
    match figures.get(name) {
        Some(Figure::Whole(number)) => *number,
        _ => 0,
    }
}

/// One of memcached's counters, as we expect it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    name: &'static str,
    ours: u64,
    /// How many fewer the server may have counted.
    fewer: u64,
}

/// What memcached counts, as we expect it: the counter's name and our count.
///
/// cmd_get counts keys of get and gets, cmd_set all storage commands whatever came of them,
/// cmd_touch touch and gat.
pub(crate) fn expected(counters: &Counters) -> Vec<Expected> {
    let sent = |kind: OpKind| counters.kinds[kind.index()].sent;
    // A store that the server refuses for its size or for lack of memory is not counted there.
    let refused = counters.errors[ErrorClass::ServerError as usize];
    let exactly = |name, ours| Expected { name, ours, fewer: 0 };
    let mut expected = vec![
        exactly("cmd_get", counters.keys_asked),
        Expected { name: "cmd_set", ours: counters.storage_commands, fewer: refused },
        exactly("cmd_touch", counters.touch_commands),
    ];
    // Hits and misses are known only of what was answered.
    let all_answered = counters.unanswered() == 0 && counters.late_replies == 0;
    if all_answered && sent(OpKind::Cas) == 0 && sent(OpKind::Gat) == 0 {
        expected.push(exactly("get_hits", counters.hits));
        expected.push(exactly("get_misses", counters.misses));
    }
    if all_answered && counters.unacknowledged == 0 {
        let replies = |class: ReplyClass| counters.replies[class as usize];
        expected.push(exactly("delete_hits", replies(ReplyClass::Deleted)));
        let touched = replies(ReplyClass::Touched) + gat_hits(counters);
        expected.push(exactly("touch_hits", touched));
    }
    expected
}

fn gat_hits(counters: &Counters) -> u64 {
    counters.kinds[OpKind::Gat.index()].answered - counters.gat_misses
}

/// How the servers' counters compare with ours.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Agreement {
    /// Exactly; how many counters were compared.
    Equal(usize),
    /// Not, although nobody else is seen: the counter, theirs, ours.
    Differs(&'static str, i64, u64),
    /// They cannot be compared, for this reason.
    Skipped(String),
    /// Others used the servers meanwhile: so many commands were not ours.
    OtherClients(u64),
}

/// Compares the sums over all servers.
pub(crate) fn compare(survey: &Survey, plan: &Plan, all: &Counters, opened: u64) -> Agreement {
    if let Some(why) = &survey.unavailable {
        return Agreement::Skipped(why.clone());
    }
    let replied = all.answered + all.failed + all.unacknowledged + all.late_replies;
    if all.sent > replied {
        return Agreement::Skipped(format!(
            "whether {} operations that got no reply reached the servers is not known",
            all.sent - replied
        ));
    }
    let mut servers = survey.servers(plan);
    if let Some(server) = servers.find(|server| survey.is_restarted(&server.name)) {
        let name = &server.name;
        return Agreement::Skipped(format!("server {name} was started anew, and counts from then"));
    }
    let delta = |name: &str| -> i64 {
        survey
            .servers(plan)
            .map(|server| {
                let of = |side: &BTreeMap<String, Figures>| {
                    side.get(&server.name).map_or(0, |figures| whole(figures, name))
                };
                of(&survey.after) - of(&survey.before)
            })
            .sum()
    };
    let expected = expected(all);
    let differs = expected.iter().find_map(|&Expected { name, ours, fewer }| {
        let theirs = delta(name);
        let agreed = ours as i64 - fewer as i64..=ours as i64;
        (!agreed.contains(&theirs)).then_some((name, theirs, ours))
    });
    let Some((name, theirs, ours)) = differs else {
        return Agreement::Equal(expected.len());
    };
    let others = delta("total_connections") > (opened + survey.asked_between) as i64
        || survey.others_connected;
    let surplus: i64 = expected.iter().map(|of| delta(of.name) - of.ours as i64).sum();
    if survey.is_touched {
        return Agreement::Skipped(format!(
            "{name} differs, and what the servers were told around the load may have changed it"
        ));
    }
    if others && surplus > 0 {
        return Agreement::OtherClients(surplus as u64);
    }
    Agreement::Differs(name, theirs, ours)
}

/// Everything that was asked of the servers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Survey {
    /// By server's name, before anything was sent.
    pub(crate) before: BTreeMap<String, Figures>,
    /// After everything had ended.
    pub(crate) after: BTreeMap<String, Figures>,
    /// Why there is nothing to compare.
    pub(crate) unavailable: Option<String>,
    /// A server could not be reached, which is no end where connects are what is measured.
    pub(crate) unreachable: bool,
    /// Questions that counted as connections between the two.
    pub(crate) asked_between: u64,
    /// The servers were told something that may have changed their counters.
    pub(crate) is_touched: bool,
    /// Somebody else was connected before we were.
    pub(crate) others_connected: bool,
    /// Of each server of the plan the first one that is the same; of those that are not in it,
    /// themselves.
    pub(crate) firsts: Vec<usize>,
    /// From the first question to the last answer.
    pub(crate) passed: Span,
}

/// A server counts whole seconds of its uptime, and may answer late: it was restarted when more
/// than this is missing.
const UPTIME_SLACK: Span = Span::from_s(5);

impl Survey {
    /// The servers of `plan`, each once however often it is named.
    pub(crate) fn servers<'a>(&self, plan: &'a Plan) -> impl Iterator<Item = &'a ServerPlan> {
        let each = plan.servers.iter().enumerate();
        each.filter(|&(number, _)| self.first(number) == number).map(|(_, server)| server)
    }

    /// The first server of the plan that is the same as server `number`.
    pub(crate) fn first(&self, number: usize) -> usize {
        self.firsts.get(number).copied().unwrap_or(number)
    }

    /// Takes note of server `number`, which says `figures` of itself before the load, and says
    /// whether it is the first of its name and address. Servers are the same one if they share an
    /// address and, where they tell their process, that.
    pub(crate) fn meet(&mut self, plan: &Plan, number: usize, figures: &Figures) -> bool {
        let server = &plan.servers[number];
        let is_same = |&earlier: &usize| {
            let other = &plan.servers[earlier];
            let shared = other.addresses.iter().any(|address| server.addresses.contains(address));
            let known = self.before.get(&other.name).and_then(|known| known.get("pid"));
            shared && known == figures.get("pid")
        };
        let first = (0..number).find(is_same).map_or(number, |earlier| self.first(earlier));
        self.firsts.push(first);
        first == number
    }

    /// Whether `server` was restarted between the two: it is another process, or has not been up
    /// for as long as it would have been.
    pub(crate) fn is_restarted(&self, server: &str) -> bool {
        let (Some(before), Some(after)) = (self.before.get(server), self.after.get(server)) else {
            return false;
        };
        let both = |name| before.get(name).zip(after.get(name));
        let other_process = both("pid").is_some_and(|(before, after)| before != after);
        let up = both("uptime").and_then(|(before, after)| before.as_f64().zip(after.as_f64()));
        let least_s = self.passed.saturating_sub(UPTIME_SLACK).as_s_f64();
        other_process || up.is_some_and(|(before, after)| after - before < least_s)
    }

    /// How often `server` was flushed between the two, but for `ours`.
    pub(crate) fn foreign_flushes(&self, server: &str, ours: u64) -> u64 {
        let (Some(before), Some(after)) = (self.before.get(server), self.after.get(server)) else {
            return 0;
        };
        let grown = whole(after, "cmd_flush").saturating_sub(whole(before, "cmd_flush"));
        u64::try_from(grown).unwrap_or(0).saturating_sub(ours)
    }
}
