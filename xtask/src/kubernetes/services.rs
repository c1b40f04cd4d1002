//! Names of services, answered with the addresses of their pods from the cluster's API.

use super::NODE;
use crate::commands::told;
use crate::names;
use serde_json::Value;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// The time for which an answer of the API about a name is kept.
const NAME_AGE_MAX: Duration = Duration::from_secs(1);

/// Answers queries on the node until this process ends; `cluster` is the folder of the cluster.
///
/// # Errors
/// If the node's port is taken.
pub(super) fn answer(cluster: &Path) -> Result<(), String> {
    let socket = UdpSocket::bind((NODE, 53)).map_err(|error| format!("{NODE}:53: {error}"))?;
    let mut asked = Command::new(cluster.join("bin/kubectl"));
    asked.env("KUBECONFIG", cluster.join("admin.conf")).env("HOME", cluster);
    asked.args(["get", "endpointslices", "--all-namespaces", "--output", "json"]);
    let (mut slices, mut since) = (Value::Null, None);
    names::serve(socket, move |name| {
        if since.is_none_or(|since: Instant| since.elapsed() > NAME_AGE_MAX) {
            let text = told(&mut asked).unwrap_or_default();
            slices = serde_json::from_str(&text).unwrap_or_default();
            since = Some(Instant::now());
        }
        addresses(&slices, name)
    });
    Ok(())
}

/// The addresses of a service's pods (`SERVICE.NAMESPACE.svc.cluster.local`); `None` if there is no
/// such service.
fn addresses(slices: &Value, name: &str) -> Option<Vec<Ipv4Addr>> {
    let (service, namespace) = name.strip_suffix(".svc.cluster.local")?.split_once('.')?;
    let of_service = |slice: &&Value| {
        let data = &slice["metadata"];
        data["namespace"] == namespace && data["labels"]["kubernetes.io/service-name"] == service
    };
    let mut slices = slices["items"].as_array()?.iter().filter(of_service).peekable();
    slices.peek()?;
    let points = slices.filter_map(|slice| slice["endpoints"].as_array()).flatten();
    // An endpoint's maker need not state that it is ready.
    let ready = points.filter(|point| point["conditions"]["ready"] != false);
    let texts = ready.filter_map(|point| point["addresses"].as_array()).flatten();
    Some(texts.filter_map(|text| text.as_str()?.parse().ok()).collect())
}

#[cfg(test)]
mod tests;
