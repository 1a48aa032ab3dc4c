//! The requests of other programs that are passed on, one row each: everything else is refused.
//!
//! A path is compared letter by letter as it came. What a server may take for the same path (another case, a doubled or
//! escaped slash, `..`) is another path here, and so a request that is refused.

use http::Method;

use crate::wire::ModelApi;

/// A request that is passed on to a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelayRule {
    /// A model answers it, in this format: it is counted, and refused when a limit is reached.
    Counted(ModelApi),
    /// It takes no tokens.
    Free,
}

struct RelayRow {
    of: &'static [ModelApi],
    method: Method,
    path: &'static str,
    query: &'static [&'static str],
    passing: RelayRule,
}

const ANTHROPIC: &[ModelApi] = &[ModelApi::Anthropic];
const OPENAI: &[ModelApi] = &[ModelApi::OpenaiResponses, ModelApi::OpenaiChat];

const ROWS: [RelayRow; 6] = [
    RelayRow {
        of: ANTHROPIC,
        method: Method::POST,
        path: "/v1/messages",
        query: &["beta"],
        passing: RelayRule::Counted(ModelApi::Anthropic),
    },
    RelayRow {
        of: ANTHROPIC,
        method: Method::POST,
        path: "/v1/messages/count_tokens",
        query: &["beta"],
        passing: RelayRule::Free,
    },
    RelayRow {
        of: ANTHROPIC,
        method: Method::GET,
        path: "/v1/models",
        query: &["beta", "limit", "after_id", "before_id"],
        passing: RelayRule::Free,
    },
    RelayRow {
        of: OPENAI,
        method: Method::POST,
        path: "/v1/responses",
        query: &[],
        passing: RelayRule::Counted(ModelApi::OpenaiResponses),
    },
    RelayRow {
        of: OPENAI,
        method: Method::POST,
        path: "/v1/chat/completions",
        query: &[],
        passing: RelayRule::Counted(ModelApi::OpenaiChat),
    },
    RelayRow {
        of: OPENAI,
        method: Method::GET,
        path: "/v1/models",
        query: &["client_version", "limit", "after"],
        passing: RelayRule::Free,
    },
];

impl RelayRow {
    fn allows(&self, query: &str) -> bool {
        query.is_empty()
            || query.split('&').all(|part| {
                let (name, value) = part.split_once('=').unwrap_or((part, ""));
                let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
                self.query.contains(&name) && value.bytes().all(is_plain)
            })
    }
}

impl RelayRule {
    /// The way in which a request to a provider of this interface is passed on; none where it is refused. The target
    /// is the path with its query.
    pub fn of(api: ModelApi, method: &Method, target: &str) -> Option<Self> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut rows = ROWS.iter();
        let is_it = |row: &&RelayRow| {
            row.of.contains(&api) && row.method == *method && row.path == path && row.allows(query)
        };
        rows.find(is_it).map(|row| row.passing)
    }

    /// The methods and paths that are passed on to a provider of this interface.
    pub fn all(api: ModelApi) -> impl Iterator<Item = String> {
        let rows = ROWS.iter().filter(move |row| row.of.contains(&api));
        rows.map(|row| format!("{} {}", row.method, row.path))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const APIS: [ModelApi; 3] = [
        ModelApi::Anthropic,
        ModelApi::OpenaiResponses,
        ModelApi::OpenaiChat,
    ];

    #[test]
    fn what_is_in_the_table_passes_and_nothing_beside_it() {
        let counted = |api| Some(RelayRule::Counted(api));
        let (post, get) = (Method::POST, Method::GET);
        for (api, method, target, expected) in [
            (
                ModelApi::Anthropic,
                &post,
                "/v1/messages",
                counted(ModelApi::Anthropic),
            ),
            (
                ModelApi::Anthropic,
                &post,
                "/v1/messages?beta=true",
                counted(ModelApi::Anthropic),
            ),
            (
                ModelApi::Anthropic,
                &post,
                "/v1/messages/count_tokens?beta=true",
                Some(RelayRule::Free),
            ),
            (
                ModelApi::Anthropic,
                &get,
                "/v1/models?limit=1000",
                Some(RelayRule::Free),
            ),
            (
                ModelApi::OpenaiResponses,
                &post,
                "/v1/responses",
                counted(ModelApi::OpenaiResponses),
            ),
            (
                ModelApi::OpenaiResponses,
                &get,
                "/v1/models?client_version=0.166.0",
                Some(RelayRule::Free),
            ),
            (
                ModelApi::OpenaiChat,
                &post,
                "/v1/chat/completions",
                counted(ModelApi::OpenaiChat),
            ),
            (ModelApi::OpenaiChat, &post, "/v1/messages", None),
            (ModelApi::Anthropic, &post, "/v1/chat/completions", None),
            (ModelApi::Anthropic, &get, "/v1/messages", None),
            (ModelApi::Anthropic, &Method::HEAD, "/", None),
            (ModelApi::Anthropic, &post, "/v1/messages/", None),
            (ModelApi::Anthropic, &post, "//v1/messages", None),
            (ModelApi::Anthropic, &post, "/v1//messages", None),
            (ModelApi::Anthropic, &post, "/v1/%6dessages", None),
            (ModelApi::Anthropic, &post, "/v1%2fmessages", None),
            (ModelApi::Anthropic, &post, "/v1/x/../messages", None),
            (ModelApi::Anthropic, &post, "/v1/./messages", None),
            (ModelApi::Anthropic, &post, "/V1/Messages", None),
            (ModelApi::Anthropic, &post, "/v1/messages;x", None),
            (ModelApi::Anthropic, &post, "/v1/messages?beta=%2f", None),
            (ModelApi::Anthropic, &post, "/v1/messages?x=1", None),
            (ModelApi::Anthropic, &post, "/v1/messages?beta=true?x", None),
            (ModelApi::Anthropic, &post, "/x/v1/messages", None),
            (ModelApi::Anthropic, &post, "/messages", None),
            (ModelApi::Anthropic, &post, "/v1/messages/batches", None),
            (ModelApi::Anthropic, &post, "/v1/complete", None),
            (
                ModelApi::Anthropic,
                &get,
                "/v1/organizations/api_keys",
                None,
            ),
            (
                ModelApi::OpenaiResponses,
                &get,
                "/v1/responses/resp_1",
                None,
            ),
            (
                ModelApi::OpenaiResponses,
                &post,
                "/v1/responses/compact",
                None,
            ),
            (ModelApi::OpenaiChat, &post, "/v1/embeddings", None),
            (ModelApi::OpenaiChat, &post, "/v1/images/generations", None),
            (ModelApi::OpenaiChat, &post, "/v1/completions", None),
        ] {
            assert_eq!(
                RelayRule::of(api, method, target),
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
                let passing = RelayRule::of(api, &row.method, &changed);
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
                prop_assert_eq!(RelayRule::of(api, &method, row.path), None);
            }
        }
    }
}
