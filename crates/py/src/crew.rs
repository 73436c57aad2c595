//! Who does the work: the calling thread, the threads that the process shares, or those of a batch. While they work the calling thread hears
//! signals, so that Ctrl-C ends a long run; a process that was forked, into which no thread follows, gets threads of its own.

use crate::error::ModelError;
use carom_dynamics::Interrupt;
use pyo3::prelude::*;
use rayon::{Scope, ThreadPool, ThreadPoolBuilder};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time between two looks for a signal [s]: nobody notices it, and a look costs a thousandth of it.
pub const LISTEN: Duration = Duration::from_millis(50);

/// Time between two readings of the clock up to which the next one may wait longer [ns]: steps that then become slow by a factor of a
/// thousand still end within [`LISTEN`].
const BRISK: u64 = 20_000;

/// Steps that are taken without reading the clock, at most.
const STRIDE: u64 = 31;

/// Bodies from which islands may share threads: then the calling thread may not work itself, for it would wait for them and hear nothing.
pub const CROWD: usize = 64;

/// How often this process is the child of a fork, counted from the one that loaded the library.
static FORKS: AtomicUsize = AtomicUsize::new(0);

/// The threads that all worlds of a process share after a fork; before it they are those of the process.
static SHARED: Mutex<Option<Made>> = Mutex::new(None);

/// Threads, and the process that made them.
struct Made {
    forks: usize,
    pool: Arc<ThreadPool>,
}

/// Called in the child after a fork.
#[pyfunction]
pub fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// The threads of a batch: so many of its own, or those that are shared.
#[derive(Default)]
pub struct Crew {
    threads: Option<usize>,
    own: Mutex<Option<Made>>,
}

impl Drop for Crew {
    fn drop(&mut self) {
        // Threads of the parent do not exist here, and must not be waited for.
        if let Some(made) = held(&self.own).take_if(|made| made.forks != FORKS.load(Ordering::Relaxed)) {
            std::mem::forget(made);
        }
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The threads of a place, made on first use and again after a fork.
fn threads(place: &Mutex<Option<Made>>, count: usize, forks: usize) -> PyResult<Arc<ThreadPool>> {
    let mut place = held(place);
    if let Some(made) = place.as_ref().filter(|made| made.forks == forks) {
        return Ok(made.pool.clone());
    }
    let pool = ThreadPoolBuilder::new().num_threads(count).build();
    let pool = Arc::new(pool.map_err(|error| ModelError::new_err(format!("threads: {error}")))?);
    if let Some(old) = place.replace(Made { forks, pool: pool.clone() }) {
        std::mem::forget(old);
    }
    Ok(pool)
}

impl Crew {
    /// So many threads of its own, or none.
    pub fn new(threads: Option<usize>) -> PyResult<Self> {
        let crew = Crew { threads, own: Mutex::new(None) };
        crew.pool()?;
        Ok(crew)
    }

    /// The threads to use; none for those of the process.
    fn pool(&self) -> PyResult<Option<Arc<ThreadPool>>> {
        let forks = FORKS.load(Ordering::Relaxed);
        match self.threads {
            Some(count) => threads(&self.own, count, forks).map(Some),
            None if forks > 0 => threads(&SHARED, 0, forks).map(Some),
            None => Ok(None),
        }
    }

    /// Does a short job without the interpreter, on these threads, and nobody hears signals: the job is asked to stop when it has gone on for [`LISTEN`].
    pub fn run<T: Send>(&self, py: Python<'_>, job: impl FnOnce(&Interrupt) -> T + Send) -> PyResult<T> {
        let pool = self.pool()?;
        let clock = Clock::default();
        let over = Interrupt::asking(move || clock.is_due());
        Ok(py.detach(|| match pool {
            Some(pool) => pool.install(|| job(&over)),
            None => job(&over),
        }))
    }

    /// Does a long job without the interpreter, on these threads if there is work for `many`. The job is interrupted by a signal that raises an exception; what
    /// it then returns is dropped, and the exception raised.
    pub fn work<T: Send>(&self, py: Python<'_>, many: bool, job: impl FnOnce(&Interrupt) -> T + Send) -> PyResult<T> {
        match self.pool()? {
            None if !many => alone(py, job),
            pool => together(py, pool.as_deref(), job),
        }
    }
}

/// When to look at the clock and when for a signal. Threads that ask together may look a little more or less often.
struct Clock {
    begun: Instant,
    skip: AtomicU64,
    stride: AtomicU64,
    seen: AtomicU64,
    next: AtomicU64,
}

impl Default for Clock {
    fn default() -> Self {
        let [skip, stride, seen, next] = [0; 4].map(AtomicU64::new);
        Clock { begun: Instant::now(), skip, stride, seen, next }
    }
}

impl Clock {
    /// Whether it is time to do more than ask.
    fn is_due(&self) -> bool {
        !self.skips() && self.due(self.begun.elapsed())
    }
    /// Whether the clock need not be looked at: reading it costs a tenth of the shortest step.
    fn skips(&self) -> bool {
        let skip = self.skip.load(Ordering::Relaxed);
        self.skip.store(skip.saturating_sub(1), Ordering::Relaxed);
        skip > 0
    }
    /// Whether it is time to look for a signal. While steps are brisk the clock is read ever less often, else at every one of them.
    fn due(&self, now: Duration) -> bool {
        let now = now.as_nanos() as u64;
        let brisk = now.saturating_sub(self.seen.swap(now, Ordering::Relaxed)) < BRISK;
        let stride = if brisk { (2 * self.stride.load(Ordering::Relaxed) + 1).min(STRIDE) } else { 0 };
        self.stride.store(stride, Ordering::Relaxed);
        self.skip.store(stride, Ordering::Relaxed);
        let due = now >= self.next.load(Ordering::Relaxed).max(LISTEN.as_nanos() as u64);
        if due {
            self.next.store(now + LISTEN.as_nanos() as u64, Ordering::Relaxed);
        }
        due
    }
}

/// On the calling thread, which looks for signals while it works.
fn alone<T: Send>(py: Python<'_>, job: impl FnOnce(&Interrupt) -> T + Send) -> PyResult<T> {
    let (heard, clock) = (Arc::new(Mutex::new(None)), Clock::default());
    let ear = heard.clone();
    let interrupt = Interrupt::asking(move || {
        clock.is_due() && Python::attach(|py| py.check_signals()).map_err(|signal| *held(&ear) = Some(signal)).is_err()
    });
    let done = py.detach(|| job(&interrupt));
    let heard = held(&heard).take();
    heard.map_or(Ok(done), Err)
}

/// What the calling thread and the one that works tell each other.
struct Desk {
    over: Mutex<bool>,
    bell: Condvar,
    quit: Interrupt,
}

/// Rings when it is dropped, also when a job panics.
struct Ring<'a>(&'a Desk);

impl Drop for Ring<'_> {
    fn drop(&mut self) {
        *held(&self.0.over) = true;
        self.0.bell.notify_one();
    }
}

impl Desk {
    /// Hands a job over and waits until it is done; the signal that ended it, if there was one.
    fn watch<'a, T: Send>(
        &'a self,
        scope: &Scope<'a>,
        done: &'a mut Option<T>,
        job: impl FnOnce(&Interrupt) -> T + Send + 'a,
    ) -> Option<PyErr> {
        let ring = Ring(self);
        scope.spawn(move |_| {
            let ring = ring;
            *done = Some(job(&ring.0.quit));
        });
        let mut heard = None;
        loop {
            let waited = self.bell.wait_timeout_while(held(&self.over), LISTEN, |over| !*over);
            let (over, _) = waited.unwrap_or_else(PoisonError::into_inner);
            if *over {
                return heard;
            }
            drop(over);
            if heard.is_none()
                && let Err(signal) = Python::attach(|py| py.check_signals())
            {
                heard = Some(signal);
                self.quit.raise();
            }
        }
    }
}

/// On the threads of a pool, while the calling thread waits and looks for signals.
fn together<T: Send>(py: Python<'_>, pool: Option<&ThreadPool>, job: impl FnOnce(&Interrupt) -> T + Send) -> PyResult<T> {
    let (desk, mut done) = (Desk { over: Mutex::new(false), bell: Condvar::new(), quit: Interrupt::new() }, None);
    let heard = py.detach(|| match pool {
        Some(pool) => pool.in_place_scope(|scope| desk.watch(scope, &mut done, job)),
        None => rayon::in_place_scope(|scope| desk.watch(scope, &mut done, job)),
    });
    match (heard, done) {
        (Some(signal), _) => Err(signal),
        (None, Some(done)) => Ok(done),
        (None, None) => Err(ModelError::new_err("threads: the job was lost")),
    }
}
