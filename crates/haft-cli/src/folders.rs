//! Project folders, the machine's files and before-images for the file tools: the one room that opens folders of the machine
//! for tools.
//!
//! A tool gets a handle on a folder, never a path: that of the project that the user named, or, for tools that ask by
//! themselves, the root.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use haft_core::consent::HostPlaces;
use haft_core::lorebook::Lorebooks;
use haft_core::ports::{BlobRows, BoxFuture, ProjectRow};
use haft_core::{Digest, ErrorCode, Services, ToolError};
use haft_store::SqliteStore;
use haft_tools::files::{BeforeImages, ProjectError, ProjectFolders};
use haft_tools::host::HostFiles;
use haft_tools::skills::SkillFolders;

use crate::surroundings;
use crate::world_info::HomeBooks;

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

/// The folder of skills in the home.
struct HomeSkills(PathBuf);

impl SkillFolders for HomeSkills {
    fn open(&self) -> io::Result<Option<Dir>> {
        match Dir::open_ambient_dir(&self.0, ambient_authority()) {
            Ok(folder) => Ok(Some(folder)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The machine as it stood when this process began.
struct Machine(HostPlaces);

impl HostFiles for Machine {
    fn places(&self) -> &HostPlaces {
        &self.0
    }

    fn root(&self) -> io::Result<Dir> {
        if cfg!(windows) {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "files outside of projects are not open here",
            ));
        }
        Dir::open_ambient_dir("/", ambient_authority())
    }

    fn resolved(&self, path: &str) -> io::Result<String> {
        let real = Path::new(path).canonicalize()?.into_os_string();
        real.into_string().map_err(|_| io::Error::other("its real path is not UTF-8"))
    }
}

/// The places of this machine, with Haft's home at `home`. A `TMPDIR` around the user's home is no temporary folder.
pub(crate) fn places(home: &Path) -> HostPlaces {
    let real = |path: &Path| surroundings::resolved(path).display().to_string();
    let user_home = surroundings::variable("HOME").map(|home| real(Path::new(&home)));
    let around_home = |folder: &Path| {
        user_home.as_deref().is_some_and(|home| Path::new(home).starts_with(surroundings::resolved(folder)))
    };
    let named = surroundings::variable("TMPDIR").filter(|folder| !around_home(Path::new(folder)));
    let temp_folders = ["/tmp", "/var/tmp"]
        .into_iter()
        .chain(named.as_deref())
        .filter_map(|folder| Path::new(folder).canonicalize().ok())
        .filter_map(|folder| folder.to_str().map(str::to_owned))
        .collect();
    HostPlaces {
        temp_folders,
        haft_home: real(home),
        secrets_folder: real(&home.join(".secrets")),
        user_home,
    }
}

/// Adds all of it to the services that tools may use.
pub(crate) fn insert(
    services: &mut Services,
    home: &Path,
    projects: Vec<ProjectRow>,
    store: Arc<SqliteStore>,
) {
    services.insert::<dyn HostFiles>(Arc::new(Machine(places(home))));
    services.insert::<dyn SkillFolders>(Arc::new(HomeSkills(home.join("skills"))));
    services.insert::<dyn Lorebooks>(Arc::new(HomeBooks::of(home)));
    let folders = projects.into_iter().map(|row| (row.id.to_string(), row.path)).collect();
    services.insert::<dyn ProjectFolders>(Arc::new(NamedFolders(folders)));
    services.insert::<dyn BeforeImages>(Arc::new(StoredImages(store)));
}
