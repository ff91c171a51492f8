/**
 * The entry point of gRPC, for Node.
 *
 * @module rxspeech/grpc
 */
export { nodeFetch, type NodeFetchOptions } from './auth/node-fetch.js'
export type { Dialect, UpdateRequest, Primitive, Settings } from './protocol/dataflow-messages.js'
export type { JsonObject } from './protocol/json-object.js'
export type { Recognition } from './client/session.js'
export { dataflow, type DataflowOptions } from './client/dataflow/dataflow.js'
