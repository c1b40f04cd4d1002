//! The page of options, which follows every error: twemperf's layout, our words. It goes to stderr,
//! and its lines end as the original's do.

/// The text of `--version`, which `--help` prints before the page.
pub(super) const VERSION: &str = "This is mcperf-0.1.1\r\n\n";

/// The whole page. The lines between its parts end otherwise.
pub(super) fn usage() -> String {
    let page = include_str!("page.txt").replace('\n', "\r\n");
    page.replace("  ...\r\n", "  ...\n") + "  \n"
}
