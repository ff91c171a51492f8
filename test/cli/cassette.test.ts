import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { callBeginning, callModels } from './command.js'
import { runInProcess } from './in-process.js'
import { writeCall } from './wav-files.js'

let folder: string
let cassette: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'cli-cassette-'))
  cassette = join(folder, 'call.jsonl')
  const file = join(folder, 'call.wav')
  await writeCall(file, { encoding: 'ulaw', sampleRateHz: 8000, channels: 2 }, callBeginning.durationMs)
  const { code } = await runInProcess(['transcribe', file, '--models', callModels, '--record', cassette])
  expect(code).toBe(0)
})
afterAll(() => rmSync(folder, { recursive: true }))

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
  it.each([80, 120])('draws it in %i columns', async (width) => {
    const { code, stdout } = await runInProcess(['cassette', 'show', cassette, '--width', String(width)])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^gRPC · ulaw 8000 Hz stereo/)
    expect(stdout).toContain(callBeginning.left)
    expect(stdout.split('\n').filter((line) => Array.from(line).length > width)).toEqual([])
  })

  it('writes an SVG, to a file or to standard output', async () => {
    const file = join(folder, 'call.svg')
    const toFile = await runInProcess(['cassette', 'show', cassette, '--svg', file])
    const toOutput = await runInProcess(['cassette', 'show', cassette, '--svg', '-'])
    expect(toFile).toMatchObject({ code: 0, stdout: '' })
    expect(readFileSync(file, 'utf8')).toBe(toOutput.stdout)
    expect(toOutput.stdout).toMatch(/^<svg [^]*<\/svg>\n$/)
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
    expect(await runInProcess(['cassette', 'show', cassette, '--width', '10'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--width must be a whole number from 60 to 400, not "10".') as unknown,
    })
  })
})
