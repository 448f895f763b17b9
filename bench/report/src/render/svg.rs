//! Charts as SVG: axes from zero, whiskers, a number on every bar.

use std::fmt::Write as _;

use super::{escape, style};
use crate::catalog::CATEGORIES;
use crate::document::{Bars, Chart, Lines, Stacked};
use crate::text;

/// Width of a chart, in its own units; close to the pixels that it gets.
const WIDTH: f64 = 420.0;
/// Height of a bar and of its place.
const BAR: f64 = 15.0;
const PITCH: f64 = 21.0;
/// Where the bars begin.
const TOP: f64 = 28.0;
/// Average width of a character of the labels.
const CHARACTER: f64 = 7.2;
/// The build that stands out: the product in the sandbox.
const STRONG: &str = "wasm-sandquic";
/// Room for the number after the longest bar.
const NUMBER: f64 = 58.0;

/// A chart as an `svg` element.
pub(super) fn chart(chart: &Chart) -> String {
    let (height, body) = match chart {
        Chart::Bars(bars) => self::bars(bars),
        Chart::Stacked(stacked) => self::stacked(stacked),
        Chart::Lines(lines) => self::lines(lines),
    };
    let title = match chart {
        Chart::Bars(bars) => format!("{}: {}", bars.title, bars.unit),
        Chart::Stacked(stacked) => format!("{}: {} by category", stacked.title, stacked.unit),
        Chart::Lines(lines) => format!("{}: {} over {}", lines.title, lines.y, lines.x),
    };
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">{body}</svg>",
        escape(&title)
    )
}

/// Charts beside one another as a file of its own, light and dark.
pub fn standalone(title: &str, charts: &[Chart]) -> String {
    let gap = 16.0;
    let drawn: Vec<(f64, String)> = charts
        .iter()
        .map(|chart| match chart {
            Chart::Bars(bars) => self::bars(bars),
            Chart::Stacked(stacked) => self::stacked(stacked),
            Chart::Lines(lines) => self::lines(lines),
        })
        .collect();
    let height = drawn.iter().map(|(height, _)| *height).fold(0.0, f64::max) + 20.0;
    let width = drawn.len() as f64 * (WIDTH + gap) + gap;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" role=\"img\" aria-label=\"{0}\">\n<title>{0}</title>\n<style>\n{1}</style>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"6\" style=\"fill:var(--ground)\"/>\n",
        escape(title),
        style::charts()
    );
    for (at, (_, body)) in drawn.iter().enumerate() {
        let _ =
            writeln!(svg, "<g transform=\"translate({},10)\">{body}</g>", gap + at as f64 * (WIDTH + gap));
    }
    svg.push_str("</svg>\n");
    svg
}

/// Steps of an axis from zero to at least `most`: 1, 2 or 5 times a power of ten.
fn ticks(most: f64) -> Vec<f64> {
    // Below, steps would vanish.
    let most = if most.is_finite() && most > 1e-9 { most } else { 1.0 };
    let rough = most / 4.0;
    let power = 10_f64.powf(rough.log10().floor());
    let step =
        [1.0, 2.0, 5.0, 10.0].into_iter().map(|times| times * power).find(|step| *step >= rough * 0.999);
    let step = step.unwrap_or(rough);
    let count = (most / step * 0.999_999).ceil() as usize;
    (0..=count.max(1)).map(|tick| tick as f64 * step).collect()
}

fn tick_text(value: f64) -> String {
    let decimals = if value == 0.0 || value.fract().abs() < 1e-9 {
        0
    } else if (value * 10.0).fract().abs() < 1e-6 || value > 1.0 {
        1
    } else {
        3
    };
    text::fixed(value, decimals)
}

/// Axis, grid and title of horizontal bars.
struct Frame {
    left: f64,
    right: f64,
    most: f64,
    height: f64,
    out: String,
}

impl Frame {
    fn new(title: &str, unit: &str, labels: &[&str], most: f64) -> Self {
        let width = |label: &&str| {
            // Bold is wider.
            let character = if *label == STRONG { CHARACTER * 1.15 } else { CHARACTER };
            label.chars().count() as f64 * character
        };
        let left = (labels.iter().map(width).fold(0.0, f64::max) + 12.0).min(WIDTH / 2.0);
        let right = WIDTH - NUMBER;
        let ticks = ticks(most);
        let most = ticks.last().copied().unwrap_or(1.0);
        let bottom = TOP + labels.len() as f64 * PITCH;
        let mut frame = Self { left, right, most, height: bottom + 34.0, out: String::new() };
        let _ = write!(frame.out, "<text class=\"t\" x=\"0\" y=\"15\">{}</text>", escape(title));
        for tick in &ticks {
            let x = frame.x(*tick);
            let class = if *tick == 0.0 { "a" } else { "g" };
            let _ = write!(
                frame.out,
                "<path class=\"{class}\" d=\"M{x:.1} {TOP}V{bottom}\"/><text class=\"q m\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>",
                bottom + 13.0,
                tick_text(*tick)
            );
        }
        let _ = write!(
            frame.out,
            "<text class=\"q e\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            frame.right,
            bottom + 28.0,
            escape(unit)
        );
        frame
    }

    fn x(&self, value: f64) -> f64 {
        self.left + (self.right - self.left) * value / self.most
    }

    fn label(&mut self, at: usize, label: &str) -> f64 {
        let y = TOP + at as f64 * PITCH + (PITCH - BAR) / 2.0;
        let strong = if label == STRONG { " strong" } else { "" };
        let _ = write!(
            self.out,
            "<text class=\"e{strong}\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            self.left - 6.0,
            y + BAR - 3.0,
            escape(label)
        );
        y
    }

    fn number(&mut self, x: f64, y: f64, number: &str) {
        let _ = write!(
            self.out,
            "<text class=\"n\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            x + 4.0,
            y + BAR - 3.5,
            escape(number)
        );
    }
}

fn bars(bars: &Bars) -> (f64, String) {
    let labels: Vec<&str> = bars.bars.iter().map(|bar| bar.build.as_str()).collect();
    let most = bars.reach();
    let mut frame = Frame::new(&bars.title, &bars.unit, &labels, most);
    for (at, bar) in bars.bars.iter().enumerate() {
        let y = frame.label(at, &bar.build);
        let Some(value) = bar.value else {
            let left = frame.left;
            frame.number(left, y, "not measured");
            continue;
        };
        let (from, to) = (frame.left, frame.x(value));
        let _ = write!(
            frame.out,
            "<rect class=\"f b-{}\" x=\"{from:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{BAR}\"/>",
            escape(&bar.build),
            (to - from).max(0.0)
        );
        let mut end = to;
        if let Some(half) = bar.ci95 {
            let (low, high) = (frame.x((value - half).max(0.0)), frame.x(value + half));
            let middle = y + BAR / 2.0;
            let _ = write!(
                frame.out,
                "<path class=\"w\" d=\"M{low:.1} {middle:.1}H{high:.1}M{low:.1} {0:.1}v6M{high:.1} {0:.1}v6\"/>",
                middle - 3.0
            );
            end = end.max(high);
        }
        frame.number(end, y, &format!("{}{}", text::number(value), bar.mark));
    }
    (frame.height, frame.out)
}

fn stacked(stacked: &Stacked) -> (f64, String) {
    let labels: Vec<&str> = stacked.bars.iter().map(|(build, _)| build.as_str()).collect();
    let total = |parts: &Vec<f64>| parts.iter().sum::<f64>();
    let most = stacked.bars.iter().filter_map(|(_, parts)| parts.as_ref().map(total)).fold(0.0, f64::max);
    let mut frame = Frame::new(&stacked.title, &stacked.unit, &labels, most);
    for (at, (build, parts)) in stacked.bars.iter().enumerate() {
        let y = frame.label(at, build);
        let Some(parts) = parts else {
            let left = frame.left;
            frame.number(left, y, "no profile");
            continue;
        };
        let mut from = 0.0;
        for (category, part) in CATEGORIES.iter().zip(parts) {
            let (left, right) = (frame.x(from), frame.x(from + part));
            from += part;
            let number = text::number(*part);
            let _ = write!(
                frame.out,
                "<rect class=\"s k-{0}\" x=\"{left:.1}\" y=\"{y:.1}\" width=\"{1:.1}\" height=\"{BAR}\"><title>{0} {number}</title></rect>",
                category.name,
                (right - left).max(0.0),
            );
            // A number stands in its part where there is room.
            if right - left > number.chars().count() as f64 * CHARACTER + 3.0 {
                let _ = write!(
                    frame.out,
                    "<text class=\"n m i-{}\" x=\"{:.1}\" y=\"{:.1}\">{number}</text>",
                    category.name,
                    (left + right) / 2.0,
                    y + BAR - 3.5
                );
            }
        }
        let end = frame.x(from);
        frame.number(end, y, &text::number(from));
    }
    (frame.height, frame.out)
}

fn lines(lines: &Lines) -> (f64, String) {
    let (left, right, bottom) = (46.0, WIDTH - 26.0, 236.0);
    let points = || lines.series.iter().flat_map(|series| &series.points);
    let x_ticks = ticks(points().map(|(x, ..)| *x).fold(0.0, f64::max));
    let y_ticks = ticks(points().map(|(_, y, ci)| y + ci.unwrap_or(0.0)).fold(0.0, f64::max));
    let (x_most, y_most) = (x_ticks[x_ticks.len() - 1], y_ticks[y_ticks.len() - 1]);
    let x = |value: f64| left + (right - left) * value / x_most;
    let y = |value: f64| bottom - (bottom - TOP - 10.0) * value / y_most;
    let mut out = format!("<text class=\"t\" x=\"0\" y=\"15\">{}</text>", escape(&lines.title));
    for tick in &x_ticks {
        let at = x(*tick);
        let class = if *tick == 0.0 { "a" } else { "g" };
        let _ = write!(
            out,
            "<path class=\"{class}\" d=\"M{at:.1} {:.1}V{bottom}\"/><text class=\"q m\" x=\"{at:.1}\" y=\"{:.1}\">{}</text>",
            y(y_most),
            bottom + 13.0,
            tick_text(*tick)
        );
    }
    for tick in &y_ticks {
        let at = y(*tick);
        let class = if *tick == 0.0 { "a" } else { "g" };
        let _ = write!(
            out,
            "<path class=\"{class}\" d=\"M{left} {at:.1}H{right}\"/><text class=\"q e\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            left - 5.0,
            at + 4.0,
            tick_text(*tick)
        );
    }
    let _ = write!(
        out,
        "<text class=\"q e\" x=\"{right}\" y=\"{:.1}\">{}</text><text class=\"q\" x=\"0\" y=\"30\">{}</text>",
        bottom + 28.0,
        escape(&lines.x),
        escape(&lines.y)
    );
    for series in &lines.series {
        let build = escape(&series.build);
        let dash = if series.dashed { " stroke-dasharray=\"5 3\"" } else { "" };
        let (fixed, slope) = series.line;
        // The line ends where its last point does, and at zero.
        let end = series.points.iter().map(|(x, ..)| *x).fold(0.0, f64::max);
        let (from, to) = (fixed.max(0.0), (fixed + slope * end).max(0.0));
        let _ = write!(
            out,
            "<path class=\"l o b-{build}\"{dash} d=\"M{:.1} {:.1}L{:.1} {:.1}\"/>",
            x(0.0),
            y(from.min(y_most)),
            x(end),
            y(to.min(y_most))
        );
        for (at, value, half) in &series.points {
            let (at, middle) = (x(*at), y(*value));
            if let Some(half) = half {
                let (low, high) = (y((value - half).max(0.0)), y(value + half));
                let _ = write!(
                    out,
                    "<path class=\"w\" d=\"M{at:.1} {low:.1}V{high:.1}M{0:.1} {low:.1}h6M{0:.1} {high:.1}h6\"/>",
                    at - 3.0
                );
            }
            let _ = write!(
                out,
                "<circle class=\"f b-{build}\" cx=\"{at:.1}\" cy=\"{middle:.1}\" r=\"3\"><title>{}: {}</title></circle>",
                escape(&series.label),
                text::number(*value)
            );
        }
    }
    // The legend stands below, one line a series.
    let mut at = bottom + 46.0;
    for series in &lines.series {
        let dash = if series.dashed { " stroke-dasharray=\"5 3\"" } else { "" };
        let _ = write!(
            out,
            "<path class=\"l o b-{}\"{dash} d=\"M{left} {:.1}h28\"/><text x=\"{:.1}\" y=\"{at:.1}\">{}: {} s + {} s/GiB</text>",
            escape(&series.build),
            at - 4.0,
            left + 36.0,
            escape(&series.label),
            text::number(series.line.0),
            text::number(series.line.1)
        );
        at += 17.0;
    }
    (at, out)
}

#[cfg(test)]
mod tests {
    #[test]
    fn ticks_start_at_zero_and_reach_the_largest_value() {
        for (most, ticks) in [
            (25.1, &[0.0, 10.0, 20.0, 30.0][..]),
            (20.0, &[0.0, 5.0, 10.0, 15.0, 20.0]),
            (1.0, &[0.0, 0.5, 1.0]),
            (9_081.0, &[0.0, 5_000.0, 10_000.0]),
            (0.0, &[0.0, 0.5, 1.0]),
            (1e-320, &[0.0, 0.5, 1.0]),
            (f64::NAN, &[0.0, 0.5, 1.0]),
        ] {
            let got = super::ticks(most);
            assert!(got.len() == ticks.len(), "{most}: {got:?}");
            assert!(got.iter().zip(ticks).all(|(a, b)| (a - b).abs() < 1e-9), "{most}: {got:?}");
        }
    }
}
