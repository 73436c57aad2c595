//! Order and fronts of an elimination over a graph whose edges change from one problem to the next, theory (9.22).
//!
//! Unlike [`crate::symbolic`], which is made once for a mechanism, this is made anew whenever contacts begin or end, so all its lists are
//! kept and filled again. Nodes are eliminated by least degree; neighbours with the same structure share a front.

/// Marks what does not exist.
pub(crate) const NONE: u32 = u32::MAX;
/// A chain of nodes is one front while it holds at most a quarter of zeros...
const ZEROS: usize = 4;
/// ...or while it has no more nodes than this: tiny fronts cost more to visit than to fill.
const TINY: usize = 3;

/// One front: some nodes that are eliminated together, and those that their elimination touches.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Front {
    /// Its nodes are `nodes[first..end]`, by rising place in the order; the first `pivots` of them are eliminated here.
    pub first: usize,
    pub end: usize,
    pub pivots: usize,
    /// The front that takes what is left, or [`NONE`].
    pub parent: u32,
    /// Scalar rows, and those of the pivots.
    pub rows: usize,
    pub pivot_rows: usize,
    /// Its first row, in the order of elimination.
    pub row: usize,
    /// Where its square of `rows` x `rows` numbers begins.
    pub at: usize,
}

/// The order, the tree and the fronts of a graph.
#[derive(Clone, Debug, Default)]
pub(crate) struct Elimination {
    /// Scalar rows of each node, and where they begin.
    pub sizes: Vec<u32>,
    pub start: Vec<usize>,
    edges: Vec<(u32, u32)>,
    /// Place in the order of each node and back.
    pub place: Vec<u32>,
    pub node: Vec<u32>,
    pub fronts: Vec<Front>,
    /// Places of the nodes of all fronts; where each begins inside its front; and for those left over, where in the parent.
    pub nodes: Vec<u32>,
    pub local: Vec<u32>,
    pub relative: Vec<u32>,
    /// First row of each place, in the order of elimination.
    pub rows_before: Vec<usize>,
    /// The front in which each place is a pivot.
    pub front_of: Vec<u32>,
    /// Numbers that all fronts hold.
    pub values: usize,
    scratch: Scratch,
}

#[derive(Clone, Debug, Default)]
struct Scratch {
    neighbours: Vec<Vec<u32>>,
    elements: Vec<Vec<u32>>,
    within: Vec<Vec<u32>>,
    eliminated: Vec<bool>,
    absorbed: Vec<bool>,
    degree: Vec<u32>,
    head: Vec<u32>,
    next: Vec<u32>,
    previous: Vec<u32>,
    mark: Vec<u32>,
    order: Vec<u32>,
    position: Vec<u32>,
    parent: Vec<u32>,
    child: Vec<u32>,
    sibling: Vec<u32>,
    stack: Vec<u32>,
    post: Vec<u32>,
    starts: Vec<u32>,
}

impl Elimination {
    /// Number of nodes.
    pub fn count(&self) -> usize {
        self.sizes.len()
    }

    /// Scalar rows of all nodes.
    pub fn rows(&self) -> usize {
        self.start.last().copied().unwrap_or(0)
    }

    /// Analyses a graph; `edges` are sorted in place and may repeat. False where it is the graph of the last call, and nothing changed.
    pub fn analyse(&mut self, sizes: impl Iterator<Item = usize>, edges: &mut Vec<(u32, u32)>) -> bool {
        edges.iter_mut().for_each(|edge| *edge = (edge.0.min(edge.1), edge.0.max(edge.1)));
        edges.sort_unstable();
        edges.dedup();
        self.scratch.starts.clear();
        self.scratch.starts.extend(sizes.map(|size| size as u32));
        if self.scratch.starts == self.sizes && *edges == self.edges {
            return false;
        }
        self.sizes.clone_from(&self.scratch.starts);
        self.edges.clone_from(edges);
        self.start.clear();
        let mut sum = 0;
        self.start.push(0);
        for &size in &self.sizes {
            sum += size as usize;
            self.start.push(sum);
        }
        self.order();
        self.postorder();
        self.gather_fronts();
        true
    }

    /// Least degree first; what an eliminated node leaves behind is one element, and elements inside it are absorbed.
    fn order(&mut self) {
        let count = self.count();
        let Scratch { neighbours, elements, within, eliminated, absorbed, degree, head, next, previous, mark, order, .. } =
            &mut self.scratch;
        for lists in [&mut *neighbours, &mut *within, &mut *elements] {
            if lists.len() < count {
                lists.resize(count, Vec::new());
            }
            lists[..count].iter_mut().for_each(Vec::clear);
        }
        refill(eliminated, count, false);
        refill(absorbed, count, false);
        refill(mark, count, NONE);
        refill(head, count + 1, NONE);
        refill(next, count, NONE);
        refill(previous, count, NONE);
        order.clear();
        for &(a, b) in &self.edges {
            if a != b {
                neighbours[a as usize].push(b);
                neighbours[b as usize].push(a);
            }
        }
        degree.clear();
        degree.extend(neighbours[..count].iter().map(|list| list.len() as u32));
        for node in (0..count).rev() {
            link(head, next, previous, degree[node], node as u32);
        }
        let mut least = 0;
        while order.len() < count {
            while head[least] == NONE {
                least += 1;
            }
            let pivot = head[least] as usize;
            unlink(head, next, previous, degree[pivot], pivot as u32);
            eliminated[pivot] = true;
            let stamp = order.len() as u32;
            order.push(pivot as u32);
            // Everything next to the pivot, directly or through an element, becomes one element named after it.
            let mut element = std::mem::take(&mut elements[pivot]);
            element.clear();
            mark[pivot] = stamp;
            for &x in &neighbours[pivot] {
                if !eliminated[x as usize] && mark[x as usize] != stamp {
                    mark[x as usize] = stamp;
                    element.push(x);
                }
            }
            for &e in &within[pivot] {
                if absorbed[e as usize] {
                    continue;
                }
                absorbed[e as usize] = true;
                for &x in &elements[e as usize] {
                    if !eliminated[x as usize] && mark[x as usize] != stamp {
                        mark[x as usize] = stamp;
                        element.push(x);
                    }
                }
            }
            for &x in &element {
                let x = x as usize;
                neighbours[x].retain(|&y| !eliminated[y as usize] && mark[y as usize] != stamp);
                within[x].retain(|&e| !absorbed[e as usize]);
                // A bound of the degree: elements may share nodes, which are counted each time.
                let mut bound = neighbours[x].len() + element.len() - 1;
                for &e in &within[x] {
                    bound += elements[e as usize].iter().filter(|&&y| !eliminated[y as usize] && mark[y as usize] != stamp).count();
                }
                within[x].push(pivot as u32);
                let bound = bound.min(count - 1) as u32;
                if bound != degree[x] {
                    unlink(head, next, previous, degree[x], x as u32);
                    degree[x] = bound;
                    link(head, next, previous, bound, x as u32);
                    least = least.min(bound as usize);
                }
            }
            elements[pivot] = element;
        }
    }

    /// Numbers the nodes so that every one follows its descendants directly.
    fn postorder(&mut self) {
        let count = self.count();
        let Scratch { elements, order, position, parent, child, sibling, stack, post, .. } = &mut self.scratch;
        refill(position, count, NONE);
        for (k, &node) in order.iter().enumerate() {
            position[node as usize] = k as u32;
        }
        refill(parent, count, NONE);
        refill(child, count, NONE);
        refill(sibling, count, NONE);
        for k in (0..count).rev() {
            let up = elements[order[k] as usize].iter().map(|&x| position[x as usize]).min().unwrap_or(NONE);
            parent[k] = up;
            if up != NONE {
                sibling[k] = child[up as usize];
                child[up as usize] = k as u32;
            }
        }
        post.clear();
        for root in 0..count {
            if parent[root] != NONE {
                continue;
            }
            stack.clear();
            stack.push(root as u32);
            while let Some(&top) = stack.last() {
                let below = child[top as usize];
                if below == NONE {
                    post.push(top);
                    stack.pop();
                } else {
                    child[top as usize] = sibling[below as usize];
                    stack.push(below);
                }
            }
        }
        self.node.clear();
        self.node.extend(post.iter().map(|&k| order[k as usize]));
        refill(&mut self.place, count, NONE);
        for (k, &node) in self.node.iter().enumerate() {
            self.place[node as usize] = k as u32;
        }
        // Elements as places from here on.
        for &node in &self.node {
            let element = &mut elements[node as usize];
            element.iter_mut().for_each(|x| *x = self.place[*x as usize]);
            element.sort_unstable();
        }
    }

    /// Cuts the order into fronts.
    fn gather_fronts(&mut self) {
        let count = self.count();
        let elements = &self.scratch.elements;
        let below = |place: usize| &elements[self.node[place] as usize];
        let starts = &mut self.scratch.starts;
        starts.clear();
        let mut zeros = 0;
        for k in 0..count {
            if k > 0 && below(k - 1).first() == Some(&(k as u32)) {
                let width = k - starts.last().map_or(0, |&s| s as usize);
                let extra = below(k).len() + 1 - below(k - 1).len();
                let filled = zeros + extra * width;
                let total = (width + 1) * (below(k).len() + width + 1);
                if extra == 0 || filled * ZEROS < total || width + 1 + below(k).len() <= TINY {
                    zeros = filled;
                    continue;
                }
            }
            starts.push(k as u32);
            zeros = 0;
        }
        starts.push(count as u32);
        refill(&mut self.front_of, count, NONE);
        self.rows_before.clear();
        let mut sum = 0;
        for &node in &self.node {
            self.rows_before.push(sum);
            sum += self.sizes[node as usize] as usize;
        }
        self.fronts.clear();
        self.nodes.clear();
        self.local.clear();
        self.values = 0;
        for (index, ends) in starts.windows(2).enumerate() {
            let (from, to) = (ends[0] as usize, ends[1] as usize);
            let first = self.nodes.len();
            self.nodes.extend(from as u32..to as u32);
            self.nodes.extend_from_slice(&elements[self.node[to - 1] as usize]);
            self.front_of[from..to].fill(index as u32);
            let mut front = Front {
                first,
                end: self.nodes.len(),
                pivots: to - from,
                parent: NONE,
                row: self.rows_before[from],
                at: self.values,
                ..Front::default()
            };
            for (i, &place) in self.nodes[first..].iter().enumerate() {
                self.local.push(front.rows as u32);
                front.rows += self.sizes[self.node[place as usize] as usize] as usize;
                if i < front.pivots {
                    front.pivot_rows = front.rows;
                }
            }
            self.values += front.rows * front.rows;
            self.fronts.push(front);
        }
        refill(&mut self.relative, self.nodes.len(), NONE);
        for index in 0..self.fronts.len() {
            let front = self.fronts[index];
            let Some(&up) = self.nodes[front.first + front.pivots..front.end].first() else { continue };
            let parent = self.front_of[up as usize];
            self.fronts[index].parent = parent;
            for i in front.first + front.pivots..front.end {
                self.relative[i] = self.local_of(parent, self.nodes[i]).unwrap_or(0);
            }
        }
    }

    /// Rows of the node that stands at an index of `nodes`.
    #[inline]
    pub fn size_at(&self, index: usize) -> usize {
        self.sizes[self.node[self.nodes[index] as usize] as usize] as usize
    }

    /// Its first row, in the order of elimination.
    #[inline]
    pub fn row_at(&self, index: usize) -> usize {
        self.rows_before[self.nodes[index] as usize]
    }

    /// First row of a node, given by its place, inside a front.
    pub fn local_of(&self, front: u32, place: u32) -> Option<u32> {
        let front = &self.fronts[front as usize];
        let found = self.nodes[front.first..front.end].binary_search(&place).ok()?;
        Some(self.local[front.first + found])
    }
}

/// Fills a list with `count` equal values.
fn refill<T: Clone>(list: &mut Vec<T>, count: usize, value: T) {
    list.clear();
    list.resize(count, value);
}

/// Puts a node in front of the list of its degree.
fn link(head: &mut [u32], next: &mut [u32], previous: &mut [u32], degree: u32, node: u32) {
    let first = head[degree as usize];
    next[node as usize] = first;
    previous[node as usize] = NONE;
    if first != NONE {
        previous[first as usize] = node;
    }
    head[degree as usize] = node;
}

/// Takes a node out of the list of its degree.
fn unlink(head: &mut [u32], next: &mut [u32], previous: &mut [u32], degree: u32, node: u32) {
    let (before, after) = (previous[node as usize], next[node as usize]);
    if before == NONE {
        head[degree as usize] = after;
    } else {
        next[before as usize] = after;
    }
    if after != NONE {
        previous[after as usize] = before;
    }
}
