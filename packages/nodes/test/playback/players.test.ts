import { EMPTY, NEVER, Subject } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { AudioFormat } from '../../../../src/audio/format.js'
import { toneCadence, type Sound } from '../../src/playback/tone-cadence.js'
import { wavHeader } from '../../../../src/audio/wav-header.js'
import { decodeSamples } from '../../../../src/audio/codec.js'
import { playback, type PlayerOptions } from '../../src/playback/playback.js'
import { promptPlayer } from '../../src/playback/prompt-player.js'
import { tonePlayer } from '../../src/playback/tone-player.js'
import type { NodeItem } from '../../../server/src/nodes/core/node.js'
import { marbles, type MarbleHelpers } from '../../../../test/operators/marbles.js'
import { event, openNode } from '../../../server/test/nodes/fixed-set.js'
import { nodeContext } from '../../../server/test/nodes/node-context.js'

const mono: AudioFormat = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 }

/** 50 ms: two and a half packets; each sample is its own number. */
const sound: Sound = {
  frameCount: 400,
  samples: (from, count) => Int16Array.from({ length: Math.min(count, 400 - from) }, (_none, index) => from + index),
}
const packet = (from: number, count: number): NodeItem => ({
  type: 'audio',
  bytes: new Uint8Array(Int16Array.from({ length: count }, (_none, index) => from + index).buffer),
})
const ended = (Reason: string, DurationMsec: number): NodeItem =>
  event('Prompt Ended', { channel: -2, startMs: -1, endMs: -1, data: { Prompt: 'node', Reason, DurationMsec } })
const values = {
  x: event('Play'),
  s: event('Speech Started', { channel: 0 }),
  o: event('Other'),
  a: event('Prompt Started', { channel: -2, startMs: -1, endMs: -1, data: { Prompt: 'node', DurationMsec: 50 } }),
  p: packet(0, 160),
  q: packet(160, 160),
  r: packet(320, 80),
  z: ended('completed', 50),
  i: ended('interrupted', 25),
  d: ended('dropped', 0),
  f: ended('finalized', 25),
}
const play = (options: PlayerOptions, { scheduler }: MarbleHelpers) =>
  playback(sound, options, nodeContext({ scheduler }))
/** One playback from its request on, up to the tick that ends it after 60 ms. */
const whole = '(ap) 16ms q 19ms r 19ms z'

describe('playback', () => {
  it('plays in packets of 20 ms when an event arrives, and completes', () => {
    marbles((helpers) => {
      const { cold, expectObservable, expectSubscriptions } = helpers
      const input$ = cold<NodeItem>('o-x 77ms x 99ms |', values)
      const subscription = '         ^ 179ms !'
      const expected = `              --${whole} 17ms ${whole} 39ms |`
      expectObservable(play({ on: ['Pl*'] }, helpers)(input$, nodeContext())).toBe(expected, values)
      expectSubscriptions(input$.subscriptions).toBe(subscription)
    })
  })
  it('plays at the start, and finishes its playback when the input is empty', () => {
    marbles((helpers) => {
      helpers.expectObservable(play({}, helpers)(EMPTY, nodeContext())).toBe('(ap) 16ms q 19ms r 19ms (z|)', values)
    })
  })
  it('emits nothing while the input does not, and has no timer then', () => {
    marbles((helpers) => {
      helpers.expectObservable(play({ on: ['Play'] }, helpers)(NEVER, nodeContext())).toBe('-')
      helpers.flush()
      expect(helpers.scheduler.actions).toHaveLength(0)
    })
  })
  it('passes an error of the input on', () => {
    marbles((helpers) => {
      const input$ = helpers.cold<NodeItem>('x 29ms #', values)
      helpers.expectObservable(play({ on: ['Play'] }, helpers)(input$, nodeContext())).toBe('(ap) 16ms q 9ms #', values)
    })
  })
  it('releases input and timer when it is unsubscribed, and starts again', () => {
    marbles((helpers) => {
      const { cold, expectObservable, expectSubscriptions } = helpers
      const input$ = cold<NodeItem>('x--', values)
      const node$ = play({ on: ['Play'] }, helpers)(input$, nodeContext())
      expectObservable(node$, '^ 24ms !').toBe('(ap) 16ms q', values)
      expectObservable(node$, '100ms ^ 24ms !').toBe('100ms (ap) 16ms q', values)
      expectSubscriptions(input$.subscriptions).toBe(['^ 24ms !', '100ms ^ 24ms !'])
      helpers.flush()
      expect(helpers.scheduler.actions).toHaveLength(0)
    })
  })
  it('plays one after the other, up to its queue limit, and drops the others', () => {
    marbles((helpers) => {
      const input$ = helpers.cold<NodeItem>('(xxx)-', values)
      helpers
        .expectObservable(play({ on: ['Play'], maxQueue: 1 }, helpers)(input$, nodeContext()))
        .toBe('(apd) 15ms q 19ms r 19ms (zap) 15ms q 19ms r 19ms z', values)
    })
  })
  it('stops playback and queue when speech starts', () => {
    marbles((helpers) => {
      const input$ = helpers.cold<NodeItem>('(xx) 21ms s 9ms x', values)
      const expected = '                     (ap) 16ms q 4ms i 9ms (ap) 16ms q 19ms r 19ms z'
      const options = { on: ['Play'], bargeIn: true }
      helpers.expectObservable(play(options, helpers)(input$, nodeContext())).toBe(expected, values)
    })
  })
  it('stops after flushMs when the input has completed', () => {
    marbles((helpers) => {
      const input$ = helpers.cold<NodeItem>('(xx|)', values)
      helpers
        .expectObservable(play({ on: ['Play'], flushMs: 25 }, helpers)(input$, nodeContext()))
        .toBe('(ap) 16ms q 4ms (f|)', values)
    })
  })
  it('plays again when its own event requests it immediately', () => {
    marbles((helpers) => {
      const input$ = new Subject<NodeItem>()
      const seen: string[] = []
      const subscription = play({ on: ['Play', 'Prompt Ended'], maxQueue: 1 }, helpers)(
        input$,
        nodeContext(),
      ).subscribe((item) => {
        seen.push(item.type === 'event' ? item.event.name : 'audio')
        if (item.type === 'event' && seen.length < 8) input$.next(item)
      })
      input$.next(values.x)
      helpers.flush()
      subscription.unsubscribe()
      const once = ['Prompt Started', 'audio', 'audio', 'audio', 'Prompt Ended']
      expect(seen).toEqual([...once, ...once])
    })
  })
  it('catches up a little after a stall, and delays the rest', () => {
    marbles((helpers) => {
      let jumpMs = 0
      const { scheduler } = helpers
      const stalled = Object.create(scheduler) as typeof scheduler
      stalled.now = () => scheduler.now() + jumpMs
      const long: Sound = { frameCount: 8000, samples: (_from, count) => new Int16Array(count) }
      const atMs: number[] = []
      const subscription = playback(
        long,
        {},
        nodeContext({ scheduler: stalled }),
      )(NEVER, nodeContext()).subscribe((item) => {
        if (item.type === 'audio') atMs.push(scheduler.now())
        if (atMs.length === 3) jumpMs = 5000
      })
      helpers.flush()
      subscription.unsubscribe()
      expect(atMs.filter((ms) => ms === 60)).toHaveLength(11)
      expect(atMs).toHaveLength(50)
    })
  })
})

describe('tone-player', () => {
  it('plays a tone in the format of the output, on every channel', async () => {
    const formats = tonePlayer.configure({ tone: 'busy', encoding: 'ulaw', channels: 2, sampleRateHz: 16_000 })
    if (formats._tag === 'Left') throw new Error('refused')
    const made = formats.right.formats({})
    expect(made).toMatchObject({ right: { audio: { encoding: 'ulaw', sampleRateHz: 16_000, channels: 2 } } })
    const format: AudioFormat = { encoding: 'ulaw', sampleRateHz: 16_000, channels: 2 }
    const { VirtualTimeScheduler } = await import('rxjs')
    const scheduler = new VirtualTimeScheduler()
    const context = nodeContext({ outputs: { audio: format }, scheduler })
    const node = await formats.right.open(context)
    const packets: Uint8Array[] = []
    node(EMPTY, context).subscribe((item) => {
      if (item.type === 'audio') packets.push(item.bytes)
    })
    scheduler.flush()
    expect(packets).toHaveLength(50)
    const samples = decodeSamples(Buffer.concat(packets), 'ulaw')
    expect(samples).toHaveLength(32_000)
    expect(samples.every((sample, index) => index % 2 === 0 || sample === samples[index - 1])).toBe(true)
    expect(samples.subarray(16_000).every((sample) => sample === 0)).toBe(true)
    const peak = samples.reduce((most, sample) => Math.max(most, sample), 0)
    // -10 dBm0 is 13.14 dB below full scale.
    expect(20 * Math.log10(peak / 32_768)).toBeCloseTo(-13.14, 0)
  })

  it('takes the format of its audio input, else telephone audio', () => {
    for (const [inputs, rateHz] of [
      [{ audio: { ...mono, sampleRateHz: 16_000 } }, 16_000],
      [{}, 8000],
    ] as const) {
      const configured = tonePlayer.configure({ tone: [{ frequenciesHz: [440], onMs: 100 }] })
      if (configured._tag === 'Left') throw new Error('refused')
      expect(configured.right.formats(inputs)).toMatchObject({ right: { audio: { sampleRateHz: rateHz } } })
    }
  })

  it('rejects invalid tones', async () => {
    for (const tone of [
      'loud',
      [],
      [{ onMs: 5 }],
      [{ frequenciesHz: [440], onMs: 0 }],
      [{ frequenciesHz: [440], onMs: 5, of: 1 }],
    ]) {
      await expect(openNode(tonePlayer, { tone })).rejects.toThrow(String.raw`must be \"dial\", \"ringback\"`)
    }
  })
})

describe('toneCadence', () => {
  it('repeats its steps as configured, and has no click within a continuous tone', () => {
    const steps = [{ frequenciesHz: [1000], levelDbm0: -10, onMs: 10, offMs: 10 }]
    const cadence = toneCadence(steps, 8000, 45)
    const samples = cadence.samples(0, 1000)
    expect(samples).toHaveLength(360)
    const isLoud = (fromMs: number, toMs: number): boolean =>
      samples.subarray(fromMs * 8, toMs * 8).some((item) => item !== 0)
    expect([isLoud(0, 10), isLoud(10, 20), isLoud(20, 30), isLoud(30, 40), isLoud(40, 45)]).toEqual([
      true,
      false,
      true,
      false,
      true,
    ])
    const lasting = toneCadence([{ frequenciesHz: [1000], levelDbm0: -10, onMs: 10, offMs: 0 }], 8000, 30).samples(
      0,
      240,
    )
    const peakOf = (fromMs: number, toMs: number): number => Math.max(...lasting.subarray(fromMs * 8, toMs * 8))
    expect(peakOf(9, 11)).toBe(peakOf(14, 16))
  })
})

describe('prompt-player', () => {
  const wav = (format: AudioFormat, samples: Int16Array): Uint8Array =>
    Buffer.concat([wavHeader(format, samples.byteLength), new Uint8Array(samples.buffer)])
  const withFile = (bytes: Uint8Array) => ({ resource: () => ({ kind: 'file', fileName: 'p.wav', bytes }) as const })

  it('plays the file at the rate of the output, two channels as one', async () => {
    const stereo = Int16Array.from({ length: 16_000 * 2 }, (_none, index) => (index % 2 === 0 ? 1000 : 3000))
    const { VirtualTimeScheduler } = await import('rxjs')
    const scheduler = new VirtualTimeScheduler()
    const bytes = wav({ encoding: 'pcm', sampleRateHz: 16_000, channels: 2 }, stereo)
    const node = await openNode(promptPlayer, { prompt: 'welcome' }, { ...withFile(bytes), scheduler })
    const packets: Uint8Array[] = []
    node(EMPTY, nodeContext()).subscribe((item) => {
      if (item.type === 'audio') packets.push(item.bytes)
    })
    scheduler.flush()
    const samples = decodeSamples(Buffer.concat(packets), 'pcm')
    expect(samples).toHaveLength(8000)
    expect(Math.abs((samples[4000] ?? 0) - 2000)).toBeLessThan(20)
  })

  it('rejects a file that is not WAV, is too long, or is missing', async () => {
    await expect(openNode(promptPlayer, { prompt: 'p' }, withFile(new Uint8Array(100)))).rejects.toMatchObject({
      code: 'invalid-wav',
    })
    const long = wav(mono, new Int16Array(8000 * 121))
    await expect(openNode(promptPlayer, { prompt: 'p' }, withFile(long))).rejects.toThrow('120 s')
    await expect(openNode(promptPlayer, { prompt: 'p' })).rejects.toMatchObject({ code: 'invalid-options' })
  })
})
