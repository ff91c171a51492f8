import type * as Speex from '@echogarden/speex-resampler-wasm'
import { expect, it, vi } from 'vitest'
import { createResampler } from '../../src/recognition/resampler.js'

const loaded: Speex.SpeexModule[] = []

vi.mock('@echogarden/speex-resampler-wasm', async (original: () => Promise<typeof Speex>) => {
  const { default: load } = await original()
  return {
    default: async (): Promise<Speex.SpeexModule> => {
      const speex = await load()
      loaded.push(speex)
      return speex
    },
  }
})

it('serves all streams with one module, whose heap does not grow when each stream is freed', async () => {
  const input = new Int16Array(9600)
  for (let i = 0; i < 10_000; i++) {
    const resampler = await createResampler({ fromHz: 48000, toHz: 8000, channels: 2 })
    if (i % 500 === 0) resampler.process(input)
    resampler.free()
  }
  expect(loaded).toHaveLength(1)
  expect(loaded[0]?.HEAP16.byteLength).toBeLessThan(17 * 1024 * 1024)
})

it('continues when the heap grows while a stream runs', async () => {
  const options = { fromHz: 48000, toHz: 8000, channels: 2 } as const
  const before = loaded[0]?.HEAP16.byteLength ?? NaN
  const input = Int16Array.from({ length: 9600 }, (_, i) => (i % 200) * 50)
  const reference = await createResampler(options)
  const expected = reference.process(input)
  const first = await createResampler(options)
  const others = []
  while ((loaded[0]?.HEAP16.byteLength ?? NaN) === before) others.push(await createResampler(options))
  expect(first.process(input)).toEqual(expected)
  for (const resampler of [reference, first, ...others]) resampler.free()
})

it('rejects a stream by name when the heap is full', async () => {
  await createResampler({ fromHz: 8000, toHz: 16000, channels: 1 })
  const speex = loaded[0]
  if (speex === undefined) throw new Error('The module was not loaded.')
  const allocate = vi.spyOn(speex, '_malloc').mockReturnValue(0)
  await expect(createResampler({ fromHz: 8000, toHz: 16000, channels: 1 })).rejects.toMatchObject({
    code: 'overloaded',
  })
  allocate.mockRestore()
})
