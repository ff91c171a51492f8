import { lastValueFrom } from 'rxjs'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { commandMicrophone as commandInBrowser } from '../../src/microphone/command-microphone-in-browser.js'
import { microphone as microphoneInBrowser } from '../../src/microphone/microphone-in-browser.js'
import { type commandMicrophone, microphone } from '../../src/microphone.js'

describe('the microphone of the other platform', () => {
  it('has the same types', () => {
    expectTypeOf(microphoneInBrowser).toEqualTypeOf<typeof microphone>()
    expectTypeOf(commandInBrowser).toEqualTypeOf<typeof commandMicrophone>()
  })

  it.each([
    ['microphone in Node names commandMicrophone', microphone(), /commandMicrophone/],
    ['commandMicrophone in a browser names microphone', commandInBrowser(), /use microphone\.$/],
  ])('ends with microphone-unsupported: %s', async (_title, voice$, message) => {
    expect(voice$.format).toEqual({ encoding: 'pcm', sampleRateHz: 16_000, channels: 1 })
    await expect(lastValueFrom(voice$)).rejects.toMatchObject({
      code: 'microphone-unsupported',
      message: expect.stringMatching(message),
    })
  })

  it('checks its options', () => {
    expect(() => microphone({ channels: 4 } as never)).toThrow(expect.objectContaining({ code: 'invalid-options' }))
    expect(() => commandInBrowser({ command: [] })).toThrow(expect.objectContaining({ code: 'invalid-options' }))
  })
})
