//! One page's simulation: takes wishes, keeps the clock, sends shots as fast as the page draws them.

use super::Show;
use super::act::{Act, Stamp, open};
use super::inbox::Inbox;
use super::message::{Told, Wish};
use carom_dynamics::Interrupt;
use carom_dynamics::error::Cause;
use carom_scene::{Scene, SceneErrors, from_toml_all, from_toml_beside, scene, scenes};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedSender;

/// Time from one shot to the next while running.
const SHOT: Duration = Duration::from_micros(16_667);
/// Time that steps may take before a shot is sent although it is behind its clock.
const BUDGET: Duration = Duration::from_millis(13);
/// Shots under way that the page has not drawn yet: enough to hide its delay, too few to queue up.
const UNSEEN: usize = 4;
/// Speeds that make sense.
const SPEEDS: std::ops::RangeInclusive<f64> = 1e-3..=100.0;

/// A simulation and its page.
pub struct Session {
    show: Show,
    page: UnboundedSender<Told>,
    act: Option<Box<dyn Act>>,
    stamp: Stamp,
    running: bool,
    speed: f64,
    boxes: bool,
    unseen: usize,
    /// When the clock was set, and the steps taken since.
    since: Instant,
    taken: u64,
    /// A gradient is being computed.
    busy: Arc<AtomicBool>,
    /// What the page wishes, and the token by which some of it ends a step.
    inbox: Inbox,
    interrupt: Interrupt,
    /// Ends the gradient of a scene that is no longer shown.
    forgotten: Interrupt,
}

impl Session {
    /// A session that shows a scene.
    pub fn new(show: Show, page: UnboundedSender<Told>, wishes: Receiver<Wish>) -> Self {
        let inbox = Inbox::new(wishes);
        let mut session = Session {
            show: show.clone(),
            page,
            act: None,
            stamp: Stamp { generation: 0, step: 0 },
            running: false,
            speed: 1.0,
            boxes: false,
            unseen: 0,
            since: Instant::now(),
            taken: 0,
            busy: Arc::new(AtomicBool::new(false)),
            interrupt: inbox.interrupt(),
            inbox,
            forgotten: Interrupt::new(),
        };
        let list: Vec<_> = scenes().iter().map(|s| json!({ "name": s.name, "summary": s.summary })).collect();
        session.tell(Told::json(&json!({ "is": "scenes", "scenes": list })));
        session.load(show.name, show.text);
        session
    }

    fn tell(&self, told: Told) {
        // A page that is gone ends the session with its next wish.
        let _ = self.page.send(told);
    }

    /// Serves wishes until the page is gone.
    pub fn run(mut self) {
        loop {
            let heard = if self.running && self.unseen < UNSEEN {
                self.advance();
                self.inbox.next(Some(self.pause()))
            } else {
                self.inbox.next(None)
            };
            match heard {
                Ok(wish) => self.grant(wish),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return self.forget(),
            }
            while let Ok(wish) = self.inbox.next(Some(Duration::ZERO)) {
                self.grant(wish);
            }
        }
    }

    fn grant(&mut self, wish: Wish) {
        match wish {
            Wish::Open { name } => match scene(&name) {
                Some(found) => {
                    self.show.folder = None;
                    self.load(found.name.to_string(), found.text.to_string());
                }
                None => self.fail(&format!("no embedded scene \"{name}\"")),
            },
            Wish::Edit { text } => self.load(self.show.name.clone(), text),
            Wish::Check { text, id } => {
                let read = self.read(&self.show.name, &text);
                self.tell(Told::errors(id, read.as_ref().err()));
            }
            Wish::Run { on } => {
                self.running = on && self.act.is_some();
                self.set_clock();
            }
            Wish::Step => {
                self.running = false;
                self.step();
                self.shoot();
            }
            Wish::Reset => {
                self.running = false;
                if let Some(act) = &mut self.act {
                    act.reset();
                    self.begin(json!({ "is": "start" }));
                }
            }
            Wish::Speed { factor } => {
                if SPEEDS.contains(&factor) {
                    self.speed = factor;
                    self.set_clock();
                }
            }
            Wish::Grab { body, at } => self.act.iter_mut().for_each(|act| act.grab(body, &at)),
            Wish::Pull { to } => self.act.iter_mut().for_each(|act| act.pull(&to)),
            Wish::Release => self.act.iter_mut().for_each(|act| act.release()),
            Wish::Boxes { on } => {
                self.boxes = on;
                // The present shot again: boxes show at once.
                self.shoot();
            }
            Wish::Seen { count } => self.unseen = self.unseen.saturating_sub(count),
            Wish::Slope { loss, time } => self.slope(loss, time),
        }
    }

    fn read(&self, name: &str, text: &str) -> Result<Scene, SceneErrors> {
        match &self.show.folder {
            Some(folder) => from_toml_beside(text, name, folder),
            None => from_toml_all(text, name),
        }
    }

    /// Shows the scene of a text, or says what is wrong with it.
    fn load(&mut self, name: String, text: String) {
        let scene = match self.read(&name, &text) {
            Ok(scene) => scene,
            Err(errors) => return self.tell(Told::errors(0, Some(&errors))),
        };
        match open(scene) {
            Ok(act) => {
                self.running = false;
                self.forget();
                let message = json!({
                    "is": "scene", "name": name, "text": text, "picture": act.picture().json(), "books": act.books(),
                });
                (self.show.name, self.show.text) = (name, text);
                self.act = Some(act);
                self.begin(message);
            }
            Err(error) => self.fail(&error.to_string()),
        }
    }

    /// Gives up the gradient of what is no longer shown.
    fn forget(&mut self) {
        self.forgotten.raise();
        self.forgotten = Interrupt::new();
    }

    /// Tells of a new beginning and sends its first shot.
    fn begin(&mut self, mut message: serde_json::Value) {
        self.stamp = Stamp { generation: self.stamp.generation.wrapping_add(1), step: 0 };
        message["generation"] = json!(self.stamp.generation);
        self.tell(Told::json(&message));
        self.shoot();
    }

    fn fail(&mut self, message: &str) {
        self.running = false;
        self.tell(Told::json(&json!({ "is": "failed", "message": message })));
    }

    fn set_clock(&mut self) {
        self.since = Instant::now();
        self.taken = 0;
    }

    /// One step; false when it failed.
    fn step(&mut self) -> bool {
        let Some(act) = &mut self.act else { return false };
        match act.step(&self.interrupt) {
            Ok(()) => {
                self.stamp.step = self.stamp.step.saturating_add(1);
                self.taken += 1;
                true
            }
            Err(error) if error.cause == Cause::Stopped => {
                // What ended it is granted next; the token served.
                self.interrupt = self.inbox.interrupt();
                false
            }
            Err(error) => {
                self.fail(&error.to_string());
                false
            }
        }
    }

    /// Takes the steps that are due, as far as the budget goes, and sends a shot if there was any.
    fn advance(&mut self) {
        let Some(size) = self.act.as_ref().map(|act| act.step_size()) else { return };
        let due = (self.since.elapsed().as_secs_f64() * self.speed / size) as u64;
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
        let size = self.act.as_ref().map_or(1.0, |act| act.step_size());
        let next = Duration::from_secs_f64((self.taken + 1) as f64 * size / self.speed);
        let elapsed = self.since.elapsed();
        // Never past the next shot, and never a busy wait.
        next.saturating_sub(elapsed)
            .clamp(Duration::from_millis(1), SHOT)
            .max(SHOT.saturating_sub(Duration::from_nanos((elapsed.as_nanos() % SHOT.as_nanos()) as u64)))
    }

    fn shoot(&mut self) {
        if let Some(act) = &mut self.act {
            let bytes = act.shoot(self.stamp, self.boxes);
            self.unseen += 1;
            self.tell(Told::Shot(bytes));
        }
    }

    /// Computes a gradient on another thread; one at a time.
    fn slope(&mut self, loss: String, time: f64) {
        let Some(act) = &self.act else { return };
        if self.busy.swap(true, Ordering::SeqCst) {
            return;
        }
        let (job, page, busy, forgotten) = (act.slope(), self.page.clone(), self.busy.clone(), self.forgotten.clone());
        std::thread::spawn(move || {
            let answer = job(&loss, time, &forgotten).unwrap_or_else(|message| json!({ "is": "no_gradient", "message": message }));
            busy.store(false, Ordering::SeqCst);
            if !forgotten.raised() {
                let _ = page.send(Told::json(&answer));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use std::sync::mpsc::channel;

    /// A session on its own thread, as the server runs it.
    struct Page {
        wish: std::sync::mpsc::Sender<Wish>,
        told: tokio::sync::mpsc::UnboundedReceiver<Told>,
    }

    impl Page {
        fn open(name: &str) -> Self {
            let (page, told) = tokio::sync::mpsc::unbounded_channel();
            let (wish, wishes) = channel();
            let show = Show { name: name.to_string(), text: scene(name).unwrap().text.to_string(), folder: None };
            std::thread::spawn(move || Session::new(show, page, wishes).run());
            Page { wish, told }
        }
        fn ask(&self, wish: Wish) {
            self.wish.send(wish).unwrap();
        }
        /// The next message of a kind; shots on the way are skipped and acknowledged.
        fn hear(&mut self, kind: &str) -> Value {
            loop {
                match self.told.blocking_recv().unwrap() {
                    Told::Text(text) => {
                        let value: Value = serde_json::from_str(&text).unwrap();
                        if value["is"] == kind {
                            return value;
                        }
                    }
                    Told::Shot(_) => self.ask(Wish::Seen { count: 1 }),
                }
            }
        }
        /// Step and time of the next shot.
        fn shot(&mut self) -> (u32, f64) {
            loop {
                if let Told::Shot(bytes) = self.told.blocking_recv().unwrap() {
                    self.ask(Wish::Seen { count: 1 });
                    return (u32::from_le_bytes(bytes[4..8].try_into().unwrap()), f64::from_le_bytes(bytes[8..16].try_into().unwrap()));
                }
            }
        }
    }

    #[test]
    fn a_page_opens_steps_runs_pauses_and_resets() {
        let mut page = Page::open("newton_cradle");
        assert!(page.hear("scenes")["scenes"].as_array().unwrap().len() > 50);
        assert_eq!(page.hear("scene")["name"], "newton_cradle");
        assert_eq!(page.shot().0, 0);
        page.ask(Wish::Step);
        assert_eq!(page.shot().0, 1);
        page.ask(Wish::Run { on: true });
        let start = Instant::now();
        let (mut last, mut shots) = ((1, 0.0), 0);
        while start.elapsed() < Duration::from_millis(400) {
            last = page.shot();
            shots += 1;
        }
        page.ask(Wish::Run { on: false });
        assert!(shots > 5 && last.1 > 0.1 && last.1 < 1.0, "{shots} shots to {} s", last.1);
        page.ask(Wish::Reset);
        page.hear("start");
        assert_eq!(page.shot(), (0, 0.0));
    }

    #[test]
    fn a_page_that_does_not_draw_is_not_flooded() {
        let mut page = Page::open("newton_cradle");
        page.hear("scene");
        page.ask(Wish::Run { on: true });
        std::thread::sleep(Duration::from_millis(400));
        let mut waiting = 0;
        while page.told.try_recv().is_ok() {
            waiting += 1;
        }
        assert!(waiting <= UNSEEN, "{waiting} shots wait");
    }

    #[test]
    fn a_faulty_text_is_answered_with_its_line_and_changes_nothing() {
        let mut page = Page::open("ball_drop");
        page.hear("scene");
        page.ask(Wish::Check { text: "dimension = 2\nmass = 1".to_string(), id: 5 });
        let errors = page.hear("errors");
        assert_eq!((errors["id"].as_u64(), errors["errors"][0]["line"].as_u64()), (Some(5), Some(2)));
        page.ask(Wish::Edit { text: "dimension = 4".to_string() });
        assert_eq!(page.hear("errors")["errors"][0]["line"], 1);
        page.ask(Wish::Edit { text: "dimension = 2\n[[body]]\nname = \"new\"\nshape = { ball = 1 }".to_string() });
        assert_eq!(page.hear("scene")["picture"]["bodies"][0]["name"], "new");
        page.ask(Wish::Open { name: "nonsense".to_string() });
        assert!(page.hear("failed")["message"].as_str().unwrap().contains("nonsense"));
        page.ask(Wish::Open { name: "pyramid".to_string() });
        assert_eq!(page.hear("scene")["name"], "pyramid");
    }

    #[test]
    fn a_gradient_comes_from_another_thread() {
        let mut page = Page::open("ball_drop");
        let name = page.hear("scene")["picture"]["bodies"][1]["name"].as_str().unwrap().to_string();
        page.ask(Wish::Slope { loss: format!("{name}.y"), time: 0.2 });
        assert!(page.hear("gradient")["v0"].as_array().unwrap().len() >= 6);
        page.ask(Wish::Slope { loss: "nobody.y".to_string(), time: 0.2 });
        assert!(page.hear("no_gradient")["message"].as_str().unwrap().contains("nobody"));
    }
}
