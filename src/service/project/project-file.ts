import type { FaultPolicy, ModelName } from '../nodes/core/node.js'
import type { Holds, ProjectInputs, ProjectLimits, WhenFull } from './project-graph.js'
import type { YamlNode } from './read-yaml.js'
import type { Span } from './source-text.js'

export interface NodeEntry {
  readonly id: string
  readonly idSpan: Span
  readonly path: string
  /** The name of the definition. */
  readonly kind?: { readonly name: string; readonly span: Span }
  readonly options?: YamlNode
  readonly onFault?: FaultPolicy
}

export interface EndEntry {
  readonly node: string
  /** Left out: the only one that fits. */
  readonly port?: string
  readonly span: Span
}

export interface WireEntry {
  readonly path: string
  readonly span: Span
  readonly from: EndEntry
  readonly to: EndEntry
  readonly holds?: { readonly value: Holds; readonly span: Span }
  readonly whenFull?: WhenFull
}

/** What a resource is, before anybody has looked whether it is there. */
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

/** A project as it is written, each part with its place. What could not be read is left out, and is a fault already. */
export interface ProjectFile {
  readonly version?: { readonly value: string; readonly span: Span }
  readonly name?: { readonly value: string; readonly span: Span }
  readonly model?: { readonly value: ModelName; readonly span: Span }
  readonly inputs: ProjectInputs
  readonly resources: readonly ResourceEntry[]
  readonly nodes: readonly NodeEntry[]
  readonly wires: readonly WireEntry[]
  readonly limits: ProjectLimits
}
