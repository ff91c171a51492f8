import { describe, expect, it } from 'vitest'
import { runInProcess } from './in-process.js'

describe('rxspeech demo', () => {
  // Decodes all 32.8 s of the call in both channels, which takes the engine seconds.
  it('prints an introduction, the call line by line and a summary, without terminal control sequences', async () => {
    const { code, stdout, stderr } = await runInProcess(['demo', '--speed', 'max'])
    const lines = stdout.trimEnd().split('\n')
    expect(lines.at(0)).toMatch(/^rxspeech starts its own service in this process/)
    expect(lines).toContainEqual(expect.stringMatching(/^\[00:00\.\d\] agent: good evening harbor grill/))
    expect(lines).toContainEqual(expect.stringMatching(/^\[00:\d\d\.\d\] customer: thank you goodbye$/))
    expect(lines.at(-1)).toMatch(/^32\.8 s of audio, \d+ words, mean confidence 0\.\d\d, real-time factor \d+\.\d\d$/)
    expect({ code, stderr, escapes: stdout.includes('\u001b') }).toEqual({ code: 0, stderr: '', escapes: false })
  })
})

describe('rxspeech', () => {
  it('prints its version', async () => {
    expect(await runInProcess(['--version'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    })
  })

  it.each([['--help'], ['help', 'transcribe'], ['serve', '--help'], ['token', '--help'], ['demo', '-h']])(
    'prints help for %s %s',
    async (...args) => {
      expect(await runInProcess(args)).toMatchObject({
        code: 0,
        stderr: '',
        stdout: expect.stringMatching(/^Usage: rxspeech/),
      })
    },
  )

  it('has help that a terminal of 80 columns does not break within words', async () => {
    const commands = ['demo', 'transcribe', 'cassette', 'serve', 'models', 'project', 'subscription', 'token', 'keys']
    for (const command of [[], ...[...commands, 'faults'].map((name) => [name])]) {
      const { stdout } = await runInProcess([...command, '--help'])
      expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([])
    }
  })

  it.each([
    [['models', 'add'], 'rxspeech models add [options] <name>'],
    [['subscription', 'create'], 'rxspeech subscription create [options]'],
    [['cassette', 'show', 'a.jsonl'], 'rxspeech cassette show [options] <file>'],
    [['token'], 'rxspeech token [options]'],
    [[], 'rxspeech [options] [command]'],
  ])('shows the help of the command %j', async (words, usage) => {
    const { code, stdout, stderr } = await runInProcess(['help', ...words])
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout.split('\n')[0]).toBe(`Usage: ${usage}`)
  })

  it('breaks the description of a command at the width of the terminal, and not before', async () => {
    const { stdout } = await runInProcess(['transcribe', '--help'])
    const [, description = ''] = stdout.split('\n\n')
    expect(
      Math.min(
        ...description
          .split('\n')
          .slice(0, -1)
          .map(({ length }) => length),
      ),
    ).toBeGreaterThan(60)
  })
})
