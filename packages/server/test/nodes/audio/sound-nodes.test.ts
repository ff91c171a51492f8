import { either } from 'fp-ts'
import { concat, lastValueFrom, of, tap, toArray } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { decodeSamples, encodeSamples } from '../../../../../src/audio/codec.js'
import type { AudioFormat } from '../../../../../src/audio/format.js'
import type { Settings } from '../../../../../src/protocol/dataflow-messages.js'
import { gain } from '../../../src/nodes/audio/gain.js'
import { levelMeter } from '../../../../nodes/src/signals/level-meter.js'
import type { NodeItem } from '../../../src/nodes/core/node.js'
import { resample, transcode } from '../../../src/nodes/audio/conversion.js'
import { nodeContext } from '../node-context.js'
import { brief, bytesFrom, configured, opened, pcm, runOver } from '../node-run.js'

const mono: AudioFormat = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 }
const context = nodeContext()
const sine = (frequencyHz: number, seconds: number, rateHz = 8000, amplitude = 16_384): Int16Array =>
  Int16Array.from({ length: seconds * rateHz }, (_, index) =>
    Math.round(amplitude * Math.sin((2 * Math.PI * frequencyHz * index) / rateHz)),
  )

describe('gain', () => {
  it('doubles amplitudes with 6.02 dB and limits them to full scale', async () => {
    const items = [pcm([100, -100, 20_000, -20_000])]
    const out = await lastValueFrom(runOver(gain, { gainDb: 20 * Math.log10(2) }, context, items).pipe(toArray()))
    expect(out.map(brief)).toEqual(['200 -200 32767 -32768'])
  })

  it('leaves the bytes unchanged at 0 dB', async () => {
    const item = pcm([1, 2])
    const out = await lastValueFrom(runOver(gain, { gainDb: 0 }, context, [item]).pipe(toArray()))
    expect(out[0]?.type === 'audio' && item.type === 'audio' && out[0].bytes === item.bytes).toBe(true)
  })

  it('follows the setting that it names, from the next chunk on', async () => {
    let settings: Settings = {}
    const session = nodeContext({ settings: () => settings })
    const node = await opened(gain, { gainDb: 0, setting: 'AgentGain' }, session)
    const update = tap<NodeItem>(() => {
      settings = { AgentGain: '20' }
    })
    const input$ = concat(of(pcm([10])), of(pcm([0])).pipe(update), of(pcm([10])))
    const out = await lastValueFrom(node(input$, session).pipe(toArray()))
    expect(out.map(brief)).toEqual(['10', '0', '100'])
  })

  it('rejects a setting that is not a gain, at the start and in an Update', async () => {
    const options = { gainDb: 0, setting: 'AgentGain' }
    const { checkSettings } = configured(gain, options)
    for (const wrong of ['loud', 61, true, '', [1]] as const) {
      expect(checkSettings({ AgentGain: wrong }, {})).toMatchObject({
        code: 'invalid-field',
        message: 'AgentGain must be a number from -60 to 60.',
      })
      const session = nodeContext({ settings: () => ({ AgentGain: wrong }) })
      await expect(opened(gain, options, session)).rejects.toMatchObject({ code: 'invalid-field' })
    }
    expect(checkSettings({ AgentGain: -6.5 }, {})).toBeUndefined()
    expect(configured(gain, { gainDb: 3 }).checkSettings({ AgentGain: 'loud' }, {})).toBeUndefined()
  })
})

describe('level-meter', () => {
  const levels = async (format: AudioFormat, options: unknown, items: readonly NodeItem[], offsetMs?: number) => {
    const session = nodeContext({ inputs: { audio: format }, ...(offsetMs === undefined ? {} : { offsetMs }) })
    const out = await lastValueFrom(runOver(levelMeter, options, session, items).pipe(toArray()))
    return { out, events: out.flatMap((item) => (item.type === 'event' ? [item.event] : [])) }
  }

  it('reports -9.03 dBFS RMS and -6.02 dBFS peak of a sine at half of full scale, every 500 ms', async () => {
    const { out, events } = await levels(mono, { everyMs: 500 }, [pcm(sine(400, 1))])
    const half = { name: 'Level', channel: 0, data: { RmsDbfs: -9.03, PeakDbfs: -6.02 } }
    expect(events).toEqual([
      { ...half, startMs: 0, endMs: 500 },
      { ...half, startMs: 500, endMs: 1000 },
    ])
    expect(out[0]).toMatchObject({ type: 'audio' })
    expect(bytesFrom(out)).toHaveLength(16_000)
  })

  it('reports each channel separately, silence as -100, and the rest at the end', async () => {
    const frames = Int16Array.from({ length: 2 * 1200 }, (_, index) => (index % 2 ? 0 : -32_768))
    const { events } = await levels({ ...mono, channels: 2 }, { everyMs: 100 }, [pcm(frames)], 5000)
    expect(events).toEqual([
      { name: 'Level', channel: 0, startMs: 5000, endMs: 5100, data: { RmsDbfs: 0, PeakDbfs: 0 } },
      { name: 'Level', channel: 1, startMs: 5000, endMs: 5100, data: { RmsDbfs: -100, PeakDbfs: -100 } },
      { name: 'Level', channel: 0, startMs: 5100, endMs: 5150, data: { RmsDbfs: 0, PeakDbfs: 0 } },
      { name: 'Level', channel: 1, startMs: 5100, endMs: 5150, data: { RmsDbfs: -100, PeakDbfs: -100 } },
    ])
  })

  it('measures the same for any slicing of the audio', async () => {
    const samples = sine(333, 1)
    const whole = await levels(mono, { everyMs: 70 }, [pcm(samples)])
    const pieces = Array.from({ length: 28 }, (_, index) => pcm(samples.subarray(index * 296, (index + 1) * 296)))
    expect((await levels(mono, { everyMs: 70 }, pieces)).events).toEqual(whole.events)
    expect(whole.events).toHaveLength(15)
  })
})

describe('transcode', () => {
  it('encodes the same samples in each encoding', async () => {
    const samples = sine(700, 0.1)
    for (const from of ['pcm', 'ulaw', 'alaw'] as const) {
      for (const to of ['pcm', 'ulaw', 'alaw'] as const) {
        const format = { ...mono, encoding: from }
        const bytes = encodeSamples(samples, from)
        const session = nodeContext({ inputs: { audio: format } })
        const out = await lastValueFrom(runOver(transcode, { to }, session, [{ type: 'audio', bytes }]).pipe(toArray()))
        expect(bytesFrom(out)).toEqual(encodeSamples(decodeSamples(bytes, from), to).slice())
        expect(configured(transcode, { to }).formats({ audio: format })).toEqual(
          either.right({ audio: { ...mono, encoding: to } }),
        )
      }
    }
  })
})

describe('resample', () => {
  const run = async (toHz: number, format: AudioFormat, pieces: readonly Uint8Array[]) => {
    const session = nodeContext({ inputs: { audio: format } })
    const items = pieces.map((bytes): NodeItem => ({ type: 'audio', bytes }))
    return bytesFrom(await lastValueFrom(runOver(resample, { toHz }, session, items).pipe(toArray())))
  }

  it('keeps the shape and the duration of a sine, at twice and at half the rate', async () => {
    for (const [fromHz, toHz] of [
      [8000, 16_000],
      [16_000, 8000],
    ] as const) {
      const format = { ...mono, sampleRateHz: fromHz }
      const out = decodeSamples(await run(toHz, format, [encodeSamples(sine(500, 1, fromHz), 'pcm')]), 'pcm')
      const wanted = sine(500, 1, toHz)
      expect(out).toHaveLength(toHz)
      const worst = Math.max(
        ...out.subarray(400, -400).map((sample, index) => Math.abs(sample - (wanted[index + 400] ?? 0))),
      )
      expect(worst).toBeLessThan(100)
    }
  })

  it('outputs the same for any messages, and stereo µ-law as stereo µ-law', async () => {
    const format: AudioFormat = { encoding: 'ulaw', sampleRateHz: 8000, channels: 2 }
    const bytes = encodeSamples(sine(300, 0.5, 16_000), 'ulaw')
    const pieces = [bytes.subarray(0, 2), bytes.subarray(2, 1000), bytes.subarray(1000)]
    const out = await run(11_025, format, pieces)
    expect(out).toEqual(await run(11_025, format, [bytes]))
    expect(out).toHaveLength(2 * Math.round((bytes.length / 2) * (11_025 / 8000)))
  })

  it('outputs the new rate, and passes on audio that already has it', async () => {
    expect(configured(resample, { toHz: 16_000 }).formats({ audio: mono })).toEqual(
      either.right({ audio: { ...mono, sampleRateHz: 16_000 } }),
    )
    const bytes = encodeSamples(sine(300, 0.1), 'pcm').slice()
    expect(await run(8000, mono, [bytes])).toEqual(bytes)
    expect(resample.configure({ toHz: 7999 })).toMatchObject({ _tag: 'Left' })
  })
})
