//! The order in which the nodes of a graph are eliminated, theory (9.4)-(9.5).

use crate::block_sparse::Pattern;
use std::collections::BTreeSet;

/// What is known of the neighbours of a node that still waits.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// Not examined since its neighbours last changed.
    Unknown,
    /// They form a clique: eliminating it adds nothing, now and later.
    Simplicial,
    /// They do not.
    Filling,
}

/// The graph that remains while nodes are eliminated.
struct Elimination<'a> {
    pattern: &'a Pattern,
    /// Neighbours not yet eliminated, by rising index.
    neighbours: Vec<Vec<usize>>,
    /// Scalar rows of those neighbours: what one elimination touches.
    degree: Vec<usize>,
    kind: Vec<Kind>,
    /// Index of each node, plus the number of nodes where it should lose ties.
    rank: Vec<usize>,
    /// Nodes that may be eliminated now, by (degree, rank): one queue per kind.
    waiting: [BTreeSet<(usize, usize)>; 3],
    open: Vec<bool>,
    gone: Vec<bool>,
}

/// Minimum degree, with nodes whose neighbours already form a clique taken first and `last` nodes taken after all others.
///
/// Minimum degree alone fills even trees (a thin chain between two hubs is eaten from its middle); a clique-first order has no
/// fill on every chordal graph, which the joint graph of any tree of bodies is. Ties go to the lower index, `late` nodes losing them all.
pub(crate) fn minimum_degree(pattern: &Pattern, last: &[usize], late: &[usize]) -> Vec<usize> {
    let nodes = pattern.nodes();
    let mut graph = Elimination::new(pattern, late);
    let mut is_last = vec![false; nodes];
    for &node in last {
        is_last[node] = true;
    }
    let mut order = Vec::with_capacity(nodes);
    for phase in [false, true] {
        for node in 0..nodes {
            if is_last[node] == phase {
                graph.open(node);
            }
        }
        while let Some(node) = graph.next() {
            graph.eliminate(node);
            order.push(node);
        }
    }
    order
}

/// How much larger than the least degree that of a node eliminated in the same round may be: the inner nodes of a chain have twice that of its
/// ends, so that chains fold in half each round; more would fill.
const ROUND_SLACK: usize = 2;

/// Rounds of independent nodes of nearly least degree, theory (9.6): leaves are raked off and chains fold in half, so that the paths of the
/// elimination tree grow with the logarithm of the number of nodes wherever the graph hangs together by small cuts.
pub(crate) fn short_paths(pattern: &Pattern, late: &[usize]) -> Vec<usize> {
    let nodes = pattern.nodes();
    let mut graph = Elimination::new(pattern, late);
    let mut order = Vec::with_capacity(nodes);
    let mut waiting: Vec<usize> = (0..nodes).collect();
    // Carries the round that blocked a node; no round is the last.
    let mut blocked = vec![usize::MAX; nodes];
    for round in 0..nodes {
        waiting.sort_unstable_by_key(|&node| (graph.degree[node], graph.rank[node]));
        let Some(&first) = waiting.first() else { break };
        let bound = ROUND_SLACK * graph.degree[first];
        let begin = order.len();
        for &node in waiting.iter().take_while(|&&node| graph.degree[node] <= bound) {
            if blocked[node] != round {
                order.push(node);
                graph.neighbours[node].iter().for_each(|&other| blocked[other] = round);
            }
        }
        for &node in &order[begin..] {
            graph.eliminate(node);
            graph.gone[node] = true;
        }
        waiting.retain(|&node| !graph.gone[node]);
    }
    order
}

/// The same order with each subtree of the elimination tree in one piece, `parent` by place: what a column adds to lies just behind it in memory.
pub(crate) fn postorder(parent: &[Option<usize>]) -> Vec<usize> {
    let nodes = parent.len();
    // Children lie before their parents, so that lists built backwards come out rising.
    let (mut child, mut sibling) = (vec![nodes; nodes], vec![nodes; nodes]);
    let mut roots = Vec::new();
    for place in (0..nodes).rev() {
        match parent[place] {
            Some(up) => {
                sibling[place] = child[up];
                child[up] = place;
            }
            None => roots.push(place),
        }
    }
    let mut places = Vec::with_capacity(nodes);
    let mut stack = Vec::new();
    for &root in roots.iter().rev() {
        stack.push(root);
        while let Some(&top) = stack.last() {
            if child[top] < nodes {
                let next = child[top];
                child[top] = sibling[next];
                stack.push(next);
            } else {
                places.push(top);
                stack.pop();
            }
        }
    }
    places
}

impl<'a> Elimination<'a> {
    fn new(pattern: &'a Pattern, late: &[usize]) -> Self {
        let nodes = pattern.nodes();
        let mut rank: Vec<usize> = (0..nodes).collect();
        for &node in late {
            rank[node] = nodes + node;
        }
        let mut neighbours = vec![Vec::new(); nodes];
        // Columns in rising order push rising indices: first the smaller neighbours, then the larger.
        for column in 0..nodes {
            for block in pattern.below(column) {
                neighbours[block.row].push(column);
            }
        }
        for column in 0..nodes {
            neighbours[column].extend(pattern.below(column).iter().map(|block| block.row));
        }
        let degree = neighbours.iter().map(|list| list.iter().map(|&other| pattern.size(other)).sum()).collect();
        Elimination {
            pattern,
            neighbours,
            degree,
            kind: vec![Kind::Unknown; nodes],
            waiting: [BTreeSet::new(), BTreeSet::new(), BTreeSet::new()],
            open: vec![false; nodes],
            gone: vec![false; nodes],
            rank,
        }
    }

    fn open(&mut self, node: usize) {
        self.open[node] = true;
        self.waiting[self.kind[node] as usize].insert((self.degree[node], self.rank[node]));
    }

    /// The next node: one that fills nothing if there is any, else one of least degree.
    fn next(&mut self) -> Option<usize> {
        loop {
            let nodes = self.rank.len();
            if let Some((_, rank)) = self.waiting[Kind::Simplicial as usize].pop_first() {
                return Some(rank % nodes);
            }
            let Some((degree, rank)) = self.waiting[Kind::Unknown as usize].pop_first() else {
                return self.waiting[Kind::Filling as usize].pop_first().map(|(_, rank)| rank % nodes);
            };
            let node = rank % nodes;
            let kind = if self.is_simplicial(node) { Kind::Simplicial } else { Kind::Filling };
            self.kind[node] = kind;
            self.waiting[kind as usize].insert((degree, rank));
        }
    }

    fn is_simplicial(&self, node: usize) -> bool {
        let list = &self.neighbours[node];
        list.iter().enumerate().all(|(k, &a)| {
            let of_a = &self.neighbours[a];
            // Fewer neighbours than the clique asks for is the cheap refusal.
            of_a.len() >= list.len() && list[k + 1..].iter().all(|b| of_a.binary_search(b).is_ok())
        })
    }

    /// Removes a node and joins its neighbours into a clique.
    fn eliminate(&mut self, node: usize) {
        self.open[node] = false;
        let clique = std::mem::take(&mut self.neighbours[node]);
        let fills = self.kind[node] != Kind::Simplicial;
        for &other in &clique {
            if self.open[other] {
                self.waiting[self.kind[other] as usize].remove(&(self.degree[other], self.rank[other]));
            }
            let list = &mut self.neighbours[other];
            if let Ok(at) = list.binary_search(&node) {
                list.remove(at);
                self.degree[other] -= self.pattern.size(node);
            }
            if fills {
                let before = list.len();
                list.extend(clique.iter().copied().filter(|&new| new != other));
                list.sort_unstable();
                list.dedup();
                if list.len() > before {
                    self.degree[other] = list.iter().map(|&next| self.pattern.size(next)).sum();
                }
            }
            // A clique stays one under elimination; anything else may have become one, at once if nothing but it is left.
            if self.neighbours[other].len() + 1 == clique.len() {
                self.kind[other] = Kind::Simplicial;
            } else if self.kind[other] == Kind::Filling {
                self.kind[other] = Kind::Unknown;
            }
            if self.open[other] {
                self.waiting[self.kind[other] as usize].insert((self.degree[other], self.rank[other]));
            }
        }
    }
}
