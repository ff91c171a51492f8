// The gRPC door, for Node.
export { nodeFetch, type NodeFetchOptions } from './auth/node-fetch.js'
export type { Dialect, UpdateRequest } from './protocol/dataflow-requests.js'
export type { JsonObject } from './protocol/json-object.js'
export type { Primitive, Settings } from './protocol/settings.js'
export { dataflow, type DataflowOptions } from './client/dataflow/dataflow.js'
export { dialGrpc, type GrpcDialOptions } from './transport/grpc/grpc.js'
export type { DataflowMessage } from './transport/link.js'
export { loadDataflow, type DataflowService, type LoadDataflowOptions } from './transport/grpc/load-dataflow.js'
