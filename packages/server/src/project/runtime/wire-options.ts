import { type AudioFormat, bytesPerFrame } from 'rxspeech/internal/audio/format'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import type { PortKind } from '../../nodes/core/node.js'
import type { GraphWire, PortName, WhenFull } from '../format/project-graph.js'
import { defaultCapacityItems } from '../format/project-keys.js'
import { silencePiece } from './audio-balance.js'

export interface WireOptions {
  readonly from: PortName
  readonly to: PortName
  readonly kind: PortKind
  readonly whenFull: WhenFull
  /** How much the wire can hold, in frames of audio or in events. */
  readonly capacity: number
  /** How much more than its capacity a wire with `block` accepts before its source counts as flooding. */
  readonly slack: number
  /** The bytes of a frame; 1 for events. */
  readonly frameBytes: number
  /** A piece of silence in the format of the wire; empty for events. */
  readonly silence: Uint8Array
  /** Frames per second; undefined for events. */
  readonly sampleRateHz: number | undefined
}

/** Above its capacity a wire with `block` accepts this much while the source of the audio pauses. */
const slackMs = 10_000
const slackItems = 1000

/** The options of a project's wire in a session, in frames of the format that the wire carries. */
export const wireOptions = (
  { from, to, kind, whenFull, capacity }: GraphWire,
  format: AudioFormat | undefined,
  maxPendingAudioMs: number,
): WireOptions => {
  const ends = { from, to, kind, whenFull }
  if (kind === 'event') {
    const items = capacity?.count ?? defaultCapacityItems
    return { capacity: items, slack: slackItems, frameBytes: 1, silence: noBytes, sampleRateHz: undefined, ...ends }
  }
  if (format === undefined) throw new SpeechError('internal', 'A wire of audio has no format.')
  const { sampleRateHz } = format
  const framesOf = (durationMs: number): number => Math.round((durationMs * sampleRateHz) / 1000)
  return {
    // The session's limit also bounds the capacity that a project sets.
    capacity: framesOf(Math.min(capacity?.count ?? maxPendingAudioMs, maxPendingAudioMs)),
    slack: framesOf(slackMs),
    frameBytes: bytesPerFrame(format),
    silence: silencePiece(format),
    sampleRateHz,
    ...ends,
  }
}

const noBytes = new Uint8Array(0)

export const portText = ({ node, port }: PortName): string => `${node}.${port}`
