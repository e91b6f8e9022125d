// What clients in Node are told, and how they say what became of it: as steps.py does.
export const SECONDS = 15
export const RECORDS = 20
export const VALUES = Array.from({ length: RECORDS }, (_, number) => `value ${number}`)
export const task = JSON.parse(process.argv[2])
export const group = `${task.client_id}-group`

// Calls `begin` with a function that counts records; ends when all of them have been read.
export const allRead = begin =>
  new Promise((resolve, reject) => {
    let found = 0
    const late = setTimeout(() => reject(new Error(`${found} of ${RECORDS} records were read`)), SECONDS * 1000)
    const count = (more = 1) => {
      found += more
      if (found >= RECORDS) {
        clearTimeout(late)
        resolve()
      }
    }
    Promise.resolve(begin(count, reject)).catch(reject)
  })

export async function main(steps) {
  for (const [step, run] of Object.entries(steps)) {
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
}
