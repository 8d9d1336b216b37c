//! Pictures of README as SVG.

use std::fmt::Write;

/// Draws a terminal. Lines that begin with `$` are commands.
pub(crate) fn terminal(lines: &[String]) -> String {
    const WIDTH: usize = 800;
    const LINE: usize = 17;
    let height = 40 + LINE * lines.len();
    let mut svg = begin(WIDTH, height, "#1b1e24");
    let _ = writeln!(
        svg,
        "<g font-family=\"monospace\" font-size=\"13\" fill=\"#d8dee9\" xml:space=\"preserve\">"
    );
    for (row, line) in lines.iter().enumerate() {
        let y = 30 + LINE * row;
        let colour = match line.starts_with('$') {
            true => " fill=\"#8fd18f\"",
            false => "",
        };
        let _ = writeln!(
            svg,
            "<text x=\"16\" y=\"{y}\"{colour}>{}</text>",
            escaped(line)
        );
    }
    svg + "</g>\n</svg>\n"
}

/// A ratio with its interval.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Interval {
    pub(crate) ratio: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

const COLOURS: [&str; 2] = ["#3366cc", "#cc6633"];

const TICKS: [f64; 5] = [0.5, 0.7, 1.0, 1.4, 2.0];

/// Draws a row for each name, with two intervals on an axis of gains: right of 1 is better.
pub(crate) fn gains(kinds: [&str; 2], rows: &[(String, [Option<Interval>; 2])]) -> String {
    let (left, right, row) = (120.0, 780.0, 34.0);
    let (least, most): (f64, f64) = (0.5, 2.0);
    // A logarithmic axis: 0.5 and 2 are equally far from 1.
    let x = |ratio: f64| {
        let at = (ratio.clamp(least, most) / least).ln() / (most / least).ln();
        left + at * (right - left)
    };
    let mut at = 50.0;
    let mut body = String::new();
    for (name, intervals) in rows {
        let _ = writeln!(
            body,
            "<text x=\"10\" y=\"{}\">{}</text>",
            at + 4.0,
            escaped(name)
        );
        for (number, interval) in intervals.iter().enumerate() {
            let Some(Interval { ratio, low, high }) = interval else {
                continue;
            };
            let y = at - 6.0 + 12.0 * [0.0, 1.0][number];
            let colour = COLOURS[number];
            let _ = writeln!(
                body,
                "<line x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{y}\" y2=\"{y}\" stroke=\"{colour}\" \
                 stroke-width=\"3\" stroke-opacity=\"0.5\"/>\n\
                 <circle cx=\"{:.1}\" cy=\"{y}\" r=\"5\" fill=\"{colour}\"/>",
                x(*low),
                x(*high),
                x(*ratio)
            );
        }
        at += row;
    }
    let mut svg = begin(800, 70 + 34 * rows.len(), "white");
    let _ = writeln!(svg, "<g font-family=\"sans-serif\" font-size=\"13\">");
    for (number, kind) in kinds.iter().enumerate() {
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"18\" fill=\"{}\">{}</text>",
            left + 200.0 * [0.0, 1.0][number],
            COLOURS[number],
            escaped(kind)
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"{right}\" y=\"18\" text-anchor=\"end\">better &#8594;</text>"
    );
    for tick in TICKS {
        let colour = if tick == 1.0 { "#000" } else { "#ccc" };
        let _ = writeln!(
            svg,
            "<line x1=\"{0:.1}\" x2=\"{0:.1}\" y1=\"30\" y2=\"{1}\" stroke=\"{colour}\"/>\n\
             <text x=\"{0:.1}\" y=\"{2}\" text-anchor=\"middle\">{tick}</text>",
            x(tick),
            at - 10.0,
            at + 8.0
        );
    }
    svg + &body + "</g>\n</svg>\n"
}

fn begin(width: usize, height: usize, colour: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"{colour}\" rx=\"6\"/>\n"
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
