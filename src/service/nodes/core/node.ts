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
 * What travels on a wire between nodes: audio in the format of its port, whole frames; or an event. `port` says where it
 * came in or goes out; left out, it is the node's first port of that kind.
 */
export type NodeItem =
  | { readonly type: 'audio'; readonly bytes: Uint8Array; readonly port?: string }
  | { readonly type: 'event'; readonly event: EventEnvelope; readonly port?: string }

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
  /** Whether the graph keeps the client's audio waiting just now, for a node to catch up: none comes, and nobody is silent. */
  readonly isPaused?: () => boolean
  /**
   * Emits why the session ends before its time, once. What a node says within that call is the last of it that is
   * delivered; then it is cancelled. No use where a node runs in a thread of its own.
   */
  readonly aborted$?: Observable<SpeechError>
  /**
   * Emits when the session is to end where nobody speaks, as when the service closes. A node that says `handlesDrain` then ends by
   * itself, in its time. No use where a node runs in a thread of its own.
   */
  readonly drain$?: Observable<unknown>
  /** A resource of the project by its name. */
  readonly resource: (name: string) => Resource | undefined
  /** A model that the session may use, loaded; rejects with `model-denied`. */
  readonly engine: (model: ModelName) => Promise<Engine>
  /**
   * For a node that says `tellsConsumption`: so many frames of audio (or events) of a port are dealt with, so that what
   * is under way stays bounded. `Infinity` where no more is wanted. The port is the node's first when left out.
   */
  readonly consumed: (count: number, port?: string) => void
  /** Where nodes may keep recordings; absent where the operator configured none. */
  readonly recordingsFolder: string | undefined
  /** Milliseconds without audio after which a node flushes and ends; 0 is never. */
  readonly idleMs: number
  /**
   * Milliseconds of the session that had gone by when the node was opened: absent or 0, or more for one that was opened
   * anew after a fault. Its input begins there; the times that it tells count from the session's first sample.
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
 * What becomes of a node that throws, hangs, floods or blocks: the session ends with `node-failed`; or it goes on
 * without the node, whose input passes through where the kinds fit; or the node is opened anew, at most so many times.
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
  /** Audio inputs that need no wire; every other one does. Events may always stay away. */
  readonly optionalInputs?: readonly string[]
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
  /** Whether the node calls `context.consumed`; else what it was given counts as consumed when it returns. */
  readonly tellsConsumption?: boolean
  /** Whether the node ends by itself after `context.drain$`: the session waits for it, within a bound, and is finalized then. */
  readonly handlesDrain?: boolean
  /** What a project that says nothing gets. Default `fail`. */
  readonly onFault?: FaultPolicy
  /** Called once a session, before the start is answered; rejects to refuse the session. */
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
