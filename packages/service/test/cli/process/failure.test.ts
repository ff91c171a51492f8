import { describe, expect, it, vi } from 'vitest'
import { failureOf, SilentExit, CommandError } from '../../../src/cli/process/failure.js'
import { runCli } from '../../../src/cli/run-cli.js'
import { errorTable, type ErrorCode } from '../../../../../src/errors/error-table.js'
import { SpeechError } from '../../../../../src/errors/speech-error.js'
import { runInProcess } from '../in-process.js'

const codes = Object.keys(errorTable) as ErrorCode[]
const codesThatEndWith = (exitCode: number) =>
  codes.filter((code) => failureOf(new SpeechError(code, 'No.')).exitCode === exitCode)

describe('runCli', () => {
  it('names a working directory that was deleted', async () => {
    const cwd = vi.spyOn(process, 'cwd').mockImplementation(() => {
      throw Object.assign(new Error('ENOENT: no such file or directory, uv_cwd'), { code: 'ENOENT' })
    })
    const ended = await runInProcess(['transcribe', 'a.wav'], {}, (args, host) =>
      runCli(args, host, () => Promise.reject(new Error('It must not be loaded.'))),
    )
    cwd.mockRestore()
    expect(ended).toMatchObject({ code: 2, stderr: expect.stringMatching(/working directory .* cd\.\n$/) as string })
  })
})

describe('failureOf', () => {
  it('returns 2 for wrong usage, 3 for unreadable input and 1 for everything else', () => {
    expect(codesThatEndWith(2)).toEqual(['invalid-options', 'invalid-format'])
    const ofMicrophones = ['microphone-denied', 'microphone-missing', 'microphone-busy', 'microphone-lost']
    expect(codesThatEndWith(3)).toEqual(['invalid-wav', 'source-failed', ...ofMicrophones, 'cut-sample'])
    expect(codesThatEndWith(1)).toHaveLength(codes.length - 9)
  })

  it('returns 1 for any error that the service sends', () => {
    expect(failureOf(new CommandError('Your tone is wrong.'))).toEqual({ exitCode: 1, sentence: 'Your tone is wrong.' })
  })

  it('prints nothing for a requested end', () => {
    expect(failureOf(new SilentExit(130))).toEqual({ exitCode: 130 })
  })

  it('limits the text of a peer to one line without terminal control sequences', () => {
    const { sentence = '' } = failureOf(new SpeechError('refused', `It said:\n\u001b[2J${'x'.repeat(5000)}`))
    expect(sentence).toMatch(/^It said: \[2Jx+…$/)
    expect(sentence.length).toBeLessThan(700)
  })

  it('has the cause of custom nodes that cannot be loaded, and no other', () => {
    const cause = new Error("Cannot find module '/a/$&.js' imported from /b/load.js\nat c")
    const sentenceOf = (message: string): string | undefined =>
      failureOf(new SpeechError('invalid-options', message, { cause })).sentence
    expect(sentenceOf('nodes: "$&.js" cannot be loaded; see the cause. It must be JavaScript.')).toBe(
      'nodes: "$&.js" cannot be loaded: Cannot find module \'/a/$&.js\'. It must be JavaScript.',
    )
    expect(sentenceOf('The token failed; see the cause.')).toBe('The token failed; see the cause.')
  })

  it('names the flag if the library names its option', () => {
    expect(failureOf(new SpeechError('start-timeout', 'Raise timeouts.startMs.')).sentence).toBe('Raise --timeout-ms.')
    expect(failureOf(new SpeechError('invalid-options', 'ca must be PEM.')).sentence).toBe('--ca must be PEM.')
  })

  it('names the runtime after an unexpected error if it is not Node', () => {
    expect(failureOf(undefined, undefined, { node: '24.3.0', bun: '1.3.1' }).sentence).toBe(
      'An unexpected error occurred (undefined); the command needs Node, and this is bun 1.3.1: run it with node.',
    )
  })

  it('reports an unexpected error without its stack', () => {
    const { exitCode, sentence } = failureOf(new TypeError('x is not a function'))
    expect(exitCode).toBe(1)
    expect(sentence).toMatch(/^An unexpected error .*\(x is not a function\).*RXSPEECH_DEBUG=1/)
  })
})
