import { concat, map, of, timer, type Observable } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { DataflowMessage, SocketMessage } from '../../src/transport/link.js'
import { chunkOf, chunksOf } from './fake-recognition.js'
import {
  close,
  event,
  ok,
  plainDataflow,
  plainRecognizer,
  recognizerMessage,
  response,
  scriptedService,
  virtually,
  type Answers,
  type Tools,
  type Watched,
} from './virtual-session.js'

/** A recognition of a service without times: its text, and the answer to the finalize request before its final. */
type Recognized = readonly [text: string, answer: 'Success' | 'none' | 'refused' | 'unrequested']

const resultOf = (answer: string): string => (answer === 'refused' ? 'no-recognition: Over.' : answer)

const stream = ([text, answer]: Recognized): Answers<DataflowMessage> => {
  const final = event(JSON.stringify({ Name: 'SR Final', Channel: 0, Data: { Text: text } }))
  const answered = response(JSON.stringify({ MessageName: 'FinalizeResponse', 'operation-result': resultOf(answer) }))
  const start = plainDataflow(0)['Start'] ?? [0]
  if (answer === 'unrequested') return { Start: start, audio: [10_000, final, close] }
  if (answer === 'refused') return { Start: start, Finalize: [10, final, answered, close] }
  return { Start: start, Finalize: [10, ...(answer === 'none' ? [] : [answered]), final, close] }
}

const socket = ([text, answer]: Recognized): Answers<SocketMessage> => {
  const final = recognizerMessage('final-result', { ...ok, text })
  const answered = recognizerMessage('finalize-recognition-response', ok)
  const recognize = plainRecognizer(0)['recognize'] ?? [0]
  if (answer === 'unrequested') return { recognize, audio: [10_000, final, close] }
  return { recognize, 'finalize-recognition': [10, ...(answer === 'none' ? [final, close] : [answered, final])] }
}

/** A word of 20 ms before half a second of silence. */
const spoken = (word: number): Uint8Array => chunksOf([[word], ...Array.from({ length: 25 }, () => [undefined])])

/** A word, another after 20 s, and one after 21 s. */
const source$ = ({ clock }: Tools): Observable<Uint8Array> =>
  concat(
    of(spoken(1)),
    timer(20_000, clock).pipe(map(() => spoken(2))),
    timer(1_000, clock).pipe(map(() => chunkOf(3))),
  )

/** The nth connection has the nth recognition. */
type Play = (tools: Tools, recognized: readonly [Recognized, ...Recognized[]]) => [Watched, { readonly made: number }]

const overStream: Play = (tools, [first, ...others]) => {
  const { dial, dials } = scriptedService(tools.clock, [stream(first), ...others.map(stream)])
  return [tools.watch(tools.flowing({ dial, finalizeBy: 'request' })(source$(tools))), dials]
}
const overSocket: Play = (tools, [first, ...others]) => {
  const { dial, dials } = scriptedService(tools.clock, [socket(first), ...others.map(socket)])
  return [tools.watch(tools.recognizing({ dial })(source$(tools))), dials]
}

type Story = readonly [title: string, recognized: readonly [Recognized, ...Recognized[]], seen: readonly string[]]

const stories: readonly Story[] = [
  [
    'is the requested one, also without an answer, if the service has ended no recognition by itself',
    [['one two three', 'none']],
    ['21000 finalizing', '21010 final one two three', '21010 complete'],
  ],
  [
    'is the requested one if the service says so',
    [
      ['one', 'unrequested'],
      ['two three', 'Success'],
    ],
    ['10000 final one', '21000 finalizing', '21010 final two three', '21010 complete'],
  ],
  [
    'in place of an answer is followed by a recognition of the rest, which is sent no faster than speech',
    [
      ['one', 'unrequested'],
      ['two', 'none'],
      ['two three', 'Success'],
    ],
    [
      ...['10000 final one', '21000 finalizing', '21010 final two'],
      ...['21327 finalizing', '21337 final three', '21337 complete'],
    ],
  ],
  [
    'in place of each answer is the requested one the second time',
    [
      ['one', 'unrequested'],
      ['two three', 'none'],
      ['three', 'none'],
    ],
    [
      ...['10000 final one', '21000 finalizing', '21010 final two three'],
      ...['21327 finalizing', '21337 final ', '21337 complete'],
    ],
  ],
]

const refused: Story = [
  'is not the requested one if the service refuses the request',
  [
    ['one', 'refused'],
    ['one two three', 'Success'],
  ],
  ['21000 finalizing', '21010 final one', '21010 finalizing', '21020 final two three', '21020 complete'],
]

describe.each<[string, Play, readonly Story[]]>([
  ['a stream', overStream, [...stories, refused]],
  ['a socket', overSocket, stories],
])('a final without times, after which %s closes,', (_over, play, told) => {
  it.each(told)('%s', (_title, recognized, seen) => {
    virtually((tools) => {
      const [{ log, ledger }, dials] = play(tools, recognized)
      return () => {
        const lines = log.filter((line) => /^\d+ (finalizing|final |gap|error|complete)/.test(line))
        expect(lines.map((line) => line.replace(/ on 0$/, ''))).toEqual(seen)
        expect(dials.made).toBe(recognized.length)
        expect(ledger.at(-1)).toMatchObject({ capturedMs: 1_060, pendingMs: 0, droppedMs: 0 })
      }
    })
  })
})
