import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { decodeSamples } from '../../../../src/audio/codec.js'
import { bytesOf } from '../../../../src/audio/pcm.js'
import { temporaryFolder } from '../../../../test/temporary-folder.js'
import { longIt } from '../../../../test/thorough.js'
import { callBeginning, callModels, callSamples } from './command.js'
import { runInProcess, startInProcess } from './in-process.js'

const folder = temporaryFolder()
const speech = join(folder, 'speech.raw')
const grammar = ['--models', callModels, '--model', 'call']
const spoken = callBeginning.left

/** A program in a folder of its own, as PATH. */
const install = (name: string, script: string): string => {
  const path = join(folder, name)
  writeFileSync(path, `#!/bin/sh\nPATH=/usr/bin:/bin\n${script}\n`)
  chmodSync(path, 0o755)
  return path
}

beforeAll(() => {
  // The first channel of the call, each sample twice for 16000 Hz, and two seconds of silence.
  const stereo = decodeSamples(callSamples(callBeginning.durationMs), 'ulaw')
  const mono = new Int16Array(stereo.length + 32_000)
  for (let at = 0; at < stereo.length; at += 1) mono[at] = stereo[at - (at % 2)] ?? 0
  writeFileSync(speech, bytesOf(mono))
})

afterEach(() => {
  vi.unstubAllEnvs()
})

const listen = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  runInProcess(['listen', ...args], { env: { PATH: `${folder}:/usr/bin:/bin`, ...env } })

describe('rxspeech listen without a terminal', () => {
  it('prints the lines, runs a program for a sentence, and writes the file', async () => {
    const file = join(folder, 'notes.json')
    // It ends after the session, which waits for it, for a busy machine not long enough.
    install('answer', `echo "<$1>"; until [ -e ${file} ]; do sleep 0.02; done; echo done`)
    // What was definitive is compared, not what was read of it before.
    const beginnings = spoken.split(' ').map((_word, at, words) => words.slice(0, at).join(' '))
    const early = beginnings.slice(1).flatMap((beginning) => ['--on', beginning, 'answer early'])
    const on = ['--on', 'good evening {who} how can I help you', 'answer {who}', ...early]
    const record = ['--recorder', `cat ${speech}`]
    const { code, stdout, stderr } = await listen([...grammar, ...record, ...on, '--output', file, '--format', 'json'])
    expect(stderr).toMatch(
      /^answer: <harbor grill>\n(?:answer: done|rxspeech: ended answer, which ran still\.)\nThe recorder ended by itself: cat\.\n8\.\d s of audio, 9 words.*\nThe transcript is in .*notes\.json\.\n$/,
    )
    expect(stdout).toMatch(new RegExp(`^\\[00:0\\d\\.\\d\\] ${spoken}\\n$`))
    expect(code).toBe(0)
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ text: spoken, segments: [{ text: spoken }] })
    expect(statSync(file).mode & 0o777).toBe(0o600)
  })

  // Each run has a test of Ctrl-C in a terminal.
  longIt('ends after the last words at the first signal', async () => {
    const record = ['--recorder', `sh -c 'cat ${speech}; exec sleep 60'`]
    const { stdout, kill, end } = startInProcess(['listen', ...grammar, ...record], { env: { PATH: '/usr/bin:/bin' } })
    await new Promise((resolve) => stdout.once('data', resolve))
    kill('SIGINT')
    expect(await end).toMatchObject({ code: 0, stdout: expect.stringContaining(spoken) })
  })

  it('shows the words before the recorder failed, and says what to do', async () => {
    const file = join(folder, 'part.txt')
    const record = ['--recorder', `sh -c 'cat ${speech}; echo "read error: No such device" >&2; exit 1'`]
    const { code, stdout, stderr } = await listen([...grammar, ...record, '--output', file])
    expect(stdout).toContain(spoken)
    expect(stderr).toMatch(
      /rxspeech: sh ended with exit code 1: read error: No such device\. Connect the microphone again/,
    )
    expect(code).toBe(3)
    expect(existsSync(file)).toBe(false)
    expect(readFileSync(`${file}.partial`, 'utf8')).toContain(spoken)
  })

  // It decodes twenty seconds of noise.
  longIt('ends with a recorder that delivers more than a microphone does', async () => {
    const { code, stdout, stderr } = await listen([...grammar, '--recorder', 'yes text'])
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
    expect(stderr).toMatch(/faster than a microphone does; it must write 16-bit PCM of 16000 Hz, mono/)
  })

  // It waits for five seconds.
  longIt('ends with a recorder that delivers nothing', async () => {
    const { code, stdout, stderr } = await listen([...grammar, '--recorder', 'sleep 600'])
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
    expect(stderr).toBe(
      'rxspeech: sleep delivered no audio for 5000 ms; check the device and the arguments. Check the command of --recorder.\n',
    )
  })

  it('says what to do about a device that is not there', async () => {
    const arecord = install('arecord', 'echo "Unknown PCM x" >&2; exit 1')
    const { code, stderr, stdout } = await listen([...grammar, '--recorder', arecord, '--device', 'x'])
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
    expect(stderr).toMatch(
      /Unknown PCM x\. Connect a microphone, or name another with --device, as arecord -L lists them\./,
    )
  })

  it.each([
    [
      'no recorder',
      [],
      { PATH: '/nowhere' },
      3,
      /^rxspeech: None of .*, which record a microphone, was found in PATH\. Install/,
    ],
    [
      'a recorder that is missing',
      ['--recorder', '/no/such/arecord'],
      {},
      2,
      /--recorder: there is no program \/no\/such\/arecord; install it\./,
    ],
    [
      'a recorder that is unknown',
      ['--recorder', 'parec'],
      {},
      2,
      /--recorder names none of the programs that record here/,
    ],
    ['a device of a command', ['--recorder', 'cat x', '--device', 'y'], {}, 2, /--device does not go with a command/],
    [
      'push-to-talk without a terminal',
      ['--recorder', 'cat x', '--push-to-talk'],
      {},
      2,
      /--push-to-talk needs a terminal/,
    ],
    ['no clipboard', ['--recorder', 'cat x', '--clipboard'], {}, 2, /There is no clipboard here: install/],
    ['half of a pair', ['--on', 'x'], {}, 2, /--on takes a sentence and a program/],
  ])('refuses %s', async (_title, args, env, code, message) => {
    vi.stubEnv('PATH', 'PATH' in env ? env.PATH : process.env['PATH'])
    const ended = await listen(args, env)
    expect(ended).toMatchObject({ code, stdout: '', stderr: expect.stringMatching(message) })
  })
})
