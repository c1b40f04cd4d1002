//! Series and numbers, read as the database reads them.

use super::*;
use memtide_base::rng::mix;

/// A strict reader of the protocol: returns the measurement and the tags, unescaped.
fn read(series: &str) -> Option<(String, Vec<(String, String)>)> {
    let mut parts = vec![vec![String::new()]];
    let mut letters = series.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => {
                let next = letters.next().filter(|next| ", =".contains(*next))?;
                parts.last_mut()?.last_mut()?.push(next);
            }
            ',' => parts.push(vec![String::new()]),
            '=' if parts.len() > 1 => parts.last_mut()?.push(String::new()),
            ' ' | '\n' | '\r' => return None,
            plain => parts.last_mut()?.last_mut()?.push(plain),
        }
    }
    let mut parts = parts.into_iter();
    let name = parts.next()?.pop()?;
    let pair = |part: Vec<String>| match &part[..] {
        [name, value] => Some((name.clone(), value.clone())),
        _ => None,
    };
    Some((name, parts.map(pair).collect::<Option<_>>()?))
}

#[test]
fn whatever_a_tag_is_called_it_is_read_back() {
    let letters: Vec<char> = "ab,= \\\n\t\"é=,,  \\".chars().collect();
    for seed in 0..2000_u64 {
        let word = |salt: u64| {
            let length = 1 + mix(seed ^ salt) % 6;
            let at = |n| letters[(mix(seed ^ salt ^ n << 8) % letters.len() as u64) as usize];
            (0..length).map(at).collect::<String>()
        };
        let (name, key, value) = (word(1), word(2), word(3));
        let text = series(&name, &[(&key, &value)]);
        let plain = |word: &str| {
            let one = |c: char| {
                if c == '\\' {
                    '/'
                } else if c.is_control() {
                    ' '
                } else {
                    c
                }
            };
            word.chars().map(one).collect::<String>()
        };
        let expected = (plain(&name), vec![(plain(&key), plain(&value))]);
        assert_eq!(read(&text), Some(expected), "seed {seed}: {text:?}");
    }
}

#[test]
fn numbers_are_written_whole() {
    for value in [0, 7, 10, 1_795_423_942_762_000_001, u64::MAX] {
        let mut out = Vec::new();
        number(&mut out, value);
        assert_eq!(String::from_utf8(out).unwrap(), value.to_string());
    }
}
