//! The figures of a record, each with its range, memtide's own share, and its grade.

use super::NO_SLICES;
use super::eighths::moved;
use crate::record::{Distribution, Percentile, Record};
use memtide_belief::grade::{Grade, YES_MAX, half_width};
use memtide_belief::{Confidence, Sample};
use memtide_metrics::quantile;
use memtide_scenario::{Kind, Measure};
use std::fmt;

/// The operations and times that a figure is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Channel {
    /// The achieved rate.
    Rate,
    /// Response times of a kind of operation.
    Response(Kind),
    /// Service times of a kind of operation.
    Service(Kind),
    /// Response times of one server, by its name.
    Server(String),
}

impl fmt::Display for Channel {
    /// Formats the channel as in goals: `get`, `service.get`, `rate`; a server by its name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate => f.write_str("rate"),
            Self::Response(kind) => write!(f, "{kind}"),
            Self::Service(kind) => write!(f, "service.{kind}"),
            Self::Server(name) => f.write_str(name),
        }
    }
}

/// A figure of a record, and how far it can be believed. Times are in ns, rates per second.
#[derive(Clone, Debug, PartialEq)]
pub struct GradedFigure {
    /// The operations and times that it is about.
    pub of: Channel,
    /// The measure of the times; none for the rate.
    pub measure: Option<Measure>,
    /// The measured value; none if it is missing.
    pub value: Option<f64>,
    /// The confidence interval of 95 %, from sampling alone; none if it is refused or unknown.
    pub interval: Option<[f64; 2]>,
    /// The range of its values in the eighths of the window, where these decide because the
    /// interval is refused or wide, or is narrow although they move; none otherwise.
    pub eighths: Option<[f64; 2]>,
    /// The range in which the true value lies: the interval or what decides instead, and below it
    /// what memtide may have added. None without them.
    pub range: Option<[f64; 2]>,
    /// The most of the value that may be memtide's own, as a fraction; none if unknown. 1 says that
    /// nothing is known from below: print `≤`.
    pub own: Option<f64>,
    /// Half the width of the range: √(high ÷ low) − 1, and at least half of the change of a figure
    /// that drifts; none without a range.
    pub half_width: Option<f64>,
    /// The grade.
    pub grade: Grade,
    /// Reason why the grade is not yes, as a clause for people; none if it is.
    pub reason: Option<String>,
    /// Independent operations that would be as exact; none if unknown, and for the mean.
    pub n_effective: Option<f64>,
}

impl GradedFigure {
    /// Name of the measure alone: `p99`, `mean` or `rate`.
    pub fn name(&self) -> String {
        match self.measure {
            None => "rate".to_owned(),
            Some(Measure::Mean) => "mean".to_owned(),
            Some(Measure::Max) => "max".to_owned(),
            Some(Measure::Percentile(percent)) => format!("p{percent}"),
        }
    }

    /// Full name, as in goals: `get.p99`, `rate`.
    pub fn full_name(&self) -> String {
        match self.of {
            Channel::Rate => self.name(),
            _ => format!("{}.{}", self.of, self.name()),
        }
    }

    /// The ends between which the value lies as far as sampling goes: of its eighths where these
    /// decide, else of its interval.
    pub fn sampled(&self) -> Option<[f64; 2]> {
        self.eighths.or(self.interval)
    }

    /// The figure with the grade that its parts give it. `missing` is the reason for which it has
    /// no range.
    fn graded(mut self, missing: &str) -> Self {
        let sampled = self.sampled();
        self.half_width = self.range.map(|[low, high]| half_width(low, high));
        let graded = if self.eighths.is_some() { Grade::at_most_within } else { Grade::of };
        self.grade = self.half_width.map_or(Grade::No, graded);
        let by_sampling = sampled.map_or(0.0, |[low, high]| half_width(low, high));
        self.reason = match (self.half_width, self.grade) {
            (_, Grade::Yes) => None,
            (None, _) => Some(missing.to_owned()),
            // What is left without memtide's lateness is better than half of what is there.
            (Some(x), _)
                if self.own.is_some_and(|own| own > YES_MAX)
                    && (by_sampling < x / 2.0 || Grade::of(by_sampling) == Grade::Yes) =>
            {
                Some(LATE.to_owned())
            }
            (Some(_), _) if self.eighths.is_some() => self.eighths.map(moved),
            (Some(_), _) => Some(match (self.n_effective, self.measure) {
                (Some(n), Some(Measure::Percentile(percent))) => {
                    let beyond = n * (1.0 - percent / 100.0).min(percent / 100.0);
                    format!("{beyond:.0} effective operations beyond it")
                }
                _ => "few effective operations".to_owned(),
            }),
        };
        self
    }
}

/// The range of a figure, in ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranged {
    /// Lower end by sampling alone.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Lower end without what memtide may have added.
    pub own_low: f64,
}

/// Reason why a mean is not known.
pub(crate) const SOME_UNANSWERED: &str = "operations were not answered";

/// The reason of a figure that memtide's own delay makes wide.
pub const LATE: &str = "memtide was late";

impl Record {
    /// Every figure with its grade: the rate, then response times by kind, service times by kind,
    /// and response times by server, each with its percentiles ascending and its mean. In a record
    /// of agents beside a master's own load, the figures are those of [`Record::judged`], which the
    /// caller chooses.
    pub fn graded(&self) -> Vec<GradedFigure> {
        let response = self.response.iter().map(|(kind, of)| (Channel::Response(*kind), of));
        let service = self.service.iter().map(|(kind, of)| (Channel::Service(*kind), of));
        let servers = self.servers.iter().filter(|_| self.servers.len() > 1);
        let servers = servers.map(|of| (Channel::Server(of.name.clone()), &of.response));
        let mut figures = vec![self.rate_figure()];
        for (of, times) in response.chain(service).chain(servers) {
            let percentiles = Percentile::ALL.map(|it| Measure::Percentile(percent(it)));
            let measures = percentiles.into_iter().chain([Measure::Mean]);
            figures.extend(measures.map(|measure| self.time_figure(of.clone(), times, measure)));
        }
        figures
    }

    /// One figure of response times; none if no such operation was measured.
    pub fn response_figure(&self, kind: Kind, measure: Measure) -> Option<GradedFigure> {
        let times = self.response.get(&kind)?;
        Some(self.time_figure(Channel::Response(kind), times, measure))
    }

    /// The confidence interval of a percentile or mean of response times, and its lower end without
    /// what memtide may have added. None if the record kept no slices, or the interval is refused.
    pub fn response_range(
        &self,
        kind: Kind,
        measure: Measure,
        confidence: Confidence,
    ) -> Option<Ranged> {
        let times = self.response.get(&kind)?;
        let Parts { value, interval, own_low, range_low, .. } = match measure {
            Measure::Percentile(percent) => self.computed(kind, percent / 100.0, confidence)?,
            Measure::Mean => Parts {
                interval: self.mean_interval(kind, confidence),
                range_low: None,
                ..Parts::of_mean(times)
            },
            Measure::Max => return None,
        };
        let [low, high] = interval?;
        let own = match (value, own_low) {
            (Some(value), Some(own_low)) => Some(share(own_low, value)),
            _ => self.response_figure(Kind::All, measure).and_then(|all| all.own),
        };
        let own_low = range_low.or(own.map(|own| low * (1.0 - own))).unwrap_or(low);
        Some(Ranged { low, high, own_low: own_low.min(low) })
    }

    /// The interval of the mean of response times, from the slices.
    fn mean_interval(&self, kind: Kind, confidence: Confidence) -> Option<[f64; 2]> {
        let times = self.response.get(&kind).filter(|times| times.mean_ns.is_some())?;
        let slicing = self.slicing.as_ref()?;
        let slices = slicing.channel(slicing.response.get(&kind)).ok()?;
        let (whole, unanswered) = (&times.times()?, times.unanswered);
        let rates = &self.intended(slicing).rates;
        let sample = Sample { whole, unanswered, slices: &slices, rates };
        let of = sample.mean_at(confidence).ok()?;
        Some([of.low, of.high])
    }

    /// True if slices were kept from which intervals follow.
    pub fn has_slices(&self) -> bool {
        self.slicing.as_ref().is_some_and(|slicing| slicing.unusable.is_none())
    }

    /// The achieved rate in operations per second.
    pub fn rate_figure(&self) -> GradedFigure {
        let rate = &self.rate;
        let interval = rate.achieved_ci_low_per_s.zip(rate.achieved_ci_high_per_s);
        let interval = interval.map(<[f64; 2]>::from);
        let figure = GradedFigure {
            of: Channel::Rate,
            measure: None,
            value: Some(rate.achieved_per_s).filter(|rate| rate.is_finite()),
            interval,
            eighths: None,
            range: interval,
            own: None,
            half_width: None,
            grade: Grade::No,
            reason: None,
            n_effective: None,
        };
        self.with_drift(figure.graded(self.no_slices()))
    }

    /// The factor by which a run must be longer for this percentile or mean of response times to
    /// have an interval; none if it has one, or if no length would give it one.
    pub fn longer(&self, figure: &GradedFigure) -> Option<f64> {
        let Channel::Response(kind) = figure.of else { return None };
        let percent = match figure.measure {
            Some(Measure::Percentile(percent)) => percent,
            // Whether a run is long enough at all is the median's to say.
            Some(Measure::Mean) => 50.0,
            Some(Measure::Max) | None => return None,
        };
        self.computed(kind, percent / 100.0, Confidence::P95)?.longer
    }

    /// Reason why there are no intervals at all.
    fn no_slices(&self) -> &str {
        let unusable = self.slicing.as_ref().map(|slicing| slicing.unusable.as_deref());
        unusable.map_or(NO_SLICES, |why| why.unwrap_or("too few slices of the window"))
    }

    fn time_figure(&self, of: Channel, times: &Distribution, measure: Measure) -> GradedFigure {
        let published = published(measure);
        let stored = match measure {
            Measure::Mean => Parts::of_mean(times),
            Measure::Percentile(_) if published.is_some() => {
                published.map_or_else(Parts::default, |it| Parts::of_percentile(times, it))
            }
            Measure::Percentile(percent) => match &of {
                Channel::Response(kind) => {
                    self.computed(*kind, percent / 100.0, Confidence::P95).unwrap_or_default()
                }
                _ => Parts::default(),
            },
            Measure::Max => Parts { value: times.max_ns.map(|ns| ns as f64), ..Parts::default() },
        };
        let Parts { value, interval, own_low, range_low, n_effective, missing, .. } = stored;
        let mut own = value.zip(own_low).map(|(value, low)| share(low, value));
        let mut low = range_low.or(interval.map(|[low, _]| low));
        // Where memtide's own share is not bounded apart, it is taken to be as large as that of
        // all response times.
        if own.is_none() && of != Channel::Response(Kind::All) {
            own = self.response_figure(Kind::All, measure).and_then(|all| all.own);
            low = low.zip(own).map(|(low, own)| low * (1.0 - own)).or(low);
        }
        let eighths = match (&of, measure) {
            (Channel::Response(Kind::All), Measure::Percentile(percent)) => {
                self.deciding_eighths(percent / 100.0, interval)
            }
            _ => None,
        };
        if let Some([lowest, _]) = eighths {
            low = Some(lowest * (1.0 - own.unwrap_or(0.0)));
        }
        let mut figure = GradedFigure {
            of,
            measure: Some(measure),
            value,
            interval,
            eighths,
            range: low.zip(eighths.or(interval)).map(|(low, [_, high])| [low, high]),
            own,
            half_width: None,
            grade: Grade::No,
            reason: None,
            n_effective,
        };
        figure = figure.graded(missing.as_deref().unwrap_or(self.no_slices()));
        if figure.eighths.is_some() && self.wave().is_some() {
            figure.reason = figure.reason.map(|reason| format!("{reason}, over a wave"));
        }
        figure = self.with_drift(figure);
        if figure.grade == Grade::Yes && self.is_unbounded() {
            figure.grade = Grade::at_most_within(YES_MAX);
            figure.reason = Some("workers of a closed loop were late".to_owned());
        }
        figure
    }

    /// The parts of a percentile for which a record has no member, from the slices.
    fn computed(&self, kind: Kind, p: f64, confidence: Confidence) -> Option<Parts> {
        let times = self.response.get(&kind)?;
        let (whole, unanswered) = (&times.times()?, times.unanswered);
        let value = quantile(whole, unanswered, p).known().map(|ns| ns as f64);
        let slices = match &self.slicing {
            Some(slicing) => slicing.channel(slicing.response.get(&kind)),
            None => Err(NO_SLICES.to_owned()),
        };
        let punctual = self.punctual_of(kind);
        let own = punctual.as_ref().map(|punctual| times.own_of(punctual, self.others()));
        let own_low = own.zip(value).map(|(own, value)| own.at(p).min(value));
        let intended = self.slicing.as_ref().map(|slicing| self.intended(slicing));
        let rates = intended.as_ref().map_or(&[][..], |intended| &intended.rates);
        let found = slices.map_err(|why| (why, None)).and_then(|slices| {
            let sample = Sample { whole, unanswered, slices: &slices, rates };
            let below =
                Percentile::CHAIN.map(Percentile::fraction).into_iter().filter(|of| *of < p);
            let below = if p < 0.5 { vec![0.5] } else { below.collect() };
            let chain: Vec<f64> = below.into_iter().chain([p]).collect();
            let ranks = sample
                .ranks_at(&chain, confidence)
                .pop()
                .expect("it has as many as it was asked for");
            let ranks = ranks.map_err(|refusal| (refusal.words(), refusal.longer()))?;
            Ok((ranks, sample.between(&ranks)))
        });
        let (ranks, missing, longer) = match found {
            Ok((ranks, between)) => (Some(ranks).zip(between), None, None),
            Err((why, longer)) => (None, Some(why), longer),
        };
        Some(Parts {
            value,
            interval: ranks.map(|(_, of)| [of.low, of.high]),
            own_low,
            range_low: ranks.zip(own).map(|((ranks, of), own)| own.at(ranks.low).min(of.low)),
            n_effective: ranks.map(|(ranks, _)| ranks.effective),
            missing,
            longer,
        })
    }
}

/// The part of `value` above `low`.
fn share(low: f64, value: f64) -> f64 {
    if value > 0.0 { (1.0 - low / value).clamp(0.0, 1.0) } else { 0.0 }
}

/// The percentile with its number as goals write it.
fn percent(percentile: Percentile) -> f64 {
    (percentile.fraction() * 1e5).round() / 1e3
}

/// The published percentile that `measure` is, if it is one.
fn published(measure: Measure) -> Option<Percentile> {
    let Measure::Percentile(number) = measure else { return None };
    Percentile::ALL.into_iter().find(|it| (percent(*it) - number).abs() < 1e-9)
}

/// What a record holds of one figure.
#[derive(Default)]
struct Parts {
    value: Option<f64>,
    interval: Option<[f64; 2]>,
    own_low: Option<f64>,
    range_low: Option<f64>,
    n_effective: Option<f64>,
    missing: Option<String>,
    /// The factor by which a longer run would have an interval, if it has none.
    longer: Option<f64>,
}

impl Parts {
    fn of_mean(times: &Distribution) -> Self {
        let own = times.own.as_ref();
        Self {
            value: times.mean_ns,
            interval: times.mean_interval(),
            own_low: own.and_then(|own| own.mean_low_ns),
            range_low: own.and_then(|own| own.mean_range_low_ns),
            n_effective: None,
            missing: match times.mean_ns {
                None if times.unanswered > 0 => Some(SOME_UNANSWERED.to_owned()),
                _ => times.no_interval.get(&Percentile::P50).cloned(),
            },
            longer: None,
        }
    }

    fn of_percentile(times: &Distribution, percentile: Percentile) -> Self {
        let own = times.own.as_ref();
        let own_low = own.and_then(|own| own.low_ns.get(&percentile));
        let range_low = own.and_then(|own| own.range_low_ns.get(&percentile));
        Self {
            value: times.percentile(percentile).map(|ns| ns as f64),
            interval: times.interval(percentile).map(|ends| ends.map(|ns| ns as f64)),
            own_low: own_low.map(|ns| *ns as f64),
            range_low: range_low.map(|ns| *ns as f64),
            n_effective: times.n_effective.get(&percentile).copied(),
            missing: times.no_interval.get(&percentile).cloned(),
            longer: None,
        }
    }
}
