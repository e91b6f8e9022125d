// Sarama: settings are version (of the protocol it is to speak) and mute (it does not ask for versions).
package main

import (
	"context"
	"log"
	"os"

	"github.com/IBM/sarama"

	"kwire.invalid/clients/steps"
)

func main() {
	sarama.Logger = log.New(os.Stderr, "", 0)
	steps.Main(func(task steps.Task) []steps.Step {
		return []steps.Step{
			{Name: "produce", Run: func(context.Context) error { return produce(task) }},
			{Name: "consume", Run: func(within context.Context) error { return consume(within, task) }},
			{Name: "create", Run: func(context.Context) error { return create(task) }},
			{Name: "describe", Run: func(context.Context) error { return describe(task) }},
		}
	})
}

func config(task steps.Task) *sarama.Config {
	config := sarama.NewConfig()
	config.ClientID = task.ClientID
	if version := task.Setting("version"); version != "" {
		parsed, err := sarama.ParseKafkaVersion(version)
		if err != nil {
			panic(err)
		}
		config.Version = parsed
	}
	config.ApiVersionsRequest = task.Setting("mute") == ""
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Return.Successes = true
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	if task.Mechanism != "" {
		config.Net.SASL.Enable = true
		config.Net.SASL.Mechanism = sarama.SASLMechanism(task.Mechanism)
		config.Net.SASL.User, config.Net.SASL.Password = task.User, task.Password
	}
	return config
}

func produce(task steps.Task) error {
	producer, err := sarama.NewSyncProducer([]string{task.Bootstrap}, config(task))
	if err != nil {
		return err
	}
	defer producer.Close()
	var messages []*sarama.ProducerMessage
	for _, value := range steps.Values() {
		messages = append(messages, &sarama.ProducerMessage{Topic: task.Topic, Value: sarama.ByteEncoder(value)})
	}
	return producer.SendMessages(messages)
}

type reader struct {
	found int
	done  context.CancelFunc
}

func (*reader) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (*reader) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (reader *reader) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case message := <-claim.Messages():
			if message == nil {
				return nil
			}
			session.MarkMessage(message, "")
			reader.found++
			if reader.found == steps.Records {
				session.Commit()
				reader.done()
				return nil
			}
		case <-session.Context().Done():
			return nil
		}
	}
}

func consume(within context.Context, task steps.Task) error {
	group, err := sarama.NewConsumerGroup([]string{task.Bootstrap}, task.Group(), config(task))
	if err != nil {
		return err
	}
	defer group.Close()
	reading, done := context.WithCancel(within)
	reader := &reader{done: done}
	for reading.Err() == nil {
		if err := group.Consume(reading, []string{task.Topic}, reader); err != nil {
			return err
		}
	}
	return steps.Check(reader.found)
}

func create(task steps.Task) error {
	admin, err := sarama.NewClusterAdmin([]string{task.Bootstrap}, config(task))
	if err != nil {
		return err
	}
	defer admin.Close()
	return admin.CreateTopic(task.Made(), &sarama.TopicDetail{NumPartitions: 1, ReplicationFactor: 1}, false)
}

func describe(task steps.Task) error {
	admin, err := sarama.NewClusterAdmin([]string{task.Bootstrap}, config(task))
	if err != nil {
		return err
	}
	defer admin.Close()
	topic := sarama.ConfigResource{Type: sarama.TopicResource, Name: task.Topic}
	if _, err := admin.DescribeConfig(topic); err != nil {
		return err
	}
	if _, err := admin.ListConsumerGroups(); err != nil {
		return err
	}
	if _, err := admin.DescribeConsumerGroups([]string{task.Group()}); err != nil {
		return err
	}
	_, err = admin.ListConsumerGroupOffsets(task.Group(), map[string][]int32{task.Topic: {0}})
	return err
}
