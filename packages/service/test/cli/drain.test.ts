import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openSocket, type PlainSocket } from '../interop/plain-socket-client.js'
import { recognizeOf } from '../plain-service.js'
import { spoken } from '../../../server/test/sessions/spoken.js'
import { callBeginning, callModels, ended, firstLine, start, type Ended } from './command.js'
import { runInProcess } from './in-process.js'
import { longIt } from '../../../../test/thorough.js'
import { temporaryFolder } from '../../../../test/temporary-folder.js'

const folder = temporaryFolder()

interface Served {
  readonly signal: (name: NodeJS.Signals) => void
  readonly end: Promise<Ended>
  readonly open: () => Promise<PlainSocket>
  /** Resolves when a line of the log contains the text. */
  readonly logged: (text: string) => Promise<void>
}

const serve = async (models: readonly string[]): Promise<Served> => {
  const child = start(['serve', '--dev', ...models, '--model', 'call', '--state', join(folder, 'state')])
  const end = ended(child)
  const access = JSON.parse(await firstLine(child)) as Readonly<Record<string, string>>
  const { authUrl = '', wsUrl = '', grpc = '', ca = '', clientId = '', clientSecret = '' } = access
  const flags = ['--auth-url', authUrl, '--ca', ca, '--client-id', clientId]
  const token = (
    await runInProcess(['token', ...flags], { env: { RXSPEECH_CLIENT_SECRET: clientSecret } })
  ).stdout.trim()
  return {
    signal: (name) => child.kill(name),
    end,
    logged: (text) =>
      new Promise((resolve) => {
        let log = ''
        child.stderr.on('data', (more: string) => {
          log += more
          if (log.includes(text)) resolve()
        })
      }),
    open: () => openSocket({ service: { access: { wsUrl, grpc } }, ca: readFileSync(ca), token }),
  }
}

const recognizing = async ({ open }: Served): Promise<PlainSocket> => {
  const socket = await open()
  socket.send(recognizeOf({ 'model-name': 'call' }))
  expect(await socket.receive()).toMatchObject({ 'operation-result': 'Success' })
  return socket
}

describe('SIGTERM', () => {
  it('gives running speech its final, closes idle connections immediately, and does not wait for a client that does not read', async () => {
    const served = await serve(['--models', callModels])
    const [speaking, deaf, idle] = [await recognizing(served), await recognizing(served), await served.open()]
    const speech = await spoken(3_500)
    for (const socket of [speaking, deaf]) socket.audio(speech)
    deaf.raw.pause()
    // The audio of the partial has been received.
    expect(await speaking.receive()).toMatchObject({ 'message-name': 'partial-result' })
    served.signal('SIGTERM')
    expect(await idle.receive()).toMatchObject({ close: 1001 })
    let message = await speaking.receive()
    while (message['message-name'] !== 'final-result') message = await speaking.receive()
    expect(message).toMatchObject({ 'operation-result': 'Success', text: callBeginning.left })
    expect(await speaking.receive()).toMatchObject({ close: 1001 })
    const { code, stderr } = await served.end
    expect(code).toBe(0)
    expect(stderr).toContain('The service has stopped.')
    deaf.raw.terminate()
  })

  longIt('a second time ends immediately, though finals are pending', async () => {
    const served = await serve([])
    const sockets = [await recognizing(served), await recognizing(served), await recognizing(served)]
    // Decoding this much takes the engine seconds, with the model of the package.
    const speech = await spoken(10_000)
    for (const socket of sockets) socket.audio(speech)
    served.signal('SIGTERM')
    await served.logged('is shutting down')
    served.signal('SIGTERM')
    const { code, stderr } = await served.end
    expect(code).toBe(143)
    expect(stderr).not.toContain('The service has stopped.')
    for (const socket of sockets) socket.raw.terminate()
  })
})
