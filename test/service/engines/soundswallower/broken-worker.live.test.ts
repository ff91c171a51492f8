import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { from, lastValueFrom, toArray } from 'rxjs'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { SpeechError } from '../../../../src/errors/speech-error.js'
import type { Engine, Hypothesis } from '../../../../src/service/engines/engine.js'
import { withSegmentRetry } from '../../../../src/service/engines/segment-retry.js'
import { DecoderPool } from '../../../../src/service/engines/pool/worker-pool.js'
import {
  decoderWorkerStarter,
  workerFile,
  type StartDecoderWorker,
} from '../../../../src/service/engines/pool/decoder-worker.js'
import { readGrammar } from '../../../../src/service/engines/models/grammar.js'
import { laneEngine } from '../../../../src/service/engines/segment-engine.js'
import { decoderRateHz, type WorkerSettings } from '../../../../src/service/engines/soundswallower/worker-settings.js'
import { recording, recordingsAreHere, recordingsTitle, segmentParts, withLine } from '../recordings.js'

const grammar = readFileSync(join(__dirname, '../fixtures/Default/cards/1/cards.gram'), 'utf8')
const settings: WorkerSettings = {
  type: 'rxspeech-soundswallower',
  modelBase: join(__dirname, '../../../../node_modules/soundswallower/model/'),
  language: 'en-us',
  grammar,
  words: readGrammar(grammar).words,
  dictionary: [],
  maxDecoders: 4,
}
const soundFile = workerFile('soundswallower/worker.js')
const faultyFile = join(__dirname, 'faulty-worker.cjs')

interface Fault {
  readonly fault: 'throws' | 'hangs' | 'exits'
  readonly afterHops: number
}

const pools: DecoderPool[] = []
afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.close()))
})

/** An engine whose workers break as the script says, in the order of their start; those after it hold. */
const engineOf = (script: readonly (Fault | undefined)[], workers = 1, decodersPerWorker = 4) => {
  const started: number[] = []
  const hops = new Map<number, number>()
  const start: StartDecoderWorker = (events) => {
    const fault = script[started.length]
    started.push(started.length)
    const own = fault === undefined ? settings : { ...settings, ...fault }
    return decoderWorkerStarter(
      own,
      fault === undefined ? soundFile : faultyFile,
    )({
      ...events,
      message: (message) => {
        if (message.type === 'taken') hops.set(message.segment, (hops.get(message.segment) ?? 0) + 1)
        events.message(message)
      },
    })
  }
  const pool = new DecoderPool({
    start,
    workers,
    decodersPerWorker,
    hopSamples: 800,
    answerWithinMs: 2_000,
    now: () => performance.now(),
    refuse: (sentence) => new SpeechError('invalid-model', sentence),
  })
  pools.push(pool)
  const bare = laneEngine({
    capabilities: { sampleRateHz: decoderRateHz, partials: true, words: true, kind: 'grammar', segmentsAtOnce: 4 },
    openLane: () => (startMs, listener) => pool.open(startMs, listener),
    ready: () => pool.warm(),
    close: () => pool.close(),
  })
  /** Hops of a segment that a worker read. */
  const read = (segment: number): number => hops.get(segment) ?? 0
  return { engine: withSegmentRetry(bare), started, pool, read }
}

const run = (engine: Engine, samples: Int16Array): Promise<Hypothesis[]> =>
  lastValueFrom(from(segmentParts(samples)).pipe(engine.recognize(), toArray()))
const texts = (said: readonly Hypothesis[]): string[] =>
  said.flatMap((one) => (one.type === 'segment' ? [one.text] : []))
const faults = (said: readonly Hypothesis[]) => said.flatMap((one) => (one.type === 'fault' ? [one.retried] : []))
const taken = (said: readonly Hypothesis[]): number =>
  said.reduce((sum, one) => sum + (one.type === 'progress' ? one.sampleCount : 0), 0)

describe.skipIf(!recordingsAreHere)(`a worker that breaks, with ${recordingsTitle}`, () => {
  let ten: Int16Array
  let seven: Int16Array
  beforeAll(async () => {
    ten = withLine(await recording('ten-of-clubs.wav'))
    seven = withLine(await recording('seven-of-clubs.wav'))
  })

  it.each(['throws', 'hangs', 'exits'] as const)(
    'reads the segment of one that %s again on another: the same words, every sample counted once',
    async (fault) => {
      const whole = await run(engineOf([]).engine, ten)
      const { engine, started } = engineOf([{ fault, afterHops: 5 }])
      const said = await run(engine, ten)
      expect(started).toHaveLength(2)
      expect(faults(said)).toEqual([true])
      const kinds = (all: readonly Hypothesis[]) => all.filter(({ type }) => type === 'segment')
      expect(kinds(said)).toEqual(kinds(whole))
      expect(texts(said)).toEqual(['ten of clubs'])
      expect(taken(said)).toBe(ten.length)
    },
    20_000,
  )

  it('ends the session of a segment that breaks three workers, with engine-failed', async () => {
    const { engine, started } = engineOf([
      { fault: 'exits', afterHops: 5 },
      { fault: 'throws', afterHops: 3 },
      { fault: 'throws', afterHops: 4 },
    ])
    await expect(run(engine, ten)).rejects.toMatchObject({ code: 'engine-failed', retryable: true })
    expect(started).toHaveLength(3)
    expect(texts(await run(engine, seven))).toEqual(['seven of clubs'])
  })

  it('lets sessions of other workers notice nothing, and reads those of the same worker again', async () => {
    const { engine, started, pool } = engineOf([undefined, { fault: 'exits', afterHops: 12 }], 2, 2)
    // Two workers before any audio: a second starts as soon as the first is busy
    const holding = pool.open(0, { taken: () => undefined, decided: () => undefined, failed: () => undefined })
    await pool.warm()
    while (started.length < 2) await new Promise((resolve) => setImmediate(resolve))
    const all = await Promise.all([run(engine, ten), run(engine, seven), run(engine, ten)])
    holding.abort()
    expect(all.map(texts)).toEqual([['ten of clubs'], ['seven of clubs'], ['ten of clubs']])
    expect(all.map(taken)).toEqual([ten.length, seven.length, ten.length])
    const told = all.map(faults).flat()
    expect(told.length).toBeGreaterThan(0)
    expect(told.length).toBeLessThan(3)
    expect(told.every((retried) => retried)).toBe(true)
  }, 20_000)

  it('leaves the audio of a client that vanished unread, though it was sent before the abort', async () => {
    const { engine, pool, read } = engineOf([])
    await engine.ready()
    const vanished = pool.open(0, { taken: () => undefined, decided: () => undefined, failed: () => undefined })
    // A minute of audio, 600 hops
    for (let at = 0; at < 60; at += 1) vanished.write(new Int16Array(decoderRateHz))
    vanished.abort()
    expect(texts(await run(engine, ten))).toEqual(['ten of clubs'])
    expect(read(vanished.id)).toBeLessThan(20)
  })
})
