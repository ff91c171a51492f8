import { ReadableStream } from 'node:stream/web'
import { describe, expect, it } from 'vitest'
import { readWav } from '../../src/audio/read-wav.js'
import type { SpeechError } from '../../src/errors/speech-error.js'
import { drained, invalidWav, plain, samples, slicedSource } from './wav-bytes.js'

describe('readWav and its source', () => {
  const webStream = () => ReadableStream.from([plain.subarray(0, 30), plain.subarray(30)])
  it.each([
    ['a Web stream', webStream],
    ['a Web stream that is not async iterable', () => ({ getReader: () => webStream().getReader() })],
    ['a Blob', () => new Blob([Uint8Array.from(plain)])],
    ['an array of chunks', () => [plain.subarray(0, 5), plain.subarray(5)]],
    ['a generator', () => [plain].values()],
  ] as const)('reads %s', async (_kind, make) => {
    const { format, audio } = await readWav(make())
    expect([format.sampleRateHz, (await drained(audio)).bytes]).toEqual([8000, samples])
  })

  it('cancels a Web stream that is not async iterable, and leaves a generator, when the iteration is left early', async () => {
    let left = 0
    const stream = new ReadableStream<Uint8Array>({ start: (to) => to.enqueue(plain), cancel: () => void (left += 1) })
    const generator = (function* () {
      try {
        yield plain
        yield plain
      } finally {
        left += 1
      }
    })()
    for (const source of [{ getReader: () => stream.getReader() }, generator]) {
      for await (const _piece of (await readWav(source)).audio) break
    }
    expect(left).toBe(2)
  })

  it.each([undefined, null, 'call.wav', {}, 5, new Uint8Array(3)])('rejects %s, which is no stream', async (source) => {
    await expect(readWav(source as AsyncIterable<Uint8Array>)).rejects.toMatchObject({
      code: 'invalid-options',
      message: expect.stringContaining('createReadStream') as string,
    })
  })

  it('rejects a source of text', async () => {
    async function* source(): AsyncGenerator<Uint8Array> {
      yield 'RIFF' as unknown as Uint8Array
    }
    await expect(readWav(source())).rejects.toThrowError(invalidWav(/gives string instead of bytes/))
  })

  it('pulls no further than the audio', async () => {
    const source = slicedSource(plain, [10])
    const { audio } = await readWav(source)
    const afterHeader = source.taken()
    expect(afterHeader).toBe(50)
    await audio[Symbol.asyncIterator]().next()
    await audio[Symbol.asyncIterator]().next()
    expect(source.taken()).toBe(60)
  })

  it('releases the source once when the iteration is left early', async () => {
    const source = slicedSource(plain, [46])
    const { audio } = await readWav(source)
    for await (const piece of audio) {
      expect(piece).toHaveLength(2)
      break
    }
    expect(source.returned()).toBe(1)
  })

  it('refuses a further loop once it was left, has ended or has failed, where an empty one would look like a file without speech', async () => {
    const left = (await readWav(slicedSource(plain, [46]))).audio
    for await (const _piece of left) break
    const ended = (await readWav(slicedSource(plain))).audio
    await drained(ended)
    const failed = (await readWav(slicedSource(plain.subarray(0, 60)))).audio
    await drained(failed)
    for (const audio of [left, ended, failed]) {
      const { bytes, error } = await drained(audio)
      expect([bytes.length, (error as SpeechError).code]).toEqual([0, 'already-started'])
    }
  })

  it('releases the source when the iteration is left before its first step', async () => {
    const source = slicedSource(plain, [10])
    const { audio } = await readWav(source)
    await audio[Symbol.asyncIterator]().return?.()
    expect(source.returned()).toBe(1)
  })

  it('does not release a source that ended', async () => {
    for (const bytes of [plain, plain.subarray(0, 60)]) {
      const source = slicedSource(bytes)
      await drained((await readWav(source)).audio)
      expect(source.returned()).toBe(0)
    }
  })

  it('passes errors of the source on unchanged', async () => {
    const failure = new Error('the disk is gone')
    async function* source(byteCount: number): AsyncGenerator<Uint8Array> {
      yield plain.subarray(0, byteCount)
      throw failure
    }
    await expect(readWav(source(20))).rejects.toBe(failure)
    const { bytes, error } = await drained((await readWav(source(50))).audio)
    expect(bytes).toEqual(samples.subarray(0, 6))
    expect(error).toBe(failure)
  })

  it('does not release a source that failed', async () => {
    let returned = 0
    const iterator: AsyncIterator<Uint8Array> = {
      next: () => Promise.reject(new Error('the disk is gone')),
      return: () => {
        returned++
        return Promise.resolve({ done: true, value: undefined })
      },
    }
    await expect(readWav({ [Symbol.asyncIterator]: () => iterator })).rejects.toThrowError('the disk is gone')
    expect(returned).toBe(0)
  })

  it('reports the refusal even if the source fails to close', async () => {
    const iterator: AsyncIterator<Uint8Array> = {
      next: () => Promise.resolve({ done: false, value: new Uint8Array(20) }),
      return: () => Promise.reject(new Error('cannot close')),
    }
    await expect(readWav({ [Symbol.asyncIterator]: () => iterator })).rejects.toThrowError(invalidWav(/not a RIFF/))
  })
})
