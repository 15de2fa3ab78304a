//! What the tokens of a model cost, as `[models.NAME] price` says.

use haft_core::Profile;
use haft_core::budget::Price;
use haft_models::ModelName;

use crate::exit::Failure;
use crate::setup::Setup;

/// The price of the model called `name`, if it is known. A profile that limits money needs one: a budget that cannot be counted
/// would not hold.
pub(crate) fn of(name: &str, setup: &Setup, profile: &Profile) -> Result<Option<Price>, Failure> {
    let price = match ModelName::parse(name).map_err(Failure::usage)? {
        ModelName::Entry(entry) => setup.loaded.config.models.get(&entry).and_then(|entry| entry.price),
        // They cost nothing.
        ModelName::Demo | ModelName::Scripted(_) => Some(Price::default()),
        ModelName::OpenAi(_) | ModelName::Anthropic(_) | ModelName::Gemini(_) | ModelName::Address { .. } => {
            None
        }
    };
    if profile.budgets.money.is_some() && price.is_none() {
        let text = format!(
            "the profile `{}` limits money (`budget.money`), and the price of the model `{name}` is not known",
            profile.name
        );
        return Err(Failure::usage(text).hint(
            "Name an entry of haft.toml that has one: `price = { input = 3.0, output = 15.0 }` for a million tokens each.",
        ));
    }
    Ok(price)
}
