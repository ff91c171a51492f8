import { defer, EMPTY, lastValueFrom, map, merge, mergeMap, NEVER, tap, toArray, type Observable } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { AudioFormat } from '../../../../src/audio/format.js'
import { parseCassette } from '../../../../src/cassette/format/read-cassette.js'
import type { Cassette } from '../../../../src/cassette/format/cassette.js'
import type { CassetteMismatch } from '../../../../src/cassette/replay/service-player.js'
import { record } from '../../../../src/cassette/record/record.js'
import { replay, type Replay, type ReplayOptions } from '../../../../src/cassette/replay/replay.js'
import { isSpeechError } from '../../../../src/errors/speech-error.js'
import { pace } from '../../../../src/operators/audio/pace.js'
import { dataflow } from '../../../../src/client/dataflow/dataflow.js'
import { recognize } from '../../../../src/client/recognizer/recognize.js'
import type { RecognizeOptions } from '../../../../src/client/recognizer/recognize-on.js'
import { faultMarbles } from '../../../../src/testing/faults/fault-marbles.js'
import { linkFaults } from '../../../../src/testing/faults/link-faults.js'
import { inMemoryService } from '../../src/testing/in-memory-service.js'
import { positionAudio } from '../../../../src/testing/verifying/position-audio.js'
import { verifyingService } from '../../../../src/testing/verifying/verifying-service.js'
import { scriptedEngine } from '../../src/testing/scripted-engine.js'
import type { SocketMessage } from '../../../../src/transport/link.js'
import { callSamples } from '../cli/command.js'
import { codeThrownBy, marbles } from '../../../../test/operators/marbles.js'
import {
  audio,
  format,
  plainDataflow,
  plainRecognizer,
  scriptedService,
  virtually,
  type Tools,
} from '../../../../test/client/virtual-session.js'
import { header, keptLines, line } from '../../../../test/cassette/cassette-lines.js'

const text = (name: string, fields: object = {}): { readonly text: string } => ({
  text: JSON.stringify({ 'message-name': name, ...fields }),
})
const ok = { 'operation-result': 'Success' }
const sound = (durationMs: number, fill = 0): object => ({
  bytes: durationMs * 16,
  base64: Buffer.alloc(durationMs * 16, fill).toString('base64'),
})
const request = text('recognize', { 'audio-format': 'pcm', 'model-name': 'm', 'sample-rate': 8000 })

/** A short recognition: 40 ms of audio with a partial in between, and the final 10 ms after the end. */
const recognition = (): Cassette =>
  parseCassette([
    header('websocket'),
    line(0, 'dial'),
    line(5, 'open'),
    line(5, 'sent', request),
    line(15, 'received', text('recognize-response', ok)),
    line(15, 'sent', sound(20, 1)),
    line(35, 'received', text('partial-result', { text: 'hel' })),
    line(45, 'sent', sound(20, 2)),
    line(45, 'sent', text('finalize-recognition')),
    line(55, 'received', text('finalize-recognition-response', ok)),
    line(55, 'received', text('final-result', { ...ok, text: 'hello' })),
    line(55, 'close'),
    JSON.stringify({ atMs: 55, event: 'end', outcome: 'complete' }),
  ])

const bytes = (durationMs: number, fill: number): Uint8Array => new Uint8Array(durationMs * 16).fill(fill)
const spoken = [bytes(20, 1), bytes(20, 2)]

/** Plays the cassette above to `recognize`, in virtual time. */
const play = (
  tools: Tools,
  source: Iterable<Uint8Array> | Observable<Uint8Array>,
  options: ReplayOptions = {},
): { readonly log: string[]; readonly mismatches: CassetteMismatch[] } => {
  const mismatches: CassetteMismatch[] = []
  const played = replay(recognition(), {
    scheduler: tools.clock,
    onMismatch: (mismatch) => mismatches.push(mismatch),
    ...options,
  })
  const { log } = tools.watch(recognize(played.recognizer({ testing: { scheduler: tools.clock } }))(source))
  return { log, mismatches }
}

/** How a session connects to the recorded service. */
const dialOf = (played: Replay): NonNullable<NonNullable<RecognizeOptions['testing']>['dial']> => {
  const dial = played.recognizer().testing?.dial
  if (dial === undefined) throw new Error('The replay has no dial.')
  return dial
}

const results = (log: readonly string[]): readonly string[] =>
  log.filter((entry) => /partial|final |complete|error/.test(entry))

describe('replay of the service', () => {
  it('sends each message of the service as soon as the client has sent the preceding messages', () => {
    virtually((tools) => {
      const { log, mismatches } = play(tools, spoken)
      return () => {
        expect(results(log)).toEqual(['0 partial hel', '0 final hello', '0 complete'])
        expect(mismatches).toEqual([])
      }
    })
  })

  it('keeps the recorded times, or a multiple of them, and never sends a message before its cause', () => {
    virtually((tools) => {
      const asRecorded = play(tools, spoken, { speed: 1 })
      const twice = play(tools, spoken, { speed: 2 })
      const late = play(tools, tools.cold('- 99ms (ab|)', { a: bytes(20, 1), b: bytes(20, 2) }), { speed: 1 })
      return () => {
        expect(results(asRecorded.log)).toEqual(['35 partial hel', '55 final hello', '55 complete'])
        expect(results(twice.log)).toEqual(['17.5 partial hel', '27.5 final hello', '27.5 complete'])
        expect(results(late.log)).toEqual(['100 partial hel', '100 final hello', '100 complete'])
      }
    })
  })

  it('accepts the same audio with other chunk lengths', () => {
    virtually((tools) => {
      const whole = Buffer.concat(spoken)
      const cuts = [2, 320, 322, 640].map(
        (end, index, ends) => new Uint8Array(whole.subarray(ends[index - 1] ?? 0, end)),
      )
      const { log, mismatches } = play(tools, cuts)
      const inOne = play(tools, [new Uint8Array(whole)])
      return () => {
        expect([log.at(-1), inOne.log.at(-1)]).toEqual(['0 complete', '0 complete'])
        expect([...mismatches, ...inOne.mismatches]).toEqual([])
      }
    })
  })

  it.each([
    [
      'other audio',
      [bytes(20, 1), bytes(20, 3)],
      { line: 8, expected: '320 bytes of audio', actual: 'other audio of that length' },
    ],
    ['too little', [bytes(20, 1)], { line: 8, expected: '320 bytes of audio', actual: 'finalize-recognition' }],
    ['too much', [...spoken, bytes(1, 0)], { line: 9, expected: 'finalize-recognition', actual: '16 bytes of audio' }],
  ])('rejects %s in strict mode, and reports the line', (_name, source, mismatch) => {
    virtually((tools) => {
      const { log, mismatches } = play(tools, source)
      return () => {
        expect(mismatches).toEqual([{ connection: 1, ...mismatch }])
        expect(log.at(-1)).toBe('0 error protocol-violation')
      }
    })
  })

  it.each([
    ['other audio', [bytes(20, 1), bytes(20, 3)], 0],
    ['too little', [bytes(20, 1)], 1],
    ['too much', [...spoken, bytes(1, 0), bytes(1, 0)], 1],
  ])('continues with %s in lenient mode, and reports it once', (_name, source, count) => {
    virtually((tools) => {
      const { log, mismatches } = play(tools, source, { mismatch: 'lenient' })
      return () => {
        expect(results(log)).toEqual(['0 partial hel', '0 final hello', '0 complete'])
        expect(mismatches.length).toBe(count)
      }
    })
  })

  it('compares requests field by field, independent of the order and of the token', () => {
    virtually((tools) => {
      const mismatches: CassetteMismatch[] = []
      const played = replay(recognition(), { onMismatch: (mismatch) => mismatches.push(mismatch) })
      const options = played.recognizer({ testing: { scheduler: tools.clock }, model: 'other' })
      const { log } = tools.watch(recognize(options)(spoken))
      return () => {
        expect(mismatches).toEqual([
          { connection: 1, line: 4, expected: 'recognize', actual: 'recognize with other fields' },
        ])
        expect(log.at(-1)).toBe('0 error protocol-violation')
      }
    })
  })

  it('reports a client that closes early, and leaves no timer', () => {
    virtually((tools) => {
      const mismatches: CassetteMismatch[] = []
      const played = replay(recognition(), {
        speed: 1,
        scheduler: tools.clock,
        onMismatch: (mismatch) => mismatches.push(mismatch),
      })
      const { log } = tools.watch(recognize(played.recognizer({ testing: { scheduler: tools.clock } }))(NEVER), 10)
      return () => {
        expect(log.at(-1)).toBe('5 starting')
        expect(mismatches).toEqual([
          { connection: 1, line: 6, expected: '320 bytes of audio', actual: 'the end of the connection' },
        ])
        expect(tools.clock.pending()).toBe(0)
      }
    })
  })

  it('plays the connections in order, with their errors and failures, and rejects one more', () => {
    virtually((tools) => {
      const cassette = parseCassette([
        header('websocket'),
        line(0, 'dial'),
        line(10, 'dial-failed', { code: 'connection-failed', message: 'No.' }),
        line(20, 'dial', { connection: 2 }),
        line(21, 'open', { connection: 2 }),
        line(21, 'sent', { ...request, connection: 2 }),
        line(30, 'ended', { connection: 2, code: 'going-away', message: 'Soon.' }),
      ])
      const mismatches: CassetteMismatch[] = []
      const played = replay(cassette, {
        speed: 1,
        scheduler: tools.clock,
        onMismatch: (mismatch) => mismatches.push(mismatch),
      })
      const dial = dialOf(played)
      const log: string[] = []
      const attempt = (name: string): void => {
        const received$ = dial({ url: 'ws://localhost' }).pipe(
          mergeMap((link) => {
            link.send(request.text)
            return link.incoming$
          }),
        )
        const error = (cause: unknown): void =>
          void log.push(`${name} ${tools.clock.now()} ${isSpeechError(cause) ? cause.code : 'junk'}`)
        received$.subscribe({ error })
      }
      attempt('first')
      attempt('second')
      attempt('third')
      return () => {
        expect(log).toEqual(['third 0 protocol-violation', 'first 10 connection-failed', 'second 10 going-away'])
        expect(mismatches).toMatchObject([{ connection: 3, actual: 'one more' }])
      }
    })
  })

  it('plays to each channel its own connections, in whatever order the channels connect', async () => {
    const failing = (connection: number, channel: number, message: string): readonly string[] => [
      line(0, 'dial', { connection, channel }),
      line(0, 'dial-failed', { connection, code: 'connection-failed', message }),
    ]
    const first = [line(0, 'dial', { channel: 0 }), line(0, 'open'), line(0, 'sent', request)]
    const ended = line(0, 'ended', { code: 'connection-lost', message: 'A.' })
    const lines = [header('websocket'), ...first, ended, ...failing(2, 1, 'B.'), ...failing(3, 1, 'C.')]
    const dial = dialOf(replay(parseCassette(lines)))
    const contents: string[] = []
    for (const channel of [1, 0, 1, 0] as const) {
      const received$ = dial({ url: 'ws://localhost', channel }).pipe(
        mergeMap((link) => {
          link.send(request.text)
          return link.incoming$
        }),
      )
      await lastValueFrom(received$).catch((error: unknown) => contents.push(String(error)))
    }
    expect(contents.map((text) => text.replace('SpeechError: ', ''))).toEqual([
      'B.',
      'A.',
      'C.',
      'The cassette has 3 connections; the client dials once more.',
    ])
  })

  it('starts from the beginning for each session', () => {
    virtually((tools) => {
      const played = replay(recognition())
      const session = (): ReturnType<Tools['watch']> =>
        tools.watch(recognize(played.recognizer({ testing: { scheduler: tools.clock } }))(spoken))
      const logs = [session().log, session().log]
      return () => expect(logs.map((log) => log.at(-1))).toEqual(['0 complete', '0 complete'])
    })
  })

  it('keeps the order when a response is sent during the message that causes it', () => {
    const received: string[] = []
    const received$ = dialOf(replay(recognition()))({ url: 'ws://localhost' }).pipe(
      mergeMap((link) => {
        // Sends the next message inside the handler of the response.
        const answering$ = link.incoming$.pipe(
          tap((message) => {
            received.push((JSON.parse(String(message)) as Readonly<Record<string, string>>)['message-name'] ?? '')
            if (received.length === 1) link.send(bytes(20, 1))
            if (received.length !== 2) return
            link.send(bytes(20, 2))
            link.send(text('finalize-recognition').text)
          }),
        )
        const asking$ = defer(() => {
          link.send(request.text)
          return EMPTY
        })
        return merge(answering$, asking$)
      }),
    )
    received$.subscribe().unsubscribe()
    expect(received).toEqual(['recognize-response', 'partial-result', 'finalize-recognition-response', 'final-result'])
  })

  it('has the options of the recorded stream, and replays its events', () => {
    virtually((tools) => {
      const { Start, Finalize } = plainDataflow(10)
      const service = scriptedService(tools.clock, [
        { ...(Start && { start: Start }), ...(Finalize && { finalize: Finalize }) },
      ])
      const { lines, write } = keptLines()
      const recorded = tools.watch(
        record(write)(dataflow, {
          ...{ token: 'secret-token', format, url: 'grpc://localhost:1' },
          ...{
            tenant: 't',
            project: 'p',
            language: 'en',
            settings: { A: 1 },
            finalizeBy: 'request',
            dialect: 'kebab',
          },
          testing: { dial: service.dial, scheduler: tools.clock },
        })([audio(20)]),
      )
      let again: ReturnType<Tools['watch']> | undefined
      tools.clock.schedule(() => {
        const played = replay(parseCassette(lines), { speed: 1, scheduler: tools.clock })
        again = tools.watch(dataflow(played.dataflow())([audio(20)]))
      }, 100)
      return () => {
        expect(recorded.log.at(-1)).toBe('20 complete')
        expect(again?.log).toEqual(recorded.log)
        const options = replay(parseCassette(lines)).dataflow()
        expect(options).toMatchObject({ tenant: 't', project: 'p', language: 'en', settings: { A: 1 } })
        expect(options).toMatchObject({ finalizeBy: 'request', dialect: 'kebab', format, token: '[redacted]' })
      }
    })
  })

  it('rejects the other transport, a speed of 0, and a cassette with lost lines', () => {
    const cassette = recognition()
    expect(codeThrownBy(() => replay(cassette).dataflow())).toBe('invalid-options')
    expect(codeThrownBy(() => replay(cassette, { speed: 0 }))).toBe('invalid-options')
    const incomplete = {
      ...cassette,
      lines: [...cassette.lines, { atMs: 60, event: 'lost', lines: 1, bytes: 9 } as const],
    }
    expect(codeThrownBy(() => replay(incomplete))).toBe('invalid-options')
    expect(codeThrownBy(() => replay(incomplete, { mismatch: 'lenient' }))).toBe(undefined)
  })
})

describe('replay of the client', () => {
  it.each(['grpc', 'websocket'] as const)('plays the recorded client over %s with another token', async (over) => {
    const engine = scriptedEngine({ texts: ['hello world'] })
    const first = inMemoryService({ engine })
    const { lines, write } = keptLines()
    const session =
      over === 'grpc'
        ? record(write)(dataflow, first.dataflow({ format: ulaw }))
        : record(write)(recognize, first.recognizer({ format: ulaw }))
    const events = await lastValueFrom(session([leftOfCall(5_000)]).pipe(toArray()))
    const second = inMemoryService({ engine, token: 'another-token' })
    const { dials } = second
    const connect =
      over === 'grpc' ? dials.dataflow : () => dials.recognizer({ headers: { Authorization: 'Bearer another-token' } })
    const played = await lastValueFrom(
      replay(parseCassette(lines)).client(connect, { token: 'another-token' }).pipe(toArray()),
    )
    await Promise.all([first.close(), second.close()])
    const contents = (all: typeof events): readonly unknown[] =>
      all
        .filter(({ type }) => type === 'milestone' || type === 'final' || type === 'response')
        .map((event) => ({ ...event, recognitionId: undefined }))
    expect(contents(events).length).toBeGreaterThanOrEqual(over === 'grpc' ? 3 : 4)
    expect(contents(played)).toEqual(contents(events))
  })

  it('keeps the recorded times, and limits the wait for responses', () => {
    marbles(({ scheduler, expectObservable }) => {
      const service = scriptedService<SocketMessage>(scheduler, [plainRecognizer(10)])
      const silent = scriptedService<SocketMessage>(scheduler, [{}])
      const client = (dial: typeof service.dial, speed: number): Observable<string> =>
        replay(recognition(), { speed, scheduler })
          .client(dial, { token: 't', answerTimeoutMs: 50 })
          .pipe(map(({ type }) => type))
      expectObservable(client(service.dial, 1)).toBe('10ms r 39ms (rmf|)', {
        r: 'response',
        m: 'milestone',
        f: 'final',
      })
      expectObservable(client(silent.dial, 1)).toBe(
        '50ms #',
        undefined,
        expect.objectContaining({ code: 'start-timeout' }),
      )
      expectObservable(client(silent.dial, 1), '10ms !').toBe('-')
    })
  })

  it.each(['grpc', 'websocket'] as const)(
    'plays a session over %s that lost its connection on both connections',
    async (over) => {
      const first = verifyingService()
      const { lines, write } = keptLines()
      virtually(({ clock }) => {
        const faults = linkFaults({ scheduler: clock, script: faultMarbles('2500ms r') })
        const { recognizer, dataflow: stream } = first.dials
        const session =
          over === 'grpc'
            ? record(write)(
                dataflow,
                first.dataflow({ format, testing: { scheduler: clock, dial: faults.wrap(stream) } }),
              )
            : record(write)(
                recognize,
                first.recognizer({ format, testing: { scheduler: clock, dial: faults.wrap(recognizer) } }),
              )
        const speech = Array.from({ length: 50 }, (_, chunk) => positionAudio(chunk * 800, 800))
        session(pace({ format, scheduler: clock })(speech)).subscribe()
        return () => expect(lines.join('\n')).toContain('connection-lost')
      })
      const second = verifyingService()
      const dial = over === 'grpc' ? second.dials.dataflow : () => second.dials.recognizer({ headers: {} })
      const played$ = replay(parseCassette(lines)).client(dial, { token: 't', answerTimeoutMs: 1_000 })
      const played = await lastValueFrom(played$.pipe(toArray()))
      const source = { sampleCount: 40_000, sampleRateHz: 8_000 }
      expect(second.verify(source)).toMatchObject({ connections: 2, missing: [] })
      expect(second.verify(source)).toEqual(first.verify(source))
      expect(played.filter(({ type }) => type === 'final')).toHaveLength(1)
    },
  )

  it('rejects cassettes without audio', () => {
    const hashed = parseCassette([header('websocket', { audio: 'sha256' }), line(0, 'dial')])
    expect(codeThrownBy(() => replay(hashed).client(() => NEVER, { token: 't' }))).toBe('invalid-options')
  })
})

const ulaw: AudioFormat = { encoding: 'ulaw', sampleRateHz: 8000, channels: 1 }

/** The beginning of one channel of the sample call. */
const leftOfCall = (durationMs: number): Uint8Array => callSamples(durationMs).filter((_byte, index) => index % 2 === 0)
