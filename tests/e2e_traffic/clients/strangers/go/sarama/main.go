// Sarama of 2018, which never asks for versions: it speaks those of the broker that its setting names.
package main

import (
	"context"

	"github.com/Shopify/sarama"

	"kwire.invalid/clients/steps"
)

func main() {
	steps.Main(func(task steps.Task) []steps.Step {
		return []steps.Step{
			{Name: "produce", Run: func(context.Context) error { return produce(task) }},
			{Name: "consume", Run: func(within context.Context) error { return consume(within, task) }},
		}
	})
}

func config(task steps.Task) *sarama.Config {
	config := sarama.NewConfig()
	config.ClientID = task.ClientID
	config.Version = sarama.V0_10_2_0
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Return.Successes = true
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	return config
}

func produce(task steps.Task) error {
	producer, err := sarama.NewSyncProducer([]string{task.Bootstrap}, config(task))
	if err != nil {
		return err
	}
	defer producer.Close()
	for _, value := range steps.Values() {
		message := &sarama.ProducerMessage{Topic: task.Topic, Value: sarama.ByteEncoder(value)}
		if _, _, err := producer.SendMessage(message); err != nil {
			return err
		}
	}
	return nil
}

type reading struct{ found chan int }

func (reading) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (reading) Cleanup(sarama.ConsumerGroupSession) error { return nil }
func (all reading) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	found := 0
	for message := range claim.Messages() {
		session.MarkMessage(message, "")
		if found++; found == steps.Records {
			all.found <- found
			return nil
		}
	}
	return nil
}

func consume(within context.Context, task steps.Task) error {
	group, err := sarama.NewConsumerGroup([]string{task.Bootstrap}, task.Group(), config(task))
	if err != nil {
		return err
	}
	defer group.Close()
	all, failed := reading{make(chan int, 1)}, make(chan error, 1)
	go func() { failed <- group.Consume(within, []string{task.Topic}, all) }()
	select {
	case found := <-all.found:
		return steps.Check(found)
	case err := <-failed:
		if err == nil {
			err = steps.Check(0)
		}
		return err
	case <-within.Done():
		return within.Err()
	}
}
