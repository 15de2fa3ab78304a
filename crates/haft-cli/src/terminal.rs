//! The terminal as a surface: questions to the person, the lines of a conversation, and what is shown while a run works.
//!
//! It decides nothing: answers go to the consent service, lines to the command.

pub(crate) mod editor;
pub(crate) mod fold;
pub(crate) mod history;
pub(crate) mod keys;
pub(crate) mod pages;
pub(crate) mod question;
pub(crate) mod screen;
pub(crate) mod surface;
