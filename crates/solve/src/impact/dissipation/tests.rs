//! Friction of many contacts: the answer obeys the conditions of its minimum, and few sweeps find it.

use super::*;

/// Numbers in [-1, 1), always the same.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

/// A row of bodies of six freedoms, neighbours meeting at four points each: 4 * bodies contacts, most of which say the same as others.
fn row_of_bodies(numbers: &mut Numbers, bodies: usize) -> SparseRows {
    let mut rows = SparseRows::new(6 * bodies);
    for body in 0..bodies {
        for _ in 0..4 {
            let (y, z) = (0.5 * numbers.next(), 0.5 * numbers.next());
            for axis in [1, 2] {
                let mut row = vec![0.0; 6 * bodies];
                for (other, sign, x) in [(body, 1.0, -0.5), (body.wrapping_sub(1), -1.0, 0.5)] {
                    if other < bodies {
                        // Arm (x, y, z) and direction e_axis: the direction, then their cross product, with moments of a sixth.
                        let arm = [x, y, z];
                        let at = &mut row[6 * other..6 * other + 6];
                        at[axis] = sign;
                        let root = 6.0f64.sqrt();
                        let (next, last) = ((axis + 1) % 3, (axis + 2) % 3);
                        at[3 + last] = -sign * root * arm[next];
                        at[3 + next] = sign * root * arm[last];
                    }
                }
                rows.push_dense(&row);
            }
        }
    }
    rows
}

#[test]
fn friction_of_many_contacts_obeys_its_conditions_after_few_sweeps() {
    let mut numbers = Numbers(3);
    let (mut stick, mut slide, mut sweeps) = (0, 0, 0);
    for round in 0..6 {
        let rows = row_of_bodies(&mut numbers, 40);
        let gram = rows.gram();
        let n = rows.len();
        let mut work = Dissipation::default();
        work.load(&gram.view(), 0, n, if round % 2 == 0 { None } else { Some(&rows) });
        let velocity: Vec<f64> = (0..rows.dimension()).map(|_| numbers.next()).collect();
        work.slip = (0..n).map(|row| rows.dot(row, &velocity)).collect();
        work.radii = (0..n / 2).map(|k| if k % 11 == 0 { 0.0 } else { 0.15 * (1.0 + numbers.next()) }).collect();
        let mut b = vec![0.0; n];
        let speed = velocity.iter().map(|v| v * v).sum::<f64>().sqrt();
        sweeps += work.dissipate(&mut b, speed);
        assert!(work.settled());
        // The slip from the impulses alone, and what the minimum asks of it.
        let mut after = velocity.clone();
        (0..n).for_each(|row| rows.add(row, b[row], &mut after));
        for k in 0..n / 2 {
            let (own, radius) = ([b[2 * k], b[2 * k + 1]], work.radii[k]);
            let slip = [rows.dot(2 * k, &after), rows.dot(2 * k + 1, &after)];
            let size = own[0].hypot(own[1]);
            assert!(size <= radius * (1.0 + 1e-12), "{round} {k}: {size} of {radius}");
            if radius == 0.0 {
                continue;
            }
            if size < radius * (1.0 - 1e-6) {
                stick += 1;
                assert!(slip[0].hypot(slip[1]) < 1e-6 * speed, "{round} {k}: sticks at {slip:?}");
            } else {
                slide += 1;
                let (along, across) = (slip[0] * own[0] + slip[1] * own[1], slip[0] * own[1] - slip[1] * own[0]);
                assert!(
                    along <= 1e-6 * speed * radius && across.abs() < 1e-6 * speed * radius,
                    "{round} {k}: slides at {slip:?} under {own:?}"
                );
            }
        }
        let energy = after.iter().map(|v| v * v).sum::<f64>() - velocity.iter().map(|v| v * v).sum::<f64>();
        assert!(energy < 0.0);
    }
    assert!(stick > 100 && slide > 100, "{stick} {slide}");
    assert!(sweeps <= 6 * 150, "{sweeps} sweeps");
}
