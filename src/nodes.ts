/**
 * The entry point for authors of nodes. It loads little, because it also runs in worker threads.
 *
 * @module rxspeech/nodes
 */
export { bytesPerFrame, bytesPerSecond, msForBytes, type AudioFormat, type Encoding } from './audio/format.js'
export { decodeSamples, encodeSamples } from './audio/codec.js'
export { resultOf, type EventEnvelope } from './protocol/dataflow-events.js'
export type { FinalEvent, MilestoneEvent, PartialEvent, Word } from './protocol/session-event.js'
export type { IncomingAudio } from './service/recognition/incoming-audio.js'
export { eventName } from './protocol/event-name.js'
export type { Codecs } from './protocol/validation.js'
export { defineNode } from './service/nodes/core/define-node.js'
export {
  flag,
  listOf,
  nodeOptions,
  noOptions,
  numberFrom,
  oneOfWords,
  tableOf,
  nonEmptyText,
  wholeNumberFrom,
  type ModelOf,
  type NodeOptionsCodec,
} from './service/nodes/core/node-options.js'
export {
  isNodeFault,
  NodeFault,
  type AnyNodeDefinition,
  type AudioItem,
  type ConfiguredNode,
  type EventItem,
  type FaultKind,
  type FaultPolicy,
  type ModelName,
  type Node,
  type NodeContext,
  type NodeDefinition,
  type NodeItem,
  type OpenNode,
  type OptionFault,
  type PortFormats,
  type PortKind,
  type PortOfKind,
  type Ports,
  type Resource,
  type ResourceUse,
  type SessionFacts,
} from './service/nodes/core/node.js'
