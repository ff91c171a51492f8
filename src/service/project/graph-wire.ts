import { bytesPerFrame, type AudioFormat } from '../../audio/format.js'
import type { EventEnvelope } from '../../protocol/dataflow-events.js'
import { SpeechError } from '../../errors/speech-error.js'
import type { WireLoss } from './graph-session.js'
import type { Drops, WireTerms } from './wire-policy.js'
import type { GraphWire, PortName } from './project-graph.js'
import { defaultHeldItems } from './project-keys.js'
import { silencePiece } from './silence.js'

/** Above what it holds, a wire that blocks takes so much, while whoever feeds the graph stops. */
const slackMs = 10_000
const slackItems = 1000

/** What the wire of a project may hold, in the frames of the format that it carries in a session. */
export const wireTerms = (wire: GraphWire, format: AudioFormat | undefined, maxPendingAudioMs: number): WireTerms => {
  const { kind, whenFull, holds } = wire
  if (kind === 'event') {
    const capacity = holds?.count ?? defaultHeldItems
    return { kind, whenFull, capacity, slack: slackItems, frameBytes: 1, silence: new Uint8Array(0) }
  }
  if (format === undefined) throw new SpeechError('internal', 'A wire of audio has no format.')
  const framesOf = (durationMs: number): number => Math.round((durationMs * format.sampleRateHz) / 1000)
  return {
    kind,
    whenFull,
    // More than the session may have pending no wire holds, whatever the project says.
    capacity: framesOf(Math.min(holds?.count ?? maxPendingAudioMs, maxPendingAudioMs)),
    slack: framesOf(slackMs),
    frameBytes: bytesPerFrame(format),
    silence: silencePiece(format),
  }
}

export const portText = ({ node, port }: PortName): string => `${node}.${port}`

/** So much that a wire dropped, for who counts it; nothing where it dropped nothing. */
export const wireLoss = (
  { kind, whenFull: policy }: GraphWire,
  node: string,
  format: AudioFormat | undefined,
  count: number,
): WireLoss | undefined => {
  if (count === 0) return undefined
  return kind === 'event' || format === undefined
    ? { node, policy, what: 'events', amount: count }
    : { node, policy, what: 'audio-ms', amount: (count * 1000) / format.sampleRateHz }
}

/** The event that tells of drops: once when they begin, and with the total when they end. */
export const droppedEvent = ({ from, to }: GraphWire, format: AudioFormat | undefined, drops: Drops): EventEnvelope => {
  const toMs = (count: number): number => (format === undefined ? 0 : Math.round((count * 1000) / format.sampleRateHz))
  const { phase, dropped, atCount } = drops
  return {
    name: 'Wire Dropped',
    channel: -1,
    startMs: format === undefined ? -1 : toMs(atCount),
    endMs: -1,
    data: {
      From: portText(from),
      To: portText(to),
      Phase: phase,
      ...(format === undefined ? { DroppedItems: dropped } : { DroppedMsec: toMs(dropped) }),
    },
  }
}
