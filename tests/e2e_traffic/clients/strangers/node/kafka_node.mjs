// Kafka-node, of before the time of kafkajs.
import kafka from 'kafka-node'
import { allRead, group, main, task, VALUES } from './steps.mjs'

const settings = { kafkaHost: task.bootstrap, clientId: task.client_id, connectRetryOptions: { retries: 2 } }

const produce = () =>
  new Promise((resolve, reject) => {
    const client = new kafka.KafkaClient(settings)
    const producer = new kafka.Producer(client, { requireAcks: -1 })
    const fail = problem => client.close(() => reject(problem))
    client.on('error', fail)
    producer.on('error', fail)
    producer.on('ready', () =>
      producer.send([{ topic: task.topic, messages: VALUES, partition: 0 }], problem =>
        problem ? fail(problem) : client.close(() => resolve())))
  })

const consume = () =>
  allRead((count, reject) => {
    const options = { ...settings, groupId: group, fromOffset: 'earliest', autoCommit: true, id: task.client_id }
    const consumer = new kafka.ConsumerGroup(options, [task.topic])
    consumer.on('message', () => count())
    consumer.on('error', reject)
  })

main({ produce, consume })
