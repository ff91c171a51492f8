import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { callBeginning, callModels } from './command.js'
import { runInProcess } from './in-process.js'
import { writeCall } from './wav-files.js'
import { temporaryFolder } from '../../../../test/temporary-folder.js'

const folder = temporaryFolder()
let cassette: string
beforeAll(async () => {
  cassette = join(folder, 'call.jsonl')
  const file = join(folder, 'call.wav')
  await writeCall(file, { encoding: 'ulaw', sampleRateHz: 8000, channels: 2 }, callBeginning.durationMs)
  const { code } = await runInProcess(['transcribe', file, '--models', callModels, '--record', cassette])
  expect(code).toBe(0)
})

describe('rxspeech transcribe --record', () => {
  it('writes the complete session, readable only by its owner, without the token', () => {
    const text = readFileSync(cassette, 'utf8')
    expect(statSync(cassette).mode & 0o777).toBe(0o600)
    expect(text.trimEnd().split('\n').at(-1)).toMatch(/"event":"end","outcome":"complete"/)
    expect(text).toContain('\\"Token\\":\\"[redacted]\\"')
    expect(text).not.toMatch(/eyJ[\w-]{20}/)
  })

  it('reports immediately where it cannot write', async () => {
    const { code, stdout, stderr } = await runInProcess([
      'transcribe',
      join(folder, 'call.wav'),
      '--record',
      join(folder, 'no/a'),
    ])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/cannot be written \(ENOENT\); choose another file for --record\.$/m)
  })
})

describe('rxspeech cassette show', () => {
  it('lists the messages of both sides, with their times and the audio that was sent until then', async () => {
    const { code, stdout } = await runInProcess(['cassette', 'show', cassette])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^gRPC · ulaw 8000 Hz stereo · .* UTC\n\ntime +connection +audio\n/)
    const lines = stdout.split('\n').map((line) => line.replace(/^[\d.]+ s +/, '').replace(/ {2,}/g, ' '))
    expect(lines.slice(3, 7)).toEqual([
      expect.stringMatching(/^1 0\.00 s · dials /),
      '1 0.00 s · open',
      '1 0.00 s → Start',
      '1 0.00 s ← Start: success',
    ])
    const seconds = (callBeginning.durationMs / 1000).toFixed(2)
    expect(lines).toContain(`1 ${seconds} s → end of audio`)
    expect(lines).toContain(`1 ${seconds} s ← final 0: ${callBeginning.left}`)
    expect(lines.at(-2)).toBe('· complete')
  })

  it('rejects an invalid cassette, with the line, and a missing file', async () => {
    const junk = join(folder, 'junk.jsonl')
    writeFileSync(junk, `${readFileSync(cassette, 'utf8').split('\n')[0] ?? ''}\n{"atMs":0}\n`)
    const broken = await runInProcess(['cassette', 'show', junk])
    expect(broken).toMatchObject({ code: 3, stdout: '' })
    expect(broken.stderr).toMatch(/is not a readable cassette\. Line 2 of the cassette: event must be/)
    writeFileSync(junk, 'junk\n')
    expect((await runInProcess(['cassette', 'show', junk])).stderr).toMatch(
      /is not a readable cassette\. Line 1 of the cassette: it must be one JSON object\.\n$/,
    )
    const none = await runInProcess(['cassette', 'show', join(folder, 'none')])
    expect(none).toMatchObject({ code: 3, stdout: '' })
    expect(none.stderr).toMatch(/does not exist; check the name/)
  })
})
