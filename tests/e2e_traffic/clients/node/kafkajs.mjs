// KafkaJS. It takes a task as JSON, goes through its steps and prints a line for each, as steps.py does.
import { Kafka, logLevel } from 'kafkajs'

const SECONDS = 15
const RECORDS = 20

const task = JSON.parse(process.argv[2])
const group = `${task.client_id}-group`
const made = `${task.client_id}-made`

const kafka = new Kafka({
  clientId: task.client_id,
  brokers: [task.bootstrap],
  logLevel: logLevel.DEBUG,
  logCreator: () => ({ log }) => process.stderr.write(`${log.message}\n`),
  retry: { retries: 3 },
  ...(task.mechanism && {
    sasl: { mechanism: task.mechanism.toLowerCase(), username: task.user, password: task.password },
  }),
})

async function connected(client, use) {
  await client.connect()
  try {
    return await use(client)
  } finally {
    await client.disconnect()
  }
}

const produce = () =>
  connected(kafka.producer(), producer => {
    const messages = Array.from({ length: RECORDS }, (_, number) => ({ value: `value ${number}` }))
    return producer.send({ topic: task.topic, messages, acks: -1 })
  })

const consume = () =>
  connected(kafka.consumer({ groupId: group }), async consumer => {
    await consumer.subscribe({ topic: task.topic, fromBeginning: true })
    let found = 0
    await new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`${found} of ${RECORDS} records were read`)), SECONDS * 1000)
      const eachMessage = async () => {
        found += 1
        if (found === RECORDS) {
          clearTimeout(late)
          resolve()
        }
      }
      consumer.run({ autoCommit: false, eachMessage }).catch(reject)
    })
    await consumer.commitOffsets([{ topic: task.topic, partition: 0, offset: String(RECORDS) }])
  })

const create = () =>
  connected(kafka.admin(), admin => admin.createTopics({ topics: [{ topic: made, numPartitions: 1 }] }))

const describe = () =>
  connected(kafka.admin(), async admin => {
    const topic = { type: 2, name: task.topic }
    await admin.describeConfigs({ includeSynonyms: false, resources: [topic] })
    await admin.listGroups()
    await admin.describeGroups([group])
    await admin.fetchOffsets({ groupId: group, topics: [task.topic] })
  })

for (const [step, run] of Object.entries({ produce, consume, create, describe })) {
  if (task.only.length && !task.only.includes(step)) continue
  let error = null
  try {
    const limit = new Promise((_, reject) =>
      setTimeout(() => reject(new Error(`no end after ${SECONDS + 3} s`)), (SECONDS + 3) * 1000).unref())
    await Promise.race([run(), limit])
  } catch (problem) {
    error = `${problem.name}: ${problem.message}`
  }
  console.log(JSON.stringify({ step, error }))
}
process.exit(0)
