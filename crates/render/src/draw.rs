//! What the two spaces have in common: a view chosen once, and a picture of a moment as pixels or as lines.

use crate::canvas::Canvas;
use crate::color::{Ink, Rgb};
use crate::drawing::Drawing;
use crate::error::RenderError;
use crate::framing::Framing;
use crate::mesh::Room;
use crate::options::Options;
use crate::space::solids::Face;
use carom_dynamics::Model;
use carom_geometry::Geometry;
use carom_math::{Pose, Spatial};

/// What stays the same through a film.
#[derive(Debug)]
pub struct Scenery<'a, G: Geometry> {
    /// What ran.
    pub model: &'a Model<G>,
    /// Colours of the theme.
    pub ink: Ink,
}

/// One frame.
#[derive(Debug)]
pub struct Moment<'a, G: Geometry> {
    /// Time \[s\].
    pub time: f64,
    /// Pose of every body.
    pub poses: &'a [Pose<G>],
    /// Positions of every body at earlier moments, the oldest first; empty without trails.
    pub trail: &'a [Vec<G::Lin>],
}

/// A space that can be drawn.
pub trait Draw: Geometry {
    /// Camera and paper.
    type View;
    /// Chooses the camera for what must be seen, on paper of a width \[pixels\].
    fn view(framing: Framing<Self>, width: usize, options: &Options) -> Self::View;
    /// Width and height \[pixels\].
    fn size(view: &Self::View) -> [usize; 2];
    /// A moment as lines and areas.
    fn drawing(view: &Self::View, scenery: &Scenery<'_, Self>, moment: &Moment<'_, Self>) -> Drawing;
    /// A moment in pixels.
    ///
    /// # Errors
    /// The size is refused.
    fn pixels(view: &Self::View, scenery: &Scenery<'_, Self>, moment: &Moment<'_, Self>) -> Result<Canvas, RenderError>;
    /// The faces of a shape at its place in a body, as a solid in space.
    fn faces(shape: &Self::Shape, local: &Pose<Self>, color: Rgb, room: &Room) -> Vec<Face>;
    /// A pose in space; the plane is z = 0.
    fn in_space(pose: &Pose<Self>) -> Pose<Spatial>;
}
