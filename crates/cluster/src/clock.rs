//! placeholder until the comparison of clocks is merged
/// X
#[derive(Debug)]
pub struct ClockBounds;
/// X
#[allow(missing_docs)]
pub struct Offset {
    pub ahead_ns: i64,
    pub error_ns: u64,
    pub agent_clock_ns: u64,
}
#[allow(missing_docs)]
impl ClockBounds {
    pub fn new() -> Self {
        Self
    }
    pub fn ping(&mut self, _s: u64, _r: u64, _a: u64) {}
    pub fn at(&self, _now: u64) -> Option<Offset> {
        None
    }
    pub fn agent_instant(&self, _n: u64) -> Option<u64> {
        None
    }
}
