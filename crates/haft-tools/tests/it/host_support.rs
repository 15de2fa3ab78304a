//! A small machine for the host tools: a home with Haft's own home in it, a temporary folder, and a folder beside them.

use std::io;
use std::path::Path;
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use haft_core::consent::HostPlaces;
use haft_core::{Grant, GrantId, Lifetime, Scope, Services, SessionId, Timestamp, ToolId};
use haft_tools::files::BeforeImages;
use haft_tools::host::{self, HostFiles};

use crate::support::{Ground, Invocation};

/// The files of the test below the folder `at`, with all links resolved.
pub(crate) struct Machine {
    pub(crate) ground: Ground,
    pub(crate) at: String,
}

impl Machine {
    pub(crate) fn new() -> Self {
        let ground = Ground::new();
        for folder in ["home/.haft/.secrets", "tmp", "a/b"] {
            ground.root.create_dir_all(folder).unwrap();
        }
        ground.root.write("home/.haft/.secrets/key", "s3cret").unwrap();
        ground.root.write("home/.haft/.secrets/other", "0ther").unwrap();
        let at = Path::new(&ground.path).canonicalize().unwrap().to_str().unwrap().to_owned();
        Self { ground, at }
    }

    /// The path of something of the test.
    pub(crate) fn path(&self, inside: &str) -> String {
        format!("{}/{inside}", self.at)
    }

    pub(crate) fn places(&self) -> HostPlaces {
        HostPlaces {
            user_home: Some(self.path("home")),
            haft_home: self.path("home/.haft"),
            secrets_folder: self.path("home/.haft/.secrets"),
            temp_folders: vec![self.path("tmp")],
        }
    }

    pub(crate) fn services(&self) -> Services {
        self.services_in(self.places())
    }

    fn services_in(&self, places: HostPlaces) -> Services {
        let mut services = Services::default();
        services.insert::<dyn HostFiles>(Arc::new(Files(places)));
        services.insert::<dyn BeforeImages>(self.ground.images());
        services
    }

    pub(crate) fn invocation(&self) -> Invocation {
        self.invocation_in(&self.places())
    }

    /// With other places than those that the test has.
    pub(crate) fn invocation_in(&self, places: &HostPlaces) -> Invocation {
        let services = self.services_in(places.clone());
        Invocation::new(host::tools().unwrap(), services).on_host(places.clone())
    }

    /// The text of a file of the test, if it is there.
    pub(crate) fn file(&self, inside: &str) -> Option<String> {
        self.ground.root.read_to_string(inside).ok()
    }

    /// Everything that is below `inside`.
    pub(crate) fn names(&self, inside: &str) -> Vec<String> {
        let entries = self.ground.root.read_dir(inside).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

struct Files(HostPlaces);

impl HostFiles for Files {
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

/// A yes of the session for a tool of the family.
pub(crate) fn grant(tool: &str, scope: Scope) -> Grant {
    let lifetime = Lifetime::Session(SessionId::new("s_1"));
    Grant::new(GrantId::new("g_1"), ToolId::builtin(tool), scope, lifetime, "test", Timestamp(0))
}
