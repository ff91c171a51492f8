import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { lastValueFrom, tap, toArray } from 'rxjs'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { dataflow } from '../../../../src/client/dataflow/dataflow.js'
import { recognize } from '../../../../src/client/recognizer/recognize.js'
import type { RecognizeOptions } from '../../../../src/client/recognizer/recognize-on.js'
import type { SessionEvent } from '../../../../src/protocol/session-event.js'
import { readRecording, type Recording } from '../../../../test/audio/read-recording.js'
import { tcpProxy, type TcpProxy } from '../../../../test/transport/tcp-proxy.js'
import { liveService, type LiveService } from './live-service.js'
import { installServers, type InstalledServers, type RecognitionServer } from './recognition-servers.js'
import { callFile } from './sample-call.js'
import { sessionOptions } from './session-options.js'
import { temporaryFolder } from '../../../../test/temporary-folder.js'

// Servers that others wrote, with the weights of Whisper tiny.en, behind this service.

let servers: InstalledServers | undefined
const folder = temporaryFolder()
let live: LiveService
let proxy: TcpProxy
let openai: RecognitionServer
let wyoming: RecognitionServer

beforeAll(async () => {
  servers = await installServers()
  if (servers === undefined) return
  ;[openai, wyoming] = await Promise.all([servers.openai(), servers.wyoming()])
  proxy = await tcpProxy(() => openai.port)
  const models = {
    whisper: { engine: 'openai', url: `http://127.0.0.1:${proxy.port}`, segmentsAtOnce: 1 },
    home: { engine: 'wyoming', url: `tcp://127.0.0.1:${wyoming.port}`, segmentsAtOnce: 1 },
  }
  for (const [name, options] of Object.entries(models)) {
    const place = join(folder, 'Default', name, '1')
    await mkdir(place, { recursive: true })
    // The audio comes at once.
    await writeFile(join(place, 'model.json'), JSON.stringify({ ...options, batch: true }))
  }
  live = await liveService({ modelFolders: [folder], defaultModel: 'whisper' })
})
afterAll(async () => {
  if (servers === undefined) return
  await live.close()
  await proxy.close()
  await servers.remove()
})
beforeEach(({ skip }) => {
  skip(servers === undefined, 'the servers cannot be installed')
})

const plainText = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^a-z ]/g, '')
    .replaceAll(/ +/g, ' ')

const textOf = (events: readonly SessionEvent[], channel: number): string =>
  plainText(
    events.flatMap((event) => (event.type === 'milestone' && event.channel === channel ? event.text : [])).join(' '),
  )

const seconds = 12

/** What any reading of the beginning of the sample call has. */
const said = [
  ['good evening', 'how can i help you', 'which day would you like'],
  ['i would like to book a table', 'friday at'],
] as const

/** The first seconds of the sample call. */
const call = async (length: number): Promise<Pick<Recording, 'format' | 'bytes'>> => {
  const { format, bytes } = await readRecording(callFile)
  return { format, bytes: bytes.subarray(0, length * format.sampleRateHz * format.channels) }
}

const expectCall = (events: readonly SessionEvent[]): void => {
  for (const [channel, phrases] of said.entries()) {
    for (const phrase of phrases) expect(textOf(events, channel)).toContain(phrase)
  }
}

describe('a model of a server that others wrote', () => {
  it('reads the sample call, through a server of /v1/audio/transcriptions that is killed within it', async () => {
    const { format, bytes } = await call(seconds)
    const another = await servers?.openai()
    const { grpc } = sessionOptions(live, format, 'whisper')
    let kills = 0
    const session$ = dataflow(grpc)([bytes]).pipe(
      tap(({ type }) => {
        if (type !== 'milestone' || another === undefined || kills++ > 0) return
        const killed = openai
        openai = another
        void killed.kill()
      }),
      toArray(),
    )
    expectCall(await lastValueFrom(session$))
    expect(kills).toBeGreaterThan(1)
  })

  it('reads the sample call, through a Wyoming server', async () => {
    const { format, bytes } = await call(seconds)
    const { websocket } = sessionOptions(live, format, 'home')
    expectCall(await lastValueFrom(recognize(websocket)([bytes]).pipe(toArray())))
  })

  it('fails alone while its server is away, and works again when it is back', async () => {
    const { format, bytes } = await call(4)
    const { port } = wyoming
    await wyoming.kill()
    const read = (model: string, options: Partial<RecognizeOptions> = {}): Promise<readonly SessionEvent[]> => {
      const { websocket } = sessionOptions(live, format, model)
      return lastValueFrom(recognize({ ...websocket, ...options })([bytes]).pipe(toArray()))
    }
    const [failure, other] = await Promise.all([
      read('home', { resumption: false }).then(
        () => undefined,
        (error: unknown) => error,
      ),
      read('whisper'),
    ])
    expect(failure).toMatchObject({
      code: 'engine-failed',
      message: expect.stringContaining('Default/home/1') as unknown,
    })
    expect(textOf(other, 0)).toContain('how can i help you')
    wyoming = (await servers?.wyoming(port)) ?? wyoming
    expect(textOf(await read('home'), 0)).toContain('how can i help you')
  })
})
