//! The crate `kafka`.
use crate::{check, Outcome, Task, RECORDS, SECONDS};
use kafka::client::{FetchOffset, GroupOffsetStorage, KafkaClient, RequiredAcks};
use kafka::consumer::Consumer;
use kafka::producer::{Producer, Record};
use std::time::{Duration, Instant};

fn client(task: &Task) -> Result<KafkaClient, kafka::Error> {
    let mut client = KafkaClient::new(vec![task.bootstrap.clone()]);
    client.set_client_id(task.client_id.clone());
    client.load_metadata_all()?;
    Ok(client)
}

pub fn produce(task: &Task) -> Outcome {
    let mut producer = Producer::from_client(client(task)?).with_required_acks(RequiredAcks::All).create()?;
    for number in 0..RECORDS {
        producer.send(&Record::from_value(&task.topic, format!("value {number}").as_bytes()))?;
    }
    Ok(())
}

pub fn consume(task: &Task) -> Outcome {
    let mut consumer = Consumer::from_client(client(task)?)
        .with_topic(task.topic.clone())
        .with_group(format!("{}-group", task.client_id))
        .with_fallback_offset(FetchOffset::Earliest)
        .with_offset_storage(Some(GroupOffsetStorage::Kafka))
        .create()?;
    let until = Instant::now() + Duration::from_secs(SECONDS);
    let mut found = 0;
    while found < RECORDS && Instant::now() < until {
        let sets = consumer.poll()?;
        for set in sets.iter() {
            found += set.messages().len();
            consumer.consume_messageset(set)?;
        }
        consumer.commit_consumed()?;
    }
    check(found)
}
