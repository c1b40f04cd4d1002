//! histograms and counters that never allocate while recording.
#![forbid(unsafe_code)]
