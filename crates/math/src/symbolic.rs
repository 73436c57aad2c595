//! What a sparse factor looks like before any number is known: order, elimination tree, pattern of L, theory (9.4)-(9.7), (9.13).

use crate::block_sparse::Pattern;
use crate::ldl::LdlError;
use crate::ordering;
use std::sync::Arc;

/// How the order of elimination is chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order<'a> {
    /// As the nodes are numbered.
    Natural,
    /// Nodes whose neighbours form a clique first, then least degree: no fill on trees.
    MinimumDegree,
    /// The same, with these nodes (loop-closing joints) after all others.
    MinimumDegreeLast(&'a [usize]),
    /// The same as `MinimumDegree` with ties lost by these nodes (loop-closing joints): redundancy then shows at them.
    MinimumDegreeLate(&'a [usize]),
    /// The same as `MinimumDegree`, but what is nothing but a path is taken from both its ends: two columns can then be worked at once.
    TwoEnded,
    /// Short paths in the elimination tree at the price of some fill, for many sparse right-hand sides; ties lost by these nodes.
    ShortPaths(&'a [usize]),
    /// This order: every node once.
    Given(&'a [usize]),
}

/// A column of L: one node of the graph, at its place in the order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    /// The node's first scalar row in a vector.
    pub(crate) start: usize,
    pub(crate) size: usize,
    /// Its blocks below the diagonal: a range of `Symbolic::blocks`.
    pub(crate) begin: usize,
    pub(crate) end: usize,
    /// Place of the pivot block among the values; the panel of all blocks below follows it, row by row.
    pub(crate) pivot_at: usize,
    pub(crate) panel_at: usize,
    pub(crate) panel_end: usize,
}

/// A block of L below the diagonal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LowerBlock {
    /// Place in the order of the block's row node.
    pub(crate) position: usize,
    /// That node's first scalar row in a vector, and its rows.
    pub(crate) start: usize,
    pub(crate) size: usize,
    /// First row of the block within its column's panel.
    pub(crate) panel_row: usize,
}

/// Where a block of the matrix goes in the factor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scatter {
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// Rows and columns of the block as stored in the matrix.
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) transposed: bool,
}

/// Where a block of the matrix lies among the numbers of a factor, before it is factored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// First of its numbers.
    pub at: usize,
    /// Rows of the block as it lies there: those of the node eliminated later.
    pub rows: usize,
    /// Its columns; it lies by rows.
    pub columns: usize,
    /// It lies there as the transpose of the block asked for.
    pub transposed: bool,
}

/// The analysis of a pattern: computed once per topology, shared by every factor over it.
#[derive(Clone, Debug)]
pub struct Symbolic {
    pub(crate) pattern: Arc<Pattern>,
    pub(crate) order: Vec<usize>,
    pub(crate) position: Vec<usize>,
    pub(crate) columns: Vec<Column>,
    pub(crate) blocks: Vec<LowerBlock>,
    pub(crate) scatter: Vec<Scatter>,
    pub(crate) values: usize,
}

impl Symbolic {
    /// Orders the graph and finds the pattern of L; fails when a given order is not one or names a node that does not exist.
    pub fn analyse(pattern: &Arc<Pattern>, order: Order) -> Result<Self, LdlError> {
        let nodes = pattern.nodes();
        if let Order::MinimumDegreeLast(named) | Order::MinimumDegreeLate(named) | Order::ShortPaths(named) = order
            && let Some(&node) = named.iter().find(|&&node| node >= nodes)
        {
            return Err(LdlError::BadOrder { node, nodes });
        }
        let free = matches!(order, Order::MinimumDegree | Order::MinimumDegreeLate(_) | Order::ShortPaths(_) | Order::TwoEnded);
        let two_ended = order == Order::TwoEnded;
        let order = match order {
            Order::Natural => (0..nodes).collect(),
            Order::MinimumDegree | Order::TwoEnded => ordering::minimum_degree(pattern, &[], &[]),
            Order::MinimumDegreeLast(last) => ordering::minimum_degree(pattern, last, &[]),
            Order::MinimumDegreeLate(late) => ordering::minimum_degree(pattern, &[], late),
            Order::ShortPaths(late) => ordering::short_paths(pattern, late),
            Order::Given(given) => given.to_vec(),
        };
        let position = invert(&order, nodes)?;
        let mut symbolic = Symbolic {
            pattern: Arc::clone(pattern),
            order,
            position,
            columns: Vec::with_capacity(nodes),
            blocks: Vec::with_capacity(pattern.edges()),
            scatter: Vec::with_capacity(nodes + pattern.edges()),
            values: 0,
        };
        symbolic.find_columns();
        if free {
            // Any order that puts children first eliminates the same way; this one keeps neighbours together.
            let parents: Vec<Option<usize>> = (0..nodes).map(|place| symbolic.parent_position(place)).collect();
            symbolic.order = ordering::postorder(&parents).into_iter().map(|place| symbolic.order[place]).collect();
            symbolic.position = invert(&symbolic.order, nodes)?;
            symbolic.columns.clear();
            symbolic.blocks.clear();
            symbolic.find_columns();
        }
        if two_ended && symbolic.is_path() {
            // The second half backwards, and the middle last.
            let middle = nodes / 2;
            symbolic.order[middle..].reverse();
            symbolic.position = invert(&symbolic.order, nodes)?;
            symbolic.columns.clear();
            symbolic.blocks.clear();
            symbolic.find_columns();
        }
        symbolic.find_scatter();
        Ok(symbolic)
    }

    /// Where block (row, column) of the matrix is to be written for [`crate::ldl::Factor::factor_with`]; `None` when the nodes do not couple.
    pub fn place(&self, row: usize, column: usize) -> Option<Place> {
        if row.max(column) >= self.order.len() {
            return None;
        }
        let (lower, upper) = (self.position[row].max(self.position[column]), self.position[row].min(self.position[column]));
        let owner = &self.columns[upper];
        if lower == upper {
            return Some(Place { at: owner.pivot_at, rows: owner.size, columns: owner.size, transposed: false });
        }
        let below = self.below(owner);
        let found = &below[below.binary_search_by_key(&lower, |block| block.position).ok()?];
        let at = owner.panel_at + found.panel_row * owner.size;
        Some(Place { at, rows: found.size, columns: owner.size, transposed: self.position[row] < self.position[column] })
    }

    /// The pattern that was analysed.
    pub fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }
    /// Nodes in order of elimination.
    pub fn order(&self) -> &[usize] {
        &self.order
    }
    /// Place of a node in the order: `order()[position(i)] == i`.
    pub fn position(&self, node: usize) -> usize {
        self.position[node]
    }
    /// Parent of a node in the elimination tree: the first node eliminated after it that it touches; `None` at a root.
    pub fn parent(&self, node: usize) -> Option<usize> {
        self.parent_position(self.position[node]).map(|place| self.order[place])
    }
    /// Most nodes on a path from a node to its root: what one sparse right-hand side costs at worst.
    pub fn depth(&self) -> usize {
        let mut depth = vec![0; self.columns.len()];
        for place in (0..self.columns.len()).rev() {
            depth[place] = 1 + self.parent_position(place).map_or(0, |up| depth[up]);
        }
        depth.into_iter().max().unwrap_or(0)
    }
    /// Blocks that L has below its diagonal and the matrix has not.
    pub fn fill(&self) -> usize {
        self.blocks.len() - self.pattern.edges()
    }
    /// Multiply-adds of one numeric factorisation, theory (9.10).
    pub fn factor_operations(&self) -> u64 {
        self.columns
            .iter()
            .map(|column| {
                let (size, below) = (column.size as u64, self.panel_rows(column) as u64);
                size * (size * size).saturating_sub(1) / 6 + below * size * (size + 1) / 2 + size * below * (below + 1) / 2
            })
            .sum()
    }
    /// Multiply-adds of one full solve.
    pub fn solve_operations(&self) -> u64 {
        self.columns
            .iter()
            .map(|column| {
                let (size, below) = (column.size as u64, self.panel_rows(column) as u64);
                size * size + 2 * below * size
            })
            .sum()
    }
    /// Largest distance between a scalar row of L and its diagonal, in the order of elimination.
    pub fn bandwidth(&self) -> usize {
        let mut first = Vec::with_capacity(self.columns.len());
        let mut row = 0;
        for column in &self.columns {
            first.push(row);
            row += column.size;
        }
        let mut widest = 0;
        for (k, column) in self.columns.iter().enumerate() {
            if column.size == 0 {
                continue;
            }
            widest = widest.max(column.size - 1);
            for block in self.below(column).iter().filter(|block| block.size > 0) {
                widest = widest.max(first[block.position] + block.size - 1 - first[k]);
            }
        }
        widest
    }

    pub(crate) fn below(&self, column: &Column) -> &[LowerBlock] {
        &self.blocks[column.begin..column.end]
    }
    pub(crate) fn parent_position(&self, place: usize) -> Option<usize> {
        let column = &self.columns[place];
        self.below(column).first().map(|block| block.position)
    }
    fn panel_rows(&self, column: &Column) -> usize {
        self.below(column).last().map_or(0, |block| block.panel_row + block.size)
    }

    /// Whether every node but the last couples with the next alone.
    fn is_path(&self) -> bool {
        let last = self.columns.len().saturating_sub(1);
        self.columns[..last].iter().enumerate().all(|(place, column)| matches!(self.below(column), [only] if only.position == place + 1))
    }

    /// Column by column, struct(k) = what the matrix has below k, and what the children of k have below k, theory (9.7).
    fn find_columns(&mut self) {
        let nodes = self.order.len();
        let mut neighbours = vec![Vec::new(); nodes];
        for node in 0..nodes {
            for block in self.pattern.below(node) {
                let (a, b) = (self.position[node], self.position[block.row]);
                neighbours[a.min(b)].push(a.max(b));
            }
        }
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); nodes];
        // Marks carry the column that set them, so they need no clearing; no column sets `nodes`.
        let mut mark = vec![nodes; nodes];
        let mut at = 0;
        for k in 0..nodes {
            let mut below = std::mem::take(&mut neighbours[k]);
            for &place in &below {
                mark[place] = k;
            }
            for &child in &children[k] {
                for block in &self.blocks[self.columns[child].begin..self.columns[child].end] {
                    if block.position != k && mark[block.position] != k {
                        mark[block.position] = k;
                        below.push(block.position);
                    }
                }
            }
            below.sort_unstable();
            if let Some(&parent) = below.first() {
                children[parent].push(k);
            }
            let node = self.order[k];
            let size = self.pattern.size(node);
            let begin = self.blocks.len();
            let mut panel_row = 0;
            for place in below {
                let row = self.order[place];
                let (start, size) = (self.pattern.start(row), self.pattern.size(row));
                self.blocks.push(LowerBlock { position: place, start, size, panel_row });
                panel_row += size;
            }
            let panel_at = at + size * size;
            let panel_end = panel_at + panel_row * size;
            let end = self.blocks.len();
            self.columns.push(Column { start: self.pattern.start(node), size, begin, end, pivot_at: at, panel_at, panel_end });
            at = panel_end;
        }
        self.values = at;
    }

    fn find_scatter(&mut self) {
        for node in 0..self.order.len() {
            let size = self.pattern.size(node);
            let to = self.columns[self.position[node]].pivot_at;
            self.scatter.push(Scatter { from: self.pattern.diagonal_at(node), to, rows: size, columns: size, transposed: false });
            for block in self.pattern.below(node) {
                let (column, row) = (self.position[node], self.position[block.row]);
                let owner = &self.columns[column.min(row)];
                let below = self.below(owner);
                // Every edge of the matrix is a block of L, so the search always finds it.
                let Ok(found) = below.binary_search_by_key(&column.max(row), |lower| lower.position) else { continue };
                let to = owner.panel_at + below[found].panel_row * owner.size;
                let rows = self.pattern.size(block.row);
                self.scatter.push(Scatter { from: block.at, to, rows, columns: size, transposed: row < column });
            }
        }
    }
}

/// The nodes that a sparse right-hand side reaches: paths to the roots of the elimination tree, theory (9.13).
#[derive(Clone, Debug, Default)]
pub struct Reach {
    /// Places in the order, rising.
    pub(crate) places: Vec<usize>,
    seen: Vec<bool>,
}

impl Reach {
    /// Nodes reached by the last sparse solve, in order of elimination.
    pub fn nodes<'a>(&'a self, symbolic: &'a Symbolic) -> impl Iterator<Item = usize> + 'a {
        self.places.iter().map(|&place| symbolic.order[place])
    }
    /// How many nodes were reached.
    pub fn len(&self) -> usize {
        self.places.len()
    }
    /// Whether no node was reached.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The union of the paths from `nodes` to their roots.
    pub fn find(&mut self, symbolic: &Symbolic, nodes: &[usize]) {
        self.places.clear();
        self.seen.resize(symbolic.columns.len(), false);
        for &node in nodes {
            let mut next = Some(symbolic.position[node]);
            while let Some(place) = next.filter(|&place| !self.seen[place]) {
                self.seen[place] = true;
                self.places.push(place);
                next = symbolic.parent_position(place);
            }
        }
        self.places.sort_unstable();
        for &place in &self.places {
            self.seen[place] = false;
        }
    }
}

/// The place of every node in an order, or an error where the order is none.
fn invert(order: &[usize], nodes: usize) -> Result<Vec<usize>, LdlError> {
    let mut position = vec![nodes; nodes];
    for (place, &node) in order.iter().enumerate() {
        if node >= nodes || position[node] != nodes {
            return Err(LdlError::BadOrder { node, nodes });
        }
        position[node] = place;
    }
    match position.iter().position(|&place| place == nodes) {
        Some(node) => Err(LdlError::BadOrder { node, nodes }),
        None => Ok(position),
    }
}
