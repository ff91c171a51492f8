import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { natsIsSkipped, natsTitle } from '../connection/nats-server.js'
import { openJsonLogger } from '../../../server/src/operations/logger.js'
import { callThrough, LiveFleet, wordsOf, type CallOptions } from './live-fleet.js'
import { longIt } from '../../../../test/thorough.js'

let fleet: LiveFleet
afterEach(() => fleet.close())

describe.skipIf(natsIsSkipped)(natsTitle('a service whose engines are other processes'), () => {
  it('transcribes a call as with engines of its own, also when one is killed within a segment', async () => {
    fleet = await LiveFleet.start()
    await Promise.all([fleet.startEngine(), fleet.startEngine()])
    const service = await fleet.startService()
    expect(service.defaultModel).toBe('call')
    const undisturbed = await callThrough(service, { speed: 8 })
    expect(undisturbed.length).toBeGreaterThan(10)
    expect(fleet.faults).toEqual([])
    const killed = await callThrough(service, { speed: 8 }, async () => (await fleet.busy()).kill())
    expect(wordsOf(killed)).toEqual(wordsOf(undisturbed))
    expect(fleet.faults.length).toBeGreaterThan(0)
  })

  it('names session, segment and attempt in the log of the service and of the engine processes', async () => {
    fleet = await LiveFleet.start()
    const flags = ['--log-level', 'debug', '--log-format', 'json']
    const engines = await Promise.all([fleet.startEngine(flags), fleet.startEngine(flags)])
    const ofEngines = engines.map(() => '')
    for (const [at, { child }] of engines.entries())
      child.stderr?.on('data', (part: Buffer) => (ofEngines[at] = `${ofEngines[at] ?? ''}${String(part)}`))
    const own: string[] = []
    const logger = await openJsonLogger({ write: (line) => own.push(line) }, 'debug')
    const service = await fleet.startService({ logger })
    await callThrough(service, { speed: 8 }, async () => (await fleet.busy()).kill())
    const read = (all: readonly string[]) =>
      all
        .filter((line) => /^\{.*\}\s*$/.test(line))
        .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
    const begunOf = (all: readonly string[]) =>
      read(all).flatMap(({ msg, sessionId, startMs, attempt }) =>
        msg === 'Segment begun' ? [JSON.stringify({ sessionId, startMs, attempt })] : [],
      )
    const begun = begunOf(own)
    expect(begun.length).toBeGreaterThan(10)
    const begunThere = (): readonly string[] => begunOf(ofEngines.flatMap((text) => text.split('\n')))
    // The one that was killed may have had another on its way.
    await expect.poll(() => begun.filter((one) => !begunThere().includes(one)).length).toBeLessThanOrEqual(1)
    expect(begun).toEqual(expect.arrayContaining([...begunThere()]))
    const logged = read(own)
    const started = logged.filter(({ msg }) => msg === 'Session started')
    const [{ sessionId } = {}] = started
    expect(started).toHaveLength(1)
    const faults = logged.filter(({ level }) => level === 'error')
    expect(faults.length).toBeGreaterThan(0)
    for (const { startMs, ...fault } of faults) {
      expect(fault).toMatchObject({ code: 'engine-failed', sessionId, attempt: 1 })
      expect(begun).toContain(JSON.stringify({ sessionId, startMs, attempt: 2 }))
    }
    const left = logged.find(({ msg }) => msg === 'Engine process left')
    expect(left).toMatchObject({ how: 'silent', segments: expect.any(Number) as number })
  })

  longIt('knows its default model when it has started, and starts without engines if that is named', async () => {
    fleet = await LiveFleet.start()
    const alone = await fleet.startService({ defaultModel: 'call' })
    expect(alone.defaultModel).toBe('call')
    await fleet.startEngine()
    const service = await fleet.startService({ defaultModel: 'call' })
    const started = callThrough(service, { over: 'websocket', model: 'call', speed: 8, resumption: false })
    expect((await started).length).toBeGreaterThan(10)
  })

  longIt(
    'has worker processes with the same default model, each of which uses the engines from its first session on',
    async () => {
      fleet = await LiveFleet.start()
      await Promise.all([fleet.startEngine(), fleet.startEngine()])
      const service = await fleet.startService({ workers: 2 })
      expect(service.defaultModel).toBe('call')
      // A connection goes to the worker with the fewest, so each of them gets one.
      const [unnamed, named] = await Promise.all([
        callThrough(service, { over: 'grpc', model: '', speed: 8, resumption: false }),
        callThrough(service, { over: 'websocket', speed: 8, resumption: false }),
      ])
      expect(unnamed.length).toBeGreaterThan(10)
      expect(unnamed.map(({ text }) => text)).toEqual(named.map(({ text }) => text))
      expect(fleet.faults).toEqual([])
    },
  )

  longIt(
    'ends a session whose engine does not come back, and refuses others, with the sentences of TROUBLESHOOTING',
    async () => {
      const page = readFileSync('docs/TROUBLESHOOTING.md', 'utf8')
      fleet = await LiveFleet.start()
      await fleet.startEngine()
      const lines: string[] = []
      const logger = await openJsonLogger({ write: (line) => lines.push(line) }, 'info')
      const service = await fleet.startService({ operations: { host: '127.0.0.1', port: 0 }, logger })
      const ended = callThrough(service, { over: 'websocket', resumption: false }, async () =>
        (await fleet.busy()).kill(),
      )
      await expect(ended).rejects.toMatchObject({
        code: 'engine-failed',
        message: 'The recognition engine failed; try again.',
      })
      expect(page).toContain('### `engine-failed`: The recognition engine failed; try again.')
      await expect(callThrough(service, { speed: 8, resumption: false })).rejects.toMatchObject({
        code: 'overloaded',
        message: 'No engine for this model is running; try again later.',
      })
      expect(page).toContain('### `overloaded`: No engine for this model is running; try again later.')
      // A balancer must not take the edge away: tokens are issued, and clients of this package wait.
      const get = async (path: string): Promise<string> => (await fetch(`${service.operationsUrl ?? ''}${path}`)).text()
      expect(await get('/readyz')).toBe('ready\n')
      expect(await get('/metrics')).toMatch(/^rxspeech_fleet_processes 0$/m)
      const logged = lines.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
      const ofProcesses = logged.filter(({ level, msg }) => level !== 'error' && /engine process/i.test(String(msg)))
      expect(ofProcesses).toMatchObject([
        { level: 'info', msg: 'Engine process joined', engine: 'engine-1', models: 1 },
        { level: 'warn', msg: 'Engine process left', engine: 'engine-1', how: 'silent' },
        { level: 'warn', msg: 'No engine process serves these models', models: 'Default/call/1' },
      ])
    },
  )

  longIt(
    'recognizes the phrases of a session over both interfaces, and refuses words that the engine does not know',
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'rxspeech-fleet-'))
      try {
        const model = join(folder, 'Default/evening/1')
        await mkdir(model, { recursive: true })
        const options = { engine: 'soundswallower', phrases: 'phrases.txt', batch: true }
        await writeFile(join(model, 'model.json'), JSON.stringify(options))
        await writeFile(join(model, 'phrases.txt'), 'good evening harbor grill how can i help you\nthank you goodbye')
        fleet = await LiveFleet.start()
        await fleet.startEngine(['--models', folder, '--capacity', '40'])
        const service = await fleet.startService()
        const order = 'friday at half past seven please'
        const heardWith = async (options: CallOptions) => {
          const heard = await callThrough(service, { model: 'evening', speed: 8, resumption: false, ...options })
          return heard.map(({ text }) => text.trim())
        }
        for (const over of ['grpc', 'websocket'] as const) {
          const without = await heardWith({ over })
          const withPhrase = await heardWith({ over, phrases: [order] })
          expect(without).toContain('thank you goodbye')
          expect(without).not.toContain(order)
          expect(withPhrase.toSorted()).toEqual([...without, order].toSorted())
          await expect(heardWith({ over, phrases: [order, 'ask for qwzrtpx'] })).rejects.toMatchObject({
            code: 'invalid-field',
            message: expect.stringMatching(
              /^phrases\[1\] has the word "qwzrtpx", which the dictionary of the model lacks\.$/i,
            ) as string,
          })
        }
        expect(fleet.faults).toEqual([])
      } finally {
        await rm(folder, { recursive: true })
      }
    },
  )

  longIt('refuses sessions beyond the places of its engines at once, and serves the others', async () => {
    fleet = await LiveFleet.start()
    await fleet.startEngine(['--capacity', '1'])
    const service = await fleet.startService()
    const refused: unknown[] = []
    const served = await callThrough(service, { speed: 2 }, async () => {
      await fleet.busy()
      for (const over of ['grpc', 'websocket'] as const) {
        const call = callThrough(service, { over, resumption: false })
        refused.push(await call.catch((error: unknown) => error))
      }
    })
    expect(served.length).toBeGreaterThan(10)
    const refusal = { code: 'overloaded', message: expect.stringContaining('busy') as string }
    expect(refused).toMatchObject([refusal, refusal])
    expect(fleet.faults).toEqual([])
  })
})
