//! The one path of a call. Each step consumes the value of the step before, so that skipping one does not compile.
//!
//! [`AdmittedCall`] (made by the [`Gate`](crate::Gate)) → [`PreparedCall`] → [`DecidedCall`] → [`AuthorizedCall`], over an
//! [`AskingCall`] where a person is asked → [`StartedCall`], which alone reaches a tool. No step can be cloned, serialized or
//! made elsewhere; a step that fails gives [`Refused`], which becomes the call's result. An authorized call for which an earlier
//! result stands in becomes a [`RepeatedCall`] and never starts. A [`ForeseenCall`] was looked at before the gate, for the masking of
//! its turn's record; it walks the same steps.
//!
//! ```compile_fail
//! // A started call cannot be made by hand.
//! let call = haft_core::StartedCall {};
//! ```

mod decided;
mod foreseen;
mod prepared;
mod refused;
mod repeated;
mod started;

pub use decided::{AskingCall, AuthorizedCall, DecidedCall, Resolution, Standing};
pub use foreseen::{ForeseenCall, Surroundings};
pub use prepared::{AdmittedCall, InjectedValues, PreparedArguments, PreparedCall};
pub use refused::Refused;
pub use repeated::{EarlierResult, RepeatedCall, touches_of_stored};
pub use started::{NotCommitted, StartedCall};
