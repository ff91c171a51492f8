import { setTimeout as delay } from 'node:timers/promises'
import { joined, recordingOf } from './free-text-recordings.mjs'
import { startMeasuredService } from './service-under-test.mjs'

const megabytes = (value) => `${value.toFixed(0)} MB`
const rateHz = 16_000

/** Memory with the model loaded, and what each of many sessions adds. */
export const measureMemory = async () => {
  const sessions = 100
  const service = await startMeasuredService({})
  try {
    const silence = new Int16Array(rateHz)
    await service.play({ samples: silence, rateHz }, { isPaced: false })
    // The second round meets pools that the first one filled.
    const open = async () => {
      const running = Array.from({ length: sessions }, () =>
        service.play({ samples: new Int16Array(6 * rateHz), rateHz }),
      )
      await delay(5000)
      const cost = service.cost()
      await Promise.all(running)
      return cost
    }
    const idle = service.cost()
    await open()
    const between = service.cost()
    const during = await open()
    console.log(
      `the service ${megabytes(idle.own.rssMb)}, its engine ${megabytes(idle.below.rssMb)} with the model loaded`,
    )
    console.log(
      `${sessions} silent sessions at once: ${((during.own.rssMb - between.own.rssMb) / sessions).toFixed(2)} MB each`,
    )
  } finally {
    await service.close()
  }
}

/** A thousand segments of different length, one after another; the memory of the engine after each hundred. */
export const measureSegments = async () => {
  const human = recordingOf('human52')
  if (human === undefined) {
    console.log('LEFT OUT: the recordings are not there.')
    return
  }
  const service = await startMeasuredService({ partials: 'off' })
  try {
    for (let round = 0; round <= 10; round += 1) {
      const { own, below } = service.cost()
      console.log(
        `${String(100 * round).padStart(5)} segments: the service ${megabytes(own.rssMb)}, its engine ${megabytes(below.rssMb)}`,
      )
      if (round === 10) return
      const parts = Array.from({ length: 100 }, (_none, number) => {
        // Between half a second and two seconds of speech, every twentieth of twelve seconds.
        const lengthS = number % 20 === 19 ? 12 : 0.5 + (number % 16) / 10
        const from = Math.floor((number * 7.3) % 36) * rateHz
        return joined(human.samples.subarray(from, from + lengthS * rateHz), new Int16Array(0.9 * rateHz))
      })
      await service.play({ samples: joined(...parts), rateHz }, { isPaced: false })
    }
  } finally {
    await service.close()
  }
}
