import type { FaultPolicy, ModelName } from '../../nodes/core/node.js'
import type { Capacity, ProjectInputs, ProjectLimits, WhenFull } from './project-graph.js'
import type { Span } from './project-fault.js'
import type { YamlNode } from './read-yaml.js'

/** A value with its span in the file. */
export interface Located<A> {
  readonly value: A
  readonly span: Span
}

export interface NodeEntry {
  readonly id: string
  readonly idSpan: Span
  readonly path: string
  /** The name of the node's definition. */
  readonly kind?: Located<string> | undefined
  readonly options?: YamlNode | undefined
  readonly onFault?: FaultPolicy | undefined
}

export interface EndEntry {
  readonly node: string
  /** @default the only port that fits */
  readonly port?: string | undefined
  readonly span: Span
}

export interface WireEntry {
  readonly path: string
  readonly span: Span
  readonly from: EndEntry
  readonly to: EndEntry
  readonly capacity?: Located<Capacity> | undefined
  readonly whenFull?: WhenFull | undefined
}

export type ResourceSource =
  | { readonly kind: 'model'; readonly model: ModelName }
  | { readonly kind: 'file'; readonly file: string }
  | { readonly kind: 'secret'; readonly env: string }

export interface ResourceEntry {
  readonly name: string
  readonly path: string
  readonly span: Span
  readonly source: ResourceSource
}

/** A project as written, with the span of each part. A part with a fault is omitted. */
export interface ProjectFile {
  readonly version?: Located<string> | undefined
  readonly name?: Located<string> | undefined
  readonly model?: Located<ModelName> | undefined
  readonly inputs: ProjectInputs
  readonly resources: readonly ResourceEntry[]
  readonly nodes: readonly NodeEntry[]
  readonly wires: readonly WireEntry[]
  readonly limits: ProjectLimits
}
