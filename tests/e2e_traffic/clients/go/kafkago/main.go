// Kafka-go, of segmentio.
package main

import (
	"context"
	"net"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"

	"kwire.invalid/clients/steps"
)

func main() {
	steps.Main(func(task steps.Task) []steps.Step {
		return []steps.Step{
			{Name: "produce", Run: func(within context.Context) error { return produce(within, task) }},
			{Name: "consume", Run: func(within context.Context) error { return consume(within, task) }},
			{Name: "create", Run: func(within context.Context) error { return create(within, task) }},
			{Name: "describe", Run: func(within context.Context) error { return describe(within, task) }},
		}
	})
}

func mechanism(task steps.Task) sasl.Mechanism {
	if task.Mechanism == "" {
		return nil
	}
	return plain.Mechanism{Username: task.User, Password: task.Password}
}

func address(task steps.Task) net.Addr { return kafka.TCP(task.Bootstrap) }

func transport(task steps.Task) *kafka.Transport {
	return &kafka.Transport{ClientID: task.ClientID, SASL: mechanism(task)}
}

func produce(within context.Context, task steps.Task) error {
	transport := transport(task)
	defer transport.CloseIdleConnections()
	writer := &kafka.Writer{
		Addr: address(task), Topic: task.Topic, Transport: transport, RequiredAcks: kafka.RequireAll, MaxAttempts: 3,
	}
	defer writer.Close()
	var messages []kafka.Message
	for _, value := range steps.Values() {
		messages = append(messages, kafka.Message{Value: value})
	}
	return writer.WriteMessages(within, messages...)
}

func consume(within context.Context, task steps.Task) error {
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers:     []string{task.Bootstrap},
		GroupID:     task.Group(),
		Topic:       task.Topic,
		StartOffset: kafka.FirstOffset,
		Dialer:      &kafka.Dialer{ClientID: task.ClientID, SASLMechanism: mechanism(task)},
	})
	defer reader.Close()
	for found := range steps.Records {
		message, err := reader.FetchMessage(within)
		if err != nil {
			return err
		}
		if found == steps.Records-1 {
			return reader.CommitMessages(within, message)
		}
	}
	return nil
}

func create(within context.Context, task steps.Task) error {
	client := &kafka.Client{Addr: address(task), Transport: transport(task)}
	topics := []kafka.TopicConfig{{Topic: task.Made(), NumPartitions: 1, ReplicationFactor: 1}}
	answer, err := client.CreateTopics(within, &kafka.CreateTopicsRequest{Topics: topics})
	if err != nil {
		return err
	}
	return answer.Errors[task.Made()]
}

func describe(within context.Context, task steps.Task) error {
	client := &kafka.Client{Addr: address(task), Transport: transport(task)}
	topic := kafka.DescribeConfigRequestResource{ResourceType: kafka.ResourceTypeTopic, ResourceName: task.Topic}
	resources := []kafka.DescribeConfigRequestResource{topic}
	if _, err := client.DescribeConfigs(within, &kafka.DescribeConfigsRequest{Resources: resources}); err != nil {
		return err
	}
	if _, err := client.ListGroups(within, &kafka.ListGroupsRequest{}); err != nil {
		return err
	}
	groups := []string{task.Group()}
	if _, err := client.DescribeGroups(within, &kafka.DescribeGroupsRequest{GroupIDs: groups}); err != nil {
		return err
	}
	wanted := map[string][]int{task.Topic: {0}}
	_, err := client.OffsetFetch(within, &kafka.OffsetFetchRequest{GroupID: task.Group(), Topics: wanted})
	return err
}
