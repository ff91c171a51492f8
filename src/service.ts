/**
 * The entry point of the service, for Node.
 *
 * @module rxspeech/service
 */
export type {
  Engine,
  EngineCapabilities,
  EngineKind,
  EngineSegment,
  Hypothesis,
  ModelDescription,
  OpenSegment,
  PhraseFault,
  RecognizeSettings,
  SegmentListener,
  SegmentPart,
  RecognizedSegment,
  SegmentText,
} from './service/engines/engine.js'
export {
  createModelRegistry,
  type ModelChanges,
  type ModelName,
  type ModelRegistry,
  type ModelRegistryOptions,
} from './service/engines/models/model-registry.js'
export { openai, type OpenAiEngineOptions } from './service/engines/openai/openai.js'
export { remote, type RemoteEngineOptions } from './service/engines/remote/remote.js'
export { sherpaOnnx } from './service/engines/sherpa-onnx/sherpa-onnx.js'
export { createSegmentEngine, type SegmentEngineOptions } from './service/engines/segment-engine.js'
export { soundswallower, type SoundswallowerLimits } from './service/engines/soundswallower/soundswallower.js'
export { vosk, type VoskEngineOptions } from './service/engines/vosk/vosk.js'
export { wyoming } from './service/engines/wyoming/wyoming.js'
export { hashSecret, newClientId, newClientSecret } from './service/identity/clients/client-secret.js'
export { openIdentityStore, type IdentityStore, type IdentityStoreOptions } from './service/identity/identity-store.js'
export {
  cancelClient,
  registerClient,
  rotateSecret,
  type AsyncClientRegistry,
  type ClientInput,
  type ClientRegistry,
  type IssuedSecret,
  type RotateSecretOptions,
} from './service/identity/clients/manage-clients.js'
export {
  memoryClients,
  type StoredClient,
  type ClientRegistration,
  type ClientStore,
} from './service/identity/clients/client.js'
export type { IdentityOptions } from './service/identity/identity.js'
export type { IdentityNatsOptions } from './service/identity/shared/connect.js'
export type { StudioOptions } from './service/studio/studio.js'
export type { ConnectionLimits } from './service/listen/connection-gate.js'
export type { ListenAddress, ServerCertificate } from './transport/listen-address.js'
export {
  startDevelopmentService,
  type DevelopmentService,
  type DevelopmentServiceOptions,
  type ServiceAccess,
} from './service/start/development-service.js'
export type { ReloadResult } from './service/start/reload.js'
export type { AdmissionLimits } from './service/sessions/admissions.js'
export type { LoadLimits } from './service/operations/service-load.js'
export type { SessionLimits } from './service/sessions/session-context.js'
export type { Service, ServiceCloseOptions } from './service/start/running-service.js'
export {
  startEngineProcess,
  type EngineProcess,
  type EngineProcessCloseOptions,
  type EngineProcessOptions,
} from './service/start/engine-process.js'
export type { NatsEnginesOptions } from './service/engines/nats/fleet-options.js'
export type { NatsOptions } from './service/nats/nats-options.js'
export { startService } from './service/start/service.js'
export type { ServiceOptions } from './service/configuration/service-options.js'
export type { CustomNodeOptions, CustomNodeSource } from './service/custom-nodes/custom-node-source.js'
export type {
  AudioFault,
  AudioReport,
  AuthFailure,
  NodeFailed,
  NotedFields,
  ServiceMonitor,
  SessionEnd,
  SessionFacts,
  SessionInterface,
  SessionOutcome,
  SessionPhase,
  WireLoss,
} from './service/monitor/service-monitor.js'
export type { Project, ProjectName, ProjectRegistry } from './service/project/project.js'
export type { Logger } from './service/operations/logger.js'
