//! Exact derivatives of mean rows, theory (19.3)-(19.6): the gradient of the power y . J v of rows over a whole move.
//!
//! Mean rows are made of means of vectors at the two ends of a move, so the gradient with respect to a mean goes to both ends by halves.

use super::JointFunction;
use super::derivative::{coordinate_power, power_at};
use super::distance;
use super::gradient::{JointGradient, Place};
use super::group::Group;
use super::joint::Joint;
use super::mean::{Span, distance_direction};
use carom_math::{Space, Twist, Vector};

impl<S: Space> Joint<S> {
    /// Gradient of the power y . J v of mean rows at fixed weights y and twists v, at the start and at the end of the move, theory
    /// (19.3)-(19.6); the gradient with respect to a parameter is the sum of both. The rows are those of [`Joint::mean_rows`] for
    /// `Equalities`, that of [`Joint::mean_coordinate_row`] for `Coordinate` and that of [`Joint::mean_spring`] for `SpringLength`; others
    /// have none.
    pub fn mean_power_gradient(
        &self,
        function: JointFunction,
        a: &Span<S>,
        b: &Span<S>,
        y: &[f64],
        twists: &[Twist<S>; 2],
    ) -> [JointGradient<S>; 2] {
        let places = [Place::new(self, a.start, b.start), Place::new(self, a.end, b.end)];
        let mut out = [JointGradient::zero(); 2];
        match function {
            _ if self.function_count(function) == 0 => (),
            JointFunction::Equalities => {
                let mut first = 0;
                for group in self.kind.groups() {
                    group.mean_power_gradient(&places, &y[first..], twists, &mut out);
                    first += group.count::<S>();
                }
                if self.has_rotor() {
                    for (place, out) in places.iter().zip(&mut out) {
                        coordinate_power(place, 0.5 * y[first], twists, out);
                    }
                }
            }
            JointFunction::Coordinate => return places.map(|place| power_at(&place, function, &[0.5 * y[0]], twists)),
            JointFunction::SpringLength => distance_power(&places, y[0], twists, &mut out),
            JointFunction::Inequality(_) => (),
        }
        out.map(|gradient| gradient.across(self))
    }
}

impl Group {
    /// Adds the gradient of y . J v of the mean rows of the group; `y` begins with the group's rows.
    fn mean_power_gradient<S: Space>(self, places: &[Place<S>; 2], y: &[f64], v: &[Twist<S>; 2], out: &mut [JointGradient<S>; 2]) {
        let place = &places[0];
        let [axis_a, axis_b] = place.joint.axes;
        match self {
            Group::OnAxis => {
                let g = slide_power(places, self.blend(place, y), v, out);
                out[0].axes[0] += self.blend_gradient(place, y, g);
            }
            Group::InPlane => {
                let g = slide_power(places, axis_a * y[0], v, out);
                out[0].axes[0] += g * y[0];
            }
            Group::Parallel if self.count::<S>() == 0 => (),
            Group::Parallel => {
                let [g_t, g_u] = perpendicular_power(places, self.blend(place, y), axis_b, v, out);
                out[0].axes[0] += self.blend_gradient(place, y, g_t);
                out[0].axes[1] += g_u;
            }
            Group::Perpendicular => {
                let [g_t, g_u] = perpendicular_power(places, axis_a * y[0], axis_b, v, out);
                out[0].axes[0] += g_t * y[0];
                out[0].axes[1] += g_u;
            }
            Group::Distance => distance_power(places, y[0], v, out),
            // Means of the rows at the two ends.
            _ => {
                let halves = [0, 1, 2].map(|row| y.get(row).map_or(0.0, |y| 0.5 * y));
                for (place, out) in places.iter().zip(out) {
                    self.power_gradient(place, &halves, v, out);
                }
            }
        }
    }
}

/// The mean of two vectors.
fn mean<V: Vector>(x: [V; 2]) -> V {
    (x[0] + x[1]) * 0.5
}

/// Adds the gradient of J v of the mean slide row of a direction in the frame of a, theory (19.4); returns that of the direction.
fn slide_power<S: Space>(places: &[Place<S>; 2], direction: S::Lin, v: &[Twist<S>; 2], out: &mut [JointGradient<S>; 2]) -> S::Lin {
    let normals = [0, 1].map(|end| places[end].a.direction(direction));
    let n = mean(normals);
    // Both arms end at the mean place of c_b.
    let arm_a = mean([0, 1].map(|end: usize| places[end].arms[0] - places[end].apart));
    let arm_b = mean([0, 1].map(|end: usize| places[end].arms[1]));
    let g_a = -S::spin(v[0].ang, n) * 0.5;
    let g_b = g_a + S::spin(v[1].ang, n) * 0.5;
    let g_n = (v[0].at(arm_a) - v[1].at(arm_b)) * 0.5;
    let mut sum = S::Lin::zero();
    for (end, place) in places.iter().enumerate() {
        out[end].bodies[0].lin -= g_a;
        out[end].bodies[1].lin += g_a;
        out[end].arm(1, place, g_b);
        sum += out[end].direction(0, place, normals[end], g_n);
    }
    sum
}

/// Adds the gradient of J v of the mean of t x u, theory (19.5); returns those of t and of u in their frames.
fn perpendicular_power<S: Space>(
    places: &[Place<S>; 2],
    t: S::Lin,
    u: S::Lin,
    v: &[Twist<S>; 2],
    out: &mut [JointGradient<S>; 2],
) -> [S::Lin; 2] {
    let ends = [0, 1].map(|end: usize| [places[end].a.direction(t), places[end].b.direction(u)]);
    let rate = v[0].ang - v[1].ang;
    let g_t = -S::spin(rate, mean(ends.map(|[_, u]| u))) * 0.5;
    let g_u = S::spin(rate, mean(ends.map(|[t, _]| t))) * 0.5;
    let mut sums = [S::Lin::zero(); 2];
    for (end, place) in places.iter().enumerate() {
        sums[0] += out[end].direction(0, place, ends[end][0], g_t);
        sums[1] += out[end].direction(1, place, ends[end][1], g_u);
    }
    sums
}

/// Adds `weight` times the gradient of J v of the mean distance row, theory (19.6).
fn distance_power<S: Space>(places: &[Place<S>; 2], weight: f64, v: &[Twist<S>; 2], out: &mut [JointGradient<S>; 2]) {
    let joint = places[0].joint;
    let apart = [places[0].apart, places[1].apart];
    let kept = || mean([0, 1].map(|end: usize| places[end].a.direction(joint.direction)));
    let (u, sum) = distance_direction(joint, apart, kept);
    let arms = [0, 1].map(|side: usize| mean([places[0].arms[side], places[1].arms[side]]));
    let speed = (v[0].at(arms[0]) - v[1].at(arms[1])) * weight;
    let (g_a, g_b) = (-S::spin(v[0].ang, u) * (0.5 * weight), S::spin(v[1].ang, u) * (0.5 * weight));
    for (end, place) in places.iter().enumerate() {
        out[end].arm(0, place, g_a);
        out[end].arm(1, place, g_b);
        if sum > 0.0 {
            let (along, _) = distance::direction(joint, apart[end], place.a);
            out[end].apart(place, (speed - along * u.dot(speed)) * (1.0 / sum));
        } else {
            // The kept direction is no parameter: its own gradient has nowhere to go.
            let _ = out[end].direction(0, place, distance::kept(place), speed * 0.5);
        }
    }
}
