import { parseJsonObject, ownValue } from 'rxspeech/internal/protocol/parse-json'
import type { RecognizerMilestone } from 'rxspeech/internal/protocol/recognizer-messages'
import type { Word } from 'rxspeech/internal/protocol/session-event'
import type { NamedModel } from 'rxspeech-server/listen/dialect'

/** A piece of speech, or of audio without any. Times are milliseconds since the first sample. */
export interface Segment {
  readonly startMs: number
  readonly endMs: number
  readonly text: string
  readonly words: readonly Word[]
  readonly confidence: number
}

/** The segment of a definitive result of a recognition that began at a time. */
export const segmentOf = (
  { text, startMs = 0, endMs = startMs, words = [], confidence = 0 }: RecognizerMilestone,
  beganMs: number,
): Segment => ({
  text,
  startMs: beganMs + startMs,
  endMs: beganMs + endMs,
  words: words.map((word) => ({ ...word, startMs: beganMs + word.startMs, endMs: beganMs + word.endMs })),
  confidence,
})

/** Several segments as one; undefined for none. */
export const joinSegments = (segments: readonly Segment[]): Segment | undefined => {
  const [first] = segments
  const last = segments.at(-1)
  if (first === undefined || last === undefined) return undefined
  const spoken = segments.filter(({ text }) => text !== '')
  const durationMs = spoken.reduce((sum, { startMs, endMs }) => sum + endMs - startMs, 0)
  const weighted = spoken.reduce((sum, { startMs, endMs, confidence }) => sum + (endMs - startMs) * confidence, 0)
  return {
    startMs: first.startMs,
    endMs: last.endMs,
    text: segments.map(({ text }) => text).join(''),
    words: segments.flatMap(({ words }) => words),
    confidence: durationMs === 0 ? 0 : weighted / durationMs,
  }
}

export const secondsOf = (ms: number): number => Math.round(ms) / 1000

/** The words of a segment; `punctuated_word` is as the model writes it. */
export const wordsOf = ({ words, confidence }: Segment, speaker: number | undefined) =>
  words.map((word) => ({
    word: bareWord(word.text),
    start: secondsOf(word.startMs),
    end: secondsOf(word.endMs),
    confidence: word.confidence ?? confidence,
    punctuated_word: word.text,
    ...(speaker !== undefined && { speaker }),
  }))

const bareWord = (text: string): string => {
  const bare = text.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, '')
  return (bare === '' ? text : bare).toLowerCase()
}

export const alternativeOf = (segment: Segment, speaker?: number) => ({
  transcript: segment.text.trim(),
  confidence: segment.confidence,
  words: wordsOf(segment, speaker),
})

export const modelInfo = ({ name, tenant }: NamedModel) => ({ name, version: '', arch: tenant })

/** The number of a channel, and of how many. */
export type ChannelIndex = readonly [index: number, of: number]

export interface ResultKind {
  readonly isFinal: boolean
  readonly isSpeechFinal: boolean
  readonly isFromFinalize: boolean
}

/** What all messages of a socket have in common. */
export interface MessageContext {
  readonly requestId: string
  readonly model: NamedModel
  readonly hasSpeakers: boolean
}

/** A message with text. Clients drop one without any of these fields. */
export const resultsMessage = (
  segment: Segment,
  channel: ChannelIndex,
  { isFinal, isSpeechFinal, isFromFinalize }: ResultKind,
  { requestId, model, hasSpeakers }: MessageContext,
): string =>
  JSON.stringify({
    type: 'Results',
    channel_index: channel,
    duration: secondsOf(segment.endMs - segment.startMs),
    start: secondsOf(segment.startMs),
    is_final: isFinal,
    speech_final: isSpeechFinal,
    from_finalize: isFromFinalize,
    channel: { alternatives: [alternativeOf(segment, hasSpeakers ? channel[0] : undefined)] },
    metadata: { request_id: requestId, model_info: modelInfo(model), model_uuid: model.name },
  })

export const speechStartedMessage = (channel: ChannelIndex, atMs: number): string =>
  JSON.stringify({ type: 'SpeechStarted', channel, timestamp: secondsOf(atMs) })

export const utteranceEndMessage = (channel: ChannelIndex, lastWordEndMs: number): string =>
  JSON.stringify({ type: 'UtteranceEnd', channel, last_word_end: secondsOf(lastWordEndMs) })

/** What was received over the socket. */
export interface ReceivedAudio {
  readonly sha256: string
  readonly createdMs: number
  readonly durationMs: number
  readonly channels: number
}

export const metadataOf = (requestId: string, { sha256, createdMs, durationMs, channels }: ReceivedAudio) => ({
  transaction_key: 'deprecated',
  request_id: requestId,
  sha256,
  created: new Date(createdMs).toISOString(),
  duration: secondsOf(durationMs),
  channels,
})

/** What is wrong with a message, or why the socket is closed. */
export const errorMessage = (requestId: string, variant: string, sentence: string): string =>
  JSON.stringify({ type: 'Error', variant, description: sentence, message: sentence, request_id: requestId })

/** The answer to `Configure`: nothing can be changed, so only an empty one succeeds. */
export const configuredMessage = (requestId: string, { hasKeyterms, hasOthers }: Configuration): string => {
  const failed = (code: string, description: string): string =>
    JSON.stringify({ type: 'ConfigureFailure', request_id: requestId, code, description })
  if (hasKeyterms) {
    return failed(
      'CONFIGURE_KEYTERMS_NOT_SUPPORTED',
      'keyterms are fixed while the socket is open; put keyterm into its address.',
    )
  }
  return hasOthers
    ? failed('CONFIGURE_INTERNAL_ERROR', 'Options are fixed while the socket is open; put them into its address.')
    : JSON.stringify({ type: 'ConfigureSuccess', request_id: requestId })
}

interface Configuration {
  readonly hasKeyterms: boolean
  readonly hasOthers: boolean
}

export type ControlMessage =
  | { readonly type: 'KeepAlive' | 'Finalize' | 'CloseStream' }
  | ({ readonly type: 'Configure' } & Configuration)
  | { readonly type: 'unreadable'; readonly sentence: string }

/** Reads a text frame of the client. Never throws. */
export const readControl = (text: string): ControlMessage => {
  const json = parseJsonObject(text)
  if (json._tag === 'Left') return { type: 'unreadable', sentence: 'A text message must be a JSON object with a type.' }
  const type = ownValue(json.right, 'type')
  switch (type) {
    case 'KeepAlive':
    case 'Finalize':
    case 'CloseStream':
      return { type }
    case 'Configure': {
      const { type: _type, keyterms, ...others } = json.right
      return {
        type,
        hasKeyterms: keyterms !== undefined,
        hasOthers: Object.values(others).some((one) => !isEmpty(one)),
      }
    }
    default: {
      const shown = typeof type === 'string' ? `type ${JSON.stringify(type.slice(0, 20))}` : 'message without a type'
      const sentence = `A ${shown} is not known here; send KeepAlive, Finalize, CloseStream or Configure.`
      return { type: 'unreadable', sentence }
    }
  }
}

const isEmpty = (value: unknown): boolean =>
  value === undefined || (typeof value === 'object' && value !== null && Object.keys(value).length === 0)
