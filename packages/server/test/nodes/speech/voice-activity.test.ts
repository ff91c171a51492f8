import {
  concat,
  delay,
  EMPTY,
  ignoreElements,
  lastValueFrom,
  merge,
  NEVER,
  of,
  Subject,
  tap,
  timer,
  toArray,
} from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { AudioFormat } from '../../../../../src/audio/format.js'
import { interleaveChannels } from '../../../../../src/audio/channels.js'
import type { Settings } from '../../../../../src/protocol/dataflow-messages.js'
import type { NodeItem } from '../../../src/nodes/core/node.js'
import { recognizer } from '../../../src/nodes/speech/recognizer.js'
import { voiceActivity } from '../../../src/nodes/speech/voice-activity.js'
import { scriptedEngine } from '../../../../service/src/testing/scripted-engine.js'
import { nodeContext } from '../node-context.js'
import { bytesFrom, configured, opened, runOver } from '../node-run.js'
import { spoken } from '../../sessions/spoken.js'

const mono: AudioFormat = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 }
const stereo: AudioFormat = { ...mono, channels: 2 }
const audio = (bytes: Uint8Array): NodeItem => ({ type: 'audio', bytes })
const eventsOf = (items: readonly NodeItem[]) => items.flatMap((item) => (item.type === 'event' ? [item.event] : []))

const eventsIn = async (format: AudioFormat, options: unknown, pieces: readonly Uint8Array[], change = {}) => {
  const context = nodeContext({ inputs: { audio: format }, ...change })
  return lastValueFrom(runOver(voiceActivity, options, context, pieces.map(audio)).pipe(toArray()))
}

describe('voice-activity', () => {
  it('reports the same speech as the recognizer, and passes the audio on unchanged', async () => {
    const bytes = await spoken(6_000)
    const out = await eventsIn(mono, {}, [bytes.subarray(0, 33_334), bytes.subarray(33_334)])
    expect(bytesFrom(out)).toEqual(new Uint8Array(bytes))
    const context = nodeContext({
      inputs: { audio: mono },
      engine: () => Promise.resolve(scriptedEngine({ texts: ['one'] })),
    })
    const recognized = await lastValueFrom(runOver(recognizer, {}, context, [audio(bytes)]).pipe(toArray()))
    const voice = eventsOf(recognized).filter(({ name }) => name.startsWith('Speech'))
    expect(voice.length).toBeGreaterThanOrEqual(2)
    expect(eventsOf(out)).toEqual(voice)
  })

  it('keeps channels separate: each has the same events as alone', async () => {
    const [first, second] = [await spoken(6_000), new Uint8Array(96_000)]
    const [both, swapped] = [interleaveChannels(first, second, 2), interleaveChannels(second, first, 2)]
    const alone = eventsOf(await eventsIn(mono, {}, [first]))
    expect(eventsOf(await eventsIn(stereo, {}, [both]))).toEqual(alone)
    expect(eventsOf(await eventsIn(stereo, {}, [swapped]))).toEqual(alone.map((event) => ({ ...event, channel: 1 })))
  })

  it('names the channel that it was split from, and counts from the start of the session', async () => {
    const bytes = await spoken(6_000)
    const [plain, moved] = [
      eventsOf(await eventsIn(mono, {}, [bytes])),
      eventsOf(await eventsIn(mono, { channel: 1 }, [bytes], { offsetMs: 10_000 })),
    ]
    expect(moved.map(({ name, channel, startMs }) => [name, channel, startMs])).toEqual(
      plain.map(({ name, startMs }) => [name, 1, (startMs ?? 0) + 10_000]),
    )
    expect(configured(voiceActivity, { channel: 1 }).formats({ audio: stereo })).toMatchObject({ _tag: 'Left' })
  })

  it('works at a rate that the detector does not support', async () => {
    const bytes = await spoken(6_000)
    const faster = eventsOf(await eventsIn({ ...mono, sampleRateHz: 11_025 }, {}, [bytes]))
    expect(faster.map(({ name }) => name).slice(0, 2)).toEqual(['Speech Started', 'Speech Ended'])
  })

  it('reads its parameters from options, and the session overrides them unless that is disabled', async () => {
    const bytes = await spoken(6_000)
    const starts = async (options: unknown, settings: Settings) =>
      eventsOf(await eventsIn(mono, options, [bytes], { settings: () => settings }))[0]?.startMs ?? 0
    const plain = await starts({ preSpeechMs: 100 }, {})
    const overridden = await starts({ preSpeechMs: 100 }, { VadPreSpeechBufferMsec: 0 })
    expect(overridden - plain).toBe(100)
    expect(await starts({ preSpeechMs: 100, fromSettings: false }, { VadPreSpeechBufferMsec: 0 })).toBe(plain)
  })

  it('rejects invalid settings, at the start and in an Update, and accepts any if it ignores them', async () => {
    const wrong = { VadSensitivity: 11 }
    const session = nodeContext({ settings: () => wrong })
    await expect(opened(voiceActivity, {}, session)).rejects.toMatchObject({ code: 'invalid-field' })
    expect(configured(voiceActivity).checkSettings(wrong, {})?.message).toContain('VadSensitivity')
    expect(configured(voiceActivity).checkSettings({ ModelName: 'other' }, {})).toBeUndefined()
    expect(configured(voiceActivity, { fromSettings: false }).checkSettings(wrong, {})).toBeUndefined()
  })

  it('acknowledges processed audio, and completes when an empty input does', async () => {
    const consumed: number[] = []
    await eventsIn(mono, {}, [new Uint8Array(1600)], { ack: (count: number) => consumed.push(count) })
    expect(consumed.filter((count) => count !== Infinity).reduce((sum, value) => sum + value, 0)).toBe(800)
    expect(consumed.at(-1)).toBe(Infinity)
    expect(await eventsIn(mono, {}, [])).toEqual([])
  })

  it('passes an error on, and unsubscribes from its input', async () => {
    const context = nodeContext()
    const node = await opened(voiceActivity, {}, context)
    const input$ = new Subject<NodeItem>()
    const subscription = node(merge(input$, NEVER), context).subscribe()
    expect(input$.observed).toBe(true)
    subscription.unsubscribe()
    expect(input$.observed).toBe(false)
    const failing$ = new Subject<NodeItem>()
    const failed = lastValueFrom(node(failing$, context).pipe(toArray()))
    failing$.error(new Error('gone'))
    await expect(failed).rejects.toThrow('gone')
  })

  it('keeps two channels aligned if a listener sends more in the middle of a chunk', async () => {
    const context = nodeContext({ inputs: { audio: stereo } })
    const node = await opened(voiceActivity, {}, context)
    const speech = await spoken(6_000)
    const both = interleaveChannels(speech, speech, 2)
    const input$ = new Subject<NodeItem>()
    let pieces = 0
    const feed = (): void => {
      const from = pieces * 64_000
      pieces += 1
      if (from >= both.length) input$.complete()
      else input$.next(audio(both.subarray(from, from + 64_000)))
    }
    const out = lastValueFrom(
      node(input$, context).pipe(
        tap((item) => {
          if (item.type === 'audio') feed()
        }),
        toArray(),
      ),
    )
    feed()
    const activity = eventsOf(await out)
    const of = (channel: number) => activity.filter((event) => event.channel === channel).map(({ startMs }) => startMs)
    expect(of(0).length).toBeGreaterThan(1)
    expect(of(1)).toEqual(of(0))
  })
})

describe('an Update of the recognizer', () => {
  it('is rejected by name if a value is invalid or the model would change', () => {
    const { checkSettings } = configured(recognizer, { maxSpeechMs: 2000 })
    expect(checkSettings({ VadSensitivity: 0 }, {})).toMatchObject({ code: 'invalid-field' })
    expect(checkSettings({ VadSensitivity: 0 }, {})?.message).toContain('VadSensitivity')
    for (const [name, next, now] of [
      ['ModelName', 'b', 'a'],
      ['ModelTenant', 'b', 'a'],
      ['ModelVersion', 'b', 'a'],
      ['Reject', 'high', 'low'],
      ['Phrases', ['two'], ['one']],
      ['Phrases', ['one'], []],
    ] as const) {
      expect(checkSettings({ [name]: next }, { [name]: now })?.message).toBe(
        `${name} cannot be changed after the start of the session.`,
      )
    }
    expect(checkSettings({ Phrases: ['One.'], VadSensitivity: 3 }, { Phrases: ['one'] })).toBeUndefined()
    expect(checkSettings({ Phrases: ['one', ''] }, {})?.message).toBe('Phrases[1] has no word.')
    expect(checkSettings({ ModelName: 'a', VadSensitivity: 3, Other: 'x' }, { ModelName: 'a' })).toBeUndefined()
    expect(configured(recognizer, { fromSettings: false }).checkSettings({ VadSensitivity: 0 }, {})).toBeUndefined()
  })

  it('applies from the next silence on, without a cut in the open segment', async () => {
    const speech = await spoken(20_000)
    let settings: Settings = {}
    const updated$ = new Subject<undefined>()
    const context = nodeContext({
      inputs: { audio: mono },
      settings: () => settings,
      updated$,
      engine: () => Promise.resolve(scriptedEngine({ texts: ['one'] })),
    })
    const spans = async (change?: { readonly atMs: number; readonly settings: Settings }) => {
      settings = {}
      const node = await opened(recognizer, { partials: false }, context)
      const at = (change?.atMs ?? 0) * 16
      const update$ = EMPTY.pipe(
        tap({
          complete: () => {
            settings = change?.settings ?? {}
            updated$.next(undefined)
          },
        }),
      )
      const loaded$ = timer(0).pipe(delay(0), ignoreElements())
      const input$ = concat(of(audio(speech.subarray(0, at))), loaded$, update$, of(audio(speech.subarray(at))))
      const events = eventsOf(await lastValueFrom(node(input$, context).pipe(toArray())))
      expect(events.some(({ name }) => name === 'SR Partial')).toBe(false)
      return events.flatMap(({ name, startMs = 0, endMs = 0 }) => (name === 'Speech Ended' ? [{ startMs, endMs }] : []))
    }
    const plain = await spans()
    const [first, second] = plain
    if (first === undefined || second === undefined) throw new Error('The call has too little speech.')
    const within = Math.round((first.startMs + first.endMs) / 2)
    const changed = await spans({ atMs: within, settings: { VadPreSpeechBufferMsec: 100 } })
    expect(changed[0]).toEqual(first)
    expect(changed[1]).toEqual({ ...second, startMs: second.startMs + 200 })
    const unfit = await spans({ atMs: within, settings: { VadPreSpeechBufferMsec: -1 } })
    expect(unfit).toEqual(plain)
  })
})
