//! Points in InfluxDB: destination, credentials, and the report on points that were not delivered.
//! Format and delivery of points are in `memtide-sinks`.

mod http;

use super::super::front::{Origin, Rows};
use super::{Recorded, attach};
use crate::exit::{FAILED, Stop, Worded};
use crate::output::complain;
use crate::placement::{division, variable};
use http::Http;
use memtide_base::rng::mix;
use memtide_host::clock;
use memtide_record::Event;
use memtide_scenario::{InfluxPlace, SpoolPlace};
use memtide_scenario::{Output, Settings};
use memtide_sinks::{
    Delivered, Delivery, InfluxIntervals, InfluxOperations, InfluxRun, Outlets, Sink, Spool,
};
use std::io;
use std::path::Path;

/// Adds the sink that delivers an output's points and makes those of seconds; returns the sink of
/// operations, if requested.
///
/// Cause: The spool's folder cannot be used, a secret cannot be read, or a tag has the name of one
/// that all points have.
pub(super) fn add(
    outlets: &mut Outlets,
    output: &Output,
    settings: &Settings,
    (recorded, face): (Recorded, Option<&'static str>),
) -> Result<Option<Box<dyn Rows>>, Stop> {
    let Some(place) = output.influx() else { return Ok(None) };
    let run = run(&place, settings, recorded)?;
    let spool = settings.outputs.spool.as_ref();
    let kept = spool.map(|spool| open_spool(spool, &run.run)).transpose()?;
    let delivery = Delivery::start(Box::new(Http::new(&place)?), kept).map_err(no_thread)?;
    let feed = || (run.clone(), delivery.feed());
    let operations = |step| {
        let (run, feed) = feed();
        Some(Box::new(OperationPoints(InfluxOperations::new(run, feed, step))) as Box<dyn Rows>)
    };
    let operations = match recorded {
        Recorded::Operations => operations(None),
        Recorded::Steps => operations(Some(1)),
        Recorded::Share { step, .. } => operations(step),
        Recorded::Seconds | Recorded::Record => None,
    };
    let (run, feed) = feed();
    let seconds = match recorded {
        Recorded::Record => Some(InfluxIntervals::of_record(run, feed)),
        Recorded::Seconds | Recorded::Operations | Recorded::Steps => {
            Some(InfluxIntervals::live(run, feed, || clock::since_unix().ns()))
        }
        Recorded::Share { .. } => None,
    };
    let name = face.map_or_else(|| output.name(), str::to_owned);
    let spool = spool.map(|spool| spool.folder.clone());
    let (place, is_forgiven) = (output.to_string(), face.is_some());
    let points = SecondPoints { seconds, delivery, name: name.clone(), place, spool, is_forgiven };
    attach(outlets, &name, points)?;
    Ok(operations)
}

/// The tags and names that all points of a run have in common.
///
/// Cause: A tag of `--tag` has the name of a tag that memtide itself gives to points.
fn run(place: &InfluxPlace, settings: &Settings, recorded: Recorded) -> Result<InfluxRun, Stop> {
    let names = &place.names;
    let taken = [&names.kind, &names.outcome, &names.server, &names.share, &names.step];
    let tags = &settings.outputs.tags;
    if let Some(name) = taken.into_iter().find(|name| tags.contains_key(*name)) {
        return Err(Stop::usage(format!(
            "--tag {name}: points already have a tag of that name; use another name, or rename \
             theirs with --out 'influx=URL#{name}=other'"
        )));
    }
    let share = match (recorded, settings.placement.shard) {
        (Recorded::Share { number, .. }, _) => Some(number),
        (_, None) => None,
        (_, shard) => division(shard, &variable)?.map(|division| division.share.number),
    };
    // The user's own tag for the run takes precedence.
    let run = match tags.get(&names.run) {
        Some(_) => String::new(),
        None => run_word(),
    };
    Ok(InfluxRun {
        names: names.clone(),
        run,
        share: share.map_or_else(String::new, |number| number.to_string()),
        tags: tags.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
    })
}

/// A unique word for a run.
fn run_word() -> String {
    format!("{:016x}", mix(clock::since_unix().ns() ^ u64::from(std::process::id())))
}

/// Gives a run whose agents write points a tag with its name, unless the user has set one: all
/// agents and this process write the same name.
#[cfg(feature = "cluster")]
pub(crate) fn name_run(settings: &mut Settings) {
    if settings.outputs.wants_agents_points() {
        let place = settings.outputs.points().and_then(|output| output.influx());
        let names = place.map(|place| place.names).unwrap_or_default();
        settings.outputs.tags.entry(names.run).or_insert_with(run_word);
    }
}

/// Cause: The folder cannot be made, read or written.
fn open_spool(spool: &SpoolPlace, run: &str) -> Result<Spool, Stop> {
    let own = format!("{:x}-{run}", clock::since_unix().ns());
    Spool::open(Path::new(&spool.folder), spool.bytes, &own).map_err(|error| {
        Stop::usage(format!(
            "--spool '{}' cannot be used: {error}; name a folder that only you can write to",
            spool.folder
        ))
    })
}

/// Cause: The system starts no more threads for this user or control group.
///
/// To do: Allow this user more processes.
fn no_thread(error: io::Error) -> Stop {
    Stop { code: FAILED, message: format!("the system started no thread for points: {error}") }
}

/// Points of a load's seconds, if they are written here; and the end of all points.
struct SecondPoints {
    seconds: Option<InfluxIntervals>,
    delivery: Delivery,
    name: String,
    /// The output as the user wrote it.
    place: String,
    spool: Option<String>,
    /// True if lost points are reported, and the run does not fail.
    is_forgiven: bool,
}

impl Sink for SecondPoints {
    fn on(&mut self, event: &Event) -> io::Result<()> {
        self.seconds.as_mut().map_or(Ok(()), |seconds| seconds.on(event))
    }

    fn takes(&self) -> fn(&Event) -> bool {
        self.seconds.as_ref().map_or(|_| false, Sink::takes)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.seconds.as_mut().map_or(Ok(()), Sink::finish)?;
        let delivered = self.delivery.close();
        match delivered.is_whole() {
            true => Ok(()),
            false if self.is_forgiven => {
                let (counted, lost) = (counted(&delivered, &self.name), delivered.lost);
                complain(&format!("{counted}; {lost} are lost"));
                Ok(())
            }
            false => {
                let spool = self.spool.as_deref();
                let stop = undelivered(&delivered, &self.name, &self.place, spool);
                Err(io::Error::other(Worded(stop)))
            }
        }
    }
}

/// Reports which points are not in the database, why, and what to do.
///
/// Cause: The database was away, busy or full, or takes nothing from this user.
///
/// To do: See what it said. Points in the spool are delivered by memtide report --from-spool.
fn undelivered(delivered: &Delivered, name: &str, place: &str, spool: Option<&str>) -> Stop {
    let Delivered { kept, lost, .. } = *delivered;
    let mut text = counted(delivered, name);
    if let (Some(folder), true) = (spool, kept > 0) {
        text += &format!(
            "; {kept} are in the spool: memtide report --from-spool '{folder}' --out '{place}' \
             delivers them"
        );
    }
    if lost > 0 {
        text += &format!("; {lost} are lost");
        text += &match (&delivered.spool, spool) {
            (Some(why), _) => format!(": {why}"),
            (None, Some(_)) => String::new(),
            (None, None) => ": --spool DIR,SIZE would keep them".to_owned(),
        };
    }
    Stop { code: FAILED, message: text }
}

/// The number of points of the output `name` that are in the database, and why others are not.
fn counted(delivered: &Delivered, name: &str) -> String {
    let Delivered { offered: all, written, unfit, .. } = *delivered;
    let mut text = format!("{name}: {written} of {all} points were delivered");
    if let Some(why) = &delivered.why {
        text += &format!("; {why}");
    }
    if unfit > 0 {
        text += &format!("; {unfit} were refused for their form");
    }
    text
}

/// Points of measured operations. Their failures are reported with the seconds' end.
struct OperationPoints(InfluxOperations);

impl Sink for OperationPoints {
    fn on(&mut self, event: &Event) -> io::Result<()> {
        self.0.on(event)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.0.finish()
    }
}

impl Rows for OperationPoints {
    fn begin(&mut self, origin: &Origin) {
        self.0.begin(origin.unix_ns, origin.servers.clone(), origin.leads.clone());
    }

    fn restart(&mut self) -> io::Result<()> {
        self.0.restart();
        Ok(())
    }
}

/// Delivers the points that runs left in a spool; returns the number delivered.
///
/// Cause: The folder cannot be read, or the database does not take all points.
///
/// To do: See what the database said, and repeat the command: what is delivered is removed.
pub(crate) fn deliver_spool(folder: &Path, output: &Output) -> Result<u64, Stop> {
    let Some(place) = output.influx() else {
        return Err(Stop::usage(format!("--from-spool needs --out influx=URL, not {output}")));
    };
    let http = Http::new(&place)?;
    let left = Spool::left_in(folder).map_err(|error| {
        Stop::usage(format!("--from-spool '{}' cannot be read: {error}", folder.display()))
    })?;
    let delivered = Delivery::start(Box::new(http), Some(left)).map_err(no_thread)?.close_empty();
    match delivered.is_whole() {
        true => Ok(delivered.written),
        false => {
            let spool = Some(folder.display().to_string());
            Err(undelivered(&delivered, &output.name(), &output.to_string(), spool.as_deref()))
        }
    }
}
