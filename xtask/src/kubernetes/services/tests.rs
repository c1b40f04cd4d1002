//! Names that pods ask for.

use super::*;

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
