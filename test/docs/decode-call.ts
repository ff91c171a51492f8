import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { decodedFolder, hashOf } from '../../scripts/testing/decode-once.cjs'
import { checkout, runProgram } from './run-program.js'

const programTimeoutMs = 240_000
export const decodeCallTimeoutMs = programTimeoutMs + 30_000

/** A session that waits for its end however slow the machine is, of the call and of its first four seconds. */
const program = `
const { recognize } = require('rxspeech')
const { inMemoryService } = require('rxspeech/testing')
const { concat } = require('rxjs')
const service = inMemoryService({ modelFolders: ['samples/models'] })
const format = { encoding: 'ulaw', sampleRateHz: 8000, channels: 2 }
const call = require('node:fs').readFileSync('samples/call.wav').subarray(58)
const session = recognize({ ...service.recognizer, format, finalizeTimeoutMs: ${String(programTimeoutMs)} })
concat(session([call]), session([call.subarray(0, 16_000 * 4)])).subscribe({ complete: () => service.close() })
`

/**
 * Has the embedded engine decode the sample call, once for all pages. Their programs find it decoded: a session
 * of theirs that waits for its end does not run out of time because others use the same cores.
 */
export const decodeCall = async (): Promise<void> => {
  const model = join(checkout, 'samples/models/Default/call/1')
  const files = [join(checkout, 'samples/call.wav'), join(model, 'call.gram'), join(model, 'model.json')]
  const done = join(decodedFolder(), `${hashOf(program, ...files.map((file) => readFileSync(file)))}.done`)
  if (existsSync(done)) return
  const { exitCode, stderr } = await runProgram(process.execPath, ['-e', program], { timeoutMs: programTimeoutMs })
  if (exitCode !== 0) throw new Error(`The sample call could not be decoded: ${stderr}`)
  writeFileSync(done, '')
}
