//! Settings of the kernel that delay wake-ups or slow CPUs down. A virtual machine shows few.

use memtide_base::Span;
use std::fs;

/// The folder of a CPU's settings.
fn folder(cpu: usize) -> String {
    format!("/sys/devices/system/cpu/cpu{cpu}")
}

/// How the kernel chooses the clock frequency of `cpu`; `None` if it does not say.
pub fn governor(cpu: usize) -> Option<String> {
    word(&format!("{}/cpufreq/scaling_governor", folder(cpu)))
}

/// A state in which an idle CPU saves energy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleState {
    /// The kernel's name of the state, such as `C6`.
    pub name: String,
    /// Time to leave it, as the kernel knows it.
    pub exit: Span,
}

/// The deepest state of idleness that `cpu` may enter; `None` if the kernel does not say.
pub fn idle_state(cpu: usize) -> Option<IdleState> {
    let states = (0..).map(|number| format!("{}/cpuidle/state{number}", folder(cpu)));
    let states = states.map_while(|state| word(&format!("{state}/name")).map(|name| (state, name)));
    let allowed =
        states.filter(|(state, _)| word(&format!("{state}/disable")).as_deref() != Some("1"));
    let idle = allowed.filter_map(|(state, name)| {
        let us = word(&format!("{state}/latency"))?.parse().ok()?;
        Some(IdleState { name, exit: Span::from_us(us) })
    });
    idle.max_by_key(|idle| idle.exit)
}

/// By how much the kernel may delay the timers of a new thread, to wake several at once; `None` if
/// it does not say. memtide's workers set the least for themselves.
pub fn inherited_slack() -> Option<Span> {
    word("/proc/self/timerslack_ns")?.parse().ok().map(Span::from_ns)
}

fn word(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned()).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_does_not_show_is_missing() {
        assert_eq!(governor(usize::MAX), None);
        assert_eq!(idle_state(usize::MAX), None);
        assert!(inherited_slack().is_some_and(|slack| slack > Span::ZERO));
    }
}
