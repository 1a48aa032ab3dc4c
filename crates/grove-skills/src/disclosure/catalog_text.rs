//! The catalog of a conversation, with the files its text leads to.

use std::path::{Path, PathBuf};

use grove_catalog::catalog::{
    Catalog, CatalogBudget, CatalogNow, CatalogRequest, CatalogStyle, KnownSkills, TaskOrder,
    catalog, update, within_tokens,
};
use grove_catalog::disclosure::DisclosureSession;
use grove_catalog::snapshot::Snapshot;
use grove_spec::{Code, Diagnostic};

use super::{Disclosure, DisclosureError, SessionPlace};
use crate::catalog_files;
use crate::library::Discovery;
use crate::troubles::file_error;

/// The options for a catalog.
#[derive(Debug, Clone)]
pub struct CatalogOptions {
    /// The style that it is written in.
    pub style: CatalogStyle,
    /// The room that it may take.
    pub budget: CatalogBudget,
    /// The folder for index files; the one in the cache folder by default.
    pub index_dir: Option<PathBuf>,
    /// A number of tokens and the function that counts them, in place of the budget's size.
    pub exact: Option<(usize, CountTokens)>,
    /// Addresses of skills that the reader already has.
    pub exclude: Vec<String>,
    /// The order of skills for the reader's task; none for the usual order.
    pub task: Option<TaskOrder>,
}

/// Counts the tokens of a text.
pub type CountTokens = fn(&str) -> usize;

impl CatalogOptions {
    /// Returns true if a catalog keeps the budget.
    pub fn holds(&self, catalog: &Catalog) -> bool {
        let fits = match self.exact {
            Some((tokens, count)) => count(&catalog.text) <= tokens,
            None => catalog.report.used <= self.budget.size,
        };
        fits && catalog.entries.len() <= self.budget.entries
    }
}

/// A catalog that can be read: everything it leads to is there.
#[derive(Debug)]
pub struct ConversationCatalog {
    /// The catalog and its report.
    pub catalog: Catalog,
    /// The digest of the catalog before it in this session.
    pub before: Option<String>,
    known: KnownSkills,
    /// The findings made on the way.
    pub diagnostics: Vec<Diagnostic>,
}

impl ConversationCatalog {
    /// The line above the whole catalog when the one since which changes were asked for is not on record.
    pub const NOT_ON_RECORD: &str =
        "no catalog with that digest is on record: this is the whole catalog";

    /// The changes since the catalog of a digest, or since the one before with `last`; none if that one is not known
    /// any more.
    pub fn since(
        &self,
        digest: &str,
        asked: &CatalogOptions,
        discovery: &Discovery,
    ) -> Option<String> {
        let digest = match &self.before {
            Some(before) if digest == "last" => before,
            _ => digest,
        };
        let before = catalog_files::kept_known(&discovery.world.environment, digest)?;
        let now = CatalogNow {
            snapshot: &discovery.snapshot,
            exclude: &asked.exclude,
            catalog: &self.catalog,
            style: asked.style,
        };
        Some(update(&before, &self.known, &now))
    }
}

impl Disclosure<'_> {
    /// The catalog for a model. Nothing is written or remembered when not even the shortest text keeps the budget.
    pub fn catalog(&self, asked: &CatalogOptions) -> Result<ConversationCatalog, DisclosureError> {
        let snapshot = &self.discovery.snapshot;
        let tell = |session: &mut DisclosureSession| {
            let made = self.plan(snapshot, asked, session);
            if !asked.holds(&made) {
                return Err(DisclosureError::TooSmall(Box::new(made)));
            }
            self.write_index(asked, &made)?;
            let before = session.catalog.replace(made.digest.to_string());
            Ok((made, before))
        };
        // Without a session file a catalog is a session's first: it is made of what holds now.
        let ((catalog, before), finding) = if matches!(self.session, SessionPlace::Nowhere) {
            let (mut session, finding) = self.begin(snapshot);
            (tell(&mut session)?, finding)
        } else {
            self.with_session(snapshot, tell)?
        };
        let mut diagnostics: Vec<Diagnostic> = finding.into_iter().collect();
        let environment = &self.discovery.world.environment;
        let known = KnownSkills::of(snapshot, environment.home.as_deref(), &asked.exclude);
        if let Err(error) = catalog_files::keep_known(environment, &catalog, &known) {
            diagnostics.push(file_error(Code::CacheUnwritable, &error));
        }
        Ok(ConversationCatalog {
            catalog,
            before,
            known,
            diagnostics,
        })
    }

    /// The catalog that a new conversation would be given; nothing is written or remembered.
    pub fn preview(&self, asked: &CatalogOptions) -> Catalog {
        let snapshot = &self.discovery.snapshot;
        let (session, _) = self.begin(snapshot);
        self.plan(snapshot, asked, &session)
    }

    fn write_index(&self, asked: &CatalogOptions, made: &Catalog) -> Result<(), DisclosureError> {
        if made.index.is_empty() {
            return Ok(());
        }
        if let Some(folder) = &asked.index_dir {
            return Ok(catalog_files::write_index(folder, &made.index)?);
        }
        let folder = catalog_files::index_dir(&self.discovery.world.environment);
        let folder = folder.ok_or(DisclosureError::NoIndexFolder)?;
        catalog_files::forget_old_index(&folder);
        Ok(catalog_files::write_index(&folder, &made.index)?)
    }

    fn plan(
        &self,
        snapshot: &Snapshot,
        asked: &CatalogOptions,
        session: &DisclosureSession,
    ) -> Catalog {
        let environment = &self.discovery.world.environment;
        let index_dir = asked.index_dir.clone();
        let index_dir = index_dir.or_else(|| catalog_files::index_dir(environment));
        let request = CatalogRequest {
            style: asked.style,
            budget: asked.budget,
            home: environment.home.as_deref(),
            index_dir: index_dir.as_deref().unwrap_or(Path::new("")),
            pinned: &session.frozen.pinned,
            usage: &session.frozen.usage,
            expanded: session.expanded(),
            exclude: &asked.exclude,
            task: asked.task.as_ref(),
        };
        match asked.exact {
            Some((tokens, count)) => within_tokens(snapshot, &request, tokens, count),
            None => catalog(snapshot, &request),
        }
    }
}
