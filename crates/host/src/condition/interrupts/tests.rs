//! Counts of interrupts as planted texts.

use super::*;

const BEFORE: &str = "           CPU0       CPU2\n 24:  10  20  IO-APIC  5-edge  net0\nLOC:  \
                      100  200  Local timer interrupts\nERR:  0\n";
const AFTER: &str = "           CPU0       CPU2\n 24:  15  920  IO-APIC  5-edge  net0\nLOC:  \
                     150  300  Local timer interrupts\nERR:  0\n";

#[test]
fn each_cpu_has_its_rate_and_its_largest_source() {
    let (before, after) = (Interrupts::of(BEFORE), Interrupts::of(AFTER));
    let of = after.since(&before, Span::from_s(2));
    let expected = [(0, 27.5, "LOC interrupts"), (2, 500.0, "24 net0")];
    let seen: Vec<_> = of.iter().map(|it| (it.cpu, it.per_s, it.source.as_str())).collect();
    assert_eq!(seen, expected);
}

#[test]
fn what_the_kernel_does_not_show_is_missing() {
    assert!(Interrupts::of("").since(&Interrupts::default(), Span::from_s(1)).is_empty());
}
