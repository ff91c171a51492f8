import { SpeechError } from '../../errors/speech-error.js'
import { codesWith, type ErrorCode } from '../../errors/error-table.js'
import type * as kernel from '../../kernel/machine.js'
import { deadlineError } from '../deadlines.js'
import { isEnd } from '../lifetimes.js'
import { ClientMachine, initialState } from '../machine.js'
import type { Resumption } from '../settings.js'
import type {
  AuthorizeAction,
  ClientAction,
  ClientInput,
  ClientOutput,
  ClientState,
  ObservedInput,
  SessionPolicy,
  Snapshot,
} from '../states.js'

/** The errors after which another service is tried. */
const failoverCodes = codesWith('failover')

/** A service that failed, and when it may be tried again. */
interface Failure {
  readonly service: number
  readonly retryAtMs: number
}

export interface FailoverState {
  readonly client: ClientState
  /** The service of the current connection, or of the next attempt. */
  readonly service: number
  /** The services that failed since a service last made progress, the latest last. */
  readonly failures: readonly Failure[]
  /** Whether the next attempt is made at another service. */
  readonly isMoving: boolean
  /** The service that takes over, while its connection opens; undefined for a handover within the same service. */
  readonly successor: number | undefined
  /** Whether the successor takes over as soon as it is ready. */
  readonly isUrgent: boolean
  /** The service that the last `streaming` event named; undefined after a loss. */
  readonly announced: number | undefined
  /** Whether the service has made progress on this connection. */
  readonly isServing: boolean
}

export type FailoverInput =
  | ClientInput
  /** The results of the current service lag behind. */
  | { readonly type: 'slow'; readonly connection: number }

/** What is known about the services when the turn of an input has come. */
export interface ServicesSnapshot {
  /** Whether each service is neither lost nor slow, as far as any session of the list knows. */
  readonly isAvailable: readonly boolean[]
  /** Whether the current service has reported speech that has no milestone yet. */
  readonly isSpeechOpen: boolean
}

type Observed = ObservedInput | (Extract<FailoverInput, { readonly type: 'slow' }> & { readonly snapshot: Snapshot })

/** The inputs after which a session may move to another service. */
const moving = ['begin', 'retry', 'sound', 'leaving', 'inactive', 'slow'] as const
const movingTypes: ReadonlySet<string> = new Set(moving)

type Moving = Extract<Observed, { readonly type: (typeof moving)[number] }>

/** What the machine decides on: nothing else changes a decision. */
export type ObservedFailoverInput = Exclude<Observed, Moving> | (Moving & { readonly services: ServicesSnapshot })

/** Whether decisions on an input depend on the services. */
export const isMoving = (input: Observed): input is Moving => movingTypes.has(input.type)

/**
 * `lost`, `avoid` and `served` change the health of a service: it failed, it is slow, or it has recognized audio.
 * `hand-over`: the successor takes over at once.
 */
export type FailoverOutput =
  | ClientOutput
  | { readonly do: 'lost'; readonly service: number; readonly error: SpeechError }
  | { readonly do: 'avoid'; readonly service: number }
  | { readonly do: 'served'; readonly service: number }
  /** Answered with `handover-due`. */
  | { readonly do: 'hand-over' }

export type FailoverAction =
  | Exclude<ClientAction, AuthorizeAction>
  | (AuthorizeAction & { readonly service: number })
  | { readonly do: 'watch-health' }
  | { readonly do: 'watch-lag'; readonly connection: number }

type Trials = Pick<FailoverState, 'failures' | 'service'>
type FailoverStep = kernel.Step<FailoverState, FailoverOutput, FailoverAction>

/** How long the connection to a faster service may open before the slow one is used on, in milliseconds. */
const urgentDueMs = 1_000

/**
 * The life of a session with several services: that of `ClientMachine`, which decides when another connection is
 * needed. This machine decides to which service each connection leads, and that the next one follows without a delay
 * until all have failed. It is as total and pure as the other.
 */
export class FailoverMachine implements kernel.Machine<
  FailoverState,
  ObservedFailoverInput,
  FailoverOutput,
  FailoverAction
> {
  readonly #policies: readonly SessionPolicy[]
  readonly #resumption: Resumption

  /** @param policies of the services, at least one */
  constructor(policies: readonly SessionPolicy[], resumption: Resumption) {
    this.#policies = policies
    this.#resumption = resumption
  }

  get start(): FailoverStep {
    const { state: client, effects = [] } = this.#client(initial).start
    const state: FailoverState = { ...initial, client }
    return {
      state,
      effects: [
        { lifetime: 'session', action: { do: 'watch-health' } },
        ...effects.flatMap((effect) => effectsOf(state, effect)),
      ],
    }
  }

  reduce(state: FailoverState, input: ObservedFailoverInput): FailoverStep {
    const { phase, connection } = state.client
    if (isEnd(phase)) return { state }
    switch (input.type) {
      case 'begin':
        return this.#step({ ...state, service: available(input.services) ?? 0 }, input)
      case 'retry':
        return this.#step(state.isMoving ? this.#moved(state, input.services) : state, input)
      case 'sound':
        return this.#step(afterPause(state, input.services), input)
      case 'deadline':
        return this.#step(state, this.#lossAtDeadline(state, input.snapshot) ?? input)
      case 'leaving':
        return input.connection === connection.id ? this.#onLeaving(state, input) : this.#step(state, input)
      case 'slow':
        return input.connection === connection.id ? this.#onSlow(state, input) : { state }
      case 'inactive': {
        const step = this.#step(state, input)
        return input.services.isSpeechOpen ? join(step.outputs, this.#onSlow(step.state, input)) : step
      }
      default:
        return this.#step(state, input)
    }
  }

  alive({ client }: FailoverState): ReadonlySet<string> {
    return this.#client(initial).alive(client)
  }

  result({ client }: FailoverState): kernel.MachineResult | undefined {
    return this.#client(initial).result(client)
  }

  get #hasAlternatives(): boolean {
    return this.#policies.length > 1
  }

  /** The machine of a session at this service. */
  #client(state: Trials): ClientMachine {
    const policy = this.#policies[state.service]
    if (policy === undefined) throw new RangeError('A session has a service.')
    const delayMs: Resumption['delayMs'] = (...attempt) => this.#delayMs(state, ...attempt)
    const resumption = { ...this.#resumption, delayMs }
    const temporary = this.#hasAlternatives ? failoverCodes : undefined
    return new ClientMachine({ ...policy, resumption, temporary })
  }

  // The next attempt

  /** There is no delay before a service that has not been tried. Once all have, they are tried again after a delay. */
  #delayMs(state: Trials, ...[attempt, error, atMs]: Parameters<Resumption['delayMs']>): number {
    const round = Math.ceil(attempt / this.#policies.length)
    if (!this.#hasAlternatives || !failoverCodes.has(error.code)) return this.#resumption.delayMs(round, error, atMs)
    const failures = failuresAfter(state, attempt, error, atMs)
    if (failures.length < this.#policies.length) return 0
    // The others may ask for less patience than the last one.
    const backoffMs = this.#resumption.delayMs(round, new SpeechError(error.code, error.message), atMs)
    return Math.max(backoffMs, Math.min(...failures.map(({ retryAtMs }) => retryAtMs)) - atMs)
  }

  /** At a service that has not failed; or, after all have failed, at the one that may be tried first. */
  #moved(state: FailoverState, services: ServicesSnapshot): FailoverState {
    const failed = state.failures.map(({ service }) => service)
    const untried = this.#policies.findIndex((_policy, service) => !failed.includes(service))
    if (untried >= 0) return { ...state, service: available(services, failed) ?? untried }
    const [first] = [...state.failures].sort((left, right) => left.retryAtMs - right.retryAtMs)
    return { ...state, service: first?.service ?? 0, failures: [] }
  }

  // Handover to another service while the current one still works

  /** The service will end the connection: another service takes over, or else a new connection to the same one. */
  #onLeaving(state: FailoverState, input: Extract<ObservedFailoverInput, { readonly type: 'leaving' }>): FailoverStep {
    const successor = available(input.services, [state.service])
    const step = this.#step(state, input)
    if (successor === undefined || step.state.client.handover === state.client.handover) return step
    const error = new SpeechError('going-away', 'The service ends the connection.')
    return join([{ do: 'lost', service: state.service, error }], { ...step, state: { ...step.state, successor } })
  }

  /** A slow service is left only for one that is not known to be slow, so that a session does not go back and forth. */
  #onSlow(
    state: FailoverState,
    { services, snapshot }: Extract<ObservedFailoverInput, { readonly type: 'slow' | 'inactive' }>,
  ): FailoverStep {
    const { client, service } = state
    const successor = available(services, [service])
    const isOpening = client.handover?.successor !== undefined
    if (client.phase.name !== 'streaming' || isOpening || successor === undefined) return { state }
    const leaving = this.#step(state, { type: 'leaving', connection: client.connection.id })
    // Without the wait that this step has planned.
    const urgent: FailoverState = { ...leaving.state, successor, isUrgent: true }
    const step = this.#step(urgent, {
      type: 'handover-time',
      dueMs: urgentDueMs,
      endingToken: undefined,
      snapshot,
    })
    if (step.state.client.handover?.successor === undefined) return { state }
    return join([{ do: 'avoid', service }], step)
  }

  // Steps of the session

  /** A service that does not answer in time is lost. */
  #lossAtDeadline({ client }: FailoverState, snapshot: Snapshot): ObservedInput | undefined {
    const { phase, connection } = client
    if (!this.#hasAlternatives) return undefined
    switch (phase.name) {
      case 'authorizing':
      case 'connecting':
      case 'starting':
      case 'draining':
      case 'finalizing': {
        const error = deadlineError(phase.name, snapshot.pendingFromMs)
        const type = phase.name === 'authorizing' ? 'token-failed' : 'link-failed'
        return { type, connection: connection.id, error, snapshot }
      }
      default:
        return undefined
    }
  }

  /** A step of the session, with the services that its connections lead to, and what it shows about their health. */
  #step(state: FailoverState, input: ObservedInput): FailoverStep {
    const { outputs = [], effects = [], ...step } = this.#client(state).reduce(state.client, input)
    const reached = this.#reached(withClient(state, step.state), outputs, errorOf(input))
    const isServing = input.type === 'read' && input.hasProgress
    const next = isServing ? { ...reached, isServing, failures: [] } : reached
    return {
      state: next,
      outputs: [
        ...outputs.map((output) => announced(state, next, output)),
        ...lossesOf(state, next, outputs, input),
        ...(isServing && !reached.isServing ? [{ do: 'served', service: next.service } as const] : []),
        ...(isNewlyReady(state, next) ? [{ do: 'hand-over' } as const] : []),
      ],
      effects: effects.flatMap((effect) => effectsOf(next, effect)),
    }
  }

  /** What the outputs of a step say about the services. */
  #reached(state: FailoverState, outputs: readonly ClientOutput[], error: SpeechError | undefined): FailoverState {
    return outputs.reduce((next, output) => {
      if (output.do === 'begin') return { ...next, announced: next.service, isServing: false }
      if (output.do !== 'reconnecting') return next
      const { attempt, cause } = output.event
      const isMoving = this.#hasAlternatives && failoverCodes.has(cause)
      const failures = isMoving ? failuresAfter(next, attempt, error ?? lossOf(cause), output.atMs) : next.failures
      return { ...next, failures, isMoving, announced: undefined, isServing: false }
    }, state)
  }
}

const failuresAfter = (
  { failures, service }: Trials,
  attempt: number,
  { retryAfterMs = 0 }: SpeechError,
  atMs: number,
): Trials['failures'] => {
  const others = attempt === 1 ? [] : failures.filter((failure) => failure.service !== service)
  return [...others, { service, retryAtMs: atMs + retryAfterMs }]
}

/** The first service that is neither lost nor slow, if there is one. */
const available = ({ isAvailable }: ServicesSnapshot, excluded: readonly number[] = []): number | undefined => {
  const found = isAvailable.findIndex((isUsable, service) => isUsable && !excluded.includes(service))
  return found < 0 ? undefined : found
}

/** The connection may have been lost during the pause. */
const afterPause = (state: FailoverState, services: ServicesSnapshot): FailoverState => {
  const { phase } = state.client
  const isLost = phase.name === 'paused' && !phase.isConnected && services.isAvailable[state.service] !== true
  return isLost ? { ...state, service: available(services) ?? state.service } : state
}

const initial: FailoverState = {
  client: initialState,
  service: 0,
  failures: [],
  isMoving: false,
  successor: undefined,
  isUrgent: false,
  announced: undefined,
  isServing: false,
}

const join = (outputs: readonly FailoverOutput[] = [], step: FailoverStep): FailoverStep => ({
  ...step,
  outputs: [...outputs, ...(step.outputs ?? [])],
})

/** A successor that takes over brings its service; a finished or rescheduled handover has no service yet. */
const withClient = (state: FailoverState, client: ClientState): FailoverState => {
  const { handover } = state.client
  const hasTakenOver = client.connection.id === handover?.successor?.id
  const isSame = handover !== undefined && client.handover?.id === handover.id
  return {
    ...state,
    client,
    service: hasTakenOver ? (state.successor ?? state.service) : state.service,
    successor: isSame ? state.successor : undefined,
    isUrgent: isSame && state.isUrgent,
  }
}

const isReady = ({ client }: FailoverState): boolean => client.handover?.successor?.isReady === true

/** The successor of a slow service takes over without waiting for progress. */
const isNewlyReady = (before: FailoverState, next: FailoverState): boolean =>
  next.isUrgent && isReady(next) && !isReady(before)

/** A `begin` names the service, unless the same one continues after a planned handover or a pause. */
const announced = (before: FailoverState, { service }: FailoverState, output: ClientOutput): ClientOutput =>
  output.do === 'begin' && before.announced !== service ? { ...output, event: { service } } : output

const effectsOf = (
  { client, service, successor }: FailoverState,
  { lifetime, action }: kernel.Effect<ClientAction>,
): readonly kernel.Effect<FailoverAction>[] => {
  switch (action.do) {
    case 'authorize': {
      const isCurrent = action.connection === client.connection.id
      return [{ lifetime, action: { ...action, service: isCurrent ? service : (successor ?? service) } }]
    }
    case 'send-audio':
      return [
        { lifetime, action },
        { lifetime, action: { do: 'watch-lag', connection: action.connection } },
      ]
    default:
      return [{ lifetime, action }]
  }
}

/** The error that an input reports. */
const errorOf = (input: ObservedInput): SpeechError | undefined => {
  if ('error' in input) return input.error
  return 'signal' in input ? input.signal?.error : undefined
}

const lossOf = (code: ErrorCode): SpeechError => new SpeechError(code, 'The service was lost.')

/** The service that the step has lost, if another one may be better. */
const lossesOf = (
  before: FailoverState,
  next: FailoverState,
  outputs: readonly ClientOutput[],
  input: ObservedInput,
): readonly FailoverOutput[] => {
  const error = errorOf(input) ?? lossOf('connection-lost')
  if (input.type === 'failed' || !failoverCodes.has(error.code)) return []
  const { phase, handover, connection } = before.client
  const { client } = next
  const isLost =
    outputs.some((output) => output.do === 'reconnecting') ||
    client.phase.name === 'failed' ||
    (phase.name === 'paused' && input.type === 'link-failed' && input.connection === connection.id)
  if (isLost) return [{ do: 'lost', service: before.service, error }]
  const isSuccessorLost =
    handover?.successor !== undefined &&
    client.handover === undefined &&
    (input.type === 'successor-late' ||
      // Another token was needed, and there was none.
      ('connection' in input && input.connection === handover.successor.id && input.type !== 'authorized'))
  return isSuccessorLost ? [{ do: 'lost', service: before.successor ?? before.service, error }] : []
}
