/**
 * The entry point for tests and notebooks that need the conversations of the service, for Node.
 *
 * @module rxspeech-service/testing
 */
export { inMemoryService, type InMemoryService, type InMemoryServiceOptions } from './testing/in-memory-service.js'
export { scriptedEngine, type ScriptedEngineOptions } from './testing/scripted-engine.js'
export { standIn, type StandIn, type StandInOptions } from './testing/stand-in/stand-in.js'
export {
  standInFaults,
  type StandInFault,
  type StandInFaultName,
  type StandInFaults,
  type StandInFaultStep,
  type VendorFault,
} from './testing/stand-in/faults.js'
export type { FinalizeRequest, ReceivedAudio } from './testing/stand-in/received-audio.js'
export type { StandInSession } from './testing/stand-in/session.js'
export type { StandInAddress, StandInDialect } from './testing/stand-in/vendors.js'
