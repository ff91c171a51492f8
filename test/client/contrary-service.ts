import { concat, EMPTY, merge, mergeMap, NEVER, of, throwError, timer, type Observable, type SchedulerLike } from 'rxjs'
import { SpeechError } from '../../src/errors/speech-error.js'
import { scriptedDial } from '../../src/testing/scripted-dial.js'
import type { MemoryLinkOptions } from '../../src/transport/memory/link.js'
import type { DataflowMessage, Dial, SocketMessage } from '../../src/transport/link.js'
import { event, ok, response, recognizerMessage } from './virtual-session.js'

/** Loud enough not to count as silence. */
export const loudness = 1_000

/**
 * A chunk lasts 20 ms; each sample of the nth is n louder, and it is the word `a<n>` of channel 0, `b<n>` of channel 1.
 */
export const wordMs = 20
const chunkBytes = wordMs * 16
export const wordChunk = (index: number, channels: 1 | 2): Uint8Array =>
  new Uint8Array(new Int16Array((chunkBytes / 2) * channels).fill(loudness + index).buffer)
export const wordOf = (channel: number, index: number): string => `${'ab'[channel] ?? 'a'}${index}`

/** How a connection ends early. */
export interface Break {
  readonly afterChunks: number
  /** With an unrequested final, this long before. */
  readonly finalBeforeMs?: number
  /** The error of the final. */
  readonly finalError?: boolean
  /** `undefined`: closed normally. */
  readonly cause?: SpeechError
}

/** A service that does everything that the description does not forbid. */
export interface Contrariness {
  readonly channels: 1 | 2
  readonly timed: boolean
  /** Whether finals say how far the audio was read. */
  readonly heard: boolean
  /** Words per milestone, by channel. */
  readonly milestoneWords: readonly [number, number]
  /** Delay of milestones, by channel. */
  readonly lateMs: readonly [number, number]
  /** Whether words without a milestone are in the final only. */
  readonly restInFinal: boolean
  readonly breaks: readonly Break[]
  readonly outageMs: number
  /** How long the nth connection takes to answer its start; Infinity rejects it. */
  readonly startMs: readonly number[]
  /** How long the nth connection stops reading after its first chunks. */
  readonly deafMs: readonly number[]
  readonly link?: MemoryLinkOptions
}

interface Result {
  readonly kind: 'partial' | 'milestone'
  readonly channel: number
  readonly text: string
  readonly from: number
  readonly to: number
}

class Recognition {
  readonly #received: number[] = []
  readonly #reportedCounts: number[]
  readonly #texts: string[]
  readonly #options: Contrariness
  #rest = new Uint8Array(0)
  readonly channelNumbers: readonly number[]

  constructor(options: Contrariness, channelNumbers: readonly number[]) {
    this.#options = options
    this.channelNumbers = channelNumbers
    this.#reportedCounts = channelNumbers.map(() => 0)
    this.#texts = channelNumbers.map(() => '')
  }

  get count(): number {
    return this.#received.length
  }

  receive(bytes: Uint8Array): readonly Result[] {
    const all = new Uint8Array(this.#rest.length + bytes.length)
    all.set(this.#rest)
    all.set(bytes, this.#rest.length)
    const size = chunkBytes * this.channelNumbers.length
    let at = 0
    // Replayed audio may begin within a chunk: the word is that of the chunk that fills most of the time.
    for (; at + size <= all.length; at += size) {
      this.#received.push(new DataView(all.buffer).getInt16(at + size / 2, true) - loudness)
    }
    this.#rest = all.slice(at)
    return this.channelNumbers.flatMap((channel, channelIndex) => {
      const results: Result[] = []
      const most = this.#options.milestoneWords[channel === 0 ? 0 : 1]
      while (this.count - (this.#reportedCounts[channelIndex] ?? 0) >= most)
        results.push(this.#milestone(channelIndex, most))
      const from = this.#reportedCounts[channelIndex] ?? 0
      const text = this.#words(channel, from, this.count)
      return text === '' ? results : [...results, { kind: 'partial', channel, text, from, to: this.count }]
    })
  }

  rest(): readonly Result[] {
    if (this.#options.restInFinal) return []
    return this.channelNumbers.flatMap((_channel, channelIndex) => {
      const left = this.count - (this.#reportedCounts[channelIndex] ?? 0)
      return left === 0 ? [] : [this.#milestone(channelIndex, left)]
    })
  }

  finals(): readonly { readonly channel: number; readonly text: string; readonly to: number }[] {
    return this.channelNumbers.map((channel, channelIndex) => {
      const left = this.#words(channel, this.#reportedCounts[channelIndex] ?? 0, this.count)
      const text = this.#texts[channelIndex] ?? ''
      return { channel, text: text === '' || left === '' ? text + left : `${text} ${left}`, to: this.count }
    })
  }

  #milestone(channelIndex: number, count: number): Result {
    const from = this.#reportedCounts[channelIndex] ?? 0
    const to = from + count
    this.#reportedCounts[channelIndex] = to
    const channel = this.channelNumbers[channelIndex] ?? 0
    const words = this.#words(channel, from, to)
    const text = this.#texts[channelIndex] === '' ? words : ` ${words}`
    this.#texts[channelIndex] = (this.#texts[channelIndex] ?? '') + text
    return { kind: 'milestone', channel, text, from, to }
  }

  #words(channel: number, from: number, to: number): string {
    return this.#received
      .slice(from, to)
      .map((index) => wordOf(channel, index))
      .join(' ')
  }
}

type Final = ReturnType<Recognition['finals']>[number]
interface WireFormat<Message> {
  readonly request: (message: Message) => string | undefined
  readonly audio: (message: Message) => Uint8Array
  readonly started: (refused: boolean) => Message
  readonly result: (result: Result) => Message
  readonly final: (final: Final, failed: boolean) => Message
  readonly finalizing: Message
  readonly stopped: Message
  readonly endsLink: boolean
}

const dialling = <Message>(
  wire: WireFormat<Message>,
  scheduler: SchedulerLike,
  options: Contrariness,
  channelNumbers: readonly number[],
): (() => Dial<Message, Message>) => {
  let closedUntilMs = 0
  let made = 0
  const dial = scriptedDial<Message, Message>(({ received$, link }) => {
    const nth = made++
    const recognition = new Recognition(options, channelNumbers)
    const broken = options.breaks[nth]
    const lateMs = broken?.finalBeforeMs === undefined ? options.lateMs : ([0, 0] as const)
    let isBroken = false
    const breakNow = (): void => {
      closedUntilMs = scheduler.now() + options.outageMs
      link.close(broken?.cause)
    }
    const breaking = (found: readonly Result[]): Observable<Message> => {
      isBroken = true
      const { finalBeforeMs, finalError = false } = broken ?? {}
      if (finalBeforeMs === undefined) {
        breakNow()
        return EMPTY
      }
      const words = [
        ...[...found, ...recognition.rest()].map(wire.result),
        ...recognition.finals().map((final) => wire.final(final, finalError)),
      ]
      return concat(of(...words), timer(finalBeforeMs, scheduler).pipe(mergeMap(() => (breakNow(), EMPTY))))
    }
    const results = (found: readonly Result[]): Observable<Message> =>
      merge(
        ...found.map((result) => {
          const ownLateMs = lateMs[result.channel === 0 ? 0 : 1]
          const isLate = ownLateMs > 0 && result.kind === 'milestone'
          const one$ = of(wire.result(result))
          return isLate ? timer(ownLateMs, scheduler).pipe(mergeMap(() => (isBroken ? EMPTY : one$))) : one$
        }),
      )
    const finish = (): Observable<Message> => {
      return timer(Math.max(...lateMs) + 1, scheduler).pipe(
        mergeMap(() => {
          const words = [
            ...recognition.rest().map(wire.result),
            ...recognition.finals().map((final) => wire.final(final, false)),
          ]
          return concat(of(...words), wire.endsLink ? of(0).pipe(mergeMap(() => (link.close(), EMPTY))) : EMPTY)
        }),
      )
    }
    const answer = (message: Message): Observable<Message> => {
      if (isBroken) return EMPTY
      const request = wire.request(message)
      switch (request) {
        case 'start': {
          const startMs = options.startMs[nth] ?? 1
          const refused = startMs === Infinity
          return timer(refused ? 1 : startMs, scheduler).pipe(mergeMap(() => of(wire.started(refused))))
        }
        case 'finalize':
          return concat(of(wire.finalizing), finish())
        case 'stop':
          return concat(of(wire.stopped), wire.endsLink ? of(0).pipe(mergeMap(() => (link.close(), EMPTY))) : EMPTY)
        case undefined: {
          const before = recognition.count
          const found = recognition.receive(wire.audio(message))
          const deafMs = options.deafMs[nth] ?? 0
          if (before < 5 && recognition.count >= 5 && deafMs > 0) {
            link.pause()
            scheduler.schedule(() => link.resume(), deafMs)
          }
          if (broken !== undefined && recognition.count >= broken.afterChunks) return breaking(found)
          return results(found)
        }
        default:
          return EMPTY
      }
    }
    const end$ = wire.endsLink ? of(0).pipe(mergeMap(() => (isBroken ? EMPTY : finish()))) : EMPTY
    return merge(NEVER, concat(received$.pipe(mergeMap(answer)), end$))
  }, options.link)
  return () =>
    scheduler.now() >= closedUntilMs ? dial() : throwError(() => new SpeechError('connection-failed', 'Refused.'))
}

const nameIn = (json: string): string | undefined => {
  const fields = JSON.parse(json) as Readonly<Record<string, string>>
  return names[fields['message-name'] ?? fields['MessageName'] ?? '']
}
const names: Readonly<Record<string, string>> = {
  recognize: 'start',
  Start: 'start',
  'finalize-recognition': 'finalize',
  Finalize: 'finalize',
  'stop-recognition': 'stop',
  Stop: 'stop',
}

export const contraryRecognizer = (
  scheduler: SchedulerLike,
  options: Contrariness,
): (() => Dial<SocketMessage, SocketMessage>) => {
  const times = (from: number, to: number): Record<string, string> =>
    options.timed ? { 'start-msec': String(from * wordMs), 'end-msec': String(to * wordMs) } : {}
  return dialling<SocketMessage>(
    {
      request: (message) => (typeof message === 'string' ? nameIn(message) : undefined),
      audio: (message) => (typeof message === 'string' ? new Uint8Array(0) : message),
      started: (refused) =>
        recognizerMessage('recognize-response', refused ? { 'operation-result': 'overloaded: Later.' } : ok),
      finalizing: recognizerMessage('finalize-recognition-response', ok),
      stopped: recognizerMessage('stop-recognition-response', ok),
      result: ({ kind, text, from, to }) =>
        recognizerMessage(`${kind}-result`, { text, ...times(from, to), 'recognition-id': 'r' }),
      final: ({ text, to }, failed) =>
        recognizerMessage('final-result', {
          ...(failed ? { 'operation-result': 'engine-failed: Broken.' } : ok),
          text,
          confidence: '0.9',
          ...times(0, to),
          ...(options.heard ? { 'heard-msec': String(to * wordMs) } : {}),
        }),
      endsLink: false,
    },
    scheduler,
    options,
    [0],
  )
}

export const contraryDataflow = (
  scheduler: SchedulerLike,
  options: Contrariness,
): (() => Dial<DataflowMessage, DataflowMessage>) => {
  const send = (name: string, channel: number, from: number, to: number, data: object): DataflowMessage =>
    event(
      JSON.stringify({
        Name: name,
        Channel: channel,
        ...(options.timed ? { StartMsec: from * wordMs, EndMsec: to * wordMs } : {}),
        Data: data,
      }),
    )
  return dialling<DataflowMessage>(
    {
      request: (message) => (message.contentType === 2 ? nameIn(message.content) : undefined),
      audio: (message) => message.binaryContent,
      started: (refused) =>
        response(`{"MessageName":"StartResponse","operation-result":"${refused ? 'overloaded: Later.' : 'success'}"}`),
      finalizing: response('{"MessageName":"FinalizeResponse","operation-result":"success"}'),
      stopped: response('{"MessageName":"StopResponse","operation-result":"success"}'),
      result: ({ kind, channel, text, from, to }) =>
        send(kind === 'partial' ? 'SR Partial' : 'SR Milestone', channel, from, to, { Text: text }),
      final: ({ channel, text, to }, failed) =>
        send('SR Final', channel, 0, to, {
          Text: text,
          ...(options.heard ? { HeardMsec: to * wordMs } : {}),
          ...(failed ? { Error: 'engine-failed: Broken.' } : {}),
        }),
      endsLink: true,
    },
    scheduler,
    options,
    options.channels === 2 ? [0, 1] : [0],
  )
}
