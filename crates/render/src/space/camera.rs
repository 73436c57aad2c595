//! A pinhole camera that sees the whole of a box.

use nalgebra::Vector3;

type V = Vector3<f64>;

/// Half of the angle of view across \[rad\].
const HALF_ANGLE: f64 = 0.30;
/// Height of the camera above the horizon \[rad\].
const ELEVATION: f64 = 0.36;
/// Where it stands, from the x axis towards y \[rad\]: in front, to the right; more squarely in front of flat scenes.
const AZIMUTH: f64 = -1.05;
const AZIMUTH_FLAT: f64 = -1.35;
/// A scene whose depth is less than this part of its width is flat.
const FLAT: f64 = 0.2;
/// Room around everything, as a part of the width.
const MARGIN: f64 = 0.07;
/// Height of a picture as a part of its width, at least and at most, unless it is given.
const FLATTEST: f64 = 0.5;
const TALLEST: f64 = 1.1;
/// Halvings of the interval of distances.
const HALVINGS: usize = 60;
/// Sizes of the box within which the camera stands.
const FARTHEST: f64 = 1e3;
/// Nearest distance \[part of the distance to the centre\] that is drawn.
const NEAR: f64 = 0.02;

/// Where a camera stands and how a pixel looks into the world.
#[derive(Clone, Copy, Debug)]
pub struct Camera {
    /// Where it stands \[m\].
    pub eye: V,
    /// To the right in the picture.
    pub right: V,
    /// Up in the picture.
    pub up: V,
    /// Into the picture.
    pub forward: V,
    /// Pixels of a metre at the distance of one.
    pub focal: f64,
    /// Pixel that looks straight ahead.
    pub middle: [f64; 2],
    /// Nearest distance that is drawn \[m\].
    pub near: f64,
}

impl Camera {
    /// Pixel and distance along the view \[m\] of a point.
    pub fn project(&self, p: V) -> [f64; 3] {
        let r = p - self.eye;
        let depth = r.dot(&self.forward);
        [self.middle[0] + self.focal * r.dot(&self.right) / depth, self.middle[1] - self.focal * r.dot(&self.up) / depth, depth]
    }
    /// Direction into the world of a pixel; its part along the view is one.
    pub fn ray(&self, x: f64, y: f64) -> V {
        self.forward + self.right * ((x - self.middle[0]) / self.focal) - self.up * ((y - self.middle[1]) / self.focal)
    }
    /// The camera moved along with what it looks at.
    pub fn moved(&self, by: V) -> Camera {
        Camera { eye: self.eye + by, ..*self }
    }
    /// The camera of a picture so many times as large.
    pub fn enlarged(&self, by: f64) -> Camera {
        Camera { focal: self.focal * by, middle: self.middle.map(|m| m * by), ..*self }
    }

    /// A camera on paper of a width \[pixels\] that sees a box about `centre`; also the height of the paper, unless it is given.
    pub fn new(centre: V, half: V, width: usize, height: Option<usize>) -> (Camera, usize) {
        let azimuth = if half.y < FLAT * half.x { AZIMUTH_FLAT } else { AZIMUTH };
        let (sa, ca) = azimuth.sin_cos();
        let (se, ce) = ELEVATION.sin_cos();
        let back = V::new(ca * ce, sa * ce, se);
        let right = V::new(-sa, ca, 0.0);
        let up = back.cross(&right);
        let size = half.norm();
        let width_px = width as f64;
        let focal = 0.5 * width_px / HALF_ANGLE.tan();
        let at = |distance: f64| Camera {
            eye: centre + back * distance,
            right,
            up,
            forward: -back,
            focal,
            middle: [0.5 * width_px, 0.0],
            near: NEAR * distance,
        };
        let corners: Vec<V> =
            (0..8u32).map(|k| centre + V::new(sign(k & 1) * half.x, sign(k & 2) * half.y, sign(k & 4) * half.z)).collect();
        // Left, right, top and bottom of the box in the picture.
        let extent = |camera: &Camera| {
            corners.iter().map(|c| camera.project(*c)).fold([f64::INFINITY, f64::NEG_INFINITY, f64::INFINITY, f64::NEG_INFINITY], |e, p| {
                [e[0].min(p[0]), e[1].max(p[0]), e[2].min(p[1]), e[3].max(p[1])]
            })
        };
        let margin = MARGIN * width_px;
        let closest = |fits: &dyn Fn([f64; 4]) -> bool| {
            let (mut low, mut high) = (size, FARTHEST * size);
            for _ in 0..HALVINGS {
                let middle = 0.5 * (low + high);
                let seen = corners.iter().all(|c| at(middle).project(*c)[2] > at(middle).near);
                if seen && fits(extent(&at(middle))) { high = middle } else { low = middle }
            }
            high
        };
        let wide = closest(&|[l, r, _, _]| r - l <= width_px - 2.0 * margin);
        let [_, _, top, bottom] = extent(&at(wide));
        let natural = (bottom - top + 2.0 * margin).clamp(FLATTEST * width_px, TALLEST * width_px);
        let height = height.unwrap_or((0.5 * natural).round() as usize * 2);
        let inside = (height as f64 - 2.0 * margin).max(1.0);
        let distance = closest(&|[l, r, t, b]| r - l <= width_px - 2.0 * margin && b - t <= inside);
        let mut camera = at(distance);
        let [l, r, t, b] = extent(&camera);
        camera.middle[0] += 0.5 * (width_px - (l + r));
        camera.middle[1] += 0.5 * (height as f64 - (t + b));
        (camera, height)
    }
}

fn sign(bit: u32) -> f64 {
    if bit == 0 { -1.0 } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_box_is_in_the_picture_and_rays_undo_projections() {
        for half in [V::new(1.0, 1.0, 1.0), V::new(5.0, 0.1, 1.0), V::new(0.2, 0.2, 3.0), V::new(1e-3, 2e-3, 1e-3)] {
            let (camera, height) = Camera::new(V::new(3.0, -2.0, 7.0), half, 400, None);
            let mut widest = 0.0f64;
            for k in 0..8u32 {
                let corner = V::new(3.0, -2.0, 7.0) + V::new(sign(k & 1) * half.x, sign(k & 2) * half.y, sign(k & 4) * half.z);
                let [x, y, depth] = camera.project(corner);
                assert!(x > 0.0 && x < 400.0 && y > 0.0 && y < height as f64 && depth > camera.near, "{x} {y} {depth}");
                widest = widest.max((x - 200.0).abs()).max((y - 0.5 * height as f64).abs());
                assert!((camera.eye + camera.ray(x, y) * depth - corner).norm() < 1e-9 * depth);
            }
            assert!(widest > 0.3 * 400.0f64.min(height as f64), "the picture is not empty");
        }
    }
}
