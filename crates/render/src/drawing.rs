//! Lines and areas on paper: what a picture of the plane is before it becomes pixels or SVG.

use crate::color::Rgb;

/// A point on paper \[pixels\], x to the right and y down.
pub type Point = [f64; 2];

/// Control points of a quarter circle lie this part of the radius along the tangent.
const QUARTER: f64 = 0.552_284_749_831;

/// One move of the pen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Move {
    /// Lifted, to a point.
    To(Point),
    /// Straight to a point.
    Line(Point),
    /// Along a cubic curve with two control points.
    Cubic(Point, Point, Point),
    /// Straight to where it was set down.
    Close,
}

/// A form to fill, to stroke, or both.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    /// Moves of the pen.
    Path(Vec<Move>),
    /// A circle.
    Circle {
        /// Centre.
        centre: Point,
        /// Radius \[pixels\].
        radius: f64,
    },
    /// Letters: digits and the few signs of a clock.
    Text {
        /// Left end of the base line.
        at: Point,
        /// Height of a digit \[pixels\].
        size: f64,
        /// What is written.
        text: String,
    },
}

/// How a form is filled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fill {
    /// One colour.
    Flat(Rgb),
    /// A lit ball of a colour.
    Ball(Rgb),
}

/// How a form is stroked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stroke {
    /// Colour.
    pub color: Rgb,
    /// Width \[pixels\].
    pub width: f64,
}

/// A form on paper.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// What.
    pub form: Form,
    /// Its inside.
    pub fill: Option<Fill>,
    /// Its outline.
    pub stroke: Option<Stroke>,
    /// 0 cannot be seen, 1 hides what is behind.
    pub opacity: f64,
}

/// Items on paper, the last on top.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    /// Width and height \[pixels\].
    pub size: [f64; 2],
    /// Colour of the paper.
    pub paper: Rgb,
    /// Items from the back to the front.
    pub items: Vec<Item>,
}

impl Form {
    /// Straight lines through points, closed or not.
    pub fn lines(points: &[Point], closed: bool) -> Form {
        let mut moves: Vec<Move> = points.iter().enumerate().map(|(k, p)| if k == 0 { Move::To(*p) } else { Move::Line(*p) }).collect();
        if closed {
            moves.push(Move::Close);
        }
        Form::Path(moves)
    }
    /// All points within a radius of a segment.
    pub fn rod(a: Point, b: Point, radius: f64) -> Form {
        let (dx, dy) = (b[0] - a[0], b[1] - a[1]);
        let length = dx.hypot(dy);
        if length <= 0.0 {
            return Form::Circle { centre: a, radius };
        }
        let along = [dx / length * radius, dy / length * radius];
        let side = [-along[1], along[0]];
        // A point so many radii along and aside of an end.
        let at = |end: Point, u: f64, v: f64| [end[0] + u * along[0] + v * side[0], end[1] + u * along[1] + v * side[1]];
        Form::Path(vec![
            Move::To(at(a, 0.0, 1.0)),
            Move::Line(at(b, 0.0, 1.0)),
            Move::Cubic(at(b, QUARTER, 1.0), at(b, 1.0, QUARTER), at(b, 1.0, 0.0)),
            Move::Cubic(at(b, 1.0, -QUARTER), at(b, QUARTER, -1.0), at(b, 0.0, -1.0)),
            Move::Line(at(a, 0.0, -1.0)),
            Move::Cubic(at(a, -QUARTER, -1.0), at(a, -1.0, -QUARTER), at(a, -1.0, 0.0)),
            Move::Cubic(at(a, -1.0, QUARTER), at(a, -QUARTER, 1.0), at(a, 0.0, 1.0)),
            Move::Close,
        ])
    }
}

impl Drawing {
    /// Blank paper.
    pub fn new(width: usize, height: usize, paper: Rgb) -> Self {
        Drawing { size: [width as f64, height as f64], paper, items: Vec::new() }
    }
    /// Puts a form on top.
    pub fn add(&mut self, form: Form, fill: Option<Fill>, stroke: Option<Stroke>) {
        self.items.push(Item { form, fill, stroke, opacity: 1.0 });
    }
    /// Puts a line on top.
    pub fn line(&mut self, points: &[Point], color: Rgb, width: f64, opacity: f64) {
        self.items.push(Item { form: Form::lines(points, false), fill: None, stroke: Some(Stroke { color, width }), opacity });
    }
}
