//! Decides clients, connections, keys and values: the part of lowering in which these depend on
//! each other.

use memtide_scenario as word;
use memtide_scenario::{Load, Problem, RateUnit, Scenario};
use memtide_workload::{KeySpace, OpKind, ValueSpace, WindowLaw, WindowPlan};
use memtide_world::{Clients, Reach, Replicate};

/// Largest number of objects in all windows: 4 GB of memory.
const OBJECTS_MAX: u64 = 1_000_000_000;

/// The clients and their connections.
pub(super) struct ClientLayout {
    pub(super) clients: Clients,
    pub(super) connections: u32,
    /// Largest useful number of workers: more would have nothing to do.
    pub(super) workers_max: u32,
    /// The windows, if there are any.
    pub(super) window: Option<WindowPlan>,
}

impl ClientLayout {
    /// Layout of a decided scenario.
    pub(super) fn of(scenario: &Scenario, servers: u32) -> Result<Self, Problem> {
        let Some(count) = scenario.client.clients else {
            let each = scenario.connections.expect("connections that no client owns are decided");
            let (clients, connections) = (Clients::Workers, each * servers);
            return Ok(Self { clients, connections, workers_max: connections, window: None });
        };
        let each = u32::try_from(scenario.connections_of_client(servers)).unwrap_or(u32::MAX);
        let connections = count.checked_mul(each).ok_or_else(|| Problem {
            field: "connections-per-client".to_owned(),
            message: format!(
                "connections-per-client {} makes too many connections for {count} clients: use \
                 fewer of either",
                scenario.client.connections_per_client
            ),
        })?;
        let turn = scenario.client.connection_turn;
        let reach = reach(scenario);
        let clients = Clients::Counted { count, connections: each, turn, reach };
        let window = scenario.client.window.map(|law| {
            let WindowLaw::Objects(objects) = law else {
                unreachable!("the number of a window's objects is decided")
            };
            let reads_only = !scenario.mix.kinds().any(|kind| kind == OpKind::Set);
            WindowPlan {
                clients: count,
                objects,
                overwrite: scenario.client.overwrite,
                pick: scenario.client.pick,
                full: reads_only || scenario.load == Load::Always,
                keys_end: scenario.ops_max.filter(|_| scenario.rate_unit == RateUnit::Keys),
            }
        });
        if let Some(all) = window.as_ref().map(|window| window.slots().get())
            && all > OBJECTS_MAX
        {
            let message = format!(
                "the windows of {count} clients would have {all} objects, which is too many: use a \
                 smaller window or fewer clients, for at most {OBJECTS_MAX} objects"
            );
            return Err(Problem { field: "window".to_owned(), message });
        }
        let slots = window.as_ref().map_or(0, |window| window.slots().get());
        assert!(slots <= OBJECTS_MAX, "more objects are an error");
        Ok(Self { clients, connections, workers_max: count, window })
    }
}

/// The servers to which each client has connections.
fn reach(scenario: &Scenario) -> Reach {
    match (copies(scenario), scenario.transport) {
        // The cast is bounded by the number of servers.
        (Some((writers, copies)), _) => Reach::Servers { writers: writers as u16, copies },
        (None, word::Transport::Split) => {
            Reach::Split { reply_bytes_max: scenario.reply_bytes_max() as usize }
        }
        (None, word::Transport::Tcp | word::Transport::Udp) => Reach::Server,
    }
}

/// The reach in words, if it is unusual.
pub(super) fn reach_words(scenario: &Scenario) -> Option<String> {
    match (copies(scenario), scenario.transport) {
        (Some((writers, copies)), _) => {
            Some(format!("writes to {copies} of the first {writers} servers"))
        }
        (None, word::Transport::Split) => Some("gets by UDP".to_owned()),
        (None, word::Transport::Tcp | word::Transport::Udp) => None,
    }
}

/// Number of writers, and the copies of each write.
fn copies(scenario: &Scenario) -> Option<(u32, Replicate)> {
    let word::Replication { writers, replicate } = scenario.replication;
    Some((writers?, replicate.expect("it is decided where servers are written")))
}

/// Keys and values.
pub(super) struct Data {
    /// Number of keys that are requested and do not hold numbers; with windows, the number of
    /// slots.
    pub(super) ordinary: u64,
    pub(super) numeric: u64,
    pub(super) numeric_from: u64,
    pub(super) keys: KeySpace,
    pub(super) values: ValueSpace,
    pub(super) window: Option<WindowPlan>,
}

impl Data {
    pub(super) fn of(scenario: &Scenario, layout: &ClientLayout) -> Result<Self, Problem> {
        let seed = scenario.seed;
        let window = layout.window.clone();
        let has_own_numbers = scenario.numeric_keys == word::NumericKeys::Own;
        let numeric =
            if has_own_numbers && scenario.mix.uses_numeric() { scenario.keys } else { 0 };
        let (ordinary, below_numeric) = match &window {
            None => (scenario.keys, scenario.keys),
            Some(window) => (window.slots().get(), window.ids()),
        };
        let size = scenario.key_size.clone();
        let all = below_numeric.saturating_add(numeric);
        let keys =
            KeySpace::in_shape(scenario.key_shape.clone(), all, size, seed).map_err(|error| {
                Problem { field: "key-size".to_owned(), message: error.to_string() }
            })?;
        let values = values(scenario);
        // An object has the size of the one that it replaces.
        let (keys, values) = match &window {
            None => (keys, values),
            Some(window) => (keys.repeating(window.slots()), values.repeating(window.slots())),
        };
        let numeric_from = if has_own_numbers { below_numeric } else { u64::MAX };
        Ok(Self { ordinary, numeric, numeric_from, keys, values, window })
    }
}

fn values(scenario: &Scenario) -> ValueSpace {
    let (size, bytes_max) = (scenario.value_size.clone(), scenario.value_max as usize);
    let values = ValueSpace::new(size, bytes_max, scenario.seed);
    let values = values.with_deltas(scenario.delta.clone()).with_draws(scenario.value_draws);
    match scenario.value_fill {
        word::ValueFill::Drawn => values,
        word::ValueFill::Letter(letter) => values.filled_with(letter),
    }
}
