import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Engine, SegmentPart } from '../../src/engine.js'
import { runs } from '../../../../test/thorough.js'
import { aPartial, TestChannel, segments, someProgress } from './test-channel.js'

export interface EngineUnderTest {
  readonly engine: Engine
  /** Makes the decoders that currently work fail; absent if no failure can be provoked. */
  readonly crash?: () => Promise<void> | void
  /** Ends what was started beside the engine; called after the engine's `close`. */
  readonly release?: () => Promise<void>
}

export interface EngineFixtures {
  /** A few seconds at the engine's rate with speech in them, 300 ms of quiet before and 400 ms after it. */
  readonly speech: () => Promise<Int16Array>
  /** The text of a segment of `speech`. */
  readonly text: RegExp
  /** The text of a segment without speech. @default empty */
  readonly quietText?: RegExp
  /** Opens a model whose `sampleRateHz` does not fit the engine; absent if models have none. */
  readonly openWrongRate?: () => Promise<unknown>
  /** Whether an open segment is retried when the engine fails; if not, its channel fails with `engine-failed`. */
  readonly retriesCrash?: boolean
  /** How long a case may take; 60 s when absent. Five minutes of audio get ten times as long. */
  readonly timeoutMs?: number
}

type Make = () => Promise<EngineUnderTest>

const open = (startMs = 0): SegmentPart => ({ type: 'open', startMs })
const close = (endMs: number): SegmentPart => ({ type: 'close', endMs })
const audio = (samples: Int16Array): SegmentPart => ({ type: 'audio', samples })

const cut = (samples: Int16Array, chunkSamples: number): readonly SegmentPart[] =>
  Array.from({ length: Math.ceil(samples.length / chunkSamples) }, (_, at) =>
    audio(samples.slice(at * chunkSamples, (at + 1) * chunkSamples)),
  )

/** Faint noise, always the same: a connection without speech. */
const quiet = (sampleCount: number): Int16Array => {
  let state = 12345
  return Int16Array.from({ length: sampleCount }, () => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0
    return Math.round((state / 2 ** 31 - 1) * 10)
  })
}

/** The rules for every output. */
const expectConsistent = ({ output, segments: decided }: TestChannel, hasWords: boolean): void => {
  for (const { startMs, endMs, text, words } of decided) {
    if (hasWords) expect(words.map((word) => word.text).join(' ')).toBe(text)
    let last = startMs
    for (const word of words) {
      expect(word.startMs).toBeGreaterThanOrEqual(last)
      expect(word.endMs).toBeGreaterThanOrEqual(word.startMs)
      expect(word.endMs).toBeLessThanOrEqual(endMs)
      expect(word.confidence).toBeGreaterThanOrEqual(0)
      expect(word.confidence).toBeLessThanOrEqual(1)
      last = word.startMs
    }
  }
  for (const hypothesis of output) if (hypothesis.type === 'progress') expect(hypothesis.sampleCount).toBeGreaterThan(0)
}

/**
 * The cases that every engine passes, as documented in `packages/engines/src/engine.ts`. `make` opens a new engine,
 * with few decoders if they can be counted, so that a lost one is noticed.
 */
export const engineConformance = (name: string, make: Make, fixtures: EngineFixtures): void => {
  const { text, quietText = /^$/, openWrongRate, retriesCrash = false, timeoutMs = 60_000 } = fixtures

  describe(`${name} as an engine`, { timeout: timeoutMs }, () => {
    let shared: EngineUnderTest
    let speech: Int16Array
    let rateHz: number
    /** The number of channels that can be decoded at the same time, or a few if there is no bound. */
    let atOnce: number
    const newChannel = (): TestChannel => new TestChannel(shared.engine)
    const msOf = (sampleCount: number): number => Math.round((sampleCount * 1000) / rateHz)
    const spoken = (startMs: number, chunkSamples = rateHz / 50): readonly SegmentPart[] => [
      open(startMs),
      ...cut(speech, chunkSamples),
      close(startMs + msOf(speech.length)),
    ]
    const expectSpeech = async (): Promise<void> => {
      const channel = newChannel()
        .send(...spoken(0))
        .complete()
      expect(await channel.ended()).toBe('complete')
      expect(channel.segments.map((segment) => segment.text)).toEqual([expect.stringMatching(text)])
    }
    const withEngine = async (run: (subject: EngineUnderTest) => Promise<void>): Promise<void> => {
      const subject = await make()
      try {
        await run(subject)
      } finally {
        await subject.engine.close()
        await subject.release?.()
      }
    }

    beforeAll(async () => {
      shared = await make()
      speech = await fixtures.speech()
      rateHz = shared.engine.capabilities.sampleRateHz
      atOnce = Math.min(shared.engine.capabilities.segmentsAtOnce, 4)
    }, timeoutMs)
    afterAll(async () => {
      await shared.engine.close()
      await shared.release?.()
    })

    describe('starting', () => {
      it('becomes ready, and stays ready', async () => {
        await shared.engine.ready()
        await shared.engine.ready()
        expect(shared.engine.capabilities.segmentsAtOnce).toBeGreaterThanOrEqual(1)
      })

      it('states a rate to which audio can be resampled', () => {
        expect([8000, 16_000, 32_000, 48_000]).toContain(rateHz)
      })

      it.skipIf(openWrongRate === undefined)('refuses a model whose rate does not fit, with the key', async () => {
        await expect(openWrongRate?.()).rejects.toMatchObject({
          code: 'invalid-model',
          message: expect.stringContaining('sampleRateHz') as unknown,
        })
      })
    })

    describe('decoding', () => {
      it('emits partials before the segment is closed, then the segment with the sentSamples times', async () => {
        const channel = newChannel().send(open(5000), ...cut(speech, rateHz / 50))
        if (shared.engine.capabilities.partials) await channel.until(aPartial)
        expect(channel.segments).toEqual([])
        channel.send(close(5000 + msOf(speech.length)))
        await channel.until(segments(1))
        for (const partial of channel.partials) expect(partial.startMs).toBe(5000)
        expect(channel.segments).toEqual([
          expect.objectContaining({
            startMs: 5000,
            endMs: 5000 + msOf(speech.length),
            text: expect.stringMatching(text) as unknown,
          }),
        ])
        expectConsistent(channel, shared.engine.capabilities.words)
        channel.unsubscribe()
      })

      it.each([1, 37 / 1000, 60])('processes every sample once, in chunks of %d s', async (chunkS) => {
        const channel = newChannel()
          .send(...spoken(0, Math.round(chunkS * rateHz)))
          .complete()
        expect(await channel.ended()).toBe('complete')
        expect(channel.processedSamples).toBe(speech.length)
        expect(channel.output.at(-1)?.type).toBe('segment')
        expect(channel.segments.map((segment) => segment.text)).toEqual([expect.stringMatching(text)])
      })

      it('closes the open segment where its audio ends when the input completes', async () => {
        const channel = newChannel()
          .send(open(1000), ...cut(speech, rateHz / 50))
          .complete()
        expect(await channel.ended()).toBe('complete')
        expect(channel.segments).toEqual([
          expect.objectContaining({ endMs: 1000 + msOf(speech.length), text: expect.stringMatching(text) as unknown }),
        ])
      })

      it('completes at once if there was no segment', async () => {
        const channel = newChannel().complete()
        expect(await channel.ended()).toBe('complete')
        expect(channel.output).toEqual([])
      })

      it('decodes two segments in a row, and a third that arrives before they are decided', async () => {
        const channel = newChannel().send(...spoken(0))
        await channel.until(segments(1))
        channel
          .send(...spoken(20_000))
          .send(...spoken(40_000))
          .complete()
        expect(await channel.ended()).toBe('complete')
        expect(channel.segments.map(({ startMs }) => startMs)).toEqual([0, 20_000, 40_000])
        for (const segment of channel.segments) expect(segment.text).toMatch(text)
        expectConsistent(channel, shared.engine.capabilities.words)
        expect(channel.processedSamples).toBe(3 * speech.length)
      })

      it('returns no text for a segment without audio', async () => {
        const channel = newChannel().send(open(7), close(7), open(9)).complete()
        expect(await channel.ended()).toBe('complete')
        expect(channel.segments.map(({ startMs, endMs }) => [startMs, endMs])).toEqual([
          [7, 7],
          [9, 9],
        ])
        for (const segment of channel.segments) expect(segment.text).toMatch(quietText)
      })

      it.each(['digital silence', 'a quiet line'])('returns no text for %s', async (kind) => {
        const samples = kind === 'a quiet line' ? quiet(2 * rateHz) : new Int16Array(2 * rateHz)
        const channel = newChannel()
          .send(open(), ...cut(samples, rateHz / 50), close(2000))
          .complete()
        expect(await channel.ended()).toBe('complete')
        expect(channel.segments).toEqual([
          expect.objectContaining({ text: expect.stringMatching(quietText) as unknown }),
        ])
        expect(channel.processedSamples).toBe(samples.length)
      })

      it('decodes a single sample, and a segment late in a session', async () => {
        const farMs = 14_400_000
        const channel = newChannel()
          .send(open(farMs), audio(new Int16Array(1)), close(farMs))
          .send(...spoken(farMs + 1000))
          .complete()
        expect(await channel.ended()).toBe('complete')
        expect(channel.processedSamples).toBe(1 + speech.length)
        expect(channel.segments.map(({ startMs }) => startMs)).toEqual([farMs, farMs + 1000])
        expectConsistent(channel, shared.engine.capabilities.words)
      })

      it(
        'decodes a long segment as fast as it can, through a window of a second',
        async () => {
          // Five minutes of audio in the thorough run.
          const turns = runs(30)
          const channel = newChannel().send(open())
          const rest = quiet(10 * rateHz - speech.length)
          const turn = [...cut(speech, rateHz / 5), ...cut(rest, rateHz / 5)]
          for (let at = 0; at < turns; at += 1) {
            for (const part of turn) {
              channel.send(part)
              await channel.until(() => channel.sentSamples - channel.processedSamples < rateHz)
            }
          }
          channel.send(close(turns * 10_000)).complete()
          expect(await channel.ended()).toBe('complete')
          expect(channel.processedSamples).toBe(turns * 10 * rateHz)
          // An engine may decide a long segment in parts.
          expect(channel.segments.filter(({ decidedSamples }) => decidedSamples === undefined)).toHaveLength(1)
          expectConsistent(channel, shared.engine.capabilities.words)
        },
        timeoutMs * 10,
      )

      it('decodes more channels than it can at the same time, with one segment for every close', async () => {
        const channels = Array.from({ length: 2 * atOnce + 1 }, () => newChannel())
        for (const [at, channel] of channels.entries()) channel.send(...spoken(at), ...spoken(60_000 + at)).complete()
        for (const channel of channels) expect(await channel.ended()).toBe('complete')
        expect(channels.map((channel) => channel.segments.map(({ startMs }) => startMs))).toEqual(
          channels.map((_, at) => [at, 60_000 + at]),
        )
        for (const channel of channels) for (const segment of channel.segments) expect(segment.text).toMatch(text)
        for (const channel of channels) expect(channel.processedSamples).toBe(2 * speech.length)
      })
    })

    describe('unsubscribing', () => {
      const ways: readonly (readonly [string, (channel: TestChannel) => Promise<void> | void])[] = [
        ['before a segment opens', () => undefined],
        ['when a segment has opened', (channel) => void channel.send(open())],
        ['with audio that is not decoded', (channel) => void channel.send(open(), audio(speech))],
        ['during decoding', (channel) => channel.send(open(), ...cut(speech, rateHz / 50)).until(someProgress)],
        ['while it is decided', (channel) => void channel.send(...spoken(0))],
        ['with another segment waiting', (channel) => void channel.send(...spoken(0), ...spoken(20_000).slice(0, -1))],
        ['after its input completed', (channel) => void channel.send(open(), audio(speech)).complete()],
      ]

      it.each(ways)('%s frees its resources and emits nothing more', async (_, bring) => {
        for (let round = 0; round < 2; round += 1) {
          const channels = Array.from({ length: atOnce }, () => newChannel())
          const held = await Promise.all(
            channels.map(async (channel) => {
              await bring(channel)
              return channel.output.length
            }),
          )
          for (const channel of channels) channel.unsubscribe()
          const counts = channels.map((channel) => channel.output.length)
          expect(counts.every((count, at) => count >= (held[at] ?? 0))).toBe(true)
          await Promise.all(Array.from({ length: atOnce }, expectSpeech))
          expect(channels.map((channel) => channel.output.length)).toEqual(counts)
        }
      })

      it('frees a place in the queue', async () => {
        const holders = Array.from({ length: atOnce }, () => newChannel().send(open(), audio(speech)))
        const waiting = Array.from({ length: atOnce }, () => newChannel().send(open(), audio(speech)))
        for (const channel of waiting) channel.unsubscribe()
        for (const channel of holders) channel.send(close(msOf(speech.length))).complete()
        for (const channel of holders) expect(await channel.ended()).toBe('complete')
        await expectSpeech()
      })
    })

    describe('failures', () => {
      it.each<readonly [string, readonly SegmentPart[]]>([
        ['audio before a segment', [audio(new Int16Array(160))]],
        ['a close before a segment', [close(5)]],
        ['a segment within a segment', [open(), open(5)]],
      ])('fails with internal on %s, and decodes for others', async (_, parts) => {
        const channel = newChannel().send(...parts)
        expect(await channel.ended()).toMatchObject({ code: 'internal' })
        await expectSpeech()
      })

      it('fails running and later channels with engine-failed when it is closed', async () => {
        await withEngine(async ({ engine }) => {
          const channels = [
            new TestChannel(engine),
            new TestChannel(engine).send(open()),
            new TestChannel(engine).send(open(), audio(speech)),
            new TestChannel(engine).send(open(), audio(speech), close(5000)),
          ]
          // An engine that decides immediately has decided the last one already.
          const [, , , decided] = channels
          await Promise.all([engine.close(), engine.close()])
          for (const channel of channels) expect(await channel.ended()).toMatchObject({ code: 'engine-failed' })
          expect(decided?.segments.length).toBeLessThanOrEqual(1)
          expect(await new TestChannel(engine).send(open()).ended()).toMatchObject({ code: 'engine-failed' })
          await expect(engine.ready()).rejects.toMatchObject({ code: 'engine-failed' })
        })
      })

      it('fails or retries the channels whose segments it decodes when it fails, and no others', async ({ skip }) => {
        if (shared.crash === undefined) skip('no break of this engine can be provoked')
        await withEngine(async ({ engine, crash }) => {
          const idle = new TestChannel(engine)
          const reading = new TestChannel(engine).send(open(), ...cut(speech, rateHz / 50))
          await reading.until(someProgress)
          await crash?.()
          reading.send(close(msOf(speech.length))).complete()
          const end = await reading.ended()
          if (retriesCrash) {
            expect(end).toBe('complete')
            expect(reading.segments.map((segment) => segment.text)).toEqual([expect.stringMatching(text)])
          } else {
            expect(end).toMatchObject({ code: 'engine-failed' })
            expect(reading.segments).toEqual([])
          }
          idle.send(...spoken(0)).complete()
          expect(await idle.ended()).toBe('complete')
          expect(idle.segments.map((segment) => segment.text)).toEqual([expect.stringMatching(text)])
        })
      })
    })
  })
}
