//! Pictures of the page that `--out html` writes and of the one on which a run is watched, taken by
//! a browser without a screen, and checks of the former in it: no message on the console, and no
//! request.

use crate::bench::server::free_address;
use crate::commands::{self, Kept, cargo, run, text};
use crate::files::{at, emptied, put};
use crate::{setup, web};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use std::{fs, thread};

/// Widths in CSS pixels, with heights that show the charts.
const SIZES: [(u32, u32); 2] = [(400, 2400), (1400, 2000)];
/// The settings of the browser that tell a page whether its reader prefers dark or light.
const SCHEMES: [(&str, u32); 2] = [("dark", 0), ("light", 1)];
/// A load whose record is equal on every machine, with a queue that grows now and then.
const RUN: &str = "sim --rate 800 --behaviour queue:1,exponential:1ms --duration 60s --keys 1000 \
                   --goal all.p99<50ms --goal errors<0.1% --seed 4 --quiet";
const SCAN: &str = "scan --rates 2k,4k,8k,12k --duration 1s --keys 1000 --goal all.p99<5ms --quiet";
/// A load that is watched for a while, and how its server behaves.
const WATCHED: &str = "run --rate 4k --keys 1000 --duration 60s --warmup 2s --mix get=9,set=1 \
                       --goal all.p99<5ms --web-linger 0s --quiet";
const STANDS_STILL: &str = "queue:1,exponential:50us+pause:9s,400ms";
const WATCHED_FOR: Duration = Duration::from_secs(38);
const LOOK_EVERY: Duration = Duration::from_millis(400);
/// Height in CSS pixels of what a reader sees first.
const FIRST: u32 = 800;
/// A script that writes into a page's title where the answer ends, and whether it is in order: the
/// verdict, then every row of the figures, then the contents.
const ORDER: &str = "<script>\
    const bottom = (it) => it.getBoundingClientRect().bottom;\
    const answer = document.querySelector('main > .answer .scroll');\
    const places = [...document.querySelectorAll('.verdict, main > .answer tr, nav')].map(bottom);\
    const sorted = places.every((it, at) => at === 0 || places[at - 1] <= it);\
    const cut = answer.scrollWidth - answer.clientWidth;\
    const end = Math.ceil(bottom(answer));\
    parent.document.title = `order sorted=${Number(sorted)} end=${end} cut=${cut}`;\
    </script>";
/// A script that writes facts about a page into its title: the charts' lines read out by keyboard,
/// and the number of resources loaded.
const PROBE: &str = "<script>\
    const key = new KeyboardEvent('keydown', { key: 'ArrowRight' });\
    const plots = [...document.querySelectorAll('.plot')];\
    plots.forEach((plot) => plot.dispatchEvent(key));\
    const read = [...document.querySelectorAll('.readout')].filter((it) => it.textContent);\
    const loaded = performance.getEntriesByType('resource').length;\
    document.title = `probe charts=${plots.length} read=${read.length} loaded=${loaded}`;\
    </script>";

/// Makes pages, checks them, and writes the pictures to docs/images.
///
/// # Errors
/// If a page prints to the console, or loads something.
/// Without a browser nothing is checked, and a message says so.
pub(crate) fn pictures(root: &Path) -> Result<(), String> {
    if let Err(error) = setup::install_missing(setup::PICTURES) {
        println!("pictures: skipped, because no browser can be installed: {error}");
        return Ok(());
    }
    let browser = setup::find("chromium").ok_or("chromium was installed and is not found")?;
    run(cargo(root).args(["build", "--package", "memtide"]))?;
    let folder = emptied(root.join("target/pictures"))?;
    let images = root.join("docs/images");
    fs::create_dir_all(&images).map_err(at(&images))?;
    let program = root.join("target/debug/memtide");
    let pages = [("run", RUN), ("scan", SCAN)];
    for (name, words) in pages {
        make(&program, &folder, name, words)?;
    }
    make(&program, &folder, "merged", "merge run.json")?;
    make(&program, &folder, "compare", "compare run.json run.json")?;
    for name in ["run", "scan", "merged", "compare"] {
        let page = folder.join(format!("{name}.html"));
        behaves(&browser, &folder, &page)?;
        let size = fs::metadata(&page).map_err(at(&page))?.len();
        println!("pictures: {name}.html holds, {} kB", size / 1000);
    }
    for (width, _) in SIZES {
        begins_with_answer(&browser, &folder, &folder.join("run.html"), width)?;
    }
    live_page(&program, &folder)?;
    for name in ["run", "scan", "live"] {
        for (width, height) in SIZES {
            for (scheme, number) in SCHEMES {
                let image = images.join(format!("{name}-{width}-{scheme}.png"));
                shoot(
                    &browser,
                    &folder.join(format!("{name}.html")),
                    (width, height),
                    number,
                    &image,
                )?;
            }
        }
    }
    println!("pictures: written to docs/images");
    Ok(())
}

/// Keeps the page of a run under way whose server stands still now and then, as `live.html`.
fn live_page(program: &Path, folder: &Path) -> Result<(), String> {
    let [server, page] = [free_address()?, free_address()?];
    let mut serve = Command::new(program);
    serve.args(["serve", "--port", &server.port().to_string(), "--behaviour", STANDS_STILL]);
    let _server = Kept::spawn(serve.stdout(Stdio::null()).stderr(Stdio::null()))?;
    drop(web::connect(server)?);
    let mut watched = Command::new(program);
    watched.current_dir(folder).args(WATCHED.split(' '));
    watched.args(["--server", &server.to_string(), &format!("--web={page}/live")]);
    let _run = Kept::spawn(watched.stdout(Stdio::null()).stderr(Stdio::null()))?;
    thread::sleep(WATCHED_FOR);
    // The picture is taken in a second in which the server has just stood still.
    loop {
        let text = web::page(page, "/live/")?;
        if text.contains("data-suspect=\"server\"") {
            return put(&folder.join("live.html"), text.as_bytes());
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// Runs memtide for a page and its JSON.
fn make(program: &Path, folder: &Path, name: &str, words: &str) -> Result<(), String> {
    let mut memtide = Command::new(program);
    memtide.current_dir(folder).args(words.split(' '));
    memtide.args(["--out", &format!("html={name}.html"), "--out", &format!("json={name}.json")]);
    let output = commands::output(&mut memtide)?;
    // A missed goal does not prevent a picture.
    match output.status.code() {
        Some(0 | 1) if folder.join(format!("{name}.html")).exists() => Ok(()),
        _ => Err(format!("memtide {words} failed: {}", text(&output.stderr))),
    }
}

/// Runs the browser with a page from disk, a profile of its own, and no access to the network.
fn browse(browser: &Path, page: &Path, words: &[String]) -> Result<Output, String> {
    let profile = page.with_extension("profile");
    let mut command = Command::new(browser);
    command
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"])
        .args(["--disable-background-networking", "--no-first-run", "--enable-logging=stderr"])
        .args(["--disable-component-update", "--host-resolver-rules=MAP * ~NOTFOUND"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(words)
        .arg(format!("file://{}", page.display()));
    let output = commands::succeeded(&mut command);
    drop(fs::remove_dir_all(&profile));
    output
}

/// Opens a page: the console must be silent, nothing may be loaded, and every chart must be
/// readable by keyboard.
fn behaves(browser: &Path, folder: &Path, page: &Path) -> Result<(), String> {
    let html = fs::read_to_string(page).map_err(at(page))?;
    let copy = folder.join("probe.html");
    let probed = html.replacen("</body>", &format!("{PROBE}</body>"), 1);
    put(&copy, probed.as_bytes())?;
    for opened in [page, &copy] {
        let output = browse(browser, opened, &["--dump-dom".to_owned()])?;
        let said = text(&output.stderr);
        if let Some(line) = said.lines().find(|line| line.contains("CONSOLE")) {
            return Err(format!("{} says on the console: {line}", page.display()));
        }
        if opened != page {
            check_probe(&text(&output.stdout))
                .map_err(|why| format!("{}: {why}", page.display()))?;
        }
    }
    Ok(())
}

/// Checks that the verdict and all figures stand on the first screen of a run's page, in this order
/// and before the contents, and that no column is cut off.
fn begins_with_answer(
    browser: &Path,
    folder: &Path,
    page: &Path,
    width: u32,
) -> Result<(), String> {
    let html = fs::read_to_string(page).map_err(at(page))?;
    let copy = folder.join("order.html");
    put(&copy, html.replacen("</body>", &format!("{ORDER}</body>"), 1).as_bytes())?;
    // The window has a minimum width, so the page is put into a frame, whose script can reach the
    // title only with files of one origin.
    let frame = folder.join("order-frame.html");
    let style = format!("border:0;width:{width}px;height:{FIRST}px");
    let body = format!("<title></title><iframe src='order.html' style='{style}'></iframe>");
    put(&frame, body.as_bytes())?;
    let words = ["--dump-dom", "--allow-file-access-from-files"].map(str::to_owned);
    let output = browse(browser, &frame, &words)?;
    let shown = text(&output.stdout);
    let [sorted, end, cut] = ["sorted=", "end=", "cut="].map(|name| figure(&shown, name));
    match (sorted, end, cut) {
        (Some(1), Some(end), Some(0)) if end <= FIRST => {
            println!("pictures: at {width} px the answer ends at {end} px");
            Ok(())
        }
        found => Err(format!("at {width} px the answer is not on the first screen: {found:?}")),
    }
}

/// A figure that a script wrote into the title.
fn figure(shown: &str, name: &str) -> Option<u32> {
    let title = shown.split("<title>").nth(1)?.split('<').next()?;
    title.split(' ').find_map(|word| word.strip_prefix(name))?.parse().ok()
}

/// Checks that all charts were read out, and that nothing was loaded.
fn check_probe(shown: &str) -> Result<(), String> {
    match (figure(shown, "charts="), figure(shown, "read="), figure(shown, "loaded=")) {
        (Some(charts @ 1..), Some(read), Some(0)) if charts == read => Ok(()),
        found => Err(format!("the probe found {found:?}")),
    }
}

/// Takes a picture of the top of a page.
fn shoot(
    browser: &Path,
    page: &Path,
    (width, height): (u32, u32),
    scheme: u32,
    image: &Path,
) -> Result<(), String> {
    // The browser's window has a minimum width, so the page is put into a frame of the wanted
    // width.
    let frame = page.with_file_name("frame.html");
    let name = page.file_name().unwrap_or_default().to_string_lossy();
    let style = format!("border:0;width:{width}px;height:{height}px");
    let body =
        format!("<body style='margin:0'><iframe src='{name}' style='{style}'></iframe></body>");
    put(&frame, body.as_bytes())?;
    let words = [
        format!("--blink-settings=preferredColorScheme={scheme}"),
        format!("--window-size={width},{height}"),
        format!("--screenshot={}", image.display()),
    ];
    browse(browser, &frame, &words).map(|_| ())
}
