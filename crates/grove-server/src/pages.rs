//! Lists in pages. A cursor names the last entry of a page, so that changes in between lose nothing else.

use rmcp::ErrorData;
use rmcp::model::PaginatedRequestParams;

/// The prefix of a cursor: a text without it is not a cursor of this server.
const MARK: &str = "after:";
/// The longest cursor, in bytes: a cursor is a path, and no path is longer.
const MAX_CURSOR: usize = 16 * 1024;

/// Returns the entry that the cursor of a client's request names.
pub(crate) fn after(request: Option<PaginatedRequestParams>) -> Result<Option<String>, ErrorData> {
    let cursor = request.and_then(|request| request.cursor);
    cursor.as_deref().map(parse).transpose()
}

pub(crate) fn parse(cursor: &str) -> Result<String, ErrorData> {
    cursor
        .strip_prefix(MARK)
        .filter(|_| cursor.len() <= MAX_CURSOR)
        .map(str::to_owned)
        .ok_or_else(|| ErrorData::invalid_params("`cursor` is not one that this server gave", None))
}

pub(crate) fn cursor(last: &str) -> String {
    format!("{MARK}{last}")
}
