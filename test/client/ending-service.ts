import { concat, EMPTY, merge, mergeMap, NEVER, of, Subject, timer, type Observable, type SchedulerLike } from 'rxjs'
import { SpeechError } from '../../src/errors/speech-error.js'
import { scriptedDial } from '../../src/testing/scripted-dial.js'
import type { DataflowMessage, Dial, SocketMessage } from '../../src/transport/link.js'
import { event, ok, response, recognizerMessage } from './virtual-session.js'

/** A chunk lasts 20 ms. It is silent, or all its samples are `loudness + n`, and it is the word `a<n>` or `b<n>`. */
export const chunkMs = 20
const loudness = 1_000
const chunkSamples = chunkMs * 8
/** The word in a chunk on each channel: its number, or undefined for silence. */
export type Spoken = readonly (number | undefined)[]

/** Joins several chunks to one message. */
export const chunksOf = (spoken: readonly Spoken[]): Uint8Array => {
  const channels = spoken[0]?.length ?? 1
  const samples = new Int16Array(chunkSamples * channels * spoken.length)
  for (const [nth, item] of spoken.entries()) {
    for (const [channel, word] of item.entries()) {
      if (word === undefined) continue
      const begin = nth * chunkSamples * channels
      for (let at = channel; at < chunkSamples * channels; at += channels) samples[begin + at] = loudness + word
    }
  }
  return new Uint8Array(samples.buffer)
}

export const wordOf = (channel: number, word: number): string => `${'ab'[channel] ?? '?'}${word}`

/** A service that ends recognitions by itself. */
export interface Endings {
  readonly channels: 1 | 2
  /** Whether its results have times. */
  readonly timed: boolean
  /** Silence of this length ends a recognition. Default: never. */
  readonly gracefulMs?: number
  /** This time without audio ends a recognition. Default: never. */
  readonly idleMs?: number
  /** The nth recognition ends after this number of chunks. */
  readonly endsAfterChunks?: readonly number[]
  /** Delay after an unrequested final until the service closes the connection. Default: never. */
  readonly closesAfterMs?: number
  /** The nth connection is cut after this number of chunks; every third time in the middle of its messages. */
  readonly cutsAfterChunks?: readonly number[]
  /** Whether a final states how much audio it covers. */
  readonly reportsReadPosition?: boolean
  /** Sends each final twice. */
  readonly finalsTwice?: boolean
}

export interface EndingService<Message> {
  readonly dial: () => Dial<Message, Message>
  readonly counts: { connections: number; recognitions: number }
  /** The words that it received, on any connection, by channel; a socket has one channel. */
  readonly receivedChunks: readonly ReadonlySet<number>[]
}

interface WireFormat<Message> {
  readonly request: (message: Message) => 'start' | 'finalize' | 'stop' | undefined
  readonly audio: (message: Message) => Uint8Array
  readonly started: Message
  readonly finalizing: Message
  readonly refused: Message
  readonly milestone: (channel: number, text: string, times: readonly [number, number] | undefined) => Message
  readonly final: (
    channel: number,
    text: string,
    times: readonly [number, number] | undefined,
    heardMs: number | undefined,
  ) => Message
  /** Whether the connection ends with its recognition. */
  readonly endsLink: boolean
}

/** One channel of one recognition. */
class RecognizeChannel {
  readonly #words: string[] = []
  #reportedText = ''
  #span: { from: number; to: number } | undefined
  readonly #channel: number
  #startMs: number | undefined
  #endMs = 0
  silentChunks = 0

  constructor(channel: number) {
    this.#channel = channel
  }

  /** Returns a milestone where a word is followed by silence, or there are five of them. */
  receive(word: number | undefined, at: number): boolean {
    if (word === undefined) {
      this.silentChunks += 1
      return this.#words.length > 0
    }
    this.silentChunks = 0
    this.#words.push(wordOf(this.#channel, word))
    this.#span = { from: this.#span?.from ?? at, to: at + 1 }
    return this.#words.length === 5
  }

  milestone(): { readonly text: string; readonly times: readonly [number, number] } | undefined {
    const span = this.#span
    if (span === undefined) return undefined
    const words = this.#words.splice(0).join(' ')
    const text = this.#reportedText === '' ? words : ` ${words}`
    this.#reportedText += text
    this.#span = undefined
    this.#startMs ??= span.from * chunkMs
    this.#endMs = span.to * chunkMs
    return { text, times: [span.from * chunkMs, this.#endMs] }
  }

  /** Without a word it ends at the end of the received audio. */
  final(receivedChunks: number): { readonly text: string; readonly times: readonly [number, number] } {
    return {
      text: this.#reportedText,
      times: this.#startMs === undefined ? [0, receivedChunks * chunkMs] : [this.#startMs, this.#endMs],
    }
  }
}

class Recognition {
  readonly channelStates: readonly RecognizeChannel[]
  readonly #channels: number
  receivedChunks = 0
  #rest = new Uint8Array(0)

  constructor(channels: number) {
    this.#channels = channels
    this.channelStates = Array.from({ length: channels }, (_none, channel) => new RecognizeChannel(channel))
  }

  /** The complete chunks after a message. */
  *chunks(bytes: Uint8Array): Generator<Spoken> {
    const size = chunkSamples * 2 * this.#channels
    const all = new Uint8Array(this.#rest.length + bytes.length)
    all.set(this.#rest)
    all.set(bytes, this.#rest.length)
    const view = new DataView(all.buffer)
    let at = 0
    for (; at + size <= all.length; at += size) {
      // By its last sample: the first may belong to a chunk whose beginning was not sent again.
      const samples = this.channelStates.map((_state, channel) =>
        view.getInt16(at + size - 2 * (this.#channels - channel), true),
      )
      yield samples.map((sample) => (sample === 0 ? undefined : sample - loudness))
    }
    this.#rest = all.slice(at)
  }
}

const serving = <Message>(
  wire: WireFormat<Message>,
  scheduler: SchedulerLike,
  endings: Endings,
  channels: number,
): EndingService<Message> => {
  const counts = { connections: 0, recognitions: 0 }
  const receivedChunks = Array.from({ length: channels }, () => new Set<number>())
  const dial = scriptedDial<Message, Message>(({ received$, link }) => {
    counts.connections += 1
    const aside$ = new Subject<Message>()
    let running: Recognition | undefined
    let chunksLeft = endings.cutsAfterChunks?.[counts.connections - 1] ?? Infinity
    let limit = Infinity
    let idle = { unsubscribe: (): void => undefined }
    const results = (recognition: Recognition): Message[] =>
      recognition.channelStates.flatMap((channelState, channel) => {
        const milestone = channelState.milestone()
        return milestone === undefined
          ? []
          : [wire.milestone(channel, milestone.text, endings.timed ? milestone.times : undefined)]
      })
    const end = (recognition: Recognition, asked: boolean): Message[] => {
      idle.unsubscribe()
      running = undefined
      const finals = recognition.channelStates.map((channelState, channel) => {
        const { text, times } = channelState.final(recognition.receivedChunks)
        return wire.final(
          channel,
          text,
          endings.timed ? times : undefined,
          endings.reportsReadPosition ? recognition.receivedChunks * chunkMs : undefined,
        )
      })
      const messages = [...results(recognition), ...finals, ...(endings.finalsTwice ? finals : [])]
      const closesAfterMs = wire.endsLink ? 0 : asked ? undefined : endings.closesAfterMs
      if (closesAfterMs !== undefined) scheduler.schedule(() => link.close(), closesAfterMs)
      return messages
    }
    const watch = (recognition: Recognition): void => {
      idle.unsubscribe()
      if (endings.idleMs === undefined) return
      idle = scheduler.schedule(() => end(recognition, false).forEach((item) => aside$.next(item)), endings.idleMs)
    }
    const receive = (bytes: Uint8Array): Message[] => {
      const messages: Message[] = []
      const recognition = running
      if (recognition === undefined) return messages
      watch(recognition)
      for (const spoken of recognition.chunks(bytes)) {
        chunksLeft -= 1
        if (chunksLeft < 0) {
          running = undefined
          idle.unsubscribe()
          link.close(new SpeechError(counts.connections % 2 === 0 ? 'connection-lost' : 'going-away', 'Cut.'))
          return counts.connections % 3 === 0 ? [] : messages
        }
        for (const [channel, word] of spoken.entries()) if (word !== undefined) receivedChunks[channel]?.add(word)
        const due = recognition.channelStates.filter((channelState, channel) =>
          channelState.receive(spoken[channel], recognition.receivedChunks),
        )
        recognition.receivedChunks += 1
        if (due.length > 0) messages.push(...results(recognition))
        const silentMs = Math.min(...recognition.channelStates.map(({ silentChunks }) => silentChunks)) * chunkMs
        if (silentMs >= (endings.gracefulMs ?? Infinity) || recognition.receivedChunks >= limit) {
          return [...messages, ...end(recognition, false)]
        }
      }
      return messages
    }
    const answer = (message: Message): Observable<Message> => {
      switch (wire.request(message)) {
        case 'start':
          running = new Recognition(channels)
          limit = endings.endsAfterChunks?.[counts.recognitions] ?? Infinity
          counts.recognitions += 1
          watch(running)
          return of(wire.started)
        case 'finalize':
          return running === undefined ? of(wire.refused) : of(wire.finalizing, ...end(running, true))
        case 'stop':
          return of(wire.finalizing)
        default:
          return of(...receive(wire.audio(message)))
      }
    }
    const halfClose$ = wire.endsLink
      ? of(0).pipe(mergeMap(() => (running === undefined ? EMPTY : of(...end(running, true)))))
      : EMPTY
    return merge(NEVER, aside$, concat(received$.pipe(mergeMap(answer)), halfClose$))
  })
  // Timers of a connection that is no longer used end with its test.
  return { dial: () => timer(1, scheduler).pipe(mergeMap(() => dial())), counts, receivedChunks }
}

const requests = {
  recognize: 'start',
  Start: 'start',
  'finalize-recognition': 'finalize',
  Finalize: 'finalize',
  'stop-recognition': 'stop',
  Stop: 'stop',
} as const

const requestIn = (json: string): 'start' | 'finalize' | 'stop' | undefined => {
  const fields = JSON.parse(json) as Readonly<Record<string, keyof typeof requests>>
  return requests[fields['message-name'] ?? fields['MessageName'] ?? 'Stop']
}

export const endingRecognizer = (scheduler: SchedulerLike, endings: Endings): EndingService<SocketMessage> => {
  const fields = (text: string, times: readonly [number, number] | undefined): Record<string, string> => ({
    text,
    ...(times && { 'start-msec': String(times[0]), 'end-msec': String(times[1]) }),
  })
  return serving<SocketMessage>(
    {
      request: (message) => (typeof message === 'string' ? requestIn(message) : undefined),
      audio: (message) => (typeof message === 'string' ? new Uint8Array(0) : message),
      started: recognizerMessage('recognize-response', ok),
      finalizing: recognizerMessage('finalize-recognition-response', ok),
      refused: recognizerMessage('finalize-recognition-response', {
        'operation-result': 'no-recognition: Nothing runs.',
      }),
      milestone: (_channel, text, times) => recognizerMessage('milestone-result', fields(text, times)),
      final: (_channel, text, times, heardMs) =>
        recognizerMessage('final-result', {
          ...ok,
          ...fields(text, times),
          confidence: '0.9',
          ...(heardMs !== undefined && { 'heard-msec': String(heardMs) }),
        }),
      endsLink: false,
    },
    scheduler,
    endings,
    1,
  )
}

export const endingDataflow = (scheduler: SchedulerLike, endings: Endings): EndingService<DataflowMessage> => {
  const send = (Name: string, Channel: number, times: readonly [number, number] | undefined, Data: object) =>
    event(JSON.stringify({ Name, Channel, ...(times && { StartMsec: times[0], EndMsec: times[1] }), Data }))
  return serving<DataflowMessage>(
    {
      request: (message) => (message.contentType === 2 ? requestIn(message.content) : undefined),
      audio: (message) => message.binaryContent,
      started: response('{"MessageName":"StartResponse","operation-result":"success"}'),
      finalizing: response('{"MessageName":"FinalizeResponse","operation-result":"success"}'),
      refused: response('{"MessageName":"FinalizeResponse","operation-result":"no-recognition: Nothing runs."}'),
      milestone: (channel, text, times) => send('SR Milestone', channel, times, { Text: text }),
      final: (channel, text, times, HeardMsec) => send('SR Final', channel, times, { Text: text, HeardMsec }),
      endsLink: true,
    },
    scheduler,
    endings,
    endings.channels,
  )
}
