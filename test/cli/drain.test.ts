import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openSocket, type PlainSocket } from '../interop/plain-socket-client.js'
import { recognizeOf } from '../service/plain-service.js'
import { spoken } from '../service/conversation/spoken.js'
import { callBeginning, cards, ended, firstLine, run, start, type Ended } from './command.js'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cli-drain-'))
})
afterAll(() => rm(folder, { recursive: true }))

interface Served {
  readonly signal: (name: NodeJS.Signals) => void
  readonly end: Promise<Ended>
  readonly open: () => Promise<PlainSocket>
}

const serve = async (): Promise<Served> => {
  const child = start(['serve', '--dev', '--models', cards, '--model', 'call', '--state', join(folder, 'state')])
  const end = ended(child)
  const access = JSON.parse(await firstLine(child)) as Readonly<Record<string, string>>
  const { authUrl = '', wsUrl = '', grpc = '', ca = '', clientId = '', clientSecret = '' } = access
  const flags = ['--auth-url', authUrl, '--ca', ca, '--client-id', clientId]
  const token = (await run(['token', ...flags], { env: { RXSPEECH_CLIENT_SECRET: clientSecret } })).stdout.trim()
  return {
    signal: (name) => child.kill(name),
    end,
    open: () => openSocket({ service: { access: { wsUrl, grpc } }, ca: readFileSync(ca), token }),
  }
}

const recognizing = async ({ open }: Served): Promise<PlainSocket> => {
  const socket = await open()
  socket.say(recognizeOf({ 'model-name': 'call' }))
  expect(await socket.hear()).toMatchObject({ 'operation-result': 'Success' })
  return socket
}

describe('SIGTERM', { timeout: 60_000 }, () => {
  it('gives speech in flight its final, closes what is idle at once, and waits for no client that does not read', async () => {
    const served = await serve()
    const [speaking, deaf, idle] = [await recognizing(served), await recognizing(served), await served.open()]
    const speech = await spoken(3_500)
    for (const socket of [speaking, deaf]) socket.audio(speech)
    deaf.raw.pause()
    // What is heard has been taken in.
    expect(await speaking.hear()).toMatchObject({ 'message-name': 'partial-result' })
    served.signal('SIGTERM')
    expect(await idle.hear()).toMatchObject({ close: 1001 })
    let message = await speaking.hear()
    while (message['message-name'] !== 'final-result') message = await speaking.hear()
    expect(message).toMatchObject({ 'operation-result': 'Success', text: callBeginning.left })
    expect(await speaking.hear()).toMatchObject({ close: 1001 })
    const { code } = await served.end
    expect(code).toBe(0)
    deaf.raw.terminate()
  })

  it('a second time ends at once', async () => {
    const served = await serve()
    const socket = await recognizing(served)
    socket.audio(await spoken(3_500))
    served.signal('SIGTERM')
    served.signal('SIGTERM')
    const { code } = await served.end
    // Two that come together may be told as one.
    expect([143, 0]).toContain(code)
    socket.raw.terminate()
  })
})
