//! A real InfluxDB of version 1, in its own folder.

use crate::prelude::*;
use std::net::TcpStream;
use std::process::Child;

const PROGRAM: &str = "/usr/bin/influxd";
const PATIENCE: Duration = Duration::from_secs(120);

pub(super) struct Influxd {
    child: Child,
    config: PathBuf,
    port: u16,
}

impl Influxd {
    /// An empty database named `it`; none, with the reason, if the program is not installed.
    pub(super) fn start(name: &str) -> Option<Self> {
        if !Path::new(PROGRAM).exists() {
            let why = "influxd is missing (apt-get install influxdb)";
            drop(writeln!(std::io::stderr(), "influx::{name} is skipped: {why}"));
            return None;
        }
        let folder = scratch(&format!("influxd-{name}"));
        drop(fs::remove_dir_all(&folder));
        fs::create_dir_all(&folder).unwrap();
        let (port, inner) = (free_port(), free_port());
        let config = folder.join("influxd.toml");
        let at = folder.display();
        let text = format!(
            "reporting-disabled = true\nbind-address = \"127.0.0.1:{inner}\"\n\
             [meta]\ndir = \"{at}/meta\"\n\
             [data]\ndir = \"{at}/data\"\nwal-dir = \"{at}/wal\"\nquery-log-enabled = false\n\
             [monitor]\nstore-enabled = false\n\
             [http]\nbind-address = \"127.0.0.1:{port}\"\nlog-enabled = false\n"
        );
        fs::write(&config, text).unwrap();
        let started = Self { child: spawn(&config), config, port };
        started.ask("CREATE DATABASE it");
        Some(started)
    }

    /// Kills it at once.
    pub(super) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts it again with its data on disk.
    pub(super) fn start_again(&mut self) {
        self.child = spawn(&self.config);
    }

    /// The URL to which points are written.
    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/write?db=it", self.port)
    }

    /// The reply to a query, once the server is ready.
    pub(super) fn ask(&self, query: &str) -> Value {
        let began = Instant::now();
        loop {
            match self.try_ask(query) {
                Some(answer) => return answer["results"][0].clone(),
                None => assert!(began.elapsed() < PATIENCE, "influxd does not answer {query}"),
            }
            thread::sleep(Duration::from_millis(50));
        }
    }

    fn try_ask(&self, query: &str) -> Option<Value> {
        let hex = |byte: u8| format!("%{byte:02X}");
        let query: String = query.bytes().map(hex).collect();
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        write!(stream, "POST /query?db=it&q={query} HTTP/1.0\r\nHost: it\r\n\r\n").ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        serde_json::from_str(text.split_once("\r\n\r\n")?.1).ok()
    }

    /// Number of points of operations, by kind and outcome.
    pub(super) fn counts(&self) -> BTreeMap<(String, String), u64> {
        let answer =
            self.ask("SELECT COUNT(intended) FROM memtide_operation GROUP BY kind, outcome");
        let series = answer["series"].as_array().cloned().unwrap_or_default();
        let word = |value: &Value| value.as_str().unwrap().to_owned();
        let count = |one: &Value| {
            let tags = &one["tags"];
            let key = (word(&tags["kind"]), word(&tags["outcome"]));
            (key, one["values"][0][1].as_u64().unwrap())
        };
        series.iter().map(count).collect()
    }
}

impl Drop for Influxd {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
        if let Some(folder) = self.config.parent() {
            drop(fs::remove_dir_all(folder));
        }
    }
}

fn spawn(config: &Path) -> Child {
    let mut command = Command::new(PROGRAM);
    command.arg("-config").arg(config);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}
