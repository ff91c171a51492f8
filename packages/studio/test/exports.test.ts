import { describe, expect, it } from 'vitest'
import { TextLog } from '../src/session/text-log.js'
import { AudioTrack } from '../src/session/audio-track.js'
import { toCaptionFile, toText } from '../src/exports.js'
import { initialState, reduce, type StudioInput } from '../src/state/state.js'

const milestone = (channel: number, text: string, startMs: number, endMs: number): StudioInput => ({
  type: 'event',
  event: { type: 'milestone', channel, text, startMs, endMs },
  channel,
  atMs: endMs,
  audioMs: endMs,
})

const state = [
  { type: 'started', title: 'Call', channels: ['Agent', 'Customer'] } as const,
  milestone(1, 'hello there', 3000, 4000),
  milestone(0, 'good morning', 500, 2000),
].reduce(reduce, initialState)

describe('exports', () => {
  it('writes text in the order of time, with the speakers', () => {
    expect(toText(state)).toBe('[0:00] Agent: good morning\n[0:03] Customer: hello there\n')
  })

  it('writes WebVTT and SRT with both speakers', async () => {
    expect(await toCaptionFile('vtt', state)).toBe(
      'WEBVTT\n\n1\n00:00:00.500 --> 00:00:02.000\n<v Agent>good morning\n\n2\n00:00:03.000 --> 00:00:04.000\n<v Customer>hello there\n\n',
    )
    expect(await toCaptionFile('srt', state)).toBe(
      '1\n00:00:00,500 --> 00:00:02,000\nAgent: good morning\n\n2\n00:00:03,000 --> 00:00:04,000\nCustomer: hello there\n\n',
    )
  })

  it('keeps the lines of a long log in their order', async () => {
    const log = new TextLog()
    const lines = Array.from({ length: 2000 }, (_, index) => `${index} ${'x'.repeat(400)}`)
    for (const line of lines) log.add(line)
    expect(await log.blob().text()).toBe(`${lines.join('\n')}\n`)
  })
})

describe('the audio of a channel', () => {
  it('returns exactly the samples between two positions', async () => {
    const track = new AudioTrack(8000)
    const samples = Int16Array.from({ length: 800_000 }, (_, at) => at % 30_000)
    for (let at = 0; at < samples.length; at += 160) track.add(new Uint8Array(samples.slice(at, at + 160).buffer))
    expect(track.durationMs).toBe(100_000)
    expect(await track.read(65_000, 66_000)).toEqual(samples.slice(520_000, 528_000))
    expect(await track.read(99_900, 200_000)).toEqual(samples.slice(799_200))
  })
})
