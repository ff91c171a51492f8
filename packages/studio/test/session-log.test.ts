import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { TextLog } from '../src/session/text-log.js'
import { AudioTrack } from '../src/session/audio-track.js'

describe('the log of a session', () => {
  it('keeps the lines of a long log in their order', async () => {
    const log = new TextLog()
    const lines = Array.from({ length: 2000 }, (_, index) => `${index} ${'x'.repeat(400)}`)
    for (const line of lines) log.add(line)
    expect(await log.blob().text()).toBe(`${lines.join('\n')}\n`)
  })

  it('takes what the browser has in files in place of what is in memory', async () => {
    const log = new TextLog()
    log.add('one')
    const first = log.blob()
    log.add('two')
    log.add('three')
    const { size } = log.blob()
    log.add('four')
    log.moveToDisk(first.size, new Blob(['TWO\nTHREE\n']))
    expect(size).toBe(14)
    expect(await log.blob().text()).toBe('one\nTWO\nTHREE\nfour\n')
    // It is not where pieces end.
    log.moveToDisk(2, new Blob(['?']))
    log.moveToDisk(size, new Blob(['longer than the rest']))
    log.moveToDisk(0, new Blob(['ONE\nTWO\nTHREE\n']))
    expect(await log.blob().text()).toBe('ONE\nTWO\nTHREE\nfour\n')
  })

  it('has what is in files as one piece, however often some is moved there', async () => {
    const parts: number[] = []
    class CountedBlob extends Blob {
      constructor(content: BlobPart[] = []) {
        super(content)
        parts.push(content.length)
      }
    }
    vi.stubGlobal('Blob', CountedBlob)
    onTestFinished(() => void vi.unstubAllGlobals())
    const log = new TextLog()
    let text = ''
    for (let at = 0; at < 100; at += 1) {
      const fromBytes = log.blob().size
      log.add(`line ${at}`)
      log.moveToDisk(fromBytes, log.blob().slice(fromBytes))
      text += `line ${at}\n`
    }
    expect(await log.blob().text()).toBe(text)
    expect(Math.max(...parts)).toBe(2)
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
