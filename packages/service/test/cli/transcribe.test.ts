import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { beforeAll, describe, expect, it } from 'vitest'
import { wavHeader } from '../../../../src/audio/wav-header.js'
import { callBeginning, callModels, callSamples, cards, ended, firstLine, run, start } from './command.js'
import { runCli, runInProcess, startInProcess } from './in-process.js'
import { callFormat, eventsOf, patience, transcribeService, withLongDeadline } from './transcribe-service.js'
import { writeCall } from './wav-files.js'
import { first, longIt } from '../../../../test/thorough.js'

const { durationMs, left } = callBeginning
const tests = transcribeService()
const { folder } = tests
const raw = ['--encoding', 'ulaw', '--rate', '8000', '--channels', '2']

/** Whether a process has opened a file. */
const hasOpened = (pid: number | undefined, file: string): boolean =>
  readdirSync(`/proc/${pid}/fd`).some((descriptor) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${descriptor}`) === file
    } catch {
      return false
    }
  })

/** Reads lines until one contains the text. */
const linesUntil = async (stdout: NodeJS.ReadableStream, text: string): Promise<void> => {
  for await (const line of createInterface(stdout)) if (line.includes(text)) return
}

describe('rxspeech transcribe', () => {
  it('begins no further recording if the service cannot be reached', async () => {
    const nobody = ['--grpc', '127.0.0.1:9', '--token', 'any', '--timeout-ms', '2000']
    const { code, stdout, stderr } = await runInProcess(['transcribe', tests.agent, tests.call, ...nobody])
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(/agent\.wav: Nothing listens at 127\.0\.0\.1:9; /)
    expect(stderr).toMatch(/1 of 2 recordings failed: \S+agent\.wav \(connection-failed\)\.\n/)
    expect(stderr).toMatch(/Not transcribed to the end: \S+call\.wav\.\n$/)
  })

  longIt('compares with a reference, and refuses one that cannot be read before it starts', async () => {
    const reference = join(folder, 'call.txt')
    writeFileSync(reference, 'agent: Good evening, harbour grill! How can I help you?\n')
    const args = ['transcribe', tests.agent, '--speakers', 'agent,guest', ...tests.overGrpc]
    const compared = await runInProcess([...args, '--reference', reference], { env: tests.env })
    expect(compared.code).toBe(0)
    expect(compared.stderr).toContain(
      'said  Good evening, harbour grill! How can I help you?\nread  good evening  harbor  ',
    )
    expect(compared.stderr).toContain(
      'agent: 8 of 9 words right, 1 substituted, 0 inserted, 0 deleted: word error rate 11.1 %',
    )
    const missing = await runInProcess([...args, '--reference', join(folder, 'nope.txt')], { env: tests.env })
    expect(missing).toMatchObject({ code: 3, stdout: '' })
    expect(missing.stderr).toMatch(/nope\.txt cannot be read \(ENOENT\); choose another file for --reference\.\n$/)
  })

  it('prints the lines of a stereo WAV file with time and speaker, and a summary on stderr', async () => {
    const args = ['transcribe', tests.call, '--speakers', 'agent,guest', '--model', 'call', ...patience]
    const { code, stdout, stderr } = await runInProcess(args)
    expect(stdout).toMatch(/^\[00:00\.\d\] agent: good evening harbor grill how can i help you$/m)
    expect(stdout).toMatch(/^\[00:03\.\d\] guest: hello i would like to book a table for four$/m)
    expect(stderr).toMatch(/^6\.5 s of audio, 19 words, mean confidence 0\.\d\d, real-time factor \d+\.\d\d\n$/)
    expect(code).toBe(0)
  })

  it('reads any English speech if no model is named', async () => {
    const { code, stdout } = await runInProcess(['transcribe', tests.agent, '--speakers', 'agent,guest', ...patience])
    expect(stdout).toMatch(/^\[00:00\.\d\] agent: Good evening,? harbou?r \S+ how can I help you\?\n$/i)
    expect(code).toBe(0)
  })

  it('proposes the model of any speech for a recording in which that of a grammar finds nothing', async () => {
    const { code, stdout, stderr } = await runInProcess(['transcribe', tests.agent, '--models', cards, ...patience])
    expect([code, stdout]).toEqual([0, ''])
    expect(stderr).toContain(
      'rxspeech: The model cards recognizes sentences of cards.gram only, and found none. For any English speech take --model English.\n',
    )
  })

  longIt('prints captions of a stereo WAV file as WebVTT, in order and with voices, and nothing else', async () => {
    const args = ['transcribe', tests.call, '--format', 'vtt', '--speakers', 'Agent,Guest', ...tests.overGrpc]
    const { code, stdout, stderr } = await runInProcess(args, { env: tests.env })
    expect(stdout).toMatch(
      /^WEBVTT\n\n1\n00:00:00\.\d{3} --> 00:00:0[23]\.\d{3}\n<v Agent>good evening harbor grill how can i\nhelp you\n\n2\n00:00:03\.\d{3} --> 00:00:06\.\d{3}\n<v Guest>hello i would like to book a table\nfor four\n\n$/,
    )
    expect(stderr).toMatch(/^6\.5 s of audio, 19 words/)
    expect(code).toBe(0)
  })

  longIt('prints captions of samples on standard input as SubRip, over WebSocket too', async () => {
    const args = ['transcribe', '-', ...raw, '--model', 'call', '--format', 'srt', '--over', 'websocket']
    const { code, stdout } = await runInProcess(args, { stdin: callSamples(3500) })
    expect(stdout).toMatch(
      /^1\n00:00:00,\d{3} --> 00:00:0\d,\d{3}\nleft: good evening harbor grill how can i\nhelp you\n\n$/,
    )
    expect(code).toBe(0)
  })

  it.each([
    [1, 'agent,guest', 'one channel'],
    [2, 'agent', '2 channels'],
  ])('rejects names of speakers for a recording of another number of channels, %i', async (channels, names, count) => {
    const args = [
      'transcribe',
      '-',
      '--encoding',
      'ulaw',
      '--rate',
      '8000',
      '--channels',
      `${channels}`,
      '--speakers',
      names,
    ]
    const { code, stderr } = await runInProcess([...args, ...tests.overGrpc], {
      env: tests.env,
      stdin: callSamples(200),
    })
    expect([code, stderr]).toEqual([
      2,
      `rxspeech: --speakers must be one name for each channel; the recording has ${count}.\n`,
    ])
  })

  it('prints the name of the speaker of a recording of one channel', async () => {
    const args = ['transcribe', '-', '--encoding', 'ulaw', '--rate', '8000', '--speakers', 'Anna', ...tests.overGrpc]
    const left = callSamples(3500).filter((_byte, at) => at % 2 === 0)
    const { stdout, stderr } = await runInProcess(args, { env: tests.env, stdin: left })
    expect(stderr).toMatch(/^\d+\.\d s of audio/)
    expect(stdout).toMatch(/^\[00:00\.\d\] Anna: /)
  })

  it('takes two recordings as the sides of a call, which has their names', async () => {
    const [guest, agent, output] = [join(folder, 'guest.wav'), join(folder, 'our side.wav'), join(folder, 'sides')]
    const mono = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 } as const
    await writeCall(agent, mono, durationMs)
    writeFileSync(guest, Buffer.concat([wavHeader(mono, 16_000), Buffer.alloc(16_000)]))
    const args = ['transcribe', '--merge', guest, agent, '--output-dir', output, ...tests.overGrpc]
    expect(await runInProcess(args, { env: tests.env })).toMatchObject({ code: 0, stdout: '' })
    expect(readdirSync(output)).toEqual(['guest+our side.txt'])
    expect(readFileSync(join(output, 'guest+our side.txt'), 'utf8')).toMatch(
      new RegExp(`^\\[00:00\\.\\d\\] our side: ${left}\n$`),
    )
  })

  it('rejects names of speakers that leave no space for words in captions', async () => {
    const names = 'The one on the left side,Guest'
    const { code, stdout, stderr } = await runInProcess([
      'transcribe',
      'no.wav',
      '--format',
      'srt',
      '--speakers',
      names,
    ])
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
    const { code, stdout } = await runInProcess(['transcribe', file, ...tests.overGrpc], { env: tests.env })
    expect(stdout).toMatch(new RegExp(`\\] (left: )?${left}$`, 'm'))
    expect(code).toBe(0)
  })

  longIt('prints the same over gRPC and over WebSocket, from raw samples on standard input', async () => {
    const transcribed = async (address: readonly string[]) => {
      const args = ['transcribe', '-', ...raw, '--format', 'ndjson', ...address]
      const { code, stdout } = await runInProcess(args, { env: tests.env, stdin: callSamples(durationMs) })
      expect(code).toBe(0)
      return eventsOf(stdout)
        .filter(({ type }) => type === 'milestone' || type === 'final')
        .map(({ type, channel, startMs, endMs, text }) => ({ type, channel, startMs, endMs, text }))
        .sort((a, b) => a.channel - b.channel)
    }
    const [grpc, websocket] = await Promise.all([transcribed(tests.overGrpc), transcribed(tests.overWebSocket)])
    expect(grpc.filter(({ type }) => type === 'milestone').map(({ text }) => text)).toContain(left)
    expect(websocket).toEqual(grpc)
  })

  it('prints nothing but events as ndjson, from the first state to the last', async () => {
    const args = ['transcribe', '-', ...raw, '--format', 'ndjson', ...tests.overGrpc]
    const { stdout } = await runInProcess(args, { env: tests.env, stdin: callSamples(1000) })
    const events = eventsOf(stdout)
    expect(events.at(0)).toEqual({ type: 'connection', state: 'authorizing' })
    expect(events.findLast(({ type }) => type === 'connection')).toEqual({ type: 'connection', state: 'done' })
    const account = events.findLast(({ type }) => type === 'ledger')
    expect(account).toMatchObject({ capturedMs: 1000, finalizedMs: 1000, droppedMs: 0 })
  })

  it('paces the audio by --speed', async () => {
    const args = ['transcribe', '-', ...raw, '--speed', '8', ...tests.overGrpc]
    // Silence, which takes the engine no time.
    const { stderr } = await runInProcess(args, { env: tests.env, stdin: new Uint8Array(12_000 * 16).fill(0xff) })
    const factor = Number(/factor (\S+)/.exec(stderr)?.[1])
    expect(factor).toBeGreaterThan(0.11)
    expect(factor).toBeLessThan(1)
  })

  it('ends the audio of a pipe at Ctrl-C, and prints the last words', async () => {
    const { stdin, stdout, kill, end } = startInProcess(
      ['transcribe', '-', ...raw, '--format', 'ndjson', ...tests.overGrpc],
      { env: tests.env },
    )
    stdin.write(callSamples(3400))
    await linesUntil(stdout, '"type":"partial"')
    kill('SIGINT')
    const { code, stdout: output } = await end
    expect(eventsOf(output).filter(({ type }) => type === 'final')).toHaveLength(2)
    expect(code).toBe(0)
  })
})

// Each waits for audio in real time or for its process to load, so they run concurrently.
describe.concurrent('a process of rxspeech transcribe', () => {
  longIt('leaves no file behind', async () => {
    const own = mkdtempSync(join(folder, 'tmp-'))
    const { code } = await run(['transcribe', '-', ...raw], { stdin: callSamples(100), env: { TMPDIR: own } })
    expect([code, readdirSync(own)]).toEqual([0, []])
  })

  it('exits silently when nothing reads its output any more', async () => {
    const child = start(['transcribe', '-', ...raw, '--format', 'ndjson', ...tests.overGrpc], { env: tests.env })
    child.stdin.on('error', () => undefined)
    child.stdin.end(callSamples(1000))
    const end = ended(child)
    await firstLine(child)
    child.stdout.destroy()
    expect(await end).toMatchObject({ code: 0, stderr: '' })
  })

  longIt('exits without a report on several recordings when nothing reads its output any more', async () => {
    const short = join(folder, 'short.wav')
    await writeCall(short, callFormat, 200)
    const child = start(['transcribe', short, tests.agent, '--speed', '4', '--format', 'json', ...tests.overGrpc], {
      env: tests.env,
    })
    const end = ended(child)
    await firstLine(child)
    child.stdout.destroy()
    const { code, stderr } = await end
    expect(code).toBe(0)
    expect(
      stderr
        .trimEnd()
        .split('\n')
        .filter((line) => !line.includes('real-time factor')),
    ).toEqual([])
  })

  let long: string
  let deadline: string
  beforeAll(() => {
    // The words of the agent, and then more silence than it takes to recognize them.
    long = join(folder, 'long.wav')
    const samples = Buffer.concat([callSamples(3500), Buffer.alloc(60_000 * 16, 0xff)])
    writeFileSync(long, Buffer.concat([wavHeader(callFormat, samples.length), samples]))
    deadline = join(folder, 'deadline.cjs')
    writeFileSync(deadline, `globalThis.setTimeout = (${String(withLongDeadline)})(setTimeout)`)
  })
  const playing = (address: readonly string[]) => {
    const args = ['transcribe', long, '--speed', '1', '--format', 'ndjson', ...address]
    const child = start(args, { env: { ...tests.env, NODE_OPTIONS: `--require ${deadline}` } })
    return { child, end: ended(child) }
  }

  it.each(
    first(1, [
      ['SIGINT', 130, 'of its own', () => playing(['--models', callModels, '--model', 'call'])],
      ['SIGTERM', 143, 'elsewhere', () => playing(tests.overGrpc)],
    ] as const),
  )(
    'prints the words of the sent part of a file at %s, and exits with %i, with a service %s',
    async (signal, expected, _where, play) => {
      const { child, end } = play()
      // The last word of the left channel, whose segment is still open.
      await linesUntil(child.stdout, `"text":"${left}"`)
      child.kill(signal)
      const { code, stdout, stderr } = await end
      const events = eventsOf(stdout)
      expect(events.filter(({ type }) => type === 'milestone')).toMatchObject([{ channel: 0, text: left }])
      expect(events.filter(({ type }) => type === 'final')).toHaveLength(2)
      expect(stderr).toMatch(/^interrupted at \d+\.\d s, \d+ words, mean [^\n]*\n$/)
      expect(code).toBe(expected)
    },
  )

  longIt('ends at a second signal with the results so far, and says where it was interrupted', async () => {
    const args = ['transcribe', long, '--speed', '1', '--format', 'json', '--output-dir', join(folder, 'twice')]
    const { kill, end, stderr } = startInProcess([...args, ...tests.overGrpc], { env: tests.env })
    Object.assign(stderr, { isTTY: true, columns: 80 })
    let progress = ''
    stderr.on('data', (text: string) => (progress += text))
    await expect.poll(() => progress).toMatch(/ 00:0[6-9]\.\d /)
    kill('SIGINT')
    kill('SIGINT')
    const ended = await end
    expect(ended.code).toBe(130)
    expect(ended.stderr).toMatch(/interrupted at [6-9]\.\d s, without the results of its last audio\n$/)
    const [json] = eventsOf(readFileSync(join(folder, 'twice', 'long.json.partial'), 'utf8'))
    expect(json).toMatchObject({ text: left, error: { code: 'interrupted' } })
    expect(json.error.message).toBe(
      `The command was interrupted at ${(json.audioMs / 1000).toFixed(1)} s of the recording.`,
    )
  })

  longIt('ends at a signal that comes as soon as signals are handled', async () => {
    const { code, stdout } = await runInProcess(
      ['transcribe', long, ...tests.overGrpc],
      { env: tests.env },
      (args, host) =>
        runCli(args, {
          ...host,
          onSignal: (listener) => {
            queueMicrotask(() => listener('SIGINT'))
            return host.onSignal(listener)
          },
        }),
    )
    expect({ code, stdout }).toEqual({ code: 130, stdout: '' })
  })

  longIt('ends immediately at a second signal', async () => {
    const { child, end } = playing(tests.overGrpc)
    await firstLine(child)
    child.kill('SIGTERM')
    child.kill('SIGINT')
    expect([143, 130]).toContain((await end).code)
  })

  it.skipIf(process.platform !== 'linux')(
    'stops waiting for the writer of a named pipe when it is stopped',
    async () => {
      const pipe = join(folder, 'pipe')
      execFileSync('mkfifo', [pipe])
      const child = start(['transcribe', pipe, ...raw, '--format', 'ndjson', ...tests.overGrpc], { env: tests.env })
      const end = ended(child)
      await expect.poll(() => hasOpened(child.pid, pipe)).toBe(true)
      child.kill('SIGTERM')
      expect((await end).code).toBe(143)
      const read = start(['transcribe', pipe, ...raw, ...tests.overGrpc], { env: tests.env })
      const readEnd = ended(read)
      writeFileSync(pipe, callSamples(3500))
      expect(await readEnd).toMatchObject({ code: 0, stdout: expect.stringContaining(left) as unknown })
    },
  )

  longIt('stops waiting for a pipe without data when it is stopped', async () => {
    const child = start(['transcribe', '-', ...raw, '--format', 'ndjson', ...tests.overGrpc], { env: tests.env })
    const end = ended(child)
    child.stdin.write(callSamples(100).subarray(0, 1))
    await linesUntil(child.stdout, '"state":"streaming"')
    child.kill('SIGTERM')
    expect((await end).code).toBe(143)
  })
})

describe.skipIf(!existsSync('../shared/audio'))('rxspeech transcribe on recordings of people', () => {
  const model = (): readonly string[] => [...tests.overGrpc, '--model', 'cards']

  it.each([
    ['ten-of-clubs.wav', 'ten of clubs'],
    ['four-queen-of-clubs.wav', 'four queen of clubs'],
    ['seven-of-clubs.wav', 'seven of clubs'],
  ])('transcribes %s', async (file, text) => {
    const { stdout } = await runInProcess(['transcribe', join('../shared/audio', file), ...model()], { env: tests.env })
    expect(stdout).toMatch(new RegExp(`^\\[00:00\\.\\d\\] ${text}\n$`))
  })

  it('transcribes raw samples', async () => {
    const file = '../shared/audio/go-forward-ten-meters.16k.raw'
    const args = ['transcribe', file, '--encoding', 'pcm', '--rate', '16000', ...model()]
    const { stdout } = await runInProcess(args, { env: tests.env })
    expect(stdout).toMatch(/^\[00:00\.\d\] go forward ten meters\n$/)
  })

  it('transcribes the audio of a truncated WAV file, and then reports the truncation', async () => {
    const file = join(folder, 'cut.wav')
    const whole = readFileSync('../shared/audio/ten-of-clubs.wav')
    writeFileSync(file, whole.subarray(0, whole.length - 1001))
    const { code, stdout, stderr } = await runInProcess(['transcribe', file, '--models', cards])
    expect(stdout).toContain('ten of clubs')
    expect(stderr).toMatch(/^rxspeech: \S+cut\.wav: The WAV file ends early: 1001 of the \d+ bytes .*\.\n$/)
    expect(code).toBe(3)
  })

  it.each(['bad-rate.wav', 'bad-no-data.wav'])('rejects %s', async (file) => {
    const { code, stdout, stderr } = await runInProcess(['transcribe', join('../shared/audio', file)])
    expect(stderr).toMatch(/^rxspeech: [^\n]+\.\n$/)
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
  })
})
