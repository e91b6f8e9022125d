// The scenarios of tests/fake_clients with franz-go: ADDRESSES.
package main

import (
	"context"
	"fmt"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var within, _ = context.WithTimeout(context.Background(), 40*time.Second)

func client(options ...kgo.Opt) *kgo.Client {
	seeds := kgo.SeedBrokers(strings.Split(os.Args[1], ",")...)
	found, err := kgo.NewClient(append(options, seeds, kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	check(err)
	return found
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	admin()
	produce()
	rebalance()
	transactions()
}

func admin() {
	client := client()
	defer client.Close()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = "new", 2, 1
	create := kmsg.NewPtrCreateTopicsRequest()
	create.Topics = append(create.Topics, topic)
	created, err := create.RequestWith(within, client)
	check(err)
	check(kerr.ErrorForCode(created.Topics[0].ErrorCode))
	fmt.Println(topics(client))
	remove, name := kmsg.NewPtrDeleteTopicsRequest(), "new"
	remove.TopicNames = []string{name}
	state := kmsg.NewDeleteTopicsRequestTopic()
	state.Topic = &name
	remove.Topics = append(remove.Topics, state)
	removed, err := remove.RequestWith(within, client)
	check(err)
	check(kerr.ErrorForCode(removed.Topics[0].ErrorCode))
	fmt.Println(topics(client))
}

func topics(client *kgo.Client) string {
	request := kmsg.NewPtrMetadataRequest()
	answer, err := request.RequestWith(within, client)
	check(err)
	var names []string
	for _, topic := range answer.Topics {
		names = append(names, *topic.Topic)
	}
	sort.Strings(names)
	return "[" + strings.Join(names, ", ") + "]"
}

func produce() {
	client := client()
	defer client.Close()
	for i := range 20 {
		record := &kgo.Record{Topic: "orders", Partition: int32(i % 2), Value: []byte(fmt.Sprintf("value %d", i))}
		check(client.ProduceSync(within, record).FirstErr())
	}
}

func rebalance() {
	assigned := []map[int32]bool{{}, {}}
	found := 0
	var clients []*kgo.Client
	for share := 2; share > 0; share-- {
		owned := assigned[len(clients)]
		change := func(own bool) func(context.Context, *kgo.Client, map[string][]int32) {
			return func(_ context.Context, client *kgo.Client, parts map[string][]int32) {
				if !own {
					check(client.CommitUncommittedOffsets(within))
				}
				for _, part := range parts["orders"] {
					if own {
						owned[part] = true
					} else {
						delete(owned, part)
					}
				}
			}
		}
		clients = append(clients, client(
			kgo.ConsumeTopics("orders"), kgo.ConsumerGroup("g"), kgo.HeartbeatInterval(100*time.Millisecond),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.BlockRebalanceOnPoll(),
			kgo.OnPartitionsAssigned(change(true)), kgo.OnPartitionsRevoked(change(false)), kgo.OnPartitionsLost(change(false)),
		))
		for done := false; !done; {
			done = true
			for i, one := range clients {
				short, cancel := context.WithTimeout(within, 50*time.Millisecond)
				found += one.PollFetches(short).NumRecords()
				cancel()
				done = done && found >= 20 && len(assigned[i]) == share
				one.AllowRebalance()
			}
			check(within.Err())
		}
	}
	for _, one := range clients {
		check(one.CommitUncommittedOffsets(within))
		one.Close()
	}
	fmt.Println(found)
}

func transactions() {
	producer := client(kgo.TransactionalID("tx"))
	for _, value := range []string{"lost", "kept", "lost", "kept too"} {
		check(producer.BeginTransaction())
		check(producer.ProduceSync(within, &kgo.Record{Topic: "orders", Value: []byte(value)}).FirstErr())
		check(producer.EndTransaction(within, kgo.TransactionEndTry(strings.HasPrefix(value, "kept"))))
	}
	producer.Close()
	offsets := map[string]map[int32]kgo.Offset{"orders": {0: kgo.NewOffset().At(10)}}
	consumer := client(kgo.ConsumePartitions(offsets), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	defer consumer.Close()
	var found []string
	for len(found) < 2 {
		consumer.PollFetches(within).EachRecord(func(record *kgo.Record) { found = append(found, string(record.Value)) })
		check(within.Err())
	}
	fmt.Println("[" + strings.Join(found, ", ") + "]")
}
