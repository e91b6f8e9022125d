//! kafka-protocol as a peer: reads commands from standard input, see benchmarks/peers/foreign.py.

use std::hint::black_box;
use std::io::{self, BufRead, Write};
use std::path::Path;
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::leader_change_message::LeaderChangeMessage;
use kafka_protocol::messages::*;
use kafka_protocol::protocol::{Decodable, Encodable};
use kafka_protocol::records::{Compression, Record, RecordBatchDecoder, RecordBatchEncoder, RecordEncodeOptions};

trait Peer {
    fn decode(&self);
    fn encode(&self) -> BytesMut;
    fn facts(&self) -> Vec<i64>;
}

struct Message<T> {
    data: Bytes,
    version: i16,
    value: T,
    facts: fn(&T) -> Vec<i64>,
}

impl<T: Decodable + Encodable> Peer for Message<T> {
    fn decode(&self) {
        black_box(T::decode(&mut self.data.clone(), self.version).unwrap());
    }
    fn encode(&self) -> BytesMut {
        let mut out = BytesMut::new();
        self.value.encode(&mut out, self.version).unwrap();
        out
    }
    fn facts(&self) -> Vec<i64> {
        (self.facts)(&self.value)
    }
}

fn message<T: Decodable + Encodable + 'static>(data: Bytes, version: i16, facts: fn(&T) -> Vec<i64>) -> Box<dyn Peer> {
    let value = T::decode(&mut data.clone(), version).unwrap();
    Box::new(Message { data, version, value, facts })
}

struct Records {
    data: Bytes,
    batches: Vec<Vec<Record>>,
}

impl Peer for Records {
    fn decode(&self) {
        black_box(RecordBatchDecoder::decode_all(&mut self.data.clone()).unwrap());
    }
    fn encode(&self) -> BytesMut {
        let mut out = BytesMut::new();
        let options = RecordEncodeOptions { version: 2, compression: Compression::None };
        for batch in &self.batches {
            RecordBatchEncoder::encode(&mut out, batch, &options).unwrap();
        }
        out
    }
    fn facts(&self) -> Vec<i64> {
        let all: Vec<&Record> = self.batches.iter().flatten().collect();
        vec![
            all.len() as i64,
            all.iter().map(|r| r.offset).sum(),
            all.iter().map(|r| r.timestamp).sum(),
            all.iter().map(|r| total(r.key.as_ref())).sum(),
            all.iter().map(|r| total(r.value.as_ref())).sum(),
        ]
    }
}

fn total(bytes: Option<&Bytes>) -> i64 {
    bytes.map_or(-1, |b| b.iter().map(|x| *x as i64).sum())
}

fn digits(id: &uuid::Uuid) -> i64 {
    id.as_bytes().iter().map(|x| *x as i64).sum()
}

fn peer(case: &str, data: Bytes) -> Option<Box<dyn Peer>> {
    Some(match case {
        "api_versions" => message::<ApiVersionsResponse>(data, 3, |m| {
            vec![
                m.api_keys.len() as i64,
                m.api_keys.iter().map(|k| k.api_key as i64).sum(),
                m.api_keys.iter().map(|k| k.max_version as i64).sum(),
                m.supported_features.len() as i64,
                m.finalized_features_epoch,
                m.finalized_features.iter().map(|k| k.max_version_level as i64).sum(),
            ]
        }),
        "metadata_small" | "metadata_big" => message::<MetadataResponse>(data, 12, |m| {
            let partitions = || m.topics.iter().flat_map(|t| &t.partitions);
            vec![
                m.brokers.iter().map(|b| b.port as i64).sum(),
                m.topics.len() as i64,
                m.topics.iter().map(|t| t.name.as_ref().map_or(-1, |n| n.len() as i64)).sum(),
                m.topics.iter().map(|t| digits(&t.topic_id)).sum(),
                partitions().count() as i64,
                partitions().map(|p| p.leader_id.0 as i64).sum(),
                partitions().map(|p| p.leader_epoch as i64).sum(),
                partitions().flat_map(|p| &p.replica_nodes).map(|n| n.0 as i64).sum(),
                partitions().flat_map(|p| &p.isr_nodes).map(|n| n.0 as i64).sum(),
            ]
        }),
        "produce" => message::<ProduceRequest>(data, 9, |m| {
            let partitions = || m.topic_data.iter().flat_map(|t| &t.partition_data);
            vec![
                m.acks as i64,
                m.timeout_ms as i64,
                partitions().map(|p| p.index as i64).sum(),
                partitions().map(|p| total(p.records.as_ref())).sum(),
            ]
        }),
        "fetch" => message::<FetchResponse>(data, 13, |m| {
            let partitions = || m.responses.iter().flat_map(|t| &t.partitions);
            vec![
                m.session_id as i64,
                m.responses.iter().map(|t| digits(&t.topic_id)).sum(),
                partitions().map(|p| p.partition_index as i64).sum(),
                partitions().map(|p| p.high_watermark).sum(),
                partitions().map(|p| total(p.records.as_ref())).sum(),
            ]
        }),
        "join_group" => message::<JoinGroupResponse>(data, 9, |m| {
            vec![
                m.generation_id as i64,
                m.members.len() as i64,
                m.members.iter().map(|n| n.member_id.len() as i64).sum(),
                m.members.iter().map(|n| total(Some(&n.metadata))).sum(),
            ]
        }),
        "offset_commit" => message::<OffsetCommitRequest>(data, 9, |m| {
            let partitions = || m.topics.iter().flat_map(|t| &t.partitions);
            vec![
                m.generation_id_or_member_epoch as i64,
                m.topics.iter().map(|t| t.name.len() as i64).sum(),
                partitions().map(|p| p.partition_index as i64).sum(),
                partitions().map(|p| p.committed_offset).sum(),
                partitions().map(|p| p.committed_leader_epoch as i64).sum(),
                partitions().map(|p| p.committed_metadata.as_ref().map_or(-1, |n| n.len() as i64)).sum(),
            ]
        }),
        "share_fetch" => message::<ShareFetchResponse>(data, 1, |m| {
            let partitions = || m.responses.iter().flat_map(|t| &t.partitions);
            let acquired = || partitions().flat_map(|p| &p.acquired_records);
            vec![
                m.responses.iter().map(|t| digits(&t.topic_id)).sum(),
                partitions().map(|p| p.partition_index as i64).sum(),
                partitions().map(|p| total(p.records.as_ref())).sum(),
                acquired().map(|a| a.first_offset + a.last_offset).sum(),
                acquired().map(|a| a.delivery_count as i64).sum(),
            ]
        }),
        "leader_change" => message::<LeaderChangeMessage>(data, 0, |m| {
            vec![
                m.leader_id.0 as i64,
                m.voters.iter().map(|v| v.voter_id as i64).sum(),
                m.granting_voters.iter().map(|v| v.voter_id as i64).sum(),
            ]
        }),
        "records_one" | "records_130" => {
            let sets = RecordBatchDecoder::decode_all(&mut data.clone()).unwrap();
            Box::new(Records { data, batches: sets.into_iter().map(|s| s.records).collect() })
        }
        _ => return None,
    })
}

fn main() {
    let folder = std::env::args().nth(1).expect("a folder of cases");
    let mut peers = std::collections::HashMap::new();
    for line in io::stdin().lock().lines() {
        let line = line.unwrap();
        let words: Vec<&str> = line.split(' ').collect();
        let (command, case) = (words[0], words[1].to_string());
        let found = peers.entry(case.clone()).or_insert_with(|| {
            let data = std::fs::read(Path::new(&folder).join(format!("{case}.bin"))).unwrap();
            peer(&case, Bytes::from(data))
        });
        let answer = match (found, command) {
            (None, _) => "no class for it".to_string(),
            (Some(peer), "check") => {
                std::fs::write(words[2], peer.encode()).unwrap();
                let facts: Vec<String> = peer.facts().iter().map(|f| f.to_string()).collect();
                format!("facts {}", facts.join(" "))
            }
            (Some(peer), _) => {
                let start = Instant::now();
                for _ in 0..words[2].parse::<u64>().unwrap() {
                    if command == "decode" {
                        peer.decode();
                    } else {
                        black_box(peer.encode());
                    }
                }
                format!("ns {}", start.elapsed().as_nanos())
            }
        };
        println!("{answer}");
        io::stdout().flush().unwrap();
    }
}
