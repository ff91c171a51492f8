// The messages between edges, which serve sessions, and engine processes, which recognize their segments. Each attempt
// to recognize a segment has a random number of its own: late answers to earlier attempts are dropped, and only the
// engine that was asked can answer.
//
//   rxspeech.alive.<name>                           engine → edges    it is there, how many places it has, and its lag
//   rxspeech.models.<name>                          engine → edges    its models; at the start and on request
//   rxspeech.who                                    edge → engines    asks for that
//   rxspeech.engine.<name>.<instance>.in            edge → engine     open, audio, check, close, abort, ping, phrases; with the reply
//   rxspeech.edge.<name>.<instance>.<attempt>       engine → edge     answers; with the reply
//   rxspeech.engine.<name>.<instance>.gone.<place>  server → engine   the edge is gone
//
// `name` is the one of permissions, and `instance` a random number, so that a process that restarts is another one.
import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { either } from 'fp-ts'
import * as t from 'io-ts'
import type { PhraseFault, SegmentText } from 'rxspeech-engines/engine'
import { slotsCodec } from 'rxspeech/internal/protocol/message-codec'
import { parseJsonObject } from 'rxspeech/internal/protocol/parse-json'
import { codecsOf, engineParameters } from 'rxspeech/internal/protocol/recognition-parameters'
import type { Word } from 'rxspeech/internal/protocol/session-event'
import { codec, type Codec } from 'rxspeech/internal/protocol/validation'

/**
 * The version of the messages. An engine refuses to open a segment of another one, so that another engine takes it. It
 * changes only if processes of both cannot work together: fields that one does not know are ignored, and so are kinds
 * of messages within a segment.
 */
export const protocolVersion = 1
/** The version of an `open` with phrases, which engines without phrases refuse. */
export const phrasesVersion = 2

/** The address of one run of a process. */
export interface ProcessAddress {
  /** The part that permissions of the broker can name: letters, digits, `_` and `-`. */
  readonly name: string
  /** Of this run alone. */
  readonly instance: string
}

export const createAddress = (
  name: string = hostname(),
  instance: string = randomBytes(8).toString('hex'),
): ProcessAddress => ({ name: name.replaceAll(/[^\w-]/g, '-').slice(0, maxNameLength), instance })

const maxNameLength = 64

export const aliveSubject = (name: string): string => `rxspeech.alive.${name}`
export const modelsSubject = (name: string): string => `rxspeech.models.${name}`
/** Whether services learn of an engine process by messages of this subject. */
export const isAdvertSubject = (subject: string): boolean => /^rxspeech\.(alive|models)\./.test(subject)
export const whoSubject = 'rxspeech.who'

const engineOf = ({ name, instance }: ProcessAddress): string => `rxspeech.engine.${name}.${instance}`
const edgeOf = ({ name, instance }: ProcessAddress): string => `rxspeech.edge.${name}.${instance}`

export const engineSubject = (engine: ProcessAddress): string => `${engineOf(engine)}.in`
export const goneSubject = (engine: ProcessAddress, place: number | '*'): string => `${engineOf(engine)}.gone.${place}`
export const attemptSubject = (edge: ProcessAddress, attempt: number | '*'): string => `${edgeOf(edge)}.${attempt}`

/** The number at the end of a subject; NaN without one. */
export const numberOf = (subject: string): number => Number(subject.slice(subject.lastIndexOf('.') + 1))

/** Whether a reply leads to an edge, and nowhere else. */
export const isAttemptSubject = (subject: string): boolean => /^rxspeech\.edge\.[\w-]+\.[\da-f]{16}\.\d+$/.test(subject)
/** The edge to which such a reply leads. */
export const edgeOfAttempt = (subject: string): ProcessAddress => {
  const [, , name = '', instance = ''] = subject.split('.')
  return { name, instance }
}

// Adverts. Keys that a later version adds are ignored.

const count = t.refinement(t.number, (value) => Number.isSafeInteger(value) && value >= 0, 'count')
/** Milliseconds since 1970, as far as a `Date` can have them. */
const time = t.refinement(t.number, (value) => value >= 0 && value <= 8.64e15, 'time')
const processName = t.refinement(t.string, (value) => /^[\w-]{1,64}$/.test(value), 'name')
/** The number of one run of a process. */
export const engineInstance: Codec<string> = codec(
  '16 hexadecimal digits',
  (value): value is string => typeof value === 'string' && /^[\da-f]{16}$/.test(value),
)
/** As many places as an engine process can have. */
export const maxPlaces = 100_000
const places = t.refinement(count, (value) => value <= maxPlaces, 'places')
/**
 * A name as folders have it, which becomes a part of a label and of lines of the log: without characters that end lines
 * or turn the direction of text.
 */
const part = t.refinement(
  t.string,
  (value) => /^[^/\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]{1,255}$/u.test(value),
  'part',
)
const address = t.readonly(t.type({ name: processName, instance: engineInstance }))

/** As many as an engine process can serve. */
export const maxEngineModels = 200
/** By the label of a model, of three parts. They are kept, so not any number of them. */
const intervals = t.record(
  t.refinement(t.string, ({ length }) => length <= 3 * 256, 'label'),
  count,
)
const fewIntervals = t.readonly(
  t.refinement(intervals, (value) => Object.keys(value).length <= maxEngineModels, 'intervals'),
)

const engineAdvert = t.readonly(
  t.intersection([
    t.type({
      v: count,
      engine: address,
      /** How many segments it recognizes at the same time, and how many it recognizes now. */
      capacity: places,
      used: places,
      state: t.keyof({ serving: null, draining: null, gone: null }),
    }),
    /** See `EngineWork`; what is 0 or empty is omitted. Engines of older versions omit more, and `sentAtMs`. */
    t.partial({
      lagMs: count,
      progress: count,
      partialIntervalsMs: fewIntervals,
      /** By the clock of the engine. */
      sentAtMs: time,
    }),
  ]),
)

/** Sent by an engine on a change, at most four times a second, and otherwise after 400 ms. */
export type EngineAdvert = t.TypeOf<typeof engineAdvert>

const advertisedModel = t.readonly(
  t.intersection([
    t.type({
      tenant: part,
      name: part,
      version: part,
      /** Of the content of its folder. */
      digest: part,
      sampleRateHz: count,
      kind: t.keyof({ grammar: null, dictation: null }),
      partials: t.boolean,
      words: t.boolean,
    }),
    t.partial({
      batch: t.boolean,
      checks: t.boolean,
      phrases: t.boolean,
      languages: t.readonlyArray(part),
      contextMs: count,
    }),
  ]),
)

export type AdvertisedModel = t.TypeOf<typeof advertisedModel>

const advertisedModels = t.readonlyArray(advertisedModel)
/** What exceeds the limit is not even decoded. */
const firstModels = new t.Type<readonly AdvertisedModel[]>(
  'models',
  advertisedModels.is,
  (input, context) =>
    advertisedModels.validate(Array.isArray(input) ? input.slice(0, maxEngineModels) : input, context),
  t.identity,
)

const modelsAdvert = t.readonly(
  t.intersection([
    t.type({ v: count, engine: address, startedAtMs: time, models: firstModels }),
    /**
     * Engines of older versions do not report on what host they run, with which version of the package, and how long
     * ago they have loaded these models, which does not depend on their clock.
     */
    t.partial({ region: part, host: part, software: part, ageMs: time }),
  ]),
)

/** What an engine serves. */
export type ModelsAdvert = t.TypeOf<typeof modelsAdvert>

/** The id of a session as a line of the log may have it; undefined for any other text. */
export const loggedSession = (id: string | undefined): string | undefined =>
  id !== undefined && /^[\w-]{1,64}$/.test(id) ? id : undefined

// Requests of an edge: a byte for the kind, then the body

const kinds = { open: 1, audio: 2, close: 3, abort: 4, ping: 5, check: 6, phrases: 7 } as const

const samplesText = t.refinement(t.string, (value) => value.length <= 65_536, 'samples')

/** Samples as text: little-endian, in base64. */
export const encodeSamples = ({ buffer, byteOffset, byteLength }: Int16Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString('base64')

export const decodeSamples = (text: string): Int16Array => {
  const bytes = Uint8Array.from(Buffer.from(text, 'base64'))
  return new Int16Array(bytes.buffer, 0, Math.floor(bytes.length / 2))
}

const openBody = t.readonly(
  t.intersection([
    t.type({ v: count, model: t.string, startMs: t.number }),
    t.partial({
      // A language only to an engine whose advert has it.
      ...codecsOf(engineParameters),
      traceparent: t.string,
      /** The id of the session, and how often the segment was begun, for the log; edges of older versions send neither. */
      session: t.string,
      attempt: count,
      /** Audio before the segment, only to an engine whose advert has `contextMs`. */
      before: samplesText,
      /** Whether the edge takes a result in parts; edges of older versions do not. */
      parts: t.boolean,
    }),
  ]),
)
const phrasesBody = t.readonly(t.type({ model: t.string, phrases: t.readonlyArray(t.string) }))
const checkBody = t.readonly(t.type({ total: count }))
const closeBody = t.readonly(
  t.intersection([t.type({ total: count, endMs: t.number, isCut: t.boolean }), t.partial({ after: samplesText })]),
)
const pingBody = t.readonly(
  t.partial({ sent: t.readonly(t.type({ total: count, isChecking: t.boolean, isClosed: t.boolean })) }),
)

export type EngineRequest =
  | ({ readonly type: 'open' } & t.TypeOf<typeof openBody>)
  /** `from` samples of the segment precede these. */
  | { readonly type: 'audio'; readonly from: number; readonly samples: Int16Array }
  /** Asks whether the segment so far, of `total` samples, is a sentence to which nothing can be added. */
  | ({ readonly type: 'check' } & t.TypeOf<typeof checkBody>)
  /** The segment has `total` samples. */
  | ({ readonly type: 'close' } & t.TypeOf<typeof closeBody>)
  | { readonly type: 'abort' }
  /** Asks whether a model takes these phrases. It opens nothing. */
  | ({ readonly type: 'phrases' } & t.TypeOf<typeof phrasesBody>)
  /**
   * The edge still waits. `sent`: what it has sent of the segment; whether a check waits for its answer, and whether it
   * was the end. A message that was lost on the way shows then, and an answer that was lost is sent again. Edges of
   * older versions send none.
   */
  | ({ readonly type: 'ping' } & t.TypeOf<typeof pingBody>)

const audioHeaderBytes = 6

export const encodeRequest = (request: EngineRequest): Uint8Array => {
  if (request.type === 'audio') return encodeAudio(request.from, request.samples)
  const { type, ...body } = request
  const json = type === 'abort' ? '' : JSON.stringify(body)
  return Buffer.from(`${String.fromCharCode(kinds[type])}${json}`)
}

/** Kind, a byte of padding, the offset in 32 bits, then the samples; all little-endian. */
const encodeAudio = (from: number, samples: Int16Array): Uint8Array => {
  const bytes = Buffer.allocUnsafe(audioHeaderBytes + samples.byteLength)
  bytes[0] = kinds.audio
  bytes[1] = 0
  bytes.writeUInt32LE(from, 2)
  bytes.set(new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength), audioHeaderBytes)
  return bytes
}

/** Undefined for what no edge of this version sends. The samples are a copy. */
export const decodeRequest = (payload: Uint8Array): EngineRequest | undefined => {
  switch (payload[0]) {
    case kinds.open:
      return withType('open', decodeJson(openBody, payload.subarray(1)))
    case kinds.audio:
      return decodeAudio(payload)
    case kinds.check:
      return withType('check', decodeJson(checkBody, payload.subarray(1)))
    case kinds.close:
      return withType('close', decodeJson(closeBody, payload.subarray(1)))
    case kinds.phrases:
      return withType('phrases', decodeJson(phrasesBody, payload.subarray(1)))
    case kinds.abort:
      return { type: 'abort' }
    case kinds.ping:
      return { type: 'ping', ...decodeJson(pingBody, payload.subarray(1)) }
    default:
      return undefined
  }
}

const knownKinds: ReadonlySet<number | undefined> = new Set(Object.values(kinds))

/** Whether it is of a kind that a later version has added to a segment, which is ignored. */
export const isLaterRequest = (payload: Uint8Array): boolean => payload.length > 0 && !knownKinds.has(payload[0])

const withType = <Type extends string, Body>(type: Type, body: Body | undefined) =>
  body === undefined ? undefined : { type, ...body }

const decodeAudio = (payload: Uint8Array): EngineRequest | undefined => {
  const sampleBytes = payload.byteLength - audioHeaderBytes
  if (sampleBytes < 0 || sampleBytes % 2 !== 0) return undefined
  const from = new DataView(payload.buffer, payload.byteOffset).getUint32(2, true)
  // `Uint8Array` and not `Buffer`, whose slice is no copy.
  const copy = Uint8Array.prototype.slice.call(payload, audioHeaderBytes)
  return { type: 'audio', from, samples: new Int16Array(copy.buffer, copy.byteOffset, sampleBytes / 2) }
}

// Answers of an engine, in JSON

const phraseFault: t.Type<PhraseFault> = t.intersection([
  t.type({ reason: t.string }),
  t.partial({ index: t.union([count, t.undefined]) }),
])

// A result passes on to clients as it is read here. `t.exact` leaves out keys that this version does not know.

const word: t.Type<Word> = t.exact(
  t.intersection([
    t.type({ text: t.string, startMs: t.number, endMs: t.number }),
    t.partial({ confidence: t.union([t.number, t.undefined]) }),
  ]),
)

const words = t.readonlyArray(word)
/** The compiler finds a field of `SegmentText` that is missing here. */
const textFields = { confidence: t.number, slots: slotsCodec, isIncomplete: t.boolean } satisfies Record<
  keyof Omit<SegmentText, 'text'>,
  t.Mixed
>

const engineAnswer = t.union([
  /** The segment has a place; audio can follow. */
  t.type({ t: t.literal('yes') }),
  /** There is no place, or the engine does not serve this model or version. */
  t.type({ t: t.literal('full') }),
  /** It has read the first `at` samples. */
  t.intersection([t.type({ t: t.literal('taken'), at: count }), t.partial({ partial: t.string, stableLength: count })]),
  /** The answer to a check after `total` samples, which engines of older versions omit. */
  t.intersection([t.type({ t: t.literal('checked'), isComplete: t.boolean }), t.partial({ total: count })]),
  /**
   * The result of `samples` at the beginning of what is not decided, behind the first `from` samples; the segment goes
   * on.
   */
  t.exact(
    t.intersection([
      t.type({ t: t.literal('part'), from: count, samples: count, text: t.string, words }),
      t.partial(textFields),
    ]),
  ),
  /** The result of what is not decided, behind the first `from` samples. */
  t.exact(
    t.intersection([
      t.type({ t: t.literal('decided'), text: t.string, words }),
      t.partial({ ...textFields, from: count }),
    ]),
  ),
  /** Why the model does not take some of the phrases. */
  t.type({
    t: t.literal('phrases'),
    faults: t.readonlyArray(phraseFault),
  }),
  /** The decoder failed. */
  t.intersection([t.type({ t: t.literal('failed') }), t.partial({ final: t.boolean })]),
  /** The engine does not know this attempt, misses audio of it, or ends. */
  t.type({ t: t.literal('lost'), why: t.string }),
])

export type EngineAnswer = t.TypeOf<typeof engineAnswer>

export const encodeJson = (message: EngineAnswer | EngineAdvert | ModelsAdvert): string => JSON.stringify(message)

export const decodeAnswer = (payload: Uint8Array): EngineAnswer | undefined => decodeJson(engineAnswer, payload)

const knownAnswers: Readonly<Record<EngineAnswer['t'], true>> = {
  yes: true,
  full: true,
  taken: true,
  checked: true,
  part: true,
  decided: true,
  phrases: true,
  failed: true,
  lost: true,
}

/** See `isLaterRequest`. */
export const isLaterAnswer = (payload: Uint8Array): boolean => {
  const answer = decodeJson(t.type({ t: t.string }), payload)
  return answer !== undefined && !Object.hasOwn(knownAnswers, answer.t)
}

/**
 * Undefined also for an advert of an engine with another name than its subject, which permissions can bind to a user.
 */
export const decodeEngineAdvert = ({ subject, payload }: Received): EngineAdvert | undefined => {
  const advert = decodeJson(engineAdvert, payload)
  return advert?.engine.name === nameOf(subject) ? advert : undefined
}

/** The version of an advert of another version, whatever else is in it. */
export const otherVersionOf = ({ subject, payload }: Received): number | undefined => {
  const advert = decodeJson(t.type({ v: count, engine: address }), payload)
  return advert?.engine.name === nameOf(subject) && advert.v !== protocolVersion ? advert.v : undefined
}

/** The same for what an engine serves. */
export const decodeModelsAdvert = ({ subject, payload }: Received): ModelsAdvert | undefined => {
  const advert = decodeJson(modelsAdvert, payload)
  return advert?.engine.name === nameOf(subject) ? advert : undefined
}

interface Received {
  readonly subject: string
  readonly payload: Uint8Array
}

export const nameOf = (subject: string): string => subject.slice(subject.lastIndexOf('.') + 1)

/** Undefined for a message that is no JSON or not of this kind. */
const decodeJson = <A>(codec: t.Decoder<unknown, A>, payload: Uint8Array): A | undefined => {
  const read = parseJsonObject(Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength).toString())
  if (either.isLeft(read)) return undefined
  const decoded = codec.decode(read.right)
  return either.isRight(decoded) ? decoded.right : undefined
}
