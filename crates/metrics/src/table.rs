//! The lists of what is counted. Each hands its rows to the macro that it is given: this crate
//! makes counters of them and their sums, `schema` what a record says of them and how records
//! merge. All of them merge by adding.
//!
//! A row is what the number means, where it is counted, and what a record calls it.

/// The counters of operations that are single numbers.
///
/// `told` are those that a record tells, in its order: `counter => member: type of the server's`.
/// The type is that of one server's share: an option where operations that no server was chosen
/// for may be among them. `#[missing = default]` stands where older records lack the member.
/// `second` is its meaning in a stretch of time, where it is kept for these as well. `untold` are
/// the others.
#[macro_export]
macro_rules! counters {
    ($make:ident) => {
        $make! {
            told {
                /// Operations the schedule wanted.
                intended => intended: Option<u64>;
                /// Operations of which some byte was sent.
                sent => sent: u64,
                    second sent
                        "Operations of which something was sent, whether or not they ended.";
                /// Answered, and not with an error: a miss is an answer.
                answered => answered: u64, second answered "Answered, and not with an error.";
                /// Answered with an error.
                failed => failed: u64, second failed "Answered with an error.";
                /// Without a complete answer at the deadline.
                timed_out => timed_out: Option<u64>,
                    second timed_out "Without a complete answer at their deadline.";
                /// Those of `timed_out` that were never sent.
                timed_out_queued => timed_out_queued: Option<u64>;
                /// Carried by a connection that was lost.
                lost => lost: Option<u64>, second lost "Carried by a connection that was lost.";
                /// Not sent: because every connection was full, or because the window had ended.
                dropped => dropped: Option<u64>, second dropped "Not sent.";
                /// Those of `dropped` that were due and not sent when the window ended.
                #[missing = default]
                dropped_at_end => dropped_at_end: Option<u64>;
                /// Sent without asking for an answer.
                unacknowledged => unacknowledged: u64,
                    second unacknowledged "Sent without asking for an answer.";
                /// Without an outcome when the run ended early, or a second after a window after
                /// which nothing is sent.
                abandoned => abandoned: Option<u64>,
                    second abandoned "Without an outcome when the run ended.";
                /// Answers that came after their operation had timed out; discarded.
                late_replies => late_replies: u64;
                /// Keys asked for by get and gets that were sent, whatever came of them: what a
                /// server counts as `cmd_get`.
                #[missing = default]
                keys_asked => keys_asked: u64;
                /// Keys asked for by answered reads.
                keys => keys: u64;
                /// Those of `keys` that were found.
                hits => hits: u64, second hits "Keys found.";
                /// Those of `keys` that were not found.
                misses => misses: u64, second misses "Keys not found.";
                /// Values that were read, in late answers too.
                #[missing = default]
                values => values_read: u64;
                /// The bytes of these values, without what stands around them.
                #[missing = default]
                value_bytes => value_bytes_read: u64;
                /// Bytes sent.
                bytes_sent => bytes_sent: u64, second bytes_sent "Bytes of requests.";
                /// Bytes received.
                bytes_received => bytes_received: u64,
                    second bytes_received "Bytes of replies that ended an operation.";
            }
            untold {
                /// Of the intended ones, copies of writes beyond the first of each.
                copies;
                /// Of the values that were read, those of another length than the plan says, where
                /// lengths are compared.
                resized;
                /// Requests on the wire that the server counts as storage commands.
                storage_commands;
                /// Commands on the wire that set an expiry anew.
                touch_commands;
                /// Keys to be read and touched that were answered and not found.
                touching_misses;
                /// Values that were verified.
                verified;
                /// Keys whose values were to be verified, and that were not found; none that may
                /// have expired.
                verify_misses;
            }
        }
    };
}

/// What happens to connections, each row a counter and a member of a record.
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
        }
    };
}

/// What can be unusual about a datagram of a reply, each row a class and the member of a record
/// that counts it.
#[macro_export]
macro_rules! datagram_classes {
    ($make:ident) => {
        $make! {
            /// Came before one that they should follow.
            Disordered => disordered;
            /// Came again.
            Duplicate => duplicate;
            /// Came after their operation had timed out.
            Late => late;
            /// Missing of replies of which a part came in time; of other replies it is unknown.
            Lost => lost;
            /// Belonged to nothing that was asked.
            Foreign => foreign;
        }
    };
}

/// What verification can find to be wrong, each row a class and the member of a record that counts
/// it: first of the values that are verified, then of whether there is one.
#[macro_export]
macro_rules! verify_classes {
    ($make:ident) => {
        $make! {
            of_values {
                /// Those with bytes that are in no value of their key.
                Corrupt => corrupt;
                /// Those that are another key's, or came under a key that was not asked for.
                WrongKey => wrong_key;
                /// Those that are older than what was certainly stored before they were asked for.
                Stale => stale;
                /// Those that are only the beginning of a value of their key.
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
