//! The binary and meta protocols and authentication: the load and the counts are the same as over
//! text, and no output shows a password.

mod meta;

use crate::operations::every_kind;
use crate::prelude::*;
use std::os::unix::fs::PermissionsExt;

pub(crate) const USER: &str = "tim";
pub(crate) const PASSWORD: &str = "tanstaafl";

#[test]
fn memcached_counts_every_kind_of_frame_as_it_was_sent() {
    let peer = Peer::memcached("-t 2");
    let record = every_kind(&peer, "--protocol binary");
    let ops = &record.phases.measure.ops;
    assert_eq!(peer.figure("cmd_touch"), ops[&Kind::Touch] + ops[&Kind::Gat] + ops[&Kind::Gats]);
    for name in ["stored", "not_stored", "deleted", "not_found", "touched", "number", "values"] {
        assert!(record.totals.replies[name] > 0, "no reply {name}: {:?}", record.totals.replies);
    }
}

/// A meta command that should set an expiry and finds no item counts as a get that missed.
#[test]
fn memcached_counts_every_kind_of_meta_command_as_it_was_sent() {
    for flags in ["", "--match opaque"] {
        let peer = Peer::memcached("-t 2");
        let record = every_kind(&peer, &format!("--protocol meta {flags}"));
        let ops = &record.phases.measure.ops;
        let [touched, missed] = ["touch_hits", "touch_misses"].map(|name| peer.figure(name));
        assert_eq!((peer.figure("cmd_touch"), missed), (touched, 0));
        assert!(touched < ops[&Kind::Touch] + ops[&Kind::Gat] + ops[&Kind::Gats], "none missed");
    }
}

/// Replies in any order are verified each for its own request.
#[test]
fn values_are_verified_over_meta_in_either_way_of_matching() {
    let peer = Peer::memcached("-t 2");
    for flags in ["--multiget 4 --depth 8", "--match opaque --depth 16", "--expiry 1000"] {
        let line = format!(
            "run -s {} --protocol meta --mix get=4,gets=1,set=2,cas=1,delete=1 --keys 300 \
             --ops-max 6k --verify 1 --timeout 50s --json - {flags}",
            peer.name
        );
        let record = memtide(&line).exits(0).record();
        assert_eq!(record.totals.answered, 6_000, "{flags}");
        assert_counters_equal(&record);
    }
}

/// Quiet commands over UDP, and several keys where replies have no order.
#[test]
fn what_meta_cannot_carry_is_refused_with_what_works() {
    let peer = Peer::memcached("-t 1");
    for (flags, word) in [
        ("--transport udp --multiget 2", "multiget 2 cannot be sent with protocol meta"),
        ("--transport udp --noreply", "noreply cannot be sent with protocol meta"),
        ("--match opaque --multiget 2", "match opaque needs single keys"),
    ] {
        let line = format!("run -s {} --protocol meta --ops-max 10 {flags}", peer.name);
        let ran = memtide(&line).exits(2);
        assert!(ran.err.contains(word), "{ran}");
    }
    let ran = memtide("run --match opaque --ops-max 10").exits(2);
    assert!(ran.err.contains("match opaque needs protocol meta"), "{ran}");
}

#[test]
fn meta_works_pipelined_over_several_workers_at_a_rate_and_without_replies() {
    for peer in [Peer::memcached("-t 2"), Peer::embedded("")] {
        for flags in [
            "--threads 2 --connections 6 --depth 16",
            "--threads 2 --connections 6 --depth 16 --match opaque",
            "--rate 10k --schedule connection",
            "--threads 2 --noreply",
            "--threads 2 --noreply --match opaque",
        ] {
            let record = every_kind(&peer, &format!("--protocol meta {flags}"));
            assert_eq!(record.totals.failed, 0, "{flags}");
        }
    }
}

#[test]
fn frames_work_pipelined_over_several_workers_at_a_rate_and_without_replies() {
    for peer in [Peer::memcached("-t 2"), Peer::embedded("")] {
        for flags in [
            "--threads 2 --connections 6 --depth 16",
            "--rate 10k --schedule connection",
            "--threads 2 --noreply",
        ] {
            let record = every_kind(&peer, &format!("--protocol binary {flags}"));
            assert_eq!(record.totals.failed, 0, "{flags}");
        }
    }
}

#[test]
fn all_protocols_find_the_same() {
    let found = |protocol: &str| {
        let peer = Peer::memcached("");
        let line = "--threads 1 --connections 1 --depth 1";
        let record = every_kind(&peer, &format!("--protocol {protocol} {line}"));
        (record.totals.replies, record.totals.hits, record.totals.misses)
    };
    assert_eq!(found("binary"), found("text"));
    assert_eq!(found("meta"), found("text"));
    assert_eq!(found("meta --match opaque"), found("text"));
}

#[test]
fn sasl_is_said_on_every_connection() {
    let guarded = Guarded::sasl();
    guarded.takes_the_right_password_only("--protocol binary");
    let nobody = guarded.run("--protocol binary", None).exits(3);
    assert!(nobody.err.contains("requires authentication"), "{nobody}");
}

#[test]
fn credentials_in_lines_are_said_on_every_connection() {
    let guarded = Guarded::lines();
    guarded.takes_the_right_password_only("--protocol text");
    guarded.takes_the_right_password_only("--protocol meta");
    let nobody = guarded.run("", None).exits(3);
    assert!(nobody.err.contains("requires authentication"), "{nobody}");
}

#[test]
fn credentials_that_nobody_asks_for_are_refused() {
    let peer = Peer::memcached("");
    for protocol in ["text", "binary", "meta"] {
        let line = format!("run -s {} --protocol {protocol} --user tim --ops-max 10", peer.name);
        let ran = memtide_with("MEMTIDE_PASSWORD", PASSWORD, &line).exits(3);
        assert!(ran.err.contains("does not take credentials"), "{ran}");
    }
    let line = format!("run -s {} --user tim --ops-max 10", peer.name);
    let ran = memtide_with("MEMTIDE_PASSWORD", "tan staafl", &line).exits(2);
    assert!(ran.err.contains("password contains a space"), "{ran}");
    let ran = memtide("run --user tim --password word --ops-max 10").exits(2);
    assert!(ran.err.contains("has no effect on the embedded server"), "{ran}");
    let ran = memtide(&format!("run -s {} --user tim --ops-max 10", peer.name)).exits(2);
    assert!(ran.err.contains("user needs password"), "{ran}");
}

/// A memcached that requires authentication, and the folder with its files.
pub(crate) struct Guarded {
    pub(crate) peer: Peer,
    _folder: Folder,
}

impl Guarded {
    /// A server with SASL and a database of one user.
    pub(crate) fn sasl() -> Self {
        let folder = Folder::new("sasl");
        let database = folder.0.join("users.db");
        folder.write(
            "memcached.conf",
            &format!("mech_list: plain\nlog_level: 5\nsasldb_path: {}\n", database.display()),
        );
        let program = Path::new("/usr/sbin/saslpasswd2");
        let program = if program.exists() { program } else { Path::new("saslpasswd2") };
        let mut child = Command::new(program)
            .args(["-p", "-c", "-a", "memcached", "-f"])
            .arg(&database)
            .arg(USER)
            .stdin(Stdio::piped())
            .spawn()
            .expect("saslpasswd2 is installed (apt-get install sasl2-bin)");
        Write::write_all(&mut child.stdin.take().unwrap(), PASSWORD.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success(), "saslpasswd2 makes a user");
        readable(&database, 0o644);
        let environment = ("SASL_CONF_PATH", folder.0.as_path());
        let peer = Peer::memcached_guarded(&["-S".as_ref()], Some(environment));
        Self { peer, _folder: folder }
    }

    /// A server with a file of one user, authenticated over the text protocol.
    pub(crate) fn lines() -> Self {
        let folder = Folder::new("lines");
        let file = folder.write("users", &format!("other:word\n{USER}:{PASSWORD}\n"));
        let peer = Peer::memcached_guarded(&["-Y".as_ref(), file.as_os_str()], None);
        Self { peer, _folder: folder }
    }

    fn run(&self, flags: &str, password: Option<&str>) -> Finished {
        let line = format!(
            "run -s {} --keys 500 --ops-max 4k --timeout 20s --json - {flags}",
            self.peer.name
        );
        match password {
            None => memtide(&line),
            Some(password) => {
                memtide_with("MEMTIDE_PASSWORD", password, &format!("{line} --user {USER}"))
            }
        }
    }

    fn takes_the_right_password_only(&self, flags: &str) {
        let flags = format!("{flags} --threads 2 --connections 5 --depth 4");
        let right = self.run(&flags, Some(PASSWORD)).exits(0);
        let record = right.record();
        assert_eq!((record.totals.answered, record.totals.failed), (4_000, 0), "{right}");
        assert_counters_equal(&record);
        let wrong = self.run(&flags, Some("tan")).exits(3);
        let refused = format!("server {} refused the credentials with '", self.peer.name);
        let sentence = wrong.err.contains(&refused) && wrong.err.contains("; check --user and");
        assert!(sentence, "{wrong}");
        let plan = self.run(&format!("{flags} --plan"), Some(PASSWORD)).exits(0);
        for ran in [right, wrong, plan] {
            let said = format!("{}{}", ran.out, ran.err);
            assert!(!said.contains(PASSWORD), "it tells the password: {ran}");
        }
    }
}

/// A folder that the server's own user can read; removed with its handle.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let nth = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = format!("memtide-{}-{name}-{nth}", std::process::id());
        let path = std::env::temp_dir().join(path);
        drop(fs::remove_dir_all(&path));
        fs::create_dir(&path).unwrap();
        readable(&path, 0o755);
        Self(path)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        readable(&path, 0o644);
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

fn readable(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}
