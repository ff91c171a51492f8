import { setTimeout as delay } from 'node:timers/promises'
import { joined, recordingOf } from './free-text-recordings.mjs'
import { startMeasuredService } from './service-under-test.mjs'

const quantile = (values, part) => values.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(values.length * part) - 1)]
const seconds = (ms) => (ms === undefined ? '-' : `${(ms / 1000).toFixed(2)} s`)

/** How long each call is. */
const callS = 45

/** Calls that begin one after another, each at another place of the recordings. */
const callsOf = (count) => {
  const call = recordingOf('callmono')
  const human = recordingOf('human52')
  if (call === undefined || human === undefined) return []
  const whole = joined(call.samples, human.samples)
  const length = callS * call.rateHz
  return Array.from({ length: count }, (_none, number) => {
    const from = Math.floor((whole.length * number) / count)
    const turned = joined(whole.subarray(from), whole.subarray(0, from))
    return { rateHz: call.rateHz, samples: turned.subarray(0, length) }
  })
}

/** A call that the service refuses, because it would make others late, has no result. */
const unlessRefused = (error) => {
  if (error.code !== 'overloaded') throw error
  return undefined
}

/** @param beginS the calls begin within so many seconds */
const measure = async (name, settings, offered, { limits, beginS = 1 } = {}) => {
  const calls = callsOf(offered)
  const service = await startMeasuredService(settings, limits)
  try {
    await service.play({ ...calls[0], samples: calls[0].samples.subarray(0, 16_000 * 5) }, { isPaced: false })
    const before = service.cost()
    const played = await Promise.all(
      calls.map(async (call, number) => {
        await delay((1000 * beginS * number) / offered)
        return service.play(call).catch(unlessRefused)
      }),
    )
    const results = played.filter((one) => one !== undefined)
    const count = results.length
    const after = service.cost()
    const [own, below] = ['own', 'below'].map((part) => after[part].cpuS - before[part].cpuS)
    const delays = results.flatMap(({ delaysMs }) => delaysMs)
    const partials = results.reduce((sum, { updates }) => sum + updates, 0) - delays.length
    console.log(
      [
        name.padEnd(20),
        (count === offered ? String(count) : `${count}/${offered}`).padStart(6),
        `${((100 * (own + below)) / (callS + beginS)).toFixed(0)} %`.padStart(8),
        `${((100 * own) / below).toFixed(1)} %`.padStart(10),
        seconds(quantile(delays, 0.5)).padStart(10),
        seconds(quantile(delays, 0.95)).padStart(10),
        (partials / count).toFixed(0).padStart(10),
        String(results.reduce((sum, { takenBack }) => sum + takenBack, 0)).padStart(12),
      ].join(''),
    )
  } finally {
    await service.close()
  }
}

export const measureCalls = async () => {
  if (callsOf(1).length === 0) {
    console.log('LEFT OUT: the recordings are not there.')
    return
  }
  console.log(
    `Calls of ${callS} s at the pace of speech, on one core. Delay: from the end of a segment in the audio to its milestone.\n`,
  )
  const head = ['calls', 'core', 'service', 'delay p50', 'p95', 'partials', 'taken back']
  console.log(''.padEnd(20) + head.map((name, at) => name.padStart([6, 8, 10, 10, 10, 10, 12][at])).join(''))
  await measure('milestones only', { partials: 'off' }, 8)
  await measure('with partials', {}, 2)
  await measure('with partials', {}, 6)
  await measure('as in production', {}, 12, { limits: { maxEngineDelayMs: 1_000 }, beginS: 24 })
}
