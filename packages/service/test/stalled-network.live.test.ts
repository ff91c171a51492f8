import { setTimeout as delay } from 'node:timers/promises'
import { filter, firstValueFrom, lastValueFrom, ReplaySubject, Subject, tap, toArray } from 'rxjs'
import { afterEach, describe, expect, it } from 'vitest'
import { decodeMuLaw } from '../../../src/audio/g711.js'
import { dataflow } from '../../../src/client/dataflow/dataflow.js'
import { recognize } from '../../../src/client/recognizer/recognize.js'
import type { SessionEvent } from '../../../src/protocol/session-event.js'
import { callSamples } from './cli/command.js'
import { tcpProxy, type TcpProxy } from '../../../test/transport/tcp-proxy.js'
import { plainService, type PlainService } from './plain-service.js'
import { first, longIt } from '../../../test/thorough.js'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

/** The left channel of the sample call, with a sentence from 0.6 to 3 s. */
const audio = (fromMs: number, toMs: number): Uint8Array => {
  const left = callSamples(toMs).filter((_byte, index) => index % 2 === 0)
  return new Uint8Array(decodeMuLaw(left.slice(fromMs * 8)).slice().buffer)
}

describe.each(first(1, ['websocket', 'grpc'] as const))(
  'a network that delivers nothing for some seconds, over %s',
  (over) => {
    const format = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 } as const

    const sessionAt = (service: PlainService, port: number) =>
      over === 'grpc'
        ? dataflow({
            url: `grpc://127.0.0.1:${port}`,
            ...{ token: service.token, format, tenant: 'Default', project: 'transcribe' },
          })
        : recognize({ url: `ws://127.0.0.1:${port}`, token: service.token, format, model: 'm' })

    /** The milestones of a sentence in whose middle no audio comes for 4 s. */
    const milestones = async (during: (proxy: TcpProxy, audio$: Subject<Uint8Array>) => Promise<void>) => {
      const service = await plainService()
      const { started } = service
      const target = over === 'grpc' ? started.grpcAddress.split(':')[1] : new URL(started.wsUrl).port
      const proxy = await tcpProxy(Number(target))
      cleanups.push(service.close, proxy.close)
      const audio$ = new Subject<Uint8Array>()
      const event$ = new ReplaySubject<SessionEvent>(100)
      const all = lastValueFrom(sessionAt(service, proxy.port)(audio$).pipe(tap(event$), toArray()))
      await firstValueFrom(event$.pipe(filter((event) => event.type === 'connection' && event.state === 'streaming')))
      // The silence of a client counts from the end of its audio in real time.
      audio$.next(audio(0, 1_600))
      await firstValueFrom(event$.pipe(filter(({ type }) => type === 'event' || type === 'partial')))
      await during(proxy, audio$)
      audio$.complete()
      return (await all).filter(({ type }) => type === 'milestone')
    }

    it('does not cut the sentence', async () => {
      const found = await milestones(async (proxy, audio$) => {
        proxy.hold()
        await delay(4_000)
        // The answer to the service's ping is ahead of the audio.
        proxy.release()
        await delay(400)
        audio$.next(audio(1_600, 5_000))
      })
      expect(found).toHaveLength(1)
    })

    longIt('differs from a client that sends nothing, whose words so far come after a second', async () => {
      const found = await milestones(async (_proxy, audio$) => {
        await delay(4_000)
        audio$.next(audio(1_600, 5_000))
      })
      expect(found).toHaveLength(2)
    })
  },
)
