import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'rolldown'
import { beforeAll, expect, it } from 'vitest'
import { temporaryFolder } from '../temporary-folder.js'

const program = `
  import { dataflow } from ${JSON.stringify(resolve('dist/cjs/grpc.js'))}
  const format = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 }
  const session = dataflow({ url: 'grpc://127.0.0.1:1', token: 'none', tenant: 'Default', project: 'transcribe', format })
  session([new Uint8Array(1600)]).subscribe({ error: ({ code, message }) => console.log(code + ': ' + message) })`

const folder = temporaryFolder()
beforeAll(async () => {
  const input = join(folder, 'program.js')
  await writeFile(input, program)
  for (const [format, file] of [
    ['esm', 'out.mjs'],
    ['cjs', 'out.cjs'],
  ] as const) {
    const output = { file: join(folder, file), format, codeSplitting: false }
    await build({ input, platform: 'node', logLevel: 'silent', output })
  }
})

const printed = async (...args: readonly string[]): Promise<string> =>
  (await promisify(execFile)(process.execPath, args, { cwd: folder })).stdout.trim()

it('a stream of gRPC opens in a program that is one file, as an ES module and as CommonJS', async () => {
  const message = 'connection-failed: Nothing listens at 127.0.0.1:1; check the address and that the service runs.'
  expect(await Promise.all([printed('out.mjs'), printed('out.cjs')])).toEqual([message, message])
})

it('a stream of gRPC is an error of the session where a process forbids to generate code', async () => {
  expect(await printed('--disallow-code-generation-from-strings', 'out.cjs')).toBe(
    'missing-dependency: The package @grpc/proto-loader generates code, which this process forbids; allow it, or use recognize over a WebSocket.',
  )
})
