//! Lists in pages. A cursor names the last entry of a page, so that changes in between lose nothing else.

use rmcp::ErrorData;
use rmcp::model::PaginatedRequestParams;

/// In front of what a cursor names: what has it not is no cursor of ours.
const MARK: &str = "after:";
/// A cursor is a path; nobody has longer ones.
const MAX_CURSOR: usize = 16 * 1024;

/// What a client's cursor names.
pub(crate) fn after(request: Option<PaginatedRequestParams>) -> Result<Option<String>, ErrorData> {
    let cursor = request.and_then(|request| request.cursor);
    cursor.as_deref().map(parse).transpose()
}

/// What a cursor names.
pub(crate) fn parse(cursor: &str) -> Result<String, ErrorData> {
    cursor
        .strip_prefix(MARK)
        .filter(|_| cursor.len() <= MAX_CURSOR)
        .map(str::to_owned)
        .ok_or_else(|| ErrorData::invalid_params("`cursor` is not one that this server gave", None))
}

/// The cursor of the entries after one.
pub(crate) fn cursor(last: &str) -> String {
    format!("{MARK}{last}")
}
