import type { CallRecording, CallRoute } from './call.js'
import type { CallFault, GeneratorLoad, MeasuredSegment } from './step-verdict.js'

/** The first message to the generator. */
export interface GeneratorSettings extends CallRoute {
  readonly recording: CallRecording
}

/** Calls at the same time, measured after a warm-up. */
export interface StepRequest {
  readonly calls: number
  readonly warmUpMs: number
  readonly measureMs: number
  /** 0 to 1: moves the places in the recording at which the calls begin. */
  readonly phase: number
  /** How long the last results may take. */
  readonly finalWithinMs: number
}

export type ToGenerator = GeneratorSettings | { readonly step: StepRequest } | { readonly stop: true }

export type FromGenerator =
  /** It has begun to measure. */
  | { readonly type: 'measuring' }
  /** What was received since the last message, about once a second. */
  | { readonly type: 'received'; readonly segments: readonly MeasuredSegment[]; readonly faults: readonly CallFault[] }
  /** All of the audio was sent; last results may follow. */
  | { readonly type: 'sent'; readonly load: GeneratorLoad }
  /** The last message of a step; `load` as far as it was measured. */
  | { readonly type: 'ended' }

/** The golden ratio spreads any number of places evenly, and those of fewer calls are among those of more. */
const golden = 0.618_033_988_749_895

/** Where in the recording a call begins, as a share of its length. */
export const placeOf = (call: number, phase: number): number => (phase + (call + 1) * golden) % 1
