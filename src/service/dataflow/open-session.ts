import { bytesPerFrame } from '../../audio/format.js'
import { SpeechError } from '../../errors/speech-error.js'
import type { StartRequest } from '../../protocol/dataflow-messages.js'
import { batchModels } from '../sessions/batch-models.js'
import { inTime } from '../sessions/in-time.js'
import { PaceLimit } from '../sessions/pace-limit.js'
import type { Pausable } from '../sessions/pause-counter.js'
import { ProjectSession } from './project-session.js'
import type { Admission, DataflowContext, SessionContext } from '../sessions/session-context.js'

/** A session that is ready for audio. */
export interface OpenSession {
  readonly run: ProjectSession
  readonly frameBytes: number
  readonly pace: PaceLimit
}

export interface OpeningListener {
  readonly isOver: () => boolean
  /** Who gets an admission releases it. */
  readonly admitted: (admission: Admission) => void
}

/**
 * Has the token of a Start verified and opens its project; nothing where the stream was over before that was done. Rejects
 * with the refusal, or with `engine-failed` where one of the two takes longer than `openWithinMs`.
 */
export const openSession = async (
  request: StartRequest,
  terms: DataflowContext,
  link: Pausable,
  { isOver, admitted }: OpeningListener,
): Promise<OpenSession | undefined> => {
  const { limits, scheduler } = terms
  const { models, allowBatch } = batchModels(terms.models)
  const askedAtMs = scheduler.now()
  const soon = <Outcome>(work: Promise<Outcome>): Promise<Outcome> => {
    const late = new SpeechError('engine-failed', 'The session could not be made ready in time; try again.')
    return inTime(work, limits.openWithinMs, scheduler, late)
  }
  const admission = await soon(terms.admit(request.token, request.tenant))
  if (isOver()) {
    admission.release()
    return undefined
  }
  admitted(admission)
  if (isOver()) return undefined
  const run = await soon(ProjectSession.open(request, admission.rights, { ...terms, models }, link))
  const { sampleRateHz } = request.audio
  const pace = new PaceLimit({ limits, scheduler, sampleRateHz, askedAtMs, allowBatch })
  return isOver() ? undefined : { run, frameBytes: bytesPerFrame(request.audio), pace }
}

/** Gives audio to the session, unless it cuts a frame or comes too fast: then the refusal is given. */
export const takeAudio = (
  { run, frameBytes, pace }: OpenSession,
  bytes: Uint8Array,
  watch: SessionContext['watch'],
): SpeechError | undefined => {
  const { length } = bytes
  if (length % frameBytes !== 0) {
    const text = `An audio message of ${length} bytes cuts a sample; send a multiple of ${frameBytes} bytes.`
    return new SpeechError('cut-sample', text)
  }
  const tooFast = pace.take(length / frameBytes)
  // No audio is no sign of life either.
  if (tooFast !== undefined || length === 0) return tooFast
  watch?.audio(length / frameBytes)
  run.audio(bytes)
  return undefined
}
