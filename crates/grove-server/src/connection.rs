//! One connection: the protocol's methods, each answered from a snapshot that was made for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use grove_engine::view::subagent_tool::SUBAGENT;
use grove_skills::Discovery;
use grove_skills::disclosure::SessionCell;
use grove_spec::text::one_line;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelledNotificationParam, CustomRequest,
    CustomResult, ErrorCode, ExtensionCapabilities, GetPromptRequestParams, GetPromptResponse,
    Implementation, JsonObject, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, ServerCapabilities, ServerConfig,
    SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::served_library::ServedLibrary;
use crate::server::Served;
use crate::subagents::RunningCalls;
use crate::subscriptions::SubscribedResources;
use crate::work::{self, WorkHandle};
use crate::{
    changes, pages, parameters, prompts, resources, skills_extension, subagents, subscriptions,
    tools,
};

/// The instructions that a host puts before its model once, so they are short.
const INSTRUCTIONS: &str = "Skills are instructions for recurring tasks. Call `skills` for the catalog. When \
one fits the task, call `skill` with its name before you begin and follow what it says. Entries with skills \
below them answer with those; go down until one fits. When nothing fits, call `skill` with a `query`.";

/// An addition to the instructions where the tool `subagent` is offered.
const DELEGATING: &str =
    " Call `subagent` to have other agents do work, side by side or in the background.";

/// The number of connections; each holds a session.
#[derive(Debug, Default)]
pub(crate) struct OpenConnections(AtomicUsize);

pub(crate) struct ClientConnection {
    served: Served,
    under_way: RunningCalls,
    wanted: SubscribedResources,
    /// The resources of subscriptions that were acknowledged and that no task watches yet.
    acknowledged: SubscribedResources,
    /// True if a task notifies the client of changed resources.
    tells_of_resources: AtomicBool,
    session: Arc<SessionCell>,
    open: Arc<OpenConnections>,
    /// True if the client works where the server does, so that it finds the same files.
    is_beside_host: bool,
    /// Ends what was started for this connection when the connection is dropped.
    ended: CancellationToken,
    _end: DropGuard,
}

impl ClientConnection {
    /// Opens a new connection; none when `most` are open already.
    pub(crate) fn open(served: &Served, open: &Arc<OpenConnections>, most: usize) -> Option<Self> {
        let before = open.0.fetch_add(1, Ordering::Relaxed);
        if before >= most {
            open.0.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        let ended = CancellationToken::new();
        Some(Self {
            served: served.clone(),
            under_way: RunningCalls::default(),
            wanted: SubscribedResources::default(),
            acknowledged: SubscribedResources::default(),
            tells_of_resources: AtomicBool::new(false),
            session: Arc::default(),
            open: Arc::clone(open),
            is_beside_host: false,
            _end: ended.clone().drop_guard(),
            ended,
        })
    }

    /// Marks the client as one that works where the server does.
    #[must_use]
    pub(crate) fn beside_host(mut self) -> Self {
        self.is_beside_host = true;
        self
    }

    fn tools(&self) -> Vec<Tool> {
        let subagent = self.served.engine.as_ref().map(|_| subagents::tool());
        tools::all().into_iter().chain(subagent).collect()
    }

    async fn run<T: Send + 'static>(
        &self,
        context: &RequestContext<RoleServer>,
        act: impl FnOnce(&ServedLibrary, &SessionCell, &WorkHandle) -> T + Send + 'static,
    ) -> Result<T, ErrorData> {
        let (library, session) = (Arc::clone(&self.served.library), Arc::clone(&self.session));
        work::run(context, move |work| act(&library, &session, work)).await
    }
}

/// Looks at the library and answers a tool's call, with progress.
fn answered(
    library: &ServedLibrary,
    work: &WorkHandle,
    answer: impl FnOnce(&Discovery) -> Result<String, tools::CallError>,
) -> Result<String, tools::CallError> {
    work.done(0, 2);
    let discovery = library.discover();
    work.done(1, 2);
    let answer = answer(&discovery);
    work.done(2, 2);
    answer
}

impl Drop for ClientConnection {
    fn drop(&mut self) {
        self.open.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ServerHandler for ClientConnection {
    fn get_info(&self) -> ServerConfig {
        let mut extensions = ExtensionCapabilities::new();
        extensions.insert(skills_extension::EXTENSION.to_owned(), JsonObject::new());
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_extensions_with(extensions)
            .build();
        let mut config = ServerConfig::new(capabilities);
        config.server_info = Implementation::new("grove", env!("CARGO_PKG_VERSION"));
        let delegating = self.served.engine.as_ref().map_or("", |_| DELEGATING);
        config.instructions = Some(format!("{INSTRUCTIONS}{delegating}"));
        config
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools().into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments;
        let answer = match &*request.name {
            tools::SKILL => {
                self.run(&context, |library, session, work| {
                    let request: tools::SkillRequest = tools::read(arguments)?;
                    answered(library, work, |discovery| {
                        request.answer(library, discovery, session)
                    })
                })
                .await?
            }
            tools::SKILLS => {
                let client = context.client_info().filter(|_| self.is_beside_host);
                self.run(&context, move |library, session, work| {
                    let request: tools::SkillsRequest = tools::read(arguments)?;
                    answered(library, work, |discovery| {
                        let client = client.as_ref().map(|client| client.name.as_str());
                        let known = library.listed_by(client, discovery);
                        request.answer(library, discovery, session, known)
                    })
                })
                .await?
            }
            name => {
                if let Some(engine) = self.served.engine.as_ref().filter(|_| name == SUBAGENT) {
                    let answer = subagents::answer(engine, &self.under_way, arguments, &context);
                    return Ok(answer.await?.into());
                }
                let names: Vec<String> = self
                    .tools()
                    .iter()
                    .map(|it| format!("`{}`", it.name))
                    .collect();
                let (name, names) = (one_line(name), names.join(", "));
                let message = format!("there is no tool `{name}`; the tools are {names}");
                return Err(ErrorData::invalid_params(message, None));
            }
        };
        Ok(tools::result(answer).into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let after = pages::after(request)?;
        let listing = self.run(&context, move |library, _, work| {
            let discovery = library.discover();
            let paths = library.paths(&discovery.snapshot);
            resources::list(&discovery, &paths, after.as_deref(), work)
        });
        let (resources, next_cursor) = listing.await?;
        let mut result = ListResourcesResult::with_all_items(resources);
        result.next_cursor = next_cursor;
        Ok(result)
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(
            resources::templates(self.served.engine.is_some()),
        ))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let engine = self.served.engine.clone();
        let reading = self.run(&context, move |library, _, _| match &engine {
            Some(engine) if resources::run_of(&request.uri).is_some() => {
                resources::read_run(engine, &request.uri)
            }
            _ => resources::read(library, &request.uri),
        });
        let contents = reading.await??;
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let (served, uri) = (self.served.clone(), request.uri.clone());
        let stamping = self.run(&context, move |_, _, _| subscriptions::stamp(&served, &uri));
        let is_first = self.wanted.add(&request.uri, stamping.await?)?;
        if is_first && !self.tells_of_resources.swap(true, Ordering::Relaxed) {
            let (served, wanted) = (self.served.clone(), self.wanted.clone());
            let ended = self.ended.clone();
            tokio::spawn(subscriptions::tell(context.peer, served, wanted, ended));
        }
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.wanted.remove(&request.uri);
        Ok(())
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let after = pages::after(request)?;
        let client = context.client_info().filter(|_| self.is_beside_host);
        let listing = self.run(&context, move |library, _, _| {
            let discovery = library.discover_with_agents();
            let client = client.as_ref().map(|client| client.name.as_str());
            let called = library.called_in(client, &discovery);
            prompts::list(&discovery.snapshot, &called, after.as_deref())
        });
        let (prompts, next_cursor) = listing.await?;
        let mut result = ListPromptsResult::with_all_items(prompts);
        result.next_cursor = next_cursor;
        Ok(result)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let getting = self.run(&context, move |library, session, _| {
            prompts::get(library, session, &request.name, request.arguments.as_ref())
        });
        Ok(getting.await??.into())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let params = request.params;
        let answer = match request.method.as_str() {
            skills_extension::LIST => {
                self.run(&context, move |library, _, work| {
                    skills_extension::list(library, params.as_ref(), work)
                })
                .await?
            }
            skills_extension::GET => {
                self.run(&context, move |library, _, work| {
                    skills_extension::get(library, params.as_ref(), work)
                })
                .await?
            }
            method => {
                let version = context.protocol_version();
                let has_handshake = version.is_none_or(|version| version.has_initialize());
                let misfit = parameters::parameter_fault(method, params.as_ref(), has_handshake);
                let error = misfit.map_or_else(
                    || {
                        let message = format!("there is no method `{}`", one_line(method));
                        ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None)
                    },
                    |message| ErrorData::invalid_params(message, None),
                );
                Err(error)
            }
        };
        answer.map(CustomResult::new)
    }

    async fn on_cancelled(
        &self,
        cancelled: CancelledNotificationParam,
        _context: NotificationContext<RoleServer>,
    ) {
        let call = cancelled.request_id.as_ref();
        let run = call.and_then(|call| self.under_way.cancel(call));
        if let (Some(run), Some(engine)) = (run, self.served.engine.clone()) {
            // A run stops only when the client cancels the call: a client that is gone has not cancelled.
            let stopping = tokio::task::spawn_blocking(move || engine.cancel_awaited(&run));
            let _ = stopping.await;
        }
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let changes = self.served.library.changes();
        tokio::spawn(changes::tell(context.peer, changes, self.ended.clone()));
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        // The state is taken before the client hears that it is subscribed, so that a change right after is noticed.
        for uri in requested.resource_subscriptions.iter().flatten() {
            let _ = self
                .acknowledged
                .add(uri, subscriptions::stamp(&self.served, uri));
        }
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        changes::notify_subscriber(&context, &self.served, &self.acknowledged).await;
        Ok(())
    }
}
