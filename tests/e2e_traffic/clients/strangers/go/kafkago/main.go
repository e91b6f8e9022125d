// Kafka-go of segmentio before 0.4, with another interface than today.
package main

import (
	"context"
	"time"

	"github.com/segmentio/kafka-go"

	"kwire.invalid/clients/steps"
)

func main() {
	steps.Main(func(task steps.Task) []steps.Step {
		return []steps.Step{
			{Name: "produce", Run: func(within context.Context) error { return produce(within, task) }},
			{Name: "consume", Run: func(within context.Context) error { return consume(within, task) }},
		}
	})
}

func produce(within context.Context, task steps.Task) error {
	writer := kafka.NewWriter(kafka.WriterConfig{
		Brokers:      []string{task.Bootstrap},
		Topic:        task.Topic,
		Dialer:       &kafka.Dialer{ClientID: task.ClientID},
		RequiredAcks: -1,
		MaxAttempts:  3,
	})
	defer writer.Close()
	var messages []kafka.Message
	for _, value := range steps.Values() {
		messages = append(messages, kafka.Message{Value: value})
	}
	return writer.WriteMessages(within, messages...)
}

func consume(within context.Context, task steps.Task) error {
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers: []string{task.Bootstrap},
		GroupID: task.Group(),
		Topic:   task.Topic,
		MaxWait: time.Second,
		Dialer:  &kafka.Dialer{ClientID: task.ClientID},
	})
	defer reader.Close()
	for found := 0; ; found++ {
		message, err := reader.FetchMessage(within)
		if err != nil {
			return err
		}
		if found == steps.Records-1 {
			return reader.CommitMessages(within, message)
		}
	}
}
