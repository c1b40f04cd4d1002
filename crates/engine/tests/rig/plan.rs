//! The plan from which tests of workers and fleets start. Carries out nothing.

use memtide_base::Span;
use memtide_workload::{KeySpace, MixOrder, Popularity, SizeLaw, SourcePlan, ValueSpace};
use memtide_world::plan::{Backoff, Reconnect, RequestPlan, RowPlan};
use memtide_world::{
    Address, Clients, Cooldown, Io, Pacing, Plan, RateUnit, Refill, ServerPlan, SocketOptions,
    Task, Wait, Window, WindowCommands,
};

pub const SEED: u64 = 7;
pub const WARMUP: Span = Span::from_ms(100);

/// One server, one worker, four connections; a closed loop for a second.
pub fn closed_plan() -> Plan {
    let window = Window {
        warmup: WARMUP,
        opened_by_command: false,
        closed_by_command: false,
        duration: Span::from_s(1),
        ops_max: None,
        cooldown: Cooldown::Load,
    };
    Plan {
        task: Task::default(),
        servers: vec![ServerPlan {
            name: "one".to_owned(),
            addresses: vec![Address::Unix("one".to_owned())],
        }],
        workers: 1,
        here: None,
        connections: 4,
        depth: 64,
        refill: Refill::Each,
        clients: Clients::Workers,
        unit: RateUnit::Operations,
        pacing: Pacing::Closed,
        pause: Span::ZERO,
        window,
        commands: WindowCommands::default(),
        source: SourcePlan {
            seed: SEED,
            mix: "get=9,set=1".parse().expect("a mix"),
            order: MixOrder::Drawn,
            popularity: Popularity::Uniform,
            keys: 100,
            walkers: 1,
            multiget: 1,
            multiget_share: 1.0,
            numeric_keys: 100,
            window: None,
        },
        keys: KeySpace::new(200, SizeLaw::fixed(30), SEED).expect("room for 200 keys"),
        values: ValueSpace::new(SizeLaw::fixed(200), 1 << 20, SEED),
        numeric_from: 100,
        requests: RequestPlan::default(),
        timeout: Span::from_s(5),
        reconnect: Reconnect::After(Backoff { first: Span::from_ms(10), longest: Span::from_s(1) }),
        seed: SEED,
        wait: Wait::Sleep,
        io: Io::Simulated,
        samples: true,
        message_sizes: false,
        counts_refused: false,
        rows: RowPlan::default(),
        verify: None,
        sources: Vec::new(),
        sockets: SocketOptions::default(),
        credentials: None,
        filter: None,
    }
}
