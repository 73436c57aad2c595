//! Where the blocks of a system stand: which nodes couple, in which order they are eliminated, what has no place of its own.

use super::*;

impl<G: Geometry> Sparse<G> {
    /// The number of the analysis of nodes, made where it is new.
    pub(super) fn topology(&mut self, nodes: &[Node], timed: usize) -> Option<u32> {
        self.name.clear();
        self.name.push(timed as u32);
        for node in nodes {
            self.name.extend_from_slice(&[node.bodies[0], node.bodies[1], node.size]);
        }
        if let Some(&number) = self.known.get(&self.name[..]) {
            return Some(number);
        }
        self.topologies.push(Topology::new(nodes, timed > 0)?);
        let number = self.topologies.len() as u32 - 1;
        self.known.insert(self.name.clone(), number);
        Some(number)
    }

    /// Keeps the factor that an analysis holds ready; returns it and how many unknowns besides those of welds were dropped.
    pub(super) fn keep(&mut self, number: u32, first_place: usize, left_out: usize, welds: Range<usize>) -> (Factored, usize) {
        let topology = &mut self.topologies[number as usize];
        if topology.used == 0 {
            self.touched.push(number);
        }
        let found = topology.factors[topology.used].dropped();
        let dropped = found.iter().filter(|dropped| !welds.contains(&dropped.node)).count() + left_out;
        let factored = Factored { topology: number, factor: topology.used as u32, places: first_place as u32 };
        topology.used += 1;
        (factored, dropped)
    }

    /// Finds the arrangement of the rows, or makes it; returns where it stands.
    pub(super) fn arrange(&mut self, answers: &[[(usize, Twist<G>); 2]], cuts: bool) -> usize {
        let bodies = answers.iter().flatten().map(|(body, _)| body + 1).max().unwrap_or(0);
        self.sorting.movable.clear();
        self.sorting.movable.resize(bodies, false);
        for (body, twist) in answers.iter().flatten() {
            self.sorting.movable[*body] |= *twist != Twist::zero();
        }
        self.sorting.pairs.clear();
        self.sorting.pairs.extend(answers.iter().map(|answer| {
            let [a, b] = answer.map(|(body, _)| if self.sorting.movable[body] { body as u32 } else { NONE });
            [a.min(b), a.max(b)]
        }));
        self.find_arrangement(cuts)
    }

    /// Finds the arrangement of the pairs, or makes it; returns where it stands.
    pub(super) fn find_arrangement(&mut self, cuts: bool) -> usize {
        let count = self.arrangements.len();
        for step in 0..count {
            let at = (self.latest + step) % count;
            if self.arrangements[at].cuts == cuts && self.arrangements[at].pairs == self.sorting.pairs {
                self.latest = at;
                return at;
            }
        }
        let arrangement = self.sort_pairs(cuts);
        if count < ARRANGED {
            self.arrangements.push(arrangement);
            self.latest = count;
        } else {
            // The one after the latest has waited longest, or nearly so.
            self.latest = (self.latest + 1) % count;
            self.arrangements[self.latest] = arrangement;
        }
        self.latest
    }

    /// Sorts the pairs into nodes; crowded bodies are cut where `cuts`.
    pub(super) fn sort_pairs(&mut self, cuts: bool) -> Arrangement {
        let bodies = self.sorting.pairs.iter().flatten().filter(|&&body| body != NONE).max().map_or(0, |&body| body as usize + 1);
        let mut out = Arrangement { pairs: self.sorting.pairs.clone(), topologies: [NONE; 2], cuts, ..Arrangement::default() };
        self.sorting.heads.clear();
        self.sorting.heads.resize(bodies + 1, NONE);
        for &pair in &self.sorting.pairs {
            let head = if pair[0] == NONE { bodies } else { pair[0] as usize };
            let mut node = match out.nodes.last() {
                Some(last) if last.bodies == pair => out.nodes.len() as u32 - 1,
                _ => {
                    let mut found = self.sorting.heads[head];
                    while found != NONE && out.nodes[found as usize].bodies != pair {
                        found = out.nodes[found as usize].next;
                    }
                    found
                }
            };
            if node == NONE {
                node = out.nodes.len() as u32;
                out.nodes.push(Node { bodies: pair, size: 0, next: self.sorting.heads[head] });
                self.sorting.heads[head] = node;
            }
            let own = &mut out.nodes[node as usize];
            out.node_of.push((node, own.size));
            own.size += 1;
        }
        if cuts {
            out.parts = Parts::cut::<G>(&mut out.nodes, bodies);
        }
        let mut start = 0;
        for node in &out.nodes {
            out.starts.push(start);
            start += node.size as usize;
            out.searched |= node.size as usize >= SEARCHED * G::DOF;
        }
        out.places.extend(out.node_of.iter().map(|&(node, offset)| out.starts[node as usize] as u32 + offset));
        out
    }

    /// Rows in the order of the nodes, each with its covectors on the first and the second body of its node.
    pub(super) fn sort_rows(&mut self, arrangement: &Arrangement, felt: &[Sides<G>], answers: &[[(usize, Twist<G>); 2]]) {
        let (felt_sides, answer_sides) = (&mut self.felt, &mut self.answers);
        felt_sides.iter_mut().for_each(|list| list.resize(answers.len(), Wrench::zero()));
        answer_sides.iter_mut().for_each(|list| list.resize(answers.len(), Twist::zero()));
        for (((answer, row), pair), &place) in answers.iter().zip(felt).zip(&arrangement.pairs).zip(&arrangement.places) {
            for side in 0..2 {
                let body = pair[side] as usize;
                let (mut covector, mut twist) = (Wrench::zero(), Twist::zero());
                for k in 0..2 {
                    if row[k].0 == body {
                        covector = covector.plus(1.0, row[k].1);
                    }
                    if answer[k].0 == body {
                        twist = twist.plus(1.0, answer[k].1);
                    }
                }
                felt_sides[side][place as usize] = covector;
                answer_sides[side][place as usize] = twist;
            }
        }
    }

    /// The sorted rows at the parts of crowded bodies, and the welds between these.
    pub(super) fn add_parts(&mut self, arrangement: &Arrangement, respond: impl Fn(usize, &Wrench<G>) -> Twist<G>) {
        let parts = &arrangement.parts;
        if parts.rows == 0 {
            return;
        }
        for (&(node, _), &place) in arrangement.node_of.iter().zip(&arrangement.places) {
            for (answers, count) in self.answers.iter_mut().zip(parts.counts[node as usize]) {
                let own = &mut answers[place as usize];
                *own = Twist::zero().plus(count, *own);
            }
        }
        parts.weld(respond, &mut self.felt, &mut self.answers);
    }

    /// Leaves out rows and unknowns that repeat others of their node; whether each node that may have such was left with as many rows as unknowns that
    /// belong together.
    pub(super) fn leave_out(&mut self, arrangement: &Arrangement, entries: &[(usize, usize, f64)], times: &[f64]) -> bool {
        let mut even = true;
        self.nodes.clone_from(&arrangement.nodes);
        for kept in &mut self.kept {
            kept.clear();
            for node in &self.nodes {
                kept.extend(0..node.size);
            }
        }
        let (node_of, starts) = (&arrangement.node_of, &arrangement.starts);
        for (index, node) in self.nodes.iter_mut().enumerate() {
            let size = node.size as usize;
            if size < SEARCHED * G::DOF {
                continue;
            }
            let range = starts[index]..starts[index] + size;
            let own = entries.iter().filter(|(i, _, _)| node_of[*i].0 as usize == index);
            let own = own.map(|&(i, j, value)| (node_of[i].1 as usize, node_of[j].1 as usize, value));
            // The time of each row, where there is one: rows of a node stand in order.
            self.sorting.times.clear();
            if !times.is_empty() {
                self.sorting.times.extend(node_of.iter().zip(times).filter(|(place, _)| place.0 as usize == index).map(|(_, time)| *time));
            }
            let own_times = &self.sorting.times;
            let time = |r: usize| own_times.get(r).copied().unwrap_or(0.0);
            let [first, second] = &self.felt;
            let felt: [&[Wrench<G>]; 2] = [&first[range.clone()], &second[range.clone()]];
            let [first, second] = &self.answers;
            let answers: [&[Twist<G>]; 2] = [&first[range.clone()], &second[range.clone()]];
            let plain = times.is_empty() && entries.iter().all(|(i, _, _)| node_of[*i].0 as usize != index);
            if !(plain && self.redundant.find_even::<G>(felt, answers)) {
                even = false;
                if !self.redundant.find::<G>(felt, answers, own, time) {
                    continue;
                }
            }
            for (kept, chosen) in self.kept.iter_mut().zip([&self.redundant.rows, &self.redundant.columns]) {
                kept[range.clone()].fill(NONE);
                for (place, &row) in chosen.iter().enumerate() {
                    kept[range.start + row] = place as u32;
                }
            }
            node.size = self.redundant.rows.len() as u32;
        }
        even
    }
}

/// Moves what is kept of a list by nodes to its front.
pub(super) fn compact<T: Copy>(list: &mut Vec<T>, kept: &[u32], starts: &[usize], nodes: &[Node]) {
    let mut next = 0;
    for (&start, node) in starts.iter().zip(nodes) {
        let mut left = node.size;
        let mut at = start;
        while left > 0 {
            if kept[at] != NONE {
                list[next] = list[at];
                next += 1;
                left -= 1;
            }
            at += 1;
        }
    }
    list.truncate(next);
}

impl Topology {
    /// Analyses nodes; with `timed` one more that couples to all comes last.
    pub(super) fn new(nodes: &[Node], timed: bool) -> Option<Self> {
        let mut sizes: Vec<usize> = nodes.iter().map(|node| node.size as usize).collect();
        let mut shared = Vec::new();
        let mut edges = Vec::new();
        let mut touching: BTreeMap<u32, Vec<(usize, usize)>> = BTreeMap::new();
        for (index, node) in nodes.iter().enumerate() {
            for side in (0..2).filter(|&side| node.bodies[side] != NONE) {
                touching.entry(node.bodies[side]).or_default().push((index, side));
            }
        }
        for at_body in touching.values() {
            for &(i, row_side) in at_body {
                for &(j, column_side) in at_body {
                    shared.push((i, row_side, j, column_side));
                    if i < j {
                        edges.push((i, j));
                    }
                }
            }
        }
        if timed {
            edges.extend((0..nodes.len()).map(|node| (node, nodes.len())));
            sizes.push(1);
        }
        edges.sort_unstable();
        edges.dedup();
        let pattern = Arc::new(Pattern::new(&sizes, &edges).ok()?);
        let last = [nodes.len()];
        let order = if timed { Order::MinimumDegreeLast(&last) } else { Order::MinimumDegree };
        let symbolic = Arc::new(Symbolic::analyse(&pattern, order).ok()?);
        let mut couplings = Vec::with_capacity(shared.len());
        for (i, row_side, j, column_side) in shared {
            let [rows, columns, row_side, column_side] = [i, j, row_side, column_side].map(|k| k as u32);
            couplings.push(Coupling { slot: pattern.slot(i, j)?, rows, row_side, columns, column_side });
        }
        let diagonals = (0..sizes.len()).map(|node| pattern.slot(node, node)).collect::<Option<Vec<_>>>()?;
        let mut border = Vec::new();
        if timed {
            for node in 0..nodes.len() {
                border.push([pattern.slot(node, nodes.len())?, pattern.slot(nodes.len(), node)?]);
            }
        }
        Some(Topology { symbolic, matrix: BlockMatrix::new(pattern), couplings, diagonals, border, factors: Vec::new(), used: 0 })
    }
}

impl Topology {
    /// Fills the matrix with R M^-1 J', given by the sorted rows and columns.
    pub(super) fn filled<G: Geometry>(&mut self, rows: &[Vec<Wrench<G>>; 2], columns: &[Vec<Twist<G>>; 2]) -> &mut Self {
        let pattern = self.symbolic.pattern();
        self.matrix.clear();
        for coupling in &self.couplings {
            let (top, left) = (pattern.start(coupling.rows as usize), pattern.start(coupling.columns as usize));
            let (rows, columns) = (&rows[coupling.row_side as usize][top..], &columns[coupling.column_side as usize][left..]);
            self.matrix.add_products(coupling.slot, rows, columns, |row, column| row.power(column));
        }
        self
    }

    /// Room for the next factor.
    pub(super) fn ready(&mut self) {
        if self.used == self.factors.len() {
            self.factors.push(LuFactor::new(Arc::clone(&self.symbolic)));
        }
    }
}
