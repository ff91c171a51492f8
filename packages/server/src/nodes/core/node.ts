import type { either } from 'fp-ts'
import type * as t from 'io-ts'
import type { Observable, SchedulerLike } from 'rxjs'
import type { Engine } from 'rxspeech-engines/engine'
import type { AudioFormat } from 'rxspeech/internal/audio/format'
import type { SpeechError } from 'rxspeech/internal/errors/speech-error'
import type { EventEnvelope } from 'rxspeech/internal/protocol/dataflow-events'
import type { Settings } from 'rxspeech/internal/protocol/dataflow-messages'
import type { JsonObject } from 'rxspeech/internal/protocol/json-object'
import type { IncomingAudio } from '../../recognition/incoming-audio.js'

/** The kind of items of a port. */
export type PortKind = 'audio' | 'event'

/** The kind of each port, by its name. */
export type Ports = Readonly<Record<string, PortKind>>

/** The names of the ports of one kind. */
export type PortOfKind<P extends Ports, Kind extends PortKind> = {
  [Name in keyof P & string]: Kind extends P[Name] ? Name : never
}[keyof P & string]

/** Audio at a port: whole frames in the format of the port. `never` for a node without a port for audio. */
export type AudioItem<Port extends string = string> = [Port] extends [never]
  ? never
  : { readonly type: 'audio'; readonly bytes: Uint8Array; readonly port?: Port | undefined }

/** An event at a port. `never` for a node without a port for events. */
export type EventItem<Port extends string = string> = [Port] extends [never]
  ? never
  : { readonly type: 'event'; readonly event: EventEnvelope; readonly port?: Port | undefined }

/**
 * An item of a wire between nodes. `port` names the port of the item; without it, the item belongs to the node's first
 * port of that kind. With the ports of a definition, only items that they can have: no audio without an audio port, and
 * no port of another name.
 */
export type NodeItem<P extends Ports = Ports> = AudioItem<PortOfKind<P, 'audio'>> | EventItem<PortOfKind<P, 'event'>>

/** The format of each audio port, by its name. */
export type PortFormats = Readonly<Record<string, AudioFormat>>

/** A model by the names that a client may give; each name defaults to the project's. */
export interface ModelName {
  /** The tenant of the model. */
  readonly tenant?: string | undefined
  /** The name of the model. */
  readonly name?: string | undefined
  /** The version of the model. @default that of the project, else the newest */
  readonly version?: string | undefined
}

/** A model, with open parts filled from a default of the same name. */
export const completeModel = (model: ModelName, { name, tenant, version }: ModelName = {}): ModelName =>
  model.name === undefined ? { name, tenant: model.tenant ?? tenant, version: model.version ?? version } : model

/** An entry of a project's `resources`, read when the project is loaded; clients cannot name one. */
export type Resource =
  | { readonly kind: 'model'; readonly model: ModelName }
  | { readonly kind: 'file'; readonly fileName: string; readonly bytes: Uint8Array }
  | {
      readonly kind: 'secret'
      /** Returns the secret. It is a function, so that printing the resource does not print the secret. */
      readonly reveal: () => string
    }

/** An option of a node that names a resource, which must exist and be of this kind. */
export interface ResourceUse {
  /** The name of the option. */
  readonly option: string
  /** The name in the project's `resources`. */
  readonly resource: string
  /** The kind that the node can use. */
  readonly kind: Resource['kind']
}

/** The identity of a session. */
export interface SessionFacts {
  /** The id of the session, as in the log. */
  readonly id: string
  /** The tenant of the project. */
  readonly tenant: string
  /** The name of the project. */
  readonly project: string
  /** The client whose token was presented. */
  readonly clientId: string
}

/** The facts of its session that a node can use in addition to its input. */
export interface NodeContext {
  /** The node's own id in the project. */
  readonly node: string
  /** The session, for logs and file names. */
  readonly session: SessionFacts
  /** The formats of the node's audio ports in this session. */
  readonly inputs: PortFormats
  /** The formats of the node's audio outputs. */
  readonly outputs: PortFormats
  /** `Language` of the Start message; empty if the client sent none. */
  readonly language: string
  /** The format of the audio that the client sends. */
  readonly sessionFormat?: AudioFormat | undefined
  /** `Audio.Output` of the Start message as received: the format in which the client wants audio. */
  readonly audioOutput: JsonObject | undefined
  /** `Settings` of the Start message, merged with later `Update`s; read them when you need them. */
  readonly settings: () => Settings
  /** `CallProperties`, in the same way. */
  readonly callProperties: () => Settings
  /** Emits after each `Update` that changed one of them. */
  readonly updated$: Observable<unknown>
  /**
   * Whether the client's audio is held back because a node is behind; then missing audio is not silence. Absent in a
   * node that runs in its own thread.
   */
  readonly isPaused?: (() => boolean) | undefined
  /**
   * Whether the client is known to be there and to have sent nothing since its last audio; the first call asks it.
   * Absent if nobody knows, and in a node that runs in its own thread.
   */
  readonly isAnswering?: (() => boolean) | undefined
  /**
   * The audio of the client before it enters the project, for the node that is the only one to get it. Absent in a node
   * that runs in its own thread.
   */
  readonly incoming?: IncomingAudio | undefined
  /**
   * Emits once, with the reason, when the session is aborted. Items that a node emits within that call are still
   * delivered; then the node is unsubscribed. Never emits in a node that runs in its own thread.
   */
  readonly aborted$?: Observable<SpeechError> | undefined
  /**
   * Emits when the session is to end in a pause of the speech, as when the service closes. A node with `handlesDrain`
   * then completes by itself. Never emits in a node that runs in its own thread.
   */
  readonly drain$?: Observable<unknown> | undefined
  /**
   * The shortest time between two partials of a channel, in milliseconds, while the service is overloaded; otherwise 0.
   * Absent in a node that runs in its own thread.
   */
  readonly partialIntervalMs?: (() => number) | undefined
  /** A resource of the project by its name. */
  readonly resource: (name: string) => Resource | undefined
  /** Loads a model that the session may use; rejects with `model-denied`. */
  readonly engine: (model: ModelName) => Promise<Engine>
  /**
   * For a node with `manualAck`: acknowledges that `count` frames of audio (or events) of a port are processed. The
   * wire to the port counts everything else as held. `Infinity` stops the counting for a port that needs no more input.
   * The port defaults to the node's first one.
   */
  readonly ack: (count: number, port?: string) => void
  /** The folder for recordings; undefined if the operator configured none. */
  readonly recordingsFolder: string | undefined
  /** Milliseconds without audio after which a node flushes and completes; 0 for never. */
  readonly idleMs: number
  /**
   * The session time at which the node's input begins, in milliseconds: more than 0 for a node that was reopened after
   * a fault. Times of events count from the session's first sample. @default 0
   */
  readonly offsetMs?: number | undefined
  /** Writes to the operator's log. Never pass audio, text of speech, tokens or secrets. */
  readonly log: (message: string, fields?: Readonly<Record<string, string | number | boolean>>) => void
  /** The clock of all timers, which tests replace. */
  readonly scheduler: SchedulerLike
}

/**
 * One step of a project. When the input completes, the node flushes and completes; unsubscribing cancels it. A node
 * does not subscribe inside and keeps no state outside the subscription.
 *
 * @example
 * const shout: Node = (input$) =>
 *   input$.pipe(map((item) => (item.type === 'event' ? { ...item, event: { ...item.event, tags: ['loud'] } } : item)))
 */
export interface Node<Inputs extends Ports = Ports, Outputs extends Ports = Ports> {
  (input$: Observable<NodeItem<Inputs>>, context: NodeContext): Observable<NodeItem<Outputs>>
  /**
   * Checks an `Update` after `checkSettings` of the definition, with what is known only to the open node, such as the
   * languages of its model. Not called in a node that runs in its own thread. @default () => undefined
   */
  readonly checkSettings?: (next: Settings) => SpeechError | undefined
}

/** Opens a node for a session before its start is answered; rejects to refuse the session. */
export type OpenNode = (context: NodeContext) => Promise<Node>

/**
 * The consequence of a fault of a node. `fail`: the session ends with `node-failed`. `bypass`: it continues without the
 * node, whose input passes through to outputs of the same kind. `restarts`: the node is reopened, at most this many
 * times.
 */
export type FaultPolicy = 'fail' | 'bypass' | { readonly restarts: number }

/** A kind of node, as `defineNode` takes it. */
export interface NodeDefinition<Options, Inputs extends Ports = Ports, Outputs extends Ports = Ports> {
  /** The name in projects: lower case, words joined by hyphens. */
  readonly name: string
  /** One sentence for authors of projects. */
  readonly summary: string
  /** The kind of each input port, by its name. */
  readonly inputs: Inputs
  /** The kind of each output port, by its name. */
  readonly outputs: Outputs
  /** Audio inputs that need no wire. Event inputs never need one. @default [] */
  readonly optionalInputs?: readonly string[] | undefined
  /** The parts that the operator must configure for the node, such as a folder for recordings. @default [] */
  readonly needs?: readonly 'recordings'[] | undefined
  /** Decodes the options; made with `nodeOptions`, which makes it refuse unknown names. */
  readonly options: t.Type<Options, unknown>
  /**
   * The formats of the audio outputs, given those of the inputs; left: a sentence that says what is accepted.
   * @default the format of the first audio input, for every audio output
   */
  readonly formats?: (inputs: PortFormats, options: Options) => either.Either<string, PortFormats>
  /** The resources that the options name. @default () => [] */
  readonly uses?: (options: Options) => readonly ResourceUse[]
  /**
   * Checks an `Update` before it is applied, given the next and the present settings. Returns the error that refuses it
   * (`invalid-field` with the name of the setting), or undefined. @default () => undefined
   */
  readonly checkSettings?: (next: Settings, now: Settings, options: Options) => SpeechError | undefined
  /**
   * Whether the node calls `context.ack` itself, because it processes its input later than the call that delivers it.
   * Otherwise an item is acknowledged when that call returns. @default false
   */
  readonly manualAck?: boolean | undefined
  /** Whether the node completes after `context.drain$`; the session waits for it, within a bound. @default false */
  readonly handlesDrain?: boolean | undefined
  /** The consequence of a fault unless the project defines one. @default 'fail' */
  readonly onFault?: FaultPolicy | undefined
  /** Makes the node of one session before its start is answered; throws or rejects to refuse the session. */
  readonly open: (options: Options, context: NodeContext) => Node<Inputs, Outputs> | Promise<Node<Inputs, Outputs>>
}

/** A kind of node, as `defineNode` returns it: its options are checked and bound by `configure`. */
export interface AnyNodeDefinition extends Omit<
  NodeDefinition<unknown>,
  'options' | 'formats' | 'uses' | 'open' | 'checkSettings'
> {
  /** Decodes the options and binds the node to them; left: each fault as path and expectation. */
  readonly configure: (options: unknown) => either.Either<readonly OptionFault[], ConfiguredNode>
}

/** A fault of one option. */
export interface OptionFault {
  /** The keys and indexes below `options`; empty for `options` itself. */
  readonly path: readonly string[]
  /** Such as "must be …" or "is not known; …". */
  readonly message: string
}

/** A node with its options. */
export interface ConfiguredNode {
  /** The formats of the audio outputs, given those of the inputs; left: a sentence that says what is accepted. */
  readonly formats: (inputs: PortFormats) => either.Either<string, PortFormats>
  /** The resources that the options name. */
  readonly uses: readonly ResourceUse[]
  /** The error that refuses an `Update` to these settings, or undefined. */
  readonly checkSettings: (next: Settings, now: Settings) => SpeechError | undefined
  /** Opens the node for a session. */
  readonly open: OpenNode
}

/** How a node failed: it threw or errored, did not end in time, emitted too much, or blocked its thread. */
export type FaultKind = 'threw' | 'hung' | 'flooded' | 'blocked'

/**
 * The failure of a node as its host reports it; any other error of a node counts as `threw`. The message is for the
 * operator and may contain text of the node's author.
 *
 * @example
 * throwError(() => new NodeFault('hung', 'The model did not answer within 5 s.'))
 */
export class NodeFault extends Error {
  override readonly name = 'NodeFault'
  /** How the node failed. */
  readonly kind: FaultKind

  /** A fault with a message for the operator. */
  constructor(kind: FaultKind, message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options)
    this.kind = kind
  }
}

/**
 * Whether an error is a `NodeFault`. Compares names, because two builds of the package may meet in one process.
 *
 * @example
 * catchError((error: unknown) => (isNodeFault(error) ? EMPTY : throwError(() => error)))
 */
export const isNodeFault = (error: unknown): error is NodeFault =>
  error instanceof Error && error.name === 'NodeFault' && 'kind' in error
