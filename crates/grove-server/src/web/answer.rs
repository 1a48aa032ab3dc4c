//! What a browser is sent: pages, files of the page itself, streams, and the way to another page.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, LOCATION, REFERRER_POLICY,
    SET_COOKIE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderValue, Response, StatusCode};
use hyper::body::{Body, Bytes, Frame};
use tokio::sync::mpsc::Receiver;

/// The policy for pages: scripts and styles are files of this server, and nothing is loaded from elsewhere.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The body of an answer.
#[derive(Debug)]
pub(super) enum AnswerBody {
    /// The content as a whole.
    Whole(Option<Bytes>),
    /// Messages as they come.
    Stream(Receiver<Bytes>),
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let frame = |bytes: Option<Bytes>| bytes.map(|bytes| Ok(Frame::data(bytes)));
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(frame(bytes.take())),
            Self::Stream(messages) => messages.poll_recv(context).map(frame),
        }
    }
}

/// An answer to a request.
pub(super) type Answer = Response<AnswerBody>;

/// An answer with a body of a kind.
fn of_kind(status: StatusCode, kind: &'static str, body: AnswerBody) -> Answer {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    // A page of another origin is told nothing, and the page's own forms say where they come from.
    let fixed: [(HeaderName, &'static str); 6] = [
        (CONTENT_TYPE, kind),
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "same-origin"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (CACHE_CONTROL, "no-store"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // What is shown here is of no use to a page of another origin that opened this one.
    let isolating = [
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ];
    for (name, value) in isolating {
        headers.insert(name, HeaderValue::from_static(value));
    }
    answer
}

/// A page of the site.
pub(super) fn page(status: StatusCode, markup: String) -> Answer {
    let body = AnswerBody::Whole(Some(markup.into()));
    of_kind(status, "text/html; charset=utf-8", body)
}

/// A text as it is.
pub(super) fn plain(status: StatusCode, text: impl Into<Bytes>) -> Answer {
    let body = AnswerBody::Whole(Some(text.into()));
    of_kind(status, "text/plain; charset=utf-8", body)
}

/// A file of the page itself, which stays the same under its address.
pub(super) fn file(kind: &'static str, text: &'static str) -> Answer {
    let body = AnswerBody::Whole(Some(Bytes::from_static(text.as_bytes())));
    let mut answer = of_kind(StatusCode::OK, kind, body);
    let kept = HeaderValue::from_static("private, max-age=31536000, immutable");
    answer.headers_mut().insert(CACHE_CONTROL, kept);
    answer
}

/// A stream of events.
pub(super) fn stream(messages: Receiver<Bytes>) -> Answer {
    let body = AnswerBody::Stream(messages);
    of_kind(StatusCode::OK, "text/event-stream", body)
}

/// The way to another page.
pub(super) fn go_to(address: &str) -> Answer {
    let body = AnswerBody::Whole(None);
    let mut answer = of_kind(StatusCode::SEE_OTHER, "text/plain; charset=utf-8", body);
    // Addresses are made of parts that are escaped, so that each is a header value.
    if let Ok(address) = HeaderValue::from_str(address) {
        answer.headers_mut().insert(LOCATION, address);
    }
    answer
}

/// The same answer, with a cookie.
pub(super) fn with_cookie(mut answer: Answer, cookie: &str) -> Answer {
    if let Ok(cookie) = HeaderValue::from_str(cookie) {
        answer.headers_mut().insert(SET_COOKIE, cookie);
    }
    answer
}
