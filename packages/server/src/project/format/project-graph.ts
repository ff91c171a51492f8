import type { AudioFormat, Encoding } from 'rxspeech/internal/audio/format'
import type {
  AnyNodeDefinition,
  ConfiguredNode,
  FaultPolicy,
  ModelName,
  PortKind,
  Resource,
} from '../../nodes/core/node.js'
import type { projectKeys } from './project-keys.js'

/** What a full wire does with further items. */
export type WhenFull = 'block' | 'dropOldest' | 'dropNewest' | 'fail'
export const whenFullPolicies: readonly WhenFull[] = ['block', 'dropOldest', 'dropNewest', 'fail']

/** How much a wire can hold. */
export interface Capacity {
  readonly unit: 'ms' | 'items'
  readonly count: number
}

export interface GraphNode {
  readonly id: string
  readonly definition: AnyNodeDefinition
  readonly configured: ConfiguredNode
  readonly onFault: FaultPolicy
}

/** One end of a wire. */
export interface PortName {
  readonly node: string
  readonly port: string
}

export interface GraphWire {
  readonly from: PortName
  readonly to: PortName
  readonly kind: PortKind
  /** @default the session's `maxPendingAudioMs`, or 1000 events */
  readonly capacity?: Capacity | undefined
  readonly whenFull: WhenFull
}

/** The audio that a project accepts. Without rates: every rate. */
export interface ProjectInputs {
  readonly encodings: readonly Encoding[]
  readonly sampleRatesHz?: readonly number[] | undefined
  readonly channels: readonly AudioFormat['channels'][]
}

export type ProjectLimits = Partial<Readonly<Record<(typeof projectKeys.limits)[number], number>>>

/** A checked project, which can run. */
export interface ProjectGraph {
  readonly version: string
  readonly inputs: ProjectInputs
  readonly resources: ReadonlyMap<string, Resource>
  /** In order: each node after those that it gets input from. */
  readonly nodes: readonly GraphNode[]
  readonly wires: readonly GraphWire[]
  readonly limits: ProjectLimits
  /** The model of a session that names none. */
  readonly model?: ModelName | undefined
}
