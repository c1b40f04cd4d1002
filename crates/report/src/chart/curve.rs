//! The picture of a scan or a search: times against the rate, and where they cross a limit.

use super::canvas::{Area, Draw, Drawn, FONT};
use super::{Curve, CurvePoint, count_range, count_tick, time_axis, time_tick};
use plotters::prelude::*;

/// Selects a percentile of a point.
type Of = fn(&CurvePoint) -> Option<u64>;

const LINES: [(&str, RGBColor, Of); 3] = [
    ("p50", RGBColor(46, 125, 50), |point| point.p50_ns),
    ("p95", RGBColor(230, 126, 0), |point| point.p95_ns),
    ("p99", RGBColor(198, 40, 40), |point| point.p99_ns),
];
const GOAL: RGBColor = RGBColor(60, 60, 60);

impl Draw for Curve {
    fn draw<D: DrawingBackend>(&self, area: &Area<D>) -> Drawn<D> {
        let limit = self.goal.iter().map(|goal| goal.limit_ns);
        let times = self.points.iter().flat_map(|point| LINES.map(|(_, _, of)| of(point)));
        let rates = count_range(self.points.iter().map(|point| point.rate_per_s));
        let mut chart = ChartBuilder::on(area)
            .caption(&self.title, (FONT, 24))
            .margin(16)
            .x_label_area_size(48)
            .y_label_area_size(72)
            .build_cartesian_2d(rates.clone(), time_axis(times.flatten().chain(limit)))?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .label_style((FONT, 16))
            .axis_desc_style((FONT, 18))
            .x_desc(format!("{}s per second", self.unit.noun()))
            .y_desc("time, ms")
            .x_label_formatter(&count_tick)
            .y_label_formatter(&time_tick)
            .draw()?;
        for (name, color, of) in LINES {
            let places = self.points.iter().map(|point| (point.rate_per_s, of(point)));
            let points: Vec<(f64, f64)> =
                places.filter_map(|(per_s, ns)| Some((per_s, ns?.max(1) as f64))).collect();
            chart
                .draw_series(LineSeries::new(points.iter().copied(), color.stroke_width(2)))?
                .label(name)
                .legend(move |(x, y)| {
                    PathElement::new([(x, y), (x + 20, y)], color.stroke_width(2))
                });
            chart.draw_series(points.into_iter().map(|at| Circle::new(at, 4, color.filled())))?;
        }
        if let Some(goal) = &self.goal {
            let at = goal.limit_ns.max(1) as f64;
            let across = [(rates.start, at), (rates.end, at)];
            chart
                .draw_series(DashedLineSeries::new(across, 8, 6, GOAL.stroke_width(2)))?
                .label(&goal.words)
                .legend(|(x, y)| PathElement::new([(x, y), (x + 20, y)], GOAL));
        }
        chart
            .configure_series_labels()
            .background_style(WHITE.mix(0.85))
            .border_style(BLACK.mix(0.3))
            .label_font((FONT, 16))
            .position(SeriesLabelPosition::UpperLeft)
            .draw()
    }
}
