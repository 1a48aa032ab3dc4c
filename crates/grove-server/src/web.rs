//! The live page: runs and the library in a browser on this machine, for those who have a link.
//!
//! Every page is written here, and can be read without a script. What a browser does calls the same functions of the engine as a
//! terminal and an MCP client do. A small script puts parts of a page in place as they change; it holds no state. The page of an
//! exported run is the same page, without actions and without a script.
//!
//! Not here: what may be done with a run, which the engine says, and listening on anything but this machine.

mod access;
mod actions;
mod answer;
mod asked;
mod child_page;
mod diff;
mod exporting;
mod frame;
mod html;
mod ledger;
mod library_page;
mod list_page;
mod markdown;
mod plots;
mod rows;
mod run_page;
mod scene;
mod serving;
mod site;
mod start_page;
mod stream;
mod transcript_page;
mod viewer;
mod watching;
mod wording;

pub use access::{AccessError, PageRight, WebAccess};
pub use exporting::{ExportedPage, exported_page};
pub use serving::{WebError, WebOptions, serve};
