// The scenarios of tests/fake_clients with KafkaJS: ADDRESSES.
import { Kafka, logLevel } from 'kafkajs'

const kafka = new Kafka({ brokers: process.argv[2].split(','), logLevel: logLevel.NOTHING })
const listed = names => console.log(`[${names.sort().join(', ')}]`)
const pause = () => new Promise(resolve => setTimeout(resolve, 20))
setTimeout(() => process.exit(1), 40_000).unref()

const admin = kafka.admin()
await admin.connect()
await admin.createTopics({ topics: [{ topic: 'new', numPartitions: 2, replicationFactor: 1 }] })
listed(await admin.listTopics())
await admin.deleteTopics({ topics: ['new'] })
listed(await admin.listTopics())
await admin.disconnect()

const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 })
await producer.connect()
for (let i = 0; i < 20; i++) {
  await producer.send({ topic: 'orders', messages: [{ partition: i % 2, value: `value ${i}` }] })
}
await producer.disconnect()

let found = 0
const consumers = []
const shares = []
for (let share = 2; share > 0; share--) {
  const consumer = kafka.consumer({ groupId: 'g', heartbeatInterval: 100 })
  const index = consumers.push(consumer) - 1
  consumer.on(consumer.events.GROUP_JOIN, event => { shares[index] = event.payload.memberAssignment.orders?.length })
  await consumer.connect()
  await consumer.subscribe({ topic: 'orders', fromBeginning: true })
  await consumer.run({ eachMessage: async () => { found += 1 } })
  while (found < 20 || consumers.some((_, at) => shares[at] !== share)) await pause()
}
for (const consumer of consumers) await consumer.disconnect()
console.log(found)

const writer = kafka.producer({ transactionalId: 'tx', idempotent: true, maxInFlightRequests: 1 })
await writer.connect()
for (const value of ['lost', 'kept', 'lost', 'kept too']) {
  const transaction = await writer.transaction()
  await transaction.send({ topic: 'orders', messages: [{ partition: 0, value }] })
  await (value.startsWith('kept') ? transaction.commit() : transaction.abort())
}
await writer.disconnect()
const kept = []
const reader = kafka.consumer({ groupId: 'reader', readUncommitted: false })
await reader.connect()
await reader.subscribe({ topic: 'orders' })
reader.run({
  eachMessage: async ({ partition, message }) => {
    if (partition === 0 && Number(message.offset) >= 10) kept.push(message.value.toString())
  },
})
reader.seek({ topic: 'orders', partition: 0, offset: '10' })
while (kept.length < 2) await pause()
console.log(`[${kept.join(', ')}]`)
await reader.disconnect()
process.exit(0)
