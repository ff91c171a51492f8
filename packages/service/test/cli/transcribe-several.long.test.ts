import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { wavHeader } from '../../../../src/audio/wav-header.js'
import { callBeginning, callModels, callSamples } from './command.js'
import { runInProcess, startInProcess } from './in-process.js'
import { callFormat, eventsOf, patience, transcribeService, withLongDeadline } from './transcribe-service.js'

const { left } = callBeginning
const tests = transcribeService()
const { folder } = tests

describe('rxspeech transcribe of several files', () => {
  let files: readonly string[]
  beforeAll(() => {
    const [broken, missing, song] = ['broken\u001b[2J.wav', 'missing.wav', 'song é.mp3'].map((name) =>
      join(folder, name),
    )
    writeFileSync(broken ?? '', Buffer.concat([wavHeader(callFormat, 100_000), callSamples(3500)]))
    writeFileSync(song ?? '', 'ID3\u0003\u0000')
    files = [tests.agent, broken ?? '', missing ?? '', tests.call, song ?? '']
  })

  it('prints the transcripts in the order of the files, also after failures, and names what failed', async () => {
    const { code, stdout, stderr } = await runInProcess(['transcribe', ...files, '--jobs', '5', ...tests.overGrpc], {
      env: tests.env,
    })
    expect(stdout + stderr).not.toContain('\u001b')
    const titles = [...stdout.matchAll(/^==> (.*) <==$/gm)].map(([, file]) => file)
    expect(titles).toEqual([files[0], join(folder, 'broken [2J.wav'), files[3]])
    const [first, second, third] = stdout.split(/^==> .* <==$/m).slice(1)
    expect(first).toMatch(/^\n\[00:00\.\d\] left: good evening harbor grill how can i help you\n\n$/)
    // What was there of it.
    expect(second).toMatch(/^\n\[00:00\.\d\] left: good evening/)
    expect(third).toMatch(/left: good evening[^]*right: hello i would/)
    const said = stderr.split('\n').map((line) => line.replaceAll(`${folder}/`, ''))
    expect(said[0]).toMatch(/^agent\.wav: 7\.0 s of audio, 9 words, /)
    expect(said[1]).toMatch(/^rxspeech: broken \[2J\.wav: The WAV file ends early: /)
    expect(said[2]).toBe('rxspeech: missing.wav does not exist; check the name.')
    expect(said[3]).toMatch(/^call\.wav: 6\.5 s of audio, 19 words, /)
    expect(said[4]).toMatch(/^rxspeech: song é\.mp3: This is MP3, .* ffmpeg -i '.*song é\.mp3' -ar /)
    expect(said[5]).toMatch(/^2 of 5 recordings transcribed: 17\.0 s of audio, \d+ words, mean confidence 0\.\d\d, in /)
    expect(said[6]).toBe(
      'rxspeech: 3 of 5 recordings failed: broken [2J.wav (invalid-wav), missing.wav (source-failed), song é.mp3 (invalid-wav).',
    )
    expect(code).toBe(3)
  })

  it('recognizes several at a time on all cores with a service of its own', async () => {
    let threads = 0
    const count = (): void => void (threads += 1)
    process.on('worker', count)
    onTestFinished(() => void process.off('worker', count))
    const args = ['transcribe', tests.agent, tests.call, '--jobs', '2', '--models', callModels, '--model', 'call']
    const { code, stderr } = await runInProcess([...args, ...patience])
    expect([code, stderr]).toEqual([0, expect.stringContaining('2 of 2 recordings transcribed')])
    expect(threads).toBeGreaterThanOrEqual(Math.min(2, availableParallelism()))
  })

  it('asks the service for the language, which refuses one that the model lacks', async () => {
    const args = ['transcribe', tests.agent, '--model', 'cards', ...tests.overGrpc, '--language']
    const refused = await runInProcess([...args, 'de'], { env: tests.env })
    expect([refused.code, refused.stdout]).toEqual([1, ''])
    expect(refused.stderr).toContain('Language "de" cannot be used with this model; it has en.')
    expect((await runInProcess([...args, 'en-US'], { env: tests.env })).code).toBe(0)
  })

  it('recognizes phrases in addition to the model, and prints why the service refuses them', async () => {
    const args = ['transcribe', tests.agent, '--model', 'cards', ...tests.overGrpc]
    const without = await runInProcess(args, { env: tests.env })
    expect(without.stdout).not.toContain(left)
    const { code, stdout } = await runInProcess([...args, '--phrase', 'thank you', '--phrase', left], {
      env: tests.env,
    })
    expect([code, stdout.trim()]).toEqual([0, expect.stringMatching(new RegExp(`^\\[00:00\\.\\d\\] left: ${left}$`))])
    const refused = await runInProcess([...args, '--phrase', 'ask for qwzrtpx'], { env: tests.env })
    expect(refused.stderr).toContain('Phrases[0] has the word "qwzrtpx", which the dictionary of the model lacks.')
    expect([refused.code, refused.stdout]).toEqual([1, ''])
  })

  it('writes a line of JSON for each, with words, errors and comparisons', async () => {
    const references = mkdtempSync(join(folder, 'references-'))
    for (const stem of ['agent', 'missing', 'call']) {
      writeFileSync(
        join(references, `${stem}.txt`),
        'left: good evening harbor bill how can i help you\nright: hello i',
      )
    }
    const [first, , missing, third] = files
    const args = ['transcribe', first ?? '', missing ?? '', third ?? '', '--format', 'json', '--words']
    const { code, stdout, stderr } = await runInProcess([...args, '--reference', references, ...tests.overGrpc], {
      env: tests.env,
    })
    const [one, two, three] = eventsOf(stdout)
    expect(one).toMatchObject({ file: first, audioMs: 7000, text: left })
    expect(one.segments).toMatchObject([
      { channel: 0, speaker: 'left', text: left, confidence: expect.any(Number) as unknown },
    ])
    expect(one.segments[0].words.map(({ text }: { text: string }) => text).join(' ')).toBe(left)
    expect(one.wordErrors).toEqual({ words: 11, right: 8, substituted: 1, inserted: 0, deleted: 2, rate: 3 / 11 })
    expect(two).toEqual({
      file: missing,
      text: '',
      segments: [],
      error: { code: 'source-failed', message: `${missing} does not exist; check the name.` },
    })
    expect(three).toMatchObject({ file: third, audioMs: 6500 })
    const starts = three.segments.map(({ startMs }: { startMs: number }) => startMs)
    expect(starts).toEqual([...starts].sort((a, b) => a - b))
    expect(stderr).toContain('\n2 recordings: 18 of 22 words right, 2 substituted, 8 inserted, 2 deleted: ')
    expect(code).toBe(3)
  })

  it('writes a file for each, which has its name only if it is complete', async () => {
    const outputs = join(folder, 'made', 'here')
    const args = ['transcribe', ...files, '--jobs', '2', '--format', 'vtt', '--output-dir', outputs]
    const { code, stdout } = await runInProcess([...args, ...tests.overGrpc], { env: tests.env })
    expect([code, stdout]).toEqual([3, ''])
    expect(readdirSync(outputs).sort()).toEqual(['agent.vtt', 'broken\u001b[2J.vtt.partial', 'call.vtt'])
    expect(readFileSync(join(outputs, 'call.vtt'), 'utf8')).toMatch(/^WEBVTT\n\n1\n[^]*\n2\n00:00:03/)
    expect(statSync(join(outputs, 'call.vtt')).mode & 0o777).toBe(0o600)
    expect(readFileSync(join(outputs, 'broken\u001b[2J.vtt.partial'), 'utf8')).toMatch(
      /^WEBVTT\n\n1\n[^]*good evening[^]*\n\n$/,
    )
  })

  it('says of each why its file cannot get its name', async () => {
    const outputs = join(folder, 'taken')
    mkdirSync(join(outputs, 'agent.txt'), { recursive: true })
    const { code, stderr } = await runInProcess(
      ['transcribe', tests.agent, tests.call, '--output-dir', outputs, ...tests.overGrpc],
      {
        env: tests.env,
      },
    )
    expect(code).toBe(1)
    expect(stderr).toMatch(/^rxspeech: \S+agent\.wav: \S+agent\.txt cannot be written \(EISDIR\); check its folder and/)
    expect(stderr).not.toMatch(/^\S+agent\.wav: .* of audio/m)
  })

  it('ends all at a signal, with the words of the sent audio', async () => {
    vi.stubGlobal('setTimeout', withLongDeadline(setTimeout))
    onTestFinished(() => void vi.unstubAllGlobals())
    const outputs = join(folder, 'interrupted')
    const args = [
      'transcribe',
      tests.agent,
      tests.call,
      ...files.slice(4),
      '--jobs',
      '2',
      '--speed',
      '1',
      '--format',
      'ndjson',
    ]
    const { kill, end } = startInProcess([...args, '--output-dir', outputs, ...tests.overGrpc], { env: tests.env })
    // The service has their first words, and more than two seconds of each are to come.
    for (const file of ['agent', 'call']) {
      const partial = join(outputs, `${file}.ndjson.partial`)
      await expect.poll(() => existsSync(partial) && readFileSync(partial, 'utf8')).toMatch(/"partial".*"good/)
    }
    kill('SIGINT')
    const { code, stderr } = await end
    expect(code).toBe(130)
    expect(stderr).toMatch(/agent\.wav: interrupted at \d\.\d s, \d+ words?, .*real-time factor \d\.\d\d\n/)
    expect(stderr).toMatch(/Not transcribed to the end: \S+agent\.wav, \S+call\.wav, \S+song é\.mp3\.\n$/)
    // Whole lines, up to the last one of the session.
    expect(readdirSync(outputs).sort()).toEqual(['agent.ndjson.partial', 'call.ndjson.partial'])
    const events = eventsOf(readFileSync(join(outputs, 'agent.ndjson.partial'), 'utf8'))
    expect(events.findLast(({ type }) => type === 'connection')).toEqual({ type: 'connection', state: 'done' })
  })

  it('counts the audio that was sent before a second signal', async () => {
    const outputs = join(folder, 'interrupted twice')
    const args = ['transcribe', tests.agent, tests.call, '--jobs', '2', '--speed', '1', '--format', 'ndjson']
    const { kill, end } = startInProcess([...args, '--output-dir', outputs, ...tests.overGrpc], { env: tests.env })
    for (const file of ['agent', 'call']) {
      const partial = join(outputs, `${file}.ndjson.partial`)
      await expect.poll(() => existsSync(partial) && readFileSync(partial, 'utf8')).toMatch(/"partial".*"good/)
    }
    kill('SIGINT')
    kill('SIGINT')
    const { code, stderr } = await end
    expect(code).toBe(130)
    expect(stderr).toMatch(/^0 of 2 recordings transcribed: [1-9]\d*\.\d s of audio, \d+ words/m)
  })
})
