import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { decodeMuLaw } from '../../src/audio/g711.js'
import { bytesOf } from '../../src/audio/pcm.js'
import { turnsOf } from '../../packages/service/test/interop/sample-call.js'
import { blocksOf } from './markdown.js'
import { openReaderFolder, type ReaderFolder } from './reader-folder.js'
import { checkout, runProgram, type ProgramRun } from './run-program.js'
import { longIt } from '../thorough.js'

const [greeting = ''] = turnsOf(0)

let reader: ReaderFolder
beforeAll(() => {
  reader = openReaderFolder()
  const page = readFileSync(join(checkout, 'docs/recipes/microphone.md'), 'utf8')
  const program = blocksOf(page).find(({ text }) => text.startsWith('// listen.mjs'))
  reader.write('listen.mjs', program?.text ?? '')
})
afterAll(() => reader.remove())

/** Runs the program with nothing else in PATH than this folder. */
const listen = (): Promise<ProgramRun> =>
  runProgram(process.execPath, ['listen.mjs'], { cwd: reader.path, env: { PATH: join(reader.path, 'bin') } })

describe('the microphone of Node in docs/recipes/microphone.md', () => {
  it('names the programs that can record where none is installed, and fails', async () => {
    expect(await listen()).toMatchObject({
      exitCode: 1,
      stdout: '',
      stderr: 'Install arecord or ffmpeg or sox, or set command to a program that records; none was found in PATH.\n',
    })
  })

  longIt('prints what arecord records, until it ends', async () => {
    // The restaurant's first sentence, on the left channel of µ-law.
    const frames = readFileSync(join(checkout, 'samples/call.wav')).subarray(58, 58 + 2 * 8 * 3600)
    writeFileSync(join(reader.path, 'greeting.raw'), bytesOf(decodeMuLaw(frames.filter((_, at) => at % 2 === 0))))
    reader.write('bin/arecord', '#!/bin/sh\necho "$@" > arguments\nexec /bin/cat greeting.raw\n')
    chmodSync(join(reader.path, 'bin/arecord'), 0o755)
    const { exitCode, stdout, stderr } = await listen()
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    expect(stdout).toContain(greeting)
    expect(readFileSync(join(reader.path, 'arguments'), 'utf8')).toMatch(/ --rate=8000 /)
  })

  longIt('says why arecord failed', async () => {
    reader.write('bin/arecord', '#!/bin/sh\necho "audio open error: Device or resource busy" >&2\nexit 1\n')
    const { exitCode, stderr } = await listen()
    expect(exitCode).toBe(1)
    expect(stderr).toContain('audio open error: Device or resource busy')
  })
})
