//! Line charts as `.svg`: axes with units, ticks at round numbers, a legend beside the plot.

use std::fmt::Write as _;

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// A line through the points.
    Line,
    /// A broken line through the points.
    Dashed,
    /// The points alone.
    Dots,
    /// The points and a line through them.
    Both,
}

/// How numbers lie along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Evenly.
    Linear,
    /// By their logarithm.
    Log,
}

/// Points with a name.
#[derive(Clone, Debug)]
pub struct Series {
    /// What they are; those without a name are not in the legend.
    pub name: String,
    /// Where they are.
    pub points: Vec<(f64, f64)>,
    /// How they are drawn.
    pub style: Style,
    /// Number of its colour; that of its place where absent.
    pub color: Option<usize>,
}

/// A chart.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Above it.
    pub title: String,
    /// Along it, with the unit.
    pub x_label: String,
    /// Beside it, with the unit.
    pub y_label: String,
    /// What it shows.
    pub series: Vec<Series>,
    x: Scale,
    y: Scale,
    square: bool,
}

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 44.0;
/// Width of the legend.
const LEGEND: f64 = 150.0;
const LETTER: f64 = 11.0;
/// Letters that fit beside a line of the legend.
const LEGEND_LETTERS: usize = 21;
/// Colours that differ for most eyes, also in grey.
const COLORS: [&str; 10] = ["#1f5a96", "#d1622b", "#2f8f5b", "#8a4fa3", "#b3922e", "#5f6b76", "#c2417c", "#2aa1b3", "#111111", "#9bbf3b"];
/// Width of a dot.
const DOT: f64 = 4.8;
/// Most points of a line in a picture; the table has them all.
const POINTS_MAX: usize = 240;
/// Most dots of a series.
const DOTS_MAX: usize = 1500;

impl Chart {
    /// A chart of labels alone.
    pub fn new(title: &str, x_label: &str, y_label: &str) -> Self {
        Chart {
            title: title.to_string(),
            x_label: x_label.to_string(),
            y_label: y_label.to_string(),
            series: Vec::new(),
            x: Scale::Linear,
            y: Scale::Linear,
            square: false,
        }
    }

    pub(crate) fn empty() -> Self {
        Chart::new("", "", "")
    }

    /// With other scales.
    pub fn scales(mut self, x: Scale, y: Scale) -> Self {
        (self.x, self.y) = (x, y);
        self
    }

    /// With one unit as long across as up.
    pub fn square(mut self) -> Self {
        self.square = true;
        self
    }

    /// With one more series.
    pub fn with(mut self, name: &str, style: Style, points: Vec<(f64, f64)>) -> Self {
        self.series.push(Series { name: name.to_string(), points, style, color: None });
        self
    }

    /// With one more series in the colour of a number.
    pub fn colored(mut self, name: &str, style: Style, color: usize, points: Vec<(f64, f64)>) -> Self {
        self.series.push(Series { name: name.to_string(), points, style, color: Some(color) });
        self
    }

    /// The picture.
    pub fn svg(&self) -> String {
        let named = self.series.iter().filter(|s| !s.name.is_empty()).count();
        let right = if named > 1 { LEGEND } else { RIGHT };
        let (width, height) = (WIDTH - LEFT - right, HEIGHT - TOP - BOTTOM);
        let (mut x, mut y) = (Axis::over(self.x, self.all(|p| p.0)), Axis::over(self.y, self.all(|p| p.1)));
        if self.square {
            let unit = ((x.high - x.low) / width).max((y.high - y.low) / height);
            x.widen(unit * width);
            y.widen(unit * height);
        }
        let place = |(a, b): (f64, f64)| (LEFT + width * x.at(a), TOP + height * (1.0 - y.at(b)));
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
             font-family=\"sans-serif\" font-size=\"{LETTER}\" fill=\"#222\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
             <text x=\"{LEFT}\" y=\"18\" font-size=\"13\">{}</text>\n",
            escaped(&self.title)
        );
        for tick in x.ticks() {
            let (a, _) = place((tick, y.low_value()));
            let _ = writeln!(
                out,
                "<path d=\"M{a:.1} {TOP}V{:.1}\" stroke=\"#e3e3e3\"/><text x=\"{a:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                TOP + height,
                TOP + height + 15.0,
                crate::report::digits(tick, 4)
            );
        }
        for tick in y.ticks() {
            let (_, b) = place((x.low_value(), tick));
            let _ = writeln!(
                out,
                "<path d=\"M{LEFT} {b:.1}H{:.1}\" stroke=\"#e3e3e3\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT + width,
                LEFT - 5.0,
                b + 4.0,
                crate::report::digits(tick, 4)
            );
        }
        let _ = write!(
            out,
            "<rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"none\" stroke=\"#555\"/>\n\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n\
             <text transform=\"translate(13 {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
            LEFT + width / 2.0,
            HEIGHT - 9.0,
            escaped(&self.x_label),
            TOP + height / 2.0,
            escaped(&self.y_label)
        );
        let mut row = 0;
        for (number, series) in self.series.iter().enumerate() {
            let color = COLORS[series.color.unwrap_or(number) % COLORS.len()];
            let shown = self.shown(series);
            draw(&mut out, series.style, color, &shown.iter().map(|p| place(*p)).collect::<Vec<_>>());
            if named > 1 && !series.name.is_empty() {
                let (left, mut top) = (WIDTH - right + 10.0, TOP + 8.0 + 15.0 * row as f64);
                draw(&mut out, series.style, color, &[(left, top), (left + 18.0, top)]);
                for line in wrapped(&series.name) {
                    let _ = writeln!(out, "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>", left + 23.0, top + 4.0, escaped(&line));
                    top += 13.0;
                    row += 1;
                }
            }
        }
        out.push_str("</svg>\n");
        out
    }

    fn all(&self, part: impl Fn(&(f64, f64)) -> f64) -> Vec<f64> {
        self.series.iter().flat_map(|s| &s.points).map(part).filter(|x| x.is_finite()).collect()
    }

    /// The points a picture needs, and can show.
    fn shown(&self, series: &Series) -> Vec<(f64, f64)> {
        let can = |x: f64, scale: Scale| x.is_finite() && (scale == Scale::Linear || x > 0.0);
        let points: Vec<_> = series.points.iter().copied().filter(|p| can(p.0, self.x) && can(p.1, self.y)).collect();
        let most = if series.style == Style::Dots { DOTS_MAX } else { POINTS_MAX };
        let stride = points.len().div_ceil(most).max(1);
        let last = points.len().saturating_sub(1);
        points.into_iter().enumerate().filter(|(i, _)| i % stride == 0 || *i == last).map(|(_, p)| p).collect()
    }
}

/// Draws points in a style.
fn draw(out: &mut String, style: Style, color: &str, points: &[(f64, f64)]) {
    if style != Style::Dots && points.len() > 1 {
        let path: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
        let dash = if style == Style::Dashed { " stroke-dasharray=\"5 4\"" } else { "" };
        let _ = writeln!(out, "<path d=\"M{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"1.5\"{dash}/>", path.join("L"));
    }
    if matches!(style, Style::Dots | Style::Both) {
        // A dot is a stroke of no length with round ends.
        let dots: String = points.iter().map(|(x, y)| format!("M{x:.1} {y:.1}h0")).collect();
        let _ = writeln!(out, "<path d=\"{dots}\" stroke=\"{color}\" stroke-width=\"{DOT}\" stroke-linecap=\"round\"/>");
    }
}

/// A name in lines that fit beside the plot.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().filter(|line| line.is_empty() || line.chars().count() + 1 + word.chars().count() <= LEGEND_LETTERS);
        match line {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) => *line += &format!(" {word}"),
            None => lines.push(word.to_string()),
        }
    }
    lines
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// One axis: its ends, in logarithms where that is its scale.
struct Axis {
    scale: Scale,
    low: f64,
    high: f64,
}

/// Room beside the outermost points, of the whole.
const MARGIN: f64 = 0.04;
/// Ticks of an axis, about.
const TICKS: f64 = 6.0;

impl Axis {
    fn over(scale: Scale, values: Vec<f64>) -> Self {
        let values = values.into_iter().map(|x| if scale == Scale::Log { x.log10() } else { x }).filter(|x| x.is_finite());
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(x), b.max(x)));
        let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
        let room = if high > low { MARGIN * (high - low) } else { 0.5_f64.max(0.1 * low.abs()) };
        Axis { scale, low: low - room, high: high + room }
    }

    /// Makes it at least so long, about its middle.
    fn widen(&mut self, length: f64) {
        let extra = (length - (self.high - self.low)).max(0.0) / 2.0;
        self.low -= extra;
        self.high += extra;
    }

    fn low_value(&self) -> f64 {
        if self.scale == Scale::Log { 10f64.powf(self.low) } else { self.low }
    }

    /// Where a value lies, 0 to 1.
    fn at(&self, value: f64) -> f64 {
        let value = if self.scale == Scale::Log { value.log10() } else { value };
        (value - self.low) / (self.high - self.low)
    }

    fn ticks(&self) -> Vec<f64> {
        let raw = (self.high - self.low) / TICKS;
        let power = 10f64.powf(raw.log10().floor());
        let mut step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|s| *s >= raw).unwrap_or(power);
        if self.scale == Scale::Log {
            step = step.max(1.0).round();
        }
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step).floor() as i64;
        let marks = (first..=last).map(|i| i as f64 * step);
        match self.scale {
            // Rounding of a sum of steps must not show in a label.
            Scale::Linear => marks.map(|x| if x.abs() < 1e-9 * step { 0.0 } else { x }).collect(),
            Scale::Log if last > first => marks.map(|x| 10f64.powf(x)).collect(),
            // Hardly more than a decade: 1, 2 and 5 of each power of ten.
            Scale::Log => (self.low.floor() as i32..=self.high.ceil() as i32)
                .flat_map(|power| [1.0, 2.0, 5.0].map(|m| m * 10f64.powi(power)))
                .filter(|x| (self.low..=self.high).contains(&x.log10()))
                .collect(),
        }
    }
}
