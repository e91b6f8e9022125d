// The scenarios of tests/fake_clients with sarama: ADDRESSES.
package main

import (
	"context"
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/IBM/sarama"
)

var within, _ = context.WithTimeout(context.Background(), 40*time.Second)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func servers() []string {
	return strings.Split(os.Args[1], ",")
}

func config() *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.V2_8_0_0
	config.Producer.Return.Successes = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.Idempotent, config.Net.MaxOpenRequests = true, 1
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Group.Heartbeat.Interval = 100 * time.Millisecond
	return config
}

func main() {
	admin()
	produce()
	rebalance()
	transactions()
}

func admin() {
	admin, err := sarama.NewClusterAdmin(servers(), config())
	check(err)
	defer admin.Close()
	check(admin.CreateTopic("new", &sarama.TopicDetail{NumPartitions: 2, ReplicationFactor: 1}, false))
	fmt.Println(topics(admin))
	check(admin.DeleteTopic("new"))
	fmt.Println(topics(admin))
}

func topics(admin sarama.ClusterAdmin) string {
	found, err := admin.ListTopics()
	check(err)
	var names []string
	for name := range found {
		names = append(names, name)
	}
	sort.Strings(names)
	return "[" + strings.Join(names, ", ") + "]"
}

func produce() {
	producer, err := sarama.NewSyncProducer(servers(), config())
	check(err)
	defer producer.Close()
	for i := range 20 {
		value := sarama.StringEncoder(fmt.Sprintf("value %d", i))
		_, _, err := producer.SendMessage(&sarama.ProducerMessage{Topic: "orders", Partition: int32(i % 2), Value: value})
		check(err)
	}
}

// A member counts what all members have read, and keeps how many partitions it has.
type member struct {
	lock  *sync.Mutex
	found *int
	share int
}

func (m *member) Setup(session sarama.ConsumerGroupSession) error {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.share = len(session.Claims()["orders"])
	return nil
}

func (m *member) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (m *member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for message := range claim.Messages() {
		m.lock.Lock()
		*m.found++
		m.lock.Unlock()
		session.MarkMessage(message, "")
	}
	return nil
}

func rebalance() {
	lock, found := &sync.Mutex{}, 0
	var members []*member
	var groups []sarama.ConsumerGroup
	for share := 2; share > 0; share-- {
		one := &member{lock: lock, found: &found}
		group, err := sarama.NewConsumerGroup(servers(), "g", config())
		check(err)
		members, groups = append(members, one), append(groups, group)
		go func() {
			for group.Consume(within, []string{"orders"}, one) == nil {
			}
		}()
		for done := false; !done; {
			time.Sleep(20 * time.Millisecond)
			lock.Lock()
			done = found >= 20
			for _, one := range members {
				done = done && one.share == share
			}
			lock.Unlock()
			check(within.Err())
		}
	}
	for _, group := range groups {
		check(group.Close())
	}
	fmt.Println(found)
}

func transactions() {
	settings := config()
	settings.Producer.Transaction.ID = "tx"
	producer, err := sarama.NewSyncProducer(servers(), settings)
	check(err)
	for _, value := range []string{"lost", "kept", "lost", "kept too"} {
		check(producer.BeginTxn())
		_, _, err := producer.SendMessage(&sarama.ProducerMessage{Topic: "orders", Value: sarama.StringEncoder(value)})
		check(err)
		if strings.HasPrefix(value, "kept") {
			check(producer.CommitTxn())
		} else {
			check(producer.AbortTxn())
		}
	}
	check(producer.Close())
	settings = config()
	settings.Consumer.IsolationLevel = sarama.ReadCommitted
	consumer, err := sarama.NewConsumer(servers(), settings)
	check(err)
	defer consumer.Close()
	partition, err := consumer.ConsumePartition("orders", 0, 10)
	check(err)
	defer partition.Close()
	var found []string
	for len(found) < 2 {
		select {
		case message := <-partition.Messages():
			found = append(found, string(message.Value))
		case <-within.Done():
			panic(within.Err())
		}
	}
	fmt.Println("[" + strings.Join(found, ", ") + "]")
}
