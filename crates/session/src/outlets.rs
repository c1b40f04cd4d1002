//! The outputs of a command: which are wanted, with what this process knows of its run. What they
//! write, and where, is in `memtide-sinks`.

use crate::console::complain;
use crate::exit::{FAILED, Stop};
use crate::front::Opened;
use crate::placement::{division, variable};
use memtide_base::Instant;
use memtide_base::rng::mix;
use memtide_host::clock;
use memtide_record::{Event, Sample, SampleOutcome};
use memtide_scenario::{OutputKind, Outputs, RUN_TAG, Settings};
use memtide_sinks::{Outlets, OutputFacts, OutputSubject, Samples};
use memtide_workload::Outcome;

/// Opens the files of a command about `shown` and the sinks that write to them. A simulation has no
/// time of day, and can wait for its outputs.
pub fn open<'a>(
    settings: &'a Settings,
    shown: OutputSubject<'a>,
    is_simulated: bool,
) -> Result<Opened, Stop> {
    let mut facts = facts(settings, shown)?;
    let mut outlets = Outlets::default();
    if is_simulated {
        refuse_points(&settings.outputs)?;
        outlets = Outlets::waiting();
        facts.unix_ns = None;
    }
    opened(outlets, &facts)
}

/// Opens all outputs of a command, and that of wrong values. The first failure counts.
fn opened(mut outlets: Outlets, facts: &OutputFacts<'_>) -> Result<Opened, Stop> {
    let mut samples = Samples::default();
    let failed = memtide_sinks::open_all(&mut outlets, &mut samples, facts);
    failed.into_iter().next().map_or(Ok(()), Err)?;
    if let Some(path) = &facts.settings.outputs.verify_details {
        memtide_sinks::open_details(&mut outlets, "--verify-details", path)?;
    }
    outlets.take_notes().iter().for_each(|note| complain(note));
    Ok(Opened { samples, outlets, reader: None })
}

/// The facts that outputs need of a command of this process. Agents write their own operations.
///
/// # Errors
/// If the environment of a launcher does not say which share this is.
pub fn facts<'a>(
    settings: &'a Settings,
    shown: OutputSubject<'a>,
) -> Result<OutputFacts<'a>, Stop> {
    let placement = &settings.placement;
    let division = match placement.shard {
        None => None,
        shard => division(shard, &variable)?,
    };
    Ok(OutputFacts {
        unix_ns: Some(unix_ns),
        share: division.map(|division| division.share.number),
        has_operations: placement.agents.which.is_none(),
        step: matches!(shown, OutputSubject::Steps(..)).then_some(1),
        ..OutputFacts::new(settings, shown)
    })
}

/// Opens the output of points, if there is one.
///
/// # Errors
/// If the program was built without it, or it cannot be opened.
pub fn open_points(opened: &mut Opened, facts: &OutputFacts<'_>) -> Result<(), Stop> {
    if let Some(output) = facts.settings.outputs.points() {
        memtide_sinks::check_kind(output.kind, &output.flag())?;
        memtide_sinks::open(&mut opened.outlets, &mut opened.samples, &output, facts)?;
    }
    Ok(())
}

/// Gives a run that writes points a tag with its name, unless the user has set one: all its
/// processes, and its record, have the same name.
pub(crate) fn name_run(settings: &mut Settings) {
    let outputs = &mut settings.outputs;
    if outputs.first(OutputKind::Influx).is_some() {
        let tag = outputs.tags.entry(RUN_TAG.to_owned());
        tag.or_insert_with(|| format!("{:016x}", mix(unix_ns() ^ u64::from(std::process::id()))));
    }
}

fn refuse_points(outputs: &Outputs) -> Result<(), Stop> {
    match outputs.first(OutputKind::Influx) {
        None => Ok(()),
        Some(output) => Err(Stop::usage(format!(
            "{}: a simulation has no time of day; use --out intervals=FILE or --out samples=FILE",
            output.flag()
        ))),
    }
}

/// The time of day in nanoseconds since 1970.
pub(crate) fn unix_ns() -> u64 {
    clock::since_unix().ns()
}

/// Ends the sinks of a command that makes them from records, once they have what they need; returns
/// their failures.
pub fn close(mut outlets: Outlets) -> Vec<Stop> {
    outlets.close().into_iter().filter_map(|ending| Some(ending.stop()?.into())).collect()
}

/// The last event of a command, with the exit code that a failed output gives it.
pub fn with_failed_output(mut last: Event) -> Event {
    let exit = match &mut last {
        Event::Done(record) => &mut record.exit,
        Event::StepsDone(conclusion) => &mut conclusion.exit,
        _ => return last,
    };
    if *exit == 0 {
        *exit = FAILED;
    }
    last
}

/// Converts an engine's sample to an event; `contents` are those of its plan.
pub(crate) fn event(contents: &memtide_world::Contents, sample: &memtide_world::Sample) -> Event {
    let [sent, received] =
        [sample.sent, sample.received].map(|at| (at != Instant::NEVER).then_some(at));
    Event::Sample(Sample {
        begun: sample.begun,
        index: sample.index,
        key: contents.key(sample.key),
        size: contents.size(sample.kind, sample.key),
        intended: sample.intended,
        sent,
        received,
        kind: sample.kind.into(),
        outcome: match sample.outcome {
            Outcome::Hit => SampleOutcome::Hit,
            Outcome::Miss => SampleOutcome::Miss,
            Outcome::Failed => SampleOutcome::Failed,
            Outcome::TimedOut => SampleOutcome::TimedOut,
            Outcome::Lost => SampleOutcome::Lost,
            Outcome::Dropped => SampleOutcome::Dropped,
            Outcome::Unacknowledged => SampleOutcome::Unacknowledged,
            Outcome::Abandoned => SampleOutcome::Abandoned,
            Outcome::Stored
            | Outcome::NotStored
            | Outcome::Exists
            | Outcome::NotFound
            | Outcome::Deleted
            | Outcome::Touched
            | Outcome::Invalidated
            | Outcome::Number => SampleOutcome::Answered,
        },
        bytes: u64::from(sample.bytes),
        connection: (sample.connection != u32::MAX).then_some(sample.connection),
    })
}
