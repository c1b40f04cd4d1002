//! Every option's scenario.
