//! Logs of a bouncing ball: exact, resumable, readable as far as they go; exports that other readers agree with.

use crate::{Ending, Format, Header, Log, LogWriter, RecordError, export, partial_path};
use carom_dynamics::{Body, BodyKind, Collider, Model, State, World};
use carom_geometry::planar::Shape;
use carom_math::{Planar, Pose, Space, Twist, Vector};
use std::fs;
use std::path::{Path, PathBuf};

/// A folder of its own for a test, removed afterwards.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("carom-record-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

type Lin = <Planar as Space>::Lin;

/// A ball that drops, bounces with e = 0.6 and rolls to rest on the ground, and a box beside it that tumbles.
fn world() -> World<Planar> {
    let mut model = Model::<Planar>::new("bounce");
    let mut state = State::empty();
    let mut add = |name: &str, kind, shape: Shape, at: [f64; 2], twist: [f64; 3]| {
        let mut body = Body::new(name, kind, 1.0, Planar::inertia_from_moments(&[0.01]));
        body.colliders.push(Collider { shape, local: Pose::identity() });
        body.surface.restitution = 0.6;
        model.bodies.push(body);
        let pose = Pose { position: Lin::from_slice(&at), rotation: Planar::identity() };
        state.push(pose, Twist { lin: Lin::from_slice(&twist[..2]), ang: Vector::from_slice(&twist[2..]) });
    };
    add("ground", BodyKind::Static, Shape::half_space(Lin::from_slice(&[0.0, 1.0])).unwrap(), [0.0, 0.0], [0.0; 3]);
    add("ball, \"8\"", BodyKind::Dynamic, Shape::ball(0.1).unwrap(), [0.0, 0.4], [0.3, 0.0, 1.0]);
    add("box", BodyKind::Dynamic, Shape::cuboid(0.2, 0.1).unwrap(), [1.0, 0.3], [0.0, 0.0, 2.0]);
    World::new(model, state).unwrap()
}

fn run(path: &Path, steps: usize, ending: Ending) -> World<Planar> {
    let mut world = world();
    let mut log = LogWriter::create(path, &Header::of(world.model(), "bounce", "")).unwrap();
    log.record(&world).unwrap();
    for _ in 0..steps {
        world.step().unwrap();
        log.record(&world).unwrap();
    }
    assert_eq!(log.finish(&world, ending).unwrap(), path);
    world
}

#[test]
fn a_log_holds_every_bit_of_every_frame() {
    let folder = Folder::new("bits");
    let path = folder.file("run.caromlog");
    run(&path, 600, Ending::Finished);
    assert!(!partial_path(&path).exists());
    let log = Log::open(&path).unwrap();
    assert_eq!((log.len(), log.ending()), (601, &Ending::Finished));
    assert_eq!(log.header().bodies[1], "ball, \"8\"");
    let mut again = world();
    let mut step = 0;
    log.visit(|frame| {
        let state = again.state();
        assert_eq!(frame.time.to_bits(), state.time.to_bits());
        for body in 0..3 {
            let mut q = [0.0; 3];
            state.write_pose(body, &mut q);
            assert!(q.iter().zip(&frame.q[3 * body..]).all(|(a, b)| a.to_bits() == b.to_bits()));
            state.write_twist(body, &mut q);
            assert!(q.iter().zip(&frame.v[3 * body..]).all(|(a, b)| a.to_bits() == b.to_bits()));
        }
        assert_eq!(&log.frame(step)?, frame);
        again.step().unwrap();
        step += 1;
        Ok::<(), RecordError>(())
    })
    .unwrap();
    assert!(matches!(log.frame(601), Err(RecordError::Truncated { .. })));
    let all = log.trajectory().unwrap();
    assert_eq!((all.len(), all.pose(7, 2).unwrap()[1]), (601, log.frame(7).unwrap().q[7]));
    assert!(all.pose(0, 3).is_none() && all.twist(601, 0).is_none());
    assert!(all.energy[0] > all.energy[600], "the bounces lose energy");
}

#[test]
fn a_run_stopped_and_resumed_ends_in_the_same_bits() {
    let folder = Folder::new("resume");
    let whole = run(&folder.file("whole.caromlog"), 400, Ending::Finished);
    let reference = Log::open(&folder.file("whole.caromlog")).unwrap().trajectory().unwrap();
    let mut forgotten = 0;
    // In the air, just after a bounce, rolling: wherever the run stopped.
    for stop in [0, 1, 37, 80, 81, 82, 255, 256, 257, 399] {
        let path = folder.file("stopped.caromlog");
        run(&path, stop, Ending::Stopped);
        let log = Log::open(&path).unwrap();
        assert_eq!((log.ending(), log.resumable_at()), (&Ending::Stopped, Some(stop as u64)));
        let mut world = world();
        assert_eq!(log.restore(&mut world).unwrap(), stop as u64);
        let mut forgetful = self::world();
        forgetful.set_state(world.state().clone()).unwrap();
        for _ in stop..400 {
            forgetful.step().unwrap();
        }
        forgotten += usize::from(forgetful.state().hash() != whole.state().hash());
        let mut writer = log.continue_into(&path, 400).unwrap();
        for _ in stop..400 {
            world.step().unwrap();
            writer.record(&world).unwrap();
        }
        writer.finish(&world, Ending::Finished).unwrap();
        assert_eq!(world.state().hash(), whole.state().hash(), "stopped after {stop}");
        assert_eq!(world.ledger(), whole.ledger());
        let resumed = Log::open(&path).unwrap();
        assert_eq!((resumed.ending(), resumed.header().steps_wanted), (&Ending::Finished, 400));
        let resumed = resumed.trajectory().unwrap();
        assert_eq!((&resumed.q, &resumed.v, &resumed.energy), (&reference.q, &reference.v, &reference.energy));
    }
    assert!(forgotten > 0, "poses and velocities alone would do: the scene tests nothing");
}

#[test]
fn a_run_that_dies_leaves_a_part_that_can_be_resumed_in_place() {
    let folder = Folder::new("died");
    let path = folder.file("run.caromlog");
    let whole = run(&folder.file("whole.caromlog"), 700, Ending::Finished);
    let mut alive = world();
    let mut writer = LogWriter::create(&path, &Header::of(alive.model(), "bounce", "")).unwrap();
    writer.record(&alive).unwrap();
    for _ in 0..600 {
        alive.step().unwrap();
        writer.record(&alive).unwrap();
    }
    drop(writer);
    assert!(!path.exists());
    let part = partial_path(&path);
    // Two chunks of 256 frames reached the disk.
    let log = Log::open(&part).unwrap();
    assert_eq!((log.ending(), log.len(), log.resumable_at()), (&Ending::CutOff, 512, Some(511)));
    let mut world = world();
    log.restore(&mut world).unwrap();
    let mut writer = log.continue_into(&path, 700).unwrap();
    for _ in 511..700 {
        world.step().unwrap();
        writer.record(&world).unwrap();
    }
    writer.finish(&world, Ending::Finished).unwrap();
    assert!(!part.exists());
    assert_eq!(world.state().hash(), whole.state().hash());
    let (a, b) = (Log::open(&path).unwrap(), Log::open(&folder.file("whole.caromlog")).unwrap());
    assert_eq!(a.trajectory().unwrap().q, b.trajectory().unwrap().q);
    assert_eq!(a.header().steps_wanted, 700);
}

#[test]
fn every_prefix_of_a_log_is_read_as_far_as_it_goes_or_refused_by_name() {
    let folder = Folder::new("prefix");
    let path = folder.file("run.caromlog");
    run(&path, 520, Ending::Finished);
    let bytes = fs::read(&path).unwrap();
    let cut = folder.file("cut.caromlog");
    let mut seen = [false; 3];
    for length in (0..400).chain((400..bytes.len()).step_by(997)) {
        fs::write(&cut, &bytes[..length]).unwrap();
        match Log::open(&cut) {
            Ok(log) => {
                seen[0] = true;
                assert_eq!(log.ending(), &Ending::CutOff, "{length}");
                assert_eq!(log.len() % 256, 0);
                assert_eq!(log.trajectory().unwrap().len() as u64, log.len());
            }
            Err(RecordError::NotALog { .. }) => seen[1] = true,
            Err(RecordError::Truncated { .. } | RecordError::Corrupt { .. }) => seen[2] = true,
            Err(other) => panic!("{length}: {other}"),
        }
    }
    assert_eq!(seen, [true; 3]);
}

#[test]
fn a_changed_byte_is_noticed_wherever_it_is() {
    let folder = Folder::new("changed");
    let path = folder.file("run.caromlog");
    run(&path, 520, Ending::Finished);
    let bytes = fs::read(&path).unwrap();
    let bent = folder.file("bent.caromlog");
    for place in (0..200).chain((200..bytes.len()).step_by(1009)) {
        let mut changed = bytes.clone();
        changed[place] ^= 0x10;
        fs::write(&bent, &changed).unwrap();
        match Log::open(&bent) {
            Ok(log) => {
                assert!(matches!(log.ending(), Ending::Damaged { .. } | Ending::CutOff), "{place}");
                assert!(log.len() < 521 || log.resumable_at() != Some(520) || log.ending() != &Ending::Finished);
            }
            Err(error) => assert!(place < 200, "{place}: {error}"),
        }
    }
    fs::write(&bent, b"time,body\n").unwrap();
    assert!(matches!(Log::open(&bent), Err(RecordError::NotALog { .. })));
    assert!(matches!(Log::open(&folder.file("absent.caromlog")), Err(RecordError::Io { .. })));
    let mut newer = bytes.clone();
    newer[8] = 9;
    fs::write(&bent, &newer).unwrap();
    assert!(matches!(Log::open(&bent), Err(RecordError::Version { found: 9, .. })));
}

#[test]
fn a_log_is_not_restored_into_another_model() {
    let folder = Folder::new("other");
    let path = folder.file("run.caromlog");
    run(&path, 3, Ending::Finished);
    let log = Log::open(&path).unwrap();
    let mut model = Model::<Planar>::new("other");
    model.bodies.push(Body::new("stone", BodyKind::Dynamic, 1.0, Planar::inertia_from_moments(&[1.0])));
    let mut state = State::empty();
    state.push(Pose::identity(), Twist::zero());
    let mut other = World::new(model, state).unwrap();
    assert!(matches!(log.restore(&mut other), Err(RecordError::Mismatch { .. })));
}

#[test]
fn files_appear_whole_or_not_at_all() {
    let folder = Folder::new("atomic");
    let log = folder.file("run.caromlog");
    run(&log, 3, Ending::Finished);
    let log = Log::open(&log).unwrap();
    let csv = folder.file("run.csv");
    fs::write(&csv, "before").unwrap();
    let opened = crate::export::Export::create(&csv).unwrap();
    assert!(matches!(crate::export::Export::create(&csv), Err(RecordError::Busy { .. })));
    assert_eq!(fs::read_to_string(&csv).unwrap(), "before");
    drop(opened);
    assert_eq!(fs::read_to_string(&csv).unwrap(), "before");
    assert!(!partial_path(&csv).exists());
    assert!(matches!(export(&log, &folder.file("run.xlsx")), Err(RecordError::Format { .. })));
    assert!(matches!(export(&log, &folder.file("no/such/run.csv")), Err(RecordError::Io { .. })));
    fs::create_dir(folder.file("folder.csv")).unwrap();
    assert!(matches!(export(&log, &folder.file("folder.csv")), Err(RecordError::Io { .. })));
    assert_eq!(Format::of(Path::new("A.CSV")).unwrap(), Format::Csv);
}

#[test]
fn csv_has_a_row_per_frame_and_body_and_reads_back_to_the_same_bits() {
    let folder = Folder::new("csv");
    run(&folder.file("run.caromlog"), 50, Ending::Finished);
    let log = Log::open(&folder.file("run.caromlog")).unwrap();
    assert_eq!(export(&log, &folder.file("run.csv")).unwrap(), [folder.file("run.csv")]);
    let text = fs::read_to_string(folder.file("run.csv")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "time,body,x,y,angle,vx,vy,spin");
    assert_eq!(lines.len(), 1 + 51 * 3);
    assert!(lines[2].starts_with("0,\"ball, \"\"8\"\"\",0,0.4,0,0.3,0,1"));
    let last: Vec<f64> = lines[153].split(',').filter_map(|x| x.parse().ok()).collect();
    let frame = log.frame(50).unwrap();
    assert!(lines[153].starts_with("0.25,"), "times are multiples of the step: {}", lines[153]);
    assert!((last[0] - frame.time).abs() < 1e-12);
    let expected: Vec<f64> = frame.q[6..].iter().chain(&frame.v[6..]).copied().collect();
    assert!(last[1..].iter().zip(&expected).all(|(a, b)| a.to_bits() == b.to_bits()));
}

#[test]
fn an_exported_log_is_the_log() {
    let folder = Folder::new("copy");
    run(&folder.file("run.caromlog"), 50, Ending::Finished);
    let log = Log::open(&folder.file("run.caromlog")).unwrap();
    export(&log, &folder.file("copy.caromlog")).unwrap();
    assert_eq!(fs::read(folder.file("run.caromlog")).unwrap(), fs::read(folder.file("copy.caromlog")).unwrap());
}

/// Finds the stored bytes of an entry by its local header, the way a reader without the central list would.
fn entry<'a>(archive: &'a [u8], name: &str) -> &'a [u8] {
    let at = archive.windows(name.len()).position(|w| w == name.as_bytes()).unwrap();
    let size = u64::from_le_bytes(archive[at + name.len() + 4..at + name.len() + 12].try_into().unwrap()) as usize;
    &archive[at + name.len() + 20..][..size]
}

#[test]
fn npz_arrays_have_their_shapes_and_bits() {
    let folder = Folder::new("npz");
    run(&folder.file("run.caromlog"), 50, Ending::Finished);
    let log = Log::open(&folder.file("run.caromlog")).unwrap();
    export(&log, &folder.file("run.npz")).unwrap();
    let archive = fs::read(folder.file("run.npz")).unwrap();
    let q = entry(&archive, "q.npy");
    assert!(String::from_utf8_lossy(&q[..128]).contains("'descr': '<f8', 'fortran_order': False, 'shape': (51,3,3,), }"));
    let numbers: Vec<f64> = q[128..].chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect();
    assert_eq!(numbers, log.trajectory().unwrap().q);
    let names = entry(&archive, "bodies.npy");
    assert!(String::from_utf8_lossy(&names[..128]).contains("'<U9'"));
    assert_eq!(names.len(), 128 + 3 * 9 * 4);
    assert_eq!(&archive[archive.len() - 22..archive.len() - 18], b"PK\x05\x06");
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_tables_read_back() {
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use ::parquet::record::RowAccessor;
    let folder = Folder::new("parquet");
    run(&folder.file("run.caromlog"), 50, Ending::Finished);
    let log = Log::open(&folder.file("run.caromlog")).unwrap();
    let written = export(&log, &folder.file("run.parquet")).unwrap();
    assert_eq!(written, [folder.file("run.parquet"), folder.file("run.energy.parquet")]);
    let motion = SerializedFileReader::new(fs::File::open(&written[0]).unwrap()).unwrap();
    assert_eq!(motion.metadata().file_metadata().num_rows(), 51 * 3);
    let row = motion.get_row_iter(None).unwrap().nth(50 * 3 + 1).unwrap().unwrap();
    let frame = log.frame(50).unwrap();
    assert_eq!(row.get_string(1).unwrap(), "ball, \"8\"");
    assert_eq!((row.get_double(0).unwrap(), row.get_double(3).unwrap(), row.get_double(5).unwrap()), (frame.time, frame.q[4], frame.v[3]));
    let energy = SerializedFileReader::new(fs::File::open(&written[1]).unwrap()).unwrap();
    let row = energy.get_row_iter(None).unwrap().nth(50).unwrap().unwrap();
    assert_eq!((row.get_double(1).unwrap(), row.get_double(2).unwrap()), (frame.energy[0], frame.energy[1]));
}

#[test]
fn every_format_reads_back_to_the_same_numbers() {
    let folder = Folder::new("read");
    let path = folder.file("run.caromlog");
    run(&path, 30, Ending::Finished);
    let log = Log::open(&path).unwrap();
    let wanted = log.trajectory().unwrap();
    for ending in Format::ENDINGS.iter().filter(|ending| **ending != ".mcap") {
        let file = folder.file(&format!("copy{ending}"));
        export(&log, &file).unwrap();
        let found = crate::read(&file).unwrap();
        assert_eq!((&found.header.bodies, found.header.dimension), (&wanted.header.bodies, 2), "{ending}");
        assert_eq!((&found.q, &found.v), (&wanted.q, &wanted.v), "{ending}");
        if *ending == ".csv" {
            // Times of a table for people are multiples of the step, without what the clock gathers by rounding.
            assert_eq!(found.time.len(), wanted.time.len());
            assert!(found.time.iter().zip(&wanted.time).all(|(found, wanted)| (found - wanted).abs() <= 1e-15), "{ending}");
        } else {
            assert_eq!(found.time, wanted.time, "{ending}");
        }
    }
}

/// Opcode and content of every record of an MCAP file.
fn records(bytes: &[u8]) -> Vec<(u8, &[u8])> {
    const MAGIC: &[u8] = b"\x89MCAP0\r\n";
    let mut rest = bytes.strip_prefix(MAGIC).unwrap().strip_suffix(MAGIC).unwrap();
    let mut out = Vec::new();
    while !rest.is_empty() {
        let length = u64::from_le_bytes(rest[1..9].try_into().unwrap()) as usize;
        out.push((rest[0], &rest[9..9 + length]));
        rest = &rest[9 + length..];
    }
    out
}

#[test]
fn mcap_holds_two_messages_a_frame_between_header_and_footer() {
    let folder = Folder::new("mcap");
    let path = folder.file("run.caromlog");
    run(&path, 30, Ending::Finished);
    let log = Log::open(&path).unwrap();
    let file = folder.file("run.mcap");
    export(&log, &file).unwrap();
    let bytes = fs::read(&file).unwrap();
    let records = records(&bytes);
    let kinds: Vec<u8> = records.iter().map(|r| r.0).collect();
    assert_eq!((kinds.first(), kinds.last()), (Some(&1), Some(&2)));
    let count = |kind: u8| kinds.iter().filter(|k| **k == kind).count();
    assert_eq!((count(3), count(4), count(5), count(9), count(15)), (2, 2, 62, 1, 1));
    // The last pose: channel, sequence, two times, then the text.
    let (_, pose) = records.iter().rev().find(|(kind, content)| *kind == 5 && content[0] == 1).unwrap();
    let nanos = u64::from_le_bytes(pose[6..14].try_into().unwrap());
    assert_eq!(nanos, (log.frame(30).unwrap().time * 1e9).round() as u64);
    let text = std::str::from_utf8(&pose[22..]).unwrap();
    assert!(text.contains(&format!("\"x\":{}", log.frame(30).unwrap().q[0])), "{text}");
    assert!(crate::read(&file).is_err(), "written only");
}

#[test]
fn a_measured_table_may_have_holes_and_its_faults_are_named() {
    let folder = Folder::new("measured");
    let file = folder.file("seen.csv");
    let read = |text: &str| {
        fs::write(&file, text).unwrap();
        crate::read(&file).map_err(|error| error.to_string().replace(&file.display().to_string(), "seen.csv"))
    };
    let seen = read("time,body,x,note\n0,a,1,hello\n0.5,a,,\n0.5,b,2.5,\n").unwrap();
    assert_eq!((seen.time.as_slice(), seen.header.bodies.len(), seen.header.dimension), (&[0.0, 0.5][..], 2, 2));
    assert_eq!(seen.pose(0, 0).unwrap()[0], 1.0);
    assert!(seen.pose(1, 0).unwrap()[0].is_nan() && seen.pose(0, 1).unwrap()[0].is_nan() && seen.twist(0, 0).unwrap()[0].is_nan());
    assert_eq!(seen.pose(1, 1).unwrap()[0], 2.5);
    assert_eq!(read("time,body,z\n0,a,1\n").unwrap().header.dimension, 3);
    for (text, words) in [
        ("", "seen.csv, line 1: the file is empty"),
        ("t,body,x\n", "seen.csv, line 1: found columns t, body, x, needs \"time\" and \"body\""),
        ("time,body,note\n", "seen.csv, line 1: no column to compare: needs some of x, y, angle, vx, vy, spin"),
        ("time,body,x\n0,a,1\n0,a\n", "seen.csv, line 3: found 2 fields under 3 columns"),
        ("time,body,x\n0,a,far\n", "seen.csv, line 2: found \"far\", needs a number"),
        ("time,body,x\n1,a,1\n0.5,a,1\n", "seen.csv, line 3: time 0.5 s comes after 1 s: rows must be in the order of time"),
        ("time,body,x\nsoon,a,1\n", "seen.csv, line 2: time: found \"soon\", needs a number of seconds"),
    ] {
        assert_eq!(read(text).unwrap_err(), words);
    }
    fs::write(folder.file("broken.npz"), b"PK\x03\x04 nonsense").unwrap();
    fs::write(folder.file("broken.parquet"), b"nonsense").unwrap();
    for file in ["broken.npz", "broken.parquet"] {
        assert!(matches!(crate::read(&folder.file(file)), Err(RecordError::Corrupt { .. })), "{file}");
    }
}
