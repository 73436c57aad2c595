//! Pictures of short runs, read back and looked at.

use carom_dynamics::{Model, World};
use carom_math::{Planar, Spatial};
use carom_record::{Ending, Header, Log, LogWriter};
use carom_render::{Draw, Kind, Options, RenderError, Theme, render};
use carom_scene::{Scene, SceneOf, from_toml};
use std::path::PathBuf;

/// A log in a folder of its own, removed afterwards.
struct Recorded<G: Draw> {
    folder: PathBuf,
    log: Log,
    model: Model<G>,
}

impl<G: Draw> Drop for Recorded<G> {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn record<G: Draw>(name: &str, scene: SceneOf<G>, steps: usize) -> Recorded<G> {
    // A folder each: an encoder that another test starts holds the lock of an open log until it has become the encoder.
    static FOLDERS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let number = FOLDERS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("carom-render-{name}-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("run.caromlog");
    let model = scene.model.clone();
    let mut world = World::new(scene.model, scene.state).unwrap();
    let mut log = LogWriter::create(&path, &Header::of(&model, name, "")).unwrap();
    log.record(&world).unwrap();
    for _ in 0..steps {
        world.step().unwrap();
        log.record(&world).unwrap();
    }
    log.finish(&world, Ending::Finished).unwrap();
    Recorded { log: Log::open(&path).unwrap(), folder, model }
}

fn planar(name: &str, text: &str, steps: usize) -> Recorded<Planar> {
    match from_toml(text, name).unwrap() {
        Scene::Planar(scene) => record(name, scene, steps),
        Scene::Spatial(_) => panic!("a plane"),
    }
}

fn spatial(name: &str, text: &str, steps: usize) -> Recorded<Spatial> {
    match from_toml(text, name).unwrap() {
        Scene::Spatial(scene) => record(name, scene, steps),
        Scene::Planar(_) => panic!("space"),
    }
}

impl<G: Draw> Recorded<G> {
    fn make(&self, kind: Kind, options: &Options) -> Vec<u8> {
        let mut out = Vec::new();
        render(&self.log, &self.model, kind, options, &mut out, &mut |_, _| true).unwrap();
        out
    }
    /// Width, height and pixels.
    fn png(&self, options: &Options) -> (usize, usize, Vec<u8>) {
        let bytes = self.make(Kind::Png, options);
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        (info.width as usize, info.height as usize, pixels)
    }
}

fn small() -> Options {
    Options { width: Some(120), clock: false, ..Options::default() }
}

/// Part of the pixels near a colour.
fn share(pixels: &[u8], color: [u8; 3], within: i32) -> f64 {
    let near = |p: &[u8]| p.iter().zip(color).all(|(a, b)| (i32::from(*a) - i32::from(b)).abs() <= within);
    pixels.chunks_exact(3).filter(|p| near(p)).count() as f64 / (pixels.len() / 3) as f64
}

const DROP: &str = "dimension = 2\nstep = 0.01\n[[body]]\nkind = \"static\"\nshape = { half_space = [0, 1] }\n\
    [[body]]\nname = \"ball\"\nshape = { ball = 0.2 }\nposition = [0, 1]\ncolor = \"#ff0000\"\n";

#[test]
fn a_ball_is_where_it_is_and_the_ground_below_it() {
    let drop = planar("drop", DROP, 100);
    let (width, height, pixels) = drop.png(&small());
    let pixel = |x: usize, y: usize| [0, 1, 2].map(|k| pixels[3 * (y * width + x) + k]);
    // At the end the ball rests on the ground: red above the line, the ground's colour below it, paper at the top.
    let ink = Theme::Light.ink();
    let bytes = carom_render::color::bytes;
    assert_eq!(pixel(width / 2, 2), bytes(ink.paper));
    assert_eq!(pixel(2, height - 1), bytes(ink.ground));
    let red: Vec<usize> = (0..height).filter(|y| pixel(width / 2 - 6, *y) == [255, 0, 0]).collect();
    let ground = (0..height).find(|y| pixel(4, *y) == bytes(ink.ground)).unwrap();
    assert!(red.last().unwrap() + 6 > ground && *red.last().unwrap() < ground + 2, "{red:?} above {ground}");
    let dark = drop.png(&Options { theme: Theme::Dark, ..small() }).2;
    assert!(share(&dark, bytes(Theme::Dark.ink().paper), 0) > 0.3 && share(&dark, [255, 0, 0], 0) > 0.01);
}

#[test]
fn every_planar_shape_leaves_its_colour() {
    for shape in [
        "{ ball = 0.3 }",
        "{ box = [0.6, 0.4] }",
        "{ capsule = [0.5, 0.2] }",
        "{ convex = [[0, 0], [0.6, 0], [0.2, 0.5]] }",
        "[{ box = [0.4, 0.2] }, { ball = 0.2, at = [0.3, 0.1] }]",
    ] {
        let text = format!("dimension = 2\n[[body]]\nshape = {shape}\ncolor = \"#00ff00\"\n");
        let shown = share(&planar("shape", &text, 1).png(&small()).2, [0, 255, 0], 0);
        assert!(shown > 0.1, "{shape}: {shown}");
    }
    for shape in ["{ segment = [[-1, 0], [1, 0.2]] }", "{ heightfield = { spacing = 0.5, heights = [0, 0.3, 0, 0.5] } }"] {
        let text =
            format!("dimension = 2\n[[body]]\nkind = \"static\"\nshape = {shape}\n[[body]]\nshape = {{ ball = 0.1 }}\nposition = [0, 1]\n");
        let pixels = planar("wall", &text, 1).png(&small()).2;
        let paper = share(&pixels, carom_render::color::bytes(Theme::Light.ink().paper), 0);
        assert!(paper < 0.985, "{shape}: {paper}");
    }
}

#[test]
fn every_spatial_shape_is_seen_lit_and_casts_a_shadow() {
    for shape in [
        "{ ball = 0.3 }",
        "{ box = [0.6, 0.4, 0.3] }",
        "{ capsule = [0.5, 0.2] }",
        "{ cylinder = [0.5, 0.2] }",
        "{ cone = [0.5, 0.3] }",
        "{ convex = [[0, 0, 0], [0.6, 0, 0], [0, 0.6, 0], [0, 0, 0.6]] }",
        "[{ box = [0.4, 0.2, 0.2] }, { ball = 0.2, at = [0.3, 0.1, 0] }]",
    ] {
        let text = format!(
            "dimension = 3\ngravity = [0, 0, 0]\n[[body]]\nkind = \"static\"\nshape = {{ half_space = [0, 0, 1] }}\nposition = [0, 0, -0.6]\n\
             [[body]]\nshape = {shape}\ncolor = \"#00ff00\"\n"
        );
        let shown = spatial("shape", &text, 1);
        let pixels = shown.png(&small()).2;
        let green = pixels.chunks_exact(3).filter(|p| i32::from(p[1]) > i32::from(p[0]) + 60).count() as f64 / (pixels.len() / 3) as f64;
        assert!(green > 0.06, "{shape}: {green}");
        let svg = String::from_utf8(shown.make(Kind::Svg, &small())).unwrap();
        assert!(svg.matches("<path").count() + svg.matches("<circle").count() > 2, "{shape}");
    }
    let field = "{ heightfield = { spacing = 0.5, heights = [[0, 0.3, 0], [0.5, 0, 0.1], [0, 0, 0.4]] } }";
    let text = format!(
        "dimension = 3\n[[body]]\nkind = \"static\"\nshape = {field}\ncolor = \"#00ff00\"\n[[body]]\nshape = {{ ball = 0.1 }}\nposition = [0, 0, 2]\n"
    );
    let pixels = spatial("field", &text, 1).png(&small()).2;
    assert!(pixels.chunks_exact(3).filter(|p| i32::from(p[1]) > i32::from(p[0]) + 60).count() > 300);
}

#[test]
fn what_is_nearer_hides_what_is_farther_in_pixels_and_in_lines() {
    // The camera stands at negative y: the red box is in front of the blue one, whichever is named first.
    for flip in [1.0, -1.0] {
        let boxed = |name: &str, y: f64, color: &str| {
            format!("[[body]]\nname = \"{name}\"\nshape = {{ box = [1, 0.2, 1] }}\nposition = [0, {y}, 0]\ncolor = \"{color}\"\n")
        };
        let [front, back] = [boxed("a", -flip, "#ff0000"), boxed("b", flip, "#0000ff")];
        let (near, far) = if flip > 0.0 { (0, 2) } else { (2, 0) };
        let shown = spatial("hide", &format!("dimension = 3\ngravity = [0, 0, 0]\n{front}{back}"), 1);
        let (width, height, pixels) = shown.png(&small());
        let sees = |channel: usize| pixels.chunks_exact(3).filter(|p| i32::from(p[channel]) > 60 + i32::from(p[2 - channel])).count();
        assert!(sees(near) > sees(far) && sees(far) > 0, "{} {} of {width} x {height}", sees(near), sees(far));
        // In the file the last path is the front of the nearer box.
        let svg = String::from_utf8(shown.make(Kind::Svg, &small())).unwrap();
        let last = svg.rfind("<path").unwrap();
        let fill = &svg[last..][svg[last..].find("fill=\"#").unwrap() + 7..][..6];
        let channel = |k: usize| u8::from_str_radix(&fill[2 * k..2 * k + 2], 16).unwrap();
        assert!(channel(near) > 60 && channel(far) < 30, "{fill}");
    }
}

#[test]
fn a_film_repeats_in_its_own_time() {
    let drop = planar("film", DROP, 100);
    for (speed, frames) in [(1.0, 26), (0.5, 51), (4.0, 7)] {
        let bytes = drop.make(Kind::Gif, &Options { speed, ..small() });
        let mut options = gif::DecodeOptions::new();
        options.set_color_output(gif::ColorOutput::Indexed);
        let mut film = options.read_info(std::io::Cursor::new(&bytes[..])).unwrap();
        assert!(film.global_palette().is_some());
        assert!(matches!(film.repeat(), gif::Repeat::Infinite));
        let mut delays = Vec::new();
        while let Some(frame) = film.read_next_frame().unwrap() {
            assert!(frame.palette.is_none(), "one palette for all");
            delays.push(frame.delay);
        }
        assert_eq!(delays.len(), frames, "at {speed}");
        // All but the pause of the last frame add up to the run.
        let total: u16 = delays[..frames - 1].iter().sum();
        assert_eq!(total, (100.0 / speed) as u16, "at {speed}");
    }
    let whole = drop.make(Kind::Gif, &small());
    let bounded = drop.make(Kind::Gif, &Options { most_bytes: whole.len() / 2, ..small() });
    assert!(bounded.len() < whole.len() * 3 / 4, "{} of {}", bounded.len(), whole.len());
}

#[test]
fn a_strip_has_its_panels_and_its_times() {
    let drop = planar("strip", DROP, 100);
    let options = Options { panels: 7, clock: true, ..small() };
    let (width, height, _) = drop.png(&options);
    let (one, tall, _) = drop.png(&small());
    assert!(width > 3 * one && width < 5 * one && height > 2 * tall - 1 && height < 3 * tall, "{width} x {height}");
    let svg = String::from_utf8(drop.make(Kind::Svg, &options)).unwrap();
    assert_eq!(svg.matches("<svg ").count(), 8);
    for time in ["0.00 s", "0.50 s", "1.00 s"] {
        assert!(svg.contains(&format!(">{time}</text>")), "{time}");
    }
    assert_eq!(svg.matches("<svg").count(), svg.matches("</svg>").count());
}

#[test]
fn trails_follow_the_path() {
    let drop = planar("trail", DROP, 40);
    let plain = drop.make(Kind::Svg, &small());
    let trailed = drop.make(Kind::Svg, &Options { trails: true, ..small() });
    assert!(trailed.len() > plain.len() + 1000);
    let text = DROP.replace("dimension = 2", "dimension = 3").replace("[0, 1]", "[0, 0, 1]");
    let drop = spatial("trail3", &text, 40);
    assert_ne!(drop.png(&small()).2, drop.png(&Options { trails: true, ..small() }).2);
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    let text = DROP.replace("dimension = 2", "dimension = 3").replace("[0, 1]", "[0, 0, 1]");
    let drop = spatial("same", &text, 10);
    for kind in [Kind::Gif, Kind::Png, Kind::Svg] {
        assert_eq!(drop.make(kind, &small()), drop.make(kind, &small()), "{kind:?}");
    }
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    let drop = planar("refused", DROP, 30);
    let mut out = Vec::new();
    let mut go = |options: &Options| render(&drop.log, &drop.model, Kind::Png, options, &mut out, &mut |_, _| true);
    for width in [0, 100_000] {
        assert!(matches!(go(&Options { width: Some(width), ..Options::default() }), Err(RenderError::Size { .. })));
    }
    let stopped = render(&drop.log, &drop.model, Kind::Gif, &small(), &mut out, &mut |done, _| done < 2);
    assert!(matches!(stopped, Err(RenderError::Stopped)));
    assert!(out.is_empty(), "nothing of it was written");
    let other = planar("other", "dimension = 2\n[[body]]\nshape = { ball = 1 }\n", 1);
    let mixed = render(&drop.log, &other.model, Kind::Png, &small(), &mut out, &mut |_, _| true);
    assert!(matches!(mixed, Err(RenderError::Frame(_))));
}
