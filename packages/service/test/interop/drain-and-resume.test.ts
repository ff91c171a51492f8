import { Client, credentials, Metadata, type StatusObject } from '@grpc/grpc-js'
import { map, timer } from 'rxjs'
import { afterEach, describe, expect, it } from 'vitest'
import { isSpeechError } from '../../../../src/errors/speech-error.js'
import type { SessionEvent } from '../../../../src/protocol/session-event.js'
import { dataflow } from '../../../../src/client/dataflow/dataflow.js'
import { recognize } from '../../../../src/client/recognizer/recognize.js'
import { loadDataflow } from '../../../../src/transport/grpc/proto.js'
import { startRequest } from './grpc-message.js'
import { liveService, type LiveService } from './live-service.js'

let live: LiveService
afterEach(() => live.close())

const format = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 } as const
/** There is continuous sound, so that another recognition follows each. */
const audio$ = timer(50, 20).pipe(map(() => new Uint8Array(320).fill(16)))

/** Runs a session until its service has been drained, and returns the labels of its events. */
const drained = async (transport: 'grpc' | 'websocket'): Promise<readonly string[]> => {
  live = await liveService({ defaultModel: 'call' })
  const { service, ca, token } = live
  const { access } = service
  const resumption = { budgetMs: 1_500, firstDelayMs: 100 }
  const session$ =
    transport === 'grpc'
      ? dataflow({
          url: access.grpc,
          connection: { ca },
          tenant: 'Default',
          project: 'transcribe',
          token,
          format,
          resumption,
        })(audio$)
      : recognize({ url: access.wsUrl, connection: { ca }, model: 'call', token, format, resumption })(audio$)
  const labels: string[] = []
  const note = (event: SessionEvent): void => {
    if (event.type === 'connection')
      labels.push(event.state === 'reconnecting' ? `${event.state} for ${event.cause}` : event.state)
    if (event.type === 'resumed' || event.type === 'gap') labels.push(event.type)
    if (event.type === 'final') labels.push('final')
  }
  await new Promise<void>((resolve) => {
    session$.subscribe({
      next: (event) => {
        note(event)
        if (event.type === 'connection' && event.state === 'streaming') {
          setTimeout(() => void service.close({ drainMs: 500 }), 300)
        }
      },
      error: (error: unknown) => {
        labels.push(isSpeechError(error) ? `error ${error.code}` : String(error))
        resolve()
      },
      complete: () => {
        labels.push('complete')
        resolve()
      },
    })
  })
  return labels
}

describe('a service that is drained during a session', () => {
  it.each(['grpc', 'websocket'] as const)(
    'is replaced by another over %s, and the drain is never treated as the end',
    async (transport) => {
      const labels = await drained(transport)
      // On a socket the final arrives first, and the next recognition is already requested then.
      const causes =
        transport === 'grpc' ? /^reconnecting for going-away$/ : /^reconnecting for (connection-failed|going-away)$/
      expect(labels.find((label) => label.startsWith('reconnecting'))).toMatch(causes)
      // There is no other service here: the session reports it, with a gap. The final is that of the recognition which
      // the drain ended.
      expect(labels.slice(-3)).toEqual([
        'gap',
        'failed',
        expect.stringMatching(/^error (connection-failed|going-away)$/),
      ])
      expect(labels.filter((label) => label === 'final')).toHaveLength(1)
    },
  )

  it('ends the stream of a plain client with OK, and sends the reason in its trailers', async () => {
    live = await liveService({ defaultModel: 'call' })
    const { service, ca, token } = live
    const { path, requestSerialize, responseDeserialize } = loadDataflow().Stream
    const client = new Client(service.access.grpc, credentials.createSsl(ca), {
      'grpc.ssl_target_name_override': 'localhost',
    })
    const call = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, new Metadata(), {})
    const status = new Promise<StatusObject>((resolve) => call.once('status', resolve))
    call.write(startRequest(token))
    call.once('data', () => void service.close({ drainMs: 500 }))
    call.resume()
    const { code, metadata } = await status
    client.close()
    expect([code, String(metadata.get('rxspeech-end')[0])]).toEqual([0, expect.stringMatching(/^going-away: /)])
  })
})
