import { describe, expect, it } from 'vitest'
import { runInProcess } from './in-process.js'
import { longIt } from '../../../../test/thorough.js'

describe('rxspeech demo', () => {
  // Decodes all 32.8 s of the call in both channels, which takes the engine seconds, long after the audio was sent.
  longIt(
    'prints an introduction, the call line by line as any speech and as a grammar, and summaries, without control sequences',
    async () => {
      const { code, stdout, stderr } = await runInProcess(['demo', '--speed', '64'])
      const lines = stdout.trimEnd().split('\n')
      expect(lines.at(0)).toMatch(/^rxspeech starts its own service in this process/)
      const [free = '', grammar = ''] = stdout.split('The model call reads the sentences of a grammar')
      expect(free).toContain('\n\nThe model English reads any English speech:\n\n')
      for (const part of [free, grammar]) {
        const times = [...part.matchAll(/^\[(\d\d:\d\d\.\d)\] /gm)].map(([, time]) => time)
        expect(times.length).toBeGreaterThan(10)
        expect(times).toEqual(times.toSorted())
        expect(part).toMatch(/^32\.8 s of audio, \d+ words, (mean confidence 0\.\d\d, )?real-time factor \d+\.\d\d$/m)
      }
      expect(lines).toContainEqual(expect.stringMatching(/^\[00:00\.\d\] agent: Good evening, Harbou?r/))
      expect(lines).toContainEqual(expect.stringMatching(/^\[00:00\.\d\] agent: good evening harbor grill/))
      expect(lines).toContainEqual(expect.stringMatching(/^\[00:\d\d\.\d\] customer: thank you goodbye$/))
      expect({ code, stderr, escapes: stdout.includes('\u001b') }).toEqual({ code: 0, stderr: '', escapes: false })
      const commands = lines
        .slice(lines.indexOf('Try next:'))
        .join('\n')
        .split(/\n {2}# .*\n {2}\$ /)
      expect(commands.slice(1)).toEqual([
        'rxspeech transcribe my.wav',
        'rxspeech serve --dev',
        "echo 'turn the lights on' > phrases.txt &&\n      rxspeech models add lights --phrases phrases.txt --models models &&\n      rxspeech serve --dev --models models",
      ])
    },
  )
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

  const commands = [
    'demo',
    'transcribe',
    'listen',
    'cassette',
    'serve',
    'models',
    'project',
    'subscription',
    'token',
    'keys',
  ]
  it.each([60, 80, 100])('has help that a terminal of %i columns does not break', async (columns) => {
    for (const words of [[], ...commands.map((name) => [name]), ['subscription', 'create'], ['models', 'add']]) {
      const { stdout } = await runInProcess([...words, '--help'], { columns })
      expect(stdout.split('\n').filter((line) => line.length > columns)).toEqual([])
    }
  })

  it('has help of the microphone that fits into one screen, with what most people need', async () => {
    const { stdout } = await runInProcess(['listen', '--help'])
    expect(stdout.trimEnd().split('\n').length).toBeLessThanOrEqual(50)
    for (const shown of ['--push-to-talk', '--on', '--clipboard', '--model', '--url']) expect(stdout).toContain(shown)
    for (const left of ['--client-secret', '--no-proxy', '--words']) expect(stdout).not.toContain(left)
  })

  it.each([
    [['models', 'add'], 'rxspeech models add [options] <name> [dir]'],
    [['subscription', 'create'], 'rxspeech subscription create [options]'],
    [['cassette', 'show', 'a.jsonl'], 'rxspeech cassette show [options] <file>'],
    [['token'], 'rxspeech token [options]'],
    [[], 'rxspeech [options] [command]'],
  ])('shows the help of the command %j', async (words, usage) => {
    const { code, stdout, stderr } = await runInProcess(['help', ...words])
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout.split('\n')[0]).toBe(`Usage: ${usage}`)
  })

  it.each([
    [undefined, 80],
    [30, 40],
    [60, 60],
    [120, 100],
  ])('breaks its help once, in a terminal of %s columns at column %i', async (columns, expected) => {
    const { stdout } = await runInProcess(['transcribe', '--help'], columns === undefined ? {} : { columns })
    const [, description = ''] = stdout.split('\n\n')
    const lines = description.split('\n')
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(expected)
    // No line has space for the first word of the next one.
    for (const [at, line] of lines.slice(0, -1).entries())
      expect(line.length + 1 + (lines[at + 1]?.split(' ')[0] ?? '').length).toBeGreaterThan(expected)
  })
})
