import { randomBytes } from 'node:crypto'
import * as t from 'io-ts'
import { interval, Subscription, type SchedulerLike } from 'rxjs'
import type { FailureExchange } from 'rxspeech-server/identity/clients/client-authentication'
import type { OtherCounts, SessionCounts } from 'rxspeech-server/sessions/admissions'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import type { MessageBus } from '../connection/bus.js'
import { jsonMessages } from '../connection/json-messages.js'

/** The messages between machines go to all of them, by subjects of their bucket. */
export interface MachineExchangeOptions {
  readonly bus: Pick<MessageBus, 'publish' | 'messages'>
  /** The bucket of the identity, which is the same on all machines of one service and on no other. */
  readonly bucket: string
  /** What all machines must have in common, so that they accept the tokens of each other. */
  readonly origin: { readonly issuer: string; readonly audience: string }
  readonly scheduler: SchedulerLike
  readonly onFault: (error: unknown) => void
}

/** How often the counts that have changed are sent; without a change too, so that others know of this machine. */
const publishEveryMs = 1_000
/** How often those that have not changed are sent, too: messages can be lost. */
const repeatEveryMs = 5_000
/** For how long a machine counts as there without a message. */
const forgetAfterMs = 3_000
/** For how long a count is valid that its machine does not send again. */
const keptMs = (repeatMs: number): number => 2 * repeatMs + publishEveryMs
/** The size of one message, below the limit of NATS in the configuration that this package ships. */
const maxMessageBytes = 32_768
/** Machines that count. */
const maxMachines = 1_000
/** Counts of other machines that are kept. */
const maxCounts = 100_000

const count = t.refinement(t.number, (value) => Number.isSafeInteger(value) && value >= 0, 'count')
const counts = t.readonlyArray(t.tuple([t.string, count]))
/** Which machine sends a message. It is kept, and so no longer than the number of one. */
const sender = t.refinement(t.string, ({ length }) => length <= 64, 'sender')
/** It becomes a part of a line of the log. */
const originPart = t.refinement(t.string, ({ length }) => length <= 2_048, 'part of an origin')
/** Machines of older versions send all of their counts each second, and expect it of others. */
const repeatMs = t.refinement(count, (ms) => ms >= publishEveryMs && ms <= 60_000, 'interval')
const countsCodec = t.intersection([
  t.type({
    v: t.literal(1),
    from: sender,
    issuer: originPart,
    audience: originPart,
    tenants: counts,
    tokens: counts,
  }),
  t.partial({ repeatMs }),
])
/** A wrong secret has one of its client and address, and one of its address. */
const failureKey = t.refinement(t.string, ({ length }) => length <= 256, 'key of a failure')
const failuresCodec = t.type({ v: t.literal(1), from: sender, keys: t.readonlyArray(failureKey) })

interface Machine {
  readonly untilMs: number
  readonly repeatMs: number
}

/**
 * Sends the numbers of sessions of tenants and tokens to the other machines of a service, once a second those that have
 * changed, and each wrong secret, and receives theirs. Limits are soft: what starts within a second on several machines
 * can exceed them.
 * Nothing waits for an answer; while the bus is down every machine counts for itself.
 */
export class MachineExchange implements OtherCounts, FailureExchange {
  readonly #options: MachineExchangeOptions
  readonly #id = randomBytes(8).toString('base64url')
  readonly #work = new Subscription()
  readonly #tenants = new CountsOfOthers((tenant, change) => this.#tenantChanged(tenant, change))
  readonly #tokens = new CountsOfOthers()
  /** The other machines that are there. */
  readonly #machines = new Map<string, Machine>()
  readonly #origins = new Set<string>()
  #published: SessionCounts = { tenants: new Map(), tokens: new Map() }
  /** When all counts are due again. */
  #repeatAtMs = 0
  #tenantChanged: (tenant: string, change: number) => void = () => undefined
  #recordFailure: (keys: readonly string[]) => void = () => undefined

  constructor(options: MachineExchangeOptions) {
    this.#options = options
    const { bus, onFault } = options
    const receive = <A>(name: string, codec: t.Decoder<unknown, A>, next: (message: A) => void): void => {
      this.#work.add(jsonMessages(bus, this.#subject(name), codec).subscribe({ next, error: onFault }))
    }
    receive('counts', countsCodec, (message) => this.#takeCounts(message))
    receive('failures', failuresCodec, ({ from, keys }) => {
      if (from !== this.#id) this.#recordFailure(keys)
    })
  }

  /** From now on sends the counts of this machine, all at once and then each second those that have changed. */
  publishCounts(own: () => SessionCounts): void {
    const publish = (): void => this.#publish(own())
    publish()
    this.#work.add(interval(publishEveryMs, this.#options.scheduler).subscribe(publish))
  }

  get machines(): number {
    return this.#machines.size
  }

  onTenant(changed: (tenant: string, change: number) => void): void {
    this.#tenantChanged = changed
    for (const [tenant, count] of this.#tenants.sums()) changed(tenant, count)
  }

  ofTenant(tenant: string): number {
    return this.#tenants.of(tenant)
  }

  ofToken(tokenId: string): number {
    return this.#tokens.of(tokenId)
  }

  publishFailure(keys: readonly string[]): void {
    this.#options.bus.publish(this.#subject('failures'), JSON.stringify({ v: 1, from: this.#id, keys }))
  }

  onFailure(record: (keys: readonly string[]) => void): void {
    this.#recordFailure = record
  }

  close(): void {
    this.#work.unsubscribe()
  }

  #subject(name: string): string {
    return `rxspeech.identity.${this.#options.bucket}.${name}`
  }

  /** A count that has become 0 is sent once. */
  #publish(counts: SessionCounts): void {
    const { bus, origin, scheduler } = this.#options
    const nowMs = scheduler.now()
    const isRepeated = nowMs >= this.#repeatAtMs || this.#hasOlderMachine
    const counted = {
      tenants: changes(counts.tenants, this.#published.tenants, isRepeated),
      tokens: changes(counts.tokens, this.#published.tokens, isRepeated),
    }
    this.#published = { tenants: new Map(counts.tenants), tokens: new Map(counts.tokens) }
    const head = { v: 1, from: this.#id, ...origin, repeatMs: repeatEveryMs }
    const sent = partsOf(counted).map((part) =>
      bus.publish(this.#subject('counts'), JSON.stringify({ ...head, ...part })),
    )
    if (isRepeated) this.#repeatAtMs = nowMs + repeatEveryMs
    if (sent.includes(false)) this.#repeatAtMs = 0
    this.#forgetOld(nowMs)
  }

  get #hasOlderMachine(): boolean {
    return [...this.#machines.values()].some((machine) => machine.repeatMs < repeatEveryMs)
  }

  #forgetOld(nowMs: number): void {
    for (const [from, { untilMs }] of this.#machines) {
      if (untilMs > nowMs) continue
      this.#machines.delete(from)
      for (const counted of [this.#tenants, this.#tokens]) counted.forget((one) => one === from)
    }
    for (const counted of [this.#tenants, this.#tokens]) counted.forget((_from, { untilMs }) => untilMs <= nowMs)
  }

  #takeCounts(message: t.TypeOf<typeof countsCodec>): void {
    const { from, issuer, audience, tenants, tokens, repeatMs: every = publishEveryMs } = message
    if (from === this.#id) return
    const { origin, onFault, scheduler } = this.#options
    const nowMs = scheduler.now()
    if (!this.#machines.has(from)) {
      if (this.#machines.size >= maxMachines) return
      // It knows no counts yet.
      this.#repeatAtMs = 0
    }
    this.#machines.set(from, { untilMs: nowMs + forgetAfterMs, repeatMs: every })
    const untilMs = nowMs + keptMs(every)
    for (const [tenant, count] of tenants) this.#tenants.take(from, tenant, { count, untilMs })
    for (const [tokenId, count] of tokens) this.#tokens.take(from, tokenId, { count, untilMs })
    const key = issuer === origin.issuer ? 'audience' : 'issuer'
    const [theirs, ours] = key === 'issuer' ? [issuer, origin.issuer] : [audience, origin.audience]
    if (theirs === ours || this.#origins.has(theirs) || this.#origins.size >= maxReportedOrigins) return
    this.#origins.add(theirs)
    onFault(otherOrigin(key, theirs, ours))
  }
}

const maxReportedOrigins = 10

const otherOrigin = (key: string, theirs: string, ours: string): SpeechError =>
  new SpeechError(
    'invalid-options',
    `Another machine of this service has the ${key} ${theirs}, and this one has ${ours}, so they refuse the tokens of each other. Set the same identity.${key} on all of them.`,
  )

type Counts = readonly (readonly [name: string, count: number])[]
interface CountsMessage {
  readonly tenants: Counts
  readonly tokens: Counts
}

/** The counts that have changed, or all, and those that have ended. */
const changes = (
  now: ReadonlyMap<string, number>,
  before: ReadonlyMap<string, number>,
  isRepeated: boolean,
): Counts => [
  ...[...now].filter(([name, count]) => isRepeated || before.get(name) !== count),
  ...[...before.keys()].filter((name) => !now.has(name)).map((name) => [name, 0] as const),
]

/** At least one message, so that others know of this machine. */
const partsOf = ({ tenants, tokens }: CountsMessage): readonly CountsMessage[] => {
  const parts: { tenants: Counts[number][]; tokens: Counts[number][] }[] = [{ tenants: [], tokens: [] }]
  let bytes = 0
  const add = (kind: 'tenants' | 'tokens', count: Counts[number]): void => {
    const size = Buffer.byteLength(JSON.stringify(count)) + 1
    if (bytes + size > maxMessageBytes) {
      parts.push({ tenants: [], tokens: [] })
      bytes = 0
    }
    bytes += size
    parts.at(-1)?.[kind].push(count)
  }
  for (const count of tenants) add('tenants', count)
  for (const count of tokens) add('tokens', count)
  return parts
}

interface CountOfOther {
  readonly count: number
  readonly untilMs: number
}

/** Counts by name and machine, each valid for a time. */
class CountsOfOthers {
  readonly #changed: (name: string, change: number) => void
  readonly #byName = new Map<string, Map<string, CountOfOther>>()
  #size = 0

  /** @param changed is called with the difference of each count that is taken in */
  constructor(changed: (name: string, change: number) => void = () => undefined) {
    this.#changed = changed
  }

  of(name: string): number {
    let sum = 0
    for (const { count } of this.#byName.get(name)?.values() ?? []) sum += count
    return sum
  }

  *sums(): Iterable<readonly [name: string, sum: number]> {
    for (const name of this.#byName.keys()) yield [name, this.of(name)]
  }

  take(from: string, name: string, given: CountOfOther): void {
    const counted = this.#byName.get(name) ?? new Map<string, CountOfOther>()
    const before = counted.get(from)?.count ?? 0
    if (counted.delete(from)) this.#size -= 1
    const isTaken = given.count > 0 && this.#size < maxCounts
    if (isTaken) {
      counted.set(from, given)
      this.#size += 1
    }
    if (counted.size > 0) this.#byName.set(name, counted)
    else this.#byName.delete(name)
    this.#changed(name, (isTaken ? given.count : 0) - before)
  }

  forget(isOver: (from: string, count: CountOfOther) => boolean): void {
    for (const [name, counted] of [...this.#byName]) {
      for (const [from, count] of [...counted]) if (isOver(from, count)) this.take(from, name, { ...count, count: 0 })
    }
  }
}
