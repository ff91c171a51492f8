/**
 * The entry point for authors of nodes. It loads little, because it also runs in worker threads.
 *
 * @module rxspeech-server/nodes
 */
export { decodeSamples, encodeSamples } from 'rxspeech/internal/audio/codec'
export {
  type AudioFormat,
  bytesPerFrame,
  bytesPerSecond,
  type Encoding,
  msForBytes,
} from 'rxspeech/internal/audio/format'
export { type EventEnvelope, resultOf } from 'rxspeech/internal/protocol/dataflow-events'
export { eventName } from 'rxspeech/internal/protocol/event-name'
export type { FinalEvent, MilestoneEvent, PartialEvent, Word } from 'rxspeech/internal/protocol/session-event'
export type { Codecs } from 'rxspeech/internal/protocol/validation'
export type { IncomingAudio } from './recognition/incoming-audio.js'
export { defineNode } from './nodes/core/define-node.js'
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
} from './nodes/core/node-options.js'
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
} from './nodes/core/node.js'
