//! Ratios with their intervals: Yuen's one-sample t-test on the logarithm of the ratio,
//! with 20 % of the rounds trimmed at each end.
//!
//! A slow minute slows all runs of a round and cancels out in the ratio. The logarithm
//! treats 2 and 1/2 alike, and trimming ignores rounds in which something else ran.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The probability that an interval contains the true ratio.
const CONFIDENCE: f64 = 0.99;

/// The part of the rounds that is trimmed at each end.
const TRIMMED: f64 = 0.2;

/// Values of one way to run the program, relative to those of the plain runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// The ratio.
    pub ratio: f64,
    /// The lower end of its interval of 99 %.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Ratio {
    /// Returns the ratio of paired values; `None` for fewer than five pairs, or if a pair's
    /// ratio isn't positive and finite.
    pub fn of(values: &[f64], base: &[f64]) -> Option<Ratio> {
        let pairs = values.iter().zip(base);
        let mut logs: Vec<f64> = pairs.map(|(value, base)| (value / base).ln()).collect();
        if logs.len() < 5 || logs.iter().any(|log| !log.is_finite()) {
            return None;
        }
        logs.sort_by(f64::total_cmp);
        let (mean, half) = trimmed(&logs)?;
        Some(Ratio {
            ratio: mean.exp(),
            low: (mean - half).exp(),
            high: (mean + half).exp(),
        })
    }

    /// Returns the width of the interval as a part of the ratio.
    pub fn width(&self) -> f64 {
        (self.high - self.low) / self.ratio
    }
}

/// Returns the trimmed mean of sorted values and half the width of its interval.
fn trimmed(sorted: &[f64]) -> Option<(f64, f64)> {
    let all = count(sorted.len());
    let cut = sorted.len() / 5;
    let kept = &sorted[cut..sorted.len() - cut];
    let mean = kept.iter().sum::<f64>() / count(kept.len());
    let (first, last) = (*kept.first()?, *kept.last()?);
    let winsorized = || sorted.iter().map(|value| value.clamp(first, last));
    let center = winsorized().sum::<f64>() / all;
    let squares: f64 = winsorized().map(|value| (value - center).powi(2)).sum();
    let deviation = (squares / (all - 1.0)).sqrt();
    let error = deviation / ((1.0 - 2.0 * TRIMMED) * all.sqrt());
    let student = StudentsT::new(0.0, 1.0, count(kept.len()) - 1.0).ok()?;
    Some((
        mean,
        student.inverse_cdf(f64::midpoint(CONFIDENCE, 1.0)) * error,
    ))
}

/// Returns the median; 0 for no values.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        len if len % 2 == 1 => sorted[len / 2],
        len => f64::midpoint(sorted[len / 2 - 1], sorted[len / 2]),
    }
}

/// Returns the mean; 0 for no values.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |sum, value| sum + value) / count(values.len().max(1))
}

fn count(len: usize) -> f64 {
    u32::try_from(len).map_or(f64::MAX, f64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the time of a run: 5 % of noise, and one run in ten up to twice as long.
    fn time(rng: &mut fastrand::Rng) -> f64 {
        let normal: f64 = (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0;
        let outlier = if rng.u32(..10) == 0 {
            1.0 + rng.f64()
        } else {
            1.0
        };
        (1.0 + 0.05 * normal) * outlier
    }

    /// Returns the ratio once its interval is narrow enough, or after 400 rounds.
    fn compared(rng: &mut fastrand::Rng, factor: f64) -> Ratio {
        let (mut values, mut base) = (Vec::new(), Vec::new());
        loop {
            values.push(time(rng) * factor);
            base.push(time(rng));
            match Ratio::of(&values, &base) {
                Some(ratio) if ratio.width() < 0.01 || values.len() == 400 => return ratio,
                _ => {}
            }
        }
    }

    #[test]
    fn equal_programs_seldom_differ_and_a_gap_of_3_percent_shows() {
        let mut rng = fastrand::Rng::with_seed(7);
        let mut wrong = 0;
        let mut found = 0;
        for _ in 0..200 {
            let same = compared(&mut rng, 1.0);
            wrong += u32::from(same.low > 1.0 || same.high < 1.0);
            found += u32::from(compared(&mut rng, 1.03).low > 1.0);
        }
        assert!(wrong <= 4, "{wrong} of 200");
        assert!(found >= 190, "{found} of 200");
    }

    #[test]
    fn few_and_impossible_values_have_no_ratio() {
        assert_eq!(Ratio::of(&[1.0; 4], &[1.0; 4]), None);
        assert_eq!(Ratio::of(&[0.0; 5], &[1.0; 5]), None);
        let same = Ratio::of(&[2.0; 5], &[1.0; 5]).unwrap();
        assert!((same.ratio - 2.0).abs() < 1e-12 && same.width() < 1e-12);
        assert_eq!((median(&[3.0, 1.0, 2.0]), median(&[])), (2.0, 0.0));
    }
}
