//! The folders of one case, and the ports by which file tools reach them.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use haft_core::consent::HostPlaces;
use haft_core::mask::Mask;
use haft_core::ports::BlobRows;
use haft_core::{BoxFuture, Digest, Services, ToolError};
use haft_store::MemoryStore;
use haft_tools::files::{BeforeImages, ProjectError, ProjectFolders};
use haft_tools::host::HostFiles;
use tempfile::TempDir;

/// A project, a user's home with Haft's own in it, a temporary folder, and a folder that is none of these.
pub(crate) struct Ground {
    root: PathBuf,
    _folder: TempDir,
}

impl Ground {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for inside in ["project", "home/.haft/.secrets", "tmp", "elsewhere"] {
            std::fs::create_dir_all(root.join(inside)).unwrap();
        }
        Self { root, _folder: folder }
    }

    pub(crate) fn path(&self, inside: &str) -> String {
        self.root.join(inside).to_str().unwrap().to_owned()
    }

    /// `text` with `{project}`, `{home}`, `{tmp}` and `{elsewhere}` as paths.
    pub(crate) fn placed(&self, text: &str) -> String {
        ["project", "home", "tmp", "elsewhere"]
            .iter()
            .fold(text.to_owned(), |text, name| text.replace(&format!("{{{name}}}"), &self.path(name)))
    }

    pub(crate) fn write(&self, files: &BTreeMap<String, String>) {
        for (path, content) in files {
            let path = self.root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
    }

    pub(crate) fn link(&self, links: &BTreeMap<String, String>) {
        for (path, target) in links {
            let path = self.root.join(path);
            if path.is_dir() {
                std::fs::remove_dir_all(&path).unwrap();
            } else if path.exists() {
                std::fs::remove_file(&path).unwrap();
            }
            std::os::unix::fs::symlink(self.placed(target), path).unwrap();
        }
    }

    pub(crate) fn hard_link(&self, links: &BTreeMap<String, String>) {
        for (path, file) in links {
            std::fs::hard_link(self.root.join(file), self.root.join(path)).unwrap();
        }
    }

    /// All that is at `inside` and below, as text that differs if anything does.
    pub(crate) fn look(&self, inside: &str) -> String {
        fn walk(path: &Path, into: &mut String) {
            let Ok(meta) = path.symlink_metadata() else {
                into.push_str(&format!("{} is not there\n", path.display()));
                return;
            };
            if meta.is_dir() {
                into.push_str(&format!("{}\n", path.display()));
                let mut names: Vec<_> =
                    std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
                names.sort();
                names.iter().for_each(|path| walk(path, into));
            } else {
                let content = std::fs::read_link(path).map(|target| target.display().to_string());
                let content =
                    content.unwrap_or_else(|_| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into());
                into.push_str(&format!("{}: {content}\n", path.display()));
            }
        }
        let mut seen = String::new();
        walk(&self.root.join(inside), &mut seen);
        seen
    }

    pub(crate) fn places(&self) -> HostPlaces {
        HostPlaces {
            user_home: Some(self.path("home")),
            haft_home: self.path("home/.haft"),
            secrets_folder: self.path("home/.haft/.secrets"),
            temp_folders: vec![self.path("tmp")],
        }
    }

    pub(crate) fn services(&self, secrets: &BTreeMap<String, String>, store: &Arc<MemoryStore>) -> Services {
        let mut services = Services::default();
        services.insert(Arc::new(Mask::new(secrets.clone()).unwrap()));
        services.insert::<dyn HostFiles>(Arc::new(Machine(self.places())));
        services.insert::<dyn ProjectFolders>(Arc::new(Project(self.path("project"))));
        services.insert::<dyn BeforeImages>(Arc::new(Images(store.clone())));
        services
    }
}

struct Machine(HostPlaces);

impl HostFiles for Machine {
    fn places(&self) -> &HostPlaces {
        &self.0
    }

    fn root(&self) -> io::Result<Dir> {
        Dir::open_ambient_dir("/", ambient_authority())
    }

    fn resolved(&self, path: &str) -> io::Result<String> {
        Ok(Path::new(path).canonicalize()?.to_str().unwrap().to_owned())
    }
}

struct Project(String);

impl ProjectFolders for Project {
    fn open(&self, id: &str) -> Result<Dir, ProjectError> {
        let lost = |error: io::Error| ProjectError::Unavailable { id: id.into(), reason: error.to_string() };
        match id {
            "demo" => Dir::open_ambient_dir(&self.0, ambient_authority()).map_err(lost),
            _ => Err(ProjectError::NotFound(id.to_owned())),
        }
    }

    fn resolved(&self, _: &str) -> Option<String> {
        Some(self.0.clone())
    }
}

/// Before-images are blobs of the store.
struct Images(Arc<MemoryStore>);

impl BeforeImages for Images {
    fn keep<'a>(&'a self, bytes: &'a [u8]) -> BoxFuture<'a, Result<Digest, ToolError>> {
        Box::pin(async move { Ok(self.0.put_blob(bytes).await.unwrap()) })
    }
}
