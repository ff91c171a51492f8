import { either } from 'fp-ts'
import {
  concat,
  defer,
  EMPTY,
  ignoreElements,
  lastValueFrom,
  map,
  NEVER,
  of,
  ReplaySubject,
  Subject,
  take,
  tap,
  toArray,
  type Observable,
} from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { AudioFormat } from '../../../../../src/audio/format.js'
import type { EventEnvelope } from '../../../../../src/protocol/dataflow-events.js'
import type { Settings } from '../../../../../src/protocol/dataflow-messages.js'
import type { Engine } from '../../../../engines/src/engine.js'
import type { ModelName, NodeItem } from '../../../src/nodes/core/node.js'
import { recognizer } from '../../../src/nodes/speech/recognizer.js'
import { configured } from '../node-run.js'
import { scriptedEngine } from '../../../../service/src/testing/scripted-engine.js'
import { nodeContext } from '../node-context.js'
import { spoken } from '../../sessions/spoken.js'

const mono: AudioFormat = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 }

/** An engine with times in frames of 10 ⅓ ms, as some have, and with more digits than necessary. */
const fractional = (): Engine => {
  const engine = scriptedEngine({ texts: ['hello world'], confidence: 0.123456 })
  return {
    ...engine,
    recognize: () => (part$) =>
      part$.pipe(
        engine.recognize(),
        map((hypothesis) =>
          hypothesis.type === 'segment'
            ? {
                ...hypothesis,
                startMs: hypothesis.startMs + 1 / 3,
                endMs: hypothesis.endMs - 1 / 3,
                words: hypothesis.words.map((word) => ({
                  ...word,
                  startMs: word.startMs + 0.4,
                  endMs: word.endMs - 0.4,
                })),
              }
            : hypothesis,
        ),
      ),
  }
}

const contextOf = (format: AudioFormat, settings: Settings, engine: Engine) => {
  const consumed: number[] = []
  const asked: ModelName[] = []
  const final$ = new ReplaySubject<EventEnvelope>(1)
  const context = nodeContext({
    inputs: { audio: format },
    settings: () => settings,
    engine: (model) => {
      asked.push(model)
      return Promise.resolve(engine)
    },
    ack: (frameCount) => {
      consumed.push(frameCount)
    },
  })
  return { context, consumed, asked, final$ }
}

const run = async (
  given: ReturnType<typeof contextOf>,
  input$: Observable<NodeItem>,
): Promise<readonly EventEnvelope[]> => {
  const node = await configured(recognizer).open(given.context)
  const items = await lastValueFrom(
    node(input$, given.context).pipe(
      tap((item) => {
        if (item.type === 'event' && item.event.name === 'SR Final') given.final$.next(item.event)
      }),
      toArray(),
    ),
  )
  return items.flatMap((item) => (item.type === 'event' ? [item.event] : []))
}

const audio = (bytes: Uint8Array): NodeItem => ({ type: 'audio', bytes })

describe('the recognizer node', () => {
  it('reports whole milliseconds and confidences with two decimals', async () => {
    const events = await run(contextOf(mono, {}, fractional()), of(audio(await spoken(4_000))))
    const milestone = events.find((event) => event.name === 'SR Milestone')
    expect(milestone?.data).toMatchObject({ Text: 'hello world', Confidence: 0.12 })
    expect(events.at(-1)).toMatchObject({ name: 'SR Final', data: { Confidence: 0.12 } })
    const words = (milestone?.data as { readonly Words: readonly Record<string, number>[] }).Words
    const times = [
      ...events.flatMap((event) => [event.startMs, event.endMs]),
      ...words.flatMap((word) => [word['StartMsec'], word['EndMsec']]),
    ]
    expect(times.filter((time) => !Number.isInteger(time))).toEqual([])
  })

  it('sends one final per channel, with confidence 0 if there was no speech', async () => {
    const stereo: AudioFormat = { ...mono, channels: 2 }
    const events = await run(contextOf(stereo, {}, fractional()), of(audio(new Uint8Array(32_000))))
    expect(events).toEqual(
      [0, 1].map((channel) => ({
        name: 'SR Final',
        channel,
        startMs: 0,
        endMs: 1000,
        data: expect.objectContaining({ Text: '', Confidence: 0 }) as unknown,
      })),
    )
  })

  it('ends each channel in its own pause when it drains', async () => {
    const stereo: AudioFormat = { ...mono, channels: 2 }
    const left = await spoken(5_000)
    const both = new Uint8Array(2 * left.length)
    for (let at = 0; at < left.length; at += 2) both.set(left.subarray(at, at + 2), 2 * at)
    const given = contextOf(stereo, {}, fractional())
    const drain$ = new Subject<undefined>()
    const asked$ = defer(() => {
      drain$.next(undefined)
      return EMPTY
    })
    const untilFinal$ = given.final$.pipe(take(1), ignoreElements())
    const half = audio(both.subarray(0, 2 * 32_000))
    const rest = audio(both.subarray(2 * 32_000))
    const context = { ...given.context, drain$ }
    const events = await run({ ...given, context }, concat(of(half), asked$, untilFinal$, of(rest), NEVER))
    const finals = events.filter((event) => event.name === 'SR Final')
    expect(finals.toReversed()).toMatchObject([
      { channel: 1, startMs: 0, endMs: 2000, data: { Text: '' } },
      { channel: 0, startMs: 520, data: { Text: 'hello world' } },
    ])
    expect(finals.find(({ channel }) => channel === 0)?.endMs).toBeCloseTo(3430, -2)
  })

  it('accepts no more audio of a channel that silence has ended, so that the other continues', async () => {
    const stereo: AudioFormat = { ...mono, channels: 2 }
    const left = await spoken(5_000)
    const both = new Uint8Array(2 * left.length)
    for (let at = 0; at < left.length; at += 2) both.set(left.subarray(at, at + 2), 2 * at)
    const given = contextOf(stereo, { VadGracefulSilenceThresholdMsec: 4_000 }, fractional())
    const half = audio(both.subarray(0, 2 * 72_000))
    const rest = audio(both.subarray(2 * 72_000))
    const events = await run(given, concat(of(half), given.final$.pipe(take(1), ignoreElements()), of(rest)))
    const finals = events.filter((event) => event.name === 'SR Final')
    // Input during the first final is processed before it.
    expect(finals.toReversed()).toMatchObject([
      { channel: 1, endMs: 4000 },
      { channel: 0, data: { Text: expect.stringContaining('hello') as unknown } },
    ])
    expect(
      given.consumed.filter((frameCount) => frameCount !== Infinity).reduce((sum, value) => sum + value, 0),
    ).toBeGreaterThan(30_000)
    expect(given.consumed.at(-1)).toBe(Infinity)
  })

  it('uses the model of the settings, in either dialect, and rejects a setting by its name', async () => {
    const given = contextOf(mono, { 'model-name': 'a', ModelTenant: 'b', ModelVersion: '2' }, fractional())
    await configured(recognizer).open(given.context)
    expect(given.asked).toEqual([{ name: 'a', tenant: 'b', version: '2' }])
    for (const [name, value, message] of [
      ['VadSensitivity', 11, 'VadSensitivity must be'],
      ['VadSilenceTriggerMsec', 'x', 'VadSilenceTriggerMsec'],
      ['AudioSplitter', 'other', 'AudioSplitter'],
      ['ModelName', 5, 'ModelName'],
    ] as const) {
      await expect(
        configured(recognizer).open(contextOf(mono, { [name]: value }, fractional()).context),
      ).rejects.toMatchObject({
        code: 'invalid-field',
        message: expect.stringContaining(message) as unknown,
      })
    }
  })

  it('gives its phrases to the engine, unless the settings have other ones', async () => {
    const phrases = ['Friday at eight, please.']
    const given: (readonly string[] | undefined)[] = []
    const engine = fractional()
    const listening: Engine = {
      ...engine,
      capabilities: { ...engine.capabilities, phrases: true },
      recognize: (settings) => {
        given.push(settings?.phrases)
        return engine.recognize(settings)
      },
    }
    for (const [options, settings] of [
      [{ phrases }, {}],
      [{ phrases }, { Phrases: ['thank you'] }],
      [{ phrases }, { Phrases: [] }],
      [{ phrases, fromSettings: false }, { Phrases: ['thank you'] }],
      [{}, {}],
    ] as const) {
      const { context } = contextOf(mono, settings, listening)
      const node = await configured(recognizer, options).open(context)
      await lastValueFrom(node(of(audio(new Uint8Array(1600))), context))
    }
    expect(given).toEqual([['friday at eight please'], ['thank you'], undefined, ['friday at eight please'], undefined])
    const node = configured(recognizer, { phrases })
    expect(node.checkSettings({ Phrases: ['thank you'] }, {})).toMatchObject({ code: 'invalid-field' })
    expect(node.checkSettings({ Phrases: ['thank you'] }, { Phrases: ['thank you'] })).toBeUndefined()
    await expect(node.open(contextOf(mono, {}, fractional()).context)).rejects.toMatchObject({
      code: 'invalid-field',
      message:
        'Phrases cannot be used with this model, whose engine takes no phrases of a session; leave them out, or choose a model that takes them, such as one of a grammar.',
    })
  })

  it.each([['?!'], ['one two three four five six seven eight nine ten eleven'], [5]])(
    'refuses the phrase %s of a project by its index',
    (phrase) => {
      expect(recognizer.configure({ phrases: ['thank you', phrase] })).toEqual(
        either.left([{ path: ['phrases', '1'], message: 'must be a phrase of 1 to 10 words' }]),
      )
    },
  )
})
