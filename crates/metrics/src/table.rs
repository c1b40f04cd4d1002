//! The lists of counters. Each list passes its rows to a macro: this crate makes counters and their
//! sums of them, and `record` makes members of a record and their merge. All merge by adding.
//!
//! A row has the meaning of a number, the name of its counter, and its name in a record.

/// The counters of operations that are single numbers.
///
/// `told` lists those in a record, in its order: `counter => member: type of one server's member`.
/// The type is an option if operations without a chosen server may count. `#[missing = default]`
/// marks members that older records lack. `second` names the member of a row over time and its
/// meaning there, if rows have it. `untold` lists the counters that a record lacks.
#[macro_export]
macro_rules! counters {
    ($make:ident) => {
        $make! {
            told {
                /// Operations that the schedule intended.
                intended => intended: Option<u64>;
                /// Operations of which at least one byte was sent.
                sent => sent: u64,
                    second sent
                        "Operations of which something was sent, whether or not they ended.";
                /// Answered, and not with an error: a miss is an answer.
                answered => answered: u64, second answered "Answered, and not with an error.";
                /// Answered with an error.
                failed => failed: u64, second failed "Answered with an error.";
                /// Answers among `answered` that were an error, if the scenario counts them so.
                #[missing = default]
                refused => refused: u64;
                /// Without a complete answer at the deadline.
                timed_out => timed_out: Option<u64>,
                    second timed_out "Without a complete answer at their deadline.";
                /// Timed-out operations that were never sent.
                timed_out_queued => timed_out_queued: Option<u64>;
                /// Carried by a connection that was lost.
                lost => lost: Option<u64>, second lost "Carried by a connection that was lost.";
                /// Not sent: because every connection was full, or because the window had ended.
                dropped => dropped: Option<u64>, second dropped "Not sent.";
                /// Dropped operations that were due and not sent when the window ended.
                #[missing = default]
                dropped_at_end => dropped_at_end: Option<u64>;
                /// Sent without asking for an answer.
                unacknowledged => unacknowledged: u64,
                    second unacknowledged "Sent without asking for an answer.";
                /// Without an outcome when the run ended early or, if nothing is sent after the
                /// window, one second after its end.
                abandoned => abandoned: Option<u64>,
                    second abandoned "Without an outcome when the run ended.";
                /// Answers that came after their operation had timed out; discarded.
                late_replies => late_replies: u64;
                /// Keys requested by the get and gets that were sent, answered or not: the server
                /// counts them as `cmd_get`.
                #[missing = default]
                keys_asked => keys_asked: u64;
                /// Keys requested by answered reads.
                keys => keys: u64;
                /// Keys of answered reads that were found.
                hits => hits: u64, second hits "Keys found.";
                /// Keys of answered reads that were not found.
                misses => misses: u64, second misses "Keys not found.";
                /// Values read, including those in late answers.
                #[missing = default]
                values => values_read: u64;
                /// Bytes of the values read, without those of the protocol around them.
                #[missing = default]
                value_bytes => value_bytes_read: u64;
                /// Time in the measured window in which workers had operations in flight, in
                /// nanoseconds: the sum over all workers.
                #[missing = default]
                in_flight_ns => in_flight_ns: Option<u64>;
                /// Bytes sent.
                bytes_sent => bytes_sent: u64, second bytes_sent "Bytes of requests.";
                /// Bytes received.
                bytes_received => bytes_received: u64,
                    second bytes_received "Bytes of replies that ended an operation.";
            }
            untold {
                /// Intended copies of writes beyond the first of each.
                copies;
                /// Values read whose length differs from the plan's, if lengths are compared.
                resized;
                /// Requests on the wire that the server counts as storage commands.
                storage_commands;
                /// Commands on the wire that set an expiry anew.
                touch_commands;
                /// Keys of answered get-and-touch requests that were not found.
                touching_misses;
                /// Keys of reads that have an item without a value, which a client that has won
                /// makes: a miss, which the server counts as a hit.
                placeholders;
                /// Response times of answers to operations that are not measured, in nanoseconds.
                unmeasured_ns;
                /// Values that were verified.
                verified;
                /// Keys whose values were to be verified and that were not found, without those
                /// that may have expired.
                verify_misses;
            }
        }
    };
}

/// The events of connections; each row is a counter and a member of a record.
#[macro_export]
macro_rules! connection_counters {
    ($make:ident) => {
        $make! {
            /// Opened.
            opened;
            /// Could not be opened.
            failed;
            /// Open, and lost.
            lost;
            /// Opened with a full handshake of TLS.
            #[missing = default]
            handshakes_full;
            /// Opened with a session of TLS that was resumed.
            #[missing = default]
            handshakes_resumed;
        }
    };
}

/// The classes of unusual datagrams of replies; each row is a class and the member of a record that
/// counts it.
#[macro_export]
macro_rules! datagram_classes {
    ($make:ident) => {
        $make! {
            /// Arrived before one that they should follow.
            Disordered => disordered;
            /// Arrived again.
            Duplicate => duplicate;
            /// Arrived after their operation had timed out.
            Late => late;
            /// Missing from replies of which a part arrived in time; other losses are unknown.
            Lost => lost;
            /// Belonged to no request.
            Foreign => foreign;
        }
    };
}

/// The classes of faults that verification finds; each row is a class and the member of a record
/// that counts it. First faults of verified values, then of their presence or absence.
#[macro_export]
macro_rules! verify_classes {
    ($make:ident) => {
        $make! {
            of_values {
                /// Values with bytes that no value of their key has.
                Corrupt => corrupt;
                /// Values of another key, or under a key that was not requested.
                WrongKey => wrong_key;
                /// Values older than one that was certainly stored before they were requested.
                Stale => stale;
                /// Values that are only the beginning of a value of their key.
                Truncated => truncated;
            }
            of_presence {
                /// Keys that were found although they had certainly expired.
                Expired => expired_get;
                /// Keys that were not found although they had certainly not expired.
                Unexpired => unexpired_unget;
            }
        }
    };
}
