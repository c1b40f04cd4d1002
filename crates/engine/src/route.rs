//! Which of a client's connections an operation takes: the least loaded one that is open and
//! writable, and among equals the one that has waited longest.
//!
//! Connections of equal load form a list, the lists an array by load. Every step is O(1): loads
//! change by one, and the least load in use moves with them.

const NONE: u32 = u32::MAX;

/// The connections of one client, by how many operations each has outstanding.
#[derive(Debug)]
pub(crate) struct Route {
    first: u32,
    nodes: Vec<Node>,
    /// By load: the list of available connections that carry that many. Load `depth` is full.
    lists: Vec<List>,
    least: usize,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    load: u32,
    available: bool,
    before: u32,
    after: u32,
}

#[derive(Clone, Copy, Debug)]
struct List {
    head: u32,
    tail: u32,
}

impl Route {
    /// Connections `first..first + count`, none of them available yet.
    pub(crate) fn new(first: u32, count: u32, depth: u32) -> Self {
        let node = Node { load: 0, available: false, before: NONE, after: NONE };
        Self {
            first,
            nodes: vec![node; count as usize],
            lists: vec![List { head: NONE, tail: NONE }; depth as usize + 1],
            least: depth as usize + 1,
        }
    }

    /// The connection to use now, or `None` when all are full or unavailable.
    pub(crate) fn pick(&self) -> Option<u32> {
        let full = self.lists.len() - 1;
        (self.least < full).then(|| self.first + self.lists[self.least].head)
    }

    /// Whether `connection` could take one more.
    pub(crate) fn has_room(&self, connection: u32) -> bool {
        let node = &self.nodes[(connection - self.first) as usize];
        node.available && (node.load as usize) < self.lists.len() - 1
    }

    /// `connection` took one more.
    pub(crate) fn take(&mut self, connection: u32) {
        self.change(connection, |load| load + 1);
    }

    /// `connection` is free of `freed` of them.
    pub(crate) fn free(&mut self, connection: u32, freed: u32) {
        self.change(connection, |load| load - freed);
    }

    /// `connection` can be used, or cannot; its load stays.
    pub(crate) fn set_available(&mut self, connection: u32, available: bool) {
        let at = connection - self.first;
        if self.nodes[at as usize].available == available {
            return;
        }
        if available {
            self.nodes[at as usize].available = true;
            self.append(at);
        } else {
            self.unlink(at);
            self.nodes[at as usize].available = false;
        }
    }

    fn change(&mut self, connection: u32, load: impl Fn(u32) -> u32) {
        let at = connection - self.first;
        let available = self.nodes[at as usize].available;
        if available {
            self.unlink(at);
        }
        let node = &mut self.nodes[at as usize];
        node.load = load(node.load);
        if available {
            self.append(at);
        }
    }

    fn append(&mut self, at: u32) {
        let load = self.nodes[at as usize].load as usize;
        let tail = self.lists[load].tail;
        self.nodes[at as usize].before = tail;
        self.nodes[at as usize].after = NONE;
        match tail {
            NONE => self.lists[load].head = at,
            tail => self.nodes[tail as usize].after = at,
        }
        self.lists[load].tail = at;
        self.least = self.least.min(load);
    }

    fn unlink(&mut self, at: u32) {
        let Node { load, before, after, .. } = self.nodes[at as usize];
        let list = &mut self.lists[load as usize];
        match before {
            NONE => list.head = after,
            before => self.nodes[before as usize].after = after,
        }
        match after {
            NONE => list.tail = before,
            after => self.nodes[after as usize].before = before,
        }
        while self.least < self.lists.len() && self.lists[self.least].head == NONE {
            self.least += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtide_base::Random;

    #[test]
    fn equals_take_turns_and_full_ones_are_skipped() {
        let mut route = Route::new(10, 3, 2);
        assert_eq!(route.pick(), None);
        (10..13).for_each(|connection| route.set_available(connection, true));
        let mut taken = Vec::new();
        while let Some(connection) = route.pick() {
            route.take(connection);
            taken.push(connection);
        }
        assert_eq!(taken, [10, 11, 12, 10, 11, 12]);
        route.free(11, 1);
        assert_eq!(route.pick(), Some(11));
        route.set_available(11, false);
        assert_eq!(route.pick(), None);
        assert!(!route.has_room(11) && !route.has_room(10));
    }

    #[test]
    fn the_pick_is_always_a_least_loaded_one() {
        let seed = 5;
        let mut random = Random::new(seed);
        let mut route = Route::new(0, 20, 6);
        let mut model: Vec<Option<u32>> = vec![None; 20];
        let mut loads = [0u32; 20];
        for _ in 0..20_000 {
            let connection = random.below(20) as usize;
            match random.below(4) {
                0 => {
                    let available = model[connection].is_none();
                    model[connection] = available.then_some(loads[connection]);
                    route.set_available(connection as u32, available);
                }
                1 if loads[connection] > 0 => {
                    loads[connection] -= 1;
                    route.free(connection as u32, 1);
                }
                _ => {
                    if let Some(pick) = route.pick() {
                        loads[pick as usize] += 1;
                        route.take(pick);
                    }
                }
            }
            for (at, slot) in model.iter_mut().enumerate() {
                *slot = slot.map(|_| loads[at]);
            }
            let least = model.iter().flatten().min().copied().filter(|&load| load < 6);
            assert_eq!(route.pick().map(|at| loads[at as usize]), least, "seed {seed}");
        }
    }
}
