//! Destinations that are or become unwritable: each affects only its own output, which is reported
//! with a remedy. Full and read-only folders need root.

use super::general::sum;
use super::{fifo, names, room};
use crate::child::cleared;
use crate::prelude::*;
use std::fs::OpenOptions;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

/// Outputs that are written at the end.
const WHOLE: [&str; 9] = [
    "json=r.json",
    "md=r.md",
    "html=r.html",
    "junit=r.xml",
    "plot=p.svg",
    "plot=p.png",
    "hgrm=r.h",
    "summary=runs.csv",
    "openmetrics=r.prom",
];
/// Outputs that grow with each second.
const GROWING: [&str; 3] = ["hlog=r.hlog", "intervals=i.csv", "intervals=i.jsonl"];
/// The output of measured operations; a run has at most one.
const SAMPLES: &str = "samples=s.csv";
/// Number of operations in every run here.
const OPS: u64 = 4_000;
const RUN: &str = "run --ops-max 4k --rate 2k --keys 50";

/// Every kind of output of a run, in this folder, except samples.
fn all_in(folder: &str) -> Vec<String> {
    WHOLE.iter().chain(&GROWING).map(|out| placed(out, folder)).collect()
}

/// `--out KIND=FOLDER/NAME`.
fn placed(out: &str, folder: &str) -> String {
    let (kind, name) = out.split_once('=').unwrap();
    format!("--out {kind}={folder}/{name}")
}

/// Asserts that one sentence names `output`, with `why` and a remedy.
fn is_lost(run: &Finished, output: &str, why: &str) {
    let words = format!("{output} could not be written: ");
    let said: Vec<&str> = run.err.lines().filter(|line| line.contains(&words)).collect();
    assert_eq!(said.len(), 1, "{output}: {run}");
    for words in [why, "; choose a place that can be written"] {
        assert!(said[0].contains(words), "{output} does not say '{words}': {run}");
    }
}

/// Asserts that all outputs of a run of [`OPS`] operations in `folder` are complete.
fn are_whole(folder: &Path, run: &Finished) {
    let text = |name: &str| {
        let path = folder.join(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}: {run}"))
    };
    let record = read_record(&text("r.json")).unwrap();
    assert_eq!(record.totals.intended, OPS, "{run}");
    assert!(text("r.md").starts_with("### memtide: ") && text("r.html").ends_with("</html>\n"));
    assert!(text("r.xml").trim_end().ends_with("</testsuites>"), "{}", text("r.xml"));
    assert!(text("p.svg").trim_end().ends_with("</svg>"), "{run}");
    assert!(fs::read(folder.join("p.png")).unwrap().ends_with(b"IEND\xaeB`\x82"), "{run}");
    assert!(text("r.h").contains(&format!("{OPS:>12}]")), "{}", text("r.h"));
    assert_eq!(sum(&text("i.csv"), "all", "measured_answered"), record.totals.answered, "{run}");
    assert_eq!(text("i.jsonl").lines().count() + 1, text("i.csv").lines().count(), "{run}");
    assert!(text("r.hlog").lines().filter(|line| line.starts_with("Tag=all,")).count() >= 2);
    assert!(run.out.contains("\nbelievable: "), "the report is shown: {run}");
}

/// Runs the program in `folder` in its own mount namespace, after the shell commands `setup`. The
/// folders `$BAD` are copied to `seen`. None if this machine does not allow that.
fn run_where(setup: &str, folder: &Path, line: &str) -> Option<Finished> {
    const SCRIPT: &str = r#"
cd "$1" || exit 99
eval "$2" || exit 99
shift 2
"$@"
code=$?
rm -rf seen && mkdir seen && cp -a $BAD seen/
exit $code
"#;
    let _turn = shared();
    let mut command = cleared(Command::new("unshare"));
    command.args(["--mount", "sh", "-c", SCRIPT, "sh"]).arg(folder).arg(setup);
    let run =
        Running::of(command.arg(env!("CARGO_BIN_EXE_memtide")).args(line.split(' '))).finish();
    if run.code == Some(99) || run.err.starts_with("unshare: ") {
        let why = "skipped: a disk cannot be mounted in a namespace here; run it as root";
        drop(writeln!(std::io::stderr(), "{why}"));
        return None;
    }
    Some(run)
}

/// An empty folder that contains empty folders with these names.
fn room_with(name: &str, folders: &[&str]) -> PathBuf {
    let room = room(name);
    folders.iter().for_each(|folder| fs::create_dir(room.join(folder)).unwrap());
    room
}

/// Asserts that no temporary file is left.
fn has_no_temporary(folder: &Path) {
    let is_temporary = |name: &String| name.contains(".memtide-") || name.ends_with(".tmp");
    assert_eq!(names(folder).iter().find(|name| is_temporary(name)), None);
}

const FULL: &str = "BAD=full; mount -t tmpfs -o size=64k,mode=700 none full && \
                    ! head -c 1000000 /dev/zero 2>/dev/null >full/filler";

#[test]
fn every_output_on_a_full_disk_is_lost_alone() {
    let room = room_with("bad-full", &["full", "good"]);
    let mut lost = all_in("full");
    lost.push(placed(SAMPLES, "full"));
    let line = format!("{RUN} {} {}", lost.join(" "), all_in("good").join(" "));
    let short = "--json full/short.json --plot full/short.svg";
    let Some(run) = run_where(FULL, &room, &format!("{line} {short}")) else { return };
    let run = run.exits(1);
    lost.extend(["--json", "--plot"].map(str::to_owned));
    lost.iter().for_each(|output| is_lost(&run, output, "No space left on device"));
    assert_eq!(run.err.matches("could not be written").count(), lost.len(), "{run}");
    are_whole(&room.join("good"), &run);
    [room.join("seen/full"), room.join("good")].iter().for_each(|folder| has_no_temporary(folder));
    // Outputs of existing records, and of a scan.
    for (command, kinds) in [
        (
            "report good/r.json",
            &["json", "md", "html", "junit", "plot", "hlog", "hgrm", "summary"][..],
        ),
        ("merge good/r.json", &["json", "md", "html", "junit", "plot", "hlog", "hgrm", "summary"]),
        ("compare good/r.json good/r.json", &["json", "md", "html"]),
        (
            "scan --rates 1k,2k --duration 100ms --keys 50",
            &["json", "md", "html", "junit", "plot", "hlog", "intervals", "summary"],
        ),
    ] {
        let all = WHOLE.iter().chain(&GROWING);
        let of_command = all.filter(|out| kinds.contains(&out.split('=').next().unwrap()));
        let of_command: Vec<&str> = of_command.copied().collect();
        let (lost, kept): (Vec<String>, Vec<String>) = of_command
            .iter()
            // Stdout then has the record in place of a merge's report.
            .filter(|out| !(command.starts_with("merge") && out.starts_with("json=")))
            .map(|out| (placed(out, "full"), placed(out, "good")))
            .unzip();
        let kept: Vec<String> =
            kept.iter().map(|out| out.replace("good/", "good/again-")).collect();
        let line = format!("{command} {} {}", lost.join(" "), kept.join(" "));
        let run = run_where(FULL, &room, &line).expect("it was possible before").exits(1);
        lost.iter().for_each(|output| is_lost(&run, output, "No space left on device"));
        assert!(run.out.lines().count() > 2, "the report is shown: {run}");
        for out in of_command.iter().filter(|out| lost.contains(&placed(out, "full"))) {
            let name = format!("again-{}", out.split_once('=').unwrap().1);
            assert!(
                fs::metadata(room.join("good").join(&name)).unwrap().len() > 50,
                "{name}: {run}"
            );
        }
        has_no_temporary(&room.join("seen/full"));
        has_no_temporary(&room.join("good"));
    }
}

#[test]
fn every_output_in_a_read_only_folder_is_lost_alone() {
    let room = room_with("bad-read-only", &["sealed", "good"]);
    fs::write(room.join("sealed/r.json"), "old").unwrap();
    let setup = "BAD=sealed; mount --bind sealed sealed && mount -o remount,bind,ro sealed";
    let mut lost = all_in("sealed");
    lost.push(placed(SAMPLES, "sealed"));
    let line = format!("{RUN} {} {}", lost.join(" "), all_in("good").join(" "));
    let Some(run) = run_where(setup, &room, &line) else { return };
    let run = run.exits(1);
    lost.iter().for_each(|output| is_lost(&run, output, "Read-only file system"));
    assert_eq!(run.err.matches("could not be written").count(), lost.len(), "{run}");
    are_whole(&room.join("good"), &run);
    assert_eq!(names(&room.join("seen/sealed")), ["r.json"], "{run}");
    assert_eq!(fs::read_to_string(room.join("sealed/r.json")).unwrap(), "old");
    has_no_temporary(&room.join("good"));
    // The short forms alone ended the run before its load.
    let short = "--json sealed/x.json --plot sealed/x.svg --samples sealed/x.csv";
    let run = run_where(setup, &room, &format!("{RUN} {short} {}", all_in("good").join(" ")));
    let run = run.expect("it was possible before").exits(1);
    for short in ["--json", "--plot", "--samples"] {
        is_lost(&run, short, "Read-only file system");
        let early = format!("memtide: {short} cannot be written: Read-only file system");
        assert!(run.err.contains(&early), "{run}");
    }
    are_whole(&room.join("good"), &run);
    assert_eq!(record_at(&room.join("good/r.json")).exit, 1, "{run}");
}

#[test]
fn what_grows_on_a_disk_that_becomes_full_keeps_its_rows_so_far() {
    let room = room_with("bad-filled", &["small", "good"]);
    let lost: Vec<String> =
        GROWING.iter().chain([&SAMPLES]).map(|out| placed(out, "small")).collect();
    // A disk for each output, so that none takes the space of another.
    let setup = "BAD=small; for disk in r.hlog i.csv i.jsonl s.csv; do mkdir -p small/$disk.d; \
                 mount -t tmpfs -o size=4k none small/$disk.d || return 1; \
                 ln -sf $disk.d/rows small/$disk; done";
    let kinds = "--mix get=1,set=1,incr=1,delete=1";
    let line = format!(
        "run --ops-max 10k --rate 2k --keys 50 {kinds} {} --out json=good/r.json \
                        --out intervals=good/i.csv",
        lost.join(" ")
    );
    let Some(run) = run_where(setup, &room, &line) else { return };
    let run = run.exits(1);
    lost.iter().for_each(|output| is_lost(&run, output, "No space left on device"));
    let text = |name: &str| fs::read_to_string(room.join(name)).unwrap();
    let record = read_record(&text("good/r.json")).unwrap();
    assert_eq!(record.totals.intended, 10_000, "{run}");
    let rows = text("good/i.csv");
    assert_eq!(sum(&rows, "all", "measured_answered"), record.totals.answered, "{run}");
    // The file keeps the rows written before.
    let kept = text("seen/small/i.csv.d/rows");
    assert!(kept.lines().count() > 2 && rows.starts_with(&kept), "{kept}");
    for (name, begin) in
        [("r.hlog", "#[Histogram log"), ("s.csv", "intended_ns,"), ("i.jsonl", "{")]
    {
        let kept = text(&format!("seen/small/{name}.d/rows"));
        assert!(kept.starts_with(begin) && kept.len() > 4_000, "{name}: {}", kept.len());
    }
}

#[test]
fn a_file_that_is_removed_in_mid_run_is_said_to_be_lost() {
    let room = room_with("bad-removed", &["gone", "good"]);
    let mut lost = all_in("gone");
    lost.push(placed(SAMPLES, "gone"));
    let _turn = shared();
    // It lasts 8 s, and has rows after 1 s.
    let slow = RUN.replace("2k", "500");
    let line = format!("{slow} {} {}", lost.join(" "), all_in("good").join(" "));
    let running = Running::of(&mut program_in(&room, &line));
    let until = Instant::now() + Duration::from_secs(120);
    let has_rows = || fs::metadata(room.join("gone/i.csv")).is_ok_and(|there| there.len() > 0);
    while !has_rows() {
        assert!(Instant::now() < until, "there are no rows");
        thread::sleep(Duration::from_millis(1));
    }
    fs::remove_dir_all(room.join("gone")).unwrap();
    let run = running.finish().exits(1);
    for output in &lost {
        let is_growing = ["hlog", "intervals", "samples"].iter().any(|kind| output.contains(kind));
        let why = if is_growing { "the file was removed" } else { "No such file or directory" };
        is_lost(&run, output, why);
    }
    are_whole(&room.join("good"), &run);
}

/// A named pipe that is open, full and not read.
fn full_pipe(path: &Path) -> File {
    fifo(path);
    // Opened for both, it does not wait for the other end.
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(libc::O_NONBLOCK);
    let mut pipe = options.open(path).unwrap();
    // SAFETY: the call changes only the pipe's size.
    assert!(unsafe { libc::fcntl(pipe.as_raw_fd(), libc::F_SETPIPE_SZ, 4096) } >= 4096);
    while pipe.write(&[b' '; 4096]).is_ok() {}
    pipe
}

#[test]
fn every_output_into_a_pipe_whose_reader_leaves_is_lost_alone() {
    let room = room_with("bad-left", &["pipes", "good"]);
    let outs: Vec<&str> = WHOLE.into_iter().chain(GROWING).chain([SAMPLES]).collect();
    let short = ["--json=short.json", "--plot=short.svg"];
    let pipe = |out: &&str| room.join("pipes").join(out.split_once('=').unwrap().1);
    let mut held: Vec<(PathBuf, File)> =
        outs.iter().chain(&short).map(|out| (pipe(out), full_pipe(&pipe(out)))).collect();
    let mut lost: Vec<String> = outs.iter().map(|out| placed(out, "pipes")).collect();
    let _turn = shared();
    let line = format!("{RUN} {} {}", lost.join(" "), all_in("good").join(" "));
    let line = line + &short.map(|out| format!(" {}", out.replace('=', " pipes/"))).concat();
    lost.extend(["--json", "--plot"].map(str::to_owned));
    let running = Running::of(&mut program_in(&room, &line));
    let open = PathBuf::from(format!("/proc/{}/fd", running.id()));
    let until = Instant::now() + Duration::from_secs(120);
    while !held.is_empty() && Instant::now() < until {
        // Each reader leaves as soon as the program has opened its pipe, which is full.
        let links = fs::read_dir(&open).into_iter().flatten().flatten();
        let links: Vec<PathBuf> =
            links.filter_map(|link| fs::read_link(link.path()).ok()).collect();
        held.retain(|(path, _)| !links.contains(&fs::canonicalize(path).unwrap()));
        thread::sleep(Duration::from_millis(1));
    }
    let run = running.finish().exits(1);
    assert_eq!(held.len(), 0, "not opened: {held:?}: {run}");
    lost.iter().for_each(|output| is_lost(&run, output, "Broken pipe"));
    are_whole(&room.join("good"), &run);
}

#[test]
fn every_output_into_a_pipe_that_is_not_read_is_given_up_alone() {
    let room = room_with("bad-stalled", &["unread", "held", "good"]);
    let outs: Vec<&str> = WHOLE.into_iter().chain(GROWING).chain([SAMPLES]).collect();
    let name = |out: &str| out.split_once('=').unwrap().1.to_owned();
    outs.iter().for_each(|out| fifo(&room.join("unread").join(name(out))));
    let held: Vec<File> =
        outs.iter().map(|out| full_pipe(&room.join("held").join(name(out)))).collect();
    let mut lost = all_in("unread");
    lost.extend(all_in("held"));
    fifo(&room.join("short"));
    let line = format!("{RUN} {} {} --json short", lost.join(" "), all_in("good").join(" "));
    let run = run_in(&room, &format!("{line} {}", placed(SAMPLES, "held"))).exits(1);
    lost.push("--json".to_owned());
    lost.iter()
        .for_each(|output| is_lost(&run, output, "the disk or reader accepted nothing for 10 s"));
    is_lost(&run, &placed(SAMPLES, "held"), "rows are missing");
    are_whole(&room.join("good"), &run);
    drop(held);
}
