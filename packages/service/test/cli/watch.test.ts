import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { wavHeader } from '../../../../src/audio/wav-header.js'
import { folderOfTest } from '../../../../test/temporary-folder.js'
import { callBeginning, callModels, callSamples } from './command.js'
import { startInProcess } from './in-process.js'

const callFormat = { encoding: 'ulaw', sampleRateHz: 8000, channels: 2 } as const
const recordingOf = (durationMs: number): Buffer => {
  const samples = callSamples(durationMs)
  return Buffer.concat([wavHeader(callFormat, samples.length), samples])
}
const hourMs = 3_600_000

/** A folder, and what comes into it. */
const createFolder = () => {
  const root = folderOfTest()
  const calls = join(root, 'calls')
  mkdirSync(calls)
  const at = (name: string): string => join(calls, name)
  return {
    at,
    list: () => readdirSync(calls).toSorted(),
    moveIn: (name: string, content: string | Buffer = recordingOf(100)) => {
      writeFileSync(join(root, name), content)
      utimesSync(join(root, name), 0, 0)
      renameSync(join(root, name), at(name))
    },
    watch: () => startInProcess(['transcribe', '--watch', calls, '--models', callModels, '--model', 'call']),
  }
}

/** Resolves when stderr has the text. */
const said = (stderr: NodeJS.ReadableStream, text: string): Promise<void> =>
  new Promise((resolve) => {
    let all = ''
    stderr.on('data', (more: string) => {
      all += more
      if (all.includes(text)) resolve()
    })
  })

describe('rxspeech transcribe --watch', () => {
  it('transcribes what comes once it is complete, and after a restart only what is new', async () => {
    const { at, list, moveIn, watch } = createFolder()
    const recording = recordingOf(3500)
    writeFileSync(at('slow.wav'), recording.subarray(0, 20_000))
    const first = watch()
    await said(first.stderr, 'Watching')
    moveIn('moved.wav')
    const isMoved = said(first.stderr, 'moved.wav: 0.1 s of audio')
    // At once, because two seconds without a change make it complete.
    appendFileSync(at('slow.wav'), recording.subarray(20_000))
    // The clock of its writer is another one.
    utimesSync(at('slow.wav'), new Date(), new Date(Date.now() + hourMs))
    await Promise.all([isMoved, said(first.stderr, 'slow.wav: 3.5 s of audio')])
    first.kill('SIGINT')
    const { code, stderr } = await first.end
    expect([code, stderr.trimEnd().split('\n').at(-1)]).toEqual([0, 'rxspeech: 2 recordings transcribed.'])
    expect(list()).toEqual(['moved.txt', 'moved.wav', 'slow.txt', 'slow.wav'])
    expect(readFileSync(at('slow.txt'), 'utf8')).toContain(callBeginning.left)
    // Otherwise it would be transcribed after each restart.
    expect(statSync(at('slow.txt')).mtimeMs).toBeGreaterThanOrEqual(statSync(at('slow.wav')).mtimeMs)

    const second = watch()
    await said(second.stderr, 'Watching')
    // It needs no service.
    moveIn('page.wav', '<p>Sign in, please.</p>')
    await said(second.stderr, 'page.wav is text')
    second.kill('SIGINT')
    expect((await second.end).stderr).toMatch(
      /^(?!.*(moved|slow)).*\nrxspeech: 0 recordings transcribed, 1 failed\.\n$/s,
    )
    expect(list()).toEqual(['moved.txt', 'moved.wav', 'page.wav', 'slow.txt', 'slow.wav'])
  })
})
