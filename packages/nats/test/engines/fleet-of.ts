import { decodeRequest, type EngineRequest } from '../../src/engines/protocol.js'
import { modelLabel } from '../../../engines/src/models/model-json.js'
import { callsModel, VirtualFleet, type Lane } from './virtual-fleet.js'

let current: VirtualFleet | undefined
/** Closes what a test of `newFleet` or `fleetOf` has opened; for `afterEach`. */
export const closeFleet = async (): Promise<void> => {
  await current?.close()
  current = undefined
}

export const newFleet = (...options: ConstructorParameters<typeof VirtualFleet>): VirtualFleet =>
  (current = new VirtualFleet(...options))

export const fleetOf = async (
  engineCount: number,
  ...options: ConstructorParameters<typeof VirtualFleet>
): Promise<VirtualFleet> => {
  const fleet = newFleet(...options)
  for (let at = 0; at < engineCount; at += 1) fleet.startEngine()
  await fleet.pass(300)
  return fleet
}

/** A channel in a segment of which that much audio was sent. */
export const speaking = async (
  engineCount: number,
  ms: number,
): Promise<{ readonly fleet: VirtualFleet; readonly lane: Lane }> => {
  const fleet = await fleetOf(engineCount)
  const lane = await fleet.openLane()
  lane.open()
  await lane.speak(ms)
  return { fleet, lane }
}

export const callsLabel = { label: modelLabel(callsModel) }

export const causeOf = (error: Error | undefined): unknown => (error?.cause as { code?: unknown } | undefined)?.code

/** The requests to engines so far, with the number of their attempt. */
export const requests = ({ broker }: VirtualFleet): readonly (EngineRequest & { readonly attempt: number })[] =>
  broker.posted.flatMap(({ subject, payload, replyTo }) => {
    const request = subject.endsWith('.in') ? decodeRequest(payload) : undefined
    return request === undefined ? [] : [{ ...request, attempt: Number(replyTo.split('.').at(-1)) }]
  })
