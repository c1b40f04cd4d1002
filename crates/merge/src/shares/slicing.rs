//! Adds the slices of shares, by number: slice *i* of each is the same stretch of time, as far as
//! the shares began together.

use crate::clocks::Windows;
use memtide_metrics::{Slice, slices};
use memtide_record::{Channel, Record, Slicing};
use std::collections::BTreeMap;

/// Reason of records whose slices cannot be read.
const DAMAGED: &str = "the slices of a record are damaged";

/// The largest start skew, with its error, as a part of a slice's width.
const SKEW_MAX: u64 = 4;

/// Sums of the slices of shares read so far.
#[derive(Clone, Default)]
pub(super) struct Shared {
    /// Width and number of the slices; none before the first share.
    shape: Option<(u64, u32)>,
    channels: BTreeMap<Channel, Vec<Slice>>,
    /// Reason why the sums cannot be used.
    unusable: Option<String>,
    /// True if a share kept no slices.
    is_without: bool,
}

impl Shared {
    /// Adds the slices of a record: a share, or merged from shares. A share that measured nothing
    /// has none, and needs none.
    pub(super) fn absorb(&mut self, record: &Record) {
        if record.window_ns == 0 {
            return;
        }
        let Some(slicing) = &record.slicing else {
            self.is_without = true;
            return;
        };
        if let Some(why) = self.refused(slicing) {
            self.unusable.get_or_insert(why);
            return;
        }
        let response = slicing.response.iter().map(|(kind, text)| (Channel::Response(*kind), text));
        let service = slicing.service.iter().map(|(kind, text)| (Channel::Service(*kind), text));
        let servers = slicing.servers.iter();
        let servers = servers.map(|(name, text)| (Channel::Server(name.clone()), text));
        for (channel, text) in response.chain(service).chain(servers) {
            match slices::from_text(text, slicing.count as usize) {
                Some(part) => self.add(channel, &part),
                None => drop(self.unusable.get_or_insert_with(|| DAMAGED.to_owned())),
            }
        }
    }

    /// Reason why the slices of a further share cannot be added.
    fn refused(&mut self, slicing: &Slicing) -> Option<String> {
        let (width, count) = *self.shape.get_or_insert((slicing.width_ns, slicing.count));
        self.shape = Some((width, count.max(slicing.count)));
        if let Some(why) = &slicing.unusable {
            return Some(why.clone());
        }
        (width != slicing.width_ns).then(|| "the shares' slices have different widths".to_owned())
    }

    fn add(&mut self, channel: Channel, part: &[Slice]) {
        let sum = self.channels.entry(channel).or_default();
        sum.resize(sum.len().max(part.len()), Slice::default());
        sum.iter_mut().zip(part).for_each(|(sum, slice)| sum.absorb(slice));
    }

    /// The slices of all shares together; none if a share kept none.
    pub(super) fn seal(mut self, windows: &Windows<'_>) -> Option<Slicing> {
        let (width_ns, count) = self.shape?;
        if self.is_without {
            return None;
        }
        // What all windows show comes first, so that the order of merging makes no difference.
        let unusable = apart(windows, width_ns).or(self.unusable.take());
        if let Some(why) = unusable {
            return Some(Slicing { width_ns, count, ..Slicing::unusable(&why) });
        }
        let mut slicing = Slicing { width_ns, count, ..Slicing::default() };
        for (channel, mut slices) in self.channels {
            slices.resize(count as usize, Slice::default());
            let text = slices::to_text(&slices);
            match channel {
                Channel::Response(kind) => drop(slicing.response.insert(kind, text)),
                Channel::Service(kind) => drop(slicing.service.insert(kind, text)),
                Channel::Server(name) => drop(slicing.servers.insert(name, text)),
                Channel::Rate => unreachable!("the rate has no slices of its own"),
            }
        }
        Some(slicing)
    }
}

/// Reason why slices of this width are not the same stretches of time in all windows.
fn apart(windows: &Windows<'_>, width_ns: u64) -> Option<String> {
    let error = windows.alignment.as_ref().and_then(|alignment| alignment.error_max_ns);
    match windows.skew_ns().zip(error) {
        None => Some("the start skew of the shares is unknown".to_owned()),
        Some((skew, error)) if skew.saturating_add(error) > width_ns / SKEW_MAX => {
            Some("the shares did not begin together".to_owned())
        }
        Some(_) => None,
    }
}
