//! `dice_roll` along the whole path.

use haft_core::Services;
use haft_tools::dice;
use serde_json::json;

use crate::support::Invocation;

// DIC-01
#[tokio::test]
async fn dice_are_rolled_and_shown_one_by_one() {
    let mut tools = Invocation::new(dice::tools().unwrap(), Services::default());
    let output = tools.call("dice_roll", json!({"formula": "3d6+4"})).await.unwrap();
    let structured = output.structured.clone().unwrap();
    let rolls: Vec<i64> = serde_json::from_value(structured["rolls"].clone()).unwrap();
    assert!(rolls.len() == 3 && rolls.iter().all(|face| (1..=6).contains(face)), "{rolls:?}");
    let total = rolls.iter().sum::<i64>() + 4;
    assert_eq!(output.text(), format!("3d6+4: [{}, {}, {}] +4 = {total}", rolls[0], rolls[1], rolls[2]));
    assert_eq!(structured["total"], json!(total));
    let many: std::collections::HashSet<String> = {
        let mut seen = std::collections::HashSet::new();
        for _ in 0..20 {
            seen.insert(tools.text("dice_roll", json!({"formula": "d1000000"})).await);
        }
        seen
    };
    assert!(many.len() > 15, "each call rolls anew");
    assert_eq!(
        tools.error("dice_roll", json!({"formula": "six"})).await,
        (
            "dice.invalid_formula".to_owned(),
            "`six` cannot be rolled: there is no `d` between how many dice and how many sides. Write it as in d6, 1d20 or 3d6+4."
                .to_owned()
        )
    );
}
