import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { from, lastValueFrom, toArray } from 'rxjs'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { SpeechError } from '../../../../src/errors/speech-error.js'
import type { Engine, Hypothesis, SegmentListener } from '../../src/engine.js'
import { readGrammar } from '../../src/models/grammar.js'
import { createWorkerStarter, engineWorkerFile } from '../../src/pool/worker-engine.js'
import { WorkerPool, type StartPoolWorker } from '../../src/pool/worker-pool.js'
import { createSegmentEngine } from '../../src/segment-engine.js'
import { withSegmentRetry } from '../../src/segment-retry.js'
import type { WorkerSettings } from '../../src/soundswallower/worker.js'
import { VirtualClock } from '../../../service/test/virtual-clock.js'
import { recording, recordingsAreHere, recordingsTitle, segmentParts, withLineNoise } from '../recordings.js'

const grammar = readFileSync(join(__dirname, '../fixtures/Default/cards/1/cards.gram'), 'utf8')
const settings: WorkerSettings = {
  type: 'rxspeech-soundswallower',
  modelBase: join(__dirname, '../../../../node_modules/soundswallower/model/'),
  language: 'en-us',
  grammar,
  words: readGrammar(grammar).words,
  dictionary: [],
  reject: 'medium',
  maxDecoders: 4,
}
const workerFile = engineWorkerFile('soundswallower/worker.js')
const faultyFile = join(__dirname, 'faulty-worker.cjs')
const answerWithinMs = 10_000

interface Fault {
  readonly fault: 'throws' | 'hangs' | 'exits'
  readonly afterFrames: number
}

const pools: WorkerPool[] = []
const closePools = async (): Promise<void> => {
  await Promise.all(pools.splice(0).map((pool) => pool.close()))
}

/** An engine whose workers fail as scripted, in the order in which they start; further ones do not fail. */
const createEngine = (script: readonly (Fault | undefined)[], workers = 1, decodersPerWorker = 4) => {
  const clock = new VirtualClock()
  const started: number[] = []
  const frames = new Map<number, number>()
  let ready = 0
  const start: StartPoolWorker = (events) => {
    const fault = script[started.length]
    started.push(started.length)
    let workerFrames = 0
    const startThread = createWorkerStarter({ ...settings, ...fault }, fault === undefined ? workerFile : faultyFile)
    return startThread({
      ...events,
      message: (message) => {
        events.message(message)
        if (message.type === 'ready') ready += 1
        if (message.type !== 'progress') return
        frames.set(message.segment, (frames.get(message.segment) ?? 0) + 1)
        workerFrames += 1
        // The deadline of a hanging worker expires immediately, in virtual time.
        if (fault?.fault === 'hangs' && workerFrames === fault.afterFrames) {
          setImmediate(() => clock.advanceTo(clock.now() + 2 * answerWithinMs))
        }
      },
    })
  }
  const pool = new WorkerPool({
    start,
    workers,
    decodersPerWorker,
    frameSamples: 800,
    answerWithinMs,
    now: () => performance.now(),
    scheduler: clock,
    refusalError: (sentence) => new SpeechError('invalid-model', sentence),
  })
  pools.push(pool)
  const bare = createSegmentEngine({
    capabilities: { sampleRateHz: 8000, partials: true, words: true, kind: 'grammar', segmentsAtOnce: 4 },
    openChannel: () => (startMs, listener) => pool.open(startMs, listener),
    ready: () => pool.warm(),
    close: () => pool.close(),
  })
  return {
    engine: withSegmentRetry(bare),
    started,
    readyWorkers: () => ready,
    pool,
    framesOf: (segment: number) => frames.get(segment) ?? 0,
  }
}

const ignored: SegmentListener = {
  progress: () => undefined,
  decidedPart: () => undefined,
  checked: () => undefined,
  decided: () => undefined,
  failed: () => undefined,
}

const recognize = (engine: Engine, samples: Int16Array): Promise<Hypothesis[]> =>
  lastValueFrom(from(segmentParts(samples)).pipe(engine.recognize(), toArray()))
const segmentsOf = (output: readonly Hypothesis[]) =>
  output.flatMap((hypothesis) => (hypothesis.type === 'segment' ? [hypothesis] : []))
const textsOf = (output: readonly Hypothesis[]): string[] => segmentsOf(output).map(({ text }) => text)
const faultsOf = (output: readonly Hypothesis[]) =>
  output.flatMap((hypothesis) => (hypothesis.type === 'fault' ? [hypothesis.retried] : []))
const samplesOf = (output: readonly Hypothesis[]): number =>
  output.reduce((sum, hypothesis) => sum + (hypothesis.type === 'progress' ? hypothesis.sampleCount : 0), 0)

describe.skipIf(!recordingsAreHere)(`a failing worker, with ${recordingsTitle}`, { timeout: 240_000 }, () => {
  let ten: Int16Array
  let seven: Int16Array
  /** Its workers do not fail. */
  let undisturbed: ReturnType<typeof createEngine>
  let undisturbedOutput: readonly Hypothesis[]
  beforeAll(async () => {
    ten = withLineNoise(await recording('ten-of-clubs.wav'))
    seven = withLineNoise(await recording('seven-of-clubs.wav'))
    undisturbed = createEngine([])
    pools.splice(0)
    undisturbedOutput = await recognize(undisturbed.engine, ten)
  }, 240_000)
  afterEach(closePools)
  afterAll(() => undisturbed.pool.close())

  it.each(['throws', 'hangs', 'exits'] as const)(
    'repeats the segment of a worker that %s in another worker: the same words, and every sample counted once',
    async (fault) => {
      const { engine, started } = createEngine([{ fault, afterFrames: 5 }])
      const output = await recognize(engine, ten)
      expect(started).toHaveLength(2)
      expect(faultsOf(output)).toEqual([true])
      expect(segmentsOf(output)).toEqual(segmentsOf(undisturbedOutput))
      expect(textsOf(output)).toEqual(['ten of clubs'])
      expect(samplesOf(output)).toBe(ten.length)
    },
  )

  it('ends the session with engine-failed when a segment makes three workers fail, and decodes the next one', async () => {
    const { engine, started } = createEngine([
      { fault: 'exits', afterFrames: 5 },
      { fault: 'throws', afterFrames: 3 },
      { fault: 'throws', afterFrames: 4 },
    ])
    await expect(recognize(engine, ten)).rejects.toMatchObject({ code: 'engine-failed', retryable: true })
    expect(started).toHaveLength(3)
    expect(textsOf(await recognize(engine, seven))).toEqual(['seven of clubs'])
  })

  it('retries the sessions of the worker that ended, and does not disturb those of another worker', async () => {
    const { engine, readyWorkers, pool } = createEngine([undefined, { fault: 'exits', afterFrames: 12 }], 2, 2)
    // Two workers before there is audio: the second one starts as soon as the first one is busy.
    const open = pool.open(0, ignored)
    await pool.warm()
    while (readyWorkers() < 2) await new Promise((resolve) => setImmediate(resolve))
    const all = await Promise.all([recognize(engine, ten), recognize(engine, seven), recognize(engine, ten)])
    open.abort()
    expect(all.map(textsOf)).toEqual([['ten of clubs'], ['seven of clubs'], ['ten of clubs']])
    expect(all.map(samplesOf)).toEqual([ten.length, seven.length, ten.length])
    const faults = all.flatMap(faultsOf)
    expect(faults.length).toBeGreaterThan(0)
    expect(faults.length).toBeLessThan(3)
    expect(faults.every((retried) => retried)).toBe(true)
  })

  it('does not decode the audio of a segment that is aborted, though the audio was sent before the abort', async () => {
    const { engine, pool, framesOf } = undisturbed
    const aborted = pool.open(0, ignored)
    // A minute of audio, which is 600 frames.
    for (let at = 0; at < 60; at += 1) aborted.write(new Int16Array(8000))
    aborted.abort()
    expect(textsOf(await recognize(engine, ten))).toEqual(['ten of clubs'])
    expect(framesOf(aborted.id)).toBeLessThan(20)
  })
})
