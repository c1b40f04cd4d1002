//! What clients are called with.

use super::*;
use crate::bench::{churn, paced, shape};

#[test]
fn each_client_has_the_words_of_its_load() {
    let words = |name: &str, shape: &Shape| {
        let mut able = CLIENTS.iter().filter(|it| (it.can)(shape));
        let client = able.find(|it| it.name == name).expect(name);
        let address = SocketAddr::from(([127, 0, 0, 1], 1));
        let file = Path::new("f").join(client.program.file).with_extension("conf");
        let load = Load { shape, address, seconds: 3, file };
        let line = format!("{} {}", load.filled(client.program.words, " "), client.words);
        (line.trim_end().to_owned(), load.filled(client.program.reads, ""))
    };
    let deep = shape("deep", (16, 4, 1), Which::Null);
    let keys = shape("keys", (16, 1, 100), Which::Memcached);
    let (churn, paced) = (churn("churn", 10, Which::Null), paced("paced", 1_600, false));
    let fixed = "--key-size fixed:30 --value-size fixed:200 --keys 1000 --duration 3s --json -";
    let ours = "run --quiet --server 127.0.0.1:1 --connections 16";
    let bare = "--server 127.0.0.1:1 --connections 16 --seconds 3";
    let table: [(&str, &Shape, String); 11] = [
        (
            "memtide, epoll, whole",
            &deep,
            format!(
                "{ours} --rate 0 --multiget 1 --mix get=9,set=1 --depth 4 --threads 1 {fixed} \
                 --io epoll --wait sleep --refill whole"
            ),
        ),
        (
            "bare, whole batches",
            &deep,
            format!("{bare} --depth 4 --multiget 1 --set-every 10 --keys 1000 --whole-batches"),
        ),
        (
            "memtide, uring",
            &churn,
            format!(
                "{ours} --calls 10 --linger 0 --mix get=1 --depth 10 --threads 1 {fixed} --io uring"
            ),
        ),
        ("bare-churn", &churn, format!("{bare} --calls 10")),
        ("bare, spin", &paced, format!("{bare} --rate 1600 --keys 1000 --wait spin")),
        (
            "mutilate",
            &paced,
            "-s 127.0.0.1:1 -t 3 -T 1 -c 16 -d 1 -u 0.0 -K 30 -V 200 -r 1000 -B -q 1600 \
             -i exponential:1"
                .to_owned(),
        ),
        (
            "mcperf",
            &keys,
            "-s 127.0.0.1:1 -t 3 -T 1 -c 16 -d 1 -u 0.0 -K 30 -V 200 -r 1000 -B -g 1 -G 100"
                .to_owned(),
        ),
        (
            "memtier_benchmark",
            &paced,
            "-s 127.0.0.1 -p 1 -P memcache_text -t 1 -c 16 --pipeline 1 --ratio 0:1 -d 200 \
             --key-prefix mmmmmmmmmmmmmmmmmmmmmmmmmm --key-minimum 1000 --key-maximum 1999 \
             --test-time 3 --hide-histogram --json-out-file f/memtier_benchmark.conf \
             --rate-limiting 100"
                .to_owned(),
        ),
        (
            "memaslap",
            &keys,
            "-s 127.0.0.1:1 -T 1 -c 16 -t 3s -w 1k -F f/memaslap.conf -d 100".to_owned(),
        ),
        (
            "twemperf",
            &churn,
            "--server=127.0.0.1 --port=1 --method=get --prefix=mcp: --num-conns=15000 \
             --conn-rate=5000 --num-calls=10 --call-rate=0 --linger=0"
                .to_owned(),
        ),
        (
            "mc-crusher",
            &keys,
            "--conf f/mc-crusher.conf --ip 127.0.0.1 --port 1 --timeout 3".to_owned(),
        ),
    ];
    for (name, shape, line) in &table {
        assert_eq!(words(name, shape).0, *line, "{name}");
    }
    assert!(words("epoll, sleep", &paced).0.contains("--rate 1600 --multiget 1 --mix get=1"));
    assert!(words("memaslap", &keys).1.ends_with("cmd\n0 0.0\n1 1.0\n"));
    let file = words("mc-crusher", &keys).1;
    assert!(file.starts_with("send=ascii_mget,mget_count=100,recv=blind_read,conns=16,"), "{file}");
    let file = words("cachecannon", &deep).1;
    assert!(file.contains("rate_limit = 0") && file.contains("get = 90\nset = 10"), "{file}");
    assert!(!file.contains('{'), "{file}");
}
