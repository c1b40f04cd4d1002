//! Steps written one by one, read back.

use super::*;
use memtide_record::Record;
use memtide_record::steps::StepRole;
use std::io::Write;
use std::sync::{Arc, Mutex};

/// A text that is published when it is complete.
#[derive(Default)]
struct Page(Vec<u8>, Arc<Mutex<Option<String>>>);

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Document for Page {
    fn complete(self) -> io::Result<()> {
        *self.1.lock().unwrap() = Some(String::from_utf8(self.0).unwrap());
        Ok(())
    }

    fn restart(&mut self) -> io::Result<()> {
        self.0.clear();
        Ok(())
    }
}

fn told(events: &[Event], goals: &[String]) -> Option<String> {
    let kept = Arc::default();
    let page = Page(Vec::new(), Arc::clone(&kept));
    let mut json = StepsJson::new(page, CourseKind::Scan, goals.to_vec());
    events.iter().for_each(|event| json.on(event).unwrap());
    kept.lock().unwrap().take()
}

#[test]
fn every_number_of_steps_reads_back() {
    let step = |number| Step {
        number,
        role: StepRole::Scan,
        rate_per_s: Some(1e3),
        achieved_per_s: 999.5,
        behind: false,
        goal: None,
        figure_ns: None,
        low_per_s: None,
        high_per_s: None,
        spoilt: false,
        record: Record::default(),
    };
    for count in 0..3 {
        let goals = ["all.p95<10ms".to_owned()];
        let steps = (1..=count).map(|number| Event::StepDone(Box::new(step(number))));
        let events: Vec<Event> = steps.chain([Event::StepsDone(Conclusion::default())]).collect();
        let steps = Steps::from_json(&told(&events, &goals).unwrap()).unwrap();
        assert_eq!((steps.steps.len() as u32, steps.goals), (count, goals.to_vec()));
        assert_eq!(steps.conclusion, Conclusion::default());
    }
    let failed = Conclusion { failure: Some("no server".to_owned()), ..Conclusion::default() };
    assert_eq!(told(&[Event::StepsDone(failed)], &[]), None, "it never began");
}
