// Franz-go: the setting version is the release whose versions are the highest that it may speak.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

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

func client(task steps.Task, more ...kgo.Opt) (*kgo.Client, error) {
	options := []kgo.Opt{
		kgo.SeedBrokers(task.Bootstrap),
		kgo.ClientID(task.ClientID),
		kgo.WithLogger(kgo.BasicLogger(os.Stderr, kgo.LogLevelDebug, nil)),
	}
	if version := task.Setting("version"); version != "" {
		options = append(options, kgo.MaxVersions(kversion.FromString(version)))
	}
	switch task.Mechanism {
	case "PLAIN":
		options = append(options, kgo.SASL(plain.Auth{User: task.User, Pass: task.Password}.AsMechanism()))
	case "SCRAM-SHA-256":
		options = append(options, kgo.SASL(scram.Auth{User: task.User, Pass: task.Password}.AsSha256Mechanism()))
	case "SCRAM-SHA-512":
		options = append(options, kgo.SASL(scram.Auth{User: task.User, Pass: task.Password}.AsSha512Mechanism()))
	}
	return kgo.NewClient(append(options, more...)...)
}

func produce(within context.Context, task steps.Task) error {
	client, err := client(task)
	if err != nil {
		return err
	}
	defer client.Close()
	var records []*kgo.Record
	for _, value := range steps.Values() {
		records = append(records, &kgo.Record{Topic: task.Topic, Value: value})
	}
	return client.ProduceSync(within, records...).FirstErr()
}

func consume(within context.Context, task steps.Task) error {
	client, err := client(
		task,
		kgo.ConsumeTopics(task.Topic),
		kgo.ConsumerGroup(task.Group()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
	)
	if err != nil {
		return err
	}
	defer client.Close()
	found := 0
	for found < steps.Records && within.Err() == nil {
		fetches := client.PollFetches(within)
		if err := fetches.Err(); err != nil {
			return err
		}
		found += fetches.NumRecords()
	}
	if err := client.CommitUncommittedOffsets(within); err != nil {
		return err
	}
	return steps.Check(found)
}

func create(within context.Context, task steps.Task) error {
	client, err := client(task)
	if err != nil {
		return err
	}
	defer client.Close()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = task.Made(), 1, 1
	request := kmsg.NewPtrCreateTopicsRequest()
	request.Topics = append(request.Topics, topic)
	answer, err := request.RequestWith(within, client)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(answer.Topics[0].ErrorCode)
}

func describe(within context.Context, task steps.Task) error {
	client, err := client(task)
	if err != nil {
		return err
	}
	defer client.Close()
	resource := kmsg.NewDescribeConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeTopic, task.Topic
	configs := kmsg.NewPtrDescribeConfigsRequest()
	configs.Resources = append(configs.Resources, resource)
	groups := kmsg.NewPtrDescribeGroupsRequest()
	groups.Groups = []string{task.Group()}
	offsets := kmsg.NewPtrOffsetFetchRequest()
	offsets.Group = task.Group()
	for _, request := range []kmsg.Request{configs, kmsg.NewPtrListGroupsRequest(), groups, offsets} {
		if _, err := client.Request(within, request); err != nil {
			return fmt.Errorf("%s: %w", kmsg.NameForKey(request.Key()), err)
		}
	}
	return nil
}
