//! Money without a currency: one unit is whatever the prices of `haft.toml` are written in.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An amount of money, in millionths of the unit in which prices are written.
///
/// ```
/// use haft_core::budget::Money;
/// assert_eq!(Money::of_units(0.25), Some(Money(250_000)));
/// assert_eq!(Money(250_000).to_string(), "0.25");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Money(pub u64);

const MILLION: u64 = 1_000_000;

impl Money {
    /// An amount in whole units, rounded to a millionth; none if it is negative, no number, or too much to count.
    pub fn of_units(units: f64) -> Option<Self> {
        let millionths = (units * MILLION as f64).round();
        (0.0..9e18).contains(&millionths).then_some(Self(millionths as u64))
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fraction = format!("{:06}", self.0 % MILLION);
        match fraction.trim_end_matches('0') {
            "" => write!(f, "{}", self.0 / MILLION),
            digits => write!(f, "{}.{digits}", self.0 / MILLION),
        }
    }
}

/// What a model costs: money for a million tokens.
///
/// ```
/// use haft_core::budget::{Money, Price};
/// let price = Price { input: Money(3_000_000), output: Money(15_000_000) };
/// assert_eq!(price.cost(1_000, 100).to_string(), "0.0045");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Price {
    /// For a million tokens that the model reads.
    pub input: Money,
    /// For a million tokens that it writes.
    pub output: Money,
}

impl Price {
    /// What a request costs, rounded up.
    pub fn cost(self, input_tokens: u64, output_tokens: u64) -> Money {
        let one = |price: Money, tokens: u64| u128::from(price.0) * u128::from(tokens);
        let total = one(self.input, input_tokens).saturating_add(one(self.output, output_tokens));
        Money(u64::try_from(total.div_ceil(u128::from(MILLION))).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_exact_to_a_millionth_and_never_negative() {
        assert_eq!(Money::of_units(3.0), Some(Money(3 * MILLION)));
        assert_eq!(Money::of_units(0.000_000_4), Some(Money(0)));
        for wrong in [-0.1, f64::NAN, f64::INFINITY, 1e13] {
            assert_eq!(Money::of_units(wrong), None, "{wrong}");
        }
        assert_eq!(Money(1_500_000).to_string(), "1.5");
        assert_eq!(Money(7).to_string(), "0.000007");
    }

    #[test]
    fn a_cost_is_rounded_up_and_never_wraps() {
        let price = Price { input: Money(1), output: Money(0) };
        assert_eq!(price.cost(1, 99), Money(1));
        assert_eq!(price.cost(0, 99), Money(0));
        let dear = Price { input: Money(u64::MAX), output: Money(u64::MAX) };
        assert_eq!(dear.cost(u64::MAX, u64::MAX), Money(u64::MAX));
    }
}
