//! The images among the results of a request, read from the store where the model takes images (CONFLICT-33). What is not
//! sent is told in words.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use haft_core::ContentPart;
use haft_core::message::{Message, ResultMessage};
use haft_core::ports::{BlobRows, ModelRequest};
use haft_schema::Digest;

/// Kinds of images that all providers take.
const KINDS: [&str; 3] = ["image/png", "image/jpeg", "image/webp"];
/// Longest image in base64, in bytes: what Anthropic takes at most.
const LONGEST: usize = 5 << 20;
/// Most bytes of base64 in one request; the newest images come first.
const ALL: usize = 16 << 20;

/// Where images are read from; none for models that take none.
#[derive(Clone, Default)]
pub(crate) struct Gallery(Option<Arc<dyn BlobRows>>);

impl fmt::Debug for Gallery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Gallery(open)" } else { "Gallery(closed)" })
    }
}

impl Gallery {
    /// A gallery that is open only where `images` says so.
    pub(crate) fn new(images: bool, blobs: Option<Arc<dyn BlobRows>>) -> Self {
        Self(blobs.filter(|_| images))
    }

    /// The images of `request` that can be sent. One that is gone or unreadable stays a note.
    pub(crate) async fn of(&self, request: &ModelRequest) -> Images {
        let mut images = Images::default();
        let Some(blobs) = &self.0 else { return images };
        let mut left = ALL;
        for (blob, media_type) in newest_first(request) {
            if !KINDS.contains(&media_type) || images.data.contains_key(blob) {
                continue;
            }
            let Ok(Some(bytes)) = blobs.blob(blob).await else { continue };
            let length = bytes.len().div_ceil(3) * 4;
            if length <= LONGEST.min(left) {
                left -= length;
                images.data.insert(*blob, STANDARD.encode(bytes));
            }
        }
        images
    }
}

/// Digest and kind of every image among the results of `request`.
fn newest_first(request: &ModelRequest) -> Vec<(&Digest, &str)> {
    let results = request.messages.iter().rev().filter_map(|message| match message {
        Message::Results(results) => Some(results),
        Message::User(_) | Message::Assistant { .. } => None,
    });
    let parts = results.flatten().flat_map(|result| &result.images).filter_map(|part| match part {
        ContentPart::Image { blob, media_type, .. } => Some((blob, media_type.as_str())),
        ContentPart::Text { .. } => None,
    });
    parts.collect()
}

/// Images in base64, ready to be sent.
#[derive(Debug, Default)]
pub(crate) struct Images {
    data: HashMap<Digest, String>,
}

impl Images {
    /// Kind and data of the images of `result` that are sent.
    pub(crate) fn sent<'a>(&'a self, result: &'a ResultMessage) -> impl Iterator<Item = (&'a str, &'a str)> {
        result.images.iter().filter_map(|part| match part {
            ContentPart::Image { blob, media_type, .. } => {
                Some((media_type.as_str(), self.data.get(blob)?.as_str()))
            }
            ContentPart::Text { .. } => None,
        })
    }

    /// The body of `result`, with a note for every image that is not sent and that it does not tell of.
    pub(crate) fn body(&self, result: &ResultMessage) -> String {
        let mut body = result.body.clone();
        for part in &result.images {
            let ContentPart::Image { blob, media_type, description } = part else { continue };
            let note = format!("[image, {media_type}: {description}]");
            if !self.data.contains_key(blob) && !body.contains(&note) {
                body.push('\n');
                body.push_str(&note);
            }
        }
        body
    }
}
