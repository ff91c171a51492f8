import { defer } from 'rxjs'
import { SpeechError } from '../../errors/speech-error.js'
import type { Engine, EngineCapabilities } from './engine.js'
import { segmentLane, type OpenSegment } from './channel-segments.js'

export interface LaneEngineParts {
  readonly capabilities: EngineCapabilities
  /** Called for every lane: where its segments are opened. */
  readonly openLane: () => OpenSegment
  readonly ready: () => Promise<void>
  readonly busyMs?: () => number
  /** Called once, before the lanes that run are told. */
  readonly close: () => Promise<void>
}

/** An engine of decoders that read one segment at a time. Its close ends the lanes that run, and later ones, with `engine-failed`. */
export const laneEngine = ({ capabilities, openLane, ready, busyMs, close }: LaneEngineParts): Engine => {
  const { sampleRateHz } = capabilities
  const lanes = new Set<(error: SpeechError) => void>()
  let closing: Promise<void> | undefined
  const closedError = (): SpeechError =>
    new SpeechError('engine-failed', 'The recognition engine was closed.', { retryable: false })
  const onClose = (fail: (error: SpeechError) => void): (() => void) => {
    if (closing !== undefined) fail(closedError())
    lanes.add(fail)
    return () => lanes.delete(fail)
  }
  return {
    capabilities,
    recognize: () => (part$) =>
      defer(() => part$.pipe(segmentLane({ openSegment: openLane(), sampleRateHz, onClose }))),
    ready: () => (closing === undefined ? ready() : Promise.reject(closedError())),
    ...(busyMs === undefined ? {} : { busyMs }),
    close: () => {
      closing ??= close()
      for (const fail of [...lanes]) fail(closedError())
      return closing
    },
  }
}
