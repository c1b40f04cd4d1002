//! `memtide ab`: two set-ups compared by pairs of runs, in random order and with the same arrivals.

mod arm_fields;

use super::merge::{add_of_record, open_texts};
use crate::flags;
use arm_fields::ArmFields;
use clap::ArgMatches;
use memtide_base::{Random, Span};
use memtide_host::clock::monotonic_ns;
use memtide_host::machine::look;
use memtide_host::signal::{StopFlag, shell};
use memtide_host::with_cpus;
use memtide_record::compare::{Named, Trial, TrialEnd};
use memtide_record::{Record, Rule};
#[cfg(feature = "html")]
use memtide_report::trial_page;
use memtide_report::{pair_line, trial_heading, trial_markdown, trial_text, why_failed};
use memtide_run::steps::RunTask;
use memtide_scenario::{OutputKind, Outputs, Settings};
#[cfg(feature = "cluster")]
use memtide_session::cluster::MasterWorld;
use memtide_session::console::{columns, complain, show_part};
use memtide_session::exit::{FAILED, INTERRUPTED, Stop, UNREACHABLE, USAGE, caught};
use memtide_session::outlets::close;
use memtide_session::placement::{check_undivided, variable};
use memtide_session::world::HostWorld;
use memtide_session::{
    Came, Ended, Front, FrontProfile, InStep, Opened, Session, Task, WatchedRuns, check_whole,
};
use memtide_session::{FloorMode, Floors};
use memtide_sinks::{Outlets, OutputStop, check_places};
use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;

/// Useful differences: smaller ones take days, and larger ones need no trial.
const DIFFERENCES: std::ops::RangeInclusive<f64> = 0.001..=1.0;

/// Exit codes of a run that could not begin: its settings are wrong, or a server cannot be reached.
pub(super) const CANNOT_BEGIN: [u8; 2] = [USAGE, UNREACHABLE];

/// The arms' letters.
const ARMS: [char; 2] = ['A', 'B'];

/// The smallest difference that is looked for.
pub(super) fn difference(matches: &ArgMatches) -> Result<f64, Stop> {
    let difference = *matches.get_one::<f64>("difference").expect("it has a default");
    match DIFFERENCES.contains(&difference) {
        true => Ok(difference),
        false => Err(Stop::usage(format!(
            "difference {difference} is out of range: use a fraction from 0.1% to 100%"
        ))),
    }
}

/// The rules of `--fail-on`, and whether one that is undecided fails, too.
pub(super) struct Rules {
    pub(super) all: Vec<Rule>,
    pub(super) strict: bool,
}

impl Rules {
    pub(super) fn of(matches: &ArgMatches) -> Self {
        let all = matches.get_many::<Rule>("fail-on").into_iter().flatten().copied().collect();
        Self { all, strict: matches.get_flag("fail-undecided") }
    }
}

/// Compares two set-ups.
pub(crate) fn ab(matches: &ArgMatches) -> Result<u8, Stop> {
    let difference = difference(matches)?;
    let settings = flags::settings(matches)?;
    check(&settings)?;
    let arms = [arm(matches, &settings, 'A')?, arm(matches, &settings, 'B')?];
    try_places(&settings.outputs)?;
    let names: Vec<Named> =
        matches.get_many::<Named>("figures").into_iter().flatten().copied().collect();
    let rules = Rules::of(matches);
    let trial = Trial::new(arms.each_ref().map(Arm::words), difference, &names, &rules.all);
    let at_most = *matches.get_one::<Span>("at-most").expect("it has a default");
    let stop = caught(StopFlag::on_signals(i32::from(INTERRUPTED)))?;
    let shown = Shown::new(&settings.outputs);
    let random = Random::new(settings.scenario.seed);
    let scenario = &arms[0].settings.scenario;
    let seed = scenario.gap_seed.unwrap_or(scenario.seed);
    let watched = WatchedRuns::open(&settings, &stop)?.map(Arc::new);
    let (first, arm, has_run) = (0, 0, false);
    let mut running =
        Running { arms, trial, shown, stop, random, first, arm, has_run, seed, watched };
    let code = running.pairs(at_most);
    running.trial.judge(&rules.all);
    running.end();
    let Running { trial, shown, has_run, .. } = &mut running;
    let code = if code == 0 && !trial.has_passed(rules.strict) { FAILED } else { code };
    // Why there is no pair was said already. A trial that cannot begin leaves older files alone.
    if !*has_run && CANNOT_BEGIN.contains(&code) {
        return Ok(code);
    }
    let shown = (!trial.pairs.is_empty()).then_some(shown);
    Ok(publish(&settings.outputs, shown, code, |kind| match kind {
        None => trial_text(trial, columns()),
        Some(OutputKind::Json) => trial.to_json(),
        #[cfg(feature = "html")]
        Some(OutputKind::Html) => trial_page(trial),
        Some(_) => trial_markdown(trial),
    }))
}

/// Refuses what belongs to a single run.
fn check(settings: &Settings) -> Result<(), Stop> {
    let Settings { scenario, outputs, placement, .. } = settings;
    check_undivided("ab", placement.shard, &variable)?;
    let kinds = [OutputKind::Json, OutputKind::Md, OutputKind::Html];
    let unfit = [
        (!scenario.goals.is_empty(), "goal judges a single run; name figures with --figures"),
        (!scenario.precision.is_empty(), "precision ends a single run; leave it out"),
        (scenario.trust.strict.is_some(), "strict judges a single run; leave it out"),
        (outputs.plan, "plan shows a single run; use memtide run --plan"),
        (outputs.full, "full prints the whole report of a single run; use memtide run --full"),
        (outputs.explain.is_some(), "explain is about a single run; use memtide run --explain"),
        (
            outputs.verify_details.is_some(),
            "verify-details would mix the values of all runs; use memtide run --verify-details",
        ),
        (
            outputs.files().iter().any(|output| !kinds.contains(&output.kind)),
            "a trial is written as --json FILE, or as --out json=FILE, md=FILE or html=FILE; for \
             other outputs use memtide run",
        ),
    ];
    match unfit.iter().find(|(is_unfit, _)| *is_unfit) {
        Some((_, message)) => Err(Stop::usage(*message)),
        None => Ok(check_places(outputs, &[])?),
    }
}

/// One of the two set-ups.
struct Arm {
    letter: char,
    settings: Settings,
    /// The fields that it has of its own.
    fields: ArmFields,
    /// What a shell carries out before each of its runs.
    before: Option<String>,
    /// The floors of its runs, if they are wanted.
    floors: Option<Floors>,
}

/// The set-up with this letter.
fn arm(matches: &ArgMatches, common: &Settings, letter: char) -> Result<Arm, Stop> {
    let flag = letter.to_ascii_lowercase().to_string();
    let words = matches.get_many::<String>(&flag).into_iter().flatten();
    let fields = ArmFields::of(&flag, words)?;
    let mut settings = common.clone();
    settings.apply(&fields.layer())?;
    check(&settings)?;
    if settings.outputs != common.outputs {
        return Err(Stop::usage(format!("--{flag} sets an output, but both set-ups have one")));
    }
    settings.outputs = common.outputs.of_one_of_several();
    check_whole(&settings, u64::from(settings.scenario.servers.is_empty()))?;
    let before = matches.get_one::<String>(&format!("{flag}-before")).cloned();
    let floors = flags::floors(matches, FloorMode::Kept, &settings)?;
    Ok(Arm { letter, settings, fields, before, floors })
}

impl Arm {
    /// What sets it apart, in the user's words.
    fn words(&self) -> String {
        let before = self.before.iter().map(|command| format!("before each run: {command}"));
        let fields = Some(self.fields.shown()).filter(|fields| !fields.is_empty());
        let words: Vec<String> = fields.into_iter().chain(before).collect();
        if words.is_empty() { "nothing of its own".to_owned() } else { words.join("; ") }
    }

    /// True if other gaps leave the servers' items as they are. If not, all pairs have the same.
    fn keeps_items(&self) -> bool {
        let scenario = &self.settings.scenario;
        scenario.verify == 0.0 && !scenario.verify_expiry && scenario.gap_seed.is_none()
    }

    /// Carries out the command before a run, unless `stop` is raised.
    fn prepare(&self, stop: &StopFlag) -> Result<(), Stop> {
        let flag = format!("{}-before", self.letter.to_ascii_lowercase());
        self.before.as_ref().map_or(Ok(()), |command| carry_out(&flag, command, stop))
    }

    /// Runs once with gaps of this seed, if it is not the scenario's.
    fn run(&self, gaps: Option<u64>, watched: Option<Arc<WatchedRuns>>) -> Result<Record, u8> {
        let mut settings = self.settings.clone();
        settings.scenario.gap_seed = gaps.or(settings.scenario.gap_seed);
        run_once(settings, watched, self.floors.clone())
    }
}

/// Lets a shell carry out the command of `flag`, until `stop` is raised.
pub(super) fn carry_out(flag: &str, command: &str, stop: &StopFlag) -> Result<(), Stop> {
    let why = match shell::carry_out(command, stop) {
        Ok(Some(status)) if status.success() => return Ok(()),
        Ok(Some(status)) => format!("it ended with {status}"),
        Ok(None) => "it was interrupted".to_owned(),
        Err(error) => error.to_string(),
    };
    let code = if stop.is_raised() { INTERRUPTED } else { FAILED };
    Err(Stop { code, message: format!("--{flag} '{command}': {why}") })
}

/// Opens each output as a single run does before its load, and writes nothing: a place that cannot
/// be used ends the command before its first run.
pub(super) fn try_places(outputs: &Outputs) -> Result<(), Stop> {
    let mut outlets = Outlets::default();
    let failed = add_of_record(&mut outlets, outputs);
    // One that exists but takes no result is reported at the end, as with a single run.
    drop(close(outlets));
    failed.into_iter().next().map_or(Ok(()), Err)
}

/// One of several runs, over connections of its own, and shown by what shows them all. The error is
/// an exit code; the reason was then said.
pub(super) fn run_once(
    mut settings: Settings,
    watched: Option<Arc<WatchedRuns>>,
    floors: Option<Floors>,
) -> Result<Record, u8> {
    settings.outputs.quiet |= watched.is_some();
    let record = Rc::new(RefCell::new(None));
    let front = Box::new(ArmFront { record: Rc::clone(&record), watched });
    let task = Task::Run(RunTask::Whole);
    #[cfg(feature = "cluster")]
    let is_by_agents = settings.placement.agents.which.is_some();
    #[cfg(not(feature = "cluster"))]
    let is_by_agents = false;
    let code = match is_by_agents {
        #[cfg(feature = "cluster")]
        true => Session { settings, task, front, world: MasterWorld }.run(),
        // A run keeps its thread off the CPUs of its workers; the next one may use all again.
        _ => with_cpus(&look().cpus_allowed, || {
            let world = HostWorld::new(None).with(floors);
            Session { settings, task, front, world }.run()
        }),
    };
    record.take().filter(|_| code == 0).ok_or(if code == 0 { FAILED } else { code })
}

/// A trial under way.
struct Running {
    arms: [Arm; 2],
    trial: Trial,
    /// The trial on stdout.
    shown: Shown,
    stop: StopFlag,
    random: Random,
    /// The arm that ran first in the last pair.
    first: usize,
    /// The arm that ran last.
    arm: usize,
    /// True once a run was carried out.
    has_run: bool,
    /// The seed of the gaps, unless each pair has its own.
    seed: u64,
    /// What shows all runs, if that is more than a line.
    watched: Option<Arc<WatchedRuns>>,
}

impl Running {
    /// Runs pairs until the trial is exact or the time is over; returns the exit code.
    fn pairs(&mut self, at_most: Span) -> u8 {
        let begun = monotonic_ns();
        let mut longest = 0;
        loop {
            let from = monotonic_ns();
            let again_ns = match self.pair() {
                Ok(again_ns) => again_ns,
                Err(code) => {
                    let is_interrupted = code == INTERRUPTED;
                    let end = if is_interrupted { TrialEnd::Interrupted } else { TrialEnd::Failed };
                    self.trial.ended_by = Some(end);
                    let pair = self.trial.pairs.len() + 1;
                    self.trial.failed =
                        (!is_interrupted).then(|| format!("arm {} in pair {pair}", ARMS[self.arm]));
                    return code;
                }
            };
            let is_first = self.trial.pairs.len() == 1;
            if is_first {
                self.tell(&trial_heading(&self.trial, columns()));
            }
            self.tell(&pair_line(&self.trial));
            longest = if is_first { again_ns } else { longest.max(monotonic_ns() - from) };
            let is_late = monotonic_ns() - begun + longest > at_most.ns();
            self.trial.ended_by = match &self.trial {
                trial if trial.is_exact() => Some(TrialEnd::Exact),
                trial if trial.lost().is_some() => Some(TrialEnd::Lost),
                trial if trial.is_not_carried() => Some(TrialEnd::NotCarried),
                _ if is_late => Some(TrialEnd::Time),
                _ => continue,
            };
            return self.code();
        }
    }

    /// The exit code of a trial whose runs all succeeded: it failed if its pairs were lost.
    fn code(&self) -> u8 {
        let is_lost = self.trial.ended_by == Some(TrialEnd::Lost);
        if !is_lost && !self.trial.has_lost_all() {
            return 0;
        }
        if let Some(why) = lost_words(&self.trial) {
            self.watched.iter().for_each(|watched| watched.close());
            complain(&why);
        }
        FAILED
    }

    /// A run of each arm, in random order. Returns the part of its time that every pair takes, in
    /// nanoseconds: only the first one fills the servers and measures floors. The error is the exit
    /// code.
    fn pair(&mut self) -> Result<u64, u8> {
        let bits = self.random.bits();
        self.first = first_arm(self.trial.pairs.len(), bits, self.first);
        let first = self.first;
        let gaps = self.arms.iter().all(Arm::keeps_items).then_some(bits);
        let mut records = [None, None];
        let mut again_ns = 0;
        for arm in [first, 1 - first] {
            self.arm = arm;
            let from = monotonic_ns();
            if let Err(stop) = self.arms[arm].prepare(&self.stop) {
                complain(&stop.message);
                return Err(stop.code);
            }
            again_ns += monotonic_ns() - from;
            if self.stop.is_raised() {
                return Err(INTERRUPTED);
            }
            if let Some(watched) = &self.watched {
                let run = format!("pair {}, arm {}", self.trial.pairs.len() + 1, ARMS[arm]);
                let mut live = watched.live().lock();
                live.next_run(run);
                live.show_trial(&self.trial);
            }
            let record = self.arms[arm].run(gaps, self.watched.clone())?;
            self.has_run = true;
            again_ns += Span::from_s_f64(record.plan.warmup_s + record.measured_s).ns();
            records[arm] = Some(record);
        }
        if let [Some(a), Some(b)] = records {
            self.trial.add(ARMS[first], gaps.unwrap_or(self.seed), &[a, b]);
        }
        Ok(again_ns)
    }

    /// Shows a part of the trial on stdout. A stdout that fails is no reason to end.
    fn tell(&mut self, text: &str) {
        self.shown.show(self.watched.as_deref(), text);
    }

    /// Ends what shows the trial, which a browser then has as a whole.
    fn end(&mut self) {
        let Some(watched) = &self.watched else { return };
        #[cfg(feature = "html")]
        watched.live().lock().finish(trial_page(&self.trial));
        watched.close();
    }
}

/// Why the pairs of a trial were lost, as a sentence for its user.
fn lost_words(trial: &Trial) -> Option<String> {
    let last = trial.pairs.last()?;
    let cause = last.left_out.as_deref()?;
    let what = match trial.ended_by {
        Some(TrialEnd::Lost) => "five pairs in a row were lost to one cause".to_owned(),
        _ => format!("no pair of {} counts; the last was lost to this", trial.pairs.len()),
    };
    let remedy = last.remedy.iter().map(|remedy| format!("; {remedy}")).collect::<String>();
    Some(format!("{what}: {cause}{remedy}"))
}

/// The arm that runs first in the pair after `pairs` others: the first of two pairs draws it, and
/// the second one begins with the arm that was not `last`, so each arm is first as often.
const fn first_arm(pairs: usize, bits: u64, last: usize) -> usize {
    if pairs.is_multiple_of(2) { (bits & 1) as usize } else { 1 - last }
}

/// The stdout of a command of many runs. It takes nothing more after its first failure.
pub(super) struct Shown {
    is_wanted: bool,
    result: io::Result<()>,
}

impl Shown {
    /// The stdout of a command with these outputs, one of which may go there instead.
    pub(super) fn new(outputs: &Outputs) -> Self {
        Self { is_wanted: !outputs.is_on_stdout(), result: Ok(()) }
    }

    /// Shows a part of the result, after the terminal's screen if that shows the runs.
    pub(super) fn show(&mut self, watched: Option<&WatchedRuns>, text: &str) {
        if self.is_wanted && self.result.is_ok() {
            self.result =
                watched.map_or_else(|| show_part(text), |watched| watched.show_part(text));
        }
    }
}

/// Shows the result of many runs and writes its outputs; returns the exit code. `text` is that of
/// an output of each kind, and none that of stdout.
pub(super) fn publish(
    outputs: &Outputs,
    shown: Option<&mut Shown>,
    code: u8,
    text: impl Fn(Option<OutputKind>) -> String,
) -> u8 {
    let mut trouble: Vec<Stop> = Vec::new();
    if let Some(shown) = shown {
        shown.show(None, &format!("\n{}", text(None)));
        let result = std::mem::replace(&mut shown.result, Ok(()));
        trouble.extend(OutputStop::of("stdout", result).map(Stop::from));
    }
    let mut outlets = Outlets::default();
    trouble.extend(open_texts(&mut outlets, outputs, |kind| text(Some(kind))));
    trouble.extend(close(outlets));
    trouble.iter().for_each(|stop| complain(&stop.message));
    if code == 0 && !trouble.is_empty() { FAILED } else { code }
}

/// The front of one run of an arm: it shows nothing and keeps the record.
struct ArmFront {
    record: Rc<RefCell<Option<Record>>>,
    watched: Option<Arc<WatchedRuns>>,
}

impl ArmFront {
    /// Leaves the terminal's screen before anything is said that must be read.
    fn leave(&self) {
        self.watched.iter().for_each(|watched| watched.close());
    }
}

impl Front for ArmFront {
    fn profile(&self, settings: &Settings) -> FrontProfile {
        FrontProfile::native(settings)
    }

    fn check(&self, settings: &Settings, servers_within: u64) -> Result<(), Stop> {
        check_whole(settings, servers_within)
    }

    fn open(&mut self, _settings: &Settings) -> Result<Opened, Stop> {
        Ok(Opened::default())
    }

    fn screens<'a>(&'a self, _settings: &'a Settings) -> Vec<InStep<'a>> {
        self.watched.iter().map(|watched| watched.screen()).collect()
    }

    fn end(&self, _settings: &Settings, ended: Ended) -> Result<u8, Stop> {
        if !ended.trouble.is_empty() {
            self.leave();
        }
        ended.complain();
        let Came::Run(outcome) = ended.came else { return Ok(0) };
        if let Some(failure) = outcome.failure {
            return Err(failure.into());
        }
        let exit = outcome.record.exit;
        if exit != 0
            && let Some(why) = why_failed(&outcome.record)
        {
            self.leave();
            complain(&why);
        }
        *self.record.borrow_mut() = Some(outcome.record);
        Ok(exit)
    }

    fn exit(&self, ended: Result<u8, Stop>, _stop: &StopFlag) -> u8 {
        ended.unwrap_or_else(|stop| {
            self.leave();
            complain(&stop.message);
            stop.code
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtide_scenario::ProgressForm;

    #[test]
    fn each_arm_is_first_in_one_of_two_pairs() {
        let mut random = Random::new(1);
        let mut firsts = vec![0];
        for pair in 0..20 {
            let last = firsts[firsts.len() - 1];
            firsts.push(first_arm(pair, random.bits(), last));
        }
        assert!(firsts[1..].chunks(2).all(|two| two[0] != two[1]), "{firsts:?}");
        let drawn: Vec<_> = firsts[1..].chunks(2).map(|two| two[0]).collect();
        assert!(drawn.contains(&0) && drawn.contains(&1), "{drawn:?}");
    }

    #[test]
    fn a_run_of_several_keeps_its_progress_and_tags_alone() {
        let tags = [("build".to_owned(), "42".to_owned())].into();
        let (json, progress) = (Some("x.json".to_owned()), ProgressForm::Off);
        let outputs = Outputs { json, tags, progress, ..Outputs::default() };
        let kept = Outputs { json: None, ..outputs.clone() };
        assert_eq!(outputs.of_one_of_several(), kept);
    }
}
