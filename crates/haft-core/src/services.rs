//! Shared services that tools may use, found by type or by name (REG-10).
//!
//! The composition root registers them; a tool asks for the port that it needs and says clearly when it is absent.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// A map of services.
///
/// ```
/// use std::sync::Arc;
/// use haft_core::Services;
/// trait Greeter: Send + Sync { fn greet(&self) -> String; }
/// struct Polite;
/// impl Greeter for Polite { fn greet(&self) -> String { "Good day".into() } }
///
/// let mut services = Services::default();
/// services.insert::<dyn Greeter>(Arc::new(Polite));
/// assert_eq!(services.get::<dyn Greeter>().map(|g| g.greet()).as_deref(), Some("Good day"));
///
/// services.register_service("llm_client", Arc::new(7_u32));
/// assert!(services.get_service("llm_client").is_some());
/// assert!(services.get_service("nobody").is_none());
/// ```
#[derive(Clone, Default)]
pub struct Services {
    by_type: HashMap<TypeId, Arc<dyn Any + Send + Sync>>,
    by_name: HashMap<String, Arc<dyn Any + Send + Sync>>,
}

impl Services {
    /// Registers `service` under its type, usually a `dyn` port.
    pub fn insert<T: ?Sized + Send + Sync + 'static>(&mut self, service: Arc<T>) {
        self.by_type.insert(TypeId::of::<T>(), Arc::new(service));
    }

    /// The service of that type, if one is registered.
    pub fn get<T: ?Sized + Send + Sync + 'static>(&self) -> Option<&Arc<T>> {
        self.by_type.get(&TypeId::of::<T>())?.downcast_ref::<Arc<T>>()
    }

    /// Registers `service` under `name`, for extensions that share no types.
    pub fn register_service(&mut self, name: impl Into<String>, service: Arc<dyn Any + Send + Sync>) {
        self.by_name.insert(name.into(), service);
    }

    /// The service called `name`, if there is one.
    pub fn get_service(&self, name: &str) -> Option<&Arc<dyn Any + Send + Sync>> {
        self.by_name.get(name)
    }
}

impl fmt::Debug for Services {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Services")
            .field("types", &self.by_type.len())
            .field("names", &self.by_name.keys().collect::<Vec<_>>())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // REG-10
    #[test]
    fn services_are_found_by_name_and_type_or_not_at_all() {
        let mut services = Services::default();
        assert!(services.get::<str>().is_none());
        services.insert::<str>(Arc::from("hello"));
        assert_eq!(services.get::<str>().map(std::string::ToString::to_string), Some("hello".to_owned()));
        services.register_service("llm_client", Arc::new(3_i32));
        let found = services.get_service("llm_client").and_then(|any| any.downcast_ref::<i32>());
        assert_eq!(found, Some(&3));
    }
}
