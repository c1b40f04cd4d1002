//! A fixed, repeating sequence of requests whose replies have known lengths.
//!
//! Because the order of the replies is known, counting bytes is enough to know how many of them
//! have arrived. Nothing here reads a reply's bytes.

/// The form of the requests. One request in `set_every` is a set, the others are gets; all keys and
/// all values have the same length, so every get that hits has the same reply length.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Distinct keys, and requests before the sequence repeats; at least 1.
    pub keys: usize,
    /// Bytes of each key: 14 to 250.
    pub key_bytes: usize,
    /// Bytes of each value.
    pub value_bytes: usize,
    /// One request in this many is a set; 0 for no sets.
    pub set_every: usize,
    /// Keys that each get requests, at least 1; they are consecutive keys of the pattern.
    pub keys_per_get: usize,
    /// The pipeline depth of a connection; at least 1.
    pub depth: usize,
    /// True if a connection sends its next requests together, once all outstanding ones are
    /// answered; false for one request after each reply.
    pub whole_batches: bool,
}

impl Shape {
    /// Single gets of keys of 30 bytes with values of 200 bytes, one at a time.
    pub fn gets(keys: usize) -> Self {
        Self {
            keys,
            key_bytes: 30,
            value_bytes: 200,
            set_every: 0,
            keys_per_get: 1,
            depth: 1,
            whole_batches: false,
        }
    }
}

/// The requests of a [`Shape`], prebuilt in one piece of memory.
pub struct Pattern {
    bytes: Vec<u8>,
    /// The start of request i in `bytes`. The sequence is followed by its own first `depth`
    /// requests, so that any `depth` consecutive requests lie in one slice.
    starts: Vec<usize>,
    reply_bytes: Vec<usize>,
    shape: Shape,
}

const STORED: &[u8] = b"STORED\r\n";

impl Pattern {
    /// Builds all requests of `shape`.
    ///
    /// # Panics
    /// If `shape` violates the bounds stated at its fields.
    pub fn new(shape: Shape) -> Self {
        assert!(shape.keys > 0 && shape.depth > 0, "a pattern has a key and a depth");
        assert!(shape.keys_per_get > 0, "a get asks for a key");
        assert!((14..=250).contains(&shape.key_bytes), "a bare client's keys have 14 to 250 bytes");
        let get_reply_bytes = get_reply(shape).len();
        let mut pattern = Self {
            bytes: Vec::new(),
            starts: vec![0],
            reply_bytes: Vec::with_capacity(shape.keys),
            shape,
        };
        for position in 0..shape.keys + shape.depth {
            let index = position % shape.keys;
            let stores = shape.set_every > 0 && index % shape.set_every == shape.set_every - 1;
            let request = if stores { set(shape, index) } else { get(shape, index) };
            pattern.bytes.extend_from_slice(&request);
            pattern.starts.push(pattern.bytes.len());
            if position < shape.keys {
                pattern.reply_bytes.push(if stores { STORED.len() } else { get_reply_bytes });
            }
        }
        pattern
    }

    /// The number of requests before the sequence repeats.
    pub fn len(&self) -> usize {
        self.shape.keys
    }

    /// True if there is no request, which never happens.
    pub fn is_empty(&self) -> bool {
        self.reply_bytes.is_empty()
    }

    /// Request `number` of the endless sequence.
    pub fn request(&self, number: usize) -> &[u8] {
        self.requests(number % self.shape.keys, 1, 0)
    }

    /// `count` requests from position `first` on, without the first `skip` bytes.
    fn requests(&self, first: usize, count: usize, skip: usize) -> &[u8] {
        &self.bytes[self.starts[first] + skip..self.starts[first + count]]
    }

    /// The sets of all keys, and the number of bytes of their replies.
    pub fn fill(&self) -> (Vec<u8>, usize) {
        let all = (0..self.shape.keys).flat_map(|index| set(self.shape, index)).collect();
        (all, self.shape.keys * STORED.len())
    }

    /// True if `replies` show that the server stored every set of [`Pattern::fill`].
    pub fn is_filled(&self, replies: &[u8]) -> bool {
        replies.len() == self.shape.keys * STORED.len()
            && replies.chunks(STORED.len()).all(|reply| reply == STORED)
    }

    /// A get of the first key, and its exact reply once the keys are filled.
    pub fn probe(&self) -> (Vec<u8>, Vec<u8>) {
        (get(self.shape, 0), get_reply(self.shape))
    }
}

/// The position of one connection in a [`Pattern`]: the requests that it still has to send, and the
/// reply that it is receiving. Each connection starts at a request of its own.
pub struct Cursor {
    send: usize,
    send_skip: usize,
    owed: usize,
    /// Requests that are sent once all outstanding ones are answered.
    held: usize,
    reply: usize,
    reply_have: usize,
}

impl Cursor {
    /// A cursor that begins at request `first` and has `depth` requests to send.
    pub fn new(pattern: &Pattern, first: usize) -> Self {
        let first = first % pattern.len();
        let owed = pattern.shape.depth;
        Self { send: first, send_skip: 0, owed, held: 0, reply: first, reply_have: 0 }
    }

    /// The bytes that may be written now; empty if the connection's window is full, or its batch is
    /// not answered completely.
    pub fn unsent<'a>(&self, pattern: &'a Pattern) -> &'a [u8] {
        pattern.requests(self.send, self.owed, self.send_skip)
    }

    /// Records that the first `bytes` of [`Cursor::unsent`] were written.
    pub fn handle_sent(&mut self, pattern: &Pattern, bytes: usize) {
        let mut left = bytes + self.send_skip;
        while self.owed > 0 {
            let length = pattern.starts[self.send + 1] - pattern.starts[self.send];
            if left < length {
                break;
            }
            left -= length;
            self.owed -= 1;
            self.send = if self.send + 1 == pattern.len() { 0 } else { self.send + 1 };
        }
        self.send_skip = left;
    }

    /// Records that `bytes` arrived; returns the number of replies that they completed, and adds
    /// one request to send for each, at once or with the whole batch.
    pub fn handle_received(&mut self, pattern: &Pattern, bytes: usize) -> usize {
        let mut have = self.reply_have + bytes;
        let mut completed = 0;
        while have >= pattern.reply_bytes[self.reply] {
            have -= pattern.reply_bytes[self.reply];
            self.reply = if self.reply + 1 == pattern.len() { 0 } else { self.reply + 1 };
            completed += 1;
        }
        self.reply_have = have;
        let Shape { depth, whole_batches, .. } = pattern.shape;
        self.held += completed;
        assert!(self.owed + self.held <= depth, "the server sent more than it was asked for");
        if !whole_batches || self.held == depth {
            self.owed += std::mem::take(&mut self.held);
        }
        completed
    }
}

/// The `nth` key of request `index`. All keys are requested equally often, in an order in which
/// neighbours in the server's memory are not neighbours in time.
fn place(shape: Shape, index: usize, nth: usize) -> usize {
    // A prime, so the steps reach every key unless the number of keys is a multiple of it.
    const STEP: usize = 7_919;
    (index * shape.keys_per_get + nth) * STEP % shape.keys
}

/// `bare-` and the index, padded to the shape's key length.
fn key(shape: Shape, index: usize) -> Vec<u8> {
    format!("bare-{index:0>width$}", width = shape.key_bytes - 5).into_bytes()
}

fn get(shape: Shape, index: usize) -> Vec<u8> {
    let mut request = b"get".to_vec();
    for nth in 0..shape.keys_per_get {
        request.push(b' ');
        request.extend_from_slice(&key(shape, place(shape, index, nth)));
    }
    request.extend_from_slice(b"\r\n");
    request
}

fn set(shape: Shape, index: usize) -> Vec<u8> {
    let head = format!(" 0 0 {}\r\n", shape.value_bytes).into_bytes();
    [b"set ".as_slice(), &key(shape, index), &head, &value(shape), b"\r\n"].concat()
}

fn get_reply(shape: Shape) -> Vec<u8> {
    let head = format!(" 0 {}\r\n", shape.value_bytes).into_bytes();
    let hit = |nth: usize| {
        [b"VALUE ".as_slice(), &key(shape, place(shape, 0, nth)), &head, &value(shape), b"\r\n"]
            .concat()
    };
    let mut reply: Vec<u8> = (0..shape.keys_per_get).flat_map(hit).collect();
    reply.extend_from_slice(b"END\r\n");
    reply
}

fn value(shape: Shape) -> Vec<u8> {
    vec![b'v'; shape.value_bytes]
}

#[cfg(test)]
mod tests;
