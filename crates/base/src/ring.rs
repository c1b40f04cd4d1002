//! A first-in-first-out queue whose room is decided once; full is a value, not growth.

/// There is no room: the caller decides what that means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// A queue of at most `capacity` elements. It allocates when made and never again.
#[derive(Debug)]
pub struct Ring<T> {
    slots: Box<[Option<T>]>,
    head: usize,
    len: usize,
}

impl<T> Ring<T> {
    /// An empty ring with room for `capacity` elements.
    pub fn new(capacity: usize) -> Self {
        Self { slots: (0..capacity).map(|_| None).collect(), head: 0, len: 0 }
    }

    /// Adds at the back.
    pub fn push(&mut self, value: T) -> Result<(), Full> {
        if self.len == self.slots.len() {
            return Err(Full);
        }
        let slot = self.position(self.len);
        self.slots[slot] = Some(value);
        self.len += 1;
        Ok(())
    }

    /// Takes from the front.
    pub fn pop(&mut self) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        let value = self.slots[self.head].take();
        self.head = self.position(1);
        self.len -= 1;
        value
    }

    /// The element at the front.
    pub fn front(&self) -> Option<&T> {
        self.get(0)
    }

    /// The element at the front.
    pub fn front_mut(&mut self) -> Option<&mut T> {
        self.get_mut(0)
    }

    /// The `nth` element from the front.
    pub fn get(&self, nth: usize) -> Option<&T> {
        if nth < self.len { self.slots[self.position(nth)].as_ref() } else { None }
    }

    /// The `nth` element from the front.
    pub fn get_mut(&mut self, nth: usize) -> Option<&mut T> {
        if nth < self.len {
            let slot = self.position(nth);
            self.slots[slot].as_mut()
        } else {
            None
        }
    }

    /// How many elements are in.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing is in.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many elements fit.
    pub fn capacity(&self) -> usize {
        self.slots.len()
    }

    fn position(&self, nth: usize) -> usize {
        let at = self.head + nth;
        if at >= self.slots.len() { at - self.slots.len() } else { at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_order_across_the_seam_and_refuses_when_full() {
        let mut ring = Ring::new(3);
        for round in 0..10 {
            for k in 0..3 {
                ring.push(round * 3 + k).unwrap();
            }
            assert_eq!(ring.push(99), Err(Full));
            assert_eq!(ring.get(2), Some(&(round * 3 + 2)));
            assert_eq!(ring.get(3), None);
            for k in 0..3 {
                assert_eq!(ring.pop(), Some(round * 3 + k));
            }
            ring.push(0).unwrap();
            ring.pop();
        }
        assert!(ring.is_empty());
    }
}
