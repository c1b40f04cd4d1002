//! The mcperfs' four profiles, as their program defines them; their page describes other gaps for
//! two of them.

/// The values with which a profile replaces the options of the same names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mutilate) struct Profile {
    /// The least number of connections over all servers and threads.
    pub(in crate::mutilate) connections_min: u32,
    pub(in crate::mutilate) records: u32,
    pub(in crate::mutilate) search: Option<&'static str>,
    pub(in crate::mutilate) keysize: &'static str,
    pub(in crate::mutilate) keyorder: &'static str,
    pub(in crate::mutilate) valuesize: &'static str,
    pub(in crate::mutilate) iadist: Option<&'static str>,
    pub(in crate::mutilate) qps: Option<u32>,
    /// True if the page describes other gaps than the program makes.
    pub(in crate::mutilate) page_differs: bool,
}

impl Profile {
    /// The number of connections of each thread to each server that makes enough in all; `given` if
    /// that is more.
    pub(in crate::mutilate) fn connections_each(&self, given: u32, pairs: u32) -> u32 {
        given.max(self.connections_min.div_ceil(pairs.max(1)))
    }
}

/// Profiles 1 to 4.
pub(in crate::mutilate) const PROFILES: [Profile; 4] = [
    Profile {
        connections_min: 4000,
        records: 1_000_000,
        search: Some("95:20000"),
        keysize: "fb_key",
        keyorder: "none",
        valuesize: "fb_value",
        iadist: Some("fb_ia"),
        qps: None,
        page_differs: false,
    },
    Profile {
        connections_min: 1000,
        records: 1_000_000,
        search: Some("99:10000"),
        keysize: "32",
        keyorder: "none",
        valuesize: "1000",
        iadist: None,
        qps: None,
        page_differs: true,
    },
    Profile {
        connections_min: 1,
        records: 1_000_000,
        search: None,
        keysize: "32",
        keyorder: "none",
        valuesize: "200",
        iadist: None,
        qps: Some(100_000),
        page_differs: true,
    },
    Profile {
        connections_min: 100,
        records: 1_000_000,
        search: Some("999:1000"),
        keysize: "32",
        keyorder: "pareto:0.0,16,0.154971",
        valuesize: "uniform:100,1000",
        iadist: None,
        qps: None,
        page_differs: false,
    },
];
