import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { concat, first, from, lastValueFrom, NEVER, toArray } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Engine, Hypothesis, RecognizeSettings, SegmentPart } from '../../src/engine.js'
import { soundswallower } from '../../src/soundswallower/soundswallower.js'
import { callTurns, type CallTurn } from '../call-turns.js'
import { segmentParts } from '../recordings.js'
import { longIt } from '../../../../test/thorough.js'

/** One decoder, so that segments with other phrases follow each other on it. */
const kind = soundswallower({ workers: 1, decodersPerWorker: 1 })
const folder = mkdtemp(join(tmpdir(), 'rxspeech-phrases-'))
const opened: Engine[] = []
afterAll(async () => {
  for (const engine of opened) await engine.close()
  await rm(await folder, { recursive: true })
})

const open = async (name: string, rules: string, change: object = {}): Promise<Engine> => {
  const model = join(await folder, name)
  await mkdir(model, { recursive: true })
  await writeFile(join(model, 'rules.gram'), `#JSGF V1.0; grammar test; ${rules}`)
  await writeFile(join(model, 'words.dict'), 'qwzrtpx  K W IH Z\n')
  const options = { engine: 'soundswallower', grammar: 'rules.gram', ...change }
  const engine = await kind.open({ tenant: 'Default', name, version: '1', folder: model, options })
  opened.push(engine)
  return engine
}

const outputOf = (engine: Engine, parts: readonly SegmentPart[], settings: RecognizeSettings) =>
  lastValueFrom(from(parts).pipe(engine.recognize(settings), toArray()))

const segmentOf = (output: readonly Hypothesis[]) => output.find((hypothesis) => hypothesis.type === 'segment')

const read = async (engine: Engine, { samples }: CallTurn, settings: RecognizeSettings = {}) =>
  segmentOf(await outputOf(engine, segmentParts(samples), settings))

const rules = `
public <turn> = <day> [at <time>] [please] | expect fog along the coast | of course;
<day> = (friday | sunday) {day};
<time> = (half past seven | a quarter past eight) {time};`

describe('phrases of a session', () => {
  let engine: Engine
  let turns: readonly CallTurn[]
  const turn = (at: number): CallTurn => turns[at] ?? { text: '', samples: new Int16Array(0) }
  beforeAll(async () => {
    turns = await callTurns()
    engine = await open('call', rules)
  })

  it('are recognized with words, times and a confidence, and rejected without them', async () => {
    for (const at of [1, 6, 7, 9, 12]) {
      const { text, samples } = turn(at)
      expect((await read(engine, turn(at)))?.text).toBe('')
      const segment = await read(engine, turn(at), { phrases: ['thank you', text] })
      expect(segment?.text).toBe(text)
      expect(segment?.words.map((word) => word.text)).toEqual(text.split(' '))
      for (const word of segment?.words ?? []) {
        expect(word.confidence).toBeGreaterThanOrEqual(0.5)
        expect(word.endMs).toBeGreaterThan(word.startMs)
        expect(word.endMs).toBeLessThanOrEqual(samples.length / 8)
      }
      // The decoder has another grammar by now.
      expect((await read(engine, turn(at)))?.text).toBe('')
    }
  })

  it('do not change what sentences of the grammar are, nor their slots', async () => {
    const own = await read(engine, turn(3))
    expect(own).toMatchObject({
      text: 'friday at half past seven please',
      slots: { day: 'friday', time: 'half past seven' },
    })
    expect(await read(engine, turn(3), { phrases: ['thank you goodbye', 'sure'] })).toMatchObject({
      text: own?.text,
      slots: own?.slots,
      words: own?.words.map(({ text, startMs, endMs }) => ({ text, startMs, endMs })),
    })
    const phrase = await read(engine, turn(7), { phrases: [turn(7).text] })
    expect(phrase).toMatchObject({ text: 'that works for us' })
    expect(phrase?.slots).toBeUndefined()
  })

  it('are rejected by the same levels as sentences of the grammar', async () => {
    const foreign = { phrases: ['tomorrow it rains in the mountains'] }
    expect((await read(engine, turn(8), foreign))?.text).toBe('')
    expect((await read(engine, turn(8), { ...foreign, reject: 'off' }))?.text).not.toBe('')
  })

  longIt('decide which sentences are complete', async () => {
    const answer = async (at: number, settings: RecognizeSettings) => {
      const parts = segmentParts(turn(at).samples).slice(0, -1)
      const asked$ = concat(from<readonly SegmentPart[]>([...parts, { type: 'check' }]), NEVER)
      const answered$ = asked$.pipe(
        engine.recognize(settings),
        first(({ type }) => type === 'checked'),
      )
      return lastValueFrom(answered$)
    }
    const complete = { type: 'checked', isComplete: true }
    const incomplete = { type: 'checked', isComplete: false }
    expect(await answer(7, { phrases: ['that works for us'] })).toEqual(complete)
    expect(await answer(7, { phrases: ['that works for us', 'that works for us today'] })).toEqual(incomplete)
    expect(await answer(3, {})).toEqual(complete)
    expect(await answer(3, { phrases: ['friday at half past seven please call me'] })).toEqual(incomplete)
  })

  longIt('are incomplete where their audio is cut', async () => {
    const { samples, text } = turn(9)
    const cut = segmentParts(samples.slice(0, Math.round(samples.length * 0.6)))
    const close = cut.at(-1)
    const parts = [
      ...cut.slice(0, -1),
      { type: 'close' as const, endMs: close?.type === 'close' ? close.endMs : 0, isCut: true },
    ]
    const segment = segmentOf(await outputOf(engine, parts, { phrases: [text] }))
    expect(segment?.isIncomplete).toBe(true)
    expect(segment?.text).not.toBe('')
    expect(text.startsWith(segment?.text ?? '-')).toBe(true)
  })

  it('are the same however many other phrases were used since', async () => {
    const settings = { phrases: [turn(7).text] }
    const before = await read(engine, turn(7), settings)
    // More than are kept.
    for (let number = 0; number < 40; number += 1) {
      const parts = segmentParts(new Int16Array(1600))
      await outputOf(engine, parts, {
        phrases: [`thank you ${['one', 'two', 'three'][number % 3]}${' no'.repeat(number % 7)}`],
      })
    }
    expect(await read(engine, turn(7), settings)).toEqual(before)
  })

  it('consist of words of the dictionary, and of those that the model adds', async () => {
    const faults = async (checked: Engine, phrases: readonly string[]) => checked.checkPhrases?.(phrases)
    expect(await faults(engine, ['thank you', 'ask for mariaa', 'mariaa qwzrtpx', 'xqzzj', 'vvqq'])).toEqual([
      {
        index: 1,
        reason: 'has the word "mariaa", which the dictionary of the model lacks; near are "maria", "mariah", "mariam".',
      },
      { index: 2, reason: 'has the word "qwzrtpx", which the dictionary of the model lacks.' },
      { index: 3, reason: 'has the word "xqzzj", which the dictionary of the model lacks.' },
    ])
    const added = await open('added', rules, { dictionary: 'words.dict' })
    expect(await faults(added, ['ask for qwzrtpx'])).toEqual([])
    const french = await open('french', 'public <a> = bonjour;', { language: 'fr-fr' })
    expect(await faults(french, ['à demain'])).toEqual([])
    expect(await faults(french, ['thursday'])).toMatchObject([{ index: 0 }])
  })

  it('refuses phrases for a grammar without a graph', async () => {
    const quoted = await open('recursive', 'public <a> = one | two <a>;')
    expect(await quoted.checkPhrases?.(['three'])).toMatchObject([
      { reason: expect.stringContaining('cannot be added to the grammar of this model') as string },
    ])
    expect((await read(quoted, turn(7)))?.text).toBe('')
  })
})
