//! The faults in the parameters of requests that the protocol's library could not read.
//!
//! The library hands over a request with unreadable parameters like one of an unknown method. This module only tells the
//! two apart; reading parameters is the library's task.

use rmcp::model::{
    CallToolRequestMethod, ConstString as _, DiscoverRequestMethod, GetPromptRequestMethod,
    InitializeResultMethod, JsonObject, ReadResourceRequestMethod, SubscribeRequestMethod,
    SubscriptionsListenRequestMethod, UnsubscribeRequestMethod,
};
use serde_json::Value;

struct Parameter {
    name: &'static str,
    form: ParameterForm,
    is_needed: bool,
}

#[derive(Clone, Copy)]
enum ParameterForm {
    Text,
    Object,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum MethodLifecycle {
    Any,
    Handshake,
    /// The conversations in which every request brings its own context.
    NoHandshake,
}

const fn needed(name: &'static str, form: ParameterForm) -> Parameter {
    Parameter {
        name,
        form,
        is_needed: true,
    }
}

const fn optional(name: &'static str, form: ParameterForm) -> Parameter {
    Parameter {
        name,
        form,
        is_needed: false,
    }
}

/// The methods of the server whose parameters can be wrong. Lists are not among them: they are read with any parameters.
const METHODS: &[(&str, MethodLifecycle, &[Parameter])] = &[
    (
        InitializeResultMethod::VALUE,
        MethodLifecycle::Any,
        &[
            needed("protocolVersion", ParameterForm::Text),
            needed("capabilities", ParameterForm::Object),
            needed("clientInfo", ParameterForm::Object),
        ],
    ),
    (
        DiscoverRequestMethod::VALUE,
        MethodLifecycle::Any,
        &[needed("_meta", ParameterForm::Object)],
    ),
    (
        CallToolRequestMethod::VALUE,
        MethodLifecycle::Any,
        &[
            needed("name", ParameterForm::Text),
            optional("arguments", ParameterForm::Object),
        ],
    ),
    (
        GetPromptRequestMethod::VALUE,
        MethodLifecycle::Any,
        &[
            needed("name", ParameterForm::Text),
            optional("arguments", ParameterForm::Object),
        ],
    ),
    (
        ReadResourceRequestMethod::VALUE,
        MethodLifecycle::Any,
        &[needed("uri", ParameterForm::Text)],
    ),
    (
        SubscribeRequestMethod::VALUE,
        MethodLifecycle::Handshake,
        &[needed("uri", ParameterForm::Text)],
    ),
    (
        UnsubscribeRequestMethod::VALUE,
        MethodLifecycle::Handshake,
        &[needed("uri", ParameterForm::Text)],
    ),
    (
        SubscriptionsListenRequestMethod::VALUE,
        MethodLifecycle::NoHandshake,
        &[needed("notifications", ParameterForm::Object)],
    ),
];

/// Returns the fault in the parameters of a request that could not be read; none when the server has no such method.
pub(crate) fn parameter_fault(
    method: &str,
    params: Option<&Value>,
    has_handshake: bool,
) -> Option<String> {
    let absent = if has_handshake {
        MethodLifecycle::NoHandshake
    } else {
        MethodLifecycle::Handshake
    };
    let (_, _, parameters) = METHODS
        .iter()
        .find(|(name, lifecycle, _)| *name == method && *lifecycle != absent)?;
    let empty = JsonObject::new();
    let given = params.and_then(Value::as_object).unwrap_or(&empty);
    let mut misfits = parameters.iter().filter_map(|it| it.parameter_fault(given));
    let first = misfits.next();
    Some(first.unwrap_or_else(|| format!("the parameters are not what `{method}` takes")))
}

impl Parameter {
    fn parameter_fault(&self, given: &JsonObject) -> Option<String> {
        let name = self.name;
        let (fits, form) = match (given.get(name), self.form) {
            (None | Some(Value::Null), _) if self.is_needed => {
                return Some(format!("`{name}` is missing"));
            }
            (None | Some(Value::Null), _) => return None,
            (Some(value), ParameterForm::Text) => (value.is_string(), "text"),
            (Some(value), ParameterForm::Object) => (value.is_object(), "an object"),
        };
        (!fits).then(|| format!("`{name}` is not {form}"))
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::ClientRequest;
    use serde_json::json;

    use super::*;

    /// Every row is a method that the library reads when each parameter is there, and not when a needed one is missing.
    #[test]
    fn the_methods_are_read_with_what_they_need_and_not_without() {
        let is_read = |method: &str, params: &Value| {
            let request = json!({ "method": method, "params": params });
            let read = serde_json::from_value::<ClientRequest>(request).unwrap();
            !matches!(read, ClientRequest::CustomRequest(_))
        };
        for (method, lifecycle, parameters) in METHODS {
            let mut params = JsonObject::new();
            for parameter in *parameters {
                let value = match (parameter.name, parameter.form) {
                    ("clientInfo", _) => json!({ "name": "x", "version": "1" }),
                    (_, ParameterForm::Text) => json!("x"),
                    (_, ParameterForm::Object) => json!({}),
                };
                params.insert(parameter.name.to_owned(), value);
            }
            assert!(is_read(method, &Value::Object(params.clone())), "{method}");
            let has_handshake = *lifecycle != MethodLifecycle::NoHandshake;
            for parameter in parameters.iter().filter(|it| it.name != "_meta") {
                for (wrong, why) in [(None, "is missing"), (Some(json!(7)), "is not")] {
                    let mut params = params.clone();
                    params.remove(parameter.name);
                    params.extend(wrong.map(|value| (parameter.name.to_owned(), value)));
                    let params = Value::Object(params);
                    if why == "is missing" && !parameter.is_needed {
                        assert!(is_read(method, &params), "{method}: {params}");
                        continue;
                    }
                    assert!(!is_read(method, &params), "{method}: {params}");
                    let said = parameter_fault(method, Some(&params), has_handshake).unwrap();
                    let expected = format!("`{}` {why}", parameter.name);
                    assert!(said.starts_with(&expected), "{method}: {said}");
                }
            }
        }
    }

    #[test]
    fn what_the_server_has_not_has_no_parameters() {
        for (method, has_handshake, is_there) in [
            ("no/such", true, false),
            ("resources/subscribe", true, true),
            ("resources/subscribe", false, false),
            ("subscriptions/listen", true, false),
            ("subscriptions/listen", false, true),
        ] {
            let said = parameter_fault(method, None, has_handshake);
            assert_eq!(said.is_some(), is_there, "{method}");
        }
        let odd = json!({ "name": "skill", "requestState": 7 });
        assert_eq!(
            parameter_fault("tools/call", Some(&odd), true).as_deref(),
            Some("the parameters are not what `tools/call` takes")
        );
    }
}
