//! Rskafka, which has no groups.
use crate::{check, Outcome, Task, RECORDS, SECONDS};
use rskafka::client::partition::{Compression, PartitionClient, UnknownTopicHandling};
use rskafka::client::ClientBuilder;
use rskafka::record::Record;
use std::future::Future;
use std::time::Duration;

fn within<F: Future<Output = Outcome>>(work: F) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async { tokio::time::timeout(Duration::from_secs(SECONDS), work).await? })
}

async fn partition(task: &Task) -> Result<PartitionClient, rskafka::client::error::Error> {
    let builder = ClientBuilder::new(vec![task.bootstrap.clone()]).client_id(task.client_id.clone());
    builder.build().await?.partition_client(task.topic.clone(), 0, UnknownTopicHandling::Retry).await
}

pub fn produce(task: &Task) -> Outcome {
    within(async {
        let records = (0..RECORDS).map(|number| Record {
            key: None,
            value: Some(format!("value {number}").into_bytes()),
            headers: Default::default(),
            timestamp: chrono::Utc::now(),
        });
        partition(task).await?.produce(records.collect(), Compression::NoCompression).await?;
        Ok(())
    })
}

pub fn consume(task: &Task) -> Outcome {
    within(async {
        let (found, _) = partition(task).await?.fetch_records(0, 1..1_000_000, 1_000).await?;
        check(found.len())
    })
}
