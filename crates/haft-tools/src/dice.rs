//! `dice.roll`: dice in the notation of players (DIC-01).
//!
//! Randomness comes from the port [`Ids`]: its fresh ids are hashed into numbers, each face being as likely as the others.

use haft_core::path::PreparedArguments;
use haft_core::ports::{Ids, Touches};
use haft_core::{
    BoxFuture, Digest, Effect, ErrorCode, StartedCall, Tool, ToolContext, ToolDeclaration, ToolError, ToolId,
    ToolOutput,
};
use haft_schema::SchemaError;
use serde::Deserialize;
use serde_json::json;

use crate::arguments::arguments;

const MAX_DICE: u32 = 100;
const MAX_SIDES: u32 = 1_000_000;
const MAX_MODIFIER: i64 = 1_000_000;

/// The family: one tool.
///
/// # Errors
/// [`SchemaError`] if its declaration carries a schema that is none.
pub fn tools() -> Result<Vec<std::sync::Arc<dyn Tool>>, SchemaError> {
    Ok(vec![std::sync::Arc::new(Roll::new()?)])
}

#[derive(Deserialize)]
struct Arguments<'a> {
    formula: &'a str,
}

struct Roll {
    declaration: ToolDeclaration,
}

impl Roll {
    fn new() -> Result<Self, SchemaError> {
        let schema = json!({
            "type": "object",
            "properties": {
                "formula": {
                    "type": "string",
                    "description": "Dice to roll, such as d6, 1d20 or 3d6+4; d% has a hundred sides",
                },
            },
            "required": ["formula"],
            "additionalProperties": false,
        });
        let description = "Roll dice and get every die and the sum. The result is really random: take it as it falls, and never \
            make up a roll yourself.";
        let declaration =
            ToolDeclaration::new(ToolId::builtin("dice.roll"), description, schema, Effect::Read)?;
        let declaration = declaration.with_facts(|facts| {
            facts.category = "dice".to_owned();
            facts.never_repeats = true;
            facts.example = json!({"formula": "3d6+4"}).as_object().cloned();
        });
        Ok(Self { declaration })
    }
}

impl Tool for Roll {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn touches(&self, _arguments: &PreparedArguments) -> Touches {
        Touches::Nothing
    }

    fn call<'a>(
        &'a self,
        call: &'a StartedCall,
        context: &'a dyn ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move { roll(call, context.ids()) })
    }
}

fn roll(call: &StartedCall, ids: &dyn Ids) -> Result<ToolOutput, ToolError> {
    let Arguments { formula } = arguments(call)?;
    let dice = Formula::parse(formula).map_err(|why| {
        ToolError::new(
            ErrorCode::new("dice.invalid_formula"),
            format!("`{formula}` cannot be rolled: {why}. Write it as in d6, 1d20 or 3d6+4."),
        )
    })?;
    let mut chance = Chance::new(ids);
    let rolls: Vec<u32> = (0..dice.count).map(|_| chance.face(dice.sides)).collect();
    let total = rolls.iter().map(|face| i64::from(*face)).sum::<i64>() + dice.modifier;
    let faces = rolls.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let modifier = if dice.modifier == 0 { String::new() } else { format!(" {:+}", dice.modifier) };
    let text = match (&rolls[..], dice.modifier) {
        ([_], 0) => format!("{dice}: {total}"),
        _ => format!("{dice}: [{faces}]{modifier} = {total}"),
    };
    Ok(ToolOutput::of_text(text).with_structured(json!({
        "formula": dice.to_string(), "rolls": rolls, "modifier": dice.modifier, "total": total,
    })))
}

/// `count` dice with `sides` sides, and a number that is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Formula {
    count: u32,
    sides: u32,
    modifier: i64,
}

impl std::fmt::Display for Formula {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}d{}", self.count, self.sides)?;
        if self.modifier == 0 { Ok(()) } else { write!(f, "{:+}", self.modifier) }
    }
}

impl Formula {
    fn parse(text: &str) -> Result<Self, String> {
        let plain: String = text.chars().filter(|c| !c.is_whitespace()).collect::<String>().to_lowercase();
        let Some((count, rest)) = plain.split_once('d') else {
            return Err("there is no `d` between how many dice and how many sides".to_owned());
        };
        let end = rest.find(['+', '-']).unwrap_or(rest.len());
        let (sides, modifier) = rest.split_at(end);
        let count = if count.is_empty() { 1 } else { number(count, "how many dice", MAX_DICE)? };
        let sides = if sides == "%" { 100 } else { number(sides, "how many sides", MAX_SIDES)? };
        Ok(Self { count, sides, modifier: added(modifier)? })
    }
}

/// A number from 1 to `most`.
fn number(text: &str, what: &str, most: u32) -> Result<u32, String> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|number| digits && (1..=most).contains(number));
    number.ok_or_else(|| format!("{what} must be a number from 1 to {most}"))
}

/// `+4`, `-2`, or nothing.
fn added(text: &str) -> Result<i64, String> {
    if text.is_empty() {
        return Ok(0);
    }
    let digits = text.len() > 1 && text.bytes().skip(1).all(|byte| byte.is_ascii_digit());
    let number: Option<i64> = text.parse().ok().filter(|number: &i64| digits && number.abs() <= MAX_MODIFIER);
    number.ok_or_else(|| format!("what is added must be one whole number within ±{MAX_MODIFIER}"))
}

/// Random numbers made from one fresh id.
struct Chance {
    seed: String,
    drawn: u64,
}

impl Chance {
    fn new(ids: &dyn Ids) -> Self {
        Self { seed: format!("dice {} {}", ids.fresh(), ids.fresh()), drawn: 0 }
    }

    /// A face from 1 to `sides`, each as likely.
    fn face(&mut self, sides: u32) -> u32 {
        let sides = u64::from(sides.max(1));
        // Numbers past the last whole round of faces would favour the low ones.
        let fair = u64::MAX - u64::MAX % sides;
        loop {
            let number = self.number();
            if number < fair {
                return u32::try_from(number % sides + 1).unwrap_or(1);
            }
        }
    }

    fn number(&mut self) -> u64 {
        self.drawn += 1;
        let digest = Digest::of(format!("{} {}", self.seed, self.drawn).as_bytes());
        digest.as_bytes().iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Result<(u32, u32, i64), String> {
        Formula::parse(text).map(|dice| (dice.count, dice.sides, dice.modifier))
    }

    // DIC-01
    #[test]
    fn the_notation_of_players_is_read() {
        let cases = [
            ("d6", (1, 6, 0)),
            ("1d20", (1, 20, 0)),
            ("3d6+4", (3, 6, 4)),
            (" 2 D 8 - 1 ", (2, 8, -1)),
            ("d%", (1, 100, 0)),
            ("100d1000000-1000000", (100, 1_000_000, -1_000_000)),
        ];
        for (text, expected) in cases {
            assert_eq!(read(text), Ok(expected), "{text}");
        }
        for wrong in [
            "",
            "6",
            "d",
            "d0",
            "0d6",
            "101d6",
            "d1000001",
            "3d6+",
            "3d6+4+4",
            "3d6+1000001",
            "d6*2",
            "-1d6",
            "3d-6",
            "3d6++4",
            "1.5d6",
            "dd6",
            "99999999999d6",
            "d６",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    struct Fixed;

    impl Ids for Fixed {
        fn fresh(&self) -> String {
            "0000000000000001".to_owned()
        }
    }

    // DIC-01
    #[test]
    fn every_face_is_as_likely_as_the_others() {
        let mut chance = Chance::new(&Fixed);
        let mut counts = [0_u32; 6];
        for _ in 0..6_000 {
            counts[chance.face(6) as usize - 1] += 1;
        }
        // Five standard deviations, with a fixed seed.
        assert!(counts.iter().all(|count| (856..=1_144).contains(count)), "{counts:?}");
    }

    proptest! {
        #[test]
        fn a_formula_is_never_a_panic_and_reads_itself_back(text in "[0-9d%+ -]{0,10}") {
            if let Ok(dice) = Formula::parse(&text) {
                prop_assert_eq!(Formula::parse(&dice.to_string()), Ok(dice));
            }
        }

        #[test]
        fn a_face_is_on_the_die(sides in 1_u32..=MAX_SIDES) {
            let face = Chance::new(&Fixed).face(sides);
            prop_assert!((1..=sides).contains(&face));
        }
    }
}
