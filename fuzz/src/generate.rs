//! Inputs that are nearly valid: words of a dictionary, joined and then damaged. Equal seeds give
//! equal inputs. The inputs do not depend on their target.

use memtide_base::Random;

/// Requests, and parts of them.
pub const REQUESTS: &[&[u8]] = &[
    b"get k\r\n",
    b"gets k a b\r\n",
    b"gat 0 k\r\n",
    b"gats -1 k a\r\n",
    b"set k 0 0 3\r\nabc\r\n",
    b"set k 7 100 7\r\n\r\nEND\r\n\r\n",
    b"add a 0 0 1 noreply\r\n1\r\n",
    b"replace a 4294967295 0 2\r\n12\r\n",
    b"append k 0 0 1\r\nx\r\n",
    b"prepend k 0 0 0\r\n\r\n",
    b"cas k 0 0 1 1\r\n9\r\n",
    b"cas a 0 0 1 18446744073709551615 noreply\r\n9\r\n",
    b"set large 0 0 300\r\n",
    b"delete k\r\n",
    b"delete a 0 noreply\r\n",
    b"incr a 1\r\n",
    b"decr a 18446744073709551615\r\n",
    b"touch k 10 noreply\r\n",
    b"stats\r\n",
    b"stats reset\r\n",
    b"version\r\n",
    b"flush_all\r\n",
    b"flush_all 10 noreply\r\n",
    b"verbosity 1\r\n",
    b"quit\r\n",
    b"GET / HTTP/1.1\r\n",
    b"get ",
    b"set ",
    b"noreply",
];

/// Replies, and parts of them.
pub const REPLIES: &[&[u8]] = &[
    b"VALUE k 0 3\r\nabc\r\n",
    b"VALUE k 4294967295 7 18446744073709551615\r\n\r\nEND\r\n\r\n",
    b"VALUE k 0 0\r\n\r\n",
    b"VALUE k 0 300\r\n",
    b"VALUE ",
    b"END\r\n",
    b"STORED\r\n",
    b"NOT_STORED\r\n",
    b"EXISTS\r\n",
    b"NOT_FOUND\r\n",
    b"DELETED\r\n",
    b"TOUCHED\r\n",
    b"OK\r\n",
    b"RESET\r\n",
    b"12\r\n",
    b"18446744073709551615 \r\n",
    b"VERSION 1.6.18\r\n",
    b"STAT pid 1\r\n",
    b"STAT empty \r\n",
    b"ERROR\r\n",
    b"ERROR Too many open connections\r\n",
    b"ERROR: shutdown not enabled\r\n",
    b"CLIENT_ERROR bad data chunk\r\n",
    b"SERVER_ERROR: out of memory\r\n",
];

/// Request frames, and parts of them.
pub const REQUEST_FRAMES: &[&[u8]] = &[
    b"\x80\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\
      \x00\x00k",
    b"\x80\x0c\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\
      \x00\x00k",
    b"\x80\x0d\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\
      \x00\x00a",
    b"\x80\x0a\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\
      \x00\x00",
    b"\x80\x01\x00\x01\x08\x00\x00\x00\x00\x00\x00\x0c\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\
      \x00\x00\x00\x00\x00\x07\x00\x00\x00\x00kabc",
    b"\x80\x11\x00\x01\x08\x00\x00\x00\x00\x00\x00\x0b\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\
      \x00\x00\x00\x00\x00\x07\x00\x00\x00\x00a12",
    b"\x80\x02\x00\x01\x08\x00\x00\x00\x00\x00\x00\x0a\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\
      \x00\x00\x00\x00\x00\x00\x00\x00\x00\x00a1",
    b"\x80\x03\x00\x01\x08\x00\x00\x00\x00\x00\x00\x09\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\
      \x00\x01\x00\x00\x00\x07\x00\x00\x00\x00k",
    b"\x80\x0e\x00\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\
      \x00\x00kx",
    b"\x80\x19\x00\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\
      \x00\x00kx",
    b"\x80\x01\x00\x05\x08\x00\x00\x00\x00\x00\x01\x90\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\
      \x00\x00\x00\x00\x00\x07\x00\x00\x00\x00large",
    b"\x80\x04\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\
      \x00\x00k",
    b"\x80\x14\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\
      \x00\x00k",
    b"\x80\x05\x00\x01\x14\x00\x00\x00\x00\x00\x00\x15\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\
      \x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x05\xff\xff\xff\xff\
      a",
    b"\x80\x16\x00\x01\x14\x00\x00\x00\x00\x00\x00\x15\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\
      \x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x00\
      n",
    b"\x80\x1c\x00\x01\x04\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\
      \x00\x00\x00\x00\x00\x01k",
    b"\x80#\x00\x01\x04\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\
      \x00\x00\x00\x00\x00\x01k",
    b"\x80\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\
      \x00\x00",
    b"\x80\x18\x00\x00\x04\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\
      \x00\x00\x00\x00\x00\x01",
    b"\x80\x10\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\
      \x00\x00",
    b"\x80\x10\x00\x05\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\
      \x00\x00reset",
    b"\x80\x0b\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\
      \x00\x00",
    b"\x80\x1b\x00\x00\x04\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\
      \x00\x00\x00\x00\x00\x01",
    b"\x80 \x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\
      \x00\x00",
    b"\x80!\x00\x05\x00\x00\x00\x00\x00\x00\x00\x09\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\
      \x00\x00PLAIN\x00u\x00p",
    b"\x80\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\
      \x00\x00",
    b"\x80\x1f\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\
      \x00\x00k",
    b"\x80\x00\x00\x00\x00\x00\x00\x00\x00\x00",
];

/// Reply frames, and parts of them.
pub const ANSWER_FRAMES: &[&[u8]] = &[
    b"\x81\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\
      \x00\x00\x00\x00\x00\x07abc",
    b"\x81\x0d\x00\x01\x04\x00\x00\x00\x00\x00\x00\x08\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\
      \x00\x00\x00\x00\x00\x07kabc",
    b"\x81\x00\x00\x00\x04\x00\x00\x00\x00\x00\x01,\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\
      \x00\x00\x00\x00\x00\x00",
    b"\x81\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\
      \x00\x00",
    b"\x81\x0c\x00\x01\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\
      \x00\x00k",
    b"\x81\x0a\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\
      \x00\x00",
    b"\x81\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\
      \x00\x05",
    b"\x81\x02\x00\x00\x00\x00\x00\x02\x00\x00\x00\x14\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\
      \x00\x00Data exists for key.",
    b"\x81\x0e\x00\x00\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\
      \x00\x00",
    b"\x81\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\
      \x00\x00",
    b"\x81\x05\x00\x00\x00\x00\x00\x00\x00\x00\x00\x08\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\
      \x00\x00\x00\x00\x00\x00\x00\x00\x00\x05",
    b"\x81\x1c\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\
      \x00\x00",
    b"\x81\x10\x00\x03\x00\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\
      \x00\x00pid1",
    b"\x81\x10\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\
      \x00\x00",
    b"\x81\x0b\x00\x00\x00\x00\x00\x00\x00\x00\x00\x06\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\
      \x00\x001.6.18",
    b"\x81 \x00\x00\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\
      \x00\x00PLAIN",
    b"\x81!\x00\x00\x00\x00\x00 \x00\x00\x00\x0d\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00\
      \x00Auth failure.",
    b"\x81\x01\x00\x00\x00\x00\x00\x82\x00\x00\x00\x02\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\
      \x00\x00no",
    b"ERROR Too many open connections\x0d\x0a",
    b"\x81\x00\x00\x00\x00\x00\x00\x00\x00",
];

/// Lines of scenario files, and parts of them.
pub const SCENARIOS: &[&[u8]] = &[
    b"server = 'a'\n",
    b"server = ['a', '[::1]:11211', 'unix:/s']\n",
    b"server = \"h:11211-11213\"\n",
    b"rate = '20k'\n",
    b"rate = 1.5e3\n",
    b"arrival = 'pareto:0,16,0.15'\n",
    b"arrival = \"poisson\"\n",
    b"schedule = 'connection'\n",
    b"on-full = 'drop'\n",
    b"wave = 'ramp:10,20k'\n",
    b"wave = 'step:1,2,3@10s'\n",
    b"wave = 'sine:5k,1k,1m'\n",
    b"wave = 'random:1,5@1s'\n",
    b"duration = '30s'\n",
    b"warmup = '500ms'\n",
    b"ops-max = 0x10\n",
    b"ops_max = '1M'\n",
    b"threads = 2\n",
    b"connections = 64\n",
    b"depth = 4096\n",
    b"keys = '1G'\n",
    b"key-size = 'normal:30,5'\n",
    b"key-size = 'etc-key'\n",
    b"value-size = 'table:1=2,10=1'\n",
    b"value-size = 'gev:1,2,0.1'\n",
    b"value-max = '2MiB'\n",
    b"popularity = 'zipf:0.99'\n",
    b"popularity = 'hotspot:20%,80%'\n",
    b"mix = 'get=9,set=1'\n",
    b"mix = 'get=90%,cas=10%'\n",
    b"multiget = 10\n",
    b"expiry = -1\n",
    b"flags = 4294967295\n",
    b"noreply = true\n",
    b"load = 'never'\n",
    b"timeout = '1h'\n",
    b"reconnect = '10ms..1s'\n",
    b"goal = ['get.p99<1ms', 'rate>=50k', 'errors<0.1%']\n",
    b"goal = 'all.p99.9<=5ms'\n",
    b"seed = 18446744073709551615\n",
    b"wait = 'hybrid'\n",
    b"cooldown = 'drain'\n",
    b"bind = ['127.0.0.1', '::1']\n",
    b"json = '-'\n",
    b"samples = \"s.csv\"\n",
    b"strict = true\n",
    b"[table]\n",
    b"# a comment\n",
    b"nonsense = 1979-05-27\n",
    b" = ",
    b"'",
    b",",
    b"..",
    b"99999999999999999999",
    b"1e308",
];

const SCRAPS: &[&[u8]] =
    &[b" ", b"\r", b"\n", b"\r\n", b"0", b"-1", b"18446744073709551616", b"\0"];

/// The number of inputs that are kept to be damaged further.
const POOL_MAX: usize = 64;
/// The longest input, in bytes, except for a few that test the limits of lines.
const INPUT_BYTES_MAX: usize = 4096;

/// An endless sequence of inputs.
#[derive(Debug)]
pub struct Generator {
    random: Random,
    dictionary: &'static [&'static [u8]],
    pool: Vec<Vec<u8>>,
}

impl Generator {
    /// The sequence of a seed and a dictionary.
    pub fn new(seed: u64, dictionary: &'static [&'static [u8]]) -> Self {
        Self { random: Random::new(seed), dictionary, pool: Vec::new() }
    }

    /// The next input.
    pub fn input(&mut self) -> Vec<u8> {
        let mut input = match self.pool.len() {
            0 => self.sentence(),
            _ if self.below(2) == 0 => self.sentence(),
            count => self.pool[self.random.below(count as u64) as usize].clone(),
        };
        for _ in 0..self.below(6) {
            self.damage(&mut input);
        }
        input.truncate(INPUT_BYTES_MAX);
        if self.pool.len() < POOL_MAX {
            self.pool.push(input.clone());
        } else {
            let slot = self.below(POOL_MAX);
            self.pool[slot].clone_from(&input);
        }
        input
    }

    fn sentence(&mut self) -> Vec<u8> {
        let mut input = Vec::new();
        for _ in 0..1 + self.below(12) {
            input.extend_from_slice(self.word());
        }
        input
    }

    fn word(&mut self) -> &'static [u8] {
        let words = if self.below(6) == 0 { SCRAPS } else { self.dictionary };
        words[self.below(words.len())]
    }

    fn damage(&mut self, input: &mut Vec<u8>) {
        let (start, end) = (self.below(input.len() + 1), self.below(input.len() + 1));
        let (start, end) = (start.min(end), start.max(end));
        match self.below(6) {
            0 => input.truncate(end),
            1 => drop(input.drain(start..end.min(start + 8))),
            2 => drop(input.splice(start..start, self.word().iter().copied())),
            3 => input.extend_from_within(start..end),
            4 if self.below(8) == 0 => {
                let run = vec![self.random.bits() as u8; self.below(INPUT_BYTES_MAX)];
                drop(input.splice(start..start, run));
            }
            _ if start < input.len() => input[start] = self.random.bits() as u8,
            _ => {}
        }
    }

    fn below(&mut self, count: usize) -> usize {
        self.random.below(count as u64) as usize
    }
}

/// Splits the input; the same bytes always give the same pieces.
pub fn pieces(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    let seed =
        data.iter().fold(data.len() as u64, |sum, byte| sum * 31 % (1 << 40) + u64::from(*byte));
    let mut random = Random::new(seed);
    let longest = [1, 2, 7, 100][random.below(4) as usize];
    let mut rest = data;
    std::iter::from_fn(move || {
        let (piece, after) = rest.split_at(rest.len().min(1 + random.below(longest) as usize));
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}
