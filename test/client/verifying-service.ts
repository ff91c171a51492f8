import {
  concat,
  EMPTY,
  merge,
  mergeMap,
  NEVER,
  of,
  tap,
  throwError,
  timer,
  type Observable,
  type SchedulerLike,
} from 'rxjs'
import { SpeechError } from '../../src/errors/speech-error.js'
import { scriptedDial } from '../../src/testing/scripted-dial.js'
import type { DataflowMessage, Dial, SocketMessage } from '../../src/transport/link.js'
import { event, ok, response, recognizerMessage } from './virtual-session.js'

/** Loud enough not to count as silence. */
const loudness = 1_000

/** A chunk of audio lasts 20 ms, and every sample of the nth is n louder, so that received chunks can be identified. */
export const chunkMs = 20
const chunkBytes = chunkMs * 16
export const chunkOf = (index: number): Uint8Array => {
  const samples = new Int16Array(chunkBytes / 2).fill(loudness + index)
  return new Uint8Array(samples.buffer)
}
/** Joins several chunks to one message. */
export const chunksOf = (indices: readonly number[]): Uint8Array => {
  const samples = new Int16Array((indices.length * chunkBytes) / 2)
  for (const [at, index] of indices.entries()) {
    samples.fill(loudness + index, (at * chunkBytes) / 2, ((at + 1) * chunkBytes) / 2)
  }
  return new Uint8Array(samples.buffer)
}

const indexOf = (bytes: Uint8Array, at: number): number =>
  new DataView(bytes.buffer, bytes.byteOffset).getInt16(at, true) - loudness

/** Each chunk is a word, so that a missing one is always noticed; a milestone has 10 of them. */
const chunksAMilestone = 10

export interface Faults {
  /** The nth connection is cut after this number of chunks; Infinity: never. */
  readonly cutAfterChunks?: readonly number[]
  /** Time after a cut during which no connection is accepted. */
  readonly outageMs?: number
  /** The error of a cut. */
  readonly cause?: SpeechError
  /** Whether the service sends times. */
  readonly timed?: boolean
  /** Cuts the nth connection at this point of the conversation. */
  readonly cutAt?: 'start' | 'finalize' | 'final'
  readonly answerMs?: number
}

export interface Proof {
  /** The chunks that arrived on each connection. */
  readonly arrived: number[][]
  /** Chunks without a milestone that no later connection received. */
  readonly dials: { made: number; refused: number }
}

/** The state of one recognition: all audio received since the connection was opened. */
class FakeRecognizer {
  readonly chunks: number[] = []
  #reportedChunks = 0
  text = ''

  readonly #timed: boolean

  constructor(timed: boolean) {
    this.#timed = timed
  }

  receive(bytes: Uint8Array): readonly Result[] {
    for (let at = 0; at < bytes.length; at += chunkBytes) this.chunks.push(indexOf(bytes, at))
    const results: Result[] = []
    while (this.chunks.length - this.#reportedChunks >= chunksAMilestone) {
      results.push(this.#milestone(chunksAMilestone))
    }
    const words = this.#words(this.#reportedChunks, this.chunks.length)
    if (words.length > 0)
      results.push({ kind: 'partial', text: words.join(' '), ...this.#times(this.#reportedChunks, this.chunks.length) })
    return results
  }

  rest(): readonly Result[] {
    const left = this.chunks.length - this.#reportedChunks
    return left === 0 ? [] : [this.#milestone(left)]
  }

  #milestone(count: number): Result {
    const from = this.#reportedChunks
    this.#reportedChunks += count
    const piece = this.#words(from, this.#reportedChunks).join(' ')
    const text = this.text === '' ? piece : ` ${piece}`
    this.text += text
    return { kind: 'milestone', text, ...this.#times(from, this.#reportedChunks) }
  }

  /** Named by their position in the source. */
  #words(from: number, to: number): string[] {
    return this.chunks.slice(from, to).map((index) => `word${index}`)
  }

  #times(from: number, to: number): Times {
    return this.#timed ? { 'start-msec': String(from * chunkMs), 'end-msec': String(to * chunkMs) } : {}
  }
}

interface Times {
  readonly 'start-msec'?: string
  readonly 'end-msec'?: string
}
interface Result extends Times {
  readonly kind: 'partial' | 'milestone'
  readonly text: string
}

type Encode<Message> = (result: Result) => Message
interface WireFormat<Message> {
  readonly request: (message: Message) => string | undefined
  readonly audio: (message: Message) => Uint8Array
  readonly started: Message
  readonly encode: Encode<Message>
  readonly ended: (text: string) => readonly Message[]
  readonly start: string
  readonly finalize: string
  readonly stop: string
  readonly stopped: Message
  /** Whether the service ends the connection with the recognition. */
  readonly endsLink: boolean
}

const proving =
  <Message>(wire: WireFormat<Message>, scheduler: SchedulerLike, faults: Faults) =>
  (): { dial: () => Dial<Message, Message>; proof: Proof } => {
    const { cutAfterChunks = [], outageMs = 0, timed = true, cutAt, answerMs = 1 } = faults
    const cause = faults.cause ?? new SpeechError('connection-lost', 'Cut.')
    const proof: Proof = { arrived: [], dials: { made: 0, refused: 0 } }
    let closedUntilMs = 0
    const dial = scriptedDial<Message, Message>(({ received$, link }) => {
      const connection = proof.dials.made
      proof.dials.made += 1
      const recognizer = new FakeRecognizer(timed)
      proof.arrived.push(recognizer.chunks)
      const limit = cutAfterChunks[connection] ?? Infinity
      const cut = (): Observable<never> => {
        closedUntilMs = scheduler.now() + outageMs
        link.close(cause)
        return EMPTY
      }
      const isCutAt = (point: Faults['cutAt']): boolean => cutAt === point && connection === 0
      const answer = (message: Message): Observable<Message> => {
        const request = wire.request(message)
        if (request === wire.start) return isCutAt('start') ? cut() : later(of(wire.started))
        if (request === wire.finalize) {
          if (isCutAt('finalize')) return cut()
          const rest = recognizer.rest().map(wire.encode)
          return later(of(...rest, ...(isCutAt('final') ? [] : wire.ended(recognizer.text)))).pipe(
            tap({
              complete: () => {
                if (isCutAt('final')) void cut()
                else if (wire.endsLink) link.close()
              },
            }),
          )
        }
        if (request === wire.stop) return later(of(wire.stopped))
        if (request !== undefined) return EMPTY
        const results = recognizer.receive(wire.audio(message))
        return recognizer.chunks.length >= limit ? cut() : later(of(...results.map(wire.encode)))
      }
      const later = (message$: Observable<Message>): Observable<Message> =>
        answerMs === 0 ? message$ : timer(answerMs, scheduler).pipe(mergeMap(() => message$))
      return merge(NEVER, concat(received$).pipe(mergeMap(answer)))
    })
    return {
      proof,
      dial: () => {
        if (scheduler.now() >= closedUntilMs) return dial()
        proof.dials.refused += 1
        return throwError(() => new SpeechError('connection-failed', 'Refused.'))
      },
    }
  }

const nameIn = (json: string): string => {
  const fields = JSON.parse(json) as Readonly<Record<string, string>>
  return fields['message-name'] ?? fields['MessageName'] ?? ''
}

export const verifyingRecognizer = (
  scheduler: SchedulerLike,
  faults: Faults,
): { dial: () => Dial<SocketMessage, SocketMessage>; proof: Proof } =>
  proving<SocketMessage>(
    {
      request: (message) => (typeof message === 'string' ? nameIn(message) : undefined),
      audio: (message) => (typeof message === 'string' ? new Uint8Array(0) : message),
      start: 'recognize',
      endsLink: false,
      finalize: 'finalize-recognition',
      stop: 'stop-recognition',
      stopped: recognizerMessage('stop-recognition-response', ok),
      started: recognizerMessage('recognize-response', { ...ok, 'recognition-id': 'r' }),
      encode: ({ kind, ...fields }) => recognizerMessage(`${kind}-result`, { ...fields, 'recognition-id': 'r' }),
      ended: (text) => [
        recognizerMessage('finalize-recognition-response', ok),
        recognizerMessage('final-result', { ...ok, text, confidence: '0.9', 'recognition-id': 'r' }),
      ],
    },
    scheduler,
    faults,
  )()

export const verifyingDataflow = (
  scheduler: SchedulerLike,
  faults: Faults,
): { dial: () => Dial<DataflowMessage, DataflowMessage>; proof: Proof } => {
  const encode = (name: string, text: string, times: Times): DataflowMessage =>
    event(
      JSON.stringify({
        Name: name,
        Channel: 0,
        ...(times['start-msec'] === undefined ? {} : { StartMsec: Number(times['start-msec']) }),
        ...(times['end-msec'] === undefined ? {} : { EndMsec: Number(times['end-msec']) }),
        Data: { Text: text },
      }),
    )
  return proving<DataflowMessage>(
    {
      request: (message) => (message.contentType === 2 ? nameIn(message.content) : undefined),
      audio: (message) => message.binaryContent,
      start: 'Start',
      endsLink: true,
      finalize: 'Finalize',
      stop: 'Stop',
      stopped: response('{"MessageName":"StopResponse","operation-result":"success"}'),
      started: response('{"MessageName":"StartResponse","operation-result":"success"}'),
      encode: ({ kind, text, ...times }) => encode(kind === 'partial' ? 'SR Partial' : 'SR Milestone', text, times),
      ended: (text) => [
        response('{"MessageName":"FinalizeResponse","operation-result":"success"}'),
        encode('SR Final', text, {}),
      ],
    },
    scheduler,
    faults,
  )()
}
