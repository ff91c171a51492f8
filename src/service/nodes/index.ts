// The door for who writes nodes: light enough for a worker thread, and for a file of a few lines.
export { bytesPerFrame, bytesPerSecond, msForBytes, type AudioFormat, type Encoding } from '../../audio/format.js'
export { decodeSamples, encodeSamples } from '../../audio/codec.js'
export { type EventEnvelope, eventName } from '../../protocol/dataflow-events.js'
export { defineNode } from './core/define-node.js'
export {
  flag,
  listOf,
  nodeOptions,
  noOptions,
  numberFrom,
  oneOfWords,
  tableOf,
  text,
  wholeNumberFrom,
} from './core/node-options.js'
export { isNodeFault, NodeFault, type FaultKind } from './core/node-fault.js'
export type {
  AnyNodeDefinition,
  ConfiguredNode,
  FaultPolicy,
  ModelName,
  Node,
  NodeContext,
  NodeDefinition,
  NodeItem,
  OptionFault,
  PortFormats,
  PortKind,
  Resource,
  ResourceUse,
  SessionFacts,
} from './core/node.js'
