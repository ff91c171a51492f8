import { concat, defer, EMPTY, merge, mergeMap, NEVER, of, type Observable } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { SpeechError } from '../../src/errors/speech-error.js'
import { pace } from '../../src/operators/audio/pace.js'
import type { NodeEvent, SessionEvent } from '../../src/protocol/session-event.js'
import { dataflow } from '../../src/client/dataflow/dataflow.js'
import { scriptedDial } from '../../src/testing/scripted-dial.js'
import type { DataflowMessage } from '../../src/transport/link.js'
import { marbles } from '../operators/marbles.js'
import { event, response } from './virtual-session.js'

const format = { encoding: 'pcm', sampleRateHz: 8000, channels: 2 } as const
const bytesPerMs = 32
const callMs = 200_000

/** The audio of one connection: channel 0 has continuous speech, and channel 1 is silent. */
class FakeRecognizer {
  heardMs = 0
  #milestoneMs = 0
  #silenceMs = 0

  readonly #reportsSilence: boolean

  constructor(reportsSilence: boolean) {
    this.#reportsSilence = reportsSilence
  }

  receive(bytes: Uint8Array): readonly DataflowMessage[] {
    this.heardMs += bytes.length / bytesPerMs
    const messages: DataflowMessage[] = []
    for (; this.heardMs - this.#milestoneMs >= 1_000; this.#milestoneMs += 1_000) {
      const Data = { Text: this.#milestoneMs === 0 ? 'word' : ' word' }
      messages.push(this.#event('SR Milestone', 0, this.#milestoneMs, this.#milestoneMs + 1_000, Data))
    }
    const endMs = Math.floor(this.heardMs / 30_000) * 30_000 - 360
    if (this.#reportsSilence && endMs > this.#silenceMs) {
      messages.push(this.#event('SR Silence', 1, this.#silenceMs, endMs))
      this.#silenceMs = endMs
    }
    return messages
  }

  end(): readonly DataflowMessage[] {
    return [0, 1].map((channel) => this.#event('SR Final', channel, 0, this.heardMs, { Text: '' }))
  }

  #event(Name: string, Channel: number, StartMsec: number, EndMsec: number, Data?: object): DataflowMessage {
    return event(JSON.stringify({ Name, Channel, StartMsec, EndMsec, ...(Data && { Data }) }))
  }
}

/** A stereo call in virtual time that loses its first connection after `cutMs`. */
const call = (cutMs: number, reportsSilence: boolean): readonly SessionEvent[] => {
  const events: SessionEvent[] = []
  marbles(({ scheduler }) => {
    let connections = 0
    const dial = scriptedDial<DataflowMessage, DataflowMessage>(({ received$, link }) => {
      connections += 1
      const isFirst = connections === 1
      const recognizer = new FakeRecognizer(reportsSilence)
      const answer = ({ contentType, content, binaryContent }: DataflowMessage): Observable<DataflowMessage> => {
        if (contentType === 0) {
          const messages = recognizer.receive(binaryContent)
          if (isFirst && recognizer.heardMs >= cutMs) link.close(new SpeechError('connection-lost', 'Cut.'))
          return isFirst && recognizer.heardMs >= cutMs ? EMPTY : of(...messages)
        }
        if (content.includes('Start')) return of(response('{"operation-result":"success"}'))
        const ended = [response('{"MessageName":"FinalizeResponse","operation-result":"success"}'), ...recognizer.end()]
        return concat(
          ended,
          defer(() => {
            link.close()
            return EMPTY
          }),
        )
      }
      return merge(NEVER, received$.pipe(mergeMap(answer)))
    })
    const source = Array.from({ length: callMs / 100 }, () => new Uint8Array(100 * bytesPerMs))
    const options = { token: 'any', tenant: 'T', project: 'p', format, finalizeBy: 'request' } as const
    pace({ format, everyMs: 100, scheduler })(source)
      .pipe(dataflow({ ...options, url: 'a:1', testing: { dial, scheduler, random: () => 0.5 } }))
      .subscribe((value) => events.push(value))
  })
  return events
}

const gaps = (events: readonly SessionEvent[]): readonly SessionEvent[] =>
  events.filter((event) => event.type === 'gap')
const replays = (events: readonly SessionEvent[]): readonly number[] =>
  events.flatMap((event) => (event.type === 'resumed' ? [event.replayedMs] : []))
const silences = (events: readonly SessionEvent[]): readonly NodeEvent[] =>
  events.filter((event): event is NodeEvent => event.type === 'event' && event.name === 'SR Silence')

describe('a stereo call of which one side only listens', () => {
  it.each([
    [145_000, 25_360],
    [150_000, 30_360],
    [155_000, 5_360],
  ])('loses nothing when it is cut after %d ms, and replays the audio since the last silence', (cutMs, replayedMs) => {
    const events = call(cutMs, true)
    expect(gaps(events)).toEqual([])
    expect(replays(events)).toEqual([replayedMs])
    const last = events.filter(({ type }) => type === 'ledger').at(-1)
    expect(last).toMatchObject({ capturedMs: callMs, finalizedMs: callMs, droppedMs: 0, pendingMs: 0 })
    expect(events.flatMap((event) => (event.type === 'milestone' ? [event.endMs] : [])).at(-1)).toBeGreaterThan(199_000)
  })

  it('emits each silence once, in the time of the source and in order', () => {
    const spans = silences(call(145_000, true)).map(({ channel, startMs, endMs }) => [channel, startMs, endMs])
    expect(spans).toEqual([
      [1, 0, 29_640],
      [1, 29_640, 59_640],
      [1, 59_640, 89_640],
      [1, 89_640, 119_640],
      [1, 119_640, 149_280],
      [1, 149_280, 179_280],
    ])
  })

  it('leaves a gap with a service that reports no silence', () => {
    expect(gaps(call(145_000, false))).toMatchObject([{ fromMs: 0, toMs: 85_000, cause: 'replay-full' }])
  })
})
