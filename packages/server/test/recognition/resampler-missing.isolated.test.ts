import { expect, it, vi } from 'vitest'
import { createResampler } from '../../src/recognition/resampler.js'

const load = vi.hoisted(() => vi.fn())
vi.mock('@echogarden/speex-resampler-wasm', () => ({ default: load }))

const options = { fromHz: 8000, toHz: 16000, channels: 1 } as const

it('names the package to install when it cannot be loaded, and tries again the next time', async () => {
  const cause = new Error(
    "Cannot find package '@echogarden/speex-resampler-wasm' imported from /somewhere/resampler.js",
  )
  load.mockRejectedValue(cause)
  for (const attempt of [1, 2]) {
    await expect(createResampler(options)).rejects.toMatchObject({
      code: 'missing-dependency',
      message: 'Changing the sample rate needs a package: npm install @echogarden/speex-resampler-wasm.',
      cause,
    })
    expect(load).toHaveBeenCalledTimes(attempt)
  }
})

it('does not need the package when the rates are equal', async () => {
  const samples = Int16Array.of(1)
  expect((await createResampler({ ...options, toHz: 8000 })).process(samples)).toBe(samples)
})
