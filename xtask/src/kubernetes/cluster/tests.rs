//! Names that pods ask for, and the files of the cluster.

use super::*;

#[test]
fn every_value_that_a_file_or_a_program_needs_is_filled_in() {
    let cluster = Cluster {
        folder: PathBuf::from("/a folder"),
        logs: PathBuf::from("/logs"),
        pause: "pause:latest",
        children: Vec::new(),
    };
    let files = FILES.map(|(_, text)| text);
    let lines = [CONTAINERD, ETCD, API_SERVER, CONTROLLERS, SCHEDULER, KUBELET];
    for text in files.iter().chain(&lines) {
        assert!(!cluster.filled(text).contains('$'), "{text}");
    }
    for text in files {
        assert!(!text.contains("10.77.0.1"), "the node's address has one place");
    }
}

#[test]
fn a_name_is_that_of_a_service_and_has_the_addresses_of_its_pods() {
    let slices = serde_json::json!({"items": [{
        "metadata": {"namespace": "n", "labels": {"kubernetes.io/service-name": "cache"}},
        "endpoints": [
            {"addresses": ["10.0.0.1"], "conditions": {"ready": true}},
            {"addresses": ["10.0.0.2"], "conditions": {"ready": false}},
            {"addresses": ["10.0.0.3"]},
        ],
    }]});
    let known = addresses(&slices, "cache.n.svc.cluster.local").unwrap();
    assert_eq!(known, [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 3)]);
    for unknown in ["cache", "cache.m.svc.cluster.local", "other.n.svc.cluster.local"] {
        assert_eq!(addresses(&slices, unknown), None, "{unknown}");
    }
}
