import { afterEach } from 'vitest'
import { standIn, type StandIn, type StandInOptions } from '../../../src/testing/stand-in/stand-in.js'

/** Starts stand-ins, each of which is closed after its test. */
export const closedAfterEach = (): ((options: StandInOptions) => Promise<StandIn>) => {
  const started: StandIn[] = []
  afterEach(async () => {
    await Promise.all(started.splice(0).map((vendor) => vendor.close()))
  })
  return async (options) => {
    const vendor = await standIn(options)
    started.push(vendor)
    return vendor
  }
}
