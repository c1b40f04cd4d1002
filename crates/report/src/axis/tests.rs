//! Figures on axes and their ticks.

use super::*;

#[test]
fn figures_are_placed_within_the_range_and_ticks_are_round() {
    let word = |value: f64| value.to_string();
    let log = Axis::over(Scale::Log, [2e3, 9e6].into_iter(), word);
    assert!(log.place(2e3) > 0.0 && log.place(9e6) < 1.0 && log.place(0.0) == 0.0);
    let ticks: Vec<f64> = log.ticks().into_iter().map(|(value, _)| value).collect();
    assert_eq!(ticks, [1e4, 1e5, 1e6, 1e7]);
    let linear = Axis::over(Scale::Linear, [3.0, f64::NAN, 47.0].into_iter(), word);
    let ticks: Vec<f64> = linear.ticks().into_iter().map(|(value, _)| value).collect();
    assert_eq!(ticks, [0.0, 10.0, 20.0, 30.0, 40.0]);
    let nines = Axis::over(Scale::Nines, [0.999].into_iter(), word);
    assert!((nines.place(0.99) - 2.0 / 3.0).abs() < 1e-9);
    assert_eq!(nines.ticks().len(), 5);
    let nothing = Axis::over(Scale::Linear, [].into_iter(), word);
    assert!(!nothing.ticks().is_empty());
}

#[test]
fn an_axis_of_a_page_has_at_least_four_labels() {
    let word = |value: f64| value.to_string();
    for scale in [Scale::Linear, Scale::Log, Scale::Nines] {
        let mut high: f64 = 1.0;
        while high < 1e9 {
            let values = match scale {
                Scale::Nines => [0.0, 1.0 - 1.0 / (1.0 + high)],
                _ => [high / 1.7, high],
            };
            let axis = Axis::over(scale, values.into_iter(), word);
            let count = axis.ticks().len();
            assert!((4..=10).contains(&count), "{scale:?} to {high}: {:?}", axis.ticks());
            high *= 1.37;
        }
    }
}
