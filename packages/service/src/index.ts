/**
 * The entry point of the service, for Node.
 *
 * @module rxspeech-service
 */
export type {
  AddInput,
  Engine,
  EngineCapabilities,
  EngineKind,
  EngineSegment,
  Hypothesis,
  ModelContent,
  ModelDescription,
  ModelSource,
  OpenSegment,
  PhraseFault,
  RecognizedSegment,
  RecognizeSettings,
  SegmentAttempt,
  SegmentListener,
  SegmentPart,
  SegmentText,
} from 'rxspeech-engines/engine'
export {
  createModelRegistry,
  type ModelChanges,
  type ModelName,
  type ModelRegistry,
  type ModelRegistryOptions,
} from 'rxspeech-engines/models/model-registry'
export type { SecretOptions } from 'rxspeech-engines/models/model-secret'
export { openai } from 'rxspeech-engines/openai/openai'
export { remote } from 'rxspeech-engines/remote/remote'
export { createSegmentEngine, type SegmentEngineOptions } from 'rxspeech-engines/segment-engine'
export { sherpaOnnx } from 'rxspeech-engines/sherpa-onnx/sherpa-onnx'
export { soundswallower, type SoundswallowerLimits } from 'rxspeech-engines/soundswallower/soundswallower'
export { vosk } from 'rxspeech-engines/vosk/vosk'
export { wyoming } from 'rxspeech-engines/wyoming/wyoming'
export type { NatsOptions } from 'rxspeech-nats/connection/nats-options'
export type { NatsEnginesOptions } from 'rxspeech-nats/engines/fleet-options'
export type { IdentityNatsOptions } from 'rxspeech-nats/identity/connect'
export type { CustomNodeOptions, CustomNodeSource } from 'rxspeech-server/custom-nodes/custom-node-source'
export { hashSecret, newClientId, newClientSecret } from 'rxspeech-server/identity/clients/client-secret'
export {
  type ClientRegistration,
  type ClientStore,
  memoryClients,
  type StoredClient,
} from 'rxspeech-server/identity/clients/client'
export {
  type AsyncClientRegistry,
  cancelClient,
  type ClientInput,
  type ClientRegistry,
  type IssuedSecret,
  registerClient,
  rotateSecret,
  type RotateSecretOptions,
} from 'rxspeech-server/identity/clients/manage-clients'
export {
  type IdentityStore,
  type IdentityStoreOptions,
  openIdentityStore,
} from 'rxspeech-server/identity/identity-store'
export type { IdentityOptions } from 'rxspeech-server/identity/identity'
export type { ConnectionLimits } from 'rxspeech-server/listen/connection-gate'
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
} from 'rxspeech-server/monitor/service-monitor'
export type { Logger } from 'rxspeech-server/operations/logger'
export type { LoadLimits } from 'rxspeech-server/operations/service-load'
export type { Project, ProjectName, ProjectRegistry } from 'rxspeech-server/project/project'
export type { AdmissionLimits } from 'rxspeech-server/sessions/admissions'
export type { SessionLimits } from 'rxspeech-server/sessions/session-context'
export type { StudioOptions } from 'rxspeech-server/studio/studio'
export type { ListenAddress, ServerCertificate } from 'rxspeech/internal/transport/listen-address'
export {
  startDevelopmentService,
  type DevelopmentService,
  type DevelopmentServiceOptions,
  type ServiceAccess,
} from './start/development-service.js'
export type { ReloadResult } from './start/reload.js'
export type { Service, ServiceCloseOptions } from './start/running-service.js'
export {
  startEngineProcess,
  type EngineProcess,
  type EngineProcessCloseOptions,
  type EngineProcessOptions,
} from './start/engine-process.js'
export { startService } from './start/service.js'
export type { ServiceOptions } from './configuration/service-options.js'
