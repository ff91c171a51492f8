import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { describe, expect, it } from 'vitest'
import { recorderCommand, recordingFailure } from '../../../src/cli/listen/recorder.js'
import { failureOf } from '../../../src/cli/process/failure.js'

describe('recordingFailure', () => {
  it.each([
    ['microphone-missing', 'connect a microphone'],
    ['microphone-busy', 'close the other program that records'],
    ['microphone-denied', 'allow arecord and this terminal to record'],
    ['microphone-lost', 'connect the microphone again'],
    ['source-failed', 'name another with --device, as arecord -l lists them'],
  ] as const)('says what to do about %s, with exit code 3', (code, remedy) => {
    const error = recordingFailure(new SpeechError(code, 'arecord ended with exit code 1: the reason'), ['arecord'])
    expect(error.code).toBe(code)
    expect(error.message).toMatch(/^arecord ended with exit code 1: the reason\. [A-Z]/)
    expect(error.message.toLowerCase()).toContain(remedy)
    expect(failureOf(error).exitCode).toBe(3)
  })
})

describe('recorderCommand', () => {
  const host = { env: { PATH: '/usr/bin:/bin' } }

  it('splits a command, and leaves out the shell', () => {
    const recorder = "parec --raw '--device=a b' --rate=16000"
    expect(recorderCommand({ recorder, sampleRateHz: 16_000 }, host)).toEqual([
      'parec',
      '--raw',
      '--device=a b',
      '--rate=16000',
    ])
  })
})
