//! The output of points: what is written for which command, and the report on points that were not
//! delivered.

use super::delivery::{Delivered, Delivery};
use super::http::Http;
use super::points::{InfluxIntervals, InfluxOperations, InfluxRun};
use super::spool::Spool;
use crate::Sink;
use crate::ending::OutputStop;
use crate::opening::{Opening, OutputFacts, OutputSubject, attach};
use crate::outlet::StallLimits;
use memtide_record::Event;
use memtide_scenario::{InfluxPlace, Output, SpoolPlace};
use std::io;
use std::path::Path;

/// Adds the sink that delivers an output's points and makes those of seconds, and the output of
/// measured operations, if it is wanted.
pub(crate) fn add(it: &mut Opening<'_>) -> Result<(), OutputStop> {
    let Some(place) = it.output.influx() else { return Ok(()) };
    let facts = it.facts;
    let name = facts.flag.map_or_else(|| it.output.name(), str::to_owned);
    let run = run(&place, facts)?;
    let spool = facts.settings.outputs.spool.as_ref();
    let kept = spool.map(|spool| open_spool(spool, &run.run, facts.unix_ns)).transpose()?;
    let delivery = Delivery::start(Box::new(Http::new(&place)?), kept).map_err(no_thread)?;
    let is_record = matches!(facts.shown, OutputSubject::Record);
    if facts.has_operations && !is_record {
        let operations = InfluxOperations::new(run.clone(), delivery.feed(), facts.step);
        it.samples.add(&name, Box::new(operations));
    }
    let feed = delivery.feed();
    let seconds = match is_record {
        true => Some(InfluxIntervals::of_record(run, feed)),
        false => facts.has_seconds.then(|| InfluxIntervals::live(run, feed)),
    };
    let folder = spool.map(|spool| spool.folder.clone());
    let place = facts.flag.is_none().then(|| it.output.to_string());
    let sink = Box::new(Points { seconds, delivery, name: name.clone(), place, folder });
    attach(it.outlets, &name, sink, StallLimits::default())
}

/// The tags and names that all points of a run have in common.
fn run(place: &InfluxPlace, facts: &OutputFacts<'_>) -> Result<InfluxRun, OutputStop> {
    let tags = &facts.settings.outputs.tags;
    place.names.check(tags).map_err(|why| OutputStop::usage(format!("--{why}")))?;
    let share = facts.share.map_or_else(String::new, |number| number.to_string());
    Ok(InfluxRun::new(place.names.clone(), tags, share))
}

fn open_spool(
    spool: &SpoolPlace,
    run: &str,
    unix_ns: Option<fn() -> u64>,
) -> Result<Spool, OutputStop> {
    let own = format!("{:x}-{run}", unix_ns.map_or(0, |now| now()));
    Spool::open(Path::new(&spool.folder), spool.bytes, &own).map_err(|error| {
        OutputStop::usage(format!(
            "--spool '{}' cannot be used: {error}; name a folder that only you can write to",
            spool.folder
        ))
    })
}

fn no_thread(error: io::Error) -> OutputStop {
    OutputStop::failed(format!("the system started no thread for points: {error}"))
}

/// Points of a load's seconds, if they are written here; and the end of all points.
struct Points {
    seconds: Option<InfluxIntervals>,
    delivery: Delivery,
    name: String,
    /// The output as the user wrote it; none if another program's flag stands for it.
    place: Option<String>,
    /// The folder of the spool.
    folder: Option<String>,
}

impl Sink for Points {
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
            false => {
                let folder = self.folder.as_deref();
                Err(undelivered(&delivered, &self.name, self.place.as_deref(), folder).into())
            }
        }
    }
}

/// Reports which points are not in the database, why, and what to do.
fn undelivered(
    delivered: &Delivered,
    name: &str,
    place: Option<&str>,
    spool: Option<&str>,
) -> OutputStop {
    let Delivered { offered: all, written, kept, unfit, lost, .. } = *delivered;
    let mut text = format!("{name}: {written} of {all} points were delivered");
    if let Some(why) = &delivered.why {
        text += &format!("; {why}");
    }
    if unfit > 0 {
        text += &format!("; {unfit} were refused for their form");
    }
    if let (Some(folder), Some(place), true) = (spool, place, kept > 0) {
        text += &format!(
            "; {kept} are in the spool: memtide report --from-spool '{folder}' --out '{place}' \
             delivers them"
        );
    }
    if lost > 0 {
        text += &format!("; {lost} are lost");
        text += &match (&delivered.spool, spool) {
            (Some(why), _) => format!(": {why}"),
            (None, None) if place.is_some() => ": --spool DIR,SIZE would keep them".to_owned(),
            (None, _) => String::new(),
        };
    }
    if !delivered.unread.is_empty() {
        let named = delivered.unread.join(", ");
        text += &format!("; files that cannot be read, and stay: {named}");
    }
    OutputStop::failed(text)
}

/// Delivers the points that runs left in a spool; returns the number delivered.
///
/// # Errors
/// A sentence that says what is left, and why.
pub fn deliver_spool(folder: &Path, output: &Output) -> Result<u64, OutputStop> {
    let Some(place) = output.influx() else {
        return Err(OutputStop::usage(format!(
            "--from-spool needs --out influx=URL, not {output}"
        )));
    };
    let http = Http::new(&place)?;
    let left = Spool::left_in(folder).map_err(|error| {
        OutputStop::usage(format!("--from-spool '{}' cannot be read: {error}", folder.display()))
    })?;
    let delivered = Delivery::start(Box::new(http), Some(left)).map_err(no_thread)?.close_empty();
    match delivered.is_whole() {
        true => Ok(delivered.written),
        false => {
            let spool = Some(folder.display().to_string());
            Err(undelivered(
                &delivered,
                &output.name(),
                Some(&output.to_string()),
                spool.as_deref(),
            ))
        }
    }
}
