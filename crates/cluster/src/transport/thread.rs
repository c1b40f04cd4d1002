//! The network's thread, with a runtime of its own, and how both stop.

use super::CLOSE_MAX;
use rustix::process::setpriority_process;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

/// The longest time from the request to stop to the thread's end, independent of its peers.
const STOP_MAX: Duration = CLOSE_MAX.saturating_add(Duration::from_millis(250));

/// The niceness of a master's network thread: agents that share its machine do not delay it.
const NICE: i32 = -10;

/// The stop signal of one task. The thread waits until all are dropped.
#[derive(Clone)]
pub(super) struct Stop {
    asked: watch::Receiver<bool>,
    _alive: mpsc::Sender<()>,
}

impl Stop {
    /// Returns once the thread is asked to stop.
    pub(super) async fn asked(&mut self) {
        // An error means that the owner is gone, which is a request to stop, too.
        let _ = self.asked.wait_for(|asked| *asked).await;
    }
}

/// A runtime for the thread; sockets are opened in it before the thread starts.
pub(super) fn runtime() -> Result<Runtime, String> {
    Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(|error| format!("cannot start the network: {error}"))
}

/// The running thread. Dropping it stops the thread and waits for its end.
pub(super) struct NetThread {
    ask: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl NetThread {
    /// Starts the thread, before others where that is allowed and `is_first`. `spawn` starts the
    /// first tasks.
    pub(super) fn start(
        runtime: Runtime,
        is_first: bool,
        spawn: impl FnOnce(&Runtime, Stop),
    ) -> Result<Self, String> {
        let (ask, asked) = watch::channel(false);
        let (alive, mut all_gone) = mpsc::channel(1);
        let mut stop = Stop { asked, _alive: alive };
        spawn(&runtime, stop.clone());
        let thread = std::thread::Builder::new().name("memtide-net".to_owned()).spawn(move || {
            if is_first {
                // Linux sets the priority of the calling thread. Users who are not root may lack
                // the right to.
                let _ = setpriority_process(None, NICE);
            }
            runtime.block_on(async {
                stop.asked().await;
                drop(stop);
                let _ = timeout(STOP_MAX, all_gone.recv()).await;
            });
            // Host names that are still being resolved are not waited for.
            runtime.shutdown_background();
        });
        let thread = thread.map_err(|error| format!("cannot start the network: {error}"))?;
        Ok(Self { ask, thread: Some(thread) })
    }
}

impl Drop for NetThread {
    fn drop(&mut self) {
        self.ask.send_replace(true);
        if let Some(thread) = self.thread.take() {
            // A panic of that thread has been printed already.
            let _ = thread.join();
        }
    }
}
