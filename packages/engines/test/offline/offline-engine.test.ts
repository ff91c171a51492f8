import { Subject } from 'rxjs'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Hypothesis, SegmentPart } from '../../src/engine.js'
import { createOfflineEngine, type OfflineEngineOptions } from '../../src/offline/offline-engine.js'
import type { Reading } from '../../src/offline/reader.js'
import { FakeReader, settled, spoken, TestClock } from './fake-reader.js'

const rate = 1000
/** Sound that is loud, with silence in the given spans, in milliseconds. */
const sound = (lengthMs: number, ...silences: readonly (readonly [number, number])[]): Int16Array =>
  Int16Array.from({ length: lengthMs }, (_none, ms) =>
    silences.some(([from, to]) => ms >= from && ms < to) ? 0 : 8000 * (ms % 2 === 0 ? 1 : -1),
  )

let reader: FakeReader
let clock: TestClock
let output: Hypothesis[]
let parts$: Subject<SegmentPart>
beforeEach(() => {
  reader = new FakeReader()
  clock = new TestClock()
  output = []
})

const start = (options: Partial<OfflineEngineOptions> = {}) => {
  const engine = createOfflineEngine({
    ...{ reader, sampleRateHz: rate, words: true, maxReadMs: 20_500, scheduler: clock },
    ...options,
  })
  parts$ = new Subject()
  let error: unknown
  parts$
    .pipe(engine.recognize())
    .subscribe({ next: (hypothesis) => output.push(hypothesis), error: (cause: unknown) => (error = cause) })
  return { engine, error: () => error }
}
/** Speaks in real time, in chunks of 100 ms. */
const speak = (samples: Int16Array) => {
  for (let at = 0; at < samples.length; at += 100) {
    clock.ms += 100
    parts$.next({ type: 'audio', samples: samples.subarray(at, at + 100) })
  }
}
const results = () =>
  output.flatMap((one) =>
    one.type === 'partial'
      ? [`${one.startMs} ${one.text.slice(0, one.stableLength)}|${one.text.slice(one.stableLength)}`]
      : one.type === 'segment'
        ? [`${one.startMs}-${one.endMs}${one.decidedSamples === undefined ? '' : ' part'} ${one.text}`]
        : [],
  )
const answer = (reading: Partial<Reading> | Error) => reader.answer(reading)

describe('an offline engine', () => {
  it('reads a segment at its end, with the audio around it, and drops the words of that audio', async () => {
    start({ partials: 'off' })
    parts$.next({ type: 'open', startMs: 5000, before: sound(300) })
    speak(sound(1200))
    parts$.next({ type: 'close', endMs: 6200, after: sound(300) })
    expect(reader.reading).toEqual(['final 1700'])
    await answer(spoken('before hello there you behind', 250, 0))
    expect(results()).toEqual(['5000-6200 hello there you behind'])
    const [segment] = output.filter((one) => one.type === 'segment')
    expect(segment?.words[0]).toMatchObject({ text: 'hello', startMs: 5000, endMs: 5250 })
  })

  it('reads the open segment each 700 ms, or as its readings take twice that, and shows what is stable', async () => {
    start()
    parts$.next({ type: 'open', startMs: 0 })
    speak(sound(700))
    expect(reader.reading).toEqual(['partial 700'])
    await answer(spoken('good'))
    speak(sound(600))
    expect(reader.reading).toEqual([])
    speak(sound(100))
    expect(reader.reading).toEqual(['partial 1400'])
    await answer(spoken('good evening', 400))
    speak(sound(700))
    expect(reader.reading).toEqual(['partial 2100'])
    await answer(spoken('good evening to', 400))
    speak(sound(1100))
    expect(reader.reading).toEqual(['partial 2800'])
    // It took 400 ms by now, and takes 500.
    speak(sound(100))
    await answer(spoken('good evening two all', 400))
    speak(sound(400))
    expect(reader.reading).toEqual([])
    speak(sound(100))
    expect(reader.reading).toEqual(['partial 3800'])
    expect(results()).toEqual(['0 |good', '0 |good evening', '0 |good evening to', '0 good evening| two all'])
  })

  it('has words that begin with the sound of the segment, in order', async () => {
    start()
    parts$.next({ type: 'open', startMs: 1000 })
    const speech = sound(2800, [0, 250])
    for (const [at, text] of ['good', 'good evening', 'good evening all of', 'good evening all of you'].entries()) {
      speak(speech.subarray(700 * at, 700 * (at + 1)))
      await answer(spoken(text, 500))
    }
    parts$.next({ type: 'close', endMs: 3800 })
    // Of the committed words one is not in this reading, and stands where it was read before.
    await answer(spoken('good all of you', 700))
    const [segment] = output.filter((one) => one.type === 'segment')
    expect(segment?.words.map(({ text, startMs, endMs }) => [text, startMs, endMs])).toEqual([
      ['good', 1250, 1500],
      ['evening', 1500, 1700],
      ['all', 1700, 2400],
      ['of', 2400, 3100],
      ['you', 3100, 3800],
    ])
  })

  it('shows no partials with "off"', () => {
    const { engine } = start({ partials: 'off' })
    parts$.next({ type: 'open', startMs: 0 })
    speak(sound(3000))
    expect(reader.reading).toEqual([])
    expect(engine.capabilities.partials).toBe(false)
  })

  it('counts audio as processed when it arrives', () => {
    start({ partials: 'off' })
    parts$.next({ type: 'open', startMs: 0 })
    speak(sound(300))
    expect(output).toEqual(Array.from({ length: 3 }, () => ({ type: 'progress', sampleCount: 100 })))
  })

  it('cuts a long segment at the quietest point of its last seconds, and continues behind it', async () => {
    start({ partials: 'off' })
    parts$.next({ type: 'open', startMs: 1000 })
    speak(sound(20_000, [17_000, 17_200]))
    expect(reader.reading).toEqual(['final 17400'])
    const read = spoken(Array.from({ length: 57 }, (_none, index) => `w${index}`).join(' '))
    speak(sound(1000))
    await answer(read)
    expect(results()).toEqual([`1000-18150 part ${read.text}`])
    parts$.next({ type: 'close', endMs: 22_000 })
    expect(reader.reading).toEqual([`final ${21_000 - 17_150 + 250}`])
    await answer(spoken('behind the cut and to the very end of it all', 400, 250))
    expect(results()[1]).toBe('18150-22000 behind the cut and to the very end of it all')
  })

  it('does not count audio as processed that is far ahead of a part that is being read', async () => {
    start({ partials: 'off' })
    parts$.next({ type: 'open', startMs: 0 })
    speak(sound(30_000))
    const counted = () => output.reduce((sum, one) => sum + (one.type === 'progress' ? one.sampleCount : 0), 0)
    expect(counted()).toBe(25_000)
    await answer(spoken('a b c'))
    await answer({})
    expect(counted()).toBe(30_000)
  })

  it('reads again from where a reading ended early', async () => {
    start({ partials: 'off' })
    parts$.next({ type: 'open', startMs: 0 })
    speak(sound(6000, [0, 300]))
    parts$.next({ type: 'close', endMs: 6000 })
    await answer(spoken('only the first words', 500))
    expect(reader.reading).toEqual(['final 4250'])
    await answer(spoken('words and now the rest of all that was said', 450, 0))
    expect(results()).toEqual(['0-6000 only the first words and now the rest of all that was said'])
  })

  it('decides what it cannot read as a part without text', async () => {
    start({ partials: 'off' })
    parts$.next({ type: 'open', startMs: 0 })
    speak(sound(6000, [0, 300]))
    parts$.next({ type: 'close', endMs: 6000 })
    await answer(spoken('only the first words', 500))
    await answer({})
    expect(results()).toEqual(['0-2000 part only the first words', '2000-6000 '])
  })

  it('reads a segment without audio as nothing', async () => {
    start()
    parts$.next({ type: 'open', startMs: 0 })
    parts$.next({ type: 'close', endMs: 0 })
    await settled()
    expect(results()).toEqual(['0-0 '])
    expect(reader.requests).toEqual([])
  })

  it('has times of words only from a reader with times, and then no context', async () => {
    const { engine } = start({ words: false, partials: 'off' })
    parts$.next({ type: 'open', startMs: 0, before: sound(300) })
    speak(sound(900, [0, 300]))
    parts$.next({ type: 'close', endMs: 900 })
    expect(reader.reading).toEqual(['final 900'])
    await answer({ text: 'hello there' })
    expect(engine.capabilities).toMatchObject({ words: false, contextMs: 0 })
    expect(output.at(-1)).toMatchObject({ text: 'hello there', words: [] })
  })

  it('has a confidence by the agreement of readings, and none of a segment that was read once', async () => {
    start()
    parts$.next({ type: 'open', startMs: 0 })
    for (const text of ['good', 'good evening', 'good evening sir']) {
      speak(sound(700))
      await answer(spoken(text, 400))
    }
    parts$.next({ type: 'close', endMs: 2100 })
    await answer(spoken('good evening all', 650))
    parts$.next({ type: 'open', startMs: 2100 })
    speak(sound(600))
    parts$.next({ type: 'close', endMs: 2700 })
    await answer(spoken('hello', 400, 0))
    const [first, second] = output.filter((one) => one.type === 'segment')
    expect(first?.words.map(({ text, confidence }) => [text, confidence])).toEqual([
      ['good', 0.9],
      ['evening', 0.9],
      ['all', 0.5],
    ])
    expect(first?.confidence).toBeCloseTo(0.767)
    expect(second).toMatchObject({ text: 'hello', words: [{ text: 'hello' }] })
    expect(second).not.toHaveProperty('confidence')
    expect(second?.words[0]).not.toHaveProperty('confidence')
  })

  it('fails with the error of the reader', async () => {
    const { error } = start({ partials: 'off' })
    parts$.next({ type: 'open', startMs: 0 })
    speak(sound(900))
    parts$.next({ type: 'close', endMs: 900 })
    await answer(new Error('broken pipe'))
    expect(error()).toMatchObject({ code: 'engine-failed', retryable: true })
  })

  it('reads results of other sessions before partials', async () => {
    const { engine } = start()
    const other$ = new Subject<SegmentPart>()
    other$.pipe(engine.recognize()).subscribe()
    parts$.next({ type: 'open', startMs: 0 })
    other$.next({ type: 'open', startMs: 0 })
    other$.next({ type: 'audio', samples: sound(600) })
    speak(sound(700))
    other$.next({ type: 'close', endMs: 600 })
    expect(reader.reading).toEqual(['partial 700'])
    await answer({})
    speak(sound(1000))
    expect(reader.reading).toEqual(['final 600'])
    expect(engine.waitMs?.()).toBe(0)
  })

  it('has no time for partials until 5 s after the last one that waited for a second', async () => {
    const { engine } = start()
    const other$ = new Subject<SegmentPart>()
    other$.pipe(engine.recognize()).subscribe()
    other$.next({ type: 'open', startMs: 0 })
    other$.next({ type: 'audio', samples: sound(600) })
    other$.next({ type: 'close', endMs: 600 })
    parts$.next({ type: 'open', startMs: 0 })
    speak(sound(1600))
    expect(engine.partialIntervalMs?.()).toBe(0)
    speak(sound(100))
    expect(engine.partialIntervalMs?.()).toBe(1_000)
    await answer({})
    speak(sound(3000))
    await answer({})
    expect(engine.partialIntervalMs?.()).toBe(1_000)
    clock.ms += 3000
    expect(engine.partialIntervalMs?.()).toBe(0)
  })

  it('closes its reader', async () => {
    const { engine } = start()
    await engine.close()
    expect(reader.isClosed).toBe(true)
  })
})
