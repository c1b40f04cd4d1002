//! What clients are called with: each line of `lines.txt` has a client, a load and the words.

use super::*;
use crate::bench::{churn, paced, shape};

#[test]
fn each_client_has_the_words_of_its_load() {
    let shapes = [
        ("deep", shape("deep", (16, 4, 1), Which::Null)),
        ("keys", shape("keys", (16, 1, 100), Which::Memcached)),
        ("churn", churn("churn", 10, Which::Null)),
        ("paced", paced("paced", 1_600, false)),
        ("tls", shape("tls", (16, 4, 1), Which::Tls)),
        ("full", Shape { resumes: false, ..churn("full", 1, Which::Tls) }),
    ];
    let mut files = String::new();
    for row in include_str!("lines.txt").lines() {
        let [name, load, line] = row.split(" | ").collect::<Vec<_>>()[..] else { panic!("{row}") };
        let (_, shape) = shapes.iter().find(|(name, _)| *name == load).expect(row);
        let mut able = CLIENTS.iter().filter(|it| (it.can)(shape));
        let client = able.find(|it| it.name == name).expect(row);
        let address = SocketAddr::from(([127, 0, 0, 1], 1));
        let file = Path::new("f").join(client.program.file).with_extension("conf");
        let load = Load { shape, address, plain: address, seconds: 3, file };
        let words = format!("{} {}", load.filled(client.program.words, " "), client.words);
        assert_eq!(words.trim_end(), line, "{name}");
        files += &load.filled(client.program.reads, "");
    }
    assert!(files.contains("cmd\n0 0.0\n1 1.0\n"), "{files}");
    assert!(files.contains("send=ascii_mget,mget_count=100,recv=blind_read,conns=16,"), "{files}");
    assert!(files.contains("rate_limit = 0\nprefill") && !files.contains('{'), "{files}");
    assert!(files.contains("get = 90\nset = 10"), "{files}");
}
