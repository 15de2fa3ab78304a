//! Projects as rows.

use haft_core::ProjectId;
use haft_core::ports::{BoxFuture, ProjectRow, ProjectRows, StoreError};
use rusqlite::{OptionalExtension as _, Row, params};

use super::{SqliteStore, on, read_time, stored_time};

impl ProjectRows for SqliteStore {
    fn put_project<'a>(&'a self, project: &'a ProjectRow) -> BoxFuture<'a, Result<(), StoreError>> {
        let (project, database) = (project.clone(), self.database());
        Box::pin(self.committer.write(move |connection| {
            connection
                .prepare_cached("INSERT OR REPLACE INTO projects (id, path, added) VALUES (?1, ?2, ?3)")
                .and_then(|mut insert| {
                    insert.execute(params![project.id.as_str(), project.path, stored_time(project.added)])
                })
                .map(drop)
                .map_err(on(&database))
        }))
    }

    fn project<'a>(&'a self, id: &'a ProjectId) -> BoxFuture<'a, Result<Option<ProjectRow>, StoreError>> {
        Box::pin(async move {
            self.read(
                || None,
                |connection| {
                    connection
                        .prepare_cached("SELECT id, path, added FROM projects WHERE id = ?1")
                        .and_then(|mut select| select.query_row([id.as_str()], project_row).optional())
                        .map_err(on(&self.database()))
                },
            )
        })
    }

    fn projects(&self) -> BoxFuture<'_, Result<Vec<ProjectRow>, StoreError>> {
        Box::pin(async move {
            self.read(Vec::new, |connection| {
                connection
                    .prepare_cached("SELECT id, path, added FROM projects ORDER BY id")
                    .and_then(|mut select| select.query_map([], project_row)?.collect())
                    .map_err(on(&self.database()))
            })
        })
    }

    fn remove_project<'a>(&'a self, id: &'a ProjectId) -> BoxFuture<'a, Result<bool, StoreError>> {
        let (id, database) = (id.clone(), self.database());
        Box::pin(self.committer.write(move |connection| {
            connection
                .prepare_cached("DELETE FROM projects WHERE id = ?1")
                .and_then(|mut delete| delete.execute([id.as_str()]))
                .map(|removed| removed > 0)
                .map_err(on(&database))
        }))
    }
}

fn project_row(row: &Row<'_>) -> rusqlite::Result<ProjectRow> {
    Ok(ProjectRow {
        id: ProjectId::new(row.get::<_, String>(0)?),
        path: row.get(1)?,
        added: read_time(row.get(2)?),
    })
}
