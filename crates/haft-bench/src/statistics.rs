//! Medians, percentiles and slopes over samples. Pure.

/// The median of `samples` (of an even count, the mean of the two in the middle); `NaN` for none.
///
/// ```
/// assert_eq!(haft_bench::median(&[3.0, 1.0, 200.0]), 3.0);
/// assert_eq!(haft_bench::median(&[4.0, 1.0, 2.0, 200.0]), 3.0);
/// ```
#[must_use]
pub fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.as_slice() {
        [] => f64::NAN,
        sorted if sorted.len() % 2 == 1 => sorted[middle],
        sorted => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

/// The value that a `share` of `samples` does not exceed: 0.99 for the 99th percentile; `NaN` for no samples.
///
/// ```
/// let samples: Vec<f64> = (1..=200).map(f64::from).collect();
/// assert_eq!(haft_bench::percentile(&samples, 0.99), 198.0);
/// assert_eq!(haft_bench::percentile(&[7.0], 0.99), 7.0);
/// ```
#[must_use]
pub fn percentile(samples: &[f64], share: f64) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

/// How far from linear a growing series is at worst: `points` are (size, time), each size larger than the one before.
/// For each step the growth of the time is set against the growth of the size, scaled to one doubling: 1.0 is linear,
/// 2.0 is quadratic. `NaN` for fewer than two points.
///
/// ```
/// let linear_then_quadratic = [(1.0, 10.0), (2.0, 20.0), (4.0, 80.0)];
/// assert_eq!(haft_bench::worst_doubling(&linear_then_quadratic), 2.0);
/// ```
#[must_use]
pub fn worst_doubling(points: &[(f64, f64)]) -> f64 {
    points
        .windows(2)
        .map(|pair| {
            let [(small, fast), (large, slow)] = [pair[0], pair[1]];
            let doublings = (large / small).log2();
            ((slow / fast) / (large / small)).powf(1.0 / doublings)
        })
        .fold(f64::NAN, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert!(median(&[]).is_nan());
        assert_eq!(median(&[7.0]), 7.0);
        assert_eq!(median(&[9.0, 1.0, 5.0, 2.0, 100.0]), 5.0);
        assert_eq!(median(&[1.0, 2.0]), 1.5);
    }

    #[test]
    fn percentiles() {
        assert!(percentile(&[], 0.5).is_nan());
        let samples = [5.0, 1.0, 4.0, 2.0, 3.0];
        assert_eq!(
            [0.0, 0.2, 0.21, 0.5, 1.0].map(|share| percentile(&samples, share)),
            [1.0, 1.0, 2.0, 3.0, 5.0]
        );
    }

    #[test]
    fn doublings_are_scaled() {
        assert!(worst_doubling(&[(1.0, 1.0)]).is_nan());
        assert_eq!(worst_doubling(&[(1.0, 5.0), (2.0, 10.0), (4.0, 20.0)]), 1.0);
        let two_doublings_in_one_step = worst_doubling(&[(1.0, 1.0), (4.0, 16.0)]);
        assert!((two_doublings_in_one_step - 2.0).abs() < 1e-12);
        assert!(worst_doubling(&[(1.0, 10.0), (2.0, 10.0)]) < 1.0, "cheaper than linear");
    }
}
