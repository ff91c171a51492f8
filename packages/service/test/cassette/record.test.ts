import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { EMPTY, defer, lastValueFrom, map, mergeMap, NEVER, of, Subject, tap, throwError, toArray } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { CassetteLoss } from '../../../../src/cassette/record/line-queue.js'
import { toFile, type CassetteSink } from '../../../../src/cassette/record/sink.js'
import { parseCassette, readCassette } from '../../../../src/cassette/format/read-cassette.js'
import { record, type RecordOptions } from '../../../../src/cassette/record/record.js'
import { SpeechError } from '../../../../src/errors/speech-error.js'
import type { DataflowMessage, Dial } from '../../../../src/transport/link.js'
import type { SessionEvent } from '../../../../src/protocol/session-event.js'
import { dataflow, type DataflowOptions } from '../../../../src/client/dataflow/dataflow.js'
import { recognize } from '../../../../src/client/recognizer/recognize.js'
import type { RecognizeOptions } from '../../../../src/client/recognizer/recognize-on.js'
import { scriptedDial } from '../../../../src/testing/scripted-dial.js'
import { inMemoryService } from '../../src/testing/in-memory-service.js'
import { codeThrownBy } from '../../../../test/operators/marbles.js'
import {
  audio,
  format,
  plainDataflow,
  plainRecognizer,
  response,
  scriptedService,
  virtually,
  type Tools,
} from '../../../../test/client/virtual-session.js'
import { keptLines, outlineOf } from '../../../../test/cassette/cassette-lines.js'
import { folderOfTest } from '../../../../test/temporary-folder.js'

const socketOptions = (
  { clock }: Tools,
  { dial }: Pick<NonNullable<RecognizeOptions['testing']>, 'dial'>,
  more: Partial<RecognizeOptions> = {},
): RecognizeOptions => ({
  token: 'secret-token',
  format,
  url: 'ws://localhost',
  model: 'm',
  testing: { dial, scheduler: clock },
  ...more,
})

const streamOptions = (
  { clock }: Tools,
  { dial }: Pick<NonNullable<DataflowOptions['testing']>, 'dial'>,
  more: Partial<DataflowOptions> = {},
): DataflowOptions => ({
  token: 'secret-token',
  format,
  url: 'localhost:1',
  tenant: 't',
  project: 'p',
  connection: { insecure: true },
  testing: { dial, scheduler: clock },
  ...more,
})

describe('record', () => {
  it('records a session over the socket in both directions with times, and does not change it', () => {
    virtually((tools) => {
      const service = () => scriptedService(tools.clock, [plainRecognizer(10)], { connectMs: 5 })
      const { lines, write } = keptLines()
      const source = '-a-b|'
      const values = { a: audio(20), b: audio(40) }
      const bare = tools.watch(recognize(socketOptions(tools, service()))(tools.cold(source, values)))
      const recorded = tools.watch(
        record(write)(recognize, socketOptions(tools, service()))(tools.cold(source, values)),
      )
      return () => {
        expect(recorded.log).toEqual(bare.log)
        expect(recorded.log.at(-1)).toBe('25 complete')
        expect(JSON.parse(lines[0] ?? '')).toEqual({
          version: 1,
          transport: 'websocket',
          format,
          startedAt: '1970-01-01T00:00:00.000Z',
          audio: 'embedded',
        })
        expect(outlineOf(lines)).toEqual([
          '0 1 dial',
          '5 1 open',
          '5 1 sent recognize',
          '15 1 received recognize-response',
          '15 1 sent 320',
          '15 1 sent 640',
          '15 1 sent finalize-recognition',
          '25 1 received finalize-recognition-response',
          '25 1 received milestone-result',
          '25 1 received final-result',
          '25 1 close',
          '25 end complete',
        ])
      }
    })
  })

  it('records a session over the stream with its half-close and its end by the service', () => {
    virtually((tools) => {
      const service = scriptedService(tools.clock, [plainDataflow(10)])
      const { lines, write } = keptLines()
      tools.watch(record(write)(dataflow, streamOptions(tools, service))(tools.cold('-a|', { a: audio(20) })))
      return () => {
        expect(outlineOf(lines)).toEqual([
          '0 1 dial',
          '0 1 open',
          '0 1 sent Start',
          '10 1 received operation-result',
          '10 1 sent 320',
          '10 1 finish',
          '20 1 received SR Final',
          '20 1 ended',
          '20 end complete',
        ])
      }
    })
  })

  it('records the error that ends a session, and emits it', () => {
    virtually((tools) => {
      const refused = scriptedService(tools.clock, [
        { Start: [10, response('{"operation-result":"project-denied: Not you."}')] },
      ])
      const noWay = { dial: () => throwError(() => new SpeechError('tenant-denied', 'Not you.')) }
      const [left, right] = [keptLines(), keptLines()]
      const first = tools.watch(record(left.write)(dataflow, streamOptions(tools, refused))(NEVER))
      const second = tools.watch(record(right.write)(recognize, socketOptions(tools, noWay))(NEVER))
      return () => {
        expect(first.log.at(-1)).toBe('10 error project-denied')
        expect(outlineOf(left.lines).slice(-3)).toEqual([
          '10 1 received operation-result',
          '10 1 close',
          '10 end error project-denied',
        ])
        expect(second.log.at(-1)).toBe('0 error tenant-denied')
        expect(outlineOf(right.lines)).toEqual([
          '0 1 dial',
          '0 1 dial-failed tenant-denied',
          '0 end error tenant-denied',
        ])
      }
    })
  })

  it('records an unsubscription in each state', () => {
    virtually((tools) => {
      const service = (): ReturnType<typeof scriptedService<string | Uint8Array>> =>
        scriptedService(tools.clock, [plainRecognizer(10)], { connectMs: 5 })
      const [early, late] = [keptLines(), keptLines()]
      tools.watch(record(early.write)(recognize, socketOptions(tools, service()))(NEVER), 3)
      tools.watch(record(late.write)(recognize, socketOptions(tools, service()))(NEVER), 8)
      return () => {
        expect(outlineOf(early.lines)).toEqual(['0 1 dial', '3 1 close', '3 end unsubscribed'])
        expect(outlineOf(late.lines).slice(-3)).toEqual(['5 1 sent recognize', '8 1 close', '8 end unsubscribed'])
        expect(tools.clock.pending()).toBe(0)
      }
    })
  })

  it('starts another cassette for another subscription, and rejects two concurrent sessions of one function', () => {
    virtually((tools) => {
      const { lines, write } = keptLines()
      const service = scriptedService(tools.clock, [plainRecognizer(10)])
      const session = record(write)(recognize, socketOptions(tools, service))
      const [first, meanwhile] = [tools.watch(session(of(audio(20)))), tools.watch(session(of(audio(20))))]
      let again: ReturnType<Tools['watch']> | undefined
      tools.clock.schedule(() => (again = tools.watch(session(of(audio(20))))), 100)
      return () => {
        expect(first.log.at(-1)).toBe('20 complete')
        expect(meanwhile.log).toEqual(['0 error already-started'])
        expect(again?.log.at(-1)).toBe('20 complete')
        const second = lines.findIndex((line, index) => index > 0 && line.includes('"version"'))
        expect(outlineOf(lines.slice(second))).toEqual(outlineOf(lines.slice(0, second)))
        expect(codeThrownBy(() => parseCassette(lines))).toBe('invalid-field')
      }
    })
  })

  it('keeps the order when a sink causes the next line during a write', () => {
    virtually((tools) => {
      const finalize$ = new Subject<void>()
      const lines: string[] = []
      const write = (line: string): void => {
        // Finalizing sends the next message before the session has received this one.
        if (line.includes('recognize-response')) finalize$.next()
        lines.push(line)
      }
      const service = scriptedService(tools.clock, [plainRecognizer(10)])
      const watched = tools.watch(record(write)(recognize, socketOptions(tools, service, { finalize$ }))(NEVER))
      return () => {
        expect(watched.log.at(-1)).toBe('20 complete')
        expect(outlineOf(lines).slice(2, 6)).toEqual([
          '0 1 sent recognize',
          '10 1 received recognize-response',
          '10 1 sent finalize-recognition',
          '20 1 received finalize-recognition-response',
        ])
      }
    })
  })

  it('numbers the connections of a session', () => {
    virtually((tools) => {
      const service = scriptedService(tools.clock, [
        { recognize: [0, '{"message-name":"recognize-response","operation-result":"unauthenticated: Old token."}'] },
        plainRecognizer(10),
      ])
      const { lines, write } = keptLines()
      let tokens = 0
      const watched = tools.watch(
        record(write)(
          recognize,
          socketOptions(tools, service, {
            token: {
              [Symbol.iterator]: () => {
                tokens += 1
                return [`secret-number-${tokens}`][Symbol.iterator]()
              },
            },
          }),
        )(of(audio(20))),
      )
      return () => {
        expect(watched.log.at(-1)).toMatch(/complete/)
        expect(outlineOf(lines).filter((line) => /dial|open|close|recognize$/.test(line))).toEqual([
          '0 1 dial',
          '0 1 open',
          '0 1 sent recognize',
          '0 1 close',
          '0 2 dial',
          '0 2 open',
          '0 2 sent recognize',
          '20 2 close',
        ])
        expect(lines.join('\n')).not.toContain('secret-number')
      }
    })
  })

  it('records only the hash of audio with the option sha256', () => {
    virtually((tools) => {
      const service = scriptedService(tools.clock, [plainRecognizer(10)])
      const { lines, write } = keptLines()
      tools.watch(record(write, { audio: 'sha256' })(recognize, socketOptions(tools, service))(of(audio(1))))
      return () => {
        const sent = parseCassette(lines).lines.find((line) => line.event === 'sent' && line.bytes !== undefined)
        // The hash of 16 zeros.
        expect(sent).toMatchObject({ sha256: '374708fff7719dd5979ec875d56cd2286f6d3cf7ec317a3b25632aab28ec37bb' })
        expect(lines.join('')).not.toContain('base64')
      }
    })
  })

  it('passes on the signal that a connection is about to end', () => {
    virtually((tools) => {
      const done: SessionEvent = { type: 'connection', state: 'done' }
      const dial = (): Dial<DataflowMessage, DataflowMessage> =>
        scriptedDial<DataflowMessage, DataflowMessage>(() => NEVER)().pipe(
          map((link) => Object.assign(link, { leaving$: of(undefined) })),
        )
      const untilLeaving = (options: DataflowOptions) => () =>
        defer(() => options.testing?.dial?.({ url: 'localhost:1' }) ?? EMPTY).pipe(
          mergeMap((link) => link.leaving$ ?? EMPTY),
          map(() => done),
        )
      const { log } = tools.watch(record(keptLines().write)(untilLeaving, streamOptions(tools, { dial }))(NEVER), 1)
      return () => expect(log).toEqual(['0 done'])
    })
  })

  it('throws immediately for invalid options, its own and those of the session', () => {
    const good = { url: 'ws://localhost', token: 't', model: 'm', format }
    expect(codeThrownBy(() => record(() => undefined)(recognize, { ...good, model: '' }))).toBe('invalid-options')
    expect(codeThrownBy(() => record(() => undefined, { maxQueueBytes: 0 }))).toBe('invalid-options')
    expect(codeThrownBy(() => record(() => undefined, { flushTimeoutMs: -1 }))).toBe('invalid-options')
    expect(codeThrownBy(() => record('call.jsonl' as unknown as CassetteSink))).toBe('invalid-options')
  })
})

/** Records a short session in memory. */
const recordHello = async (
  sink: CassetteSink,
  options: RecordOptions = {},
  onEvent: (event: SessionEvent) => void = () => undefined,
): Promise<SessionEvent[]> => {
  const service = inMemoryService()
  const session = record(sink, options)(dataflow, service.dataflow({ format }))
  try {
    return await lastValueFrom(session([audio(100), audio(100)]).pipe(tap(onEvent), toArray()))
  } finally {
    await service.close()
  }
}

describe('a sink', () => {
  it('that is slow receives one line at a time, and the session ends after the last one', async () => {
    const lines: string[] = []
    let writing = 0
    await recordHello(async (line) => {
      writing += 1
      expect(writing).toBe(1)
      await new Promise((resolve) => setImmediate(resolve))
      writing -= 1
      lines.push(line)
    })
    expect(outlineOf(lines).at(-1)).toMatch(/end complete$/)
  })

  it('that is too slow loses lines, which the cassette and onLoss report', async () => {
    const losses: CassetteLoss[] = []
    const lines: string[] = []
    let release = (): void => undefined
    const gate = new Promise<void>((resolve) => (release = resolve))
    await recordHello(
      (line) => {
        lines.push(line)
        if (lines.length === 2) return gate
        return undefined
      },
      { maxQueueBytes: 300, onLoss: (loss) => losses.push(loss) },
      ({ type }) => {
        if (type === 'final') release()
      },
    )
    const outline = outlineOf(lines)
    const hole = outline.findIndex((line) => line.includes(' lost '))
    expect(hole).toBeGreaterThan(0)
    expect(losses).toMatchObject([{ cause: 'sink-slow' }])
    expect(outline[hole]).toMatch(new RegExp(`lost ${losses[0]?.lines}$`))
  })

  it('that never takes a line delays the end of the session by flushTimeoutMs at most, and is reported', async () => {
    const losses: CassetteLoss[] = []
    const events = await recordHello(() => new Promise<void>(() => undefined), {
      flushTimeoutMs: 20,
      onLoss: (loss) => losses.push(loss),
    })
    expect(events.at(-1)).toBeDefined()
    expect(losses).toMatchObject([{ cause: 'sink-failed', error: { code: 'internal' } }])
    expect(losses[0]?.lines).toBeGreaterThan(5)
  })

  it('that fails does not fail the session', async () => {
    const losses: CassetteLoss[] = []
    const full = new Error('no space')
    const events = await recordHello(
      () => {
        throw full
      },
      { onLoss: (loss) => losses.push(loss) },
    )
    expect(events.some(({ type }) => type === 'final')).toBe(true)
    expect(losses[0]).toMatchObject({ cause: 'sink-failed', error: full })
    expect(losses.reduce((sum, { lines }) => sum + lines, 0)).toBeGreaterThan(8)
  })

  it('that is a file is complete when the session ends, readable by its owner only, with a separate file for each session', async () => {
    const folder = folderOfTest()
    const file = join(folder, 'call.jsonl')
    const sink = toFile(file)
    await recordHello(sink)
    await recordHello(sink)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const [first, two] = [await readCassette(file), await readCassette(join(folder, 'call-2.jsonl'))]
    expect(first.lines.at(-1)).toMatchObject({ event: 'end', outcome: 'complete' })
    expect(two.lines.map(({ event }) => event)).toEqual(first.lines.map(({ event }) => event))
    expect(readFileSync(file, 'utf8')).toMatch(/\n$/)
    const losses: CassetteLoss[] = []
    await recordHello(toFile(join(folder, 'none', 'call.jsonl')), { onLoss: (loss) => losses.push(loss) })
    expect(losses[0]).toMatchObject({ cause: 'sink-failed', error: { code: 'ENOENT' } })
  })
})
