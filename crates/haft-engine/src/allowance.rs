//! Whether the next model turn can be afforded, and what is reserved for it: tokens and money by estimate, so that a last turn
//! is always left. Pure arithmetic.
//!
//! What a request will cost is not known before. Its prompt is estimated from its bytes and from what the provider counted for
//! the request before; its answer is bounded by `max_tokens`.

use haft_core::budget::{Amounts, Limits, Money, Price, Resource};
use haft_core::message::{Message, ResultMessage};
use haft_core::ports::{ModelRequest, Usage};

/// Longest answer of the last turn, in tokens.
const LAST_ANSWER: u64 = 1_024;
/// The least room for an answer in which a turn with tools makes sense.
const LEAST_ANSWER: u64 = 256;
/// The least room in which a last answer says anything.
const LEAST_LAST_ANSWER: u64 = 32;
/// Bytes that stand for one token, rounded to the careful side.
const BYTES_A_TOKEN: u64 = 2;
/// Bytes that an image counts for.
const BYTES_AN_IMAGE: u64 = 4_096;

/// What a turn may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Allowance {
    /// Most tokens of its answer; none is no limit.
    pub(crate) max_tokens: Option<u32>,
    /// What to reserve; nothing where nothing is limited.
    pub(crate) amounts: Amounts,
}

/// What can be afforded next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Affordable {
    /// A turn with tools, and a last one after it.
    Turn(Allowance),
    /// The last turn alone.
    LastTurn(Resource, Allowance),
    /// Nothing.
    Nothing(Resource),
}

/// What `left` affords for a request of `prompt` tokens whose answer may have `most` tokens.
pub(crate) fn afford(left: &Limits, price: Option<Price>, prompt: u64, most: Option<u32>) -> Affordable {
    if left.model_tokens.is_none() && left.money.is_none() {
        return Affordable::Turn(Allowance { max_tokens: most, amounts: Amounts::default() });
    }
    let price = price.unwrap_or_default();
    let most_tokens = most.map_or(u64::MAX, u64::from);
    let last_answer = LAST_ANSWER.min(most_tokens);
    let allowance = |answer: u64| Allowance {
        max_tokens: Some(u32::try_from(answer).unwrap_or(u32::MAX)),
        amounts: Amounts::model(prompt.saturating_add(answer), price.cost(prompt, answer)),
    };
    // The answer is paid once when it is written and once when the last turn reads it.
    let by_tokens = left
        .model_tokens
        .map(|left| left.saturating_sub(prompt.saturating_mul(2)).saturating_sub(last_answer) / 2);
    let by_money = left.money.and_then(|left| {
        let both = price.cost(prompt, 0).0.saturating_mul(2).saturating_add(price.cost(0, last_answer).0);
        tokens_for(left.0.saturating_sub(both), price.input.0.saturating_add(price.output.0))
    });
    let (room, lacking) = least(by_tokens, by_money);
    let answer = room.min(most_tokens);
    if answer >= LEAST_ANSWER.min(most_tokens) {
        return Affordable::Turn(allowance(answer));
    }
    let by_tokens = left.model_tokens.map(|left| left.saturating_sub(prompt));
    let by_money = left
        .money
        .and_then(|left| tokens_for(left.0.saturating_sub(price.cost(prompt, 0).0), price.output.0));
    let (room, _) = least(by_tokens, by_money);
    let answer = room.min(last_answer);
    // Also the prompt alone must fit: an answer costs nothing where writing is free.
    let fits = left.money.is_none_or(|money| price.cost(prompt, answer) <= money);
    if answer >= LEAST_LAST_ANSWER.min(most_tokens) && fits {
        Affordable::LastTurn(lacking, allowance(answer))
    } else {
        Affordable::Nothing(lacking)
    }
}

/// How many tokens that amount buys; none if they are free.
fn tokens_for(millionths: u64, price_of_a_million: u64) -> Option<u64> {
    let tokens = (u128::from(millionths) * 1_000_000).checked_div(u128::from(price_of_a_million))?;
    // The cost is rounded up, so that the last token may be one too many.
    Some(u64::try_from(tokens).unwrap_or(u64::MAX).saturating_sub(1))
}

/// The smaller room, and what makes it small.
fn least(by_tokens: Option<u64>, by_money: Option<u64>) -> (u64, Resource) {
    match (by_tokens.unwrap_or(u64::MAX), by_money.unwrap_or(u64::MAX)) {
        (tokens, money) if tokens <= money => (tokens, Resource::ModelTokens),
        (_, money) => (money, Resource::Money),
    }
}

/// Estimates how many tokens requests have, and learns from what the provider counted.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Meter {
    /// Bytes and tokens of the request before.
    before: Option<(u64, u64)>,
}

impl Meter {
    /// Tokens that a request of so many bytes probably has.
    pub(crate) fn estimate(&self, bytes: u64) -> u64 {
        match self.before {
            None => bytes.div_ceil(BYTES_A_TOKEN),
            Some((known, tokens)) => {
                tokens.saturating_add(bytes.saturating_sub(known).div_ceil(BYTES_A_TOKEN))
            }
        }
    }

    /// Bytes of a request that probably has so many tokens.
    pub(crate) fn bytes_for(&self, tokens: u64) -> u64 {
        match self.before {
            Some((bytes, counted)) if bytes > 0 && counted > 0 => {
                let bytes = u128::from(tokens) * u128::from(bytes) / u128::from(counted);
                u64::try_from(bytes).unwrap_or(u64::MAX)
            }
            Some(_) | None => tokens.saturating_mul(BYTES_A_TOKEN),
        }
    }

    /// What a request of so many bytes used: what the provider says, else an estimate.
    pub(crate) fn used(&mut self, bytes: u64, answer_bytes: u64, usage: Option<Usage>) -> Usage {
        let usage = usage.unwrap_or_else(|| Usage {
            input_tokens: self.estimate(bytes),
            output_tokens: answer_bytes.div_ceil(BYTES_A_TOKEN),
        });
        self.before = Some((bytes, usage.input_tokens));
        usage
    }
}

/// What was used, as amounts.
pub(crate) fn spent(usage: Usage, price: Option<Price>) -> Amounts {
    let money = price.map_or(Money(0), |price| price.cost(usage.input_tokens, usage.output_tokens));
    Amounts::model(usage.input_tokens.saturating_add(usage.output_tokens), money)
}

/// Bytes of all that the model reads in a request.
pub(crate) fn bytes_of(request: &ModelRequest) -> u64 {
    let tools = request.tools.iter().map(|tool| {
        let schema = tool.input_schema.as_value().to_string().len();
        tool.alias.len() + tool.description.len() + schema
    });
    let all: usize = request.system.len() + tools.sum::<usize>();
    let messages = request.messages.iter().map(message_bytes);
    messages.fold(all as u64, u64::saturating_add)
}

/// Bytes that a message counts for.
pub(crate) fn message_bytes(message: &Message) -> u64 {
    match message {
        Message::User(text) => text.len() as u64,
        Message::Assistant { text, raw, calls, .. } => {
            let written = serde_json::to_string(calls).map_or(0, |text| text.len());
            raw.as_deref().map_or(text.len() + written, str::len) as u64
        }
        Message::Results(results) => results.iter().map(result_bytes).fold(0, u64::saturating_add),
    }
}

/// Bytes that a result counts for.
pub(crate) fn result_bytes(result: &ResultMessage) -> u64 {
    result.body.len() as u64 + result.images.len() as u64 * BYTES_AN_IMAGE
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tokens(left: u64) -> Limits {
        Limits { model_tokens: Some(left), ..Limits::default() }
    }

    #[test]
    fn without_limits_nothing_is_reserved_and_nothing_is_cut() {
        let free = Allowance { max_tokens: None, amounts: Amounts::default() };
        assert_eq!(afford(&Limits::default(), None, 1_000_000, None), Affordable::Turn(free));
    }

    #[test]
    fn a_turn_leaves_room_for_the_last_one() {
        // 1,000 for the prompt and as much again for the last turn, 1,024 for its answer; the rest is two times the answer.
        let turn = Allowance { max_tokens: Some(488), amounts: Amounts::model(1_488, Money(0)) };
        assert_eq!(afford(&tokens(4_000), None, 1_000, None), Affordable::Turn(turn));
        let short = Allowance { max_tokens: Some(100), amounts: Amounts::model(1_100, Money(0)) };
        assert_eq!(afford(&tokens(4_000), None, 1_000, Some(100)), Affordable::Turn(short));
        let last = Allowance { max_tokens: Some(1_024), amounts: Amounts::model(2_024, Money(0)) };
        assert_eq!(
            afford(&tokens(3_000), None, 1_000, None),
            Affordable::LastTurn(Resource::ModelTokens, last)
        );
        assert_eq!(afford(&tokens(1_010), None, 1_000, None), Affordable::Nothing(Resource::ModelTokens));
    }

    #[test]
    fn money_counts_as_tokens_do() {
        let price = Price { input: Money(3_000_000), output: Money(15_000_000) };
        let money = |units: f64| Limits { money: Money::of_units(units), ..Limits::default() };
        let Affordable::Turn(turn) = afford(&money(1.0), Some(price), 1_000, Some(4_000)) else { panic!() };
        assert_eq!(turn.amounts.money.to_string(), "0.063");
        let nearly = afford(&money(0.02), Some(price), 1_000, None);
        assert!(matches!(nearly, Affordable::LastTurn(Resource::Money, _)), "{nearly:?}");
        assert_eq!(afford(&money(0.002), Some(price), 1_000, None), Affordable::Nothing(Resource::Money));
        // What costs nothing can always be afforded.
        assert!(matches!(afford(&money(0.01), Some(Price::default()), 9_000, None), Affordable::Turn(_)));
    }

    #[test]
    fn estimates_learn_from_what_was_counted() {
        let mut meter = Meter::default();
        assert_eq!(meter.estimate(1_001), 501);
        meter.used(1_000, 10, Some(Usage { input_tokens: 250, output_tokens: 3 }));
        assert_eq!(meter.estimate(1_100), 300);
        assert_eq!(meter.used(1_100, 11, None), Usage { input_tokens: 300, output_tokens: 6 });
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn what_is_reserved_is_always_there(
            (left_tokens, left_money) in (proptest::option::of(0u64..20_000), proptest::option::of(0u64..2_000_000)),
            (input, output) in (0u64..20_000_000, 0u64..20_000_000),
            prompt in 0u64..9_000,
            most in proptest::option::of(1u32..9_000),
        ) {
            let left = Limits { model_tokens: left_tokens, money: left_money.map(Money), ..Limits::default() };
            let price = Price { input: Money(input), output: Money(output) };
            let (allowance, is_last) = match afford(&left, Some(price), prompt, most) {
                Affordable::Turn(allowance) => (allowance, false),
                Affordable::LastTurn(_, allowance) => (allowance, true),
                Affordable::Nothing(_) => return Ok(()),
            };
            let fits = |amounts: Amounts| {
                left.model_tokens.is_none_or(|left| amounts.model_tokens <= left)
                    && left.money.is_none_or(|left| amounts.money <= left)
            };
            prop_assert!(fits(allowance.amounts));
            prop_assert!(allowance.max_tokens.is_none_or(|tokens| most.is_none_or(|most| tokens <= most)));
            if let (false, Some(answer)) = (is_last, allowance.max_tokens) {
                // The last turn reads prompt and answer and may write again.
                let read = prompt + u64::from(answer);
                let write = LEAST_LAST_ANSWER.min(most.map_or(u64::MAX, u64::from));
                let both = Amounts::model(
                    allowance.amounts.model_tokens + read + write,
                    Money(allowance.amounts.money.0 + price.cost(read, write).0.saturating_sub(2)),
                );
                prop_assert!(fits(both), "{allowance:?}");
            }
        }
    }
}
