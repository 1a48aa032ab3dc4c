//! TLS, to a server on loopback whose certificate was made for these tests and is trusted by nobody else.

use std::net::SocketAddr;
use std::sync::Arc;

use grove_model::Network;
use grove_plan::ModelFailure;
use grove_testkit::model_server::{ModelServer, Script};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::world::{ask, client, failure, request, runtime, settings};

const AUTHORITY: &[u8] = include_bytes!("../certificates/authority.pem");
const SERVER: &[u8] = include_bytes!("../certificates/server.pem");
const SERVER_KEY: &[u8] = include_bytes!("../certificates/server-key.pem");

/// Listens with TLS and passes on what it hears to `server`.
async fn listen(server: &ModelServer) -> SocketAddr {
    let certificate = CertificateDer::from_pem_slice(SERVER).unwrap();
    let key = PrivateKeyDer::from_pem_slice(SERVER_KEY).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let target = server.url().trim_start_matches("http://").to_owned();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // A client that does not trust us is gone.
            if let Ok(mut heard) = acceptor.accept(stream).await {
                let mut onward = TcpStream::connect(&target).await.unwrap();
                tokio::spawn(async move {
                    tokio::io::copy_bidirectional(&mut heard, &mut onward).await
                });
            }
        }
    });
    address
}

#[test]
fn a_trusted_certificate_is_talked_to_and_another_one_is_not_tried_twice() {
    runtime().block_on(async {
        let server = ModelServer::start(Script::plain()).unwrap();
        let url = format!("https://{}", listen(&server).await);
        let trusting = client(&url, Network::trusting(AUTHORITY).unwrap(), settings());
        for _ in 0..2 {
            let (answer, _) = ask(&trusting, &request("Look.")).await;
            assert_eq!(answer.unwrap().text(), "Done.");
        }
        assert_eq!(server.stats().connections, 1);
        let asked = ask(&client(&url, Network::new(), settings()), &request("Look.")).await;
        let failed = failure(&asked);
        assert_eq!((failed.failure, failed.tries), (ModelFailure::Network, 1));
        assert!(failed.message.contains("certificate"), "{failed}");
        assert_eq!(server.stats().requests, 2);
    });
}

#[test]
fn certificates_that_cannot_be_read_are_refused() {
    for pem in [
        &b""[..],
        b"no certificate",
        b"-----BEGIN CERTIFICATE-----\n?\n-----END CERTIFICATE-----\n",
    ] {
        assert!(Network::trusting(pem).is_err());
    }
}
