import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openReader, spoken, whisperModel } from './whisper-model.js'

type Opened = Awaited<ReturnType<typeof openReader>>
let opened: Opened
let greeting: Int16Array
beforeAll(async () => {
  greeting = await spoken(0, 600, 3_225)
  opened = await openReader(whisperModel())
})
afterAll(() => opened.reader.close())

describe('the embedded model of English speech', () => {
  it('reads speech with words in order within it, which have no confidence', async () => {
    const { text, words = [], confidence } = await opened.read(greeting)
    expect(text).toMatch(/good evening,? harbou?r grill[.,] how can i help you/i)
    expect(words.map((word) => word.text).join(' ')).toBe(text)
    const times = words.flatMap(({ startMs, endMs }) => [startMs, endMs])
    expect(times).toEqual(times.toSorted((a, b) => a - b))
    expect(times.at(-1)).toBeLessThanOrEqual(2_625)
    expect([confidence, ...words.map((word) => word.confidence)]).toEqual(words.map(() => undefined).concat(undefined))
  })

  it('rejects a reading whose process is killed, so that it is read again, by another process', async () => {
    const reading = opened.read(greeting)
    await opened.workers[0]?.terminate()
    await expect(reading).rejects.toMatchObject({ code: 'engine-failed', retryable: true })
    expect((await opened.read(greeting)).text).toMatch(/help you/)
    expect(opened.workers).toHaveLength(2)
  })
})
