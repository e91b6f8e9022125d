// Confluent's client for Go, on librdkafka.
package main

import (
	"context"
	"time"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"

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

func produce(task steps.Task) error {
	producer, err := kafka.NewProducer(&kafka.ConfigMap{
		"bootstrap.servers": task.Bootstrap, "client.id": task.ClientID, "message.timeout.ms": 10000,
	})
	if err != nil {
		return err
	}
	defer producer.Close()
	done := make(chan kafka.Event, steps.Records)
	where := kafka.TopicPartition{Topic: &task.Topic, Partition: 0}
	for _, value := range steps.Values() {
		if err := producer.Produce(&kafka.Message{TopicPartition: where, Value: value}, done); err != nil {
			return err
		}
	}
	for range steps.Records {
		if message, ok := (<-done).(*kafka.Message); ok && message.TopicPartition.Error != nil {
			return message.TopicPartition.Error
		}
	}
	return nil
}

func consume(within context.Context, task steps.Task) error {
	consumer, err := kafka.NewConsumer(&kafka.ConfigMap{
		"bootstrap.servers": task.Bootstrap, "client.id": task.ClientID, "group.id": task.Group(),
		"auto.offset.reset": "earliest", "enable.auto.commit": false,
	})
	if err != nil {
		return err
	}
	defer consumer.Close()
	if err := consumer.Subscribe(task.Topic, nil); err != nil {
		return err
	}
	found := 0
	for found < steps.Records && within.Err() == nil {
		if _, err := consumer.ReadMessage(time.Second); err == nil {
			found++
		}
	}
	if err := steps.Check(found); err != nil {
		return err
	}
	_, err = consumer.Commit()
	return err
}
