import { Observable, firstValueFrom, take, toArray } from 'rxjs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { SpeechError } from '../../../../src/errors/speech-error.js'
import type { LinkLimits } from '../../../../src/transport/limits.js'
import type { Link } from '../../../../src/transport/link.js'
import { errorCode } from '../../../../test/transport/error-code.js'
import { blackHole, freePort } from '../../../../test/transport/tcp-proxy.js'
import { connectPair, type Pair, type Served, type Transport } from './harness.js'
import { testCertificates } from '../test-certificates.js'
import { grpcTransport, memoryTransport, webSocketTransport } from './transports.js'

/** All messages until the end, and the end: `complete` or the code of the error. */
const untilEnd = <M>(incoming: Observable<M>): Promise<{ readonly messages: readonly M[]; readonly end: string }> =>
  new Promise((resolve) => {
    const messages: M[] = []
    incoming.subscribe({
      next: (message) => messages.push(message),
      error: (error: unknown) => resolve({ messages, end: errorCode(error) }),
      complete: () => resolve({ messages, end: 'complete' }),
    })
  })

const errorOf = (source: Observable<unknown>): Promise<SpeechError> =>
  new Promise((resolve, reject) => {
    source.subscribe({ next: () => reject(new Error('It connected.')), error: resolve })
  })

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

const chunkBytes = 32_768

/** Sends with flow control until the sum is reached: waits for the drain whenever the link is congested. */
const flood = async <M>(link: Link<M, M>, message: M, count: number): Promise<number> => {
  let maxBuffered = 0
  for (let sent = 0; sent < count; sent += 1) {
    link.send(message)
    maxBuffered = Math.max(maxBuffered, link.bufferedBytes)
    if (link.isCongested) await firstValueFrom(link.drain$)
  }
  return maxBuffered
}

const contract = <M>(transport: Transport<M>) =>
  describe(`a link over ${transport.name}`, () => {
    let served: Served<M>
    let pair: Pair<M>
    const { text, audio, read } = transport
    const reads = (messages: readonly M[]): readonly (string | number)[] => messages.map(read)
    const limits: LinkLimits = { maxMessageBytes: 65_536 }

    beforeEach(async () => {
      served = await transport.serve(limits)
      pair = await connectPair(served, limits)
    })

    afterEach(async () => {
      pair.dialled.unsubscribe()
      pair.near.close()
      pair.far.close()
      await served.close()
    })

    it('delivers texts and bytes in order, in both directions', async () => {
      const { near, far } = pair
      const there = firstValueFrom(far.incoming$.pipe(take(4), toArray()))
      const back = firstValueFrom(near.incoming$.pipe(take(2), toArray()))
      near.send(text('one'))
      near.send(audio(Uint8Array.of(1, 2, 3)))
      near.send(text('žluťoučký'))
      near.send(audio(new Uint8Array(5)))
      far.send(text('a'))
      far.send(audio(new Uint8Array(7)))
      expect(reads(await there)).toEqual(['one', 3, 'žluťoučký', 5])
      expect(reads(await back)).toEqual(['a', 7])
    })

    it('delivers the bytes unchanged, whatever part of a larger buffer they are', async () => {
      const whole = Uint8Array.from({ length: 64 }, (_, index) => index)
      const message = firstValueFrom(pair.far.incoming$)
      pair.near.send(audio(whole.subarray(3, 24)))
      const received = await message
      const bytes =
        received instanceof Uint8Array ? received : (received as { binaryContent: Uint8Array }).binaryContent
      expect(bytes).toStrictEqual(whole.slice(3, 24))
    })

    it('buffers incoming messages until it is subscribed', async () => {
      const { near, far } = pair
      near.send(text('early'))
      const answered = firstValueFrom(near.incoming$)
      far.send(text('answer'))
      await answered
      await turn()
      expect(read(await firstValueFrom(far.incoming$))).toBe('early')
    })

    it('rejects a second subscriber of incoming messages', async () => {
      pair.near.incoming$.subscribe()
      expect((await errorOf(pair.near.incoming$)).code).toBe('already-started')
    })

    it('delivers everything before a normal end', async () => {
      const { near, far } = pair
      for (let count = 0; count < 200; count += 1) far.send(text(`event ${count}`))
      far.close()
      const { messages, end } = await untilEnd(near.incoming$)
      expect(end).toBe('complete')
      expect(messages).toHaveLength(200)
    })

    it('delivers everything before a refusal', async () => {
      const { near, far } = pair
      for (let count = 0; count < 200; count += 1) far.send(text(`event ${count}`))
      far.close({ code: 'too-fast', message: 'Slower, please.' })
      const { messages, end } = await untilEnd(near.incoming$)
      expect(end).toBe('too-fast')
      expect(messages).toHaveLength(200)
    })

    it('delivers everything before the end to a reader that pauses at each message, and nothing while it pauses', async () => {
      const { near, far } = pair
      const seen: (string | number)[] = []
      let isPaused = false
      const ended = new Promise<void>((resolve) => {
        near.incoming$.subscribe({
          next: (message) => {
            seen.push(isPaused ? 'while paused' : read(message))
            isPaused = true
            near.pause()
            setImmediate(() => {
              isPaused = false
              near.resume()
            })
          },
          complete: resolve,
        })
      })
      for (let count = 0; count < 50; count += 1) far.send(text(String(count)))
      far.close()
      await ended
      expect(seen).toEqual(Array.from({ length: 50 }, (_none, index) => String(index)))
    })

    it('delivers everything before a refusal to a reader that is paused when it arrives', async () => {
      const { near, far } = pair
      near.pause()
      const ended = untilEnd(near.incoming$)
      for (let count = 0; count < 50; count += 1) far.send(text(`event ${count}`))
      far.close({ code: 'going-away', message: 'Good night.' })
      for (let turns = 0; turns < 200; turns += 1) await turn()
      near.resume()
      const { messages, end } = await ended
      expect(end).toBe('going-away')
      expect(messages).toHaveLength(50)
    })

    it.each(['unauthenticated', 'model-denied', 'overloaded', 'internal', 'going-away', 'cut-sample'] as const)(
      'reports the reason to the client when the service closes with %s',
      async (code) => {
        pair.far.close({ code, message: 'Do this: wait.' })
        const error = await errorOf(pair.near.incoming$)
        expect({ code: error.code, message: error.message }).toEqual({ code, message: 'Do this: wait.' })
      },
    )

    it.runIf(transport.clientGivesReasons)(
      'reports the reason to the service when the client closes with one',
      async () => {
        pair.near.close({ code: 'protocol-violation', message: 'That was no event.' })
        expect((await errorOf(pair.far.incoming$)).code).toBe('protocol-violation')
      },
    )

    it.runIf(!transport.clientGivesReasons)('breaks the link when the client closes with a reason', async () => {
      pair.near.close({ code: 'protocol-violation', message: 'That was no event.' })
      expect((await errorOf(pair.far.incoming$)).code).toBe('connection-lost')
    })

    it('completes at both ends when the client closes, and delivers what was sent before', async () => {
      const { near, far } = pair
      const nearEnd = untilEnd(near.incoming$)
      near.send(text('last words'))
      near.close()
      const { messages, end } = await untilEnd(far.incoming$)
      expect(end).toBe('complete')
      expect(reads(messages)).toEqual(['last words'])
      expect((await nearEnd).end).toBe('complete')
    })

    it('closes once, however often it is asked', async () => {
      const { near, far } = pair
      far.close({ code: 'overloaded', message: 'Full.' })
      far.close()
      far.close({ code: 'internal', message: 'No.' })
      expect((await errorOf(near.incoming$)).code).toBe('overloaded')
      near.close()
      near.close()
    })

    it('ignores messages sent after either side has ended', async () => {
      const { near, far } = pair
      far.close()
      far.send(text('too late'))
      expect((await untilEnd(near.incoming$)).messages).toEqual([])
      near.send(text('too late'))
      near.finish()
      near.pause()
      near.resume()
      near.close()
      near.send(text('too late'))
      expect(near.isCongested).toBe(false)
    })

    it.runIf(transport.halfCloses)(
      "completes the peer's incoming messages when it finishes, while the peer may continue",
      async () => {
        const { near, far } = pair
        const back = untilEnd(near.incoming$)
        near.send(text('all'))
        near.finish()
        near.send(text('too late'))
        expect(reads((await untilEnd(far.incoming$)).messages)).toEqual(['all'])
        far.send(text('final'))
        far.close()
        expect(await back).toEqual({ messages: [text('final')], end: 'complete' })
      },
    )

    it.runIf(!transport.halfCloses)('continues after finish if it does not support half-close', async () => {
      pair.near.finish()
      pair.near.send(text('still here'))
      expect(read(await firstValueFrom(pair.far.incoming$))).toBe('still here')
    })

    it('emits drain immediately when nothing is queued', async () => {
      expect(pair.near.isCongested).toBe(false)
      expect(await firstValueFrom(pair.near.drain$.pipe(toArray()))).toHaveLength(1)
    })

    it('lets a paused reader hold the sender back, and then delivers 50 MB completely', async () => {
      const { near, far } = pair
      const count = Math.ceil(50_000_000 / chunkBytes)
      let received = 0
      let firstCame = (): void => {}
      const first = new Promise<void>((resolve) => (firstCame = resolve))
      let allCame = (): void => {}
      const all = new Promise<void>((resolve) => (allCame = resolve))
      far.incoming$.subscribe((message) => {
        received += Number(read(message))
        if (received === chunkBytes) far.pause()
        firstCame()
        if (received === count * chunkBytes) allCame()
      })
      const heldBefore = process.memoryUsage().arrayBuffers
      const flooding = flood(near, audio(new Uint8Array(chunkBytes)), count)
      await first
      // The sender continues only when the reader does: it is blocked once nothing has moved for many iterations.
      for (let still = 0; still < 2000;) {
        const before = near.bufferedBytes
        await turn()
        still = near.bufferedBytes === before ? still + 1 : 0
      }
      expect(near.bufferedBytes).toBeGreaterThan(65_536)
      expect(received).toBeLessThan(5_000_000)
      expect(process.memoryUsage().arrayBuffers - heldBefore).toBeLessThan(30_000_000)
      far.resume()
      await all
      expect(received).toBe(count * chunkBytes)
      expect(await flooding).toBeLessThan(262_144 + 2 * chunkBytes)
    })

    it('emits drain for a waiting sender when the link ends', async () => {
      const { near, far } = pair
      far.pause()
      far.incoming$.subscribe()
      while (!near.isCongested) {
        near.send(audio(new Uint8Array(chunkBytes)))
        if (!near.isCongested) await turn()
      }
      const drained = firstValueFrom(near.drain$)
      near.close()
      await drained
    })

    it('closes within its time limit when the peer never reads', async () => {
      pair.dialled.unsubscribe()
      const impatient = await connectPair(served, { ...limits, closeTimeoutMs: 50 })
      const { near, far } = impatient
      far.pause()
      far.incoming$.subscribe({ error: () => {} })
      while (!near.isCongested) {
        near.send(audio(new Uint8Array(chunkBytes)))
        if (!near.isCongested) await turn()
      }
      near.close()
      far.resume()
      await untilEnd(far.incoming$).catch(() => {})
      impatient.dialled.unsubscribe()
    })

    it('ends with message-too-big at the sender, and sends nothing to the receiver, when a message is too big', async () => {
      const { near, far } = pair
      const farEnd = untilEnd(far.incoming$)
      near.send(text('fits'))
      near.send(audio(new Uint8Array(65_537 + 1024)))
      const { end } = await untilEnd(near.incoming$)
      expect(end).toBe('message-too-big')
      const seen = await farEnd
      expect(seen.end).not.toBe('complete')
      expect(seen.messages.length).toBeLessThanOrEqual(1)
    })

    it('ends with message-too-big at the client when the service sends too much at once', async () => {
      const { near, far } = pair
      far.send(audio(new Uint8Array(65_537 + 1024)))
      expect((await errorOf(near.incoming$)).code).toBe('message-too-big')
      expect((await untilEnd(far.incoming$)).end).not.toBe('complete')
    })

    it('closes the link when the dial is unsubscribed', async () => {
      const farEnd = untilEnd(pair.far.incoming$)
      pair.dialled.unsubscribe()
      await farEnd
      expect((await untilEnd(pair.near.incoming$)).end).toBe('complete')
    })

    it('connects again for every subscription of one dial', async () => {
      const dial$ = served.dial(limits)
      for (const word of ['first', 'second']) {
        const accepted = served.accepted()
        const link = await new Promise<Link<M, M>>((resolve) => {
          pair.dialled.add(dial$.subscribe(resolve))
        })
        link.send(text(word))
        expect(read(await firstValueFrom((await accepted).incoming$))).toBe(word)
      }
    })

    it.runIf(transport.dialPort !== undefined)(
      'errors with connection-lost at both ends when the network breaks',
      async () => {
        const { near, far } = pair
        const ends = Promise.all([untilEnd(near.incoming$), untilEnd(far.incoming$)])
        served.cut?.()
        expect((await ends).map(({ end }) => end)).toEqual(['connection-lost', 'connection-lost'])
      },
    )

    it.runIf(transport.dialPort !== undefined)(
      'errors with connection-lost when the network breaks while paused',
      async () => {
        const { near } = pair
        near.pause()
        const end = untilEnd(near.incoming$)
        served.cut?.()
        expect((await end).end).toBe('connection-lost')
      },
    )
  })

const dialContract = <M>({ name, dialPort }: Transport<M>) =>
  describe(`a dial over ${name}`, () => {
    it.runIf(dialPort)('errors with connection-failed that names host and port when nothing listens', async () => {
      const port = await freePort()
      const error = await errorOf(dialPort?.(port, 5_000) ?? new Observable())
      expect(error).toMatchObject({ code: 'connection-failed', retryable: true })
      expect(error.message).toContain(`127.0.0.1:${port}`)
      expect(error.message).not.toContain('secret')
    })

    it.runIf(dialPort)('errors with connect-timeout when the peer never answers', async () => {
      const hole = await blackHole()
      const error = await errorOf(dialPort?.(hole.port, 200) ?? new Observable())
      expect(error).toMatchObject({ code: 'connect-timeout', retryable: true })
      expect(error.message).toContain(`127.0.0.1:${hole.port}`)
      await hole.close()
    })

    it.runIf(dialPort)('gives up immediately when it is unsubscribed while it connects', async () => {
      const hole = await blackHole()
      const dialling = dialPort?.(hole.port, 5_000).subscribe()
      await turn()
      dialling?.unsubscribe()
      await hole.close()
    })
  })

describe('every transport', async () => {
  const tls = await testCertificates()
  contract(memoryTransport)
  contract(webSocketTransport())
  contract(webSocketTransport(tls))
  contract(grpcTransport())
  contract(grpcTransport(tls))
  dialContract(webSocketTransport())
  dialContract(grpcTransport())
  dialContract(grpcTransport(tls))
})
