// No-kafka, of the time of Kafka 0.9.
import Kafka from 'no-kafka'
import { allRead, group, main, task, VALUES } from './steps.mjs'

const settings = { connectionString: task.bootstrap, clientId: task.client_id, logger: { logLevel: 0 } }

async function produce() {
  const producer = new Kafka.Producer({ ...settings, requiredAcks: -1, retries: { attempts: 2 } })
  await producer.init()
  const sent = await producer.send(VALUES.map(value => ({ topic: task.topic, partition: 0, message: { value } })))
  await producer.end()
  const problem = sent.find(one => one.error)
  if (problem) throw problem.error
}

async function consume() {
  const consumer = new Kafka.GroupConsumer({ ...settings, groupId: group, startingOffset: Kafka.EARLIEST_OFFSET })
  await allRead(count => {
    const handler = async (messages, topic, partition) => {
      for (const one of messages) await consumer.commitOffset({ topic, partition, offset: one.offset })
      count(messages.length)
    }
    return consumer.init([{ subscriptions: [task.topic], handler }])
  })
  await consumer.end()
}

main({ produce, consume })
