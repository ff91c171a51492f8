// The service's door, for Node.
export type {
  Engine,
  EngineCapabilities,
  EngineKind,
  Hypothesis,
  ModelDescription,
  SegmentPart,
} from './engine/engine.js'
export {
  createModelRegistry,
  type ModelName,
  type ModelRegistry,
  type ModelRegistryOptions,
} from './engine/model-registry.js'
export { pocketsphinx, type PocketsphinxLimits } from './engine/pocketsphinx/pocketsphinx.js'
export { remote } from './engine/remote/remote.js'
export { sherpaOnnx, type SherpaHost } from './engine/sherpa-onnx/sherpa-onnx.js'
export { soundswallower, type SoundswallowerLimits } from './engine/soundswallower/soundswallower.js'
export { hashSecret, newClientId, newClientSecret } from './identity/clients/client-secret.js'
export { openIdentityStore, type IdentityStore, type IdentityStoreOptions } from './identity/identity-store.js'
export {
  cancelClient,
  registerClient,
  rotateSecret,
  type IssuedSecret,
  type ClientInput,
} from './identity/clients/manage-clients.js'
export {
  memoryClients,
  type StoredClient,
  type ClientRegistration,
  type ClientStore,
} from './identity/clients/client.js'
export type { ListenAddress, ServerCertificate } from './listen/listen-address.js'
export {
  startDevelopmentService,
  type DevelopmentService,
  type DevelopmentServiceOptions,
  type ServiceAccess,
} from './start/development-service.js'
export type { AdmissionLimits } from './sessions/admissions.js'
export type { SessionLimits } from './sessions/session-context.js'
export { startService, type Service } from './start/service.js'
export type { ServiceOptions } from './start/service-options.js'
export type { CustomNodeOptions, CustomNodeSource } from './custom-nodes/custom-node-source.js'
export type { ServiceMonitor } from './monitor/service-monitor.js'
export type { Logger } from './operations/logger.js'
