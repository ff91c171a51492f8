import type { AudioFormat, Encoding } from '../../audio/format.js'
import type {
  AnyNodeDefinition,
  ConfiguredNode,
  FaultPolicy,
  ModelName,
  PortKind,
  Resource,
} from '../nodes/core/node.js'
import type { projectKeys } from './project-keys.js'

/** What becomes of what a full wire is given. */
export type WhenFull = 'block' | 'dropOldest' | 'dropNewest' | 'fail'
export const whenFullWords: readonly WhenFull[] = ['block', 'dropOldest', 'dropNewest', 'fail']

export interface Holds {
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
  /** Left out: as much as the session may have pending, or 1000 events. */
  readonly holds?: Holds
  readonly whenFull: WhenFull
}

/** Which audio a project takes. Without rates: every one. */
export interface ProjectInputs {
  readonly encodings: readonly Encoding[]
  readonly sampleRatesHz?: readonly number[]
  readonly channels: readonly AudioFormat['channels'][]
}

export type ProjectLimits = Partial<Readonly<Record<(typeof projectKeys.limits)[number], number>>>

/** A project that was checked: it can run. */
export interface ProjectGraph {
  readonly version: string
  readonly inputs: ProjectInputs
  readonly resources: ReadonlyMap<string, Resource>
  /** Every node after those that it gets something from. */
  readonly nodes: readonly GraphNode[]
  readonly wires: readonly GraphWire[]
  readonly limits: ProjectLimits
  /** The model of a session that names none. */
  readonly model?: ModelName
}
