import {
  concatMap,
  delayWhen,
  filter,
  map,
  NEVER,
  Observable,
  of,
  Subject,
  throwError,
  VirtualTimeScheduler,
} from 'rxjs'
import { describe, expect, it } from 'vitest'
import { SpeechError } from '../../../../src/errors/speech-error.js'
import type {
  Engine,
  EngineCapabilities,
  Hypothesis,
  ModelDescription,
  RecognizeSettings,
  SegmentPart,
} from '../../../engines/src/engine.js'
import { modelLabel } from '../../../engines/src/models/model-json.js'
import type { Challenger, ModelRegistry } from '../../../engines/src/models/model-registry.js'
import { Challengers } from '../../src/operations/challengers.js'
import type { ChallengeOutcome } from '../../src/operations/challenger-trial.js'

const capabilities: EngineCapabilities = {
  sampleRateHz: 8000,
  partials: true,
  words: true,
  kind: 'dictation',
  segmentsAtOnce: 1,
}
const modelOf = (version: string, name = 'calls'): ModelDescription => ({
  ...{ tenant: 'Default', name, version, folder: '' },
  options: { engine: 'scripted' },
})
const failure = (code: 'engine-failed' | 'overloaded' = 'engine-failed'): SpeechError =>
  new SpeechError(code, 'The engine is broken.')

type Recognize = (part$: Observable<SegmentPart>) => Observable<Hypothesis>

/** Returns these results, one for each segment, when it ends. */
const reads =
  (...texts: readonly string[]): Recognize =>
  (part$) =>
    part$.pipe(
      filter(({ type }) => type === 'close'),
      map((_close, index): Hypothesis => {
        return { type: 'segment', startMs: 0, endMs: 100, text: texts[index % texts.length] ?? '', words: [] }
      }),
    )

interface Setup extends Partial<Challenger> {
  readonly champion?: Recognize
  readonly challenger?: Recognize
  readonly challengerCapabilities?: Partial<EngineCapabilities>
  /** @default the engine of the challenger */
  readonly spareEngine?: ModelRegistry['spareEngine']
}

/** A model 1 with the challenger 2. */
const challenged = async (setup: Setup = {}) => {
  const { champion = reads('one two three'), challenger = reads('one two three') } = setup
  const { challengerCapabilities, percent = 100, version = '2', ...rest } = setup
  const scheduler = new VirtualTimeScheduler()
  const outcomes: [challenger: string, outcome: ChallengeOutcome][] = []
  const received: SegmentPart[] = []
  const asked: (RecognizeSettings | undefined)[] = []
  let opened = 0
  const engineOf = (recognize: Recognize, given: Partial<EngineCapabilities> = {}): Engine => ({
    capabilities: { ...capabilities, ...given },
    recognize: () => recognize,
    ready: () => Promise.resolve(),
    close: () => Promise.resolve(),
  })
  const own = engineOf(champion)
  const other: Engine = {
    ...engineOf(challenger, challengerCapabilities),
    recognize: (settings) => (part$) => {
      opened += 1
      asked.push(settings)
      return challenger(
        part$.pipe(
          map((part) => {
            received.push(part)
            return part
          }),
        ),
      )
    },
  }
  const models = [modelOf('1'), modelOf('2'), modelOf('7', 'large')]
  const registry: ModelRegistry = {
    find: ({ name, version: wanted }) => models.find((model) => model.name === name && model.version === wanted),
    list: () => models,
    problems: () => [],
    engine: () => Promise.resolve(own),
    spareEngine: rest.spareEngine ?? (() => Promise.resolve(other)),
    release: () => ({ challenger: { ...rest, percent, version } }),
    close: () => Promise.resolve(),
  }
  const load = { isBusy: false, random: 0.5 }
  const challengers = new Challengers({
    onChallenged: (challenge, outcome) => {
      expect(challenge).toMatchObject({ model: 'Default/calls/1', sessionId: 'session', startMs: 0 })
      outcomes.push([challenge.challenger, outcome])
    },
    isBusy: () => load.isBusy,
    scheduler,
    random: () => load.random,
  })
  const watched = challengers.watch(registry)
  const engine = await watched.engine(modelOf('1'))
  const settled = (): Promise<void> => new Promise(setImmediate)
  const channel = (settings: RecognizeSettings = { sessionId: 'session' }) => {
    const part$ = new Subject<SegmentPart>()
    const results: (Hypothesis | 'completed' | SpeechError)[] = []
    const life = part$.pipe(engine.recognize(settings)).subscribe({
      next: (hypothesis) => results.push(hypothesis),
      error: (error: unknown) => results.push(error as SpeechError),
      complete: () => results.push('completed'),
    })
    const speak = (ms = 100): void => {
      part$.next({ type: 'open', startMs: 0 })
      part$.next({ type: 'audio', samples: new Int16Array(ms * 8) })
    }
    const end = async (): Promise<void> => {
      part$.next({ type: 'close', endMs: 100 })
      await settled()
    }
    return { part$, results, life, speak, end }
  }
  const passMs = async (ms: number): Promise<void> => {
    scheduler.maxFrames = scheduler.frame + ms
    scheduler.flush()
    scheduler.frame = scheduler.maxFrames
    await settled()
  }
  const say = async (): Promise<void> => {
    const { speak, end, part$ } = channel()
    speak()
    await end()
    part$.complete()
  }
  return { registry, watched, engine, outcomes, received, asked, load, channel, say, passMs, opened: () => opened }
}

const compared = (errors: object, differences?: string) => ({ errors, differences })
const equal = { words: 3, right: 3, substituted: 0, inserted: 0, deleted: 0 }

describe('a challenger', () => {
  it('reads the same audio as the model, once the result is out, and its words are compared', async () => {
    const { channel, outcomes, received } = await challenged({ challenger: reads('one too three four') })
    const { part$, results, speak, end } = channel()
    speak()
    expect(received).toEqual([])
    await end()
    expect(results).toMatchObject([{ type: 'segment', text: 'one two three' }])
    expect(received.map(({ type }) => type)).toEqual(['open', 'audio', 'close'])
    expect(outcomes).toEqual([
      ['Default/calls/2', compared({ words: 3, right: 2, substituted: 1, inserted: 1, deleted: 0 })],
    ])
    part$.complete()
    expect(results.at(-1)).toBe('completed')
    expect(outcomes).toHaveLength(1)
  })

  it('has the words that differ only if the operator wants them', async () => {
    const texts = [Array.from({ length: 12 }, (_none, at) => `w${at}`).join(' '), 'one two three']
    const { say, outcomes } = await challenged({
      champion: reads(...texts),
      challenger: reads('one'),
      logsWords: true,
    })
    await say()
    expect(outcomes[0]?.[1]).toMatchObject({ differences: expect.stringMatching(/^(w\d+ → [–o].*, ){9}w\d+ → . …$/) })
    const same = await challenged({ logsWords: true })
    await same.say()
    expect(same.outcomes).toEqual([['Default/calls/2', compared(equal)]])
  })

  it('reads its part of the segments, in place of a model of another name too', async () => {
    const { say, outcomes, load } = await challenged({ name: 'large', version: '7', percent: 25 })
    for (const random of [0.1, 0.2499, 0.25, 0.9]) {
      load.random = random
      await say()
    }
    expect(outcomes.map(([label]) => label)).toEqual(['Default/large/7', 'Default/large/7'])
    const itself = await challenged({ version: '1' })
    await itself.say()
    expect([itself.outcomes, itself.opened()]).toEqual([[], 0])
    const { release: _none, ...unused } = itself.registry
    const scheduler = new VirtualTimeScheduler()
    const challengers = new Challengers({ onChallenged: () => undefined, isBusy: () => false, scheduler })
    expect(challengers.watch(unused)).toBe(unused)
  })

  it('reads a segment whose result comes in parts as one', async () => {
    const champion: Recognize = (part$) =>
      part$.pipe(
        filter(({ type }) => type === 'close'),
        concatMap(() =>
          of<Hypothesis[]>(
            { type: 'segment', startMs: 0, endMs: 50, text: 'one two', words: [], decidedSamples: 400 },
            { type: 'segment', startMs: 50, endMs: 100, text: 'three', words: [] },
          ),
        ),
      )
    const { say, outcomes } = await challenged({ champion })
    await say()
    expect(outcomes).toEqual([['Default/calls/2', compared(equal)]])
  })

  it('gets nothing that it does not take', async () => {
    const { channel, received, asked } = await challenged({
      challengerCapabilities: { contextMs: 1, languages: ['en'] },
    })
    const settings = { phrases: ['ask for maria'], language: 'fr', reject: 'low', sessionId: 'session' } as const
    const { part$, end } = channel(settings)
    const samples = Int16Array.from({ length: 100 }, (_none, at) => at)
    part$.next({ type: 'open', startMs: 0, before: samples, language: 'en', traceparent: 'x' })
    part$.next({ type: 'check' })
    part$.next({ type: 'close', endMs: 100, after: samples })
    await end()
    expect(asked).toEqual([{ phrases: undefined, language: undefined, reject: 'low', sessionId: 'session' }])
    expect(received).toEqual([
      { type: 'open', startMs: 0, before: samples.slice(92), language: 'en' },
      { type: 'close', endMs: 100, after: samples.slice(0, 8) },
    ])
  })

  it.each([
    ['fails', () => throwError(() => failure())],
    ['fails and would be tried again', (part$) => part$.pipe(map((): Hypothesis => fault))],
    [
      'fails to subscribe',
      () => {
        throw failure()
      },
    ],
  ] satisfies readonly (readonly [string, Recognize])[])(
    'that %s is counted, and tried again after 10 s',
    async (_how, challenger) => {
      const { say, channel, outcomes, passMs, opened } = await challenged({ challenger })
      const { results, speak, end, part$ } = channel()
      speak()
      await end()
      part$.complete()
      expect(results).toMatchObject([{ type: 'segment' }, 'completed'])
      expect(outcomes).toMatchObject([['Default/calls/2', { code: 'engine-failed' }]])
      await say()
      expect([outcomes.at(-1)?.[1], opened()]).toEqual(['dropped', 1])
      await passMs(10_000)
      await say()
      expect([outcomes.at(-1)?.[1], opened()]).toMatchObject([{ code: 'engine-failed' }, 2])
    },
  )

  it('that cannot be loaded is counted, and has not had its place for long', async () => {
    const { say, outcomes, passMs } = await challenged({ places: 1, spareEngine: () => Promise.reject(failure()) })
    await say()
    await passMs(10_000)
    await say()
    expect(outcomes).toMatchObject([
      ['Default/calls/2', { code: 'engine-failed' }],
      ['Default/calls/2', { code: 'engine-failed' }],
    ])
  })

  it('that is slow has its place for as long, and delays nothing', async () => {
    let reading$ = new Subject<void>()
    const slow: Recognize = (part$) => reads('one two')(part$).pipe(delayWhen(() => reading$))
    const { channel, say, outcomes, passMs } = await challenged({ challenger: slow, places: 1 })
    const { results, speak, end, part$ } = channel()
    speak()
    await end()
    part$.complete()
    expect(results).toMatchObject([{ type: 'segment' }, 'completed'])
    await passMs(29_000)
    await say()
    expect(outcomes).toEqual([['Default/calls/2', 'dropped']])
    reading$.next()
    await passMs(0)
    expect(outcomes.at(-1)?.[1]).toEqual(compared({ words: 3, right: 2, substituted: 0, inserted: 0, deleted: 1 }))
    reading$ = new Subject()
    await say()
    reading$.next()
    await passMs(0)
    expect(outcomes).toHaveLength(3)
  })

  it('that hangs is given up after 30 s and twice the length of the segment, and delays nothing', async () => {
    let unsubscribed = 0
    const hangs: Recognize = () => new Observable(() => () => (unsubscribed += 1))
    const { channel, outcomes, passMs } = await challenged({ challenger: hangs, places: 2 })
    const one = channel()
    one.speak(1_000)
    await one.end()
    const two = channel()
    two.speak(100)
    await two.end()
    for (const { results } of [one, two]) expect(results).toMatchObject([{ type: 'segment' }])
    // Both places are held.
    two.speak()
    await two.end()
    expect(outcomes).toEqual([['Default/calls/2', 'dropped']])
    await passMs(30_200)
    expect([outcomes.length, unsubscribed]).toEqual([2, 1])
    await passMs(1_800)
    expect(outcomes.slice(1)).toMatchObject([
      ['Default/calls/2', { code: 'engine-failed' }],
      ['Default/calls/2', { code: 'engine-failed' }],
    ])
  })

  it('is dropped while the service is busy, when a segment begins and when it ends, and when there is no spare place', async () => {
    let spare = true
    const { channel, say, load, outcomes, opened } = await challenged({
      spareEngine: () => (spare ? Promise.resolve(unreachable) : undefined),
    })
    load.isBusy = true
    await say()
    load.isBusy = false
    const { speak, end } = channel()
    speak()
    load.isBusy = true
    await end()
    load.isBusy = false
    spare = false
    await say()
    expect(outcomes.map(([, outcome]) => outcome)).toEqual(['dropped', 'dropped', 'dropped'])
    expect(opened()).toBe(0)
  })

  it('is dropped, and not at fault, when its engine processes have no place after all', async () => {
    const { say, outcomes } = await challenged({ challenger: () => throwError(() => failure('overloaded')) })
    await say()
    await say()
    expect(outcomes.map(([, outcome]) => outcome)).toEqual(['dropped', 'dropped'])
  })

  it('keeps at most 1 MiB of a segment, and nothing of one whose session ends', async () => {
    const { channel, outcomes, opened } = await challenged({ places: 1 })
    const { speak, part$, life } = channel()
    speak(65_536)
    expect(outcomes).toEqual([])
    part$.next({ type: 'audio', samples: new Int16Array(1) })
    expect(outcomes).toEqual([['Default/calls/2', 'dropped']])
    life.unsubscribe()
    expect(outcomes).toHaveLength(1)
    const next = channel()
    next.speak()
    next.life.unsubscribe()
    expect(outcomes).toHaveLength(2)
    expect(opened()).toBe(0)
  })

  it('of another rate is a failure that names both', async () => {
    const { say, outcomes } = await challenged({ challengerCapabilities: { sampleRateHz: 16_000 } })
    await say()
    expect(outcomes).toMatchObject([
      ['Default/calls/2', { message: 'A challenger with audio of 16000 Hz cannot read that of a model with 8000 Hz.' }],
    ])
  })

  it('compares no segment with more words than can be compared at once', async () => {
    const { say, outcomes } = await challenged({ challenger: reads('la '.repeat(1_001)) })
    await say()
    expect(outcomes).toMatchObject([['Default/calls/2', { message: 'A segment has more than 1000 words.' }]])
  })

  it('has no effect when the model itself fails', async () => {
    const { channel, outcomes } = await challenged({ champion: () => throwError(() => failure()) })
    const { results } = channel()
    expect(results).toMatchObject([{ code: 'engine-failed' }])
    expect(outcomes).toEqual([])
    expect(modelLabel(modelOf('1'))).toBe('Default/calls/1')
  })
})

const fault: Hypothesis = { type: 'fault', startMs: 0, error: failure(), retried: true }
const unreachable: Engine = {
  capabilities,
  recognize: () => () => NEVER,
  ready: () => Promise.resolve(),
  close: () => Promise.resolve(),
}
