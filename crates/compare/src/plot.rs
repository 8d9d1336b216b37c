//! Draws the result: a dot for each run, and the interval of each ratio.

use std::fmt::{self, Write};

use crate::result::{Compared, Comparison};

/// Sizes in pixels.
const WIDTH: f64 = 760.0;
const LEFT: f64 = 110.0;
const RIGHT: f64 = 20.0;
const ROW: f64 = 44.0;
const TOP: f64 = 40.0;

/// Returns an SVG image. The horizontal axis is the ratio to plain's run of the same round.
pub fn svg(comparison: &Comparison, program: &str) -> String {
    let mut image = String::new();
    let written = draw(comparison, program, &mut image);
    debug_assert!(written.is_ok(), "writing to a String cannot fail");
    image
}

fn draw(comparison: &Comparison, program: &str, to: &mut String) -> fmt::Result {
    let rows: Vec<(&Compared, Vec<f64>)> = ratios(comparison);
    let all = || rows.iter().flat_map(|(_, ratios)| ratios.iter().copied());
    let low = all().fold(0.95, f64::min);
    let high = all().fold(1.05, f64::max);
    let x = |ratio: f64| LEFT + (ratio - low) / (high - low) * (WIDTH - LEFT - RIGHT);
    let bottom = TOP + ROW * count(rows.len());
    writeln!(
        to,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {}\" \
         font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"20\">{}: ratio to plain; a dot is a run, the bar the interval of \
         99 %</text>",
        bottom + 30.0,
        escaped(program)
    )?;
    for tick in [low, 1.0, high] {
        writeln!(
            to,
            "<line x1=\"{0:.1}\" x2=\"{0:.1}\" y1=\"{TOP}\" y2=\"{bottom}\" stroke=\"#ccc\"/>\n\
             <text x=\"{0:.1}\" y=\"{1}\" text-anchor=\"middle\">{tick:.2}</text>",
            x(tick),
            bottom + 18.0
        )?;
    }
    for (at, (way, ratios)) in rows.iter().enumerate() {
        let y = TOP + ROW * (count(at) + 0.5);
        let name = escaped(&way.way.name);
        writeln!(to, "<text x=\"8\" y=\"{:.1}\">{name}</text>", y + 4.0)?;
        for (number, ratio) in ratios.iter().enumerate() {
            // Spread over the height of the row, so that equal runs stay visible.
            let up = (count(number % 7) - 3.0) * 4.0;
            let (x, y) = (x(*ratio), y + up);
            writeln!(
                to,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2\" fill=\"#36c\" fill-opacity=\"0.5\"/>"
            )?;
        }
        if let Some(ratio) = way.ratio {
            let (from, to_x) = (x(ratio.low.max(low)), x(ratio.high.min(high)));
            let (width, y) = ((to_x - from).max(2.0), y - 16.0);
            writeln!(
                to,
                "<rect x=\"{from:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"32\" \
                 fill=\"#c33\" fill-opacity=\"0.35\"/>"
            )?;
        }
    }
    to.write_str("</svg>\n")
}

/// Returns the ways with their ratios, round by round.
fn ratios(comparison: &Comparison) -> Vec<(&Compared, Vec<f64>)> {
    let Some(plain) = comparison.ways.first() else {
        return Vec::new();
    };
    let of = |way: &Compared| {
        let pairs = way.values.iter().zip(&plain.values);
        let ratios = pairs.map(|(value, base)| value / base);
        ratios.filter(|ratio| ratio.is_finite()).collect()
    };
    comparison
        .ways
        .iter()
        .skip(1)
        .map(|way| (way, of(way)))
        .collect()
}

fn count(number: usize) -> f64 {
    u32::try_from(number).map_or(0.0, f64::from)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
