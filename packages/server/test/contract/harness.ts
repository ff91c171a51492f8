import { Subscription } from 'rxjs'
import type { Dial, Link } from '../../../../src/transport/link.js'
import type { LinkLimits } from '../../../../src/transport/limits.js'

/** One connection: the link that a dial emitted, and the link that the service received. */
export interface Pair<M> {
  readonly near: Link<M, M>
  readonly far: Link<M, M>
  /** The subscription of the dial. */
  readonly dialled: Subscription
}

/** A service that keeps its links, and the ways to connect to it. */
export interface Served<M> {
  dial(limits?: LinkLimits & { readonly connectTimeoutMs?: number }): Dial<M, M>
  /** The next link of the service. */
  accepted(): Promise<Link<M, M>>
  /** Breaks the connections abruptly; undefined in memory. */
  readonly cut?: () => void
  close(): Promise<void>
}

export interface Transport<M> {
  readonly name: string
  /** Whether `finish` of the client ends what the service reads while the service may continue. */
  readonly halfCloses: boolean
  /** Whether a client can send a reason when it closes. */
  readonly clientGivesReasons: boolean
  text(text: string): M
  audio(bytes: Uint8Array): M
  /** The text of a text message, the byte count of audio. */
  read(message: M): string | number
  serve(limits?: LinkLimits): Promise<Served<M>>
  /** Connects to a port of this machine on which there is no service; undefined in memory. */
  readonly dialPort?: (port: number, connectTimeoutMs: number) => Dial<M, M>
}

/** Delivers items in order to those who wait for them. */
export const mailbox = <T>(): { put(value: T): void; take(): Promise<T> } => {
  const values: T[] = []
  const takers: ((value: T) => void)[] = []
  return {
    put: (value) => {
      const taker = takers.shift()
      if (taker === undefined) values.push(value)
      else taker(value)
    },
    take: () =>
      new Promise((resolve) => {
        const value = values.shift()
        if (value === undefined) takers.push(resolve)
        else resolve(value)
      }),
  }
}

export const connectPair = async <M>(served: Served<M>, limits: LinkLimits = {}): Promise<Pair<M>> => {
  const dialling = new Promise<Omit<Pair<M>, 'far'>>((resolve, reject) => {
    const dialled = new Subscription()
    dialled.add(
      served.dial(limits).subscribe({
        next: (near) => resolve({ near, dialled }),
        error: reject,
      }),
    )
  })
  const [{ near, dialled }, far] = await Promise.all([dialling, served.accepted()])
  return { near, far, dialled }
}
