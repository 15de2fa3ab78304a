//! The port of the family: where the machine's files are.

use std::io;

use cap_std::fs::Dir;
use haft_core::consent::HostPlaces;

/// The file system of this machine, opened by whoever owns it.
///
/// The same places must stand in the [`ConsentEnvironment`](haft_core::consent::ConsentEnvironment) of the session, since
/// what a call means is said by those and what it does is checked by these.
///
/// ```
/// use std::io;
/// use std::sync::Arc;
/// use cap_std::fs::Dir;
/// use haft_core::consent::HostPlaces;
/// use haft_tools::host::HostFiles;
///
/// struct Machine(HostPlaces);
///
/// impl HostFiles for Machine {
///     fn places(&self) -> &HostPlaces {
///         &self.0
///     }
///     fn root(&self) -> io::Result<Dir> {
///         Dir::open_ambient_dir("/", cap_std::ambient_authority())
///     }
///     fn resolved(&self, path: &str) -> io::Result<String> {
///         let real = std::path::Path::new(path).canonicalize()?;
///         real.into_os_string().into_string().map_err(|_| io::Error::other("its name is not UTF-8"))
///     }
/// }
///
/// let places = HostPlaces {
///     user_home: None,
///     haft_home: "/srv/haft".to_owned(),
///     secrets_folder: "/srv/haft/.secrets".to_owned(),
///     temp_folders: vec!["/tmp".to_owned()],
/// };
/// let mut services = haft_core::Services::default();
/// services.insert::<dyn HostFiles>(Arc::new(Machine(places)));
/// ```
pub trait HostFiles: Send + Sync {
    /// The places of this machine that mean something.
    fn places(&self) -> &HostPlaces;

    /// Opens the root folder, `/`. May touch the disk; called where blocking is allowed.
    ///
    /// # Errors
    /// What the system says.
    fn root(&self) -> io::Result<Dir>;

    /// The absolute path that `path` leads to over all links. Only told, never opened: the way there is walked again without
    /// following any link. May touch the disk.
    ///
    /// # Errors
    /// What the system says; [`io::ErrorKind::NotFound`] if nothing is there.
    fn resolved(&self, path: &str) -> io::Result<String>;
}
