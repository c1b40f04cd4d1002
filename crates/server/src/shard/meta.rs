//! The commands of the meta protocol on the keys of one shard: what memcached 1.6.18 answers, marks
//! and counts, and what flags of later versions mean. A flag takes effect where it stands.

use super::{At, Incoming, Item, KeyAccess, Marks, NON_NUMERIC, Shard, finish_value};
use crate::clock::{Clock, NEVER_S};
use crate::table::ReplyBuffer;
use memtide_codec::meta::{Command, Flag, Mode, Request, Word, encode};
use memtide_codec::{Reply, Verb, base64};

/// The time and the request that a command carries out.
#[derive(Clone, Copy)]
struct Asked<'a, 'r> {
    target: &'a KeyAccess<'a>,
    clock: Clock,
    request: &'a Request<'r>,
}

/// What an `ma` did with the item.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counted {
    /// The number has as many bytes as before.
    InPlace,
    /// The longer number is in a new item.
    Replaced,
    /// There was none.
    Created,
}

impl Asked<'_, '_> {
    fn has(&self, flag: Flag) -> bool {
        self.request.options.has(flag)
    }

    fn ends_s(&self, expiry: Option<i64>) -> u64 {
        expiry.map_or(NEVER_S, |expiry| self.clock.ends_s(expiry))
    }

    /// Writes an opaque or the request's key, if `word` asks for it.
    fn echo(&self, word: Word<'_>, out: &mut Vec<u8>) {
        match Flag::from_letter(word.letter) {
            Some(Flag::Opaque) => encode::flag_word(out, Flag::Opaque, word.token),
            Some(Flag::Key) => write_key(self.target.key, self.has(Flag::Base64), out),
            _ => {}
        }
    }

    /// Writes a whole line with this code: opaque and key are all that it repeats.
    fn answer(&self, reply: Reply<'_>, out: &mut Vec<u8>) {
        encode::code(out, reply);
        self.request.flags.for_each(|word| self.echo(word, out));
        encode::line_end(out);
    }

    /// Writes the seconds until `ends_s`, as memcached does; it wraps if that is past.
    fn write_ttl(&self, ends_s: u64, out: &mut Vec<u8>) {
        match ends_s {
            NEVER_S => encode::flag_signed(out, Flag::Ttl, -1),
            _ => {
                let left = ends_s.wrapping_sub(self.target.now_s) as u32;
                encode::flag_number(out, Flag::Ttl, left.into());
            }
        }
    }
}

impl Shard {
    /// Carries out a request on a key and writes the reply, if it has one.
    pub fn meta(
        &mut self,
        target: &KeyAccess<'_>,
        clock: Clock,
        request: &Request<'_>,
        out: &mut impl ReplyBuffer,
    ) {
        let asked = Asked { target, clock, request };
        match request.command {
            Command::Get => self.meta_get(asked, out),
            Command::Set => self.meta_set(asked, out.bytes()),
            Command::Delete => self.meta_delete(asked, out.bytes()),
            Command::Arithmetic => self.meta_arithmetic(asked, out.bytes()),
            Command::Debug => self.meta_debug(asked, out.bytes()),
            Command::Noop => unreachable!("mn has no key"),
        }
    }

    /// "Meta Get".
    fn meta_get(&mut self, asked: Asked<'_, '_>, out: &mut impl ReplyBuffer) {
        let Asked { target, request, .. } = asked;
        let options = &request.options;
        let (at, created) = match self.find(target) {
            Some(at) => (at, false),
            None if options.vivify.is_some() => (self.vivify(target, NEVER_S, b""), true),
            None => {
                self.counters.get_misses += 1;
                if !asked.has(Flag::Quiet) {
                    asked.answer(Reply::End, out.bytes());
                }
                return;
            }
        };
        let item = self.table.item(at);
        let is_same = options.compare_cas == Some(item.cas);
        let with_value = asked.has(Flag::Value) && !is_same;
        match with_value {
            true => encode::value_head(out.bytes(), item.value().len()),
            false => encode::code(out.bytes(), Reply::Done),
        }
        let mut won = false;
        for word in request.flags {
            won |= self.meta_get_flag(asked, word, at, created, out.bytes());
        }
        self.mark(at, won, out.bytes());
        encode::line_end(out.bytes());
        if with_value {
            finish_value(self.table.item(at), out);
        }
        if !asked.has(Flag::NoBump) {
            self.read_now(target, at);
        }
        let Self { counters, .. } = self;
        *if options.expiry.is_some() {
            &mut counters.touch_hits
        } else {
            &mut counters.get_hits
        } += 1;
    }

    /// Carries out a flag of an `mg` that found or created an item; true if the client wins.
    fn meta_get_flag(
        &mut self,
        asked: Asked<'_, '_>,
        word: Word<'_>,
        at: At,
        created: bool,
        out: &mut Vec<u8>,
    ) -> bool {
        let options = &asked.request.options;
        let item = self.table.item(at);
        match Flag::from_letter(word.letter) {
            Some(Flag::Expiry) => self.set_ends(at, asked.ends_s(options.expiry)),
            Some(Flag::Vivify) if created => {
                self.set_ends(at, asked.ends_s(options.vivify));
                return true;
            }
            Some(Flag::Recache) => {
                let recache = options.recache.filter(|span| *span != 0);
                let within_s = recache.map_or(0, |span| asked.clock.ends_s(span));
                return !created && !item.marks.won && item.ends_s < within_s;
            }
            Some(Flag::Size) => {
                encode::flag_number(out, Flag::Size, item.value().len() as u64);
            }
            Some(Flag::Ttl) => asked.write_ttl(item.ends_s, out),
            Some(Flag::ReturnCas) => encode::flag_number(out, Flag::ReturnCas, item.cas),
            Some(Flag::ReturnFlags) => {
                encode::flag_number(out, Flag::ReturnFlags, item.flags.into());
            }
            Some(Flag::LastAccess) => {
                let age_s = asked.target.now_s.saturating_sub(item.used_s);
                encode::flag_number(out, Flag::LastAccess, age_s);
            }
            Some(Flag::HitBefore) => {
                encode::flag_number(out, Flag::HitBefore, item.marks.read.into());
            }
            Some(Flag::Key) => write_key(item.key(), item.marks.base64, out),
            _ => asked.echo(word, out),
        }
        false
    }

    /// Writes whether the client has won, another has, and the item is stale; remembers a win.
    fn mark(&mut self, at: At, won: bool, out: &mut Vec<u8>) {
        let marks = self.table.item(at).marks;
        let flags = [(marks.won, Flag::Waiting), (marks.stale, Flag::Stale)];
        flags.iter().filter(|one| one.0).for_each(|one| encode::flag(out, one.1));
        if won || (marks.stale && !marks.won) {
            encode::flag(out, Flag::Won);
            self.table.update(at, |item| item.marks.won = true);
        }
    }

    /// "Meta Set".
    fn meta_set(&mut self, asked: Asked<'_, '_>, out: &mut Vec<u8>) {
        let request = asked.request;
        let (reply, at) = self.meta_store(asked);
        if matches!(reply, Reply::Error(_)) {
            return encode::answer(out, &reply.into());
        }
        if reply == Reply::Done && asked.has(Flag::Quiet) {
            return;
        }
        encode::code(out, reply);
        let item = at.map(|at| self.table.item(at));
        for word in request.flags {
            match (Flag::from_letter(word.letter), item) {
                (Some(Flag::ReturnCas), item) => {
                    encode::flag_number(out, Flag::ReturnCas, item.map_or(0, |item| item.cas));
                }
                (Some(Flag::Size), item) => {
                    let bytes = item.map_or(request.value.len(), |item| item.value().len());
                    encode::flag_number(out, Flag::Size, bytes as u64);
                }
                _ => asked.echo(word, out),
            }
        }
        encode::line_end(out);
    }

    /// Stores; returns the code, and the item that was stored.
    fn meta_store(&mut self, asked: Asked<'_, '_>) -> (Reply<'static>, Option<At>) {
        let Asked { target, request, .. } = asked;
        let options = &request.options;
        self.counters.cmd_set += 1;
        let found = self.find(target);
        let expected = options.compare_cas.filter(|cas| *cas != 0);
        let mut incoming = Incoming {
            verb: Verb::Set,
            flags: options.client_flags,
            ends_s: asked.ends_s(options.expiry),
            value: request.value,
            cas: None,
        };
        let mut marks = Marks { base64: asked.has(Flag::Base64), ..Marks::default() };
        let is_cas = options.compare_cas.is_some();
        let reply = match (options.mode, found) {
            (Mode::Add, Some(at)) => {
                self.use_now(target, at);
                Reply::NotStored
            }
            (Mode::Append | Mode::Prepend, Some(at)) => {
                let old = self.table.item(at);
                if expected.is_some_and(|cas| cas != old.cas) {
                    return (Reply::Exists, None);
                }
                let value = match options.mode {
                    Mode::Append => [old.value(), request.value].concat(),
                    _ => [request.value, old.value()].concat(),
                };
                marks.base64 = false;
                self.lengthen(target, at, &value)
            }
            (Mode::Append | Mode::Prepend, None) if options.vivify.is_some() => {
                incoming.ends_s = asked.ends_s(options.vivify);
                self.make(target, &incoming)
            }
            (Mode::Plain | Mode::Replace, Some(at)) if is_cas => {
                let Item { cas, ends_s, marks: old_marks, .. } = *self.table.item(at);
                let may_be_old = asked.has(Flag::Invalidate);
                match expected {
                    Some(expected) if expected == cas => {}
                    Some(expected) if may_be_old && expected < cas => {
                        incoming.ends_s = ends_s;
                        marks = Marks { stale: true, won: old_marks.won, ..marks };
                    }
                    _ => {
                        self.counters.cas_badval += 1;
                        return (Reply::Exists, None);
                    }
                }
                self.counters.cas_hits += 1;
                self.replace(target, at, &incoming)
            }
            (Mode::Plain | Mode::Replace, None) if is_cas => {
                self.counters.cas_misses += 1;
                Reply::NotFound
            }
            (Mode::Plain | Mode::Replace, Some(at)) => self.replace(target, at, &incoming),
            (Mode::Plain | Mode::Add, None) => self.make(target, &incoming),
            _ => Reply::NotStored,
        };
        if reply != Reply::Stored {
            return (reply, None);
        }
        let at = self.table.find(target.hash, target.key);
        if let Some(at) = at {
            self.table.update(at, |item| item.marks = marks);
        }
        (Reply::Done, at)
    }

    /// "Meta Delete".
    fn meta_delete(&mut self, asked: Asked<'_, '_>, out: &mut Vec<u8>) {
        let Asked { target, request, .. } = asked;
        let options = &request.options;
        let Some(at) = self.find(target) else {
            self.counters.delete_misses += 1;
            return asked.answer(Reply::NotFound, out);
        };
        if options.compare_cas.is_some_and(|cas| cas != self.table.item(at).cas) {
            self.counters.delete_misses += 1;
            return asked.answer(Reply::Exists, out);
        }
        if asked.has(Flag::RemoveValue) {
            let (flags, ends_s) = (options.client_flags, asked.ends_s(options.expiry));
            let cas = options.new_cas.or(Some(self.table.item(at).cas));
            self.table.update(at, |item| (item.flags, item.ends_s) = (flags, ends_s));
            self.counters.total_items += 1;
            self.rewrite(&KeyAccess { cas, ..*target }, at, b"");
        }
        if asked.has(Flag::Invalidate) {
            let cas = target.new_cas();
            self.table.update(at, |item| {
                item.cas = cas;
                (item.marks.stale, item.marks.won) = (true, false);
            });
            if options.expiry.is_some() {
                self.set_ends(at, asked.ends_s(options.expiry));
            }
        } else {
            self.counters.delete_hits += 1;
            if !asked.has(Flag::RemoveValue) {
                self.table.remove(at);
            }
        }
        if !asked.has(Flag::Quiet) {
            asked.answer(Reply::Done, out);
        }
    }

    /// "Meta Arithmetic".
    fn meta_arithmetic(&mut self, asked: Asked<'_, '_>, out: &mut Vec<u8>) {
        let (target, options) = (asked.target, &asked.request.options);
        let up = options.mode != Mode::Decrement;
        let (at, number, part) = match self.find(target) {
            Some(at) => {
                let item = self.table.item(at);
                let before = item.value().len();
                // An empty value is no number, whatever its cas number.
                let expected = options.compare_cas.filter(|cas| *cas != 0);
                let is_empty = item.value().is_empty();
                if !is_empty && expected.is_some_and(|cas| cas != item.cas) {
                    return asked.answer(Reply::Exists, out);
                }
                let anew = KeyAccess { cas: None, ..*target };
                match self.count_found(&anew, at, up, options.delta) {
                    Some(number) if self.table.item(at).value().len() > before => {
                        (at, number, Counted::Replaced)
                    }
                    Some(number) => {
                        if let Some(cas) = options.new_cas {
                            self.table.update(at, |item| item.cas = cas);
                        }
                        (at, number, Counted::InPlace)
                    }
                    None => return encode::answer(out, &NON_NUMERIC.into()),
                }
            }
            None if options.vivify.is_some() => {
                let digits = options.initial.to_string();
                (self.vivify(target, NEVER_S, digits.as_bytes()), options.initial, Counted::Created)
            }
            None => {
                let Self { counters, .. } = self;
                *if up { &mut counters.incr_misses } else { &mut counters.decr_misses } += 1;
                return asked.answer(Reply::NotFound, out);
            }
        };
        self.answer_number(asked, at, number, part, out);
    }

    /// Writes the answer to an `ma` that has a number, and sets the expiry. memcached 1.6.18
    /// answers a quiet one too if it created the key.
    fn answer_number(
        &mut self,
        asked: Asked<'_, '_>,
        at: At,
        number: u64,
        counted: Counted,
        out: &mut Vec<u8>,
    ) {
        let options = &asked.request.options;
        // memcached sets the expiry of the item that a longer number has just replaced, and the cas
        // number that the request gives.
        let mut ends_s = self.table.item(at).ends_s;
        let digits = number.to_string();
        let from = out.len();
        match asked.has(Flag::Value) {
            true => encode::value_head(out, digits.len()),
            false => encode::code(out, Reply::Done),
        }
        for word in asked.request.flags {
            let item = self.table.item(at);
            match Flag::from_letter(word.letter) {
                Some(Flag::ReturnCas) => {
                    let cas = options.new_cas.unwrap_or(item.cas);
                    encode::flag_number(out, Flag::ReturnCas, cas);
                }
                Some(Flag::Ttl) => asked.write_ttl(ends_s, out),
                Some(Flag::Expiry) => ends_s = asked.ends_s(options.expiry),
                Some(Flag::Vivify) if counted == Counted::Created => {
                    ends_s = asked.ends_s(options.vivify);
                }
                _ => asked.echo(word, out),
            }
        }
        if counted != Counted::Replaced {
            self.set_ends(at, ends_s);
        }
        encode::line_end(out);
        if asked.has(Flag::Value) {
            out.extend_from_slice(digits.as_bytes());
            encode::line_end(out);
        }
        if asked.has(Flag::Quiet) && counted != Counted::Created {
            out.truncate(from);
        }
    }

    /// "Meta Debug". The class of sizes is that of a server without slabs.
    fn meta_debug(&mut self, asked: Asked<'_, '_>, out: &mut Vec<u8>) {
        let Some(at) = self.find(asked.target) else {
            return encode::answer(out, &Reply::End.into());
        };
        let item = self.table.item(at);
        let now_s = asked.target.now_s;
        let exp = match item.ends_s {
            NEVER_S => -1,
            ends_s => i64::try_from(ends_s - now_s).unwrap_or(i64::MAX),
        };
        let (last, cas, size) = (now_s.saturating_sub(item.used_s), item.cas, item.counted_bytes());
        let fetch = if item.marks.read { "yes" } else { "no" };
        let figures = format!("exp={exp} la={last} cas={cas} fetch={fetch} cls=1 size={size}");
        let mut key = Vec::new();
        match item.marks.base64 {
            true => base64::encode(&mut key, item.key()),
            false => key.extend_from_slice(item.key()),
        }
        let reply = Reply::Item { key: &key, figures: figures.as_bytes() };
        encode::answer(out, &reply.into());
    }

    /// Makes an item for a missing key.
    fn vivify(&mut self, target: &KeyAccess<'_>, ends_s: u64, value: &[u8]) -> At {
        let made = Incoming { verb: Verb::Add, flags: 0, ends_s, value, cas: None };
        self.make(target, &made);
        let at = self.table.find(target.hash, target.key);
        at.expect("a small item always fits, and the one used last is evicted last")
    }

    fn set_ends(&mut self, at: At, ends_s: u64) {
        self.table.update(at, |item| item.ends_s = ends_s);
    }
}

fn write_key(raw: &[u8], in_base64: bool, out: &mut Vec<u8>) {
    encode::flag(out, Flag::Key);
    if in_base64 {
        base64::encode(out, raw);
        encode::flag(out, Flag::Base64);
    } else {
        out.extend_from_slice(raw);
    }
}
