import type { either } from 'fp-ts'
import type * as t from 'io-ts'
import type { Observable, SchedulerLike } from 'rxjs'
import type { AudioFormat } from '../../../audio/format.js'
import type { EventEnvelope } from '../../../protocol/dataflow-events.js'
import type { JsonObject } from '../../../protocol/json-object.js'
import type { SpeechError } from '../../../errors/speech-error.js'
import type { Settings } from '../../../protocol/dataflow-messages.js'
import type { Engine } from '../../engine/engine.js'

/** What a port takes or gives. */
export type PortKind = 'audio' | 'event'

/**
 * An item on a wire between nodes: whole frames of audio in the format of the port, or an event. `port` is the port of the
 * node that it enters or leaves by, the node's first port of that kind by default.
 */
export type NodeItem =
  | { readonly type: 'audio'; readonly bytes: Uint8Array; readonly port?: string | undefined }
  | { readonly type: 'event'; readonly event: EventEnvelope; readonly port?: string | undefined }

/** The format of each audio port, by its name. */
export type PortFormats = Readonly<Record<string, AudioFormat>>

/** A model by the names that a client may give; what is left out is the project's default. */
export interface ModelName {
  readonly tenant?: string
  readonly name?: string
  readonly version?: string
}

/** What a project names under `resources`: read when the project is loaded, never by a client's word. */
export type Resource =
  | { readonly kind: 'model'; readonly model: ModelName }
  | { readonly kind: 'file'; readonly fileName: string; readonly bytes: Uint8Array }
  /** Behind a function, so that it is not printed with what holds it. */
  | { readonly kind: 'secret'; readonly reveal: () => string }

/** That an option of a node names a resource, which must be there and of this kind. */
export interface ResourceUse {
  readonly option: string
  readonly resource: string
  readonly kind: Resource['kind']
}

/** Whose session it is. */
export interface SessionFacts {
  readonly id: string
  readonly tenant: string
  readonly project: string
  readonly clientId: string
}

/** What a node may know of its session. Everything from outside the data comes by here. */
export interface NodeContext {
  /** The node's own id in the project. */
  readonly node: string
  readonly session: SessionFacts
  /** The formats of the node's audio ports in this session. */
  readonly inputs: PortFormats
  readonly outputs: PortFormats
  readonly language: string
  /** The format of the audio that the client sends. */
  readonly sessionFormat?: AudioFormat
  /** `Audio.Output` of the Start message as it came: what the client wants to hear back. */
  readonly audioOutput: JsonObject | undefined
  /** Free primitives of the Start message, merged with later `Update`s: read them when you need them. */
  readonly settings: () => Settings
  readonly callProperties: () => Settings
  /** Emits after each `Update` that changed one of them. */
  readonly updated$: Observable<unknown>
  /** Whether a full wire pauses the client's audio: no audio arrives then although the client is not silent. */
  readonly isPaused?: () => boolean
  /**
   * Emits once with the reason when the session ends early. What a node emits during that call is still delivered; then
   * the node is unsubscribed. Absent in a worker thread.
   */
  readonly aborted$?: Observable<SpeechError>
  /**
   * Emits when the session is to end at the next silence, for example because the service closes. A node with
   * `handlesDrain` then completes by itself. Absent in a worker thread.
   */
  readonly drain$?: Observable<unknown>
  /** A resource of the project by its name. */
  readonly resource: (name: string) => Resource | undefined
  /** A model that the session may use, loaded; rejects with `model-denied`. */
  readonly engine: (model: ModelName) => Promise<Engine>
  /**
   * For a node with `manualAck`: acknowledges that `count` frames of audio (or events) of a port are processed. The wire
   * to the port counts everything else as held. `Infinity` stops the counting for a port that needs no more input.
   * The port defaults to the node's first one.
   */
  readonly ack: (count: number, port?: string) => void
  /** Where nodes may keep recordings; absent where the operator configured none. */
  readonly recordingsFolder: string | undefined
  /** Milliseconds without audio after which a node flushes and ends; 0 is never. */
  readonly idleMs: number
  /**
   * Where in the session the input of the node begins, in milliseconds: more than 0 for a node that was opened again after
   * a fault. Times in its events count from the first sample of the session. @default 0
   */
  readonly offsetMs?: number
  /** For the operator's log. Never audio, text of speech, tokens or secrets. */
  readonly log: (message: string, fields?: Readonly<Record<string, string | number | boolean>>) => void
  readonly scheduler: SchedulerLike
}

/**
 * One step of a project. Completion of the input is finalize (flush, then complete); unsubscription is cancel.
 * No `subscribe` inside; no state outside the subscription.
 */
export type Node = (input$: Observable<NodeItem>, context: NodeContext) => Observable<NodeItem>

/** Checks what the session asks of a node and fetches what it needs, before the start is answered; rejects to refuse. */
export type OpenNode = (context: NodeContext) => Promise<Node>

/**
 * What follows when a node throws, hangs, floods or blocks: `fail` ends the session with `node-failed`; `bypass` continues
 * without the node and passes its input through where kinds and formats fit; `restarts` opens the node again, at most so
 * many times.
 */
export type FaultPolicy = 'fail' | 'bypass' | { readonly restarts: number }

/** A kind of node, as projects name it. */
export interface NodeDefinition<Options> {
  /** Lower case, words joined by hyphens. */
  readonly name: string
  /** One sentence for who writes projects. */
  readonly summary: string
  readonly inputs: Readonly<Record<string, PortKind>>
  readonly outputs: Readonly<Record<string, PortKind>>
  /** Audio inputs that need no wire; every other audio input needs one. Event inputs are always optional. @default none */
  readonly optionalInputs?: readonly string[] | undefined
  /** What the operator must have set up for it, such as a folder for recordings. */
  readonly needs?: readonly 'recordings'[]
  /** Decodes `options` of the project; made by `nodeOptions`, so that unknown keys can be refused by name. */
  readonly options: t.Type<Options, unknown>
  /**
   * The formats of the audio outputs for those of the inputs, or, left, a sentence that says what would fit.
   * Left out: every audio output has the format of the first audio input.
   */
  readonly formats?: (inputs: PortFormats, options: Options) => either.Either<string, PortFormats>
  readonly uses?: (options: Options) => readonly ResourceUse[]
  /**
   * What an `Update` may not do, judged before anything changes: the settings as they would be and as they are. Gives the
   * refusal, `invalid-field` with the name of the setting, or nothing. Left out: any will do.
   */
  readonly checkSettings?: (next: Settings, now: Settings, options: Options) => SpeechError | undefined
  /**
   * Whether the node calls `context.ack` itself, because it processes its input later than the call that delivers it.
   * Otherwise an item is acknowledged when that call returns. @default false
   */
  readonly manualAck?: boolean | undefined
  /** Whether the node completes by itself after `context.drain$`; the session waits for it, with a deadline. @default false */
  readonly handlesDrain?: boolean | undefined
  /** The fault policy of a project that sets none. @default 'fail' */
  readonly onFault?: FaultPolicy | undefined
  /** Called once per session, before the Start is answered; rejects to refuse the session. */
  readonly open: (options: Options, context: NodeContext) => Node | Promise<Node>
}

/** A definition whose options are its own business. */
export interface AnyNodeDefinition extends Omit<
  NodeDefinition<unknown>,
  'options' | 'formats' | 'uses' | 'open' | 'checkSettings'
> {
  /** The options, decoded and bound: what can be asked of them; left, each fault as path and expectation. */
  readonly configure: (options: unknown) => either.Either<readonly OptionFault[], ConfiguredNode>
}

/** What is wrong with one option. */
export interface OptionFault {
  /** Keys from `options` on; empty for `options` itself. */
  readonly path: readonly string[]
  /** As in "must be …" or "is not an option; …". */
  readonly message: string
}

/** A node with its options: what a project holds. */
export interface ConfiguredNode {
  readonly formats: (inputs: PortFormats) => either.Either<string, PortFormats>
  readonly uses: readonly ResourceUse[]
  /** Why these settings are refused, before an `Update` makes them the session's; nothing where they fit. */
  readonly checkSettings: (next: Settings, now: Settings) => SpeechError | undefined
  readonly open: OpenNode
}
