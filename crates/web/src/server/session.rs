//! One page's simulation: takes wishes at once, and leaves the steps to a runner.

use super::Show;
use super::act::{Act, open};
use super::ahead;
use super::message::{Report, Wish};
use super::runner::{Outlet, Runner};
use carom_import::from_toml_beside;
use carom_scene::{Scene, SceneErrors, from_toml_all, scene, scenes};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedSender;

/// Speeds that make sense.
const SPEEDS: std::ops::RangeInclusive<f64> = 1e-3..=100.0;
/// Time from one word about the pace to the next while running, and over how much it is measured.
const PACE: Duration = Duration::from_millis(250);
const MEASURED: Duration = Duration::from_secs(1);

/// A simulation and its page.
pub struct Session {
    show: Show,
    page: UnboundedSender<Report>,
    /// The scene at its start, with what was set; it never moves, so that it can always be asked.
    start: Option<Box<dyn Act>>,
    /// What was set since the text was read.
    set: Vec<(String, Option<usize>, f64)>,
    runner: Option<Runner>,
    generation: u32,
    running: bool,
    speed: f64,
    boxes: bool,
    /// Moments and simulated times of the last second or so.
    paces: Vec<(Instant, f64)>,
    /// A gradient is being computed.
    busy: Arc<AtomicBool>,
}

impl Session {
    /// A session that shows a scene.
    pub fn new(show: Show, page: UnboundedSender<Report>) -> Self {
        let mut session = Session {
            show: show.clone(),
            page,
            start: None,
            set: Vec::new(),
            runner: None,
            generation: 0,
            running: false,
            speed: 1.0,
            boxes: false,
            paces: Vec::new(),
            busy: Arc::new(AtomicBool::new(false)),
        };
        let list: Vec<_> = scenes().iter().map(|s| json!({ "name": s.name, "summary": s.summary })).collect();
        session.tell(Report::json(&json!({ "is": "scenes", "scenes": list })));
        session.load(show.name, show.text);
        session
    }

    fn tell(&self, report: Report) {
        // A page that is gone ends the session with its next wish.
        let _ = self.page.send(report);
    }

    /// Serves wishes until the page is gone.
    pub fn run(mut self, wishes: &Receiver<Wish>) {
        loop {
            let heard = if self.running { wishes.recv_timeout(PACE) } else { wishes.recv().map_err(|_| RecvTimeoutError::Disconnected) };
            match heard {
                Ok(wish) => self.grant(wish),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            self.tell_pace();
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
                self.tell(Report::errors(id, read.as_ref().err()));
            }
            Wish::Reset => self.begin(json!({ "is": "start" }), None),
            Wish::Speed { factor } => {
                if SPEEDS.contains(&factor) {
                    self.speed = factor;
                    self.paces.clear();
                    self.order(wish);
                }
            }
            Wish::Run { on } => {
                self.running = on && self.runner.is_some();
                self.paces.clear();
                self.order(wish);
            }
            Wish::Step => {
                self.running = false;
                self.order(wish);
            }
            Wish::Boxes { on } => {
                self.boxes = on;
                self.order(wish);
            }
            Wish::Set { ref key, index, value } => {
                let outcome = self.start.as_mut().map(|start| start.set(key, index, value));
                if matches!(outcome, Some(Ok(()))) {
                    // Of a slider's many numbers the last counts.
                    self.set.retain(|(k, i, _)| (k, i) != (key, &index));
                    self.set.push((key.clone(), index, value));
                }
                self.answer_set(outcome, wish);
            }
            Wish::Control { index, value } => {
                let outcome = self.start.as_mut().map(|start| start.control(index, value));
                self.answer_set(outcome, wish);
            }
            Wish::Write => {
                let text = match &self.start {
                    // As it was written, comments included.
                    _ if self.set.is_empty() => self.show.text.clone(),
                    Some(start) => start.text(),
                    None => return,
                };
                self.tell(Report::json(&json!({ "is": "text", "name": self.show.name, "text": text })));
            }
            Wish::Restore { name, text, set, controls, state } => self.restore(name, text, set, &controls, &state),
            Wish::Slope { loss, time } => self.slope(loss, time),
            Wish::Grab { .. } | Wish::Pull { .. } | Wish::Release | Wish::Seen { .. } | Wish::State => self.order(wish),
        }
    }

    fn order(&self, wish: Wish) {
        if let Some(runner) = &self.runner {
            runner.order(wish);
        }
    }

    /// Hands on what the start took, and tells how things stand, or what was wrong.
    fn answer_set(&mut self, outcome: Option<Result<(), String>>, wish: Wish) {
        match outcome {
            Some(Ok(())) => self.order(wish),
            Some(Err(message)) => self.tell(Report::json(&json!({ "is": "not_set", "message": message }))),
            None => return,
        }
        self.tell_dials();
    }

    fn tell_dials(&self) {
        if let Some(start) = &self.start {
            self.tell(Report::json(&json!({ "is": "dials", "dials": start.dials(), "set": self.set })));
        }
    }

    fn read(&self, name: &str, text: &str) -> Result<Scene, SceneErrors> {
        match &self.show.folder {
            Some(folder) => from_toml_beside(text, name, folder).map(|import| import.scene),
            None => from_toml_all(text, name),
        }
    }

    /// Shows the scene of a text, or says what is wrong with it.
    fn load(&mut self, name: String, text: String) {
        if let Some(act) = self.opened(&name, &text) {
            self.enter(act, name, text, Vec::new(), None);
        }
    }

    /// The scene of a text at its start; what is wrong with it is reported.
    fn opened(&mut self, name: &str, text: &str) -> Option<Box<dyn Act>> {
        match self.read(name, text).map(open) {
            Ok(Ok(act)) => Some(act),
            Ok(Err(error)) => {
                self.fail(&error.to_string());
                None
            }
            Err(errors) => {
                self.tell(Report::errors(0, Some(&errors)));
                None
            }
        }
    }

    /// Shows a scene with what was set in it, from its start or from another state.
    fn enter(&mut self, start: Box<dyn Act>, name: String, text: String, set: Vec<(String, Option<usize>, f64)>, at: Option<Box<dyn Act>>) {
        let message = json!({
            "is": "scene", "name": name, "text": text, "picture": start.picture().json(), "books": start.books(),
        });
        (self.show.name, self.show.text, self.set) = (name, text, set);
        let ahead = start.twin();
        self.start = Some(start);
        let fresh = at.is_none();
        self.begin(message, at);
        self.tell_dials();
        if let (true, Some(runner)) = (fresh, &self.runner) {
            ahead::look(ahead, self.generation, runner.outlet().clone());
        }
    }

    /// Tells of a new beginning: a runner that may be deep in a slow step is left behind, and another sends the first shot.
    fn begin(&mut self, mut message: Value, at: Option<Box<dyn Act>>) {
        let Some(start) = &self.start else { return };
        let act = at.unwrap_or_else(|| start.twin());
        self.running = false;
        self.generation = self.generation.wrapping_add(1);
        message["generation"] = json!(self.generation);
        self.runner = None;
        self.tell(Report::json(&message));
        self.runner = Some(Runner::new(act, self.generation, self.speed, self.boxes, Outlet::new(self.page.clone())));
    }

    /// The state of a link, with all that led to it.
    fn restore(&mut self, name: String, text: Option<String>, set: Vec<(String, Option<usize>, f64)>, controls: &[f64], state: &str) {
        let Some(text) = text.or_else(|| scene(&name).map(|found| found.text.to_string())) else {
            return self.fail(&format!("the link's scene \"{name}\" is not embedded here"));
        };
        let Some(mut start) = self.opened(&name, &text) else { return };
        let prepared = set
            .iter()
            .try_for_each(|(key, index, value)| start.set(key, *index, *value))
            .and_then(|()| controls.iter().enumerate().try_for_each(|(index, value)| start.control(index, *value)))
            .and_then(|()| {
                let mut act = start.twin();
                act.restore(state).map(|()| act)
            });
        match prepared {
            Ok(act) => self.enter(start, name, text, set, Some(act)),
            Err(message) => self.fail(&message),
        }
    }

    fn fail(&mut self, message: &str) {
        self.running = false;
        self.order(Wish::Run { on: false });
        self.tell(Report::json(&json!({ "is": "failed", "message": message })));
    }

    /// Says how fast the run is and, where that is slow, what it waits for.
    fn tell_pace(&mut self) {
        let Some(runner) = self.runner.as_ref().filter(|_| self.running) else { return };
        let (now, pulse) = (Instant::now(), runner.pulse());
        if self.paces.last().is_some_and(|(then, _)| now - *then < PACE) {
            return;
        }
        self.paces.retain(|(then, _)| now - *then <= MEASURED + PACE);
        self.paces.push((now, pulse.time));
        let (then, time) = self.paces[0];
        let elapsed = (now - then).as_secs_f64();
        let factor = (elapsed >= PACE.as_secs_f64()).then(|| (pulse.time - time) / elapsed);
        let stepping = pulse.stepping.map(|since| since.elapsed().as_secs_f64());
        self.tell(Report::json(&json!({
            "is": "pace", "generation": self.generation, "factor": factor, "step": pulse.step, "stepping": stepping,
            "effort": pulse.last.effort(), "page": pulse.waits_for_page,
        })));
    }

    /// Computes a gradient on another thread; one at a time.
    fn slope(&mut self, loss: String, time: f64) {
        let (Some(start), Some(runner)) = (&self.start, &self.runner) else { return };
        if self.busy.swap(true, Ordering::SeqCst) {
            return;
        }
        let (job, outlet, busy) = (start.slope(), runner.outlet().clone(), self.busy.clone());
        std::thread::spawn(move || {
            let answer = job(&loss, time, &outlet.over).unwrap_or_else(|message| json!({ "is": "no_gradient", "message": message }));
            busy.store(false, Ordering::SeqCst);
            outlet.tell(Report::json(&answer));
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::runner::UNSEEN;
    use super::*;
    use std::sync::mpsc::channel;

    /// A session on its own thread, as the server runs it.
    struct Page {
        wish: std::sync::mpsc::Sender<Wish>,
        report: tokio::sync::mpsc::UnboundedReceiver<Report>,
    }

    impl Page {
        fn open(name: &str) -> Self {
            let (page, report) = tokio::sync::mpsc::unbounded_channel();
            let (wish, wishes) = channel();
            let show = Show { name: name.to_string(), text: scene(name).unwrap().text.to_string(), folder: None };
            std::thread::spawn(move || Session::new(show, page).run(&wishes));
            Page { wish, report }
        }
        fn ask(&self, wish: Wish) {
            self.wish.send(wish).unwrap();
        }
        /// The next message of a kind; shots on the way are skipped and acknowledged.
        fn hear(&mut self, kind: &str) -> Value {
            loop {
                match self.report.blocking_recv().unwrap() {
                    Report::Text(text) => {
                        let value: Value = serde_json::from_str(&text).unwrap();
                        if value["is"] == kind {
                            return value;
                        }
                    }
                    Report::Shot(_) => self.ask(Wish::Seen { count: 1 }),
                }
            }
        }
        /// Step and time of the next shot.
        fn shot(&mut self) -> (u32, f64) {
            loop {
                if let Report::Shot(bytes) = self.report.blocking_recv().unwrap() {
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
        while let Ok(report) = page.report.try_recv() {
            waiting += usize::from(matches!(report, Report::Shot(_)));
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

    #[test]
    fn a_look_ahead_tells_where_a_scene_goes() {
        let mut page = Page::open("ball_drop");
        page.hear("scene");
        let states = page.hear("ahead")["states"].as_array().unwrap().clone();
        let heights: Vec<f64> = states.iter().map(|q| q[4].as_f64().unwrap()).collect();
        let lowest = heights.iter().copied().fold(f64::INFINITY, f64::min);
        assert!(heights.len() > 4 && lowest > 0.09 && lowest < 0.4, "the ball comes near its ground: {heights:?}");
    }

    #[test]
    fn what_is_set_is_told_written_and_stays_after_a_reset() {
        let mut page = Page::open("ball_drop");
        page.hear("dials");
        page.ask(Wish::Write);
        assert!(page.hear("text")["text"].as_str().unwrap().starts_with('#'), "as it was written");
        page.ask(Wish::Set { key: "gravity".to_string(), index: Some(1), value: 2.5 });
        assert_eq!(page.hear("dials")["dials"]["gravity"][1], 2.5);
        page.ask(Wish::Set { key: "restitution".to_string(), index: None, value: 3.0 });
        assert!(page.hear("not_set")["message"].as_str().unwrap().contains("restitution"));
        page.ask(Wish::Reset);
        page.hear("start");
        page.ask(Wish::Write);
        let text = page.hear("text")["text"].as_str().unwrap().to_string();
        assert!(text.contains("2.5") && from_toml_all(&text, "x").is_ok(), "{text}");
    }

    #[test]
    fn a_state_is_restored_with_what_was_set() {
        let mut page = Page::open("pile_in_bin");
        page.hear("scene");
        let set = vec![("gravity".to_string(), Some(1), -3.0)];
        page.ask(Wish::Set { key: "gravity".to_string(), index: Some(1), value: -3.0 });
        (0..5).for_each(|_| page.ask(Wish::Step));
        page.ask(Wish::State);
        let there = page.hear("state");
        let state = there["state"].as_str().unwrap().to_string();
        let restore =
            |state: String| Wish::Restore { name: "pile_in_bin".to_string(), text: None, set: set.clone(), controls: vec![], state };
        page.ask(restore(state.clone()));
        page.hear("scene");
        assert_eq!(page.shot().1, there["time"].as_f64().unwrap());
        page.ask(Wish::State);
        assert_eq!(page.hear("state")["state"], json!(state));
        page.ask(restore("ff".to_string()));
        assert!(page.hear("failed")["message"].as_str().unwrap().contains("state"));
    }

    #[test]
    fn a_slow_step_keeps_nobody_waiting() {
        let mut page = Page::open("ball_drop");
        page.hear("scene");
        let heap = "dimension = 2\n[[body]]\nkind = \"static\"\nshape = { half_space = [0, 1] }\n[[repeat]]\ncount = [50, 40]\n\
                    offset = [[0.2, 0.003], [0.1, 0.2]]\nbody = { name = \"b\", shape = { box = [0.2, 0.2] }, position = [0, 0.1] }\n";
        page.ask(Wish::Edit { text: heap.to_string() });
        assert_eq!(page.hear("scene")["picture"]["bodies"].as_array().unwrap().len(), 1 + 50 * 40);
        page.shot();
        page.ask(Wish::Run { on: true });
        // Deep in a step: two words of the pace in a row, and none taken in between.
        let deep = (0..200).any(|_| page.hear("pace")["stepping"].as_f64().is_some_and(|s| s > 0.1));
        assert!(deep, "no step of this heap takes 0.1 s any more: take a larger one");
        let start = Instant::now();
        page.ask(Wish::Open { name: "newton_cradle".to_string() });
        assert_eq!(page.hear("scene")["name"], "newton_cradle");
        assert_eq!(page.shot().0, 0);
        let took = start.elapsed();
        assert!(took < Duration::from_millis(100), "answered after {took:?}");
    }
}
