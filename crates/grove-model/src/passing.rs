//! The requests of other programs that are passed on, one row each: everything else is refused.
//!
//! A path is compared letter by letter as it came. What a server may take for the same path (another case, a doubled or
//! escaped slash, `..`) is another path here, and so a request that is refused.

use http::Method;

use crate::wire::Api;

/// A request that is passed on to a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passing {
    /// A model answers it, in this format: it is counted, and refused when a limit is reached.
    Counted(Api),
    /// It takes no tokens.
    Free,
}

struct PassingRow {
    of: &'static [Api],
    method: Method,
    path: &'static str,
    /// The names that its query may have.
    query: &'static [&'static str],
    passing: Passing,
}

const ANTHROPIC: &[Api] = &[Api::Anthropic];
const OPENAI: &[Api] = &[Api::OpenaiResponses, Api::OpenaiChat];

const ROWS: [PassingRow; 6] = [
    PassingRow {
        of: ANTHROPIC,
        method: Method::POST,
        path: "/v1/messages",
        query: &["beta"],
        passing: Passing::Counted(Api::Anthropic),
    },
    PassingRow {
        of: ANTHROPIC,
        method: Method::POST,
        path: "/v1/messages/count_tokens",
        query: &["beta"],
        passing: Passing::Free,
    },
    PassingRow {
        of: ANTHROPIC,
        method: Method::GET,
        path: "/v1/models",
        query: &["beta", "limit", "after_id", "before_id"],
        passing: Passing::Free,
    },
    PassingRow {
        of: OPENAI,
        method: Method::POST,
        path: "/v1/responses",
        query: &[],
        passing: Passing::Counted(Api::OpenaiResponses),
    },
    PassingRow {
        of: OPENAI,
        method: Method::POST,
        path: "/v1/chat/completions",
        query: &[],
        passing: Passing::Counted(Api::OpenaiChat),
    },
    PassingRow {
        of: OPENAI,
        method: Method::GET,
        path: "/v1/models",
        query: &["client_version", "limit", "after"],
        passing: Passing::Free,
    },
];

impl PassingRow {
    fn allows(&self, query: &str) -> bool {
        query.is_empty()
            || query.split('&').all(|part| {
                let (name, value) = part.split_once('=').unwrap_or((part, ""));
                let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
                self.query.contains(&name) && value.bytes().all(is_plain)
            })
    }
}

impl Passing {
    /// The way in which a request to a provider of this interface is passed on; none where it is refused. The target
    /// is the path with its query.
    pub fn of(api: Api, method: &Method, target: &str) -> Option<Self> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut rows = ROWS.iter();
        let is_it = |row: &&PassingRow| {
            row.of.contains(&api) && row.method == *method && row.path == path && row.allows(query)
        };
        rows.find(is_it).map(|row| row.passing)
    }

    /// The methods and paths that are passed on to a provider of this interface.
    pub fn all(api: Api) -> impl Iterator<Item = String> {
        let rows = ROWS.iter().filter(move |row| row.of.contains(&api));
        rows.map(|row| format!("{} {}", row.method, row.path))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const APIS: [Api; 3] = [Api::Anthropic, Api::OpenaiResponses, Api::OpenaiChat];

    #[test]
    fn what_is_in_the_table_passes_and_nothing_beside_it() {
        let counted = |api| Some(Passing::Counted(api));
        let (post, get) = (Method::POST, Method::GET);
        for (api, method, target, expected) in [
            (
                Api::Anthropic,
                &post,
                "/v1/messages",
                counted(Api::Anthropic),
            ),
            (
                Api::Anthropic,
                &post,
                "/v1/messages?beta=true",
                counted(Api::Anthropic),
            ),
            (
                Api::Anthropic,
                &post,
                "/v1/messages/count_tokens?beta=true",
                Some(Passing::Free),
            ),
            (
                Api::Anthropic,
                &get,
                "/v1/models?limit=1000",
                Some(Passing::Free),
            ),
            (
                Api::OpenaiResponses,
                &post,
                "/v1/responses",
                counted(Api::OpenaiResponses),
            ),
            (
                Api::OpenaiResponses,
                &get,
                "/v1/models?client_version=0.166.0",
                Some(Passing::Free),
            ),
            (
                Api::OpenaiChat,
                &post,
                "/v1/chat/completions",
                counted(Api::OpenaiChat),
            ),
            (Api::OpenaiChat, &post, "/v1/messages", None),
            (Api::Anthropic, &post, "/v1/chat/completions", None),
            (Api::Anthropic, &get, "/v1/messages", None),
            (Api::Anthropic, &Method::HEAD, "/", None),
            (Api::Anthropic, &post, "/v1/messages/", None),
            (Api::Anthropic, &post, "//v1/messages", None),
            (Api::Anthropic, &post, "/v1//messages", None),
            (Api::Anthropic, &post, "/v1/%6dessages", None),
            (Api::Anthropic, &post, "/v1%2fmessages", None),
            (Api::Anthropic, &post, "/v1/x/../messages", None),
            (Api::Anthropic, &post, "/v1/./messages", None),
            (Api::Anthropic, &post, "/V1/Messages", None),
            (Api::Anthropic, &post, "/v1/messages;x", None),
            (Api::Anthropic, &post, "/v1/messages?beta=%2f", None),
            (Api::Anthropic, &post, "/v1/messages?x=1", None),
            (Api::Anthropic, &post, "/v1/messages?beta=true?x", None),
            (Api::Anthropic, &post, "/x/v1/messages", None),
            (Api::Anthropic, &post, "/messages", None),
            (Api::Anthropic, &post, "/v1/messages/batches", None),
            (Api::Anthropic, &post, "/v1/complete", None),
            (Api::Anthropic, &get, "/v1/organizations/api_keys", None),
            (Api::OpenaiResponses, &get, "/v1/responses/resp_1", None),
            (Api::OpenaiResponses, &post, "/v1/responses/compact", None),
            (Api::OpenaiChat, &post, "/v1/embeddings", None),
            (Api::OpenaiChat, &post, "/v1/images/generations", None),
            (Api::OpenaiChat, &post, "/v1/completions", None),
        ] {
            assert_eq!(
                Passing::of(api, method, target),
                expected,
                "{method} {target}"
            );
        }
    }

    proptest! {
        #[test]
        fn a_changed_path_is_another_path(
            row in 0..ROWS.len(),
            at in any::<prop::sample::Index>(),
            put in "[/.%A-Za-z0-9;:@\\\\ _-]{1,4}",
        ) {
            let row = &ROWS[row];
            let (before, after) = row.path.split_at(at.index(row.path.len() + 1));
            let changed = format!("{before}{put}{after}");
            for api in APIS {
                let passing = Passing::of(api, &row.method, &changed);
                let is_row = ROWS.iter().any(|row| row.path == changed);
                prop_assert!(passing.is_none() || is_row, "{changed}");
            }
        }

        #[test]
        fn every_other_method_is_refused(row in 0..ROWS.len(), method in "[A-Z]{1,8}") {
            let row = &ROWS[row];
            let method: Method = method.parse().unwrap();
            prop_assume!(method != row.method);
            for api in APIS {
                prop_assert_eq!(Passing::of(api, &method, row.path), None);
            }
        }
    }
}
