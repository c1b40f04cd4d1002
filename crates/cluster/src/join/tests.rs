//! Join files of the right form, and of every wrong one.

use super::*;

const TOKEN: &str = "00112233445566778899aabbccddeeff";
const MASTER: &str = "sha256:abababababababababababababababababababababababababababababababab";

fn file() -> String {
    format!(
        "memtide_join = 1\nmaster = \"{MASTER}\"\ntoken = \"{TOKEN}\"\naddress = \"a.lab:7411\"\n"
    )
}

fn refused(text: &str) -> String {
    let error = Join::parse(text).unwrap_err();
    assert!(!error.contains(TOKEN), "{error}");
    assert!(!error.contains(&TOKEN[..16]), "{error}");
    error
}

#[test]
fn a_join_file_is_read_and_written_back() {
    let join = Join::parse(&file()).unwrap();
    assert_eq!(join.master, [0xab; 32]);
    assert!(
        join.token
            .matches(&[0, 17, 34, 51, 68, 85, 102, 119, 136, 153, 170, 187, 204, 221, 238, 255])
    );
    assert_eq!(join.address, "a.lab:7411");
    assert_eq!(join.limits, LawWords::default());
    assert_eq!(Join::parse(&join.text()).unwrap(), join);
    assert_eq!(
        Join::parse(
            &file()
                .to_uppercase()
                .replace("MEMTIDE_JOIN", "memtide_join")
                .replace("MASTER =", "master =")
                .replace("TOKEN", "token")
                .replace("ADDRESS", "address")
                .replace("SHA256", "sha256")
                .replace("A.LAB", "a.lab")
        )
        .unwrap(),
        join
    );
}

#[test]
fn limits_come_as_words_or_numbers() {
    let text = format!(
        "{}[limits]\nallow-target = [\"10.0.0.0/8:11211\", \"unix:/a \\\"b\\\"\"]\n\
         rate-max = \"20k\"\nconnections-max = 256\nduration-max = \"10m\"\n\
         threads-max = 4\nmemory-max = \"1GiB\"\n",
        file()
    );
    let join = Join::parse(&text).unwrap();
    assert_eq!(join.limits.allow_target, ["10.0.0.0/8:11211", "unix:/a \"b\""]);
    assert_eq!(join.limits.most["connections-max"], "256");
    assert_eq!(join.limits.most["memory-max"], "1GiB");
    assert_eq!(Join::parse(&join.text()).unwrap(), join);
    let single = format!("{}[limits]\nallow-target = \"10.0.0.0/8:*\"\n", file());
    assert_eq!(Join::parse(&single).unwrap().limits.allow_target, ["10.0.0.0/8:*"]);
}

#[test]
fn what_is_missing_is_named() {
    for key in ["memtide_join", "master", "token", "address"] {
        let text: String = file()
            .lines()
            .filter(|line| !line.starts_with(key))
            .map(|line| format!("{line}\n"))
            .collect();
        let error = refused(&text);
        assert!(error.contains(key) && error.contains("missing"), "{error}");
    }
    assert!(refused("").contains("not a join file"));
}

#[test]
fn values_of_the_wrong_form_are_refused_by_key() {
    let cases = [
        ("memtide_join = 1", "memtide_join = 2", "version 2"),
        ("memtide_join = 1", "memtide_join = \"1\"", "memtide_join: not a number"),
        ("sha256:ab", "sha256:a", "master: not sha256:"),
        ("sha256:ab", "sha256:xy", "master: not sha256:"),
        ("sha256:", "md5:", "master: not sha256:"),
        ("token = \"00", "token = \"0", "token: not 32"),
        ("token = \"00", "token = \"000", "token: not 32"),
        ("token = \"00", "token = \"0g", "token: not 32"),
        ("token = \"00", "token = \"é", "token: not 32"),
        ("token = \"", "token = 1 #", "token: not a string"),
        ("master = \"", "master = [] #", "master: not a string"),
        ("a.lab:7411", "a.lab", "address: 'a.lab' is not HOST:PORT"),
        ("a.lab:7411", "a.lab:0", "address: 'a.lab:0'"),
        ("a.lab:7411", "a.lab:65536", "address: "),
        ("a.lab:7411", "a.lab:+1", "address: "),
        ("a.lab:7411", ":7411", "address: "),
        ("a.lab:7411", "a b:7411", "address: "),
        ("a.lab:7411", "fd00::1:7411", "address: "),
        ("a.lab:7411", "[]:7411", "address: "),
        ("a.lab:7411", "[fd00::1:7411", "address: "),
        ("a.lab:7411", "http://a:80", "address: "),
    ];
    for (from, to, said) in cases {
        let text = file().replacen(from, to, 1);
        assert_ne!(text, file());
        let error = refused(&text);
        assert!(error.contains(said), "{to}: {error}");
    }
    let v6 = file().replace("a.lab:7411", "[fd00::1]:7411");
    assert_eq!(Join::parse(&v6).unwrap().address, "[fd00::1]:7411");
}

#[test]
fn unknown_keys_are_refused_by_name() {
    let error = refused(&format!("{}colour = 1\n", file()));
    assert!(error.contains("'colour' is unknown"), "{error}");
    let error = refused(&format!("{}[limits]\nrate = 1\n", file()));
    assert!(error.contains("limits: 'rate' is unknown"), "{error}");
    let error = refused(&format!("{}[limits]\nrate-max = true\n", file()));
    assert!(error.contains("limits: rate-max: not a string"), "{error}");
    let error = refused(&format!("{}[limits]\nallow-target = [1]\n", file()));
    assert!(error.contains("limits: allow-target: not a list"), "{error}");
    let error = refused(&format!("{}limits = 1\n", file()));
    assert!(error.contains("limits: not a table"), "{error}");
}

#[test]
fn a_token_in_the_wrong_place_is_not_shown_either() {
    for text in [
        format!("token = {TOKEN}\n"),
        format!("memtide_join = 1\n{TOKEN}\n"),
        format!("memtide_join = 1\n\"{TOKEN}\" = 1\n"),
        file().replace("a.lab:7411", TOKEN),
        file().replace("a.lab", &format!("{TOKEN}:x")),
        format!("{}{TOKEN} = 1\n", file()),
        format!("{}token = \"{TOKEN}\"\n", file()),
        format!("{}[limits]\n\"é{TOKEN}\" = 1\n", file()),
    ] {
        refused(&text);
    }
    let error = refused(&format!("memtide_join = 1\ntoken = {TOKEN}\n"));
    assert!(error.contains("line 2 is not TOML"), "{error}");
}

/// Every prefix, and every file with one changed byte, is either read or refused without its token.
#[test]
fn damaged_files_never_show_the_token() {
    let whole = file();
    for cut in 0..whole.len() {
        if let Err(error) = Join::parse(&whole[..cut]) {
            assert!(!error.contains(&TOKEN[..16]), "{error}");
        }
        for byte in ["\"", "=", "\n", "[", "#", "\0", "z"] {
            let damaged = format!("{}{byte}{}", &whole[..cut], &whole[cut + 1..]);
            if let Err(error) = Join::parse(&damaged) {
                let shown = (0..20).any(|at| error.contains(&TOKEN[at..at + 13]));
                assert!(!shown, "{error}");
            }
        }
    }
}

#[test]
fn debug_shows_no_token() {
    let join = Join::parse(&file()).unwrap();
    let shown = format!("{join:?} {:?} {:#?}", join.token, join.token);
    assert!(!shown.contains("17, 34") && !shown.contains("0011") && shown.contains("Token(..)"));
}

#[test]
fn tokens_compare_whole() {
    let token = Join::parse(&file()).unwrap().token;
    assert!(token.matches(token.bytes()) && token == token.clone());
    assert!(!token.matches(&token.bytes()[..15]) && !token.matches(&[]));
    let mut other = token.bytes().to_vec();
    other[15] ^= 1;
    assert!(!token.matches(&other));
    let random = ring::rand::SystemRandom::new();
    assert_ne!(Token::make(&random).unwrap(), Token::make(&random).unwrap());
}
