// Platformatic's client.
import { Consumer, Producer, stringDeserializers, stringSerializers } from '@platformatic/kafka'
import { allRead, group, main, task, VALUES } from './steps.mjs'

const settings = { clientId: task.client_id, bootstrapBrokers: [task.bootstrap], retries: 2 }

async function produce() {
  const producer = new Producer({ ...settings, serializers: stringSerializers })
  await producer.send({ messages: VALUES.map(value => ({ topic: task.topic, value })), acks: -1 })
  await producer.close()
}

async function consume() {
  const consumer = new Consumer({ ...settings, groupId: group, deserializers: stringDeserializers })
  await allRead(async count => {
    const stream = await consumer.consume({ topics: [task.topic], mode: 'earliest', autocommit: false })
    stream.on('data', async message => {
      await message.commit()
      count()
    })
  })
  await consumer.close(true)
}

main({ produce, consume })
