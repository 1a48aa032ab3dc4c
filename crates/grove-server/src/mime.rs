//! MIME types of files by their ending: enough for a client to choose a viewer.

/// Returns the MIME type of a file by the ending of its name, or else by whether it is text.
pub(crate) fn kind_of(name: &str, is_text: Option<bool>) -> &'static str {
    let ending = name.rsplit('/').next().unwrap_or(name);
    let ending = ending
        .rsplit_once('.')
        .map(|(_, ending)| ending.to_ascii_lowercase());
    match ending.as_deref().unwrap_or("") {
        "md" | "markdown" => "text/markdown",
        "html" | "htm" => "text/html",
        "css" => "text/css",
        "csv" => "text/csv",
        "js" | "mjs" | "cjs" => "text/javascript",
        "ts" | "tsx" | "jsx" => "text/typescript",
        "py" => "text/x-python",
        "sh" | "bash" | "zsh" => "text/x-shellscript",
        "xml" | "xsd" => "application/xml",
        "json" => "application/json",
        "yaml" | "yml" => "application/yaml",
        "toml" => "application/toml",
        "pdf" => "application/pdf",
        "zip" => "application/zip",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "svg" => "image/svg+xml",
        "ttf" => "font/ttf",
        "otf" => "font/otf",
        "woff2" => "font/woff2",
        _ => match is_text {
            Some(false) => "application/octet-stream",
            _ => "text/plain",
        },
    }
}
