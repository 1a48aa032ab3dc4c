//! A model server, a client of it, and what the client was told.

use std::sync::Arc;
use std::time::Duration;

use grove_model::{
    Api, AskSettings, Chance, HttpModel, Message, ModelAnswer, ModelClient, ModelError, ModelEvent,
    ModelRequest, Network, Provider, RetryPolicy, Secret,
};
use grove_testkit::model_server::{ModelServer, Script};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

/// The key that must be nowhere but in the request.
pub(crate) const KEY: &str = "sk-marker-4e1f7a9c0b";
/// Longer than anything takes that works.
pub(crate) const PLENTY: Duration = Duration::from_secs(30);

pub(crate) struct World {
    pub(crate) server: ModelServer,
    pub(crate) client: HttpModel,
    pub(crate) runtime: Runtime,
}

pub(crate) type Asked = (Result<ModelAnswer, ModelError>, Vec<ModelEvent>);

impl World {
    pub(crate) fn new(script: Script) -> Self {
        Self::with(script, settings())
    }

    pub(crate) fn with(script: Script, settings: AskSettings) -> Self {
        let server = ModelServer::start(script).unwrap();
        let client = client(&server.url(), Network::new(), settings);
        Self {
            server,
            client,
            runtime: runtime(),
        }
    }

    pub(crate) fn speaking(api: Api, script: Script) -> Self {
        let server = ModelServer::start(script).unwrap();
        let client = client_of(api, &server.url(), Network::new(), settings());
        Self {
            server,
            client,
            runtime: runtime(),
        }
    }

    pub(crate) fn ask(&self, request: &ModelRequest) -> Asked {
        self.runtime.block_on(ask(&self.client, request))
    }
}

pub(crate) fn runtime() -> Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_io().enable_time().build().unwrap()
}

pub(crate) fn client(url: &str, network: Network, settings: AskSettings) -> HttpModel {
    client_of(Api::Anthropic, url, network, settings)
}

pub(crate) fn client_of(api: Api, url: &str, network: Network, settings: AskSettings) -> HttpModel {
    let endpoint = provider(api, url).endpoint(Some(Secret::new(KEY))).unwrap();
    HttpModel::new(Arc::new(network), endpoint, settings)
}

pub(crate) fn provider(api: Api, url: &str) -> Provider {
    Provider {
        name: "fake".to_owned(),
        api,
        base_url: url.to_owned(),
        key: None,
        models: Vec::new(),
        families: Vec::new(),
    }
}

/// The usual settings, but tries follow one another at once.
pub(crate) fn settings() -> AskSettings {
    AskSettings {
        retry: RetryPolicy {
            first_wait: Duration::from_millis(4),
            ..RetryPolicy::default()
        },
        chance: Chance::from_fn(|| 1 << 62),
        ..AskSettings::default()
    }
}

pub(crate) async fn ask(client: &dyn ModelClient, request: &ModelRequest) -> Asked {
    let mut events = Vec::new();
    let mut on_event = |event| events.push(event);
    let cancel = CancellationToken::new();
    let answer = client.ask(request, &mut on_event, &cancel).await;
    (answer, events)
}

pub(crate) fn request(task: &str) -> ModelRequest {
    ModelRequest {
        model: "fake-model".to_owned(),
        system: "You are a child.".to_owned(),
        messages: vec![Message::user(task)],
        max_output_tokens: 4096,
        ..ModelRequest::default()
    }
}

/// The error of the provider.
pub(crate) fn failure(asked: &Asked) -> &grove_model::ProviderError {
    match &asked.0 {
        Err(ModelError::Provider(error)) => error,
        other => panic!("{other:?} is not a failure of the provider"),
    }
}

/// The words of the answer as they came.
pub(crate) fn said(events: &[ModelEvent]) -> String {
    let texts = events.iter().filter_map(|event| match event {
        ModelEvent::TextDelta { text, .. } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

pub(crate) fn retries(events: &[ModelEvent]) -> usize {
    let retries = events
        .iter()
        .filter(|event| matches!(event, ModelEvent::Retrying { .. }));
    retries.count()
}
