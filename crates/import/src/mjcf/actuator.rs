//! Actuators: what a control adds to a joint, and the spring and damper that come with a servo.
//!
//! Force on the actuator: gain u + b0 + b1 l + b2 dl/dt, with the length l = gear q. On the joint that is the control `gear gain u`, a spring of
//! stiffness -b1 gear^2 and a damper of -b2 gear^2: so a position servo is a spring about 0 and a control of kp times its target.

use super::compiler::Compiler;
use super::defaults::{Defaults, Item};
use crate::Actuators;
use crate::element::Element;
use crate::robot::{Notes, Robot, Servo, Start};
use crate::text::Fault;
use carom_dynamics::Aim;

/// Gain, and bias by constant, length and rate.
struct Law {
    gain: f64,
    bias: [f64; 3],
}

/// Reads the actuators of a section; where the base is `held` some joints are gone.
pub fn read(
    section: &Element,
    defaults: &Defaults,
    compiler: &Compiler,
    (held, actuators): (bool, Actuators),
    robot: &mut Robot,
    notes: &mut Notes,
) -> Result<(), Fault> {
    for element in &section.children {
        let item = defaults.resolve(element, &["general", &element.tag], None)?;
        let part = format!("{} of <actuator>", element.part());
        let Some(law) = law(&item, notes)? else {
            notes.add(Fault::new(element.span.clone(), part, "", "not supported"));
            continue;
        };
        let Some(name) = item.value("joint") else {
            let how = ["tendon", "body", "site", "cranksite", "jointinparent"]
                .into_iter()
                .find(|key| item.find(key).is_some())
                .unwrap_or("joint");
            notes.add(item.fault(how, "not supported: actuators act on joints here"));
            continue;
        };
        if !robot.joint_names().any(|joint| joint == name) && !held {
            return Err(item.fault("joint", "no joint of this name").instead(name, robot.joint_names()));
        }
        let mut joints = robot.links.iter_mut().flat_map(|l| &mut l.joints);
        // Joints of a base that is held are gone.
        let Some(joint) = joints.find(|j| j.name == name) else { continue };
        if !matches!(joint.start, Start::Scalar(_)) {
            notes.add(item.fault("joint", "not supported: actuators act on hinges and slides here"));
            continue;
        }
        if joint.control.is_some() || joint.servo.is_some() {
            // What it damps and pulls with stays, at a control of 0.
            let (stiffness, damping) = second(&item, &law)?;
            match &mut joint.servo {
                Some(servo) => {
                    servo.damping += damping;
                    servo.stiffness += stiffness;
                }
                None => {
                    joint.stiffness += stiffness;
                    joint.damping += damping;
                    joint.preload -= stiffness * joint.reference;
                }
            }
            notes.add(Fault::new(element.span.clone(), part, "", "not supported: the control of a second actuator of one joint"));
            continue;
        }
        let gear = item.numbers("gear", 1, 6)?.map_or(1.0, |x| x[0]);
        if actuators == Actuators::Servo
            && let Some(servo) = servo(&item, compiler, &law, gear, notes)?
        {
            // A spring of the joint, or its damper beside a bound or a rate, is no part of a servo.
            let plain = joint.stiffness == 0.0 && (joint.damping == 0.0 || servo.aim == Aim::Position && servo.max == f64::INFINITY);
            if plain {
                joint.servo = Some(servo);
                continue;
            }
            notes.add(item.fault(
                "joint",
                "a servo beside a spring or damper of its joint is taken as a force, its control as kp or kv times the target",
            ));
        }
        let (stiffness, damping) = (-law.bias[1] * gear * gear, -law.bias[2] * gear * gear);
        if stiffness < 0.0 || damping < 0.0 || stiffness == 0.0 && law.bias[0] != 0.0 {
            notes.add(item.fault("biasprm", "not supported: a constant force, or one that grows with the length or the rate"));
        } else {
            joint.stiffness += stiffness;
            joint.damping += damping;
            joint.preload += gear * law.bias[0] - stiffness * joint.reference;
        }
        joint.control = Some(most(&item, compiler, &law, gear, notes)?);
    }
    Ok(())
}

/// Stiffness and damping of an actuator beside another one, where they are not negative.
fn second(item: &Item<'_>, law: &Law) -> Result<(f64, f64), Fault> {
    let gear = item.numbers("gear", 1, 6)?.map_or(1.0, |x| x[0]);
    Ok(((-law.bias[1] * gear * gear).max(0.0), (-law.bias[2] * gear * gear).max(0.0)))
}

/// The servo that a position or velocity actuator is; `None` for others.
fn servo(item: &Item<'_>, compiler: &Compiler, law: &Law, gear: f64, notes: &mut Notes) -> Result<Option<Servo>, Fault> {
    let aim = match item.element.tag.as_str() {
        "position" if law.bias[1] < 0.0 => Aim::Position,
        "velocity" if law.bias[2] < 0.0 => Aim::Velocity,
        _ => return Ok(None),
    };
    let (stiffness, damping) = (-law.bias[1] * gear * gear, -law.bias[2] * gear * gear);
    let mut max = f64::INFINITY;
    if let Some(x) = item.numbers("forcerange", 2, 2)?
        && item.choice("forcelimited")?.unwrap_or(compiler.autolimits)
    {
        if x[0] != -x[1] {
            notes.add(item.fault("forcerange", "not supported: a servo is bounded alike to both sides, by the greater number"));
        }
        max = gear.abs() * x[0].abs().max(x[1].abs());
    }
    if item.numbers("ctrlrange", 2, 2)?.is_some() && item.choice("ctrllimited")?.unwrap_or(compiler.autolimits) {
        notes.add(item.fault("ctrlrange", "not supported on a servo: its target is not bounded"));
    }
    Ok(Some(Servo { aim, stiffness, damping, max, control: true }))
}

/// The law of an actuator; `None` for one that is not supported.
fn law(item: &Item<'_>, notes: &mut Notes) -> Result<Option<Law>, Fault> {
    for key in ["timeconst", "dampratio"] {
        if item.number(key)?.is_some_and(|x| x != 0.0) {
            notes.add(item.fault(key, "not supported"));
        }
    }
    let plain = |gain: f64, length: f64, rate: f64| Ok(Some(Law { gain, bias: [0.0, -length, -rate] }));
    match item.element.tag.as_str() {
        "motor" => plain(1.0, 0.0, 0.0),
        "position" => {
            let kp = item.positive("kp")?.unwrap_or(1.0);
            plain(kp, kp, item.positive("kv")?.unwrap_or(0.0))
        }
        "velocity" => {
            let kv = item.positive("kv")?.unwrap_or(1.0);
            plain(kv, 0.0, kv)
        }
        "general" => {
            let supported = |key: &str, words: &[&str]| item.value(key).is_none_or(|word| words.contains(&word));
            if !supported("dyntype", &["none"]) || !supported("gaintype", &["fixed"]) || !supported("biastype", &["none", "affine"]) {
                return Ok(None);
            }
            let gain = item.numbers("gainprm", 1, usize::MAX)?.map_or(1.0, |x| x[0]);
            let given = item.numbers("biasprm", 0, usize::MAX)?.filter(|_| item.value("biastype") == Some("affine")).unwrap_or_default();
            let bias = [0, 1, 2].map(|i| given.get(i).copied().unwrap_or(0.0));
            Ok(Some(Law { gain, bias }))
        }
        _ => Ok(None),
    }
}

/// Greatest torque or force of the control on the joint.
fn most(item: &Item<'_>, compiler: &Compiler, law: &Law, gear: f64, notes: &mut Notes) -> Result<f64, Fault> {
    let mut most = f64::INFINITY;
    let servo = law.bias.iter().any(|x| *x != 0.0);
    for (range, limited, factor) in [("ctrlrange", "ctrllimited", (gear * law.gain).abs()), ("forcerange", "forcelimited", gear.abs())] {
        let Some(x) = item.numbers(range, 2, 2)? else { continue };
        if !item.choice(limited)?.unwrap_or(compiler.autolimits) {
            continue;
        }
        if range == "forcerange" && servo {
            notes.add(item.fault(range, "not supported on a servo: it would bound the spring and the control together"));
            continue;
        }
        if x[0] != -x[1] {
            notes.add(item.fault(range, "not supported: a control is bounded alike to both sides, by the greater number"));
        }
        most = most.min(factor * x[0].abs().max(x[1].abs()));
    }
    Ok(most)
}
