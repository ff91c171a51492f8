import type { SchedulerLike } from 'rxjs'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'

export interface RequestLimits {
  /** How many requests all sessions and sockets of a token may make per second in the long run. @default 20 */
  readonly maxRequestsPerSecond: number
  /** How many of them may arrive at once. @default 100 */
  readonly requestBurst: number
}

/** A request counts once, and again for each such number of characters. */
const charactersPerRequest = 16_384

/** A start that is refused for a fault of its request counts so many times more: an engine may have checked it. */
const refusedStartCost = 4

/** The requests of all tokens of a client, as a multiple of one: many tokens are no way around the limit. */
const tokensOfClient = 4

/** So many audio messages shorter than `minAudioMs` count as one request. */
const shortMessagesPerRequest = 100

/** So many frames that are no message of their own count as one short message. */
const framesPerShortMessage = 5

/** The least audio of a message that does not count as a short one, in milliseconds. */
export const minAudioMs = 2

/** What to do with a request: handle it, refuse it with `too-many-requests`, or end the session. */
export type RequestVerdict = 'handle' | 'refuse' | 'end'

/** A leaky bucket. It holds little more than twice the burst, so that it accepts again soon after a flood. */
export class RequestBucket {
  readonly #limits: RequestLimits
  readonly #scheduler: SchedulerLike
  readonly #ofClient: RequestBucket | undefined
  #level = 0
  #atMs: number

  /**
   * @param ofClient counts the requests of all tokens of a client, each in part, and is as full at least. What exceeds
   * this bucket does not count there, so that one token alone takes no place from the others.
   */
  constructor(limits: RequestLimits, scheduler: SchedulerLike, ofClient?: RequestBucket) {
    this.#limits = limits
    this.#scheduler = scheduler
    this.#ofClient = ofClient
    this.#atMs = scheduler.now()
  }

  get level(): number {
    return Math.max(this.#drain(), this.#ofClient?.level ?? 0)
  }

  /** Counts requests; returns the level with them. */
  take(count: number): number {
    const before = this.#drain()
    this.#level = Math.min(before + count, 2 * this.#limits.requestBurst + 1)
    return Math.max(this.#level, this.#ofClient?.take((this.#level - before) / tokensOfClient) ?? 0)
  }

  #drain(): number {
    const nowMs = this.#scheduler.now()
    const drained = (Math.max(0, nowMs - this.#atMs) * this.#limits.maxRequestsPerSecond) / 1000
    this.#atMs = nowMs
    this.#level = Math.max(0, this.#level - drained)
    return this.#level
  }
}

/**
 * The limit of the requests of one session or socket (PROTOCOL 8), which counts them for itself and for its token.
 * Requests beyond the burst of either are refused; at twice the burst the session ends. Refused requests count too, so
 * a client that keeps sending gains nothing.
 */
export class RequestLimit {
  readonly #limits: RequestLimits
  readonly #own: RequestBucket
  readonly #ownShort: RequestBucket
  #ofToken: RequestBucket
  /** The first request of a session is counted with its admission. */
  #paid = 1

  constructor(limits: RequestLimits, scheduler: SchedulerLike, ofToken?: RequestBucket) {
    this.#limits = limits
    this.#own = new RequestBucket(limits, scheduler)
    this.#ownShort = new RequestBucket(limits, scheduler)
    this.#ofToken = ofToken ?? new RequestBucket(limits, scheduler)
  }

  /** From here on requests count for this token. */
  joinToken(ofToken: RequestBucket | undefined): void {
    this.#ofToken = ofToken ?? this.#ofToken
  }

  /** Counts a request with this number of characters for the session. */
  take(length: number): RequestVerdict {
    const { requestBurst } = this.#limits
    const level = this.#own.take(costOf(length))
    if (level <= requestBurst) return 'handle'
    return level <= 2 * requestBurst ? 'refuse' : 'end'
  }

  /** Counts a request that begins something, for the token; returns whether it is within the limit. */
  takeOfToken(length: number): boolean {
    const count = costOf(length) - this.#paid
    this.#paid = 0
    return this.#ofToken.take(count) <= this.#limits.requestBurst
  }

  /** Counts a start that was refused, beside its request. */
  startRefused({ retryable }: SpeechError): void {
    if (!retryable) this.#ofToken.take(refusedStartCost)
  }

  /**
   * Counts messages with little or no audio; returns why the session ends if there are too many. While others of
   * its token send too many, a session with few of them continues.
   */
  takeShort(count = 1): SpeechError | undefined {
    const { requestBurst } = this.#limits
    const own = this.#ownShort.take(count / shortMessagesPerRequest)
    const ofToken = this.#ofToken.take(count / shortMessagesPerRequest)
    const isTooMany = own > 2 * requestBurst || (ofToken > requestBurst && own > requestBurst / 10)
    return isTooMany ? tooManyShort(this.#limits) : undefined
  }

  /** The same for frames that are no message of their own, or only a small part of one. */
  takeFrames(count = 1): SpeechError | undefined {
    return this.takeShort(count / framesPerShortMessage)
  }

  /** Why a request is refused, and how long to wait. */
  refusal(): SpeechError {
    return tooManyRequests(this.#limits, Math.max(this.#own.level, this.#ofToken.level))
  }
}

interface Counted {
  readonly bucket: RequestBucket
  /** Sessions of a token, or tokens of a client. */
  users: number
  /** Of a token. */
  readonly client: Counted | undefined
}

interface HeldBucket {
  readonly bucket: RequestBucket
  readonly release: () => void
}

/** The requests of each token and client, in all sessions and sockets, at the same time and one after another. */
export class TokenRequests {
  readonly #limits: RequestLimits
  readonly #scheduler: SchedulerLike
  readonly #counted = new Map<string, Counted>()
  #sweepAtSize = 1_000

  constructor(limits: RequestLimits, scheduler: SchedulerLike) {
    this.#limits = limits
    this.#scheduler = scheduler
  }

  /** The tokens and clients that are counted. */
  get size(): number {
    return this.#counted.size
  }

  /** Counts the start of a session, unless it is refused. Throws `too-many-requests` beyond the limit. */
  admit(tokenId: string, clientId?: string): HeldBucket {
    const held = this.hold(tokenId, clientId)
    const { level } = held.bucket
    if (level + 1 > this.#limits.requestBurst) {
      held.release()
      throw tooManyRequests(this.#limits, level + 1)
    }
    held.bucket.take(1)
    return held
  }

  /** The bucket of a token, which is kept until it is released and empty. */
  hold(tokenId: string, clientId?: string): HeldBucket {
    if (this.#counted.size >= this.#sweepAtSize) this.#sweep()
    const token = this.#of(`token ${tokenId}`, clientId)
    token.users += 1
    let isHeld = true
    return {
      bucket: token.bucket,
      release: () => {
        if (isHeld) token.users -= 1
        isHeld = false
      },
    }
  }

  #of(key: string, clientId?: string): Counted {
    const known = this.#counted.get(key)
    if (known !== undefined) return known
    const client = clientId === undefined ? undefined : this.#of(`client ${clientId}`)
    if (client !== undefined) client.users += 1
    const bucket = new RequestBucket(this.#limits, this.#scheduler, client?.bucket)
    const counted = { bucket, users: 0, client }
    this.#counted.set(key, counted)
    return counted
  }

  #sweep(): void {
    for (const [key, { bucket, users, client }] of this.#counted) {
      if (users > 0 || bucket.level > 0) continue
      this.#counted.delete(key)
      if (client !== undefined) client.users -= 1
    }
    this.#sweepAtSize = Math.max(1_000, 2 * this.#counted.size)
  }
}

const costOf = (length: number): number => 1 + Math.floor(length / charactersPerRequest)

const tooManyRequests = ({ maxRequestsPerSecond, requestBurst }: RequestLimits, level: number): SpeechError => {
  const retryAfterMs = Math.ceil((Math.max(1, level - requestBurst + 1) * 1000) / maxRequestsPerSecond)
  return new SpeechError(
    'too-many-requests',
    `More than ${requestBurst} requests at once, or ${maxRequestsPerSecond} per second; wait ${retryAfterMs} ms.`,
    { retryAfterMs },
  )
}

const tooManyShort = ({ maxRequestsPerSecond, requestBurst }: RequestLimits): SpeechError => {
  const [burst, perSecond] = [requestBurst, maxRequestsPerSecond].map((count) => count * shortMessagesPerRequest)
  return new SpeechError(
    'too-many-requests',
    `More than ${burst} messages at once with less than ${minAudioMs} ms of audio, or ${perSecond} per second; send 20 ms in each.`,
  )
}
