//! Thousands of random command lines, read by `getopt.rs` and by the C library's getopt_long: both
//! must give equal options, arguments and errors. This file has one test, because getopt_long keeps
//! its state in globals and writes to the process's stderr.
#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(clippy::print_stdout, reason = "the seed is printed")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    unsafe_code,
    reason = "it calls the C library's own parser"
)]

use memtide_compat::getopt::{Argument, Entry, Found, Words};
use std::ffi::{CStr, CString, c_char, c_int};
use std::io::{Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::ptr;

#[repr(C)]
struct COption {
    name: *const c_char,
    has_arg: c_int,
    flag: *mut c_int,
    value: c_int,
}

unsafe extern "C" {
    static mut optarg: *mut c_char;
    static mut optind: c_int;
    fn getopt_long(
        argc: c_int,
        argv: *const *mut c_char,
        letters: *const c_char,
        long: *const COption,
        index: *mut c_int,
    ) -> c_int;
}

const fn entry(long: &'static str, short: Option<char>, argument: Argument, value: u32) -> Entry {
    Entry { long, short, argument, value, yields: false }
}

const NO: Argument = Argument::None;
const ONE: Argument = Argument::Required;
const MAYBE: Argument = Argument::Optional;

/// Names that share beginnings, values and kinds of argument in every relevant way.
const TABLE: &[Entry] = &[
    entry("help", Some('h'), NO, 'h' as u32),
    entry("version", None, NO, 0),
    entry("verbose", Some('v'), NO, 'v' as u32),
    entry("server", Some('s'), ONE, 's' as u32),
    entry("save", None, ONE, 0),
    entry("search", None, ONE, 0),
    entry("scan", None, ONE, 0),
    entry("noload", None, NO, 0),
    entry("no_nodelay", None, NO, 0),
    entry("qps", Some('q'), ONE, 'q' as u32),
    entry("qps_min", None, ONE, 0),
    entry("qps_max", None, ONE, 0),
    entry("color", Some('c'), MAYBE, 'c' as u32),
    entry("colour", None, MAYBE, 1),
    entry("colophon", None, MAYBE, 1),
    entry("blocking", Some('B'), NO, 'B' as u32),
];

/// A command line of up to eight words, made of difficult cases.
fn random_line(random: &mut u64) -> Vec<String> {
    let mut below = |limit: usize| {
        *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (*random >> 33) as usize % limit
    };
    let words = ["-", "--", "host", "", "7", "-7", "--=", "-=", "--no=1", "-:", "a=b"];
    let letters = ['h', 'v', 's', 'q', 'c', 'B', 'x', '-', '=', '5', ':'];
    let mut line = Vec::new();
    for _ in 0..below(9) {
        let word = match below(10) {
            0..=2 => words[below(words.len())].to_owned(),
            3..=5 => {
                let count = 1 + below(4);
                let cluster: String = (0..count).map(|_| letters[below(letters.len())]).collect();
                format!("-{cluster}")
            }
            _ => {
                let name = TABLE[below(TABLE.len())].long;
                let cut = if below(2) == 0 { name.len() } else { 1 + below(name.len()) };
                let tail = ["", "", "=", "=value", "x"][below(5)];
                format!("--{}{tail}", &name[..cut])
            }
        };
        line.push(word);
    }
    line
}

fn ours(line: &[String]) -> (Vec<String>, String) {
    let (mut found, mut said) = (Vec::new(), String::new());
    for step in Words::new(TABLE, line) {
        match step {
            Ok(Found { index, argument }) => {
                let entry = &TABLE[index];
                found.push(format!("{} {argument:?}", entry.value));
                if entry.short.is_none() {
                    found.push(entry.long.to_owned());
                }
            }
            Err(fault) => {
                found.push("?".to_owned());
                said += &format!("program: {fault}\n");
            }
        }
    }
    (found, said)
}

/// The C library's tables, with the names that they point into.
struct Tables {
    letters: CString,
    names: Vec<CString>,
}

impl Tables {
    fn new() -> Self {
        let mut letters = String::new();
        for entry in TABLE {
            let Some(letter) = entry.short else { continue };
            letters.push(letter);
            letters += match entry.argument {
                Argument::Required => ":",
                Argument::Optional => "::",
                _ => "",
            };
        }
        let names = TABLE.iter().map(|entry| CString::new(entry.long).unwrap()).collect();
        Self { letters: CString::new(letters).unwrap(), names }
    }

    fn rows(&self) -> Vec<COption> {
        let end = COption { name: ptr::null(), has_arg: 0, flag: ptr::null_mut(), value: 0 };
        let row = |(entry, name): (&Entry, &CString)| COption {
            name: name.as_ptr(),
            has_arg: match entry.argument {
                Argument::Required => 1,
                Argument::Optional => 2,
                _ => 0,
            },
            flag: ptr::null_mut(),
            value: entry.value as c_int,
        };
        TABLE.iter().zip(&self.names).map(row).chain([end]).collect()
    }
}

fn theirs(line: &[String], tables: &Tables) -> Vec<String> {
    let words: Vec<CString> = std::iter::once("program")
        .chain(line.iter().map(String::as_str))
        .map(|word| CString::new(word).unwrap())
        .collect();
    let mut argv: Vec<*mut c_char> = words.iter().map(|word| word.as_ptr().cast_mut()).collect();
    argv.push(ptr::null_mut());
    let rows = tables.rows();
    let mut found = Vec::new();
    // SAFETY: argv and rows end with null rows and outlive the calls, getopt_long permutes the
    // pointers but never writes through them, and no other thread of this program calls it.
    unsafe {
        // 0 makes glibc drop its state from the previous command line.
        optind = 0;
        loop {
            let mut index: c_int = -1;
            optarg = ptr::null_mut();
            let count = c_int::try_from(words.len()).unwrap();
            let letters = tables.letters.as_ptr();
            let code = getopt_long(count, argv.as_ptr(), letters, rows.as_ptr(), &raw mut index);
            if code == -1 {
                return found;
            }
            if code == c_int::from(b'?') {
                found.push("?".to_owned());
                continue;
            }
            let argument = optarg;
            let argument = (!argument.is_null())
                .then(|| CStr::from_ptr(argument).to_str().unwrap().to_owned());
            found.push(format!("{code} {argument:?}"));
            if let Some(entry) = usize::try_from(index).ok().map(|index| &TABLE[index])
                && entry.short.is_none()
            {
                found.push(entry.long.to_owned());
            }
        }
    }
}

#[test]
fn random_lines_are_read_as_glibc_reads_them() {
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or(0x5eed_u64);
    println!("seed {seed}");
    let mut random = seed;
    let lines: Vec<Vec<String>> = (0..20_000).map(|_| random_line(&mut random)).collect();
    let tables = Tables::new();
    let path = std::env::temp_dir().join(format!("memtide-getopt-{}", std::process::id()));
    let mut options = std::fs::File::options();
    let mut file = options.read(true).write(true).create_new(true).open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let mut printed = Vec::new();
    // SAFETY: plain descriptors; stderr is restored before anything can fail loudly.
    unsafe {
        let stderr = libc::dup(2);
        libc::dup2(file.as_raw_fd(), 2);
        for line in &lines {
            file.set_len(0).unwrap();
            file.rewind().unwrap();
            let found = theirs(line, &tables);
            let mut said = String::new();
            file.rewind().unwrap();
            file.read_to_string(&mut said).unwrap();
            printed.push((found, said));
        }
        libc::dup2(stderr, 2);
        libc::close(stderr);
    }
    file.flush().unwrap();
    let mut wrong = 0;
    for (line, (found, said)) in lines.iter().zip(&printed) {
        let (our_found, our_said) = ours(line);
        assert_eq!((&our_found, &our_said), (found, said), "{line:?}, seed {seed}");
        wrong += usize::from(!our_said.is_empty());
    }
    assert!(wrong > 1000 && wrong < lines.len() - 1000, "{wrong} lines are wrong");
}
