//! The report of a run. A section without figures is left out, as in twemperf; a number without
//! values is 0.0, never nan or inf.

use super::material::{Material, Spread};
use memtide_metrics::histogram::Histogram;
use memtide_metrics::summary::rank;
use std::fmt::{Arguments, Write};

/// Nanoseconds in a millisecond.
const MS_NS: f64 = 1e6;
/// The last bin of the histogram, in ms; it includes longer times.
const BIN_MAX: u64 = 99_999;
/// Bytes in a KB.
const KILO: f64 = 1024.0;

/// The report, with an empty line at both ends. `is_histogram_shown` adds response times, counted
/// by the millisecond.
pub fn report(material: &Material, is_histogram_shown: bool) -> String {
    let mut text = Text(String::from("\n"));
    let Material { connections, requests, responses, duration_s, .. } = material;
    text.line(format_args!(
        "Total: connections {connections} requests {requests} responses {responses} \
         test-duration {duration_s:.3} s"
    ));
    text.blank();
    if *connections > 0 {
        let (rate, each_ms) = pace(*connections, *duration_s);
        let most = material.concurrent_max;
        text.line(format_args!(
            "Connection rate: {rate:.1} conn/s ({each_ms:.1} ms/conn <= {most} concurrent \
             connections)"
        ));
        text.figures("Connection time [ms]", &material.connection_ms);
        text.figures("Connect time [ms]", &material.connect_ms);
        text.blank();
    }
    if *requests > 0 {
        let (rate, each_ms) = pace(*requests, *duration_s);
        text.line(format_args!("Request rate: {rate:.1} req/s ({each_ms:.1} ms/req)"));
        text.figures("Request size [B]", &material.request_bytes);
        text.blank();
    }
    if *responses > 0 {
        text.responses(material, is_histogram_shown);
        text.blank();
    }
    text.errors(material);
    text.blank();
    text.costs(material);
    text.blank();
    text.0
}

/// The number per second, and the ms for each.
fn pace(count: u64, duration_s: f64) -> (f64, f64) {
    (share(count as f64, duration_s), share(duration_s * 1e3, count as f64))
}

/// `part` divided by `whole`; 0 if `whole` is 0.
fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

struct Text(String);

impl Text {
    fn line(&mut self, what: Arguments<'_>) {
        self.0.write_fmt(what).expect("writing to a string succeeds");
        self.blank();
    }

    fn blank(&mut self) {
        self.0.push('\n');
    }

    fn figures(&mut self, label: &str, figures: &Spread) {
        let Spread { mean, min, max, deviation } = figures;
        self.line(format_args!(
            "{label}: avg {mean:.1} min {min:.1} max {max:.1} stddev {deviation:.2}"
        ));
    }

    fn responses(&mut self, material: &Material, is_histogram_shown: bool) {
        let (rate, each_ms) = pace(material.responses, material.duration_s);
        self.line(format_args!("Response rate: {rate:.1} rsp/s ({each_ms:.1} ms/rsp)"));
        self.figures("Response size [B]", &material.response_bytes);
        let times = &material.response_ns;
        self.figures("Response time [ms]", &Spread::of(times, MS_NS));
        if is_histogram_shown {
            self.line(format_args!("Response time histogram [ms]:"));
            self.histogram(times);
        }
        let [p25, p50, p75, p95, p99, p999] = [0.25, 0.5, 0.75, 0.95, 0.99, 0.999].map(|share| {
            let ns = times.value_at_rank(rank(share, times.count()));
            ns.unwrap_or(0) as f64 / MS_NS
        });
        self.line(format_args!("Response time [ms]: p25 {p25:.1} p50 {p50:.1} p75 {p75:.1}"));
        self.line(format_args!("Response time [ms]: p95 {p95:.1} p99 {p99:.1} p999 {p999:.1}"));
        let said = &material.replies;
        self.line(format_args!(
            "Response type: stored {} not_stored {} exists {} not_found {}",
            said.stored, said.not_stored, said.exists, said.not_found
        ));
        self.line(format_args!(
            "Response type: num {} deleted {} end {} value {}",
            said.number, said.deleted, said.end, said.value
        ));
        self.line(format_args!(
            "Response type: error {} client_error {} server_error {}",
            said.error, said.client_error, said.server_error
        ));
    }

    /// Writes a line for each millisecond to which times are rounded, and a colon for each gap of
    /// milliseconds without times.
    fn histogram(&mut self, times: &Histogram<u64>) {
        // The first bin that has no line yet.
        let mut next = 0;
        let mut bins = times.recorded().peekable();
        while let Some((ns, mut count)) = bins.next() {
            let bin = bin(ns);
            while let Some((_, more)) = bins.next_if(|&(ns, _)| self::bin(ns) == bin) {
                count += more;
            }
            if bin > next {
                self.gap();
            }
            self.line(format_args!("{:>16.1} {count}", bin as f64));
            next = bin + 1;
        }
        if next <= BIN_MAX {
            self.gap();
        }
    }

    fn gap(&mut self) {
        self.line(format_args!("{:>14}", ':'));
    }

    fn errors(&mut self, material: &Material) {
        let errors = &material.errors;
        self.line(format_args!(
            "Errors: total {} client-timo {} socket-timo {} connrefused {} connreset {}",
            errors.total(),
            errors.client_timed_out,
            errors.socket_timed_out,
            errors.refused,
            errors.reset
        ));
        self.line(format_args!(
            "Errors: fd-unavail {} ftab-full {} addrunavail {} other {}",
            errors.no_descriptors, errors.file_table_full, errors.no_ports, errors.other
        ));
    }

    fn costs(&mut self, material: &Material) {
        let (user, system) = (material.cpu.user_s, material.cpu.system_s);
        let [of_user, of_system, of_both] =
            [user, system, user + system].map(|cpu_s| share(cpu_s, material.duration_s) * 100.0);
        self.line(format_args!(
            "CPU time [s]: user {user:.2} system {system:.2} (user {of_user:.1}% system \
             {of_system:.1}% total {of_both:.1}%)"
        ));
        if material.requests == 0 && material.responses == 0 {
            return;
        }
        let bytes = material.requests as f64 * material.request_bytes.mean
            + material.responses as f64 * material.response_bytes.mean;
        let rate = share(bytes, material.duration_s);
        let (amount, unit) = scaled(bytes);
        self.line(format_args!(
            "Net I/O: bytes {amount:.1} {unit} rate {:.1} KB/s ({:.1}*10^6 bps)",
            rate / KILO,
            rate * 8.0 / 1e6
        ));
    }
}

/// The millisecond to which a time is rounded; halves go to the even one, as with C's lrint.
fn bin(ns: u64) -> u64 {
    let ms = (ns as f64 / MS_NS).round_ties_even() as u64;
    ms.min(BIN_MAX)
}

/// A number of bytes in the largest unit that makes it at least 1.
fn scaled(bytes: f64) -> (f64, &'static str) {
    let mut amount = bytes;
    let mut units = ["B", "KB", "MB", "GB"].into_iter();
    let mut unit = units.next().expect("there are four");
    for larger in units {
        if amount < KILO {
            break;
        }
        amount /= KILO;
        unit = larger;
    }
    (amount, unit)
}
