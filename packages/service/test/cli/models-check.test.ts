import { mkdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { wavHeader } from '../../../../src/audio/wav-header.js'
import { tinyModel, tinySherpaModel } from '../../../engines/test/sherpa-onnx/tiny-model.js'
import { longIt } from '../../../../test/thorough.js'
import { runInProcess } from './in-process.js'
import { callModels, type Ended } from './command.js'
import { folderOfTest } from '../../../../test/temporary-folder.js'

let root: string
beforeEach(() => {
  root = folderOfTest()
})

const check = (...args: readonly string[]): Promise<Ended> => runInProcess(['models', 'check', ...args])

describe('rxspeech models check', () => {
  it('prints how long a model loads and reads, its memory, and the words', async () => {
    const { code, stdout, stderr } = await check('call', '--models', callModels, '--json')
    expect([code, stderr]).toEqual([0, ''])
    const checked = JSON.parse(stdout) as Record<string, unknown>
    expect(checked).toMatchObject({
      model: 'Default/call/1',
      engine: 'soundswallower',
      audioMs: 10_000,
      text: expect.stringMatching(/^good evening harbor grill how can i help you/) as unknown,
    })
    const { loadMs, busyMs, realTimeFactor } = checked as Record<string, number>
    expect([loadMs, busyMs, realTimeFactor].every((figure) => figure !== undefined && figure > 0)).toBe(true)
    expect(realTimeFactor).toBeCloseTo((busyMs ?? 0) / 10_000, 2)
  })

  it('reads a file of the user to its end, and shows columns', async () => {
    const silence = join(root, 'silence.wav')
    const header = wavHeader({ encoding: 'pcm', sampleRateHz: 8000, channels: 1 }, 16_000)
    writeFileSync(silence, Buffer.concat([header, Buffer.alloc(16_000)]))
    const { code, stdout } = await check('call', silence, '--models', callModels)
    expect([code, stdout.split('\n').map((line) => line.slice(0, 12).trim())]).toEqual([
      0,
      ['Default/call', 'loaded in', 'read', 'memory', 'words', ''],
    ])
    expect(stdout).toContain('1.0 s of audio in')
    expect(stdout).toMatch(/words {5}none\n$/)
  })

  longIt('says in a sentence that a model does not load, or that its process ends', async () => {
    const published = tinySherpaModel({ failsAbove: -1000 })
    const folder = join(root, 'Default/tiny/1')
    mkdirSync(join(folder, '..'), { recursive: true })
    writeFileSync(join(published, 'model.json'), JSON.stringify(tinyModel(published).options))
    const ending = await check(published)
    expect([ending.code, ending.stdout]).toEqual([1, ''])
    expect(ending.stderr).toMatch(/^rxspeech: Model .*\.\n$/)
    truncateSync(join(published, 'joiner-epoch-1.onnx'), 100)
    const cut = await check(published)
    expect([cut.code, cut.stdout]).toEqual([1, ''])
    expect(cut.stderr).toMatch(/^rxspeech: Model .*joiner-epoch-1\.onnx.*\.\n$/)
    rmSync(published, { recursive: true })
  })

  it.each([
    ['none', 2, /There is no model "none"/],
    ['call /nowhere.wav', 3, /\/nowhere\.wav does not exist/],
  ])('ends %j with %d', async (words, code, sentence) => {
    const ended = await check(...words.split(' '), '--models', callModels)
    expect([ended.code, ended.stderr]).toEqual([code, expect.stringMatching(sentence)])
  })
})
