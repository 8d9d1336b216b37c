//! Medians, spreads and ratios.

/// Returns a quantile, interpolated linearly; `None` for no values.
fn quantile(values: &[f64], part: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let mut rest = part * f64::from(u32::try_from(last).ok()?);
    let mut at = 0;
    while rest >= 1.0 && at < last {
        at += 1;
        rest -= 1.0;
    }
    let (low, high) = (sorted[at], sorted[(at + 1).min(last)]);
    Some(low + (high - low) * rest)
}

pub(crate) fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// Returns the interquartile range as a part of the median.
pub(crate) fn spread(values: &[f64]) -> Option<f64> {
    let width = quantile(values, 0.75)? - quantile(values, 0.25)?;
    median(values)
        .filter(|&median| median > 0.0)
        .map(|median| width / median)
}

/// Returns the median of the ratios within each round, since a slow round slows both ways.
pub(crate) fn ratio(values: &[f64], base: &[f64]) -> Option<f64> {
    let pairs = values.iter().zip(base).filter(|&(_, &base)| base > 0.0);
    let ratios: Vec<f64> = pairs.map(|(value, base)| value / base).collect();
    median(&ratios)
}
