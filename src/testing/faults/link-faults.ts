import { asyncScheduler, Observable, type SchedulerLike, type Subscriber } from 'rxjs'
import { msForBytes, validateFormat, type AudioFormat } from '../../audio/format.js'
import { SpeechError } from '../../errors/speech-error.js'
import { contentType } from '../../protocol/dataflow-messages.js'
import { anything, checkOptions, number, optionsOf, schedulerValue } from '../../protocol/validation.js'
import type { Dial, Link } from '../../transport/link.js'
import type { AppliedFault } from './fault-director.js'
import { FaultInjector, type FaultTarget } from './fault-injector.js'
import { checkScript, type Direction, type Fault, type FaultScript } from './fault-script.js'
import { FaultyLink, messageBytes } from './faulty-link.js'

/** The faults of the links, and their clock. */
export interface LinkFaultsOptions {
  /** The faults with their moments. @default [] */
  readonly script?: FaultScript | undefined
  /** The format of audio messages, required for moments that count `audio`. @default none */
  readonly audioFormat?: AudioFormat | undefined
  /** The seed of the jitter. @default 1 */
  readonly seed?: number | undefined
  /** The clock of the script. @default asyncScheduler */
  readonly scheduler?: SchedulerLike | undefined
}

/** Faults on every link that a wrapped dial opens. */
export interface LinkFaults {
  /** Wraps a dial, for `testing.dial` of a session. */
  wrap<Options extends readonly unknown[], In, Out>(
    dial: (...options: Options) => Dial<In, Out>,
  ): (...options: Options) => Dial<In, Out>
  /** Applies a fault now. Throws `invalid-options`. */
  apply(fault: Fault): void
  /** Applies the steps of the script that wait for this signal. */
  signal(name: string): void
  /** The faults that were applied so far. */
  readonly applied: readonly AppliedFault[]
  /** How many connections were requested, including refused ones. */
  readonly connections: number
  /** Cancels the remaining steps; open links continue. */
  close(): void
}

/**
 * Applies faults to the messages of links, in the time of a scheduler, also in virtual time. The client sees drops,
 * refusals and outages as on a real connection; the wrapped link is closed as after a lost connection. Without a
 * script, faults are applied by calls. A link buffers as much as the wrapped link and then makes its sender wait.
 *
 * @throws SpeechError `invalid-options` for a script that does not apply to messages.
 * @example
 * const service = inMemoryService()
 * const faults = linkFaults({ script: faultMarbles('10s r 20s o 40s |') })
 * const dial = faults.wrap(service.dials.recognizer)
 * audio$.pipe(recognize(service.recognizer({ format, testing: { dial } }))).subscribe()
 */
export const linkFaults = (options: LinkFaultsOptions = {}): LinkFaults => {
  checkOptions(linkFaultsOptions, options)
  const { script = [], audioFormat, seed = 1, scheduler = asyncScheduler } = options
  checkScript(script, 'link')
  if (audioFormat === undefined && script.some(({ at }) => at.when === 'audio')) {
    throw new SpeechError('invalid-options', 'Moments that count audio need the option audioFormat.')
  }
  return new FaultedLinks(script, audioFormat && validateFormat(audioFormat), seed, scheduler)
}

const linkFaultsOptions = optionsOf<LinkFaultsOptions>()(
  {},
  { script: anything, audioFormat: anything, seed: number(), scheduler: schedulerValue },
)

class FaultedLinks extends FaultInjector<FaultTarget> implements LinkFaults {
  readonly #audioFormat: AudioFormat | undefined
  #access: Access = { to: 'open' }

  constructor(script: FaultScript, audioFormat: AudioFormat | undefined, seed: number, scheduler: SchedulerLike) {
    super(script, 'link', seed, scheduler)
    this.#audioFormat = audioFormat
  }

  wrap<Options extends readonly unknown[], In, Out>(
    dial: (...options: Options) => Dial<In, Out>,
  ): (...options: Options) => Dial<In, Out> {
    return (...options) => new Observable((subscriber) => this.#connect(dial(...options), subscriber))
  }

  close(): void {
    this.director.close()
  }

  #connect<In, Out>(dial$: Dial<In, Out>, subscriber: Subscriber<Link<In, Out>>): void {
    const connection = this.director.connecting()
    const refusal = refusalOf(this.#access)
    if (refusal !== undefined) {
      this.#access = afterRefusal(this.#access)
      subscriber.error(refusal)
      return
    }
    const subscription = dial$.subscribe({
      next: (inner) => {
        const link = new FaultyLink(inner, {
          shapes: () => this.shapes,
          scheduler: this.scheduler,
          random: this.random,
          passed: (direction, message) => this.#passed(connection, direction, message),
        })
        this.targets.add(link)
        subscriber.add(() => {
          this.targets.delete(link)
          link.release()
        })
        link.start()
        subscriber.next(link)
      },
      error: (error: unknown) => subscriber.error(error),
      complete: () => subscriber.complete(),
    })
    subscriber.add(subscription)
  }

  #passed(connection: number, direction: Direction, message: unknown): void {
    const isCounted = direction === 'to-service' && this.#audioFormat !== undefined
    const audioMs = isCounted ? msForBytes(this.#audioFormat, audioBytes(message)) : 0
    this.director.passed(direction, connection, { messages: 1, audioMs })
  }

  protected steerAccess(fault: Fault): void {
    this.#access = accessAfter(this.#access, fault)
  }

  protected endOutage(): void {
    this.#access = { to: 'open' }
  }
}

/** Whether new connections are accepted. */
export type Access =
  | { readonly to: 'open' | 'closed' }
  | {
      readonly to: 'refuse'
      readonly connections: number
      readonly code: SpeechError['code']
      readonly retryAfterMs: number | undefined
    }

export const accessAfter = (access: Access, fault: Fault): Access => {
  if (fault.do === 'outage') return { to: 'closed' }
  if (fault.do === 'restore') return { to: 'open' }
  if (fault.do !== 'refuse') return access
  const { connections, code = 'connection-failed', retryAfterMs } = fault
  return { to: 'refuse', connections, code, retryAfterMs }
}

export const afterRefusal = (access: Access): Access => {
  if (access.to !== 'refuse') return access
  return access.connections > 1 ? { ...access, connections: access.connections - 1 } : { to: 'open' }
}

export const refusalOf = (access: Access): SpeechError | undefined => {
  if (access.to === 'open') return undefined
  const { code, retryAfterMs } =
    access.to === 'refuse' ? access : { code: 'connection-failed' as const, retryAfterMs: undefined }
  return new SpeechError(code, 'The fault script refuses connections.', { retryAfterMs })
}

/** The bytes of audio in a message of either transport. */
const audioBytes = (message: unknown): number => {
  if (message instanceof Uint8Array) return message.length
  if (typeof message !== 'object' || message === null || !('binaryContent' in message)) return 0
  const { contentType: type, binaryContent } = message as { contentType?: unknown; binaryContent: unknown }
  return type === contentType.audio ? messageBytes(binaryContent) : 0
}
