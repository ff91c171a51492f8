// npm run bench scale: what a service loses when its engines are other processes, over NATS. The engines sleep: their
// capacity is arithmetic, and they do not compete for cores. So this shows what the protocol, its queues and its
// decisions cost. It does not show that the cores of several machines add up, nor a network: everything is on one
// machine, over loopback.
import { benchRefusals } from './refusals.mjs'
import { benchSaturated } from './saturated.mjs'
import { benchStarved } from './starved.mjs'
import { benchTraffic } from './traffic.mjs'
import { places, SleepingFleet } from './sleeping-fleet.mjs'

const parts = { saturated: benchSaturated, traffic: benchTraffic, refusals: benchRefusals, starved: benchStarved }
const defaultSeconds = { saturated: 10, traffic: 60, refusals: 60, starved: 0 }

/**
 * @param {readonly string[]} options names of parts, otherwise all; `--seconds N` of each measurement; `--build DIR`,
 *   the built checkout that the part `starved` measures
 */
export const benchScale = async (options) => {
  const at = options.indexOf('--seconds')
  const seconds = at < 0 ? undefined : Number(options[at + 1])
  const buildAt = options.indexOf('--build')
  const build = buildAt < 0 ? undefined : options[buildAt + 1]
  const named = Object.keys(parts).filter((name) => options.includes(name))
  console.log(
    `Engine processes that sleep: ${places} places each. This shows what the protocol loses, not ` +
      'that the cores of several machines add up, and no network: all is on this machine, over loopback.',
  )
  for (const name of named.length === 0 ? Object.keys(parts) : named) {
    const fleet = await SleepingFleet.start()
    try {
      await parts[name](fleet, seconds ?? defaultSeconds[name], build)
    } finally {
      await fleet.close()
    }
  }
}
