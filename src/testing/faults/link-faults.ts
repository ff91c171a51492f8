import { asyncScheduler, Observable, type SchedulerLike, type Subscriber } from 'rxjs'
import { msForBytes, validateFormat, type AudioFormat } from '../../audio/format.js'
import { SpeechError } from '../../errors/speech-error.js'
import { contentType } from '../../protocol/dataflow-messages.js'
import type { Dial, Link } from '../../transport/link.js'
import { FaultDirector, type DoneFault } from './fault-director.js'
import { checkFault, checkScript, type Direction, type Fault, type FaultScript } from './fault-script.js'
import { FaultyLink, messageBytes } from './faulty-link.js'
import { seededRandom } from './seeded-random.js'
import { clearShapes, shaped } from './traffic-shape.js'

export interface LinkFaultsOptions {
  readonly script?: FaultScript
  /** What messages of audio hold, for moments that count `audio`. */
  readonly audioFormat?: AudioFormat
  /** Of the jitter. Default 1. */
  readonly seed?: number
  /** The clock of everything; `asyncScheduler` unless given. */
  readonly scheduler?: SchedulerLike
}

/** Faults on every link that is made through `wrap`. */
export interface LinkFaults {
  /** A dial with faults in place of one without: `recognize({ …, dial: faults.wrap(dial) })`. */
  wrap<Options extends readonly unknown[], In, Out>(
    dial: (...options: Options) => Dial<In, Out>,
  ): (...options: Options) => Dial<In, Out>
  /** Does a fault now. Throws `invalid-options`. */
  act(fault: Fault): void
  /** Lets the steps of the script happen that wait for this name. */
  tell(name: string): void
  /** What was done so far. */
  readonly done: readonly DoneFault[]
  /** How many connections were asked for, those too that were refused. */
  readonly connections: number
  /** Nothing more happens: what is open goes on without faults to come. */
  close(): void
}

/**
 * Puts faults between a session and its link: on whole messages, in the time of a scheduler, so also in virtual time.
 * Drops, refusals and outages are those that the client sees; the link below is closed as a broken one is. Without a
 * script nothing happens but by hand. A link holds what the wire below would hold, and makes its sender wait beyond it.
 *
 * @throws SpeechError `invalid-options` for a script that cannot be played on messages.
 */
export const linkFaults = ({
  script = [],
  audioFormat,
  seed = 1,
  scheduler = asyncScheduler,
}: LinkFaultsOptions = {}): LinkFaults => {
  checkScript(script, 'link')
  if (audioFormat === undefined && script.some(({ at }) => at.when === 'audio')) {
    throw new SpeechError('invalid-options', 'Moments that count audio need its format; give audioFormat.')
  }
  return new FaultedLinks(script, audioFormat && validateFormat(audioFormat), seed, scheduler)
}

class FaultedLinks implements LinkFaults {
  readonly #links = new Set<Pick<FaultyLink<never, never>, 'suffer' | 'goOn'>>()
  readonly #random: () => number
  readonly #director: FaultDirector
  #shapes = clearShapes
  #outages = 0
  #access: Access = { to: 'open' }

  constructor(
    script: FaultScript,
    private readonly audioFormat: AudioFormat | undefined,
    seed: number,
    private readonly scheduler: SchedulerLike,
  ) {
    this.#random = seededRandom(seed)
    this.#director = new FaultDirector(script, scheduler, (fault) => this.#perform(fault))
  }

  get done(): readonly DoneFault[] {
    return this.#director.done
  }

  get connections(): number {
    return this.#director.connections
  }

  wrap<Options extends readonly unknown[], In, Out>(
    dial: (...options: Options) => Dial<In, Out>,
  ): (...options: Options) => Dial<In, Out> {
    return (...options) => new Observable((subscriber) => this.#connect(dial(...options), subscriber))
  }

  act(fault: Fault): void {
    this.#director.act(checkFault(fault, 'link'))
  }

  tell(name: string): void {
    this.#director.tell(name)
  }

  close(): void {
    this.#director.close()
  }

  #connect<In, Out>(dial$: Dial<In, Out>, subscriber: Subscriber<Link<In, Out>>): void {
    const connection = this.#director.connecting()
    const refusal = refusalOf(this.#access)
    if (refusal !== undefined) {
      this.#access = afterRefusal(this.#access)
      subscriber.error(refusal)
      return
    }
    const inner = dial$.subscribe({
      next: (below) => {
        const link = new FaultyLink(below, {
          shapes: () => this.#shapes,
          scheduler: this.scheduler,
          random: this.#random,
          passed: (direction, message) => this.#passed(connection, direction, message),
        })
        this.#links.add(link)
        subscriber.add(() => {
          this.#links.delete(link)
          link.release()
        })
        link.begin()
        subscriber.next(link)
      },
      error: (error: unknown) => subscriber.error(error),
      complete: () => subscriber.complete(),
    })
    subscriber.add(inner)
  }

  #passed(connection: number, direction: Direction, message: unknown): void {
    const isCounted = direction === 'to-service' && this.audioFormat !== undefined
    const audioMs = isCounted ? msForBytes(this.audioFormat, audioBytes(message)) : 0
    this.#director.passed(direction, connection, { messages: 1, audioMs })
  }

  #perform(fault: Fault): void {
    this.#shapes = shaped(this.#shapes, fault)
    this.#access = accessAfter(this.#access, fault)
    for (const link of [...this.#links]) link.suffer(fault)
    if (!('forMs' in fault) || fault.forMs === undefined) return
    if (fault.do === 'outage') this.#outages += 1
    const outage = this.#outages
    this.#director.later(() => this.#pass(fault, outage), fault.forMs)
  }

  /** What lasts for a time is over; a half-open connection is found out by the system then, and reset. */
  #pass(fault: Fault, outage: number): void {
    // Another outage may have begun meanwhile.
    if (fault.do === 'outage' && outage === this.#outages) this.#access = { to: 'open' }
    for (const link of [...this.#links]) {
      if (fault.do === 'half-open') link.suffer({ do: 'reset' })
      if (fault.do === 'stall') link.goOn(fault.direction)
    }
  }
}

/** Who gets in. */
type Access =
  | { readonly to: 'open' | 'closed' }
  | { readonly to: 'refuse'; readonly connections: number; readonly code: SpeechError['code'] }

const accessAfter = (access: Access, fault: Fault): Access => {
  if (fault.do === 'outage') return { to: 'closed' }
  if (fault.do === 'restore') return { to: 'open' }
  if (fault.do !== 'refuse') return access
  return { to: 'refuse', connections: fault.connections, code: fault.code ?? 'connection-failed' }
}

const afterRefusal = (access: Access): Access => {
  if (access.to !== 'refuse') return access
  return access.connections > 1 ? { ...access, connections: access.connections - 1 } : { to: 'open' }
}

const refusalOf = (access: Access): SpeechError | undefined => {
  if (access.to === 'open') return undefined
  const code = access.to === 'refuse' ? access.code : 'connection-failed'
  return new SpeechError(code, 'The fault script lets nobody in.')
}

/** Texts are no audio, nor is what a dataflow message holds beside its bytes. */
const audioBytes = (message: unknown): number => {
  if (message instanceof Uint8Array) return message.length
  if (typeof message !== 'object' || message === null || !('binaryContent' in message)) return 0
  const { contentType: type, binaryContent } = message as { contentType?: unknown; binaryContent: unknown }
  return type === contentType.audio ? messageBytes(binaryContent) : 0
}
