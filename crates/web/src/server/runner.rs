//! A scene in motion on a thread of its own: whoever waits for a slow step, the page does not.

use super::act::{Act, Stamp};
use super::message::{Report, Wish};
use carom_dynamics::{Interrupt, StepReport};
use serde_json::json;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedSender;

/// Time from one shot to the next while running.
const SHOT: Duration = Duration::from_micros(16_667);
/// Time that steps may take before a shot is sent although it is behind its clock.
const BUDGET: Duration = Duration::from_millis(13);
/// Shots under way that the page has not drawn yet: enough to hide its delay, too few to queue up.
pub const UNSEEN: usize = 4;

/// What is known of a runner from outside, also while it steps.
#[derive(Clone, Debug)]
pub struct Pulse {
    /// Since when it is in the present step.
    pub stepping: Option<Instant>,
    /// Steps taken.
    pub step: u32,
    /// Simulated time \[s\].
    pub time: f64,
    /// How the last step went.
    pub last: StepReport,
    /// Whether it waits for the page to draw.
    pub waits_for_page: bool,
}

/// The page, as long as it shows this run.
#[derive(Clone)]
pub struct Outlet {
    page: UnboundedSender<Report>,
    /// Raised when nothing of this run is wanted any more; steps hear it too.
    pub over: Interrupt,
}

impl Outlet {
    /// An outlet to a page.
    pub fn new(page: UnboundedSender<Report>) -> Self {
        Outlet { page, over: Interrupt::new() }
    }
    /// Tells the page, unless it shows something else by now.
    pub fn tell(&self, report: Report) {
        if !self.over.raised() {
            // A page that is gone ends the session with its next wish.
            let _ = self.page.send(report);
        }
    }
}

/// A handle on a scene in motion; dropped, it interrupts the step that is being taken and leaves the thread to end by itself.
pub struct Runner {
    orders: Sender<Wish>,
    pulse: Arc<Mutex<Pulse>>,
    outlet: Outlet,
}

impl Drop for Runner {
    fn drop(&mut self) {
        self.outlet.over.raise();
    }
}

/// The pulse, whatever happened to whoever held it.
fn look(pulse: &Mutex<Pulse>) -> MutexGuard<'_, Pulse> {
    pulse.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Runner {
    /// Sets a scene up, paused; its first shot is sent at once.
    pub fn new(mut act: Box<dyn Act>, generation: u32, speed: f64, boxes: bool, outlet: Outlet) -> Self {
        let (orders, wishes) = channel();
        act.heed(&outlet.over);
        let start = Pulse { stepping: None, step: 0, time: act.time(), last: StepReport::default(), waits_for_page: false };
        let pulse = Arc::new(Mutex::new(start));
        let mut run = Run {
            act,
            outlet: outlet.clone(),
            pulse: pulse.clone(),
            stamp: Stamp { generation, step: 0 },
            running: false,
            speed,
            boxes,
            unseen: 0,
            since: Instant::now(),
            taken: 0,
        };
        std::thread::spawn(move || {
            run.shoot();
            run.serve(&wishes);
        });
        Runner { orders, pulse, outlet }
    }
    /// Hands a wish on; it is granted after the step that is being taken.
    pub fn order(&self, wish: Wish) {
        // A runner that ended has said why.
        let _ = self.orders.send(wish);
    }
    /// How it is doing.
    pub fn pulse(&self) -> Pulse {
        look(&self.pulse).clone()
    }
    /// The way to its page.
    pub fn outlet(&self) -> &Outlet {
        &self.outlet
    }
}

/// What the thread owns.
struct Run {
    act: Box<dyn Act>,
    outlet: Outlet,
    pulse: Arc<Mutex<Pulse>>,
    stamp: Stamp,
    running: bool,
    speed: f64,
    boxes: bool,
    unseen: usize,
    /// When the clock was set, and the steps taken since.
    since: Instant,
    taken: u64,
}

impl Run {
    fn serve(&mut self, wishes: &Receiver<Wish>) {
        while !self.outlet.over.raised() {
            let full = self.unseen >= UNSEEN;
            look(&self.pulse).waits_for_page = self.running && full;
            let heard = if self.running && !full {
                self.advance();
                wishes.recv_timeout(self.pause())
            } else {
                wishes.recv().map_err(|_| RecvTimeoutError::Disconnected)
            };
            match heard {
                Ok(wish) => self.grant(wish),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            while let Ok(wish) = wishes.try_recv() {
                self.grant(wish);
            }
        }
    }

    fn grant(&mut self, wish: Wish) {
        match wish {
            Wish::Run { on } => {
                self.running = on;
                self.set_clock();
            }
            Wish::Step => {
                self.running = false;
                self.step();
                self.shoot();
            }
            Wish::Speed { factor } => {
                self.speed = factor;
                self.set_clock();
            }
            Wish::Grab { body, at } => self.act.grab(body, &at),
            Wish::Pull { to } => self.act.pull(&to),
            Wish::Release => self.act.release(),
            Wish::Boxes { on } => {
                self.boxes = on;
                // The present shot again: boxes show at once.
                self.shoot();
            }
            Wish::Seen { count } => self.unseen = self.unseen.saturating_sub(count),
            // The session has tried both on the start already, and said what is wrong with them.
            Wish::Set { key, index, value } => {
                if self.act.set(&key, index, value).is_ok() {
                    self.shoot();
                }
            }
            Wish::Control { index, value } => drop(self.act.control(index, value)),
            Wish::State => {
                let answer = json!({ "is": "state", "state": self.act.state(), "time": self.act.time() });
                self.outlet.tell(Report::json(&answer));
            }
            // The session's own.
            Wish::Open { .. }
            | Wish::Edit { .. }
            | Wish::Check { .. }
            | Wish::Reset
            | Wish::Write
            | Wish::Restore { .. }
            | Wish::Slope { .. } => {}
        }
    }

    fn set_clock(&mut self) {
        self.since = Instant::now();
        self.taken = 0;
    }

    /// One step; false when it failed, or when nobody waits for it any more.
    fn step(&mut self) -> bool {
        look(&self.pulse).stepping = Some(Instant::now());
        let taken = self.act.step();
        let mut pulse = look(&self.pulse);
        pulse.stepping = None;
        match taken {
            Ok(report) => {
                self.stamp.step = self.stamp.step.saturating_add(1);
                self.taken += 1;
                (pulse.step, pulse.time, pulse.last) = (self.stamp.step, self.act.time(), report);
                !self.outlet.over.raised()
            }
            Err(message) => {
                drop(pulse);
                self.running = false;
                self.outlet.tell(Report::json(&json!({ "is": "failed", "message": message })));
                false
            }
        }
    }

    /// Takes the steps that are due, as far as the budget goes, and sends a shot if there was any.
    fn advance(&mut self) {
        let due = (self.since.elapsed().as_secs_f64() * self.speed / self.act.step_size()) as u64;
        let start = Instant::now();
        let before = self.taken;
        while self.taken < due && self.step() {
            if start.elapsed() > BUDGET {
                // Slower than the clock: the clock is set anew, so that it does not race afterwards.
                self.set_clock();
                return self.shoot();
            }
        }
        if self.taken > before {
            self.shoot();
        }
    }

    /// How long to wait before something is due.
    fn pause(&self) -> Duration {
        let next = Duration::from_secs_f64((self.taken + 1) as f64 * self.act.step_size() / self.speed);
        let elapsed = self.since.elapsed();
        // Never past the next shot, and never a busy wait.
        next.saturating_sub(elapsed)
            .clamp(Duration::from_millis(1), SHOT)
            .max(SHOT.saturating_sub(Duration::from_nanos((elapsed.as_nanos() % SHOT.as_nanos()) as u64)))
    }

    fn shoot(&mut self) {
        let bytes = self.act.shoot(self.stamp, self.boxes);
        self.unseen += 1;
        self.outlet.tell(Report::Shot(bytes));
    }
}
