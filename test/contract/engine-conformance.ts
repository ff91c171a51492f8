import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Engine, SegmentPart } from '../../src/service/engines/engine.js'
import { aPartial, Listening, segments, someProgress } from './listening.js'

export interface EngineUnderTest {
  readonly engine: Engine
  /** Breaks whatever decodes at this moment, as a fault of its own would; absent where none can be provoked. */
  readonly crash?: () => Promise<void> | void
  /** Ends what was started beside the engine; called after the engine's own close. */
  readonly release?: () => Promise<void>
}

export interface EngineFixtures {
  /** A few seconds at the engine's rate with speech in them, 300 ms of quiet before and 400 ms after it. */
  readonly speech: () => Promise<Int16Array>
  /** What a segment of `speech` must say. */
  readonly text: RegExp
  /** What a segment without speech may say; only nothing when absent. */
  readonly quietText?: RegExp
  /** Opens a model whose `sampleRateHz` doesn't fit the engine; absent where no model states one. */
  readonly openWrongRate?: () => Promise<unknown>
  /** Whether a segment that is under way when the engine breaks is read again; else its lane ends with `engine-failed`. */
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

/** Faint noise, the same every time: a line on which nobody speaks. */
const quiet = (sampleCount: number): Int16Array => {
  let state = 12345
  return Int16Array.from({ length: sampleCount }, () => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0
    return Math.round((state / 2 ** 31 - 1) * 10)
  })
}

/** What every answer keeps to, whatever it says. */
const expectSound = ({ said, segments: decided }: Listening, words: boolean): void => {
  for (const { startMs, endMs, text, words: heard } of decided) {
    if (words) expect(heard.map((word) => word.text).join(' ')).toBe(text)
    let last = startMs
    for (const word of heard) {
      expect(word.startMs).toBeGreaterThanOrEqual(last)
      expect(word.endMs).toBeGreaterThanOrEqual(word.startMs)
      expect(word.endMs).toBeLessThanOrEqual(endMs)
      expect(word.confidence).toBeGreaterThanOrEqual(0)
      expect(word.confidence).toBeLessThanOrEqual(1)
      last = word.startMs
    }
  }
  for (const one of said) if (one.type === 'progress') expect(one.sampleCount).toBeGreaterThan(0)
}

/**
 * The cases that every engine passes: what `src/service/engines/engine.ts` promises, seen from outside. `make` opens a
 * new engine, with few decoders where they can be counted, so that to lose one is noticed.
 */
export const engineConformance = (name: string, make: Make, fixtures: EngineFixtures): void => {
  const { text, quietText = /^$/, openWrongRate, retriesCrash = false, timeoutMs = 60_000 } = fixtures

  describe(`${name} as an engine`, { timeout: timeoutMs }, () => {
    let shared: EngineUnderTest
    let speech: Int16Array
    let rateHz: number
    /** As many lanes as can be decoded at once, and some for engines without such a bound. */
    let atOnce: number
    const newLane = (): Listening => new Listening(shared.engine)
    const msOf = (sampleCount: number): number => Math.round((sampleCount * 1000) / rateHz)
    const spoken = (startMs: number, chunkSamples = rateHz / 50): readonly SegmentPart[] => [
      open(startMs),
      ...cut(speech, chunkSamples),
      close(startMs + msOf(speech.length)),
    ]
    const expectSpeech = async (): Promise<void> => {
      const lane = newLane()
        .tell(...spoken(0))
        .complete()
      expect(await lane.ended()).toBe('complete')
      expect(lane.segments.map((one) => one.text)).toEqual([expect.stringMatching(text)])
    }
    const withEngine = async (run: (one: EngineUnderTest) => Promise<void>): Promise<void> => {
      const one = await make()
      try {
        await run(one)
      } finally {
        await one.engine.close()
        await one.release?.()
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
      it('gets ready, and says so as often as it is asked', async () => {
        await shared.engine.ready()
        await shared.engine.ready()
        expect(shared.engine.capabilities.segmentsAtOnce).toBeGreaterThanOrEqual(1)
      })

      it('states a rate that audio can be brought to', () => {
        expect([8000, 16_000, 32_000, 48_000]).toContain(rateHz)
      })

      it.skipIf(openWrongRate === undefined)('refuses a model whose rate does not fit, by name', async () => {
        await expect(openWrongRate?.()).rejects.toMatchObject({
          code: 'invalid-model',
          message: expect.stringContaining('sampleRateHz') as unknown,
        })
      })
    })

    describe('reading', () => {
      it('says partials before the segment is closed, then the segment with the times it was given', async () => {
        const lane = newLane().tell(open(5000), ...cut(speech, rateHz / 50))
        if (shared.engine.capabilities.partials) await lane.until(aPartial)
        expect(lane.segments).toEqual([])
        lane.tell(close(5000 + msOf(speech.length)))
        await lane.until(segments(1))
        for (const partial of lane.partials) expect(partial.startMs).toBe(5000)
        expect(lane.segments).toEqual([
          expect.objectContaining({
            startMs: 5000,
            endMs: 5000 + msOf(speech.length),
            text: expect.stringMatching(text) as unknown,
          }),
        ])
        expectSound(lane, shared.engine.capabilities.words)
        lane.unsubscribe()
      })

      it.each([1, 37 / 1000, 60])('takes in every sample once, in chunks of %d s', async (chunkS) => {
        const lane = newLane()
          .tell(...spoken(0, Math.round(chunkS * rateHz)))
          .complete()
        expect(await lane.ended()).toBe('complete')
        expect(lane.taken).toBe(speech.length)
        expect(lane.said.at(-1)?.type).toBe('segment')
        expect(lane.segments.map((one) => one.text)).toEqual([expect.stringMatching(text)])
      })

      it('flushes the open segment when its input completes, to where its audio ended', async () => {
        const lane = newLane()
          .tell(open(1000), ...cut(speech, rateHz / 50))
          .complete()
        expect(await lane.ended()).toBe('complete')
        expect(lane.segments).toEqual([
          expect.objectContaining({ endMs: 1000 + msOf(speech.length), text: expect.stringMatching(text) as unknown }),
        ])
      })

      it('completes at once when there was no segment', async () => {
        const lane = newLane().complete()
        expect(await lane.ended()).toBe('complete')
        expect(lane.said).toEqual([])
      })

      it('reads two utterances in a row, and a third that comes before they are decided', async () => {
        const lane = newLane().tell(...spoken(0))
        await lane.until(segments(1))
        lane
          .tell(...spoken(20_000))
          .tell(...spoken(40_000))
          .complete()
        expect(await lane.ended()).toBe('complete')
        expect(lane.segments.map(({ startMs }) => startMs)).toEqual([0, 20_000, 40_000])
        for (const one of lane.segments) expect(one.text).toMatch(text)
        expectSound(lane, shared.engine.capabilities.words)
        expect(lane.taken).toBe(3 * speech.length)
      })

      it('says nothing to a segment without audio', async () => {
        const lane = newLane().tell(open(7), close(7), open(9)).complete()
        expect(await lane.ended()).toBe('complete')
        expect(lane.segments.map(({ startMs, endMs }) => [startMs, endMs])).toEqual([
          [7, 7],
          [9, 9],
        ])
        for (const one of lane.segments) expect(one.text).toMatch(quietText)
      })

      it.each(['digital silence', 'a quiet line'])('says nothing to %s', async (kind) => {
        const samples = kind === 'a quiet line' ? quiet(2 * rateHz) : new Int16Array(2 * rateHz)
        const lane = newLane()
          .tell(open(), ...cut(samples, rateHz / 50), close(2000))
          .complete()
        expect(await lane.ended()).toBe('complete')
        expect(lane.segments).toEqual([expect.objectContaining({ text: expect.stringMatching(quietText) as unknown })])
        expect(lane.taken).toBe(samples.length)
      })

      it('takes one sample, and a segment far into a session', async () => {
        const farMs = 14_400_000
        const lane = newLane()
          .tell(open(farMs), audio(new Int16Array(1)), close(farMs))
          .tell(...spoken(farMs + 1000))
          .complete()
        expect(await lane.ended()).toBe('complete')
        expect(lane.taken).toBe(1 + speech.length)
        expect(lane.segments.map(({ startMs }) => startMs)).toEqual([farMs, farMs + 1000])
        expectSound(lane, shared.engine.capabilities.words)
      })

      it(
        'reads five minutes as fast as it takes them, through a window of a second',
        async () => {
          const lane = newLane().tell(open())
          const rest = quiet(10 * rateHz - speech.length)
          const turn = [...cut(speech, rateHz / 5), ...cut(rest, rateHz / 5)]
          for (let at = 0; at < 30; at += 1) {
            for (const part of turn) {
              lane.tell(part)
              await lane.until(() => lane.given - lane.taken < rateHz)
            }
          }
          lane.tell(close(300_000)).complete()
          expect(await lane.ended()).toBe('complete')
          expect(lane.taken).toBe(300 * rateHz)
          expect(lane.segments).toHaveLength(1)
          expectSound(lane, shared.engine.capabilities.words)
        },
        timeoutMs * 10,
      )

      it('reads more lanes than can be decoded at once; each gets one answer for every close', async () => {
        const lanes = Array.from({ length: 2 * atOnce + 1 }, () => newLane())
        for (const [at, lane] of lanes.entries()) lane.tell(...spoken(at), ...spoken(60_000 + at)).complete()
        for (const lane of lanes) expect(await lane.ended()).toBe('complete')
        expect(lanes.map((lane) => lane.segments.map(({ startMs }) => startMs))).toEqual(
          lanes.map((_, at) => [at, 60_000 + at]),
        )
        for (const lane of lanes) for (const one of lane.segments) expect(one.text).toMatch(text)
        for (const lane of lanes) expect(lane.taken).toBe(2 * speech.length)
      })
    })

    describe('leaving', () => {
      const ways: readonly (readonly [string, (lane: Listening) => Promise<void> | void])[] = [
        ['before a segment opens', () => undefined],
        ['when a segment has opened', (lane) => void lane.tell(open())],
        ['with audio under way', (lane) => void lane.tell(open(), audio(speech))],
        ['in the midst of reading', (lane) => lane.tell(open(), ...cut(speech, rateHz / 50)).until(someProgress)],
        ['while it is decided', (lane) => void lane.tell(...spoken(0))],
        ['with another segment waiting', (lane) => void lane.tell(...spoken(0), ...spoken(20_000).slice(0, -1))],
        ['after its input completed', (lane) => void lane.tell(open(), audio(speech)).complete()],
      ]

      it.each(ways)('%s frees what it held and says no more', async (_, bring) => {
        for (let round = 0; round < 2; round += 1) {
          const lanes = Array.from({ length: atOnce }, () => newLane())
          const held = await Promise.all(
            lanes.map(async (lane) => {
              await bring(lane)
              return lane.said.length
            }),
          )
          for (const lane of lanes) lane.unsubscribe()
          const told = lanes.map((lane) => lane.said.length)
          expect(told.every((count, at) => count >= (held[at] ?? 0))).toBe(true)
          await Promise.all(Array.from({ length: atOnce }, expectSpeech))
          expect(lanes.map((lane) => lane.said.length)).toEqual(told)
        }
      })

      it('lets go of a place in line', async () => {
        const holders = Array.from({ length: atOnce }, () => newLane().tell(open(), audio(speech)))
        const waiting = Array.from({ length: atOnce }, () => newLane().tell(open(), audio(speech)))
        for (const lane of waiting) lane.unsubscribe()
        for (const lane of holders) lane.tell(close(msOf(speech.length))).complete()
        for (const lane of holders) expect(await lane.ended()).toBe('complete')
        await expectSpeech()
      })
    })

    describe('faults', () => {
      it.each<readonly [string, readonly SegmentPart[]]>([
        ['audio before a segment', [audio(new Int16Array(160))]],
        ['a close before a segment', [close(5)]],
        ['a segment within a segment', [open(), open(5)]],
      ])('ends with internal on %s, and goes on for others', async (_, parts) => {
        const lane = newLane().tell(...parts)
        expect(await lane.ended()).toMatchObject({ code: 'internal' })
        await expectSpeech()
      })

      it('ends the lanes that run with engine-failed when it is closed, and takes none after that', async () => {
        await withEngine(async ({ engine }) => {
          const lanes = [
            new Listening(engine),
            new Listening(engine).tell(open()),
            new Listening(engine).tell(open(), audio(speech)),
            new Listening(engine).tell(open(), audio(speech), close(5000)),
          ]
          // The last is answered already by an engine that answers at once
          const [, , , decided] = lanes
          await Promise.all([engine.close(), engine.close()])
          for (const lane of lanes) expect(await lane.ended()).toMatchObject({ code: 'engine-failed' })
          expect(decided?.segments.length).toBeLessThanOrEqual(1)
          expect(await new Listening(engine).tell(open()).ended()).toMatchObject({ code: 'engine-failed' })
          await expect(engine.ready()).rejects.toMatchObject({ code: 'engine-failed' })
        })
      })

      it('tells those whose segment it was reading when it breaks, keeps the others, and reads on', async ({
        skip,
      }) => {
        if (shared.crash === undefined) skip('no break of this engine can be provoked')
        await withEngine(async ({ engine, crash }) => {
          const idle = new Listening(engine)
          const reading = new Listening(engine).tell(open(), ...cut(speech, rateHz / 50))
          await reading.until(someProgress)
          await crash?.()
          reading.tell(close(msOf(speech.length))).complete()
          const end = await reading.ended()
          if (retriesCrash) {
            expect(end).toBe('complete')
            expect(reading.segments.map((one) => one.text)).toEqual([expect.stringMatching(text)])
          } else {
            expect(end).toMatchObject({ code: 'engine-failed' })
            expect(reading.segments).toEqual([])
          }
          idle.tell(...spoken(0)).complete()
          expect(await idle.ended()).toBe('complete')
          expect(idle.segments.map((one) => one.text)).toEqual([expect.stringMatching(text)])
        })
      })
    })
  })
}
