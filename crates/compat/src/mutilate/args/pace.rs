//! The kind and times of a run: searches, scans, waveforms, rates and durations. Options overruled
//! by stronger ones get a note.

use super::fatal::Check;
use super::{Reader, Settings};
use crate::Stop;
use crate::mutilate::numbers::{
    Dynamic, INTERVALS_MAX, RATE_MAX, Scan, Search, Searched, Sinusoid, Waveform,
};
use crate::mutilate::options::{Mode, Paced, Skip};
use crate::mutilate::rows::Face;
use memtide_base::Span;

/// `--moderate` in the originals, whatever the rate.
const ANSWER_GAP: Span = Span::from_us(250);
/// `--skip` in the originals.
const SKIP: Skip = Skip { late_max: Span::from_ms(5), late_again: Span::from_ms(4) };

impl Reader<'_> {
    /// The mode of the strongest option, in the originals' order.
    pub(super) fn mode(&self, settings: &Settings<'_>) -> Result<Mode, Stop> {
        let given = self.given;
        // All words are checked, even those that another option overrules.
        let search = settings.search.map(|word| self.search(word)).transpose()?;
        let scan = given.word("scan").map(|word| self.scan(word)).transpose()?;
        let dynamic = self.dynamic()?;
        Ok(if given.has("loadonly") {
            Mode::LoadOnly
        } else if given.has("masterless_agentmode") {
            Mode::Masterless
        } else if let Some(search) = search {
            Mode::Search(search)
        } else if let Some(scan) = scan {
            Mode::Scan(scan)
        } else if let Some(dynamic) = dynamic {
            Mode::Dynamic(dynamic)
        } else {
            Mode::Once
        })
    }

    fn search(&self, word: &str) -> Result<Search, Stop> {
        let sets = self.given.float_or_default("update");
        let search = Search::read(word, self.face.is_mutilate(), sets);
        search.ok_or_else(|| self.source.fatal(Check::Search, "Invalid --search argument"))
    }

    fn scan(&self, word: &str) -> Result<Scan, Stop> {
        let scan = Scan::read(word);
        scan.ok_or_else(|| self.source.fatal(Check::Scan, "Invalid --scan argument"))
    }

    fn dynamic(&self) -> Result<Option<Dynamic>, Stop> {
        let given = self.given;
        if self.face != Face::McperfDynamic || !given.has("qps_interval") {
            return Ok(None);
        }
        let seconds = given.float_or_default("qps_interval");
        let interval = Span::from_s_f64(seconds);
        if interval.is_zero() || !seconds.is_finite() {
            return Err(self.further("--qps_interval must be > 0"));
        }
        let waveform = self.waveform()?;
        let intervals = match &waveform {
            Waveform::Supplied(targets) => targets.len() as f64,
            Waveform::Random { .. } => (f64::from(given.int_or_default("time")) / seconds).ceil(),
        };
        if intervals > f64::from(INTERVALS_MAX) {
            return Err(self.further(&format!(
                "--qps_interval {seconds}: that makes {intervals} intervals, and at most \
                 {INTERVALS_MAX} are allowed; make them longer, or the run shorter"
            )));
        }
        Ok(Some(Dynamic { waveform, interval, intervals: intervals as u32 }))
    }

    fn waveform(&self) -> Result<Waveform, Stop> {
        let given = self.given;
        if given.has("qps_target") {
            let targets: Option<Vec<u32>> =
                given.ints("qps_target").into_iter().map(rate).collect();
            return targets.map(Waveform::Supplied).ok_or_else(|| {
                self.further(&format!("--qps_target must be between 0 and {RATE_MAX}"))
            });
        }
        let bounds =
            rate(given.int_or_default("qps_min")).zip(rate(given.int_or_default("qps_max")));
        let Some((min, max)) = bounds.filter(|(min, max)| min <= max) else {
            return Err(self.further(&format!(
                "--qps_max must be between --qps_min and {RATE_MAX}; --qps_min is {}, --qps_max \
                 {}",
                given.int_or_default("qps_min"),
                given.int_or_default("qps_max")
            )));
        };
        let seed = Some(given.int_or_default("qps_seed")).filter(|seed| *seed != 0);
        Ok(Waveform::Random { min, max, seed })
    }

    pub(super) fn paced(&mut self, settings: &Settings<'_>, mode: &Mode) -> Result<Paced, Stop> {
        let given = self.given;
        let gaps = self.law(settings.iadist)?.ok_or_else(|| self.no_law(settings.iadist))?;
        let has_rate = match mode {
            Mode::LoadOnly => false,
            Mode::Once | Mode::Masterless => settings.qps > 0,
            Mode::Scan(scan) => scan.max > 0,
            Mode::Search(_) | Mode::Dynamic(_) => true,
        };
        if has_rate && !gaps.has_rate() {
            return Err(self.source.law_without_rate());
        }
        let [warmup, wait] =
            ["warmup", "wait"].map(|long| Span::from_s(u64::from(self.natural(long).unwrap_or(0))));
        Ok(Paced {
            rate_ops: settings.qps,
            sinusoid: self.sinusoid(settings.qps, mode)?,
            gaps,
            gaps_word: settings.iadist.to_owned(),
            depth: self.natural_or_default("depth"),
            skip: given.has("skip").then_some(SKIP),
            answer_gap: given.has("moderate").then_some(ANSWER_GAP),
            time: self.time(),
            warmup,
            wait,
            is_blocking: given.has("blocking"),
            is_pinned: given.has("affinity"),
        })
    }

    /// As many intervals as there are targets, or `--time`.
    fn time(&self) -> Span {
        let given = self.given;
        if self.face != Face::McperfDynamic || !given.has("qps_target") {
            return Span::from_s(u64::from(self.natural_or_default("time")));
        }
        Span::from_s_f64(given.count("qps_target") as f64 * given.float_or_default("qps_interval"))
    }

    fn sinusoid(&self, qps: u32, mode: &Mode) -> Result<Option<Sinusoid>, Stop> {
        let given = self.given;
        let Some(period_ms) = self.natural("sin") else { return Ok(None) };
        let part = given.float_or_default("sin_amplitude");
        if !(0.0..=1.0).contains(&part) {
            return Err(self.further("--sin_amplitude must be >= 0.0 and <= 1.0"));
        }
        if !matches!(mode, Mode::Once | Mode::Masterless) {
            return Ok(None);
        }
        if qps == 0 {
            return Err(self.further("--sin swings around --qps, which must be >= 1 with it"));
        }
        let mean_ops = f64::from(qps);
        let period = Span::from_ms(u64::from(period_ms));
        Ok(Some(Sinusoid { mean_ops, amplitude_ops: mean_ops * part, period }))
    }

    /// Adds notes about options that have no effect, and about those that do not do what a page
    /// says.
    pub(super) fn note_what_is_passed_over(&mut self, mode: &Mode) {
        let given = self.given;
        for (long, letter) in [("measure_qps", 'Q'), ("measure_depth", 'D')] {
            if given.has(long) && !self.has_agents() {
                self.note(format!(
                    "--{long} (-{letter}) is ignored without --agent, as the original does."
                ));
            }
        }
        if given.has("password") && !given.has("username") {
            self.note("--password (-P) is ignored without --username (-U).");
        }
        if given.has("moderate") {
            self.note(
                "--moderate: the original's page says 1/lambda, but it keeps 250 us between an \
                 answer and the next request, whatever the rate; so it is here.",
            );
        }
        if given.has("trace") && self.takes_frames_only() {
            self.note(
                "--trace (-e) is ignored with --binary and --username (-U): servers that want a \
                 user by SASL take no lines.",
            );
        }
        if given.has("sin_amplitude") && !given.has("sin") {
            self.note("--sin_amplitude is ignored without --sin.");
        }
        self.note_search(mode);
        self.note_idle_modes(mode);
        self.note_idle_waveform(mode);
    }

    fn note_search(&mut self, mode: &Mode) {
        let (Mode::Search(search), Some(word)) = (mode, self.given.word("search")) else { return };
        if Search::has_fraction(word) {
            self.note(format!(
                "--search {word}: the original reads whole numbers, so this is {}:{}; write 999 \
                 for 99.9.",
                search.word.split('.').next().unwrap_or_default(),
                search.bound_us
            ));
        }
        if search.searched == Searched::Sets && self.face.is_mutilate() {
            self.note(
                "--search with --update 1.0 looks at sets; the original looks at gets, of which \
                 there are none.",
            );
        }
    }

    fn note_idle_modes(&mut self, mode: &Mode) {
        let by = match mode {
            Mode::Once | Mode::Dynamic(_) => return,
            Mode::LoadOnly => "--loadonly",
            Mode::Masterless => "--masterless_agentmode (-M)",
            Mode::Search(_) => "--search",
            Mode::Scan(_) => "--scan",
        };
        let is_run = matches!(mode, Mode::Masterless);
        for long in ["search", "scan", "qps_interval", "sin", "trace"] {
            let is_itself = by.strip_prefix("--") == Some(long);
            let is_for_runs = matches!(long, "sin" | "trace");
            if self.given.has(long) && !is_itself && !(is_run && is_for_runs) {
                self.note(format!("--{long} is ignored with {by}."));
            }
        }
    }

    fn note_idle_waveform(&mut self, mode: &Mode) {
        let given = self.given;
        if self.face == Face::McperfDynamic && given.has("qps_target") {
            if !given.has("qps_interval") {
                self.note(format!(
                    "--qps_target without --qps_interval does not change the rate, but the run \
                     takes a second for each: {} s.",
                    given.count("qps_target")
                ));
            }
            if given.has("time") {
                self.note("--time is ignored with --qps_target: their number decides.");
            }
        }
        let Mode::Dynamic(dynamic) = mode else { return };
        if given.has("qps") {
            self.note("--qps is ignored with --qps_interval.");
        }
        if matches!(dynamic.waveform, Waveform::Random { .. }) && !given.has("qps_max") {
            self.note(
                "--qps_max: the page of memcache-perf-dynamic says 100000, the program takes \
                 10000 when it is not given; it is 10000 here.",
            );
        }
    }
}

/// A total rate that can be requested.
fn rate(number: i32) -> Option<u32> {
    u32::try_from(number).ok().filter(|rate| *rate <= RATE_MAX)
}
