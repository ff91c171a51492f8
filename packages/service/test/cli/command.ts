import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'

const root = join(__dirname, '../../../..')
export const main = join(root, 'packages/service/dist/cli/main.js')
export const cards = join(__dirname, 'fixtures')
/** A model with only the sentences of the call, which decodes it in a quarter of the time of the package's model. */
export const callModels = join(root, 'packages/service/test/faults/models')
export const sampleCall = join(root, 'samples/call.wav')

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly stdin?: Uint8Array
}

/** The built command, isolated from the environment variables of this process. */
export const start = (args: readonly string[], { env = {} }: RunOptions = {}): ChildProcessWithoutNullStreams => {
  const { PATH = '', TMPDIR = '/tmp' } = process.env
  return spawn(process.execPath, [main, ...args], { env: { PATH, TMPDIR, ...env } })
}

export const ended = (child: ChildProcessWithoutNullStreams): Promise<Ended> => {
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, stdout, stderr }))
  })
}

export const run = (args: readonly string[], options: RunOptions = {}): Promise<Ended> => {
  const child = start(args, options)
  // A command may end before it has read all input.
  child.stdin.on('error', () => undefined)
  child.stdin.end(options.stdin)
  return ended(child)
}

/** The first line that a command prints. */
export const firstLine = ({ stdout }: { readonly stdout: Readable }): Promise<string> =>
  new Promise((resolve, reject) => {
    let text = ''
    stdout.on('data', (more: Buffer | string) => {
      text += more.toString()
      if (text.includes('\n')) resolve(text.slice(0, text.indexOf('\n')))
    })
    stdout.once('close', () => reject(new Error('It ended before it printed a line.')))
  })

/** Samples of the sample call from its beginning: stereo µ-law of 8000 Hz, 16 bytes a millisecond. */
export const callSamples = (durationMs: number): Uint8Array => {
  const file = readFileSync(sampleCall)
  const data = file.indexOf('data')
  return file.subarray(data + 8, data + 8 + durationMs * 16)
}

/** The first words of the agent and of the guest. */
export const callBeginning = { durationMs: 6500, left: 'good evening harbor grill how can i help you' } as const
