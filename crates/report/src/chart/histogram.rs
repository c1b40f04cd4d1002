//! The picture of a histogram: a bar per bin, and lines at common percentiles.
//!
//! Bins are 8 % wide, as in memcache-perf's plots: wide enough to see at this size.

use super::canvas::{Area, Draw, Drawn, FONT};
use super::{count_range, count_tick, time_axis, time_tick};
use crate::number::time;
use memtide_metrics::histogram::Histogram;
use memtide_metrics::summary::rank;
use plotters::prelude::*;
use std::collections::BTreeMap;

/// Factor by which each bin is wider than the one before.
const GROWTH: f64 = 1.08;
const BAR: RGBColor = RGBColor(86, 120, 173);
const MARKS: [(f64, &str, RGBColor); 3] = [
    (0.5, "p50", RGBColor(46, 125, 50)),
    (0.95, "p95", RGBColor(230, 126, 0)),
    (0.99, "p99", RGBColor(198, 40, 40)),
];

/// Content of the picture.
pub(super) struct Picture<'a> {
    pub(super) title: &'a str,
    /// Times in ns.
    pub(super) times: &'a Histogram<u64>,
}

impl Draw for Picture<'_> {
    fn draw<D: DrawingBackend>(&self, area: &Area<D>) -> Drawn<D> {
        let bins = self.bins();
        let edges = bins.keys().flat_map(|&bin| [edge_ns(bin) as u64, edge_ns(bin + 1) as u64]);
        let counts = count_range(bins.values().map(|&count| count as f64));
        let mut chart = ChartBuilder::on(area)
            .caption(self.title, (FONT, 24))
            .margin(16)
            .x_label_area_size(48)
            .y_label_area_size(72)
            .build_cartesian_2d(time_axis(edges), counts.clone())?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(TRANSPARENT)
            .label_style((FONT, 16))
            .axis_desc_style((FONT, 18))
            .x_desc("time, ms")
            .y_desc("operations")
            .x_label_formatter(&time_tick)
            .y_label_formatter(&count_tick)
            .draw()?;
        chart.draw_series(bins.iter().map(|(&bin, &count)| {
            let (from, to) = (edge_ns(bin), edge_ns(bin + 1));
            Rectangle::new([(from, 0.0), (to, count as f64)], BAR.filled())
        }))?;
        for (fraction, name, color) in MARKS {
            let rank = rank(fraction, self.times.count());
            let Some(ns) = self.times.value_at_rank(rank) else { continue };
            let at = ns.max(1) as f64;
            chart
                .draw_series([PathElement::new(
                    vec![(at, counts.start), (at, counts.end)],
                    color.stroke_width(2),
                )])?
                .label(format!("{name} {}", time(ns as f64)))
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], color));
        }
        if self.times.count() > 0 {
            chart
                .configure_series_labels()
                .background_style(WHITE.mix(0.85))
                .border_style(BLACK.mix(0.3))
                .label_font((FONT, 16))
                .position(SeriesLabelPosition::UpperRight)
                .draw()?;
        }
        Ok(())
    }
}

impl Picture<'_> {
    fn bins(&self) -> BTreeMap<i32, u64> {
        let mut bins = BTreeMap::new();
        for (ns, count) in self.times.recorded() {
            let bin = ((ns.max(1) as f64).ln() / GROWTH.ln()).floor() as i32;
            *bins.entry(bin).or_default() += count;
        }
        bins
    }
}

/// Lower edge of a bin, in ns.
fn edge_ns(bin: i32) -> f64 {
    GROWTH.powf(f64::from(bin))
}
