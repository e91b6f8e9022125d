// kmsg and kgo as peers: reads commands from standard input, see benchmarks/peers/foreign.py.
package main

import (
	"bufio"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

type peer interface {
	decode()
	encode() []byte
	facts() []int64
}

// A body is a request or a response.
type body interface {
	ReadFrom([]byte) error
	AppendTo([]byte) []byte
}

type message struct {
	data  []byte
	empty func() body
	value body
	sums  func(body) []int64
}

var kept any

func (m *message) decode() {
	value := m.empty()
	must(value.ReadFrom(m.data))
	kept = value
}

func (m *message) encode() []byte { return m.value.AppendTo(nil) }

func (m *message) facts() []int64 { return m.sums(m.value) }

type records struct {
	data    []byte
	batches [][]*kgo.Record
}

func read(data []byte) []*kgo.Record {
	partition := kmsg.NewFetchResponseTopicPartition()
	partition.RecordBatches = data
	found, _ := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{}, &partition, kgo.DefaultDecompressor(), nil)
	must(found.Err)
	return found.Records
}

func (r *records) decode() { kept = read(r.data) }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// kgo writes batches only as a client; this is what its sink does with kmsg's types.
func (r *records) encode() []byte {
	var out []byte
	for _, rows := range r.batches {
		first := rows[0].Timestamp.UnixMilli()
		payload, newest := []byte(nil), int64(-1)
		for number, row := range rows {
			at := row.Timestamp.UnixMilli()
			newest = max(newest, at)
			one := kmsg.Record{TimestampDelta64: at - first, OffsetDelta: int32(number), Key: row.Key, Value: row.Value}
			one.Length = int32(len(one.AppendTo(nil)) - 1)
			payload = one.AppendTo(payload)
		}
		batch := kmsg.RecordBatch{
			FirstOffset: rows[0].Offset, Length: int32(49 + len(payload)), PartitionLeaderEpoch: -1, Magic: 2,
			LastOffsetDelta: int32(len(rows) - 1), FirstTimestamp: first, MaxTimestamp: newest,
			ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1, NumRecords: int32(len(rows)), Records: payload,
		}
		start := len(out)
		out = batch.AppendTo(out)
		sum := crc32.Checksum(out[start+21:], castagnoli)
		out[start+17], out[start+18], out[start+19], out[start+20] = byte(sum>>24), byte(sum>>16), byte(sum>>8), byte(sum)
	}
	return out
}

func (r *records) facts() []int64 {
	sums := make([]int64, 5)
	for _, rows := range r.batches {
		for _, row := range rows {
			add(sums, 1, row.Offset, row.Timestamp.UnixMilli(), total(row.Key), total(row.Value))
		}
	}
	return sums
}

func load(name string, data []byte) peer {
	switch name {
	case "records_one", "records_130":
		all, found := read(data), &records{data: data}
		size := len(all)
		if name == "records_130" {
			size = 130
		}
		for start := 0; start < len(all); start += size {
			found.batches = append(found.batches, all[start:min(start+size, len(all))])
		}
		return found
	case "leader_change":
		return ready(data, func() body { return new(kmsg.LeaderChangeMessage) }, func(b body) []int64 {
			m := b.(*kmsg.LeaderChangeMessage)
			sums := []int64{int64(m.LeaderID), 0, 0}
			for _, v := range m.Voters {
				sums[1] += int64(v.VoterID)
			}
			for _, v := range m.GrantingVoters {
				sums[2] += int64(v.VoterID)
			}
			return sums
		})
	case "api_versions":
		return ready(data, versioned(func() body { return kmsg.NewPtrApiVersionsResponse() }, 3), func(b body) []int64 {
			m := b.(*kmsg.ApiVersionsResponse)
			sums := []int64{int64(len(m.ApiKeys)), 0, 0, int64(len(m.SupportedFeatures)), m.FinalizedFeaturesEpoch, 0}
			for _, k := range m.ApiKeys {
				add(sums[1:], int64(k.ApiKey), int64(k.MaxVersion))
			}
			for _, f := range m.FinalizedFeatures {
				sums[5] += int64(f.MaxVersionLevel)
			}
			return sums
		})
	case "metadata_small", "metadata_big":
		return ready(data, versioned(func() body { return kmsg.NewPtrMetadataResponse() }, 12), func(b body) []int64 {
			m := b.(*kmsg.MetadataResponse)
			sums := make([]int64, 9)
			for _, b := range m.Brokers {
				sums[0] += int64(b.Port)
			}
			for _, t := range m.Topics {
				add(sums[1:], 1, int64(len(*t.Topic)), total(t.TopicID[:]))
				for _, p := range t.Partitions {
					add(sums[4:], 1, int64(p.Leader), int64(p.LeaderEpoch), sum(p.Replicas), sum(p.ISR))
				}
			}
			return sums
		})
	case "produce":
		return ready(data, versioned(func() body { return kmsg.NewPtrProduceRequest() }, 9), func(b body) []int64 {
			m := b.(*kmsg.ProduceRequest)
			sums := []int64{int64(m.Acks), int64(m.TimeoutMillis), 0, 0}
			for _, t := range m.Topics {
				for _, p := range t.Partitions {
					add(sums[2:], int64(p.Partition), total(p.Records))
				}
			}
			return sums
		})
	case "fetch":
		return ready(data, versioned(func() body { return kmsg.NewPtrFetchResponse() }, 13), func(b body) []int64 {
			m := b.(*kmsg.FetchResponse)
			sums := []int64{int64(m.SessionID), 0, 0, 0, 0}
			for _, t := range m.Topics {
				sums[1] += total(t.TopicID[:])
				for _, p := range t.Partitions {
					add(sums[2:], int64(p.Partition), p.HighWatermark, total(p.RecordBatches))
				}
			}
			return sums
		})
	case "join_group":
		return ready(data, versioned(func() body { return kmsg.NewPtrJoinGroupResponse() }, 9), func(b body) []int64 {
			m := b.(*kmsg.JoinGroupResponse)
			sums := []int64{int64(m.Generation), 0, 0, 0}
			for _, n := range m.Members {
				add(sums[1:], 1, int64(len(n.MemberID)), total(n.ProtocolMetadata))
			}
			return sums
		})
	case "offset_commit":
		return ready(data, versioned(func() body { return kmsg.NewPtrOffsetCommitRequest() }, 9), func(b body) []int64 {
			m := b.(*kmsg.OffsetCommitRequest)
			sums := []int64{int64(m.Generation), 0, 0, 0, 0, 0}
			for _, t := range m.Topics {
				sums[1] += int64(len(t.Topic))
				for _, p := range t.Partitions {
					add(sums[2:], int64(p.Partition), p.Offset, int64(p.LeaderEpoch), int64(len(*p.Metadata)))
				}
			}
			return sums
		})
	case "share_fetch":
		return ready(data, versioned(func() body { return kmsg.NewPtrShareFetchResponse() }, 1), func(b body) []int64 {
			m := b.(*kmsg.ShareFetchResponse)
			sums := make([]int64, 5)
			for _, t := range m.Topics {
				sums[0] += total(t.TopicID[:])
				for _, p := range t.Partitions {
					add(sums[1:], int64(p.Partition), total(p.Records))
					for _, a := range p.AcquiredRecords {
						add(sums[3:], a.FirstOffset+a.LastOffset, int64(a.DeliveryCount))
					}
				}
			}
			return sums
		})
	}
	return nil
}

func ready(data []byte, empty func() body, sums func(body) []int64) peer {
	value := empty()
	must(value.ReadFrom(data))
	return &message{data, empty, value, sums}
}

func versioned(empty func() body, version int16) func() body {
	return func() body {
		value := empty()
		value.(interface{ SetVersion(int16) }).SetVersion(version)
		return value
	}
}

func add(sums []int64, values ...int64) {
	for at, value := range values {
		sums[at] += value
	}
}

func total(bytes []byte) (sum int64) {
	if bytes == nil {
		return -1
	}
	for _, one := range bytes {
		sum += int64(one)
	}
	return sum
}

func sum(numbers []int32) (sum int64) {
	for _, number := range numbers {
		sum += int64(number)
	}
	return sum
}

func must(problem error) {
	if problem != nil {
		panic(problem)
	}
}

func main() {
	peers := map[string]peer{}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Split(lines.Text(), " ")
		command, name := words[0], words[1]
		found, known := peers[name]
		if !known {
			data, problem := os.ReadFile(filepath.Join(os.Args[1], name+".bin"))
			must(problem)
			found = load(name, data)
			peers[name] = found
		}
		switch {
		case found == nil:
			fmt.Println("no class for it")
		case command == "check":
			must(os.WriteFile(words[2], found.encode(), 0o600))
			fmt.Println("facts", strings.Trim(fmt.Sprint(found.facts()), "[]"))
		default:
			repeats, problem := strconv.Atoi(words[2])
			must(problem)
			start := time.Now()
			for range repeats {
				if command == "decode" {
					found.decode()
				} else {
					kept = found.encode()
				}
			}
			fmt.Println("ns", time.Since(start).Nanoseconds())
		}
	}
}
