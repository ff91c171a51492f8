import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ended, main, run, start } from '../command.js'
import { temporaryFolder } from '../../../../../test/temporary-folder.js'

const root = join(__dirname, '../../../../..')
const folder = temporaryFolder()

/** A session over a link that emits nothing and holds nothing: `answers` are the responses of its service. */
const program = (answers: Readonly<Record<string, unknown>>, timeouts: Readonly<Record<string, number>>): string => `
const { NEVER, of, Subject } = require('rxjs')
const { recognize } = require(${JSON.stringify(join(root, 'dist/cjs/index.js'))})
const responses = ${JSON.stringify(answers)}
const incoming = new Subject()
const link = {
  incoming$: incoming, bufferedBytes: 0, isCongested: false, drain$: of(undefined), pause() {}, resume() {}, finish() {}, close() {},
  send(message) {
    const answer = typeof message === 'string' ? responses[JSON.parse(message)['message-name']] : undefined
    if (answer !== undefined) queueMicrotask(() => incoming.next(JSON.stringify(answer)))
  },
}
recognize({
  url: 'ws://localhost', model: 'm', token: 't', testing: { dial: () => ${'connect' in answers ? 'NEVER' : 'of(link)'} },
  format: { encoding: 'pcm', sampleRateHz: 8000, channels: 1 }, timeouts: ${JSON.stringify(timeouts)},
})([new Uint8Array(320).fill(50)]).subscribe({
  error: ({ code }) => console.log(code),
  complete: () => console.log('complete'),
})
`

const messageOf = (name: string): object => ({ 'message-name': name, 'operation-result': 'Success' })

describe('a process that waits only for a session', () => {
  it.each([
    ['connection', 'connect-timeout', { connect: true }, { connectMs: 50 }],
    ['start', 'start-timeout', {}, { startMs: 50 }],
    ['final', 'finalize-timeout', { recognize: messageOf('recognize-response') }, { finalizeMs: 50 }],
  ])('reports that the %s did not arrive', async (_what, code, answers, timeouts) => {
    const file = join(folder, `${code}.cjs`)
    await writeFile(file, program(answers, timeouts))
    const child = spawn(process.execPath, [file], { cwd: root, env: { NODE_PATH: join(root, 'node_modules') } })
    expect(await ended(child)).toEqual({ code: 0, stdout: `${code}\n`, stderr: '' })
  })
})

describe('rxspeech', () => {
  it('fails if the disk is full when it writes the last of its output', async () => {
    const full = openSync('/dev/full', 'w')
    const child = spawn(process.execPath, [main, 'models', 'types', 'call'], { stdio: ['ignore', full, 'pipe'] })
    let stderr = ''
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text))
    const [code] = (await once(child, 'close')) as [number]
    closeSync(full)
    const sentence = 'rxspeech: Standard output cannot be written (ENOSPC); check its destination.\n'
    expect({ code, stderr }).toEqual({ code: 1, stderr: sentence })
  })

  it('fails if the process ends before its work is done, and reports that', async () => {
    // What the command waits for never happens, and nothing keeps the process alive.
    const preload = join(folder, 'preload.cjs')
    await writeFile(preload, `require('node:fs/promises').readFile = () => new Promise(() => undefined)\n`)
    const early = await ended(
      start(['project', 'check', 'samples/projects/none.yaml'], { env: { NODE_OPTIONS: `--require ${preload}` } }),
    )
    expect(early).toEqual({
      code: 1,
      stdout: '',
      stderr: 'rxspeech: The command ended before its work was done; try again.\n',
    })
    const help = await run(['--help'])
    expect([help.code, help.stderr]).toEqual([0, ''])
  })
})
