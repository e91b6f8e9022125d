//! Clients in Rust: `strangers kafka-rust|rskafka TASK`. They take a task as JSON and print a line for each step, as
//! steps.py does.
mod kafka_rust;
mod rskafka_client;

use serde_json::{json, Value};
use std::error::Error;

pub const RECORDS: usize = 20;
pub const SECONDS: u64 = 15;
pub type Outcome = Result<(), Box<dyn Error>>;

pub struct Task {
    pub bootstrap: String,
    pub client_id: String,
    pub topic: String,
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let given: Value = serde_json::from_str(&arguments[2]).expect("a task");
    let text = |name: &str| given[name].as_str().unwrap_or_default().to_string();
    let task = Task { bootstrap: text("bootstrap"), client_id: text("client_id"), topic: text("topic") };
    let (produce, consume): (fn(&Task) -> Outcome, fn(&Task) -> Outcome) = match arguments[1].as_str() {
        "kafka-rust" => (kafka_rust::produce, kafka_rust::consume),
        _ => (rskafka_client::produce, rskafka_client::consume),
    };
    for (step, run) in [("produce", produce), ("consume", consume)] {
        let error = run(&task).err().map(|problem| problem.to_string());
        println!("{}", json!({ "step": step, "error": error }));
    }
}

pub fn check(found: usize) -> Outcome {
    if found < RECORDS {
        return Err(format!("{found} of {RECORDS} records were read").into());
    }
    Ok(())
}
