//! Project folders and before-images for the file tools: the one room that opens folders of the machine for tools.
//!
//! A tool gets a handle on the folder that the user named, never a path.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use haft_core::ports::{BlobRows, BoxFuture, ProjectRow};
use haft_core::{Digest, ErrorCode, Services, ToolError};
use haft_store::SqliteStore;
use haft_tools::files::{BeforeImages, ProjectError, ProjectFolders};

/// The folders of the projects as they stood when this process began.
#[derive(Debug)]
struct NamedFolders(HashMap<String, String>);

impl ProjectFolders for NamedFolders {
    fn open(&self, id: &str) -> Result<Dir, ProjectError> {
        let path = self.0.get(id).ok_or_else(|| ProjectError::NotFound(id.to_owned()))?;
        Dir::open_ambient_dir(path, ambient_authority())
            .map_err(|error| ProjectError::Unavailable { id: id.to_owned(), reason: error.to_string() })
    }

    fn resolved(&self, id: &str) -> Option<String> {
        let path = Path::new(self.0.get(id)?).canonicalize().ok()?;
        path.to_str().map(str::to_owned)
    }
}

/// Before-images are blobs of the store.
struct StoredImages(Arc<SqliteStore>);

impl BeforeImages for StoredImages {
    fn keep<'a>(&'a self, bytes: &'a [u8]) -> BoxFuture<'a, Result<Digest, ToolError>> {
        Box::pin(async move {
            self.0.put_blob(bytes).await.map_err(|error| {
                let code = ErrorCode::new("project.no_before_image");
                ToolError::new(code, "What the file holds now cannot be kept, so it was not changed.")
                    .with_detail(error.to_string())
            })
        })
    }
}

/// Adds both to the services that tools may use.
pub(crate) fn insert(services: &mut Services, projects: Vec<ProjectRow>, store: Arc<SqliteStore>) {
    let folders = projects.into_iter().map(|row| (row.id.to_string(), row.path)).collect();
    services.insert::<dyn ProjectFolders>(Arc::new(NamedFolders(folders)));
    services.insert::<dyn BeforeImages>(Arc::new(StoredImages(store)));
}
