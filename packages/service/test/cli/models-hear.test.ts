import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { beforeEach, describe, expect, it } from 'vitest'
import { wavHeader } from '../../../../src/audio/wav-header.js'
import { callSamples, type Ended } from './command.js'
import { runInProcess, type InProcessOptions } from './in-process.js'
import { longIt } from '../../../../test/thorough.js'
import { folderOfTest } from '../../../../test/temporary-folder.js'

let folder: string
beforeEach(() => {
  folder = folderOfTest()
})

const hear = (args: readonly string[], options?: InProcessOptions): Promise<Ended> =>
  runInProcess(['models', 'hear', ...args], options)

describe('rxspeech models hear', () => {
  it('shows each segment of a recording with its times, confidence, words and slots as a line of JSON', async () => {
    const { code, stdout, stderr } = await hear(['call', 'samples/call.wav', '--json'])
    expect([code, stderr]).toEqual([0, ''])
    const { file, format, segments } = JSON.parse(stdout) as {
      readonly file: string
      readonly format: object
      readonly segments: readonly { readonly startMs: number; readonly text: string; readonly slots: object | null }[]
    }
    expect([file, format]).toEqual(['samples/call.wav', { encoding: 'ulaw', sampleRateHz: 8000, channels: 2 }])
    expect(segments).toContainEqual(
      expect.objectContaining({
        type: 'milestone',
        channel: 1,
        text: 'friday at half past seven please',
        slots: { day: 'friday', time: 'half past seven' },
        isIncomplete: false,
      }),
    )
    expect(segments.find(({ text }) => text === 'one moment please')?.slots).toBeNull()
    const starts = segments.map(({ startMs }) => startMs)
    expect(starts).toEqual([...starts].sort((a, b) => a - b))
  })

  longIt('fits into a terminal, in the order of time', async () => {
    const { code, stdout } = await hear(['call', 'samples/call.wav'], { columns: 60 })
    expect(code).toBe(0)
    const lines = stripVTControlCharacters(stdout).split('\n')
    expect(lines[0]).toBe('call.wav 8000 Hz, stereo')
    expect(lines[1]).toMatch(/^ {2}00:00\.5 – 00:0\d\.\d {2}0 {2}0\.\d\d {2}good evening harbor grill how$/)
    expect(lines).toContain('                              can i help you')
    expect(lines).toContain('                              day: friday, time: half past')
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(60)
  })

  it('says that a recording has no speech, goes on after a file that cannot be read, and ends with 3', async () => {
    const silence = join(folder, 'silence.wav')
    const format = { encoding: 'pcm', sampleRateHz: 44_100, channels: 1 } as const
    writeFileSync(silence, Buffer.concat([wavHeader(format, 88_200), Buffer.alloc(88_200)]))
    const text = join(folder, 'text.wav')
    writeFileSync(text, 'This is no recording, but a text of some length.')
    const { code, stdout, stderr } = await hear(['call', join(folder, 'none.wav'), text, silence])
    expect(code).toBe(3)
    expect(stdout).toBe('silence.wav 44100 Hz, mono\n  no speech\n')
    expect(stderr).toMatch(/^rxspeech: .*none\.wav.*\nrxspeech: .*text\.wav.* is text; pass a recording\.\n$/)
  })

  it('reads raw samples in the format that is given', async () => {
    const raw = join(folder, 'call.raw')
    writeFileSync(raw, callSamples(3500))
    const format = ['--encoding', 'ulaw', '--rate', '8000', '--channels', '2']
    const { code, stdout } = await hear(['call', raw, ...format])
    expect([code, stdout]).toEqual([0, expect.stringContaining('good evening harbor grill how can i help you')])
    expect(await hear(['call', raw, '--rate', '8000'])).toMatchObject({ code: 2, stdout: '' })
  })

  it('refuses a language that the model lacks, with those that it has, and one that is none', async () => {
    const refused = await hear(['call', 'samples/call.wav', '--language', 'de-AT'])
    expect(refused).toMatchObject({ code: 1, stdout: '' })
    expect(refused.stderr).toBe('rxspeech: --language "de" cannot be used with this model; it has en.\n')
    const wrong = await hear(['call', 'samples/call.wav', '--language', 'German'])
    expect(wrong.code).toBe(2)
    expect(wrong.stderr).toContain('--language must be a language such as en or en-US, or auto, not "German".')
  })

  longIt('recognizes phrases in addition to the model, and says which words it does not know', async () => {
    const said = 'friday at half past seven please'
    writeFileSync(join(folder, 'model.json'), '{"phrases":"p.txt"}')
    writeFileSync(join(folder, 'p.txt'), 'one moment please\n')
    const call = readFileSync('samples/call.wav')
    const format = { encoding: 'ulaw', sampleRateHz: 8000, channels: 2 } as const
    // Only this sentence: 8.5 to 12 s, of 16 bytes a millisecond, behind the header.
    const part = call.subarray(58 + 8_500 * 16, 58 + 12_000 * 16)
    writeFileSync(join(folder, 'part.wav'), Buffer.concat([wavHeader(format, part.length), part]))
    const args = [folder, join(folder, 'part.wav'), '--json']
    expect((await hear(args)).stdout).not.toContain(said)
    writeFileSync(join(folder, 'more.txt'), `# said by callers\n${said}\n`)
    const typed = await hear([...args, '--phrase', 'Thank you!', '--phrases', join(folder, 'more.txt')])
    expect(typed).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining(`"${said}"`) as string })
    const refused = await hear([...args, '--phrase', 'ask for qwzrtpx'])
    expect(refused.stderr).toBe(
      'rxspeech: Phrases[0] has the word "qwzrtpx", which the dictionary of the model lacks.\n',
    )
    expect([refused.code, refused.stdout]).toEqual([1, ''])
  })

  it('refuses a model that is not there, one that the engine refuses, and no file', async () => {
    expect(await hear(['none', 'samples/call.wav'])).toMatchObject({ code: 2, stdout: '' })
    writeFileSync(join(folder, 'model.json'), '{"phrases":"p.txt"}')
    writeFileSync(join(folder, 'p.txt'), 'blorkfish\n')
    const refused = await hear([folder, 'samples/call.wav'])
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringMatching(/the dictionary lacks "blorkfish"/)])
    expect(await hear(['call'])).toMatchObject({ code: 2, stdout: '' })
  })
})
