//! Every command that README, docs/ and deploy/ show, run by the real program with names and ports
//! of this machine and with small figures. What a command prints is not looked at: other tests hold
//! that.

mod world;
mod scale;
pub(crate) mod ab;
pub(crate) mod floor;
mod pages;

use crate::prelude::*;
use pages::{Block, Command, Line};
use world::World;

/// Pages with many commands, each in a test of its own.
const README: &str = "README.md";
const CLUSTER: &str = "docs/cluster.md";
const OUTPUTS: &str = "docs/outputs.md";

/// A command that cannot run here.
struct Elsewhere {
    page: &'static str,
    /// How its line begins.
    begins: &'static str,
    /// Why, and what tries it instead; read by people only, and never empty.
    reason: &'static str,
}

/// Every command that is not run.
const ELSEWHERE: &[Elsewhere] = &[
    Elsewhere {
        page: "docs/cluster.md",
        begins: "srun --mpi=pmi2 bash -c 'memtide run",
        reason: "it needs Slurm; slurm::shares does the same in a cluster of its own",
    },
    Elsewhere {
        page: "docs/install.md",
        begins: "docker run --rm localhost/memtide",
        reason: "it needs a container runtime; `cargo xtask dist --image` tries the image",
    },
    Elsewhere {
        page: "docs/tls.md",
        begins: "memtide run -s 127.0.0.1:21999",
        reason: "it needs a server with a CA of its own; tls::a_server_is_reached_in_three_tries…",
    },
];

/// Runs all commands of the pages. Those of a unit follow each other; units run side by side.
fn run<'a>(pages: impl IntoIterator<Item = &'a str>) {
    let _turn = shared();
    let pages: Vec<(&str, Vec<Block>)> =
        pages.into_iter().map(|page| (page, pages::blocks(page))).collect();
    let mut count = 0;
    thread::scope(|scope| {
        for (page, blocks) in &pages {
            for commands in blocks.iter().flat_map(units) {
                let name = format!("{}-{count}", page.replace(['/', '.'], "-"));
                count += 1;
                scope.spawn(move || {
                    let mut world = World::new(&name, blocks);
                    commands.iter().for_each(|command| world.run(command));
                    world.finish();
                });
            }
        }
    });
    assert!(count > 0, "the pages show no commands: are they read rightly?");
}

/// The commands of a block that are run here: all about agents, which belong together, and each
/// other paragraph by itself. Any command that is not run must be in the table.
fn units(block: &Block) -> Vec<Vec<Command>> {
    let here = |line| match line {
        Line::Command(command) => (!is_elsewhere(&block.page, &command.text)).then_some(command),
        Line::Within(place, text) => {
            assert!(is_elsewhere(&block.page, &text), "{place}: no test runs '{text}'");
            None
        }
    };
    let mut units: Vec<Vec<Command>> = vec![Vec::new()];
    for lines in block.paragraphs() {
        let commands: Vec<Command> = lines.into_iter().filter_map(here).collect();
        match commands.iter().any(is_about_agents) {
            true => units[0].extend(commands),
            false => units.push(commands),
        }
    }
    units.retain(|commands| !commands.is_empty());
    units
}

fn is_about_agents(command: &Command) -> bool {
    matches!(command.verb(), "agent" | "key") || command.has("--agents") || command.has("--join")
}

fn is_elsewhere(page: &str, text: &str) -> bool {
    ELSEWHERE.iter().any(|row| row.page == page && text.starts_with(row.begins))
}

#[test]
fn those_of_the_readme_do_what_it_says() {
    run([README]);
}

#[test]
fn those_about_clusters_do_what_they_say() {
    run([CLUSTER]);
}

#[test]
fn those_about_outputs_do_what_they_say() {
    run([OUTPUTS]);
}

#[test]
fn those_of_all_other_pages_do_what_they_say() {
    let all = pages::all();
    let others = all.iter().map(String::as_str);
    run(others.filter(|page| ![README, CLUSTER, OUTPUTS].contains(page)));
}

/// Two servers with one thread and two were compared on one CPU.
#[test]
fn a_server_with_several_threads_has_as_many_cpus() {
    let mut count = 0;
    for page in pages::all() {
        let text = fs::read_to_string(pages::root().join(&page)).unwrap();
        for line in text.lines().filter(|line| line.contains(" memcached ")) {
            let behind = |flag: &str| {
                let words: Vec<&str> = line.split_whitespace().collect();
                words.iter().position(|word| *word == flag).and_then(|at| Some(*words.get(at + 1)?))
            };
            let (Some(cpus), Some(threads)) = (behind("-c"), behind("-t")) else { continue };
            let threads: usize = threads.parse().unwrap();
            assert!(cpus.split(',').count() >= threads, "{page}: {line}");
            count += 1;
        }
    }
    assert!(count > 0, "no page pins a server");
}

#[test]
fn what_cannot_run_here_is_on_its_page_and_has_a_reason() {
    let all = pages::all();
    for row in ELSEWHERE {
        let is_named = |line: &Line| match line {
            Line::Command(command) => command.text.starts_with(row.begins),
            Line::Within(_, text) => text.starts_with(row.begins),
        };
        assert!(all.iter().any(|page| page == row.page), "there is no page {}", row.page);
        let blocks = pages::blocks(row.page);
        let mut lines = blocks.iter().flat_map(Block::paragraphs).flatten();
        assert!(lines.any(|line| is_named(&line)), "{}: no '{}'", row.page, row.begins);
        assert!(!row.reason.is_empty(), "{}: why?", row.begins);
    }
}
