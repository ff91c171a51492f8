import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { callBeginning, callSamples, cards, ended, firstLine, run, start } from './command.js'
import { writeCall } from './wav-files.js'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'cli-transcribe-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

const { durationMs, left } = callBeginning
const raw = ['--encoding', 'ulaw', '--rate', '8000', '--channels', '2']
const eventsOf = (stdout: string) =>
  stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))

describe('rxspeech transcribe', () => {
  it('prints the lines of a stereo WAV file with time and speaker, and a summary on stderr', async () => {
    const file = join(folder, 'call.wav')
    await writeCall(file, { encoding: 'ulaw', sampleRateHz: 8000, channels: 2 }, durationMs)
    const { code, stdout, stderr } = await run(['transcribe', file, '--speakers', 'agent,guest'])
    expect(stdout).toMatch(/^\[00:00\.\d\] agent: good evening harbor grill how can i help you$/m)
    expect(stdout).toMatch(/^\[00:03\.\d\] guest: hello i would like to book a table for four$/m)
    expect(stderr).toMatch(
      /^6\.5 s of audio, 19 words, mean confidence 0\.\d\d, real-time factor \d+\.\d\d\nRead with the sample model/,
    )
    expect(code).toBe(0)
  })

  it('prints captions of a stereo WAV file as WebVTT, in order and with voices, and nothing else', async () => {
    const file = join(folder, 'captions.wav')
    await writeCall(file, { encoding: 'ulaw', sampleRateHz: 8000, channels: 2 }, durationMs)
    const { code, stdout, stderr } = await run(['transcribe', file, '--format', 'vtt', '--speakers', 'Agent,Guest'])
    expect(stdout).toMatch(
      /^WEBVTT\n\n1\n00:00:00\.\d{3} --> 00:00:03\.\d{3}\n<v Agent>good evening harbor grill how can i\nhelp you\n\n2\n00:00:03\.\d{3} --> 00:00:06\.\d{3}\n<v Guest>hello i would like to book a table\nfor four\n\n$/,
    )
    expect(stderr).toMatch(/^6\.5 s of audio, 19 words/)
    expect(code).toBe(0)
  })

  it('prints captions of samples on standard input as SubRip, over WebSocket too', async () => {
    const args = ['transcribe', '-', ...raw, '--format', 'srt', '--over', 'websocket']
    const { code, stdout } = await run(args, { stdin: callSamples(3500) })
    expect(stdout).toMatch(
      /^1\n00:00:00,\d{3} --> 00:00:0\d,\d{3}\nleft: good evening harbor grill how can i\nhelp you\n\n$/,
    )
    expect(code).toBe(0)
  })

  it('refuses names of speakers that leave no room for words in captions', async () => {
    const names = 'The one on the left side,Guest'
    const { code, stdout, stderr } = await run(['transcribe', 'no.wav', '--format', 'srt', '--speakers', names])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('--speakers of captions')
  })

  it.each([
    { encoding: 'pcm', sampleRateHz: 44_100, channels: 1 },
    { encoding: 'alaw', sampleRateHz: 16_000, channels: 1 },
    { encoding: 'pcm', sampleRateHz: 48_000, channels: 2 },
  ] as const)('reads a WAV file of $encoding at $sampleRateHz Hz with $channels channels', async (format) => {
    const file = join(folder, `${format.encoding}-${format.sampleRateHz}.wav`)
    await writeCall(file, format, 3500)
    const { code, stdout } = await run(['transcribe', file])
    expect(stdout).toMatch(new RegExp(`\\] (left: )?${left}$`, 'm'))
    expect(code).toBe(0)
  })

  it('hears the same over gRPC and over WebSocket, from raw samples on standard input', async () => {
    const heard = async (over: string) => {
      const args = ['transcribe', '-', ...raw, '--format', 'ndjson', '--over', over]
      const { code, stdout } = await run(args, { stdin: callSamples(durationMs) })
      expect(code).toBe(0)
      return eventsOf(stdout)
        .filter(({ type }) => type === 'milestone' || type === 'final')
        .map(({ type, channel, startMs, endMs, text }) => ({ type, channel, startMs, endMs, text }))
        .sort((one, other) => one.channel - other.channel)
    }
    const [grpc, websocket] = await Promise.all([heard('grpc'), heard('websocket')])
    expect(grpc.filter(({ type }) => type === 'milestone').map(({ text }) => text)).toContain(left)
    expect(websocket).toEqual(grpc)
  })

  it('prints nothing but events as ndjson, from the first state to the last', async () => {
    const { stdout } = await run(['transcribe', '-', ...raw, '--format', 'ndjson'], { stdin: callSamples(1000) })
    const events = eventsOf(stdout)
    expect(events.at(0)).toEqual({ type: 'connection', state: 'authorizing' })
    expect(events.findLast(({ type }) => type === 'connection')).toEqual({ type: 'connection', state: 'done' })
    const account = events.findLast(({ type }) => type === 'ledger')
    expect(account).toMatchObject({ capturedMs: 1000, finalizedMs: 1000, droppedMs: 0 })
  })

  it('paces the audio by --speed', async () => {
    const { stderr } = await run(['transcribe', '-', ...raw, '--speed', '2'], { stdin: callSamples(3000) })
    const factor = Number(/factor (\S+)/.exec(stderr)?.[1])
    expect(factor).toBeGreaterThan(0.45)
    expect(factor).toBeLessThan(1)
  })

  it('leaves no file behind', async () => {
    const own = mkdtempSync(join(folder, 'tmp-'))
    await run(['transcribe', '-', ...raw], { stdin: callSamples(500), env: { TMPDIR: own } })
    expect(readdirSync(own)).toEqual([])
  })

  it('ends quietly when nobody reads its output any more', async () => {
    const child = start(['transcribe', '-', ...raw, '--format', 'ndjson'])
    child.stdin.on('error', () => undefined)
    child.stdin.end(callSamples(durationMs))
    const end = ended(child)
    await firstLine(child)
    child.stdout.destroy()
    expect(await end).toMatchObject({ code: 0, stderr: '' })
  })

  it('ends the audio at Ctrl-C when it comes by a pipe, and prints the last words', async () => {
    const child = start(['transcribe', '-', ...raw, '--format', 'ndjson'])
    const end = ended(child)
    child.stdin.write(callSamples(3400))
    await new Promise<void>((resolve) => {
      child.stdout.on('data', (text: string) => {
        if (text.includes('"type":"partial"')) resolve()
      })
    })
    child.kill('SIGINT')
    const { code, stdout } = await end
    expect(eventsOf(stdout).filter(({ type }) => type === 'final')).toHaveLength(2)
    expect(code).toBe(0)
  })

  const playing = async (name: string) => {
    const file = join(folder, name)
    await writeCall(file, { encoding: 'ulaw', sampleRateHz: 8000, channels: 2 }, durationMs)
    const child = start(['transcribe', file, '--speed', '1', '--format', 'ndjson'])
    return { child, end: ended(child), lines: createInterface(child.stdout) }
  }

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('prints the words of what it has sent of a file at %s, and ends with %i', async (signal, expected) => {
    const { child, end, lines } = await playing(`${signal}.wav`)
    // The last word of the left channel, whose segment is still open.
    for await (const line of lines) if (line.includes(`"text":"${left}"`)) break
    child.kill(signal)
    const { code, stdout, stderr } = await end
    const events = eventsOf(stdout)
    expect(events.filter(({ type }) => type === 'milestone')).toMatchObject([{ channel: 0, text: left }])
    expect(events.filter(({ type }) => type === 'final')).toHaveLength(2)
    expect([code, stderr]).toEqual([expected, ''])
  })

  it('ends at once at a second signal', async () => {
    const { child, end } = await playing('twice.wav')
    await firstLine(child)
    child.kill('SIGTERM')
    child.kill('SIGINT')
    expect([143, 130]).toContain((await end).code)
  })

  it('waits for no more of a pipe that stays silent when it is told to end', async () => {
    const child = start(['transcribe', '-', ...raw])
    const end = ended(child)
    child.stdin.write(callSamples(100).subarray(0, 1))
    // Late enough that the command listens for the signal, on a busy machine too.
    const timer = setInterval(() => child.kill('SIGTERM'), 3_000)
    const { code } = await end
    clearInterval(timer)
    expect(code).toBe(143)
  })

  describe.skipIf(!existsSync('../shared/audio'))('on recordings of people', () => {
    const model = ['--models', cards]

    it.each([
      ['ten-of-clubs.wav', 'ten of clubs'],
      ['four-queen-of-clubs.wav', 'four queen of clubs'],
      ['seven-of-clubs.wav', 'seven of clubs'],
    ])('reads %s', async (file, text) => {
      const { stdout } = await run(['transcribe', join('../shared/audio', file), ...model])
      expect(stdout).toMatch(new RegExp(`^\\[00:00\\.\\d\\] ${text}\n$`))
    })

    it('reads raw samples', async () => {
      const file = '../shared/audio/go-forward-ten-meters.16k.raw'
      const { stdout } = await run(['transcribe', file, '--encoding', 'pcm', '--rate', '16000', ...model])
      expect(stdout).toMatch(/^\[00:00\.\d\] go forward ten meters\n$/)
    })

    it('transcribes a WAV file that breaks off as far as it goes, and then says so', async () => {
      const file = join(folder, 'cut.wav')
      const whole = readFileSync('../shared/audio/ten-of-clubs.wav')
      writeFileSync(file, whole.subarray(0, whole.length - 1001))
      const { code, stdout, stderr } = await run(['transcribe', file, ...model])
      expect(stdout).toContain('ten of clubs')
      expect(stderr).toMatch(/^rxspeech: \S+cut\.wav: The WAV file ends early: 1001 of the \d+ bytes .*\.\n$/)
      expect(code).toBe(3)
    })

    it.each(['bad-rate.wav', 'bad-no-data.wav'])('refuses %s', async (file) => {
      const { code, stdout, stderr } = await run(['transcribe', join('../shared/audio', file)])
      expect(stderr).toMatch(/^rxspeech: [^\n]+\.\n$/)
      expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
    })
  })
})
