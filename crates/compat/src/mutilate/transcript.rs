//! A face's output during a run: turns each event into the text that the original prints then.
//! Prints nothing itself, and keeps only the state that later texts need.

mod log;
mod generators;
mod refused;

use super::numbers::Search;
use super::options::{AgentOptions, Mode, Options, Verbosity};
use super::rows::Face;
use super::text::{
    Cpu, Format, Formatter, Material, SearchGoal, SearchStep, TimeBasis, Trial,
    Waveform as Announced, Whose, search_line,
};
use super::{Dynamic, Waveform};
use crate::Printed;
use crate::printed::beside;
use log::Log;
use memtide_base::Span;
use memtide_record::steps::{Step, StepRole, StepsEnd};
use memtide_record::{Event, Record};
use refused::RefusedCounts;

/// The output of one command line, from the events of its run.
#[derive(Clone, Debug)]
pub struct Transcript {
    formatter: Formatter,
    mode: Mode,
    times: TimeBasis,
    whose: Whose,
    /// The number of connections that a report states, if it is not that of the record.
    connections: Option<u64>,
    verbosity: Verbosity,
    /// The rates of a dynamic run's intervals.
    targets: Vec<u32>,
    /// In a search: the rate without a limit.
    peak_per_s: f64,
    /// In a search or a scan: the last step, with the CPU use of all steps.
    last: Option<Material>,
    /// The length of all steps, in seconds.
    steps_s: f64,
    refused: RefusedCounts,
    log: Log,
}

impl Transcript {
    /// The transcript for `options`; `targets` are the rates of a dynamic run's intervals.
    pub fn new(options: &Options, targets: &[u32]) -> Self {
        let output = &options.output;
        Self {
            formatter: Formatter { format: output.format, save: output.save.clone() },
            mode: options.mode.clone(),
            times: if output.is_response { TimeBasis::Response } else { TimeBasis::Service },
            whose: whose(options),
            connections: options.agents.as_ref().map(|_| options.connections.total()),
            verbosity: output.verbosity,
            targets: targets.to_vec(),
            peak_per_s: 0.0,
            last: None,
            steps_s: 0.0,
            refused: RefusedCounts::default(),
            log: Log::new(options),
        }
    }

    /// The log of `-v` for a wait before the load.
    pub fn wait(&self, wait: Span) -> String {
        self.log.wait(wait)
    }

    /// The log of `-v` and `-vv` on stderr for `event`, before its other texts.
    pub fn log(&mut self, event: &Event) -> String {
        self.log.on(event)
    }

    /// The text before the first event.
    pub fn begin(&self) -> Printed {
        let mut printed = Printed::default();
        match &self.mode {
            Mode::Dynamic(dynamic) => {
                printed.stdout = self.formatter.waveform_header(&announced(dynamic, &self.targets));
            }
            Mode::Scan(_) => printed.stdout = self.formatter.scan_header(),
            Mode::Search(search) => self.progress(&mut printed, search, &SearchStep::Begin),
            Mode::Once | Mode::LoadOnly | Mode::Masterless => {}
        }
        printed
    }

    /// The text for `event`.
    ///
    /// # Errors
    /// If a record's histogram cannot be read back; the sentence names it.
    pub fn on(&mut self, event: &Event) -> Result<Printed, String> {
        let mut printed = Printed::default();
        match event {
            Event::Done(record) => {
                self.refused.add(record);
                self.done(record, &mut printed)?;
            }
            Event::StepDone(step) => self.step(step, &mut printed)?,
            Event::StepsDone(conclusion) => {
                printed.stdout = self.steps_end(conclusion.ended_by);
                printed.stderr = self.refused.line();
            }
            _ => {}
        }
        Ok(printed)
    }

    /// The text on stdout after a search or a scan.
    fn steps_end(&self, ended_by: StepsEnd) -> String {
        match (&self.mode, &self.last) {
            (Mode::Search(_), Some(last)) => self.formatter.search(last, self.peak_per_s),
            // No text follows the last whole row of a scan that ended early.
            (Mode::Scan(_), Some(last)) if ended_by == StepsEnd::Done => {
                self.formatter.scan_end(last.cpu.as_ref())
            }
            _ => String::new(),
        }
    }

    fn material(&self, record: &Record) -> Result<Material, String> {
        let material = Material::of(record, self.times, self.whose)?;
        let connections = self.connections.unwrap_or(material.connections);
        Ok(Material { connections, ..material })
    }

    /// Handles the end of a run: the only one, or a step.
    fn done(&self, record: &Record, printed: &mut Printed) -> Result<(), String> {
        match &self.mode {
            Mode::Once => {
                printed.stdout = self.formatter.run(&self.material(record)?);
            }
            Mode::Dynamic(_) => {
                let material = self.material(record)?;
                let material = material.with_segments(record, self.times, &self.targets)?;
                printed.stdout = self.formatter.waveform(&material);
            }
            Mode::LoadOnly | Mode::Masterless => {
                printed.stderr = self.refused.line();
                return Ok(());
            }
            Mode::Search(_) | Mode::Scan(_) => return Ok(()),
        }
        printed.stderr = self.refused.line();
        if self.verbosity < Verbosity::Quiet {
            printed.notes = beside(record);
        }
        Ok(())
    }

    fn step(&mut self, step: &Step, printed: &mut Printed) -> Result<(), String> {
        let material = self.material(&step.record)?;
        match &self.mode {
            Mode::Scan(_) => {
                let target = step.rate_per_s.unwrap_or(0.0) as u64;
                printed.stdout = self.formatter.scan_row(&material, target);
            }
            Mode::Search(search) => {
                let rate_per_s = material.rate_per_s();
                let measured_us = step.figure_ns.unwrap_or(0.0) / 1e3;
                let trial = Trial {
                    target_per_s: step.rate_per_s.unwrap_or(0.0) as u64,
                    rate_per_s,
                    measured_us,
                    low_per_s: step.low_per_s.unwrap_or(0.0) as u64,
                    high_per_s: step.high_per_s.unwrap_or(0.0) as u64,
                };
                let line = match step.role {
                    StepRole::Peak => SearchStep::Peak { rate_per_s, measured_us },
                    StepRole::Confirm => SearchStep::Lowered(trial),
                    StepRole::Narrow | StepRole::Scan => SearchStep::Bisected(trial),
                };
                self.progress(printed, search, &line);
                if step.role == StepRole::Peak {
                    self.peak_per_s = rate_per_s;
                }
            }
            Mode::Once | Mode::LoadOnly | Mode::Masterless | Mode::Dynamic(_) => {}
        }
        let before = self.last.as_ref().and_then(|last| Some((last.cpu?, self.steps_s)));
        let cpu = match (before, material.cpu) {
            (Some((before, before_s)), Some(cpu)) => {
                Some(together(before, before_s, cpu, step.record.measured_s))
            }
            (before, cpu) => cpu.or(before.map(|(before, _)| before)),
        };
        self.steps_s += step.record.measured_s;
        self.last = Some(Material { cpu, ..material });
        Ok(())
    }

    /// Prints the progress of a search, unless `--quiet` is set.
    fn progress(&self, printed: &mut Printed, search: &Search, step: &SearchStep) {
        if self.verbosity < Verbosity::Quiet {
            let goal = SearchGoal { order: search.word.clone(), limit_us: search.bound_us as u64 };
            printed.stderr += &search_line(self.formatter.format, &goal, step);
        }
    }
}

/// The process whose figures a report of `options` shows.
pub fn whose(options: &Options) -> Whose {
    match (&options.agents, options.face) {
        (None, _) => Whose::Process,
        (Some(_), Face::Mutilate) => Whose::Master,
        (Some(_), Face::Mcperf | Face::McperfDynamic) => Whose::MasterAndReads,
    }
}

/// The text of the original's agent on stdout after its part of a load; `record` is of that part.
///
/// # Errors
/// If a record's histogram cannot be read back; the sentence names it.
pub fn agent_rows(agent: &AgentOptions, record: &Record) -> Result<String, String> {
    let material = Material::of(record, TimeBasis::Service, Whose::Process)?;
    let formatter = Formatter::new(Format::of(agent.face));
    // With -vv the originals' agents print no table.
    Ok(match agent.verbosity {
        Verbosity::Debug => formatter.agent_rate(&material),
        Verbosity::Verbose | Verbosity::Info | Verbosity::Quiet => formatter.agent(&material),
    })
}

/// The original's log on stderr when an agent begins to wait for masters.
pub fn agent_waits(agent: &AgentOptions) -> String {
    Log::of_agent(agent, 0, 0, false).waits()
}

/// The original's log on stderr during an agent's part of a load, as a function of the events of
/// that part. `number` counts the agent's loads from 1; `shares` is the number of equal shares of
/// all agents' load.
pub fn agent_log(
    agent: &AgentOptions,
    number: u32,
    shares: u32,
    is_load_only: bool,
) -> impl FnMut(&Event) -> String + Send + use<> {
    let mut log = Log::of_agent(agent, number, shares, is_load_only);
    move |event| log.on(event)
}

/// The text of the original on stderr when it continues without the agent with this number, from 1;
/// `face` is the master's.
pub fn skipped(face: Face, number: u32) -> String {
    let line = match face {
        Face::Mutilate | Face::Mcperf => 400,
        Face::McperfDynamic => 319,
    };
    let file = if face.is_mutilate() { "mutilate.cc" } else { "mcperf.cc" };
    format!("{file}({line}): Agent failure detected, skip agent {number}!\n")
}

/// The CPU use in two intervals of these lengths together.
fn together(first: Cpu, first_s: f64, second: Cpu, second_s: f64) -> Cpu {
    let all_s = first_s + second_s;
    let mean = if all_s > 0.0 {
        (first.mean * first_s + second.mean * second_s) / all_s
    } else {
        first.mean
    };
    Cpu { mean, min: first.min.min(second.min), max: first.max.max(second.max) }
}

fn announced(dynamic: &Dynamic, targets: &[u32]) -> Announced {
    let (given, seeded) = match &dynamic.waveform {
        Waveform::Supplied(_) => (true, false),
        Waveform::Random { seed, .. } => (false, seed.is_some()),
    };
    let targets_per_s = targets.iter().copied().map(u64::from).collect();
    Announced { given, seeded, targets_per_s }
}

#[cfg(test)]
mod tests;
