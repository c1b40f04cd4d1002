//! Renders docs/scenario.md from the table of fields, so that both always agree.
//!
//! Used only by the test that compares the file with the rendered text.

use crate::field::{FIELDS, Field, Section};
use std::fmt::Write;

const INTRODUCTION: &str = include_str!("introduction.md");

/// A scenario file that the page shows and a test parses.
pub(crate) const EXAMPLE: &str = include_str!("example.toml");

/// The whole page docs/scenario.md.
pub(crate) fn scenario_markdown() -> String {
    let mut page = format!("{INTRODUCTION}```toml\n{EXAMPLE}```\n");
    for section in Section::ALL {
        let fields: Vec<&Field> = FIELDS.iter().filter(|f| f.section == section).collect();
        section_markdown(&mut page, section, &fields);
    }
    page
}

fn section_markdown(page: &mut String, section: Section, fields: &[&Field]) {
    let mut line = |text: String| {
        page.push_str(&text);
        page.push('\n');
    };
    line(format!("\n## {}\n", section.title()));
    line("| field | value | default | meaning |".to_owned());
    line("|---|---|---|---|".to_owned());
    for field in fields {
        line(format!(
            "| [`{}`](#{}) | {} | {} | {} |",
            field.name,
            field.name,
            cell(field.value.unwrap_or("switch")),
            cell(field.default),
            cell(field.help)
        ));
    }
    for field in fields {
        line(format!("\n### {}\n", field.name));
        line(wrapped(&format!("{} {}. {}", spellings(field), field.help, field.long)));
    }
}

/// The flag with its short form and value, and the environment variable.
fn spellings(field: &Field) -> String {
    let mut text = "`".to_owned();
    let mut add = |part: std::fmt::Arguments<'_>| {
        text.write_fmt(part).expect("writing to a string does not fail");
    };
    if let Some(short) = field.short {
        add(format_args!("-{short}, "));
    }
    add(format_args!("--{}", field.name));
    if let Some(value) = field.value {
        add(format_args!(" {value}"));
    }
    add(format_args!("`, `{}`.", field.variable()));
    text
}

fn cell(text: &str) -> String {
    match text.is_empty() {
        true => "–".to_owned(),
        false => text.replace('|', "\\|"),
    }
}

/// Wraps text at 98 characters; words are never broken.
fn wrapped(text: &str) -> String {
    let mut lines = String::new();
    let mut width = 0;
    for word in text.split(' ') {
        let length = word.chars().count();
        if width > 0 && width + 1 + length > 98 {
            lines.push('\n');
            width = 0;
        } else if width > 0 {
            lines.push(' ');
            width += 1;
        }
        lines.push_str(word);
        width += length;
    }
    lines
}

#[cfg(test)]
mod tests;
