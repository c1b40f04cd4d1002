//! Dictionaries for [`crate::generate`]: messages between a master and its agents.

use crate::conversation::hello;
use memtide_cluster::message::from_agent::What as Says;
use memtide_cluster::message::to_agent::What as Hears;
use memtide_cluster::message::{
    Acknowledged, Alive, Armed, Bye, Clock, Failed, Fetch, FromAgent, Note, Ping, Pong, Prepared,
    RecordPart, Refused, Second, Share, Step, Stop, ToAgent, Welcome,
};
use prost::Message;
use std::sync::LazyLock;

/// Messages of agents, each behind its length.
pub static FROM_AGENT: LazyLock<Vec<&'static [u8]>> = LazyLock::new(|| {
    let why = || "disk full".to_owned();
    let part = |data: &[u8], bytes_total| RecordPart {
        run: vec![0; 16],
        data: data.to_vec(),
        bytes_total,
        digest: vec![1; 32],
    };
    let mut spoken = vec![
        Says::Hello(hello()),
        Says::Refused(Refused { why: why() }),
        Says::Note(Note { text: why(), is_trouble: false }),
        Says::Prepared(Prepared {}),
        Says::Second(Second { interval: b"{}".to_vec() }),
        Says::Second(Second { interval: Vec::new() }),
        Says::Record(part(b"{}", 2)),
        Says::Record(part(b"{", u64::MAX)),
        Says::Record(part(b"", 0)),
        Says::Failed(Failed { exit: 3, why: why() }),
        Says::Failed(Failed { exit: u32::MAX, why: String::new() }),
    ];
    let pong = |number, clock_ns| Says::Pong(Pong { number, clock_ns });
    spoken.extend([0, 1, 2, 3, 255, 256, u64::MAX].map(|number| pong(number, number << 20)));
    let messages = spoken.into_iter().map(|what| FromAgent { what: Some(what) });
    words(messages.chain([FromAgent { what: None }]))
});

/// Messages of a master, each behind its length.
pub static TO_AGENT: LazyLock<Vec<&'static [u8]>> = LazyLock::new(|| {
    let run = || vec![1; 16];
    let of_search = Step {
        number: 1,
        rate_per_s: Some(f64::NAN),
        keeps_data: true,
        rest_ns: u64::MAX,
        longer: u32::MAX,
    };
    let share = |number, of, step: Option<bool>| {
        Hears::Share(Share {
            run: run(),
            scenario: "server = '10.0.0.5'".to_owned(),
            number,
            of,
            load_only: step == Some(false),
            step: step.map(|_| of_search),
            samples: true,
            points: true,
            units: of,
            looks_unfilled: true,
            looks_filled: true,
            servers: Vec::new(),
        })
    };
    let spoken = [
        Hears::Welcome(Welcome { version: "1".to_owned() }),
        Hears::Refused(Refused { why: "two".to_owned() }),
        share(0, 1, None),
        share(9, 0, Some(true)),
        share(u32::MAX, u32::MAX, Some(false)),
        Hears::Ping(Ping { number: 1 }),
        Hears::Armed(Armed { clock_ns: u64::MAX }),
        Hears::Clock(Clock { clock_ns: 1, ahead_ns: i64::MIN, error_ns: u64::MAX }),
        Hears::Stop(Stop { aborted: None, why: "enough".to_owned() }),
        Hears::Acknowledged(Acknowledged { run: run(), share: 1 }),
        Hears::Fetch(Fetch { run: run(), share: u32::MAX }),
        Hears::Bye(Bye {}),
        Hears::Alive(Alive {}),
    ];
    let messages = spoken.into_iter().map(|what| ToAgent { what: Some(what) });
    words(messages.chain([ToAgent { what: None }]))
});

fn words<M: Message>(messages: impl Iterator<Item = M>) -> Vec<&'static [u8]> {
    messages.map(|message| &*message.encode_length_delimited_to_vec().leak()).collect()
}
