//! What an impact tells those who watch it: the sequence of active sets, which is what its derivative needs (theory (5.17)).

/// Watches the applications of an elastic operator.
pub trait Observer {
    /// Contacts that pushed in one application and their impulses for normalised rows.
    fn applied(&mut self, contacts: &[usize], impulses: &[f64]);

    /// Contacts found to be implicit equalities, ascending, and an independent part of them that spans the same; called at most once.
    fn locked(&mut self, _implicit: &[usize], _independent: &[usize]) {}
}

impl Observer for () {
    fn applied(&mut self, _contacts: &[usize], _impulses: &[f64]) {}
}

/// The recorded sequence of active sets W_1, W_2, ... of an impact.
#[derive(Clone, Debug, Default)]
pub struct Record {
    ends: Vec<usize>,
    contacts: Vec<usize>,
    impulses: Vec<f64>,
    implicit: Vec<usize>,
    independent: Vec<usize>,
}

impl Record {
    /// An empty record.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        self.ends.clear();
        self.contacts.clear();
        self.impulses.clear();
        self.implicit.clear();
        self.independent.clear();
    }

    /// Forgets the sequence but not what was locked: that of a law that ended at its cap, with the inelastic answer.
    pub fn forget_sequence(&mut self) {
        self.ends = Vec::new();
        self.contacts = Vec::new();
        self.impulses = Vec::new();
    }

    /// Bytes held by the record.
    pub fn bytes(&self) -> usize {
        let numbers = [&self.ends, &self.contacts, &self.implicit, &self.independent];
        numbers.iter().map(|list| size_of_val(&list[..])).sum::<usize>() + size_of_val(&self.impulses[..])
    }

    /// The contacts that were locked, ascending.
    pub fn implicit(&self) -> &[usize] {
        &self.implicit
    }

    /// An independent part of the locked contacts that spans the same.
    pub fn independent(&self) -> &[usize] {
        &self.independent
    }

    /// Number of applications.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether nothing was applied.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Active set and impulses of application k.
    pub fn application(&self, k: usize) -> (&[usize], &[f64]) {
        let start = if k == 0 { 0 } else { self.ends[k - 1] };
        (&self.contacts[start..self.ends[k]], &self.impulses[start..self.ends[k]])
    }
}

impl Observer for Record {
    fn applied(&mut self, contacts: &[usize], impulses: &[f64]) {
        self.contacts.extend_from_slice(contacts);
        self.impulses.extend_from_slice(impulses);
        self.ends.push(self.contacts.len());
    }

    fn locked(&mut self, implicit: &[usize], independent: &[usize]) {
        self.implicit.extend_from_slice(implicit);
        self.independent.extend_from_slice(independent);
    }
}

/// Passes applications on under other contact numbers: entry i of `numbers` is the caller's number of contact i.
pub(super) struct Renumbered<'a> {
    pub(super) inner: &'a mut dyn Observer,
    pub(super) numbers: &'a [usize],
    pub(super) scratch: &'a mut Vec<usize>,
}

impl Observer for Renumbered<'_> {
    fn applied(&mut self, contacts: &[usize], impulses: &[f64]) {
        self.scratch.clear();
        self.scratch.extend(contacts.iter().map(|&i| self.numbers[i]));
        self.inner.applied(self.scratch, impulses);
    }
}
